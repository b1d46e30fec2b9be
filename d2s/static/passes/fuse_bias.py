"""A bias and the activation after it as one operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from d2s.ops.fused import WITH_ADDITION
from d2s.static.passes.rewriting import Rewriter, readers, themselves
from d2s.static.program import Block, Operator, Program, Value


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Make one operator of each ``relu(x + b)``, ``tanh(x + b)`` and ``sigmoid(x + b)`` whose sum nothing else reads.

    It takes one array in place of two, also where no operand may be written over: in loops and branches.
    """
    uses = Counter(value for value, _ in readers(program))
    fixed = themselves(program, kept)
    # The additions, by the results of the activations of their sums.
    additions: dict[Value, Operator] = {}
    for block in _blocks(program.block):
        sums: dict[Value, Operator] = {}
        for operator in block.operators:
            if operator.op in WITH_ADDITION and operator.inputs[0] in sums:
                additions[operator.outputs[0]] = sums[operator.inputs[0]]
            elif operator.kind == "add" and _keeps_dtype(operator):
                total, = operator.outputs
                if uses[total] == 1 and total not in fixed:
                    sums[total] = operator
    gone = set(additions.values())

    def change(operator: Operator, rewriter: Rewriter) -> Operator | None:
        if operator in gone:
            return None
        addition = additions.get(operator.outputs[0]) if operator.outputs else None
        if addition is None:
            return operator
        assert operator.op is not None
        op = WITH_ADDITION[operator.op]
        return Operator(op.name, addition.inputs, operator.outputs, {}, op, location=operator.location)

    return Rewriter(change).program(program)


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for operator in block.operators:
        for inner in operator.blocks:
            yield from _blocks(inner)


def _keeps_dtype(addition: Operator) -> bool:
    """True for sums of tensors of one floating dtype and known sizes."""
    specs = [value.spec for value in (*addition.inputs, *addition.outputs)]
    return all(
        spec is not None and spec.is_static and spec.dtype.kind == "f" and spec.dtype == specs[-1].dtype  # type: ignore[union-attr]
        for spec in specs)
