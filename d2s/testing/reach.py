"""What a function can reach and change: its arguments, cells, globals, defaults and `self`, and all that these hold."""

from __future__ import annotations

import collections
import functools
import inspect
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from d2s.core.op import Op
from d2s.eager.tape import Node
from d2s.eager.tensor import Tensor
from d2s.jit import StaticFunction
from d2s.testing.variables import is_users_class, is_users_file, read_variable, variables_of

_OPEN_MODULES = frozenset(("__main__", "argparse", "builtins", "collections", "functools", "random", "types"))
# Of longer sequences and dicts the content is compared as a whole, not part by part.
MOST_PARTS = 10_000
# A Layer shows what is in these as attributes of its own.
LAYER_PARTS = ("_parameters", "_buffers", "_sub_layers")
_SEQUENCES = (list, tuple, collections.deque)
_CLOSED = (
    types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.FrameType, types.GeneratorType,
    Op, Node, np.dtype, np.generic, str, bytes, int, float, complex, type(None), type(Ellipsis), slice, range,
)
# What is in a class without being a value of it.
_DESCRIPTORS = (
    types.FunctionType, types.BuiltinFunctionType, staticmethod, classmethod, property, functools.cached_property,
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
)


class Reach:
    """
    The objects that calls of `function` with `inputs` may change, by the path a reader knows them under.

    Parameters
    ----------
    function : callable
        A function, method or Layer.
    inputs : dict of str to object
        By the name of the parameter.
    """

    def __init__(self, function: Callable[..., Any], inputs: dict[str, Any]) -> None:
        self._function = function
        self._inputs = inputs
        plain = getattr(function, "__func__", function)
        # Of other modules a global is shown with the module.
        self._home = plain.__globals__ if isinstance(plain, types.FunctionType) else None

    def roots(self) -> Iterator[tuple[str, Any]]:
        """Paths and objects to begin with."""
        yield from self._inputs.items()
        function = self._function
        if isinstance(function, types.MethodType):
            yield "self", function.__self__
            function = function.__func__
        yield "" if isinstance(function, types.FunctionType) else "self", function

    def functions(self) -> Iterator[types.FunctionType]:
        """The functions of the user's own in reach, by whatever name or object: it may call them."""
        for _, thing in self.objects():
            if isinstance(thing, types.FunctionType) and is_users_file(thing.__code__.co_filename):
                yield thing

    def objects(self) -> Iterator[tuple[str, Any]]:
        """Every object that can be reached, once, with the first path that was found."""
        return ((path, thing) for path, thing, again in self.places() if again is None)

    def places(self) -> Iterator[tuple[str, Any, str | None]]:
        """Every path with its object and, if that was met before, the path it was met at.

        Tuples have no identity that matters: two that are equal may be one object.
        """
        pending = collections.deque(self.roots())
        seen: dict[int, str] = {}
        kept: list[Any] = []
        names = _NamesOfVariables(self._home)
        while pending:
            path, thing = pending.popleft()
            again = seen.get(id(thing))
            yield path, thing, again
            if again is None and not is_closed(thing):
                if not isinstance(thing, tuple | frozenset):
                    seen[id(thing)] = path
                    kept.append(thing)
                pending.extend(names.of(thing) if isinstance(thing, types.FunctionType) else parts_of(path, thing))
                if is_users_class(type(thing)):
                    pending.append((type(thing).__name__, type(thing)))


class _NamesOfVariables:
    """Under which names variables are shown, in one walk: each of them under one, and no two under the same."""

    def __init__(self, home: dict[str, Any] | None) -> None:
        self._home = home
        self._names: dict[tuple[int, str | None], str] = {}
        self._used: collections.Counter[str] = collections.Counter()

    def of(self, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        """The variables of a function, and its defaults, that no function before it has."""
        if not is_users_file(function.__code__.co_filename):
            return
        for number, value in enumerate((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())):
            yield self._unused(f"default {number} of {function.__name__}"), value
        for name, keeper, key in variables_of(function):
            value = read_variable(keeper, key)
            if (id(keeper), key) not in self._names:
                is_elsewhere = key is not None and keeper is function.__globals__ and keeper is not self._home
                module = function.__module__.rpartition(".")[2] if is_elsewhere and self._home is not None else ""
                shown = self._unused(f"{module}.{name}" if module else name)
                self._names[id(keeper), key] = shown
                yield shown, value

    def _unused(self, name: str) -> str:
        self._used[name] += 1
        return name if self._used[name] == 1 else f"{name} ({self._used[name]})"


def is_closed(thing: Any) -> bool:
    """True if there is nothing in `thing` that a call could change, or that is any of the user's business."""
    if isinstance(thing, type):
        return not is_users_class(thing)
    return isinstance(thing, _CLOSED) or _is_of_standard_library(type(thing))


def _is_of_standard_library(kind: type) -> bool:
    """True for loggers, files, locks and the like, but not for what holds things of the user's."""
    top = kind.__module__.partition(".")[0]
    return top in sys.stdlib_module_names and top not in _OPEN_MODULES


def parts_of(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, by path; of a function nothing, see `variables_of`."""
    if isinstance(thing, list | tuple | collections.deque | dict | set | frozenset) and len(thing) > MOST_PARTS:
        return
    if isinstance(thing, Tensor):
        yield from ((f"{path}.{name}", value) for name, value in thing.__dict__.items())
        for hooks in () if thing._leaf is None else (thing._leaf.hooks, thing._leaf.reduce_hooks):
            yield from ((f"a hook of {path}", hook) for hook in (hooks.hooks.values() if hooks else ()))
    elif isinstance(thing, type):
        yield from _parts_of_class(thing)
    elif isinstance(thing, StaticFunction):
        yield path, thing._function
    elif isinstance(thing, functools.partial):
        yield from ((path, part) for part in (thing.func, *thing.args, *thing.keywords.values()))
    elif isinstance(thing, _SEQUENCES):
        yield from ((f"{path}[{number}]", value) for number, value in enumerate(thing))
    elif isinstance(thing, dict):
        yield from ((f"{path}[{key!r}]", value) for key, value in list(thing.items()))
    elif isinstance(thing, set | frozenset):
        yield from ((f"an element of {path}", value) for value in thing)
    elif isinstance(thing, types.MethodType):
        yield path, thing.__self__
        yield path, thing.__func__
    elif isinstance(getattr(thing, "__dict__", None), dict):
        yield from _attributes(path, thing.__dict__)
    for name, slot in slots_of(type(thing)):
        value = read_slot(slot, thing)
        if value is not inspect.Parameter.empty:
            yield f"{path}.{name}", value


def _attributes(path: str, attributes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(attributes.items()):
        if name in LAYER_PARTS and isinstance(value, dict):
            yield from _attributes(path, value)
        elif not name.startswith("__d2s_"):
            yield f"{path}.{name}", value


def _parts_of_class(kind: type) -> Iterator[tuple[str, Any]]:
    """The values and the functions of a class, and the classes of the user's that it is made from."""
    for name, value in values_of_class(kind).items():
        yield f"{kind.__name__}.{name}", value
    for name, member in list(vars(kind).items()):
        inner = (member.fget, member.fset) if isinstance(member, property) else (getattr(member, "__func__", member),)
        yield from ((f"{kind.__name__}.{name}", function) for function in inner
                    if isinstance(function, types.FunctionType | StaticFunction))
    yield from ((base.__name__, base) for base in kind.__bases__)


def values_of_class(kind: type) -> dict[str, Any]:
    """The attributes that a class has as values, which objects of it share."""
    return {name: value for name, value in list(vars(kind).items())
            if not name.startswith("__") and not name.startswith("_abc_")
            and not isinstance(value, _DESCRIPTORS) and not isinstance(value, StaticFunction)}


def slots_of(kind: type) -> Iterator[tuple[str, types.MemberDescriptorType]]:
    """The attributes that objects of a class of the user's have in slots."""
    for part in kind.__mro__:
        if is_users_class(part):
            yield from ((name, member) for name, member in vars(part).items()
                        if isinstance(member, types.MemberDescriptorType))


def read_slot(slot: types.MemberDescriptorType, thing: Any) -> Any:
    """What an object has in a slot, whatever its class says of attributes; `inspect.Parameter.empty` for nothing."""
    try:
        return slot.__get__(thing)
    except AttributeError:
        return inspect.Parameter.empty


def is_generator(thing: Any) -> bool:
    """True for what draws random numbers."""
    return isinstance(thing, np.random.Generator | np.random.RandomState | random.Random)
