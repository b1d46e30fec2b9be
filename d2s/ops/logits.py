"""From logits to probabilities: softmax and its logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec
from d2s.errors import DTypeError
from d2s.ops.annotations import Array, Tensor, add_reduce, maximum_reduce
from d2s.ops.axes import axis_index
from d2s.ops.casting import cast
from d2s.ops.exponential import exp
from d2s.ops.half_precision import in_float32
from d2s.ops.promotion import floating
from d2s.ops.reduction import sum
from d2s.ops.row_groups import groups, has_groups


def _infer_softmax(x: TensorSpec, *, axis: int = -1) -> TensorSpec:
    axis_index(axis, x)
    if x.dtype.kind != "f":
        raise DTypeError(f"softmax is defined for floating point tensors, got {x.dtype.name}")
    return x


def softmax_of(x: Array, axis: int, out: Array | None = None) -> Array:
    """Softmax of an array, the largest element subtracted first."""
    axes = (axis % x.ndim,) if x.ndim else ()
    if not axes or not has_groups(axes, x, out):
        return _softmax_at_once(x, axis, out)
    result = np.empty_like(x) if out is None else out
    for rows, target in groups(axes, x, result):
        _softmax_at_once(rows, 1, target)
    return result


def _softmax_at_once(x: Array, axis: int, out: Array | None) -> Array:
    top = maximum_reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    result = np.asarray(np.subtract(x, top, out=out))
    np.exp(result, out=result)
    result /= add_reduce(result, axis=axis, keepdims=True)
    return result


@define_op("softmax", kinds="f", infer=_infer_softmax, saves=("out",), out="in place")
def softmax_op(x: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """Exponentials over their sum along `axis`."""
    return softmax_of(x, axis, out)


@define_op(
    "softmax_gradient", kinds="f", infer=lambda g, probabilities, *, axis: _infer_softmax(probabilities, axis=axis),
    saves=("g", "probabilities"), out="apart",
)
def softmax_gradient_op(g: Array, probabilities: Array, *, axis: int, out: Array | None = None) -> Array:
    """``p * (g - sum(g * p))`` along `axis`: the gradient of softmax, from its result p."""
    axes = (axis % g.ndim,) if g.ndim else ()
    if not axes or not has_groups(axes, g, probabilities, out):
        return _gradient_at_once(g, probabilities, axis, out)
    found = np.empty_like(probabilities) if out is None else out
    for g_rows, rows, target in groups(axes, g, probabilities, found):
        _gradient_at_once(g_rows, rows, 1, target)
    return found


def _gradient_at_once(g: Array, p: Array, axis: int, out: Array | None) -> Array:
    found = np.multiply(g, p, out=np.empty_like(p) if out is None else out)
    along = add_reduce(found, axis=axis, keepdims=True)
    np.subtract(g, along, out=found)
    found *= p
    return found


softmax_op.vjp(lambda g, out, x, *, axis=-1: bind(softmax_gradient_op, g, out, axis=axis))


def _second_order(a: Tensor, g: Tensor, p: Tensor, axis: int) -> Tensor:
    """Gradient of sum(a * softmax_gradient(g, p)) with respect to p."""
    return a * (g - sum(g * p, axis, keepdim=True)) - g * sum(a * p, axis, keepdim=True)


softmax_gradient_op.vjp(
    # The gradient is a symmetric function of g: its gradient is itself.
    lambda a, out, g, probabilities, *, axis: bind(softmax_gradient_op, a, probabilities, axis=axis),
    lambda a, out, g, probabilities, *, axis: _second_order(a, g, probabilities, axis),
)


@define_op("log_softmax", kinds="f", infer=_infer_softmax, saves=("out",))
def log_softmax_op(x: Array, *, axis: int = -1) -> Any:
    """Logarithm of softmax along `axis`."""
    shifted = x - maximum_reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(add_reduce(np.exp(shifted), axis=axis, keepdims=True))


log_softmax_op.vjp(lambda g, out, x, *, axis=-1: g - exp(out) * sum(g, axis, keepdim=True))


@in_float32()
@public(x="input", axis="dim")
def softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """
    Exponentials over their sum along `axis`.

    Parameters
    ----------
    x : Tensor, float
    axis : int
    dtype : dtype, optional
        `x` is cast to it first.

    Returns
    -------
    Tensor, of the shape of `x`
        Not negative, and 1 in sum along `axis`.
    """
    if dtype is not None:
        return softmax(cast(x, dtype), axis)
    x = floating(x)
    return bind(softmax_op, x, axis=axis_index(axis, x))


@in_float32()
@public()
def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """``log(softmax(x))``, finite where softmax itself would round to 0; see `softmax`."""
    if dtype is not None:
        return log_softmax(cast(x, dtype), axis)
    x = floating(x)
    return bind(log_softmax_op, x, axis=axis_index(axis, x))
