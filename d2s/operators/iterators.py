"""How far an iterator has come, and what happens when it gives an item.

It cannot be put back, so a branch that was traced on trial may not advance it.
"""

from __future__ import annotations

import gc
import itertools
import operator
import warnings
from collections import deque
from collections.abc import Iterator
from types import BuiltinMethodType, GeneratorType
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
    return _state(_parts(iterator))


# Iterators that do nothing but give what is in a container, or numbers.
_GIVING = frozenset(map(type, (
    iter([]), iter(()), iter({}), iter({}.items()), iter({}.values()), iter(set()), iter(""), iter(b""),
    iter(range(0)), iter(range(2**70)), reversed([]), reversed({}), reversed({}.items()), reversed({}.values()),
    itertools.count(), itertools.repeat(0), iter(deque()), reversed(deque()),
)))
# Those that take from others and do no more.
_PASSING_ON = (enumerate, zip, reversed, itertools.chain, itertools.islice, itertools.zip_longest, itertools.cycle)


def gives_only(iterator: Any) -> bool:
    """True if nothing but the iterator itself changes when it gives an item, by what it is."""
    if type(iterator) in _PASSING_ON:
        return all(map(gives_only, _iterators_in(_parts(iterator))))
    return type(iterator) in _GIVING


def _iterators_in(part: Any) -> Iterator[Any]:
    if isinstance(part, Iterator):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from _iterators_in(inner)


def reached_by(iterator: Any) -> list[Any]:
    """What the code that runs when an iterator gives an item may change."""
    if isinstance(iterator, GeneratorType):
        # Its function is among them, and with it the variables around that.
        return [*gc.get_referents(iterator), *reached_by(iterator.gi_yieldfrom)]
    parts = _parts(iterator)
    owners = [thing.__self__ for thing in _flat(parts) if isinstance(thing, BuiltinMethodType)]
    return [parts, *owners, *(thing for inner in _iterators_in(parts) for thing in reached_by(inner))]


def watches_its_end(iterator: Any) -> bool:
    """True for a generator that does something when it is given up before its end, by what it says."""
    if not isinstance(iterator, GeneratorType):
        return any(map(watches_its_end, _iterators_in(_parts(iterator))))
    names = iterator.gi_code.co_names
    return "GeneratorExit" in names or "BaseException" in names or watches_its_end(iterator.gi_yieldfrom)


def _flat(part: Any) -> Iterator[Any]:
    if isinstance(part, tuple):
        for inner in part:
            yield from _flat(inner)
    else:
        yield part


def _parts(iterator: Any) -> Any:
    """What a built-in iterator is made of; None if it does not tell."""
    try:
        with warnings.catch_warnings():
            # Some may not be pickled in later versions of Python.
            warnings.simplefilter("ignore")
            return iterator.__reduce__()
    except TypeError:
        return None


def _state(part: Any) -> Any:
    """The state of what an iterator is made of: iterators inside it, counters."""
    if isinstance(part, tuple):
        return tuple(map(_state, part))
    if isinstance(part, Iterator):
        return progress_of(part)
    return part if isinstance(part, int) else id(part)


__all__ = ["gives_only", "progress_of", "reached_by", "watches_its_end"]
