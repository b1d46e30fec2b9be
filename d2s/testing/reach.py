"""What a function can reach and change: its arguments, cells, globals, defaults and `self`, and all that these hold."""

from __future__ import annotations

import collections
import inspect
import operator
import os
import random
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.op import Op
from d2s.core.structure import STRUCTURE
from d2s.eager.tape import Node
from d2s.eager.tensor import Tensor
from d2s.eager.views import Sharing
from d2s.jit import StaticFunction
from d2s.nn.layer import Layer
from d2s.ops.random import generator

# Among them what dataclasses and named tuples are made of.
_NOT_THE_USERS = (
    str(Path(__file__).parent.parent) + os.sep, sysconfig.get_paths()["stdlib"] + os.sep,
    "<d2s ", "<string>", "<frozen ",
)
_OPEN_MODULES = frozenset(("__main__", "argparse", "builtins", "collections", "functools", "random", "types"))
# Of longer sequences and dicts the content is compared as a whole, not part by part.
MOST_PARTS = 10_000
# A Layer shows what is in these as attributes of its own.
_LAYER_PARTS = ("_parameters", "_buffers", "_sub_layers")
_CONTAINERS = (list, dict, set, collections.deque, bytearray)
_CLOSED = (
    type, types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.FrameType, types.GeneratorType,
    StaticFunction, Op, Node, np.dtype, np.generic, str, bytes, int, float, complex, type(None), type(Ellipsis), slice,
    range,
)


def code_globals(code: types.CodeType) -> Iterator[str]:
    """Names that a code object, or one inside it, may read or write as globals."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_globals(constant)


def is_users_file(file: str) -> bool:
    """True for a file of the user's own, which is neither of d2s nor of a library."""
    return not file.startswith(_NOT_THE_USERS) and "site-packages" not in Path(file).parts


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

    def roots(self) -> Iterator[tuple[str, Any]]:
        """Paths and objects to begin with."""
        yield from self._inputs.items()
        if isinstance(self._function, types.MethodType):
            yield "self", self._function.__self__
        elif not isinstance(self._function, types.FunctionType):
            yield "self", self._function
        for function in self.functions():
            for number, value in enumerate(function.__defaults__ or ()):
                yield f"default {number} of {function.__name__}", value
        for name, keeper, key in self.variables():
            yield name, read_variable(keeper, key)

    def functions(self) -> Iterator[types.FunctionType]:
        """The function, those that it reaches by name, and the methods of Layers of the user's own."""
        pending: list[Any] = [self._function]
        seen: set[int] = set()
        while pending:
            found = pending.pop()
            if isinstance(found, Layer):
                kinds = {kind for layer in found.sublayers(include_self=True) for kind in type(layer).__mro__}
                pending += [member for kind in kinds for member in vars(kind).values()]
                continue
            found = found._function if isinstance(found, StaticFunction) else getattr(found, "__func__", found)
            if not isinstance(found, types.FunctionType) or id(found) in seen:
                continue
            if is_users_file(found.__code__.co_filename):
                seen.add(id(found))
                yield found
                pending += [read_variable(keeper, key) for _, keeper, key in variables_of(found)]

    def variables(self) -> Iterator[tuple[str, Any, str | None]]:
        """Variables outside that calls may bind anew: name, where they are kept (a cell or a dict), and the key."""
        seen = set()
        for function in self.functions():
            for name, keeper, key in variables_of(function):
                value = read_variable(keeper, key)
                if (id(keeper), key) not in seen and not isinstance(
                    value, types.ModuleType | type | types.FunctionType | StaticFunction
                ):
                    seen.add((id(keeper), key))
                    yield name, keeper, key

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
        while pending:
            path, thing = pending.popleft()
            again = seen.get(id(thing))
            yield path, thing, again
            if again is None and not is_closed(thing):
                if not isinstance(thing, tuple | frozenset):
                    seen[id(thing)] = path
                    kept.append(thing)
                pending.extend(parts_of(path, thing))


def variables_of(function: types.FunctionType) -> Iterator[tuple[str, Any, str | None]]:
    """Closure cells and globals of a function: name, keeper and key."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell, None
    for name in dict.fromkeys(code_globals(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__, name


def read_variable(keeper: Any, key: str | None) -> Any:
    """The value of a variable in a cell or a dict; `inspect.Parameter.empty` if there is none."""
    if key is not None:
        return keeper.get(key, inspect.Parameter.empty)
    try:
        return keeper.cell_contents
    except ValueError:
        return inspect.Parameter.empty


def is_closed(thing: Any) -> bool:
    """True if there is nothing in `thing` that a call could change, or that is any of the user's business."""
    return isinstance(thing, _CLOSED) or _is_of_standard_library(type(thing))


def _is_of_standard_library(kind: type) -> bool:
    """True for loggers, files, locks and the like, but not for what holds things of the user's."""
    top = kind.__module__.partition(".")[0]
    return top in sys.stdlib_module_names and top not in _OPEN_MODULES


def parts_of(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, by path."""
    if isinstance(thing, list | tuple | collections.deque | dict | set | frozenset) and len(thing) > MOST_PARTS:
        return
    if isinstance(thing, Tensor):
        yield from ((f"{path}.{name}", value) for name, value in thing.__dict__.items())
        for hooks in () if thing._leaf is None else (thing._leaf.hooks, thing._leaf.reduce_hooks):
            yield from ((f"a hook of {path}", hook) for hook in (hooks.hooks.values() if hooks else ()))
    elif isinstance(thing, types.FunctionType):
        # What hooks and other functions that are kept somewhere share with the code around them.
        if is_users_file(thing.__code__.co_filename):
            for name, keeper, key in variables_of(thing):
                yield name, read_variable(keeper, key)
    elif isinstance(thing, list | tuple | collections.deque):
        yield from ((f"{path}[{number}]", value) for number, value in enumerate(thing))
    elif isinstance(thing, dict):
        yield from ((f"{path}[{key!r}]", value) for key, value in list(thing.items()))
    elif isinstance(thing, set | frozenset):
        yield from ((f"an element of {path}", value) for value in thing)
    elif isinstance(thing, types.MethodType):
        yield path, thing.__self__
    elif isinstance(getattr(thing, "__dict__", None), dict):
        yield from _attributes(path, thing.__dict__)


def _attributes(path: str, attributes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(attributes.items()):
        if name in _LAYER_PARTS and isinstance(value, dict):
            yield from _attributes(path, value)
        elif not name.startswith("__d2s_"):
            yield f"{path}.{name}", value


class Snapshot:
    """The content of everything in reach, to be put back."""

    def __init__(self, reach: Reach) -> None:
        self._restores: list[Callable[[], None]] = []
        for _, keeper, key in reach.variables():
            self._save_variable(keeper, key)
        for _, thing in reach.objects():
            self._save(thing)
        state = generator().bit_generator.state
        self._restores.append(lambda: setattr(generator().bit_generator, "state", state))
        numpy_state, python_state = np.random.get_state(), random.getstate()
        self._restores.append(lambda: np.random.set_state(numpy_state))
        self._restores.append(lambda: random.setstate(python_state))

    def restore(self) -> None:
        """Put everything back as it was."""
        for restore in self._restores:
            restore()
        STRUCTURE.changed()

    def _save_variable(self, keeper: Any, key: str | None) -> None:
        value = read_variable(keeper, key)
        if value is inspect.Parameter.empty:
            return
        if key is None:
            self._restores.append(lambda: setattr(keeper, "cell_contents", value))
        else:
            self._restores.append(lambda: keeper.__setitem__(key, value))

    def _save(self, thing: Any) -> None:
        if isinstance(thing, Tensor):
            self._save_tensor(thing)
        elif isinstance(thing, np.ndarray):
            if thing.flags.writeable:
                values = thing.copy()
                self._restores.append(lambda: thing.__setitem__(..., values))
        elif isinstance(thing, np.random.Generator):
            state = thing.bit_generator.state
            self._restores.append(lambda: setattr(thing.bit_generator, "state", state))
        elif isinstance(thing, random.Random):
            python_state = thing.getstate()
            self._restores.append(lambda: thing.setstate(python_state))
        elif isinstance(thing, types.FunctionType):
            if is_users_file(thing.__code__.co_filename):
                for _, keeper, key in variables_of(thing):
                    self._save_variable(keeper, key)
        elif isinstance(thing, _CONTAINERS):
            self._save_container(thing)
        elif isinstance(getattr(thing, "__dict__", None), dict) and not is_closed(thing):
            self._save_container(thing.__dict__)
            for name in _LAYER_PARTS:
                if isinstance(thing.__dict__.get(name), dict):
                    self._save_container(thing.__dict__[name])

    def _save_container(self, held: Any) -> None:
        if isinstance(held, bytearray):
            content = held[:]
            self._restores.append(lambda: held.__setitem__(slice(None), content))
            return
        is_dict = isinstance(held, dict)
        members = list(held.items() if is_dict else held)

        def restore() -> None:
            # What has not changed is left alone: others may be looking at it.
            now = list(held.items() if is_dict else held)
            if len(now) == len(members) and all(map(_is_same_member, now, members)):
                return
            held.clear()
            held.update(members) if isinstance(held, dict | set) else held.extend(members)

        self._restores.append(restore)

    def _save_tensor(self, tensor: Tensor) -> None:
        self._save_container(tensor.__dict__)
        self._save_slots(tensor, ("data", "_stop_gradient", "_node", "_index", "_leaf", "_sharing", "version"))
        if tensor._leaf is not None:
            self._save_slots(tensor._leaf, ("grad", "zero_grad", "hooks", "reduce_hooks"))
            for hooks in (tensor._leaf.hooks, tensor._leaf.reduce_hooks):
                if isinstance(hooks, HookList):
                    self._save_container(hooks.hooks)
                    self._save_slots(hooks, ("keep",))
        if isinstance(tensor._sharing, Sharing):
            self._save_slots(tensor._sharing, ("view",))
            self._save_container(tensor._sharing.views)
            self._save_container(tensor._sharing.peers)

    def _save_slots(self, thing: Any, names: tuple[str, ...]) -> None:
        values = [(name, getattr(thing, name)) for name in names]

        def restore() -> None:
            for name, value in values:
                setattr(thing, name, value)

        self._restores.append(restore)


def _is_same_member(one: Any, other: Any) -> bool:
    if type(one) is tuple and type(other) is tuple:
        # An item of a dict, made anew each time.
        return len(one) == len(other) and all(map(operator.is_, one, other))
    return one is other
