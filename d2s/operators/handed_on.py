"""Which tensors the turns of a loop hand on: what a place may hold when a turn begins, other than what turns make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from d2s.operators import carried
from d2s.operators.choices import hidden_sources, may_be_one
from d2s.operators.heap import Heap
from d2s.operators.sharing import sharing_of
from d2s.static.variable import Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

Place = tuple[int, Any]


class HandedOn:
    """
    What is known of one loop.

    Attributes
    ----------
    made_anew : dict of Place to Variable
        Tensors that turns leave, and that are no views, nor chosen among such.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        # What turns leave in a place: tensors from before, by identity, and what other places held.
        self._left: dict[Place, dict[Any, Variable | None]] = {}
        self.made_anew: dict[Place, Variable] = {}
        # Where this turn has found tensors, and where it leaves those that it has made, by identity.
        self._begun: dict[int, Place] = {}
        self._made: dict[int, Place] = {}

    def begin_turn(self) -> None:
        """A turn is traced, with new Variables."""
        self._begun, self._made = {}, {}

    def note_begun(self, place: Place, variables: list[Variable]) -> None:
        """Note what a place holds at the beginning of the turn."""
        self._begun.update((id(variable), place) for variable in variables)

    def sources(self, place: Place, held_before: Callable[[Place], Any]) -> Iterator[Variable | Place]:
        """What a place may hold at the beginning of a turn, other than what it held at first."""
        seen = {place}
        stack = [place]
        while stack:
            for key, variable in self._left.get(stack.pop(), {}).items():
                if variable is not None:
                    yield variable
                elif key not in seen:
                    seen.add(key)
                    stack.append(key)
                    yield key
                    yield from tensors_in(held_before(key))

    def note(self, place: Place, now: Any, before: Heap) -> bool:
        """Take note of tensors that a turn leaves in a place and has not made itself; True if that is news."""
        known = self._left.setdefault(place, {})
        count, news = len(known), False
        for variable in tensors_in(now):
            self._note_chosen(place, variable, before)
            source = self._begun.get(id(variable))
            if source is not None:
                known[source] = None
            elif id(variable) in before.nodes or self._tracer.outer_tensor(variable) is not None:
                known[id(variable)] = variable
            else:
                # In the next turn they are one tensor.
                self._note_one_tensor(place, self._made.setdefault(id(variable), place))
                if sharing_of(variable) is None and not hidden_sources(variable):
                    news |= place not in self.made_anew
                    self.made_anew[place] = variable
                else:
                    # Or to what it is, or may be, a view of, or to its views.
                    known[("sharing", place)] = variable
        return news or len(known) > count

    def _note_chosen(self, place: Place, variable: Variable, before: Heap) -> None:
        """Take note of what a branch or a loop in the turn may have chosen."""
        for other in may_be_one(variable):
            held = self._begun.get(id(other)) or self._made.get(id(other))
            if held is not None:
                self._note_one_tensor(place, held)
                continue
            outer = self._tracer.tensors.get(other.value)
            if outer is not None:
                # The one that stands for it in all turns.
                other = self._tracer.canonical[id(outer)][1]
            if outer is not None or id(other) in before.nodes:
                self._left[place][id(other)] = other

    def _note_one_tensor(self, first: Place, second: Place) -> None:
        """Note that two places may hold one tensor when the next turn begins."""
        if first != second:
            self._left.setdefault(first, {})[second] = None
            self._left.setdefault(second, {})[first] = None


def tensors_in(thing: Any) -> Iterator[Variable]:
    """The tensors in nested containers."""
    if isinstance(thing, Variable):
        yield thing
    elif isinstance(thing, tuple | list | dict):
        for part in carried.parts_in(thing):
            yield from tensors_in(part)
    elif carried.is_replaceable(thing):
        yield from (part for part in carried.parts_in(thing) if isinstance(part, Variable))


__all__ = ["HandedOn", "Place", "tensors_in"]
