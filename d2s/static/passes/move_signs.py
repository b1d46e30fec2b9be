"""Signs that go into a constant factor: ``sum(-x) * 2`` becomes ``sum(x) * -2``.

Gradients of quotients and differences have such signs.  A sum of nothing but zeros may have the other sign then, and so
may a nan: not to the bit, so that this runs only on demand, like `batch_products`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from d2s.static.passes.rewriting import Rewriter, pure_op, readers, with_parts
from d2s.static.program import Operator, Program, Value

# Ops of which a sign may be taken out.
_SUMS = frozenset({"sum", "mean", "unbroadcast"})


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Drop each ``-x`` that is read only by a product with a constant, or by a sum of which such a product is made."""
    products = dict(_products(program, kept))
    dropped = set(products.values())

    def change(operator: Operator, rewriter: Rewriter) -> Operator | None:
        result = operator.outputs[0] if operator.outputs else None
        if result in dropped:
            rewriter.replace(result, operator.inputs[0])
            return None
        if result not in products:
            return operator
        inputs = tuple(_negated(value) if value.is_constant else value for value in operator.inputs)
        return with_parts(operator, inputs, operator.attrs, ())

    return Rewriter(change).program(program)


def _products(program: Program, kept: frozenset[Value]) -> Iterator[tuple[Value, Value]]:
    """Results of products with a constant, each with the ``-x`` of which the sign can go there."""
    uses = Counter(value for value, _ in readers(program))
    made = {value: operator for operator in program.all_operators() for value in operator.outputs}

    def only_maker(value: Value) -> Operator | None:
        operator = made.get(value)
        is_free = operator is not None and pure_op(operator) is not None and uses[value] == 1 and value not in kept
        return operator if is_free else None

    for operator in program.all_operators():
        if operator.kind != "multiply" or [value.is_constant for value in operator.inputs].count(True) != 1:
            continue
        constant, = (value for value in operator.inputs if value.is_constant)
        factor, = (value for value in operator.inputs if not value.is_constant)
        dtype = _dtype(constant)
        if dtype is None or dtype.kind not in "fc":
            continue
        source = only_maker(factor)
        if source is not None and source.kind in _SUMS:
            source = only_maker(source.inputs[0])
        if source is not None and source.kind == "negative" and _dtype(source.inputs[0]) == dtype:
            yield operator.outputs[0], source.outputs[0]


def _dtype(value: Value) -> np.dtype[Any] | None:
    return None if value.spec is None else value.spec.dtype


def _negated(value: Value) -> Value:
    return dataclasses.replace(value, constant=np.negative(np.asarray(value.constant)))
