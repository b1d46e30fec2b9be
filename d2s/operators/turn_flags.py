"""What is so of the values that a loop carries in some turns, and not in others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from d2s.operators.tracer import Tracer
from d2s.static.program import Value


class TurnFlags:
    """Which carried values stop gradients, or are tensors from outside, at the beginning of some turns.

    They are known by the place that holds them and the position in what it holds.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._may_stop: set[tuple[Any, int]] = set()
        self._may_be_outer: set[tuple[Any, int]] = set()

    def note(self, place: Any, inputs: Sequence[Value], initial: Sequence[Value]) -> None:
        """Let the trace know it of `inputs`, with which turns begin; in the first turn they are `initial`."""
        for position, (value, first) in enumerate(zip(inputs, initial, strict=True)):
            self._tracer.note_chosen(value, (first,))
            if (place, position) in self._may_stop and not value.stop_gradient:
                self._tracer.may_stop.add(value)
            if (place, position) in self._may_be_outer:
                self._tracer.may_be_outer.add(value)

    def learn(self, place: Any, inputs: Sequence[Value], following: Sequence[Value]) -> bool:
        """Take note of it in `following`, which a turn leaves for the next one; True if there is anything new."""
        tracer, known = self._tracer, len(self._may_stop) + len(self._may_be_outer)
        for position, (value, now) in enumerate(zip(inputs, following, strict=True)):
            stops = now.stop_gradient and not (now.is_constant and now.constant is None)
            if value.is_tensor and not value.stop_gradient and (stops or now in tracer.may_stop):
                self._may_stop.add((place, position))
            if value not in tracer.may_be_outer and (tracer.is_outer(now) or now in tracer.may_be_outer):
                self._may_be_outer.add((place, position))
        return len(self._may_stop) + len(self._may_be_outer) > known


__all__ = ["TurnFlags"]
