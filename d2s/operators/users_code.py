"""Code of the user that a library runs by itself: what it asks of objects, and the functions that it is given."""

from __future__ import annotations

import functools
import logging
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.operators import policy
from d2s.operators.guards import is_layer, lookup
from d2s.operators.raw_containers import held_in
from d2s.operators.sources import Constant

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

# What the built-in functions and the standard library ask of objects that they do not know.
_ASKED = (
    "__str__", "__repr__", "__format__", "__bool__", "__len__", "__iter__", "__next__", "__contains__", "__getitem__",
    "__missing__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__index__", "__int__", "__float__",
    "__complex__", "__round__", "__floor__", "__ceil__", "__trunc__", "__abs__", "__neg__", "__add__", "__radd__",
    "__mul__", "__rmul__", "__sub__", "__rsub__", "__call__", "__array__", "__fspath__", "__copy__", "__deepcopy__",
    "__reduce__",
    "write", "filter", "emit", "read", "readline",
)
# These put things where they belong, and do not look at them.
_KEEPING = frozenset({
    "append", "appendleft", "insert", "clear", "reverse", "rotate", "pop", "popleft", "copy", "extend", "extendleft",
    "setattr", "getattr", "delattr", "put", "put_nowait", "partial", "set", "isinstance", "type", "id", "getitem",
    "setitem", "keys", "values", "items",
})
_DEPTH = 4


def run_by(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The code of the user that a function of a library may run: on what it is given, or on what it belongs to."""
    if getattr(func, "__name__", "") in _KEEPING:
        return []
    owner = getattr(func, "__self__", None)
    things = [owner, *args, *kwargs.values()] if isinstance(owner, list | dict | set | deque) else [
        *args, *kwargs.values()]
    parts = list(_parts(tracer, things, False, _DEPTH))
    if isinstance(owner, logging.Logger):
        parts += [(thing, True) for thing in _parts_of_logger(owner)]
    found = []
    for thing, is_older in parts:
        functions = list(_code_of(thing))
        if functions and is_older and not tracer.is_outer(thing):
            # Not met so far.
            tracer.remember(thing, Constant(thing))
        found += functions
    return found


@contextmanager
def watched(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Record the call of a function of a library, and let the trace see what code of the user may do in it."""
    functions = run_by(tracer, func, args, kwargs)
    if not functions:
        yield
        return
    from d2s.operators.hook_effects import Watch

    watch = Watch(tracer, functions)
    yield
    tracer.anything_may_change()
    watch.finish()


def is_asked_for_what_is_missing(tracer: Tracer, things: Iterable[Any]) -> bool:
    """True if among the things is a dict of which code of the user says what it has for a key that it does not hold."""
    return any(
        isinstance(thing, dict) and type(thing) is not dict
        and any(isinstance(code, FunctionType) or code.__name__ == "__missing__" for code in _code_of(thing))
        for thing, _ in _parts(tracer, things, False, _DEPTH))


def _parts(tracer: Tracer, things: Any, is_older: bool, depth: int) -> Iterator[tuple[Any, bool]]:
    """The things, and what containers among them hold; with whether they are in a container from outside."""
    for thing in things:
        yield thing, is_older
        if depth and isinstance(thing, list | tuple | set | frozenset | deque | dict):
            inner = [*(dict.keys(thing) if isinstance(thing, dict) else ()), *held_in(thing)]
            yield from _parts(tracer, inner, is_older or tracer.is_outer(thing), depth - 1)


def _parts_of_logger(logger: logging.Logger) -> Iterator[Any]:
    above: logging.Logger | None = logger
    while above is not None:
        yield from above.filters
        for handler in above.handlers:
            yield from (handler, handler.formatter, *handler.filters)
        above = above.parent if above.propagate else None


def _code_of(thing: Any) -> Iterator[Any]:
    """The functions that a library may call of a thing."""
    inner: Any = thing.func if isinstance(thing, functools.partial) else thing
    function: Any = inner.__func__ if isinstance(inner, MethodType) else inner
    if isinstance(function, FunctionType):
        if policy.is_convertible(function):
            yield thing
        return
    if isinstance(thing, defaultdict):
        factory: Any = thing.default_factory
        yield from _code_of(lookup(factory, "__init__") if isinstance(factory, type) else factory)
    cls: Any = type(thing)
    if isinstance(thing, type | TensorBase) or not policy.is_of_user(cls) or is_layer(thing):
        return
    for name in _ASKED:
        method = lookup(cls, name)
        # Those that a dataclass makes look at its fields only.
        if isinstance(method, FunctionType) and policy.is_convertible(method) and (
                method.__code__.co_filename != "<string>"):
            yield MethodType(method, thing)
