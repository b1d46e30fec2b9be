"""How passes make Programs from Programs: operators are never changed, only replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator

from d2s.core.op import Op
from d2s.static.program import Block, Operator, Program, Value, map_values, values_in

# What becomes of an operator: itself, another one, or None if a value stands for its result now.
Change = Callable[[Operator, "Rewriter"], "Operator | None"]


class Rewriter:
    """Goes through the operators of a Program in order, and replaces some of them or their results."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.values: dict[Value, Value] = {}
        self.has_changed = False

    def program(self, program: Program) -> Program:
        """The Program with what `change` makes of its operators; itself if that is nothing else."""
        block = self.block(program.block)
        return dataclasses.replace(program, block=block) if self.has_changed else program

    def block(self, block: Block) -> Block:
        """The same for a block."""
        operators, changed = [], False
        for operator in block.operators:
            new = self.change(self.current(operator), self)
            changed = changed or new is not operator
            if new is not None:
                operators.append(new)
        outputs = tuple(map(self.value, block.outputs))
        if not changed and outputs == block.outputs:
            return block
        self.has_changed = True
        return block.derived(operators, outputs)

    def value(self, value: Value) -> Value:
        """What stands for a value now."""
        return self.values.get(value, value)

    def replace(self, value: Value, by: Value) -> None:
        """Let `by` stand for `value` from here on."""
        self.values[value] = by

    def current(self, operator: Operator) -> Operator:
        """The operator on the values of now."""
        blocks = tuple(self.block(block) for block in operator.blocks)
        if blocks == operator.blocks and not any(value in self.values for value in operator.reads()):
            return operator
        attrs = operator.attrs
        if any(value in self.values for value in values_in(attrs)):
            attrs = map_values(attrs, self.value)
        inputs = tuple(map(self.value, operator.inputs))
        return with_parts(operator, inputs, attrs, blocks)


def with_parts(
    operator: Operator, inputs: tuple[Value, ...], attrs: dict[str, object], blocks: tuple[Block, ...]
) -> Operator:
    """A copy of an operator with other inputs, attributes and blocks."""
    return Operator(
        operator.kind, inputs, operator.outputs, attrs, operator.op, operator.effect, blocks, operator.location,
        operator.record, operator.several)


def pure_op(operator: Operator) -> Op | None:
    """The op of an operator that only computes, the same from the same inputs; else None."""
    op = operator.op
    if op is None or op.random or operator.effect or operator.blocks:
        return None
    return op


def may_raise(operator: Operator) -> bool:
    """True unless it is known that the op can compute its result from any values of these shapes."""
    op = pure_op(operator)
    if op is None or any(not value.spec.is_static for value in (*operator.inputs, *operator.outputs) if value.spec):
        return True
    return op.name in _PARTIAL or (op.out is None and op.name not in _TOTAL)


# What looks at values (labels, exponents of integers), and what computes from any.
_PARTIAL = frozenset({"softmax_minus_label", "pow"})
_TOTAL = frozenset({
    "cast", "concat", "detach", "mean", "reshape", "split", "spread", "sum", "transpose", "unbroadcast"})


def readers(program: Program) -> Iterator[tuple[Value, Operator | None]]:
    """Every value that is read, with the operator that reads it, or None for a block that gives it."""
    for operator in program.all_operators():
        for value in operator.reads():
            yield value, operator
        for block in operator.blocks:
            for value in block.outputs:
                yield value, None
    for value in program.outputs:
        yield value, None


# Built-in operators for which a value is an array and not a Tensor with an identity and hooks.
_ARRAYS_ONLY = frozenset({"finish", "add_to_sum", "add_rows", "accumulate", "is_present", "item", "size"})


def themselves(program: Program, kept: Iterable[Value]) -> set[Value]:
    """Values for which no other may stand: they are kept, become Tensors, have hooks, or are given by a block."""
    found = set(kept)
    for value, operator in readers(program):
        if operator is None or (operator.op is None and operator.kind not in _ARRAYS_ONLY):
            found.add(value)
    return found
