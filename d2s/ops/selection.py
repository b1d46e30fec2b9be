"""Choice between elements: where, clip, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import as_number, need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Dim, TensorSpec, broadcast_shapes
from d2s.errors import DTypeError
from d2s.ops.annotations import Array, Tensor, is_tensor
from d2s.ops.arithmetic import maximum, minimum
from d2s.ops.casting import cast
from d2s.ops.comparison import equal, isnan
from d2s.ops.indexing import getitem
from d2s.ops.promotion import as_dtype_of, dtype_with_number, equal_operands, floating, tensor_or_number, value_in


def _infer_where(condition: TensorSpec, x: TensorSpec, y: TensorSpec) -> TensorSpec:
    if condition.dtype.kind != "b":
        raise DTypeError(f"the condition of where must be bool, got {condition.dtype.name}")
    shape = broadcast_shapes(condition.shape, x.shape, y.shape, what="operands of where")
    return TensorSpec(shape, np.result_type(x.dtype, y.dtype))


@define_op("where", infer=_infer_where, saves=("condition",), template="np.where({0}, {1}, {2})")
def where_op(condition: Array, x: Array, y: Array) -> Array:
    """Elements of `x` where the condition is true, of `y` elsewhere."""
    if condition.dtype.kind != "b":
        raise DTypeError("the condition of where must be bool")
    return np.where(condition, x, y)


where_op.vjp(
    None,
    lambda g, out, condition, x, y: bind(where_op, condition, g, g.dtype.type(0)),
    lambda g, out, condition, x, y: bind(where_op, condition, g.dtype.type(0), g),
)


def _infer_clip(x: TensorSpec, *, min: Any = None, max: Any = None, is_flat_there: bool = False) -> TensorSpec:
    is_whole = all(bound is None or isinstance(bound, int | np.integer) for bound in (min, max))
    if x.dtype.kind != "f" and not (x.dtype.kind in "iu" and is_whole):
        raise DTypeError(f"clip to [{min}, {max}] is not defined for {x.dtype.name}")
    return x


@define_op("clip", kinds="f", infer=_infer_clip, saves=("x",))
def clip_op(x: Array, *, min: Any = None, max: Any = None, is_flat_there: bool = False) -> Any:
    """Elements outside the bounds replaced by the nearer bound; the slope at a bound is 1, or 0 if it is flat there."""
    return np.clip(x, min, max)


@define_op("inside", infer=lambda x, *, min=None, max=None, is_open=False: TensorSpec(x.shape, np.dtype(bool)))
def inside_op(x: Array, *, min: Any = None, max: Any = None, is_open: bool = False) -> Any:
    """Which elements lie within the bounds; these are included, unless `is_open`."""
    low, high = -np.inf if min is None else min, np.inf if max is None else max
    return (x > low) & (x < high) if is_open else (x >= low) & (x <= high)


clip_op.vjp(lambda g, out, x, *, min=None, max=None, is_flat_there=False: g * cast(
    bind(inside_op, x, min=min, max=max, is_open=is_flat_there), g.dtype))


@public(x="input", y="other")
def where(condition: Tensor, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """
    Elements of `x` where `condition` is true, of `y` elsewhere.

    Parameters
    ----------
    condition : Tensor, bool
        Broadcast against `x` and `y`.
    x, y : Tensor, array or number
        dtypes are promoted.  If both are left out, the indices where `condition` is true are returned instead.

    Returns
    -------
    Tensor, of the broadcast shape; or tuple of Tensor, one per axis

    Raises
    ------
    DTypeError
        If `condition` is not bool.
    ShapeError
        If the shapes do not broadcast.
    """
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise DTypeError("where needs both x and y, or neither")
    return bind(where_op, tensor_or_number(condition, "the condition of where"), *equal_operands(x, y))


@public(x="input")
def clip(x: Tensor, min: Any = None, max: Any = None, name: str | None = None) -> Tensor:
    """
    Elements outside ``[min, max]`` replaced by the nearer bound.

    Parameters
    ----------
    x : Tensor
    min, max : number or 0-d tensor, optional
        A bound left out does not bind.  Integer tensors with a float bound become floats.

    Returns
    -------
    Tensor, of the shape of `x`
        Its gradient passes where ``min <= x <= max``.
    """
    x = tensor_or_number(x)
    if any(is_tensor(bound) for bound in (min, max)):
        x = x if min is None else maximum(x, min)
        return x if max is None else minimum(x, max)
    dtype = x.dtype
    for bound in (min, max):
        dtype = dtype if bound is None else dtype_with_number(dtype, bound)
    for bound in (min, max):
        if isinstance(bound, int):
            as_number(bound, dtype)
    return bind(clip_op, as_dtype_of(x, dtype), min=min, max=max)


def cut(x: Tensor, low: float, high: float) -> Tensor:
    """`clip` of floating point numbers; its gradient passes between the bounds, not at them."""
    return bind(clip_op, floating(x), min=low, max=high, is_flat_there=True)


@public()
def masked_fill(x: Tensor, mask: Tensor, value: Any, name: str | None = None) -> Tensor:
    """`x` with `value` (number or 0-d tensor) where the bool tensor `mask`, which broadcasts, is true."""
    need_tensors(x, mask)
    return where(mask, value_in(value, x.dtype), x)


@public(x="input")
def masked_select(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """The elements of `x` where `mask`, which broadcasts, is true, in row-major order.  Shape (number of them,)."""
    need_tensors(x, mask)
    if mask.shape != x.shape:
        shape = broadcast_shapes(x.spec.shape, mask.spec.shape, what="operands of masked_select")
        x, mask = x.broadcast_to(shape), mask.broadcast_to(shape)
    return getitem(x, mask)


@define_op("nonzero", infer=lambda x: TensorSpec((Dim(), x.ndim), np.dtype("int64")))
def nonzero_op(x: Array) -> Array:
    """Indices of the elements that are not zero, one row each."""
    return np.argwhere(x)


@public(x="input")
def nonzero(x: Tensor, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero: shape (number of them, axes), or a vector per axis."""
    rows = bind(nonzero_op, tensor_or_number(x))
    return tuple(rows[:, axis] for axis in range(x.ndim)) if as_tuple else rows


@public()
def nan_to_num(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: str | None = None
) -> Tensor:
    """`x` with `nan` in place of NaN, and finite numbers (by default the largest) in place of infinities."""
    need_tensors(x)
    if x.dtype.kind != "f":
        raise DTypeError(f"nan_to_num is defined for floating point tensors, got {x.dtype.name}")
    limits = np.finfo(x.dtype)
    x = where(isnan(x), nan, x)
    x = where(equal(x, np.inf), limits.max if posinf is None else posinf, x)
    return where(equal(x, -np.inf), limits.min if neginf is None else neginf, x)
