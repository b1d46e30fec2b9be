"""Backward through control flow: the branch that was taken, the turns that were run, last one first.

Gradients of values around a region go to these values themselves, in the order of eager mode; what a region gives
is dealt with in `d2s.static.aliases`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from d2s.static.aliases import Question
from d2s.static.program import Block, Operator, Value, walk_operators

if TYPE_CHECKING:
    from d2s.static.backward import Backward


@dataclass(frozen=True, eq=False, slots=True)
class Gradient:
    """The gradient of a value so far.

    Attributes
    ----------
    value : Value
    certain : bool
        False if it may be absent (None) at run time.
    within : (Question, bool) or None
        It is certain in a run with this answer, and absent in others.
    """

    value: Value
    certain: bool = True
    within: tuple[Question, bool] | None = None


Gradients = dict[Value, Gradient]


def assuming(grads: Gradients, question: Question, answer: bool) -> Gradients:
    """A copy of `grads` with what is known where `question` has this answer."""
    found = {}
    for value, g in grads.items():
        if g.within is None or g.within[0] != question:
            found[value] = g
        elif g.within[1] is answer:
            found[value] = Gradient(g.value)
    return found


def choose(
    backward: Backward, question: Question, yes: Callable[[Gradients], None], no: Callable[[Gradients], None],
    grads: Gradients, region: Operator | None = None,
) -> None:
    """Record `yes` and `no`, of which the answer chooses one when the Program runs.

    `region` is the `cond` that is gone back through: its blocks unpack what the run has kept of the branch.
    """
    branches = []
    for answer, run in ((True, yes), (False, no)):
        inner = assuming(grads, question, answer)
        with backward.record.new_block() as block:
            run(inner)
        branches.append((block, inner))
    attrs: dict[str, object] = {} if region is None else {"record": region.record, "of": region}
    merge(backward, lambda: backward.answer(question), branches, grads, question, attrs)


def merge(
    backward: Backward, test: Callable[[], Value], branches: list[tuple[Block, Gradients]], grads: Gradients,
    question: Question | None = None, attrs: dict[str, object] | None = None,
) -> None:
    """Emit a `cond` of backward blocks; gradients that differ between them become its outputs."""
    (then, after_then), (orelse, after_orelse) = branches
    outputs: list[Value] = []
    merged: Gradients = {}
    absent = backward.record.constant(None)
    for value in dict.fromkeys((*after_then, *after_orelse)):
        first, second = after_then.get(value), after_orelse.get(value)
        if first is second and first is not None:
            merged[value] = first
            continue
        certain = first is not None and second is not None and first.certain and second.certain
        within = None
        if question is not None and not certain:
            # Known where this question is asked again.
            if second is None and first is not None and first.certain:
                within = (question, True)
            elif first is None and second is not None and second.certain:
                within = (question, False)
        if first is not None and second is not None and first.value is second.value:
            merged[value] = Gradient(first.value, certain, within)
            continue
        held = grads.get(value)
        if within is not None and held is not None and held.value is (first or second).value:  # type: ignore[union-attr]
            merged[value] = held
            continue
        stops = all(g is None or g.value.stop_gradient for g in (first, second))
        out = backward.record.new_value(f"{value.name}@GRAD", value.spec, stops)
        then.outputs += (first.value if first is not None else absent,)
        orelse.outputs += (second.value if second is not None else absent,)
        outputs.append(out)
        merged[value] = Gradient(out, certain, within)
    if outputs or then.operators or orelse.operators:
        emitted = backward.record.emit("cond", (test(),), tuple(outputs), attrs, effect=True, blocks=(then, orelse))
        if any(not out.stop_gradient for out in outputs):
            # It may be gone back through in its turn.
            emitted.record = backward.record.new_value("record", None)
    grads.clear()
    grads.update(merged)


def cond(backward: Backward, operator: Operator, grads: Gradients) -> None:
    """Go back through the branch that was taken."""

    def through(position: int) -> Callable[[Gradients], None]:
        def run(inner: Gradients) -> None:
            block = operator.blocks[position]
            for out, source in zip(operator.outputs, block.outputs, strict=True):
                given = inner.pop(out, None)
                if given is not None:
                    backward.accumulate(inner, source, given)
            backward.block(block, inner)
            _drop_locals(block, inner)

        return run

    choose(backward, ("branch_of", operator), through(0), through(1), grads, operator)


def _drop_locals(forward: Block, grads: Gradients) -> None:
    """Forget gradients of values that exist only inside `forward`."""
    local = set(forward.inputs)
    for operator in walk_operators(forward):
        local.update(operator.outputs)
        for block in operator.blocks:
            local.update(block.inputs)
    for value in [value for value in grads if value in local]:
        del grads[value]


class Loop:
    """Backward through one `while`.

    Which values its turns contribute to and which gradients are certain is found by trial; both only grow until
    nothing changes.
    """

    def __init__(self, backward: Backward, operator: Operator, grads: Gradients) -> None:
        self.backward = backward
        self.operator = operator
        self.body = operator.blocks[1]
        self.carried: dict[Value, Gradient | None] = {}
        known = assuming(grads, ("has_turns", operator), True)
        for value, out in zip(self.body.inputs, operator.outputs, strict=True):
            held = grads.pop(out, None)
            if backward.needs(value) and value not in backward.identities:
                # What is there without turns only passes through to what the loop started from.
                self.carried[value] = known.get(out, held)
        self.outer = dict(grads)
        self.touched: list[Value] = []
        self.certain = {value: held is not None and held.certain for value, held in self.carried.items()}

    def run(self, grads: Gradients) -> None:
        while True:
            start = dict(self.certain)
            start |= {value: value in self.outer and self.outer[value].certain for value in self.touched}
            with self.backward.record.new_block() as block:
                first, after = self._turn(start)
            new = [value for value in after if value not in first]
            weaker = [value for value in self.carried if start[value] and not self._is_certain(after.get(value))]
            if not new and not weaker:
                break
            self.touched += new
            self.certain.update(dict.fromkeys(weaker, False))
        if any(held is not None for held in self.carried.values()) or self.touched or _has_effects(block):
            self._emit(block, first, after, start, grads)

    def _is_certain(self, g: Gradient | None) -> bool:
        """True if a carried gradient is there in every turn but the first, which hands it on to no other."""
        return g is not None and (g.certain or g.within == (("is_first_turn", self.operator), False))

    def _turn(self, start: dict[Value, bool]) -> tuple[Gradients, Gradients]:
        """Record one turn into the current block; the gradients before and after it."""
        backward = self.backward
        first = {
            value: Gradient(backward.record.new_value(f"{value.name}@GRAD", value.spec), start[value])
            for value in (*self.carried, *self.touched)
        }
        inner = {value: first[value] for value in self.touched}
        for value, source in zip(self.body.inputs, self.body.outputs, strict=True):
            if value in self.carried:
                backward.accumulate(inner, source, first[value])
        backward.block(self.body, inner)
        carried = {value: g for value, g in inner.items() if value in self.carried}
        _drop_locals(self.body, inner)
        return first, inner | carried

    def _emit(
        self, block: Block, first: Gradients, after: Gradients, start: dict[Value, bool], grads: Gradients
    ) -> None:
        record, operator = self.backward.record, self.operator
        absent = record.constant(None)
        block.inputs = tuple(g.value for g in first.values())
        block.outputs = tuple(after[value].value if value in after else absent for value in first)
        held = [self.carried[value] if value in self.carried else self.outer.get(value) for value in first]
        stops = not self.backward.may_follow
        finals = tuple(record.new_value(f"{value.name}@GRAD", value.spec, stops) for value in first)
        record.emit(
            "reversed_turns", tuple(absent if g is None else g.value for g in held), finals,
            {"record": operator.record, "of": operator}, effect=True, blocks=(block,),
        )
        initial = dict(zip(self.body.inputs, operator.inputs, strict=True))
        after_all = {value: Gradient(final, start[value]) for value, final in zip(first, finals, strict=True)}
        grads.update((value, after_all[value]) for value in self.touched)
        for value in self.carried:
            if not self.backward.is_alias(value, True):
                self.backward.accumulate(grads, initial[value], after_all[value])


def _has_effects(block: Block) -> bool:
    return any(operator.effect for operator in walk_operators(block))
