"""Algebraic simplification, as far as it keeps every bit."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from d2s.core.spec import TensorSpec
from d2s.ops.reduction import FILLED
from d2s.static.passes.fold_constants import is_uniform
from d2s.static.passes.rewriting import Rewriter, pure_op, themselves, with_parts
from d2s.static.program import Operator, Program, Value

# The input that may be 1 (or 0), by op: then the result is the other input.
_NEUTRAL: dict[str, tuple[float, tuple[int, ...]]] = {
    "multiply": (1, (0, 1)), "divide": (1, (1,)), "subtract": (0, (1,)),
}


# Bytes of arrays whose elements are compared.
_SMALL = 1 << 12


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Drop ``x * 1``, ``x / 1`` and ``x - 0``; put one number in place of an array that is full of it.

    ``x + 0`` stays: it makes 0.0 of -0.0.  So does everything of which the result would lie in memory in another way:
    in which order a sum adds up, and so how it is rounded, depends on that.
    """
    # The number that is everywhere in a value, for the results of `spread`.
    numbers: dict[Value, Value] = {}
    # What an op has made anew: a copy of it lies in memory as it does.
    made: set[Value] = set()
    fixed = themselves(program, kept)

    def change(operator: Operator, rewriter: Rewriter) -> Operator | None:
        op = pure_op(operator)
        if op is None:
            return operator
        if op.is_fresh:
            made.update(operator.outputs)
        if op.name == "spread" and not operator.attrs["average"] and _leaves_order(operator.attrs["shape"]):
            given, = operator.inputs
            if given.spec is not None and given.spec.ndim == 0:
                numbers[operator.outputs[0]] = given
        if not isinstance(op.forward, np.ufunc) or len(operator.inputs) != 2:
            return operator
        operator = _with_scalar(operator, numbers)
        same = _operand_that_is_the_result(operator)
        if same is None or operator.outputs[0] in fixed:
            return operator
        if same not in made and operator.outputs[0].spec.ndim:  # type: ignore[union-attr]
            return operator
        rewriter.replace(operator.outputs[0], same)
        return None

    return Rewriter(change).program(program)


def _with_scalar(operator: Operator, numbers: dict[Value, Value]) -> Operator:
    """The operator on a 0-d array in place of a uniform one that has not more elements than the other operand."""
    inputs = list(operator.inputs)
    for index, value in enumerate(inputs):
        number, other = _number_in(value, numbers), inputs[1 - index]
        if number is None or other.spec is None or operator.outputs[0].spec is None:
            continue
        if other.spec.shape == operator.outputs[0].spec.shape:
            inputs[index] = number
            return with_parts(operator, tuple(inputs), operator.attrs, ())
    return operator


def _number_in(value: Value, numbers: dict[Value, Value]) -> Value | None:
    """The 0-d value that is everywhere in `value`, if there is one."""
    array: Any = value.constant
    if not value.is_constant or type(array) is not np.ndarray or not array.ndim:
        return numbers.get(value)
    if not is_uniform(array) and not (array.ndim == 1 and _holds_one_number(array)):
        return None
    number = np.asarray(array[(0,) * array.ndim])
    return dataclasses.replace(value, spec=TensorSpec((), array.dtype), constant=number)


def _holds_one_number(array: np.ndarray[Any, Any]) -> bool:
    """True if all elements of a small array are the same to the bit.

    Of one axis: a result of several may lie in memory as its operands do.
    """
    return 0 < array.nbytes <= _SMALL and array.tobytes() == array[:1].tobytes() * array.size


def _leaves_order(shape: tuple[Any, ...]) -> bool:
    """True if one number spread over `shape` leaves it to the other operand how the result lies in memory."""
    return len(shape) == 1 or (all(type(size) is int for size in shape) and math.prod(shape) > FILLED)


def _operand_that_is_the_result(operator: Operator) -> Value | None:
    neutral, positions = _NEUTRAL.get(operator.kind, (0, ()))
    for position in positions:
        value, other = operator.inputs[position], operator.inputs[1 - position]
        if not value.is_constant or other.is_constant or other.spec != operator.outputs[0].spec:
            continue
        array = np.asarray(value.constant)
        # To the bit: 0.0 and not -0.0.
        if array.ndim == 0 and array.dtype.kind != "c" and array == neutral and not np.signbit(array):
            return other
    return None
