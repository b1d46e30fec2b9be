"""Constant folding: what depends on nothing that a run brings is computed once."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from d2s.core.spec import spec_of
from d2s.static.passes.rewriting import Rewriter, pure_op, themselves
from d2s.static.program import Operator, Program, Value, values_in

# A larger result is made anew in each run: the Program would keep it for ever.
LARGEST = 1 << 20


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Replace results of pure ops on constants by constants."""

    fixed = themselves(program, kept)

    def change(operator: Operator, rewriter: Rewriter) -> Operator | None:
        found = None if any(value in fixed for value in operator.outputs) else _folded(operator)
        if found is None:
            return operator
        rewriter.replace(operator.outputs[0], found)
        return None

    return Rewriter(change).program(program)


def _folded(operator: Operator) -> Value | None:
    """The constant that `operator` computes, if it does."""
    op = pure_op(operator)
    if op is None or operator.several:
        return None
    if not all(value.is_constant for value in operator.inputs) or next(values_in(operator.attrs), None) is not None:
        return None
    output, = operator.outputs
    try:
        with np.errstate(all="ignore"):
            array = np.asarray(op.forward(*[value.constant for value in operator.inputs], **operator.attrs))
    except Exception:
        # The run raises it, at its place.
        return None
    if spec_of(array) != output.spec or _memory(array) > LARGEST:
        return None
    return dataclasses.replace(output, constant=array, is_constant=True)


def _memory(array: np.ndarray[Any, Any]) -> int:
    """Bytes behind an array: of one number shown everywhere those of that number."""
    return array.itemsize if is_uniform(array) else array.nbytes


def is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """True if all elements of an array are one and the same place in memory."""
    return array.size > 0 and all(step == 0 or size == 1 for step, size in zip(array.strides, array.shape, strict=True))
