"""Matrix products of one weight, out of a loop that was unrolled: one large product in place of many small ones.

This pass reassociates: a sum of products becomes one product, which adds in another order, and a product of more rows
may be computed in other blocks.  Results agree with those of eager mode to 1e-5 (float32) or 1e-12 (float64), relative
to the largest element, and not to the bit.  So it is left out unless it is asked for:
``BuildStrategy(batch_products=True)``.
"""

from __future__ import annotations

import dataclasses

from d2s.core.op import OP_TABLE
from d2s.static.passes.rewriting import pure_op, readers
from d2s.static.program import Names, Operator, Program, Value, all_values

# For fewer products the copies cost more than they save.
FEWEST = 4


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Batch products ``x[k] @ w`` over all k, and sums of products ``a.T @ b``; in the outermost block."""
    batch = _Batch(program, kept)
    batch.rows_of_one_tensor()
    batch.sums_of_products()
    if batch.operators == program.operators:
        return program
    return dataclasses.replace(program, block=program.block.derived(batch.operators, program.outputs))


class _Batch:
    """The operators on their way."""

    def __init__(self, program: Program, kept: frozenset[Value]) -> None:
        self.operators = list(program.operators)
        self.kept = kept
        self.names = Names()
        for value in all_values(program):
            self.names.fresh(value.name)
        self.uses: dict[Value, int] = {}
        for value, _ in readers(program):
            self.uses[value] = self.uses.get(value, 0) + 1

    def new(self, name: str, kind: str, inputs: tuple[Value, ...], like: Operator, **attrs: object) -> Operator:
        """An operator of the op table with a new result."""
        op = OP_TABLE[kind]
        spec = op.infer(*[value.spec for value in inputs], **attrs)
        assert not isinstance(spec, tuple)
        result = Value(self.names.fresh(name), spec, all(value.stop_gradient for value in inputs))
        return Operator(kind, inputs, (result,), attrs, op, location=like.location)

    # --- x[0] @ w, x[1] @ w, ... -------------------------------------------------------------------------------

    def rows_of_one_tensor(self) -> None:
        """One product for all rows of a tensor, where the first of the small ones was; these become its rows."""
        rows: dict[Value, tuple[Value, int]] = {}
        groups: dict[tuple[Value, Value], dict[int, int]] = {}
        for position, operator in enumerate(self.operators):
            if operator.kind == "getitem" and len(operator.inputs) == 1:
                index = operator.attrs["index"]
                if len(index) == 1 and type(index[0]) is int:
                    rows[operator.outputs[0]] = operator.inputs[0], index[0]
            elif operator.kind == "matmul" and not any(operator.attrs.values()) and operator.inputs[0] in rows:
                whole, number = rows[operator.inputs[0]]
                if _is_stack_of_matrices(whole, operator.inputs[1]):
                    groups.setdefault((whole, operator.inputs[1]), {}).setdefault(number, position)
        for (whole, weight), positions in sorted(groups.items(), key=lambda group: -min(group[1].values())):
            assert whole.spec is not None
            if len(positions) < FEWEST or set(positions) != set(range(whole.spec.shape[0])):  # type: ignore[arg-type]
                continue
            first = self.operators[min(positions.values())]
            product = self.new("products", "matmul", (whole, weight), first)
            for number, position in positions.items():
                old = self.operators[position]
                self.operators[position] = dataclasses.replace(
                    old, kind="getitem", inputs=product.outputs, attrs={"index": (number,)}, op=OP_TABLE["getitem"])
            self.operators.insert(min(positions.values()), product)

    # --- a.T @ b + c.T @ d + ... -------------------------------------------------------------------------------

    def sums_of_products(self) -> None:
        """One product of all rows, where the last one is added."""
        made = {operator.outputs[0]: operator for operator in self.operators if len(operator.outputs) == 1}
        done: set[Operator] = set()
        for operator in reversed(self.operators):
            if operator in done or operator.kind != "add":
                continue
            adds, terms = self.chain(operator, made)
            if len(terms) < FEWEST or done.intersection(adds):
                continue
            done.update(adds)
            left = self.new("rows", "concat", tuple(term.inputs[0] for term in terms), operator, axis=0)
            right = self.new("rows", "concat", tuple(term.inputs[1] for term in terms), operator, axis=0)
            attrs = {"transpose_x": True, "transpose_y": False}
            product = dataclasses.replace(
                operator, kind="matmul", inputs=(*left.outputs, *right.outputs), attrs=attrs, op=OP_TABLE["matmul"])
            place = self.operators.index(operator)
            self.operators[place : place + 1] = [left, right, product]
            gone = {*terms, *adds}
            self.operators = [one for one in self.operators if one not in gone]

    def chain(self, last: Operator, made: dict[Value, Operator]) -> tuple[list[Operator], list[Operator]]:
        """The additions and the products of a sum that is added up from the left, as far as nobody else reads them."""
        adds, terms, operator = [], list[Operator](), last
        while True:
            before, term = (made.get(value) for value in operator.inputs)
            if before is None or term is None or not self.is_product(term):
                return [], []
            adds.append(operator)
            terms.append(term)
            if self.is_product(before):
                return adds, [before, *reversed(terms)]
            if before.kind != "add" or not self.is_free(before):
                return [], []
            operator = before

    def is_product(self, operator: Operator) -> bool:
        """True for the product of a transposed matrix and a matrix that one operator reads."""
        return (
            operator.kind == "matmul" and self.is_free(operator)
            and operator.attrs == {"transpose_x": True, "transpose_y": False}
            and all(value.spec is not None and value.spec.is_static and value.spec.ndim == 2
                    for value in operator.inputs)
        )

    def is_free(self, operator: Operator) -> bool:
        result, = operator.outputs
        return pure_op(operator) is not None and self.uses.get(result) == 1 and result not in self.kept


def _is_stack_of_matrices(whole: Value, weight: Value) -> bool:
    return all(
        value.spec is not None and value.spec.is_static and value.spec.ndim == dimensions
        for value, dimensions in ((whole, 3), (weight, 2)))
