"""What traced code makes while it is traced, and of which each call of the function has its own in eager mode.

Two runs must not be given the same one: that shows by `is`, where objects are told apart by identity, and by what one
of them is changed to.  Containers, functions and objects of the user's classes are made anew by the run.  For classes,
Layers, modules, caches and the like, which are made while tracing only, a Program serves one call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from operator import attrgetter, itemgetter, methodcaller
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.converted import nested_in
from d2s.operators.heap import CONTAINERS, content_of
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

Thing = TypeVar("Thing")

_PICKERS = (itemgetter, attrgetter, methodcaller)
# Made anew by the run, or values of which it does not matter which one they are.
_OTHERS = (
    TensorBase, ObjectVariable, BaseException, functools.partial, slice, SimpleNamespace, *CONTAINERS, *_PICKERS)


def note(tracer: Tracer, made: Thing) -> Thing:
    """Note that this has been made for the call that is traced; gives it back."""
    tracer.of_this_call[id(made)] = made
    return made


def note_result(tracer: Tracer, func: Any, args: tuple[Any, ...], result: Any) -> Any:
    """Note what a class or function of a library or of d2s has given, if it is new and told apart by identity."""
    is_new = isinstance(result, type | FunctionType | ModuleType | functools._lru_cache_wrapper)
    if isinstance(func, type) and type(result) is func is not object:
        told_apart: Any = func.__hash__
        is_new = told_apart in (None, object.__hash__) or func is memoryview
    if is_new and not isinstance(result, _OTHERS) and not tracer.is_outer(result) and not any(
            result is arg for arg in args):
        note(tracer, result)
    return result


def note_birth(tracer: Tracer, made: Thing) -> Thing:
    """Note where something was made that the run makes anew; gives it back."""
    if isinstance(made, (BaseException, functools.partial, *_PICKERS)) or type(made) is object:
        tracer.born[id(made)] = made, tracer.block
    return made


def remade(thing: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """How a run makes its own one of an object that never changes: a function and its arguments; None of others."""
    if type(thing) is object:
        return object, ()
    if isinstance(thing, _PICKERS):
        made, given = cast("tuple[Any, Any]", thing.__reduce__())
        return made, given
    return None


def check(tracer: Tracer, thing: Any) -> None:
    """Let the Program serve one call if `thing`, which is about to leave the trace, or its class was made for it.

    Raises
    ------
    UnsupportedSyntaxError
        If it holds what each run has its own of: it would show what there was while tracing.
    """
    for made in (thing, type(thing)):
        if id(made) in tracer.of_this_call:
            if any(_is_of_run(tracer, part) for part in _parts_of(made, set())):
                what = f"class {made.__name__}" if isinstance(made, type) else f"{type(made).__name__}"
                raise UnsupportedSyntaxError(
                    f"a {what} that is made inside, and holds or uses tensors or containers of this call, cannot leave "
                    "the function or be kept for later", user_location(),
                    "Make it outside, and give it what it needs; or keep the function eager with "
                    "@d2s.jit.not_to_static.", kind="U42")
            serve_one_call(tracer)


class Storing:
    """``setter(target, ...)`` for an object that does not leave by it."""

    def __init__(self, setter: Callable[..., Any], target: Any) -> None:
        self._setter, self._target = setter, target

    def __call__(self, name: str, value: Any) -> None:
        self._setter(self._target, name, value)


def serve_one_call(tracer: Tracer) -> None:
    """Note that the Program holds something that was made for the call that is traced."""
    from d2s.operators import new_state

    new_state.serve_one_call(tracer)


def _is_of_run(tracer: Tracer, part: Any) -> bool:
    """True for what stands for something of the run, and for variables of containers that the run makes anew."""
    if isinstance(part, CellType):
        content = content_of(part)
        return isinstance(content, CONTAINERS) and not tracer.is_outer(content)
    return isinstance(part, Variable | ObjectVariable)


def _parts_of(thing: Any, seen: set[int]) -> Iterator[Any]:
    """What a class, a cache or another object made while tracing holds, and what its functions close over."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    parts: list[Any] = []
    if isinstance(thing, CellType):
        parts = [content_of(thing)]
    elif isinstance(thing, FunctionType) and nested_in(thing) is not None:
        parts = [*(thing.__closure__ or ()), *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    elif isinstance(thing, type):
        parts = [part for name, part in vars(thing).items() if name not in _OF_PYTHON]
    elif isinstance(thing, property):
        parts = [thing.fget, thing.fset, thing.fdel]
    elif isinstance(thing, staticmethod | classmethod | functools._lru_cache_wrapper):
        parts = [thing.__wrapped__]
    for part in parts:
        yield part
        yield from _parts_of(part, seen)


# What every class has.
_OF_PYTHON = frozenset({
    "__annotations__", "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__slots__",
    "__match_args__", "__static_attributes__", "__firstlineno__", "__classdictcell__",
})
