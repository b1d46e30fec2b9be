"""Activation functions of one tensor.  Those that are cheap compositions have no rule of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import TensorSpec
from d2s.errors import DTypeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.elementwise import broadcast, require_floating, ufunc_op
from d2s.ops.promotion import floating, tensor_or_array

tanh_op = ufunc_op(np.tanh, saves=("out",))
tanh_op.vjp(lambda g, out, x: g * (1 - out * out))


@define_op("sigmoid", infer=require_floating("sigmoid"), saves=("out",), template="1 / (1 + np.exp(-{0}))")
def sigmoid_op(x: Array) -> Any:
    """1 / (1 + exp(-x)); where exp overflows to infinity the result is 0, as it should be."""
    return 1 / (1 + np.exp(-x))


sigmoid_op.vjp(lambda g, out, x: g * (out * (1 - out)))


def _infer_relu(x: TensorSpec) -> TensorSpec:
    if x.dtype.kind not in "iuf":
        raise DTypeError(f"relu is not defined for {x.dtype.name}")
    return x


@define_op("relu", infer=_infer_relu, saves=("out",), template="np.maximum({0}, 0)")
def relu_op(x: Array) -> Any:
    """The larger of x and 0."""
    return np.maximum(x, 0)


relu_op.vjp(lambda g, out, x: bind(gate_op, g, out))


@define_op("gate", infer=broadcast(np.multiply, "gate"), saves=("by",), template="np.multiply({0}, {1} > 0)")
def gate_op(x: Array, by: Array) -> Any:
    """`x` where `by` is positive, else 0."""
    return np.multiply(x, by > 0)


gate_op.vjp(lambda g, out, x, by: bind(gate_op, g, by))


def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic tangent."""
    return bind(tanh_op, floating(x))


def sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """Logistic function ``1 / (1 + exp(-x))``."""
    return bind(sigmoid_op, floating(x))


def relu(x: Tensor, name: str | None = None) -> Tensor:
    """The larger of `x` and 0; its gradient at 0 is 0."""
    return bind(relu_op, tensor_or_array(x))
