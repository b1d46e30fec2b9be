"""Numbers that code written in C asks objects of the user for, by `__index__`, where it takes the place of an integer.

Such a method is traced like any other.  It is called before the function is, so what that gets are numbers.
"""

from __future__ import annotations

import itertools
import operator
from collections import deque
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.operators.access import special
from d2s.operators.equality import is_plain
from d2s.operators.late_call import late_call
from d2s.operators.raw_containers import raw_kind
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable

# Which arguments of methods are numbers: those from the first to the last, by their places.
_METHODS: dict[type, dict[str, slice]] = {
    list: {"insert": slice(1), "pop": slice(1), "index": slice(1, None)},
    deque: {"insert": slice(1), "rotate": slice(1), "index": slice(1, None)},
    tuple: {"index": slice(1, None)},
    bytearray: {"insert": slice(2), "pop": slice(1), "append": slice(1), "remove": slice(1)},
}
# Texts and numbers take nothing but texts and numbers, other than these.
_OF_TEXT_AND_NUMBERS = (str, bytes, bytearray, int, float, complex)
_OF_ANYTHING = frozenset({
    "format", "format_map", "join", "extend", "maketrans", "translate", "__contains__", "__mod__"})
# Classes that take numbers behind their first argument, or by name; a deque takes none that is not an int.
_CLASSES: tuple[Any, ...] = (
    itertools.islice, itertools.repeat, itertools.combinations,
    itertools.combinations_with_replacement, itertools.product, enumerate)
_NAMED = frozenset({"times", "r", "repeat", "start"})
_OF_ITEMS = ("__getitem__", "__setitem__", "__delitem__")
_SEQUENCES = (list, tuple, str, bytes, bytearray, deque)


def check_answer(thing: Any, name: str, result: Any, kind: type) -> None:
    """Raise a TypeError, in Python's words, if a special method of the user gives what Python does not take."""
    if not isinstance(result, kind | ObjectVariable):
        given = f"{type(thing).__name__}.{name}" if name == "__float__" else name
        wanted = "string" if kind is str else kind.__name__
        raise TypeError(f"{given} returned non-{wanted} (type {type(result).__name__})")


def number_said(tracer: Tracer, thing: Any) -> Any:
    """The number that an object of the user says it is where one is needed; others as they are."""
    is_users = not is_plain(thing) and not isinstance(thing, TensorBase | ObjectVariable)
    method = special(tracer, thing, "__index__") if is_users else None
    if method is None:
        return thing
    found = late_call(method)
    check_answer(thing, "__index__", found, int)
    return found


def in_index(tracer: Tracer, held: Any, index: Any) -> Any:
    """An index of a container with the numbers that its parts say they are."""
    if isinstance(held, dict) or any(raw_kind(held, name) is not None for name in _OF_ITEMS):
        return index
    if isinstance(index, tuple) and isinstance(held, TensorBase | np.ndarray):
        parts = tuple(in_index(tracer, held, part) for part in index)
        return index if all(map(operator.is_, parts, index)) else parts
    if not isinstance(index, slice):
        is_by_number = isinstance(held, (*_SEQUENCES, memoryview, range, TensorBase, np.ndarray))
        return number_said(tracer, index) if is_by_number else index
    bounds = (index.start, index.stop, index.step)
    numbers = [number_said(tracer, bound) for bound in bounds]
    return index if all(map(operator.is_, numbers, bounds)) else slice(*numbers)


def in_method(tracer: Tracer, owner: Any, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a method of a built-in container or text."""
    kind = next((kind for kind in _METHODS if isinstance(owner, kind)), None)
    places = None if kind is None else _METHODS[kind].get(name)
    if places is None and isinstance(owner, _OF_TEXT_AND_NUMBERS) and name not in _OF_ANYTHING:
        # Those of operators tell by NotImplemented that they are given something else.
        places = None if name.startswith("__") else slice(None)
    if places is None:
        return args
    chosen = set(range(*places.indices(len(args))))
    return tuple(number_said(tracer, arg) if place in chosen else arg for place, arg in enumerate(args))


def in_call(
    tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a class of the standard library that is written in C."""
    if (func is bytes or func is bytearray) and args and isinstance(args[0], list | tuple) and not (
            tracer.is_outer(args[0])):
        return (type(args[0])(number_said(tracer, part) for part in args[0]), *args[1:]), kwargs
    if not any(func is known for known in _CLASSES):
        return args, kwargs
    behind = args[1:] if func is itertools.product else tuple(number_said(tracer, arg) for arg in args[1:])
    named = {name: number_said(tracer, arg) if name in _NAMED else arg for name, arg in kwargs.items()}
    return (*args[:1], *behind), named


def element(tracer: Tracer, target: Any, value: Any) -> Any:
    """What a container is given for one of its items."""
    return number_said(tracer, value) if isinstance(target, bytearray) else value


def in_repetition(tracer: Tracer, name: str, left: Any, right: Any) -> tuple[Any, Any]:
    """The operands of ``*`` where one is a sequence: the other one says how often, unless it defines ``*`` itself."""
    if name in ("mul", "imul"):
        if isinstance(left, _SEQUENCES) and special(tracer, right, "__rmul__") is None:
            return left, number_said(tracer, right)
        if isinstance(right, _SEQUENCES) and special(tracer, left, "__mul__") is None:
            return number_said(tracer, left), right
    return left, right
