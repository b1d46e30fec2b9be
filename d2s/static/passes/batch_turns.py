"""Sums of products over the turns of a loop, as one product behind it.

Backward through a tensor loop adds a product of two matrices, or of a column and a row, to the gradient of a weight in
each turn.  Here a turn only keeps the two factors, and one product of all of them follows the loop.  Like
`batch_products` this adds in another order, and runs only on demand.
"""

from __future__ import annotations

import dataclasses
import itertools

from d2s.static.passes.rewriting import pure_op, readers, with_parts
from d2s.static.program import Names, Operator, Program, Value, all_values


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Move products that a loop of backward adds up behind the loop; in the outermost block."""
    turns = _Turns(program, kept)
    operators = [new for operator in program.operators for new in turns.operator(operator)]
    if operators == program.operators:
        return program
    return dataclasses.replace(program, block=program.block.derived(operators, program.outputs))


class _Turns:
    """The operators on their way."""

    def __init__(self, program: Program, kept: frozenset[Value]) -> None:
        self.kept = kept
        self.numbers = itertools.count()
        self.names = Names()
        for value in all_values(program):
            self.names.fresh(value.name)
        self.uses: dict[Value, int] = {}
        for value, _ in readers(program):
            self.uses[value] = self.uses.get(value, 0) + 1

    def operator(self, operator: Operator) -> list[Operator]:
        """What stands for one operator of the outermost block."""
        if operator.kind != "reversed_turns":
            return [operator]
        block, = operator.blocks
        made = {inner.outputs[0]: inner for inner in block.operators if len(inner.outputs) == 1}
        before, inside, after = list[Operator](), list[Operator](), list[Operator]()
        gone: set[Operator] = set()
        for inner in block.operators:
            product = made.get(inner.inputs[0]) if inner.kind == "add_to_sum" else None
            factors = None if product is None else self.factors(product, made)
            if product is None or factors is None:
                inside.append(inner)
                continue
            left, right, unused = factors
            gone.update(unused)
            attrs = {"rows": next(self.numbers)}
            before.append(Operator("start_rows", (), (), attrs, effect=True))
            inside.append(Operator("add_rows", (left, right), (), attrs, effect=True, location=product.location))
            old = product.outputs[0]
            total = dataclasses.replace(old, name=self.names.fresh(old.name))
            after.append(Operator("product_of_rows", (), (total,), attrs, effect=True, location=product.location))
            after.append(dataclasses.replace(inner, inputs=(total,), attrs={**inner.attrs, "certain": False}))
        if not before:
            return [operator]
        block = block.derived([inner for inner in inside if inner not in gone], block.outputs)
        return [*before, with_parts(operator, operator.inputs, operator.attrs, (block,)), *after]

    def factors(
        self, product: Operator, made: dict[Value, Operator]
    ) -> tuple[Value, Value, list[Operator]] | None:
        """The factors of a product ``left.T @ right``, and the operators that are not needed without it."""
        if not self.is_free(product):
            return None
        if product.kind == "matmul" and product.attrs == {"transpose_x": True, "transpose_y": False}:
            left, right = product.inputs
            return (left, right, [product]) if _has_axes(left, 2) and _has_axes(right, 2) else None
        column = made.get(product.inputs[0]) if product.kind == "multiply" else None
        if column is None or column.kind != "reshape" or not self.is_free(column):
            return None
        left, right = column.inputs[0], product.inputs[1]
        if not (_has_axes(left, 1) and _has_axes(right, 1)):
            return None
        size, = left.spec.shape  # type: ignore[union-attr]
        return (left, right, [product, column]) if column.attrs == {"shape": (size, 1)} else None

    def is_free(self, operator: Operator) -> bool:
        result, = operator.outputs
        return pure_op(operator) is not None and self.uses.get(result) == 1 and result not in self.kept


def _has_axes(value: Value, count: int) -> bool:
    return value.spec is not None and value.spec.is_static and value.spec.ndim == count
