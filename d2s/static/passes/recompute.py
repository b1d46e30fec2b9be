"""What backward computes again instead of keeping it: cheap results of what is kept anyway."""

from __future__ import annotations

import dataclasses

from d2s.static.passes.in_place import size_of
from d2s.static.passes.rewriting import pure_op, themselves, with_parts
from d2s.static.program import Names, Operator, Program, Value, all_values, map_values

# Of smaller arrays the memory is not worth the time.
SMALLEST = 1 << 16

# One pass over memory, and little more.
_CHEAP = frozenset({
    "abs", "add", "add_relu", "maximum", "minimum", "multiply", "negative", "relu", "square", "subtract"})


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Compute large results of forward again where backward reads them, in a whole step.

    They are results of one cheap op on inputs of the Program, constants, and values that are there until then in any
    case, and between their uses other arrays are made: so less memory is held there, and every bit is the same.
    """
    plan = _Plan(program, kept)
    if not plan.again:
        return program
    return dataclasses.replace(program, block=program.block.derived(plan.operators(), program.outputs))


class _Plan:
    """Which values are computed again, and where.

    Attributes
    ----------
    again : dict of Value to int
        The values, and the place of the first operator of backward that reads each.
    """

    def __init__(self, program: Program, kept: frozenset[Value]) -> None:
        self.program = program
        self.again: dict[Value, int] = {}
        self.reads: dict[Value, list[int]] = {}
        inside: set[Value] = set()
        for place, operator in enumerate(program.operators):
            for value in operator.reads():
                self.reads.setdefault(value, []).append(place)
            inner = _read_inside(operator)
            inside |= inner
            for value in inner:
                self.reads.setdefault(value, []).append(place)
        self.start = next(
            (place for place, operator in enumerate(program.operators) if _is_of_gradient(operator)),
            len(program.operators))
        fixed = themselves(program, kept) | inside
        for operator in program.operators[: self.start]:
            if self.is_cheap(operator) and operator.outputs[0] not in fixed:
                self.look(operator)

    def is_cheap(self, operator: Operator) -> bool:
        if operator.kind not in _CHEAP or pure_op(operator) is None:
            return False
        spec = operator.outputs[0].spec
        return spec is not None and spec.is_static and size_of(spec) >= SMALLEST

    def look(self, operator: Operator) -> None:
        """Note the result of `operator`, if its operands are there when backward reads it."""
        result, = operator.outputs
        reads = self.reads.get(result, ())
        late = next((place for place in reads if place >= self.start), None)
        if late is None or not all(self.is_there(value, late) for value in operator.inputs):
            return
        early = max((place for place in reads if place < self.start), default=self.program.operators.index(operator))
        assert result.spec is not None
        if any(_makes(other, size_of(result.spec)) for other in self.program.operators[early + 1 : late]):
            self.again[result] = late

    def is_there(self, value: Value, place: int) -> bool:
        if value in self.again:
            return False
        return value.is_constant or value in self.program.inputs or max(self.reads[value]) >= place

    def operators(self) -> list[Operator]:
        """The operators, with those that compute again."""
        names = Names()
        for value in all_values(self.program):
            names.fresh(value.name)
        made = {value: operator for operator in self.program.operators for value in operator.outputs}
        new: dict[int, list[Operator]] = {}
        copies: dict[Value, Value] = {}
        for value, place in self.again.items():
            copies[value] = dataclasses.replace(value, name=names.fresh(f"{value.name}@AGAIN"))
            like, reader = made[value], self.program.operators[place]
            new.setdefault(place, []).append(
                dataclasses.replace(like, outputs=(copies[value],), location=reader.location))
        found: list[Operator] = []
        for place, operator in enumerate(self.program.operators):
            found += new.get(place, ())
            if any(value in copies and min(self.reads[value]) >= self.start for value in operator.outputs):
                # Nothing else than backward reads it.
                continue
            if place >= self.start and any(value in copies for value in operator.reads()):
                inputs = tuple(copies.get(value, value) for value in operator.inputs)
                attrs = map_values(operator.attrs, lambda value: copies.get(value, value))
                operator = with_parts(operator, inputs, attrs, operator.blocks)
            found.append(operator)
        return found


def _makes(operator: Operator, size: int) -> bool:
    """True if `operator` makes an array of at least that size."""
    return operator.op is not None and operator.op.is_fresh and any(
        value.spec is not None and value.spec.is_static and size_of(value.spec) >= size for value in operator.outputs)


def _is_of_gradient(operator: Operator) -> bool:
    return operator.location is not None and operator.location.of_gradient


def _read_inside(operator: Operator) -> set[Value]:
    found: set[Value] = set()
    for block in operator.blocks:
        found.update(block.outputs)
        for inner in block.operators:
            found.update(inner.reads())
            found |= _read_inside(inner)
    return found
