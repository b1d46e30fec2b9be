"""Products over axes, and running sums and products.

Their gradients hold for zeros among the factors, where ``g * out / x`` would not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import DType, TensorSpec
from d2s.ops.annotations import Array, Axis, Tensor, multiply_reduce
from d2s.ops.axes import axis_index, axis_indices, reduced_shape
from d2s.ops.casting import cast
from d2s.ops.complex_numbers import conj
from d2s.ops.elementwise import require_floating
from d2s.ops.half_precision import HALF, SINGLE, in_float32
from d2s.ops.promotion import tensor_or_number
from d2s.ops.reduction import spread, sum, sum_dtype
from d2s.ops.selection import where
from d2s.ops.shape import moveaxis, reshape, unsqueeze


def _infer_prod(x: TensorSpec, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> TensorSpec:
    return TensorSpec(reduced_shape(x.shape, axis_indices(axis, x), keepdim), _product_dtype(x.dtype))


def _product_dtype(dtype: DType) -> DType:
    return np.dtype("int64") if dtype.kind == "b" else dtype


@define_op("prod", infer=_infer_prod, saves=("x",))
def prod_op(x: Array, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> Any:
    """Product; bools multiply in int64."""
    return multiply_reduce(x, axis=axis, dtype=_product_dtype(x.dtype), keepdims=keepdim)


def _gradient_of_prod(g: Tensor, x: Tensor, axis: tuple[int, ...] | None, keepdim: bool) -> Tensor:
    axes = tuple(range(x.ndim)) if axis is None else axis
    # The factors of one product side by side, as one last axis.
    order = [place for place in range(x.ndim) if place not in axes] + list(axes)
    gathered = x.transpose(order) if x.ndim else x
    flat = reshape(gathered, [*gathered.shape[: x.ndim - len(axes)], -1])
    others = reshape(bind(product_of_others_op, flat), gathered.shape)
    back = [order.index(place) for place in range(x.ndim)]
    return spread(g, x.shape, axis, keepdim) * conj(others.transpose(back) if x.ndim else others)


prod_op.vjp(lambda g, out, x, *, axis=None, keepdim=False: _gradient_of_prod(g, x, axis, keepdim))


@define_op("product_of_others", kinds="fc", infer=require_floating("product_of_others"), saves=("x",))
def product_of_others_op(x: Array) -> Array:
    """For each element the product of all others along the last axis: of those before and those behind."""
    ones = np.ones_like(x[..., :1])
    before = np.cumprod(np.concatenate([ones, x[..., :-1]], -1), -1)
    behind = np.cumprod(np.concatenate([ones, x[..., :0:-1]], -1), -1)[..., ::-1]
    return before * behind if x.shape[-1] else x.copy()


def _gradient_of_others(g: Tensor, x: Tensor) -> Tensor:
    # Row i holds the factors of result i: all but x[i], which a 1 replaces.
    is_own = np.eye(x.shape[-1], dtype=bool)
    rows = where(is_own, x.dtype.type(1), unsqueeze(x, -2))
    without_both = where(is_own, x.dtype.type(0), bind(product_of_others_op, rows))
    return sum(unsqueeze(g, -1) * conj(without_both), -2)


product_of_others_op.vjp(lambda g, out, x: _gradient_of_others(g, x))


def _infer_cumsum(x: TensorSpec, *, axis: int, reverse: bool = False) -> TensorSpec:
    axis_index(axis, x)
    return TensorSpec(x.shape, sum_dtype(x.dtype))


def _infer_cumprod(x: TensorSpec, *, axis: int) -> TensorSpec:
    axis_index(axis, x)
    return TensorSpec(x.shape, _product_dtype(x.dtype))


@define_op("cumsum", infer=_infer_cumsum)
def cumsum_op(x: Array, *, axis: int, reverse: bool = False) -> Array:
    """Sums of the elements up to each one; from each one on if reversed."""
    dtype = sum_dtype(x.dtype)
    if not x.ndim:
        return x.astype(dtype)
    wide = SINGLE if x.dtype == HALF else dtype
    found = np.flip(np.cumsum(np.flip(x, axis), axis, wide), axis) if reverse else np.cumsum(x, axis, wide)
    return found.astype(dtype, copy=False)


cumsum_op.vjp(lambda g, out, x, *, axis, reverse=False: bind(cumsum_op, g, axis=axis, reverse=not reverse))


@define_op("cumprod", infer=_infer_cumprod, saves=("x",))
def cumprod_op(x: Array, *, axis: int) -> Array:
    """Products of the elements up to each one."""
    dtype = _product_dtype(x.dtype)
    return np.cumprod(x, axis, dtype) if x.ndim else x.astype(dtype)


def _gradient_of_cumprod(g: Tensor, x: Tensor, axis: int) -> Tensor:
    if not x.ndim:
        return g
    g, x = moveaxis(g, axis, -1), moveaxis(x, axis, -1)
    count = x.shape[-1]
    # Row j: the running products with 1 in place of x[j]; x[j] is a factor from place j on.
    rows = where(np.eye(count, dtype=bool), x.dtype.type(1), unsqueeze(x, -2))
    products = bind(cumprod_op, rows, axis=rows.ndim - 1)
    slopes = where(np.triu(np.ones((count, count), bool)), products, x.dtype.type(0))
    return moveaxis(sum(unsqueeze(g, -2) * conj(slopes), -1), -1, axis)


cumprod_op.vjp(lambda g, out, x, *, axis: _gradient_of_cumprod(g, x, axis))


@in_float32()
@public(x="input", axis="dim")
def prod(x: Tensor, axis: Axis = None, keepdim: bool = False, dtype: Any = None, name: str | None = None) -> Tensor:
    """Product over axes; see `sum`.  Integers keep their dtype, bools multiply in int64."""
    if dtype is not None:
        return cast(prod(cast(x, dtype), axis, keepdim), dtype)
    x = tensor_or_number(x)
    return bind(prod_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))


@public(x="input", axis="dim")
def cumsum(x: Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """
    Sums of the elements up to each one along `axis`.

    Parameters
    ----------
    x : Tensor
    axis : int, optional
        If left out, of the flattened tensor.
    dtype : dtype, optional
        `x` is cast to it first, and the result has it.  By default integers and bools add up in int64.

    Returns
    -------
    Tensor, of the shape of `x` (flat if `axis` is left out)
    """
    need_tensors(x)
    if dtype is not None:
        return cast(cumsum(cast(x, dtype), axis), dtype)
    if axis is None:
        return bind(cumsum_op, reshape(x, [-1]), axis=0)
    return bind(cumsum_op, x, axis=axis_index(axis, x))


@in_float32()
@public(x="input")
def cumprod(x: Tensor, dim: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """
    Products of the elements up to each one along `dim`, or of the flattened tensor; see `cumsum`.

    The gradient takes time and memory in the square of the size of the axis.
    """
    need_tensors(x)
    if dtype is not None:
        return cast(cumprod(cast(x, dtype), dim), dtype)
    if dim is None:
        return bind(cumprod_op, reshape(x, [-1]), axis=0)
    return bind(cumprod_op, x, axis=axis_index(dim, x))
