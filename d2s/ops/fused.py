"""Ops that stand only in compiled Programs: an addition, most often of a bias, and the activation of its result.

The sum is nobody else's, so the activation is computed in its memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.core.op import Op, define_op
from d2s.core.spec import TensorSpec, broadcast_shapes
from d2s.errors import DTypeError
from d2s.ops.activation import relu_op, sigmoid_op, tanh_op
from d2s.ops.annotations import Array
from d2s.ops.arithmetic import add_op

# Bytes of an array for which it costs less to say where to write than to take memory.
_SMALL = 1 << 13


def _with_addition(activation: Op) -> Op:
    """Enter ``activation(x + y)`` as an op; for floating point numbers of one dtype."""
    name = f"add_{activation.name}"

    def infer(x: TensorSpec, y: TensorSpec) -> TensorSpec:
        if x.dtype != y.dtype or x.dtype.kind != "f":
            raise DTypeError(f"{name} is defined for floating point tensors of one dtype")
        found = add_op.infer(x, y)
        assert isinstance(found, TensorSpec)
        return found

    def template(x: TensorSpec, y: TensorSpec) -> str | None:
        shape = broadcast_shapes(x.shape, y.shape, what=f"operands of {name}")
        if math.prod(shape) * x.dtype.itemsize >= _SMALL:  # type: ignore[arg-type]
            return None
        outer = activation.expression([TensorSpec(shape, x.dtype)], {})
        return None if outer is None else outer.replace("{0}", "np.add({0}, {1})")

    @define_op(name, kinds="", infer=infer, template=template, out="in place")
    def forward(x: Array, y: Array, *, out: Array | None = None) -> Any:
        total = np.add(x, y, out=out)
        return activation.forward(total, out=total) if total.ndim else activation.forward(total)

    forward.has_gradient_already = True
    return forward


# By the op of the activation.
WITH_ADDITION = {activation: _with_addition(activation) for activation in (relu_op, tanh_op, sigmoid_op)}
