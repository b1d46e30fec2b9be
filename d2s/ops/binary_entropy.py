"""Cross-entropy of probabilities of two classes: an op, since its gradient is finite where a logarithm is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import TensorSpec
from d2s.errors import DTypeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.arithmetic import maximum
from d2s.ops.elementwise import broadcast
from d2s.ops.exponential import log
from d2s.ops.promotion import float_operands

# Logarithms are cut off there, and denominators of the gradient.
LOWEST, SMALLEST = -100.0, 1e-12


def _infer(x: TensorSpec, label: TensorSpec) -> TensorSpec:
    if x.dtype.kind != "f" or label.dtype.kind != "f":
        raise DTypeError(f"binary_cross_entropy is not defined for {x.dtype.name} and {label.dtype.name}")
    return broadcast(np.multiply, "binary_cross_entropy")(x, label)


@define_op("binary_cross_entropy", kinds="f", infer=_infer, saves=("x", "label"))
def binary_cross_entropy_op(x: Array, label: Array) -> Any:
    """-(label * log(x) + (1 - label) * log(1 - x))."""
    positive, negative = np.maximum(np.log(x), LOWEST), np.maximum(np.log(1 - x), LOWEST)
    return -(label * positive + (1 - label) * negative)


binary_cross_entropy_op.vjp(
    lambda g, out, x, label: g * ((x - label) / maximum(x * (1 - x), SMALLEST)),
    lambda g, out, x, label: g * (maximum(log(1 - x), LOWEST) - maximum(log(x), LOWEST)),
)


def entropy_of_shares(x: Tensor, label: Tensor) -> Tensor:
    """The cross-entropy of each element."""
    return bind(binary_cross_entropy_op, *float_operands(x, label))
