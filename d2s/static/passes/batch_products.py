"""Matrix products of one weight, out of a loop that was unrolled: one large product in place of many small ones.

This pass reassociates: a sum of products becomes one product, which adds in another order, and a product of more rows
may be computed in other blocks.  Results agree with those of eager mode to 1e-5 (float32) or 1e-12 (float64), relative
to the largest element, and not to the bit.  So it is left out unless it is asked for:
``BuildStrategy(batch_products=True)``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from d2s.core.op import OP_TABLE
from d2s.static.passes.rewriting import pure_op, readers
from d2s.static.program import Names, Operator, Program, Value, all_values

# For fewer products the copies cost more than they save.
FEWEST = 4
FEWEST_OF_A_TRANSPOSE = 8
# Rows of one tensor whose products are computed at once: more are no faster, and the products of later turns would wait
# in memory for them.
AT_ONCE = 8


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Batch products ``x[k] @ w`` over all k, sums of products ``a.T @ b``, and with them sums of the rows of all b.

    In the outermost block; what many products have as transposed factor is transposed once.
    """
    batch = _Batch(program, kept)
    batch.rows_of_one_tensor()
    batch.sums_of_products()
    batch.sums_of_rows()
    batch.transposed_weights()
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
        # For results that are rows ``x[k]``: x and k.
        self.rows: dict[Value, tuple[Value, int]] = {}
        # What has become the right side of one product.
        self.stacked: set[tuple[Value, ...]] = set()

    def new(self, name: str, kind: str, inputs: tuple[Value, ...], like: Operator, **attrs: object) -> Operator:
        """An operator of the op table with a new result."""
        op = OP_TABLE[kind]
        spec = op.infer(*[value.spec for value in inputs], **attrs)
        assert not isinstance(spec, tuple)
        result = Value(self.names.fresh(name), spec, all(value.stop_gradient for value in inputs))
        return Operator(kind, inputs, (result,), attrs, op, location=like.location)

    # --- x[0] @ w, x[1] @ w, ... -------------------------------------------------------------------------------

    def rows_of_one_tensor(self) -> None:
        """Large products for the rows of a tensor, where the first of the small ones was; these become their rows."""
        rows = self.rows
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
        new: dict[int, list[Operator]] = {}
        for (whole, weight), positions in groups.items():
            assert whole.spec is not None
            if len(positions) < FEWEST or set(positions) != set(range(whole.spec.shape[0])):  # type: ignore[arg-type]
                continue
            for start in range(0, len(positions), AT_ONCE):
                numbers = range(start, min(start + AT_ONCE, len(positions)))
                part = {number: positions[number] for number in numbers}
                new.setdefault(min(part.values()), []).extend(self.product_of_rows(whole, weight, part))
        self.operators = [one for position, old in enumerate(self.operators) for one in (*new.get(position, ()), old)]

    def product_of_rows(self, whole: Value, weight: Value, positions: dict[int, int]) -> list[Operator]:
        """One product for rows that follow each other; those at `positions` become rows of it."""
        like, start = self.operators[min(positions.values())], min(positions)
        assert whole.spec is not None
        made = []
        if len(positions) != whole.spec.shape[0]:
            made.append(self.new("rows", "getitem", (whole,), like, index=(slice(start, start + len(positions)),)))
        left = made[0].outputs[0] if made else whole
        made.append(self.new("products", "matmul", (left, weight), like))
        for number, position in positions.items():
            self.operators[position] = dataclasses.replace(
                self.operators[position], kind="getitem", inputs=made[-1].outputs, attrs={"index": (number - start,)},
                op=OP_TABLE["getitem"])
        return made

    # --- x @ w.T, y @ w.T, ... ---------------------------------------------------------------------------------

    def transposed_weights(self) -> None:
        """A copy of the transpose before the first of many products with it: BLAS is slower with it as a view."""
        users: dict[Value, list[int]] = {}
        for position, operator in enumerate(self.operators):
            is_one = operator.kind == "matmul" and operator.attrs == {"transpose_x": False, "transpose_y": True}
            if is_one and all(_has_axes(value, 2) for value in operator.inputs):
                users.setdefault(operator.inputs[1], []).append(position)
        copies: dict[int, Operator] = {}
        for weight, positions in users.items():
            if len(positions) < FEWEST_OF_A_TRANSPOSE:
                continue
            copy = copies[positions[0]] = self.new(f"{weight.name}_T", "transposed_copy", (weight,),
                                                   self.operators[positions[0]])
            for position in positions:
                old = self.operators[position]
                attrs = {"transpose_x": False, "transpose_y": False}
                self.operators[position] = dataclasses.replace(
                    old, inputs=(old.inputs[0], copy.outputs[0]), attrs=attrs)
        self.operators = [
            one for position, operator in enumerate(self.operators)
            for one in ((copies[position], operator) if position in copies else (operator,))]

    # --- a.T @ b + c.T @ d + ... -------------------------------------------------------------------------------

    def sums_of_products(self) -> None:
        """One product of all rows, where the last one is added."""
        for last, adds, terms in self.sums(self.is_product):
            right = tuple(term.inputs[1] for term in terms)
            self.stacked.add(right)
            rows = [self.stack(tuple(term.inputs[0] for term in terms), last), self.concat(right, last)]
            attrs = {"transpose_x": True, "transpose_y": False}
            inputs = tuple(operator.outputs[0] for operator in rows)
            product = dataclasses.replace(last, kind="matmul", inputs=inputs, attrs=attrs, op=OP_TABLE["matmul"])
            self.put(last, [*rows, product], [*terms, *adds])

    def sums_of_rows(self) -> None:
        """One sum of all rows of what has become the right side of one product: the gradient of a bias."""
        for last, adds, terms in self.sums(self.is_sum_of_rows):
            parts = tuple(term.inputs[0] for term in terms)
            if parts in self.stacked:
                # The same as that of the product: merged with it later on.
                rows = self.concat(parts, last)
                total = dataclasses.replace(
                    last, kind="unbroadcast", inputs=rows.outputs, attrs=terms[0].attrs, op=OP_TABLE["unbroadcast"])
                self.put(last, [rows, total], [*terms, *adds])

    def put(self, last: Operator, new: list[Operator], gone: list[Operator]) -> None:
        """Put `new` in the place of the last addition of a sum."""
        place, without = self.operators.index(last), set(gone)
        self.operators[place : place + 1] = new
        self.operators = [one for one in self.operators if one not in without]

    def concat(self, parts: tuple[Value, ...], like: Operator) -> Operator:
        return self.new("rows", "concat", parts, like, axis=0)

    def stack(self, parts: tuple[Value, ...], like: Operator) -> Operator:
        """The rows of all `parts`; those of one tensor are there already."""
        whole = self.rows[parts[0]][0] if parts[0] in self.rows else None
        if whole is not None and _has_axes(whole, 3):
            assert whole.spec is not None
            count, height, width = map(int, whole.spec.shape)  # type: ignore[arg-type]
            if [self.rows.get(part) for part in parts] == [(whole, number) for number in range(count)]:
                return self.new("rows", "reshape", (whole,), like, shape=(count * height, width))
        return self.concat(parts, like)

    def sums(
        self, is_term: Callable[[Operator], bool]
    ) -> Iterator[tuple[Operator, list[Operator], list[Operator]]]:
        """The sums of at least so many terms: the last addition, all of them, and the terms, the last one first.

        Backward adds up from the last turn to the first: so the terms come in the order of the turns.
        """
        made = {operator.outputs[0]: operator for operator in self.operators if len(operator.outputs) == 1}
        done: set[Operator] = set()
        for operator in reversed(list(self.operators)):
            if operator in done or operator.kind != "add":
                continue
            adds, terms = self.chain(operator, made, is_term)
            is_new = not done.intersection(adds)
            # Also of what is no such sum: no part of it is.
            done.update(adds)
            if is_new and len(terms) >= FEWEST:
                yield operator, adds, terms

    def chain(
        self, last: Operator, made: dict[Value, Operator], is_term: Callable[[Operator], bool]
    ) -> tuple[list[Operator], list[Operator]]:
        """The additions and the terms of a sum that is added up from the left, as far as nobody else reads them.

        No terms, if some of them are not such ones.
        """
        adds, terms, operator = list[Operator](), list[Operator](), last
        while True:
            before, term = (made.get(value) for value in operator.inputs)
            if before is None or term is None or not is_term(term):
                return adds, []
            adds.append(operator)
            terms.append(term)
            if is_term(before):
                return adds, [*terms, before]
            if before.kind != "add" or not self.is_free(before):
                return adds, []
            operator = before

    def is_product(self, operator: Operator) -> bool:
        """True for the product of a transposed matrix and a matrix that one operator reads."""
        return (
            operator.kind == "matmul" and self.is_free(operator)
            and operator.attrs == {"transpose_x": True, "transpose_y": False}
            and all(_has_axes(value, 2) for value in operator.inputs)
        )

    def is_sum_of_rows(self, operator: Operator) -> bool:
        """True for the sum of a matrix over its rows that one operator reads."""
        value = operator.inputs[0] if operator.inputs else None
        return (
            operator.kind == "unbroadcast" and self.is_free(operator)
            and operator.attrs == {"dropped": 1, "axes": ()}
            and value is not None and _has_axes(value, 2)
        )

    def is_free(self, operator: Operator) -> bool:
        result, = operator.outputs
        return pure_op(operator) is not None and self.uses.get(result) == 1 and result not in self.kept


def _is_stack_of_matrices(whole: Value, weight: Value) -> bool:
    return _has_axes(whole, 3) and _has_axes(weight, 2)


def _has_axes(value: Value, count: int) -> bool:
    """True for a value of known sizes with so many axes."""
    return value.spec is not None and value.spec.is_static and value.spec.ndim == count
