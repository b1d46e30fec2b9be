"""How far an iterator has come: it cannot be put back, so a branch that was traced on trial may not advance it."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from types import GeneratorType
from typing import Any


def progress_of(iterator: Iterator[Any]) -> Any:
    """Something that compares unequal once `iterator` has given another item."""
    if isinstance(iterator, GeneratorType):
        frame = iterator.gi_frame
        # It may stop at one place each time: what it holds tells how often it has come there.
        return None if frame is None else (frame.f_lasti, _state(tuple(frame.f_locals.values())))
    left = operator.length_hint(iterator, -1)
    if left >= 0:
        return left
    try:
        with warnings.catch_warnings():
            # Some may not be pickled in later versions of Python.
            warnings.simplefilter("ignore")
            parts: Any = iterator.__reduce__()
    except TypeError:
        return None
    return _state(parts)


def _state(part: Any) -> Any:
    """The state of what an iterator is made of: iterators inside it, counters."""
    if isinstance(part, tuple):
        return tuple(map(_state, part))
    if isinstance(part, Iterator):
        return progress_of(part)
    return part if isinstance(part, int) else id(part)


__all__ = ["progress_of"]
