"""Iterators of which only the run knows how far they have come: what they run over, and a number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from d2s.operators.control_flow import if_else
from d2s.operators.open_items import is_open
from d2s.operators.open_lists import Parts
from d2s.operators.restarts import IteratorsOfTheRun
from d2s.operators.symbols import is_symbol
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
from d2s.static.variable import Variable

# Where one is that has come to its end: there it stays, however much there is later.
_END = 2**62
_MAKERS = (iter, zip, enumerate, reversed)


class OpenIterator(Turns):
    """What `iter`, `zip`, `enumerate` and `reversed` give in a trace in which iterators are told apart by a number.

    Attributes
    ----------
    place : list of one int
        The number of the next item; a list, since branches and turns of the Program change it.
    """

    def __init__(self, tracer: Tracer, turns: Turns) -> None:
        self.tracer = tracer
        self.turns = turns
        self.place: list[Any] = [0]

    def has(self, index: Any) -> Any:
        return self.turns.has(self.place[0])

    def part(self, index: Any) -> Any:
        found = self.turns.part(self.place[0])
        self.place[0] = self.place[0] + 1
        return found

    def take(self, *default: Any) -> Any:
        """``next(self, *default)``."""

        def end() -> Any:
            self.place[0] = _END
            return default[0]

        has = self.has(None)
        if is_symbol(has) and default:
            return if_else(self.tracer, has, lambda: self.part(None), end)
        if self.tracer.decide(has) if is_symbol(has) else has:
            return self.part(None)
        self.place[0] = _END
        if not default:
            raise StopIteration
        return default[0]

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self.take()

    def __length_hint__(self) -> int:
        return 0


class _Numbers(Turns):
    """The numbers that `itertools.count` gives."""

    def __init__(self, start: Any, step: Any) -> None:
        self.start, self.step = start, step

    def has(self, index: Any) -> Any:
        return True

    def part(self, index: Any) -> Any:
        return self.start + index * self.step


class _Again(Turns):
    """What `itertools.cycle` gives of something whose length is known."""

    def __init__(self, tracer: Tracer, things: Any) -> None:
        self.parts, self.count = Parts(tracer, things), len(things)

    def has(self, index: Any) -> Any:
        return self.count > 0

    def part(self, index: Any) -> Any:
        return self.parts.part(index % self.count)


def made(tracer: Tracer, function: Any, things: tuple[Any, ...], named: dict[str, Any]) -> OpenIterator | None:
    """``function(*things, **named)``, one of `iter`, `zip`, `enumerate` and `reversed`; None for things of which an
    item is not told by its number."""
    if IteratorsOfTheRun not in tracer.learned or function not in _MAKERS or named.get("strict") or not things:
        return None
    if isinstance(things[0], OpenIterator) and function is iter and len(things) == 1:
        return things[0]
    sides = things if function is zip else things[:1]
    if not all(map(_is_numbered, sides)) or (function is iter and len(things) > 1):
        return None
    if function is enumerate:
        return OpenIterator(tracer, Parts(tracer, *sides, start=named.get("start", things[1] if things[1:] else 0)))
    return OpenIterator(tracer, Parts(tracer, *sides, is_backward=function is reversed))


def made_of_turns(tracer: Tracer, turns: Turns) -> Turns:
    """An iterator over what only the run knows how much it is."""
    is_of_the_run = IteratorsOfTheRun in tracer.learned and not isinstance(turns, OpenIterator)
    return OpenIterator(tracer, turns) if is_of_the_run else turns


def counter(tracer: Tracer, start: Any = 0, step: Any = 1) -> Iterator[Any] | Turns:
    """``itertools.count(start, step)``."""
    numbers = all(type(part) is int for part in (start, step))
    return OpenIterator(tracer, _Numbers(start, step)) if IteratorsOfTheRun in tracer.learned and numbers else (
        itertools.count(start, step))


def cycle(tracer: Tracer, things: Any) -> Iterator[Any] | Turns:
    """``itertools.cycle(things)``."""
    if IteratorsOfTheRun in tracer.learned and _is_numbered(things) and not is_open(things):
        return OpenIterator(tracer, _Again(tracer, tuple(things)))
    return itertools.cycle(things)


def _is_numbered(thing: Any) -> bool:
    return isinstance(thing, Variable) or type(thing) in (list, tuple, range, str) or (
        isinstance(thing, Turns) and not isinstance(thing, OpenIterator))


def open_all(tracer: Tracer) -> None:
    """Begin the trace anew, with iterators of the run; nothing if that has been done."""
    if IteratorsOfTheRun not in tracer.learned:
        raise IteratorsOfTheRun


__all__ = ["OpenIterator", "counter", "cycle", "made", "made_of_turns", "open_all"]
