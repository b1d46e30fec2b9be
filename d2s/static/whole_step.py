"""A training step as one Program: the backward that each `loss.backward()` asks for, put in its place.

Where a static function calls `backward()` on a value that it has computed, nothing can be seen between the operators
of that backward but gradient hooks and the gradients of leaves.  So its Program is derived at once and stands where
the call was: saved values are plain values of the same function, gradients of the leaves are summed here, and each
leaf is finished at the place where the walk of eager mode finishes it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from d2s.core.op import OP_TABLE
from d2s.errors import Location
from d2s.static.backward import BackwardPlan
from d2s.static.program import Block, Names, Operator, Program, Value, all_values, map_values, values_in, walk_operators

# In the forward part: what would need a gradient rule that runs the user's code.
_REFUSED_BEFORE = frozenset({"py_layer", "py_func"})
# What may be in the backward part beside ops; the rest reports an error, or runs user code where more can be seen.
_ALLOWED_AFTER = frozenset({
    "cond", "reversed_turns", "branch_of", "has_turns", "is_first_turn", "is_present", "zeros_like", "or_zeros",
    "add_present", "size", "accumulate", "arrived", "contributed", "call_hooks", "check_input",
    "check_version", "check_chosen", "check_output",
})


@dataclasses.dataclass(frozen=True)
class WholeStep:
    """A step as one Program.

    Attributes
    ----------
    program : Program
    saved : dict of Block to tuple of Value
        What the run keeps of turns and branches.
    records : set of Value
    sees_no_hooks : bool
        True if it may run only while no leaf has hooks: which contribution to a leaf is the last one is not known
        before the run.
    """

    program: Program
    saved: dict[Block, tuple[Value, ...]]
    records: frozenset[Value]
    sees_no_hooks: bool


@dataclasses.dataclass(frozen=True)
class InnerBackward:
    """A `backward` in a Program that can be put in place.

    Attributes
    ----------
    operator : Operator
    loss : int
        The number of the output that it starts from.
    keeps_graph : bool
        True if the same operators may be gone back through again.
    """

    operator: Operator
    loss: int
    keeps_graph: bool


def inner_backwards(program: Program) -> list[InnerBackward]:
    """The `backward`s of `program`, in order; none if somebody could see that one of them is put in place."""
    if not any(operator.kind == "backward" for operator in program.operators):
        return []
    makers = _makers(program)
    outer, unseen = set(program.inputs), _unseen_leaves(program)
    places = {operator: place for place, operator in enumerate(program.operators)}
    found: list[InnerBackward] = []
    # What has become a Tensor since the last backward, and where something had an effect last.
    shown, last_effect = set[Operator](), -1
    for place, operator in enumerate(program.operators):
        if operator.kind == "backward":
            tensor, *options = operator.attrs["call"]
            made = makers.get(tensor)
            if made is None or options not in ([None, False], [None, True]) or not _is_loss(made, program, makers):
                return []
            # Nothing of the user's may run while the loss is there and its gradient is not.
            if not shown <= {made} or places.get(made, -1) < last_effect:
                return []
            shown.clear()
            found.append(InnerBackward(operator, program.outputs.index(made.inputs[0]), options[1]))
        else:
            for inner in _inside([operator]):
                if inner.kind == "backward" or inner.kind in _REFUSED_BEFORE or (
                    inner.kind == "leaf" and inner not in unseen
                ):
                    # What follows the last backward may be anything else.
                    return found if not _has_backward(program.operators[place:]) else []
                if inner.kind in ("materialise", "rewrite") and not inner.inputs[0].stop_gradient and (
                    inner.inputs[0] not in outer
                ):
                    shown.add(inner)
        if operator.effect:
            last_effect = place
    return found


def _has_backward(operators: list[Operator]) -> bool:
    return any(operator.kind == "backward" for operator in _inside(operators))


def _makers(program: Program) -> dict[Value, Operator]:
    """What defines each value; for what turns carry, the loop."""
    found = {}
    for operator in program.all_operators():
        found.update(dict.fromkeys(operator.outputs, operator))
        if operator.kind == "while":
            found.update(dict.fromkeys(operator.blocks[1].inputs, operator))
    return found


def _is_loss(made: Operator, program: Program, makers: Mapping[Value, Operator]) -> bool:
    """True if an operator makes the Tensor of one number that ops have computed.

    One that control flow has chosen may be a Tensor of the caller.
    """
    if made.kind != "materialise" or made.inputs[0] not in program.outputs:
        return False
    loss = made.inputs[0]
    if loss.spec is None or not loss.spec.is_static or math.prod(loss.spec.shape) != 1:  # type: ignore[arg-type]
        return False
    stack, seen = [loss], set[Value]()
    while stack:
        value = stack.pop()
        maker = makers.get(value)
        if value in seen:
            continue
        seen.add(value)
        if maker is None:
            return False
        if maker.kind == "while":
            carried = maker.blocks[1].inputs
            place = (carried if value in carried else maker.outputs).index(value)
            stack += (maker.inputs[place], maker.blocks[1].outputs[place])
        elif maker.kind == "cond":
            place = maker.outputs.index(value)
            stack += (block.outputs[place] for block in maker.blocks)
        elif maker.op is None:
            return False
    return True


def _unseen_leaves(program: Program) -> set[Operator]:
    """The leaves made in the run of which nobody has the Tensor: nobody can see whether they get a gradient."""
    leaves = {operator for operator in program.operators if operator.kind == "leaf"}
    if not leaves:
        return leaves
    read = set[Value]()
    for operator in program.all_operators():
        read.update(operator.reads(), *(block.outputs for block in operator.blocks))
    return {leaf for leaf in leaves if leaf.outputs[1] not in read}


def whole_step(
    program: Program, edges: Sequence[Value], backwards: Sequence[tuple[InnerBackward, BackwardPlan]],
) -> WholeStep | None:
    """`program` with the plans of its `backwards` in their places, or None if that could be noticed."""
    conditional = any(plan.conditional for _, plan in backwards)
    if conditional and any(operator.kind == "register_hook" for operator in program.all_operators()):
        return None
    names = Names()
    for value in all_values(program):
        names.fresh(value.name)
    operators: list[Operator] = []
    start, only_looks = 0, False
    # The outputs of which somebody may have the Tensor already.
    shown = set[int]()
    for backward, plan in backwards:
        if not all(operator.op is not None or operator.kind in _ALLOWED_AFTER
                   for operator in plan.program.all_operators()):
            return None
        shown.add(backward.loss)
        if any(operator.kind == "check_output" and operator.attrs["number"] in shown
               for operator in plan.program.all_operators()):
            return None
        place = program.operators.index(backward.operator)
        inlined = _Inlined(program, edges, plan, names, _seed(program.outputs[plan.reached[0]]), place, bool(start))
        if (inlined.seen or program.versions) and _reads_chosen(plan.program):
            # Only the path tells which of several tensors must not have been written to.
            return None
        between = map(_without_tensor, program.operators[start:place])
        operators += _checked_behind_hooks(between) if only_looks else between
        only_looks = not inlined.seen
        operators += inlined.operators()
        start = place + 1
    rest = program.operators[start:]
    operators += _checked_behind_hooks(rest) if only_looks else rest
    saved: dict[Block, tuple[Value, ...]] = {}
    for _, plan in backwards:
        for block, values in plan.saved.items():
            saved[block] = tuple(dict.fromkeys((*saved.get(block, ()), *values)))
    records = frozenset(record for _, plan in backwards for record in plan.records)
    return WholeStep(Program(program.name, Block(program.inputs, operators, ())), saved, records, conditional)


def _seed(loss: Value) -> Value:
    """Where a backward starts: one."""
    assert loss.spec is not None
    return Value(
        f"{loss.name}@GRAD", loss.spec, constant=np.ones(loss.spec.shape, loss.spec.dtype),
        is_constant=True)


def _without_tensor(operator: Operator) -> Operator:
    """A leaf that nobody sees is the values that it has."""
    if operator.kind != "leaf":
        return operator
    return Operator("stop_gradient", operator.inputs, operator.outputs[:1], location=operator.location)


def _reads_chosen(backward: Program) -> bool:
    return any(operator.kind == "check_chosen" for operator in backward.all_operators())


class _Inlined:
    """The operators of a backward Program as operators of the Program that it was derived from."""

    def __init__(
        self, program: Program, edges: Sequence[Value], plan: BackwardPlan, names: Names, seed: Value, place: int,
        is_behind_others: bool,
    ) -> None:
        self.plan = plan
        self.call = program.operators[place].location
        self.edges = edges
        self.names = names
        self.values: dict[Value, Value] = dict(zip(plan.program.inputs, (seed,), strict=True))
        self.nested = {
            operator.attrs["edge"]
            for outer in plan.program.operators for block in outer.blocks for operator in walk_operators(block)
            if operator.kind == "accumulate"
        } | {operator.attrs["edge"] for operator in plan.program.operators
             if operator.kind == "accumulate" and not operator.attrs["certain"]}
        self.sums: dict[int, Value] = {}
        # Whether code that is not generated can have run since the beginning.
        before = _inside(program.operators[:place])
        self.seen = is_behind_others or any(operator.kind == "python" and operator.effect for operator in before)
        # Versions of Tensors that are made only behind the backward: nobody can have written to them.
        self.later = {
            operator.outputs[0] for operator in _inside(program.operators[place + 1 :]) if operator.kind == "version"}

    def operators(self) -> list[Operator]:
        """The operators, with a sum for each edge."""
        found = [
            Operator("start_sum", (), (), {"edge": edge}, effect=True) for edge in sorted(self.nested)]
        found += self.block(self.plan.program.operators)
        # Of these the last contribution is known only now.
        found += [self.finish(edge, None) for edge in self.plan.conditional]
        return found

    def value(self, value: Value) -> Value:
        return self.values.get(value, value)

    def defined(self, value: Value) -> Value:
        """The value that stands for one of the backward Program, under a name that is free here."""
        name = self.names.fresh(value.name)
        new = value if name == value.name else dataclasses.replace(value, name=name)
        self.values[value] = new
        return new

    def block(self, operators: list[Operator]) -> list[Operator]:
        return [new for operator in operators for new in self.operator(operator)]

    def operator(self, operator: Operator) -> Iterator[Operator]:
        """What stands for one operator."""
        kind, attrs = operator.kind, operator.attrs
        if kind == "accumulate":
            yield from self.accumulate(attrs["edge"], self.value(operator.inputs[0]), operator)
        elif kind == "arrived":
            edge = attrs["edge"]
            if edge in self.nested:
                yield self.finish(edge, None)
            elif edge in self.sums:
                yield self.finish(edge, self.sums[edge])
        elif kind == "contributed":
            return
        elif kind == "call_hooks" and len(operator.inputs) == 1:
            # No hook can have been registered on a Tensor that nobody has seen.
            self.values[operator.outputs[0]] = self.value(operator.inputs[0])
        elif kind == "call_hooks":
            given, point = map(self.value, operator.inputs)
            yield Operator("hooked", (given, point), (self.defined(operator.outputs[0]),), {}, effect=True,
                           location=_of_gradient(operator.location))
            self.seen = True
        elif kind == "check_output" or (kind == "check_version" and operator.inputs[0] in self.later):
            return
        elif kind in ("check_input", "check_chosen"):
            if self.seen:
                yield Operator(kind, (), (), dict(attrs), effect=True, location=_of_gradient(operator.location))
        else:
            yield self.copy(operator)

    def copy(self, operator: Operator) -> Operator:
        """The operator on the values that stand for its own."""
        attrs = operator.attrs
        if next(values_in(attrs), None) is not None:
            attrs = map_values(attrs, self.value)
        inputs = tuple(map(self.value, operator.inputs))
        blocks = []
        for block in operator.blocks:
            given = tuple(map(self.defined, block.inputs))
            inner = self.block(block.operators)
            blocks.append(Block(given, inner, tuple(map(self.value, block.outputs))))
        outputs = tuple(map(self.defined, operator.outputs))
        return Operator(operator.kind, inputs, outputs, attrs, operator.op, operator.effect, tuple(blocks),
                        _of_gradient(operator.location), operator.record, operator.several)

    def accumulate(self, edge: int, value: Value, operator: Operator) -> Iterator[Operator]:
        """Add one contribution to the sum of an edge."""
        if edge in self.nested:
            attrs = {"edge": edge, "certain": operator.attrs["certain"]}
            yield Operator("add_to_sum", (value,), (), attrs, effect=True, location=_of_gradient(operator.location))
            return
        before = self.sums.get(edge)
        if before is None:
            self.sums[edge] = value
            return
        name = self.names.fresh(f"{operator.attrs['name']}@GRAD")
        total = self.sums[edge] = Value(name, value.spec)
        yield Operator("add", (before, value), (total,), {}, OP_TABLE["add"], location=_of_gradient(operator.location))

    def finish(self, edge: int, value: Value | None) -> Operator:
        """The gradient of a leaf is complete."""
        self.seen = True
        name = self.edges[edge].name
        return Operator("finish", () if value is None else (value,), (), {"edge": edge, "name": name}, effect=True,
                        location=_of_gradient(self.call))


def _checked_behind_hooks(operators: Iterable[Operator]) -> Iterator[Operator]:
    """What follows backward where no code of the user has run before.

    What has been read is looked at again because hooks may have changed it: only where backward has called some.
    """
    may_skip = True
    for operator in operators:
        if may_skip and operator.kind == "python" and getattr(operator.attrs["call"][0], "only_looks", False):
            yield dataclasses.replace(operator, attrs={**operator.attrs, "behind_hooks": True})
        else:
            may_skip = may_skip and not operator.effect
            yield operator


def _of_gradient(location: Location | None) -> Location | None:
    return None if location is None else dataclasses.replace(location, of_gradient=True)


def _inside(operators: list[Operator]) -> Iterator[Operator]:
    for operator in operators:
        yield operator
        for block in operator.blocks:
            yield from walk_operators(block)
