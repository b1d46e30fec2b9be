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


def _infer_softmax(x: TensorSpec, *, axis: int = -1) -> TensorSpec:
    axis_index(axis, x)
    if x.dtype.kind != "f":
        raise DTypeError(f"softmax is defined for floating point tensors, got {x.dtype.name}")
    return x


def softmax_of(x: Array, axis: int, out: Array | None = None) -> Array:
    """Softmax of an array, the largest element subtracted first."""
    top = maximum_reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    result = np.asarray(np.subtract(x, top, out=out))
    np.exp(result, out=result)
    result /= add_reduce(result, axis=axis, keepdims=True)
    return result


@define_op("softmax", kinds="f", infer=_infer_softmax, saves=("out",), out="in place")
def softmax_op(x: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """Exponentials over their sum along `axis`."""
    return softmax_of(x, axis, out)


def _softmax_gradient(g: Tensor, out: Tensor, axis: int) -> Tensor:
    weighted = g * out
    return weighted - out * sum(weighted, axis, keepdim=True)


softmax_op.vjp(lambda g, out, x, *, axis=-1: _softmax_gradient(g, out, axis))


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
