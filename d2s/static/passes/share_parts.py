"""What an op and its gradient both compute is computed once, where both are in one Program."""

from __future__ import annotations

import dataclasses

from d2s.core.op import Shared
from d2s.static.passes.rewriting import pure_op
from d2s.static.program import Names, Operator, Program, Value, all_values


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Let ops whose gradient follows in the same block give it what they have computed; see `Op.share`."""
    operators = list(program.operators)
    names: Names | None = None
    # Where ops stand that can share, by what their gradient would be.
    places: dict[tuple[str, tuple[Value, ...]], int] = {}
    # Those that do already: an op may have several gradients.
    sharing: dict[int, Shared] = {}
    for position, operator in enumerate(operators):
        op = pure_op(operator)
        if op is None:
            continue
        if op.shared is not None:
            places[op.shared.gradient.name, operator.inputs] = position
        place = places.get((op.name, operator.inputs[1:]))
        if place is None or operators[place].attrs != operator.attrs or not operator.outputs[0].stop_gradient:
            # A gradient that is differentiated in its turn stays what there is a rule for.
            continue
        names = names or _names_of(program)
        if place not in sharing:
            sharing[place], operators[place] = _parts(operators[place], names)
        shared = sharing[place]
        operators[position] = Operator(
            shared.rest.name, (operator.inputs[0], *operators[place].outputs), operator.outputs, operator.attrs,
            shared.rest, location=operator.location)
    if names is None:
        return program
    return dataclasses.replace(program, block=program.block.derived(operators, program.outputs))


def _parts(first: Operator, names: Names) -> tuple[Shared, Operator]:
    """The operator that gives the result of `first` and the parts."""
    assert first.op is not None
    shared = first.op.shared
    assert shared is not None
    _, *more = shared.parts.infer(*[value.spec for value in first.inputs], **first.attrs)
    outputs = (*first.outputs, *(Value(names.fresh(f"{first.outputs[0].name}@PART"), spec) for spec in more))
    return shared, Operator(
        shared.parts.name, first.inputs, outputs, first.attrs, shared.parts, location=first.location, several=True)


def _names_of(program: Program) -> Names:
    names = Names()
    for value in all_values(program):
        names.fresh(value.name)
    return names
