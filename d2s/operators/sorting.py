"""Sorting by numbers that only the run knows: the run finds the order, and the trace takes the elements from it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import picking
from d2s.operators.equality import is_plain
from d2s.operators.special_methods import order_key
from d2s.operators.symbols import holds_symbols, symbol_of
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable

_ORDERED = (int, float, bool, str)
# More elements than this are not chosen one by one.
MAX_CHOSEN = 16


def in_order(tracer: Tracer, parts: list[Any], key: Callable[[Any], Any] | None, is_backward: Any) -> list[Any] | None:
    """``sorted(parts, key=key, reverse=is_backward)``; None without a key, where it is not by numbers of the run."""
    keys = parts if key is None else [key(part) for part in parts]
    known = [_comparable(tracer, one) for one in keys]
    is_known = not holds_symbols(keys) or any(one is None for one in known)
    if is_known or len(parts) > MAX_CHOSEN or not _can_be_chosen(tracer, parts):
        return None if key is None else _by_keys(tracer, parts, keys, is_backward)
    order = tracer.python_call(_order, (known, is_backward), kind=list, effect=True)
    places = [tracer.python_call(operator.getitem, (order, number), kind=int) for number in range(len(parts))]
    return [picking.picked(tracer, parts.__getitem__, place, len(parts)) for place in places]


def _by_keys(tracer: Tracer, parts: list[Any], keys: list[Any], is_backward: Any) -> list[Any]:
    """Sorted as Python compares the keys."""
    wrapped = order_key(tracer, keys, None)

    def key_at(place: int) -> Any:
        return keys[place] if wrapped is None else wrapped(keys[place])

    return [parts[place] for place in sorted(range(len(parts)), key=key_at, reverse=is_backward)]


def _order(keys: list[Any], is_backward: Any) -> list[int]:
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=is_backward)


def _comparable(tracer: Tracer, key: Any) -> Any:
    """A key as the run compares it: with numbers in place of tensors; None for others than numbers and texts."""
    key = symbol_of(tracer, key)
    if isinstance(key, Variable):
        return key.item() if key.size == 1 and key.dtype.kind in "iufb" else None
    if isinstance(key, ObjectVariable):
        return key if key.value.kind in _ORDERED else None
    if type(key) is tuple:
        parts = tuple(_comparable(tracer, part) for part in key)
        return None if None in [part if part is None else 0 for part in parts] else parts
    return key if type(key) in _ORDERED else None


def _can_be_chosen(tracer: Tracer, parts: list[Any]) -> bool:
    """True if a place may hold any of these: numbers, tensors of one form, tuples of such."""
    parts = [symbol_of(tracer, part) for part in parts]
    if all(isinstance(part, Variable) for part in parts):
        return len({(part.spec.shape, part.dtype, part.stop_gradient) for part in parts}) == 1
    if all(type(part) is tuple for part in parts):
        return len(set(map(len, parts))) == 1 and all(
            _can_be_chosen(tracer, list(column)) for column in zip(*parts, strict=True))
    return all(isinstance(part, ObjectVariable) or is_plain(part) for part in parts) and (
        not any(isinstance(part, TensorBase) for part in parts)) and len({_kind_of(part) for part in parts}) == 1


def _kind_of(part: Any) -> Any:
    return part.value.kind if isinstance(part, ObjectVariable) else type(part)


__all__ = ["in_order"]
