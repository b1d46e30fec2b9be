"""What a path through a region may change of the tracer itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from d2s.core.interpreter import state
from d2s.operators.layer_hooks import Known
from d2s.operators.outside import Freshness
from d2s.static.program import Value
from d2s.static.variable import Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


@dataclass(frozen=True)
class HandedOut:
    """What others than the traced code have, or know of, along one path.

    Attributes
    ----------
    left, retaining : frozenset of Value
        Values that have, or may have, become Tensor objects, and those of which the gradient is retained.
    hooks : dict
        The hooks that were registered, by identity.
    touched, frozen, spent : dict
        Objects that must not be read, changed or advanced any more, by identity.
    """

    left: frozenset[Value]
    retaining: frozenset[Value]
    hooks: dict[int, Any]
    touched: dict[int, Any]
    frozen: dict[int, Any]
    spent: dict[int, Any]

    def joined(self, other: HandedOut) -> HandedOut:
        """What may be so behind two paths, whichever was taken."""
        return HandedOut(
            self.left | other.left, self.retaining | other.retaining, {**self.hooks, **other.hooks},
            {**self.touched, **other.touched}, {**self.frozen, **other.frozen}, {**self.spent, **other.spent})

    def adds_to(self, other: HandedOut, is_here: Callable[[Value], bool]) -> bool:
        """True if code that was traced with `other` known might be recorded otherwise with this; `is_here` tells of
        which values it can know."""
        for mine, known in ((self.left, other.left), (self.retaining, other.retaining)):
            if (mine and not known) or any(map(is_here, mine - known)):
                return True
        return False


class TraceState(NamedTuple):
    """The state of a tracer at one place of a path.

    Attributes
    ----------
    pending, dirty : dict
        What is stored outside when the Program runs, and what only the run knows.
    canonical : list of (Variable, Value)
        The Variables of tensors from outside, and what they are.
    tensors : dict of Value to Tensor
        What stands for the values of tensors from outside.
    filled : dict
        What objects that the Program makes were filled with last.
    freshness : Freshness
    grad_mode : bool
    layer_hooks : Known
    handed_out : HandedOut
    """

    pending: dict[Any, Any]
    dirty: dict[Any, Any]
    canonical: list[tuple[Variable, Value]]
    tensors: dict[Value, Any]
    filled: dict[Any, Any]
    freshness: Freshness
    grad_mode: bool
    layer_hooks: Known
    handed_out: HandedOut


def state_of(tracer: Tracer) -> TraceState:
    """The state of a tracer now."""
    canonical = [(variable, variable.value) for _, variable in tracer.canonical.values()]
    return TraceState(
        dict(tracer.pending), dict(tracer.dirty), canonical, dict(tracer.tensors), tracer.lowering.filled(),
        tracer.freshness, state.grad_enabled, tracer.layer_hooks.known, _handed_out(tracer))


def go_back(tracer: Tracer, before: TraceState) -> None:
    """Let the state of a tracer be an earlier one, or that behind a region."""
    tracer.pending, tracer.dirty = dict(before.pending), dict(before.dirty)
    tracer.lowering.set_filled(before.filled)
    tracer.freshness = before.freshness
    state.grad_enabled = before.grad_mode
    tracer.layer_hooks.known = before.layer_hooks
    _hand_out(tracer, before.handed_out)
    known = {id(variable): value for variable, value in before.canonical}
    for tensor, variable in tracer.canonical.values():
        # A tensor that was met inside the region only is what it was when it was met.
        variable.value = known.get(id(variable), tracer.captured[id(tensor)][1])
    tracer.tensors = {**tracer.tensors, **before.tensors}


class Remembered:
    """What a tracer remembers of Values and objects when it comes to code that it may trace several times.

    What only a time that is given up has added is forgotten: else each time would take longer than the one before,
    since all that is remembered is looked at again and again.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._tensors = frozenset(tracer.tensors)
        self._made = frozenset(tracer.lowering.made)

    def forget_the_rest(self, waiting: Collection[TraceState] = ()) -> None:
        """Forget what belongs to blocks that are given up, but for what is so behind paths that wait to be merged."""
        tracer = self._tracer
        kept = self._tensors.union(*(state.tensors for state in waiting))
        tracer.tensors = {
            value: tensor for value, tensor in tracer.tensors.items()
            if value in kept or value not in tracer.definitions or tracer.in_scope(value)}
        tracer.lowering.forget_given_up(self._made, bool(waiting))


def _handed_out(tracer: Tracer) -> HandedOut:
    return HandedOut(
        frozenset(tracer.left), frozenset(tracer.retaining), dict(tracer.hooks), dict(tracer.touched),
        dict(tracer.frozen_containers), dict(tracer.spent))


def _hand_out(tracer: Tracer, known: HandedOut) -> None:
    tracer.left, tracer.retaining, tracer.hooks = set(known.left), set(known.retaining), dict(known.hooks)
    tracer.touched, tracer.frozen_containers, tracer.spent = (
        dict(known.touched), dict(known.frozen), dict(known.spent))


def take_handed_out(tracer: Tracer, after: TraceState) -> bool:
    """Note what others have behind the test or a turn of a loop; True if that may show in the next turn."""
    known = _handed_out(tracer)
    _hand_out(tracer, known.joined(after.handed_out))
    # What turns begin with is new each time that they are traced.
    return after.handed_out.adds_to(
        known, lambda value: tracer.in_scope(value) and value not in tracer.turn_inputs[-1])


def take_loop_state(tracer: Tracer, after: TraceState, written: Iterable[Any]) -> None:
    """Take over what a loop body did to the tracer; it has `written` tensors from outside."""
    tracer.dirty.update(after.dirty)
    tracer.epoch = max(tracer.epoch, after.freshness.epoch)
    tracer.read_later(written)
    _hand_out(tracer, _handed_out(tracer).joined(after.handed_out))


__all__ = ["HandedOut", "Remembered", "TraceState", "go_back", "state_of", "take_handed_out", "take_loop_state"]
