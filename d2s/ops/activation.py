"""Activation functions of one tensor.  Those that are cheap compositions have no rule of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec
from d2s.errors import DTypeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.arithmetic import minimum
from d2s.ops.complex_numbers import conj
from d2s.ops.elementwise import broadcast, require_floating, ufunc_op
from d2s.ops.exponential import exp, expm1, log, log1p
from d2s.ops.joining import chunk
from d2s.ops.promotion import floating, tensor_or_number
from d2s.ops.rounding import abs
from d2s.ops.selection import clip, cut, where
from d2s.ops.shape import reshape

tanh_op = ufunc_op(np.tanh, saves=("out",))
tanh_op.vjp(lambda g, out, x: g * conj(1 - out * out))


@define_op(
    "sigmoid", kinds="fc", infer=require_floating("sigmoid"), saves=("out",),
    template="{one} / ({one} + np.exp(-{0}))", out="in place")
def sigmoid_op(x: Array, *, out: Array | None = None) -> Any:
    """1 / (1 + exp(-x)); where exp overflows to infinity the result is 0, as it should be."""
    if not x.ndim:
        return 1 / (1 + np.exp(-x))
    # As an array: NumPy takes as long to convert a number of Python as to add up hundreds.
    one = np.ones((), x.dtype)
    result = np.negative(x, out)
    np.exp(result, result)
    np.add(one, result, result)
    return np.divide(one, result, result)


sigmoid_op.vjp(lambda g, out, x: g * conj(out * (1 - out)))


def _infer_relu(x: TensorSpec) -> TensorSpec:
    if x.dtype.kind not in "iuf":
        raise DTypeError(f"relu is not defined for {x.dtype.name}")
    return x


@define_op("relu", kinds="iuf", infer=_infer_relu, saves=("out",), template="np.maximum({0}, {zero})", out="in place")
def relu_op(x: Array, *, out: Array | None = None) -> Any:
    """The larger of x and 0."""
    return np.maximum(x, 0, out=out)


@define_op("gate", infer=broadcast(np.multiply, "gate"), saves=("by",), template="np.multiply({0}, {1} > 0)",
           out="in place")
def gate_op(x: Array, by: Array, *, out: Array | None = None) -> Any:
    """`x` where `by` is positive, else 0."""
    return np.multiply(x, by > 0, out=out)


relu_op.vjp(lambda g, out, x: bind(gate_op, g, out))
gate_op.vjp(lambda g, out, x, by: bind(gate_op, g, by))


@public(x="input")
def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic tangent."""
    return bind(tanh_op, floating(x))


@public(x="input")
def sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """Logistic function ``1 / (1 + exp(-x))``."""
    return bind(sigmoid_op, floating(x))


@public()
def relu(x: Tensor, name: str | None = None) -> Tensor:
    """The larger of `x` and 0; its gradient at 0 is 0."""
    return bind(relu_op, tensor_or_number(x))


@public()
def relu6(x: Tensor, name: str | None = None) -> Tensor:
    """`x` cut to ``[0, 6]``; its gradient at 0 and 6 is 0."""
    return cut(x, 0.0, 6.0)


@public()
def hardtanh(x: Tensor, min: float = -1.0, max: float = 1.0, name: str | None = None) -> Tensor:
    """`x` cut to ``[min, max]``; its gradient at these is 0."""
    return cut(x, min, max)


@public()
def hardsigmoid(x: Tensor, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None) -> Tensor:
    """``slope * x + offset`` cut to ``[0, 1]``."""
    return clip(floating(x) * slope + offset, 0.0, 1.0)


@public()
def hardswish(x: Tensor, name: str | None = None) -> Tensor:
    """``x * clip(x + 3, 0, 6) / 6``."""
    need_tensors(x)
    return x * cut(x + 3, 0.0, 6.0) / 6


@public()
def leaky_relu(x: Tensor, negative_slope: float = 0.01, name: str | None = None) -> Tensor:
    """`x` where it is not negative, ``negative_slope * x`` elsewhere."""
    x = floating(x)
    return where(x >= 0, x, x * negative_slope)


@public()
def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """`leaky_relu` with a learned slope, one for all or one per channel."""
    need_tensors(x, weight)
    if weight.size != 1:
        channel = 1 if data_format.startswith("NC") else x.ndim - 1
        weight = reshape(weight, [-1 if axis == channel else 1 for axis in range(x.ndim)])
    return where(x > 0, x, x * weight)


@public()
def elu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """`x` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    x = floating(x)
    return where(x > 0, x, expm1(clip(x, max=0.0)) * alpha)


@public()
def celu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """`x` where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""
    x = floating(x)
    return where(x > 0, x, expm1(clip(x, max=0.0) / alpha) * alpha)


@public()
def selu(
    x: Tensor, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, name: str | None = None
) -> Tensor:
    """`elu` times `scale`; with the defaults, layers keep mean 0 and variance 1."""
    return elu(x, alpha) * scale


@public(x="input")
def softplus(x: Tensor, beta: float = 1, threshold: float = 20, name: str | None = None) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and `x` itself where ``beta * x`` exceeds `threshold`."""
    x = floating(x)
    scaled = x * beta
    return where(scaled > threshold, x, -log_sigmoid(-scaled) / beta)


@public(x="input")
def log_sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))``, finite for every finite `x`."""
    x = floating(x)
    return minimum(x, 0) - log1p(exp(-abs(x)))


@public()
def softsign(x: Tensor, name: str | None = None) -> Tensor:
    """``x / (1 + abs(x))``."""
    return x / (abs(x) + 1)


@public(x="input")
def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)``; `inplace` is ignored."""
    x = floating(x)
    return x * sigmoid(x)


@public()
def swish(x: Tensor, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)``, as `silu`."""
    return silu(x)


@public()
def mish(x: Tensor, name: str | None = None) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return x * tanh(softplus(x))


@public()
def tanhshrink(x: Tensor, name: str | None = None) -> Tensor:
    """``x - tanh(x)``."""
    return x - tanh(x)


@public(x="input")
def hardshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """0 where ``abs(x) <= threshold``, `x` elsewhere."""
    return where(abs(x) > threshold, x, 0)


@public(x="input")
def softshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """`x` moved towards 0 by `threshold`, and 0 where it is nearer."""
    return x - clip(x, -threshold, threshold)


@public(x="input")
def glu(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """The first half of `x` along `axis` times the sigmoid of the second."""
    value, gate = chunk(x, 2, axis)
    return value * sigmoid(gate)


@public()
def logit(x: Tensor, eps: float | None = None, name: str | None = None) -> Tensor:
    """``log(x / (1 - x))``, the inverse of `sigmoid`; with `eps`, of `x` cut to ``[eps, 1 - eps]``."""
    x = floating(x) if eps is None else clip(floating(x), eps, 1 - eps)
    return log(x) - log1p(-x)


@public()
def thresholded_relu(x: Tensor, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> Tensor:
    """`x` where above `threshold`, else `value`."""
    x = floating(x)
    return where(x > threshold, x, value)


@public()
def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """``silu(x) * y``; without `y`, its halves along the last axis are the two."""
    need_tensors(x, *(() if y is None else (y,)))
    if y is None:
        x, y = chunk(x, 2, -1)
    return silu(x) * y
