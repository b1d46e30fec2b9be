"""When two Python values are the same for a trace: by identity, or by exact value and type; never by hash.

``1``, ``1.0`` and ``True`` differ, and so do ``0.0`` and ``-0.0``; a NaN is the same as one with its bits.
"""

from __future__ import annotations

import array
import enum
import struct
from collections import deque
from collections.abc import Callable, Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

PRIMITIVES = (int, str, bytes, bool, type(None), type(Ellipsis))

# Modules whose immutable classes say all they hold in their repr: they are compared by it.
_VALUE_MODULES = frozenset({
    "decimal", "_decimal", "_pydecimal", "fractions", "datetime", "uuid", "pathlib", "ipaddress",
})


# Objects that are all content, which may change in place and is read without the name of an attribute or method.
ALL_CONTENT: tuple[type, ...] = (
    np.ndarray, bytearray, memoryview, array.array, MappingProxyType, type({}.keys()), type({}.values()),
    type({}.items()), SimpleNamespace)

_bits = struct.Struct("d").pack


def same_float(value: Any, expected: float) -> bool:
    """True if `value` is the same float, bit for bit: 0.0 is not -0.0, and a NaN is not one of the other sign."""
    return type(value) is float and _bits(value) == _bits(expected)


def same_value(value: Any, expected: Any) -> bool:
    """True if two plain values (see `is_plain`) are equal with equal types, all the way down."""
    if type(value) is not type(expected):
        return False
    if type(expected) is float:
        return same_float(value, expected)
    if type(expected) is complex:
        return same_float(value.real, expected.real) and same_float(value.imag, expected.imag)
    if type(expected) is tuple:
        return len(value) == len(expected) and all(map(same_value, value, expected))
    if type(expected) is slice:
        return all(same_value(getattr(value, part), getattr(expected, part)) for part in ("start", "stop", "step"))
    if type(expected).__module__ in _VALUE_MODULES:
        return value is expected or repr(value) == repr(expected)
    return bool(value == expected)


def plain_part(value: Any) -> Any:
    """The number or text that an object of a subclass of int, float, complex, str or bytes is."""
    return next(part(value) for kind, part in _PLAIN_PARTS if isinstance(value, kind))


_PLAIN_PARTS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__pos__), (float, float.__pos__), (complex, complex.__pos__), (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))))
NUMBERS_AND_TEXTS = tuple(kind for kind, _ in _PLAIN_PARTS)


def same_content(value: Any, expected: np.ndarray) -> bool:
    """True if an array holds what another did, bit for bit; of objects, the same."""
    if value.shape != expected.shape or value.dtype != expected.dtype:
        return False
    if expected.dtype.hasobject:
        return all(map(same_thing, value.flat, expected.flat))
    return bool(value.tobytes() == expected.tobytes())


def same_parts(values: Any, expected: tuple[Any, ...]) -> bool:
    """True if both are the same things in the same order: identical objects, or plain values that are the same."""
    found = tuple(values)
    return len(found) == len(expected) and all(map(same_thing, found, expected))


def same_thing(value: Any, expected: Any) -> bool:
    """True for identical objects, the same plain values, and tuples of these."""
    if value is expected:
        return True
    if type(value) is tuple and type(expected) is tuple:
        return same_parts(value, expected)
    return is_plain(expected) and same_value(value, expected)


def is_plain(value: Any) -> bool:
    """True for values compared by value: numbers, strings, None, slices, ranges, dates, dtypes, tuples of these."""
    kind = type(value)
    if kind is tuple:
        return all(map(is_plain, value))
    if kind is slice:
        return is_plain(value.start) and is_plain(value.stop) and is_plain(value.step)
    return kind in PRIMITIVES or kind in (float, complex, range) or isinstance(value, np.dtype) or (
        kind.__module__ in _VALUE_MODULES and not isinstance(value, enum.Enum))


def is_told_by_value(value: Any) -> bool:
    """True for what the run can have in place of a value that is known now: plain values and members of enums."""
    return is_plain(value) or isinstance(value, enum.Enum)


def shows_its_content(value: Any) -> bool:
    """True for objects that the trace reads part by part: containers, arrays, objects with attributes.

    What such an object holds is guarded where it is read, so another one of its type may take its place.
    """
    if isinstance(value, list | tuple | dict | set | frozenset | np.ndarray) or type(value).__name__ == "deque":
        return True
    if isinstance(value, enum.Enum):
        return False
    return isinstance(getattr(value, "__dict__", None), dict) or type(value).__flags__ & _HEAP_TYPE != 0


# Set for classes made by a `class` statement: their instances hold attributes, in a dict or in slots.
_HEAP_TYPE = 1 << 9


def holds_itself(thing: Any) -> bool:
    """True for a container from which a way through lists, tuples and dicts leads around in a circle."""
    around: set[int] = set()
    done: set[int] = set()
    ways = [(thing, iter([thing]))]
    while ways:
        inside, parts = ways[-1]
        for part in parts:
            if id(part) in around:
                return True
            if isinstance(part, list | tuple | dict | deque) and id(part) not in done:
                around.add(id(part))
                ways.append((part, _parts_of(part)))
                break
        else:
            ways.pop()
            around.discard(id(inside))
            done.add(id(inside))
    return False


def _parts_of(thing: Any) -> Iterator[Any]:
    """What a container holds, whatever its class makes of asking."""
    if isinstance(thing, dict):
        return iter(dict.values(thing))
    return next(kind for kind in (list, tuple, deque) if isinstance(thing, kind)).__iter__(thing)


def same_plain_value(a: Any, b: Any) -> bool:
    """True for equal plain values (strings, numbers, None) of the same type."""
    if type(a) in (int, float, str, bool, bytes, complex, type(None)):
        return same_value(a, b)
    return False
