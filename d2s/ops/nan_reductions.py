"""Reductions that pass over NaN, that count, and that keep the largest so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec, as_dtype
from d2s.errors import DTypeError
from d2s.ops.annotations import Array, Axis, Tensor
from d2s.ops.axes import axis_index
from d2s.ops.casting import cast
from d2s.ops.comparison import isnan, not_equal
from d2s.ops.gathering import take_along_axis
from d2s.ops.half_precision import in_float32
from d2s.ops.logical import logical_not
from d2s.ops.promotion import floating, tensor_or_number
from d2s.ops.reduction import sum
from d2s.ops.selection import where
from d2s.ops.shape import reshape


def _present(x: Tensor) -> Tensor:
    return logical_not(isnan(x))


@public()
def nansum(x: Tensor, axis: Axis = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Sum over axes, with NaN as 0."""
    need_tensors(x)
    return sum(where(isnan(x), 0.0, x) if x.dtype.kind in "fc" else x, axis, dtype, keepdim)


@in_float32()
@public()
def nanmean(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Mean over axes of the elements that are not NaN; NaN where there are none."""
    x = floating(x)
    return nansum(x, axis, None, keepdim) / sum(cast(_present(x), x.dtype), axis, None, keepdim)


@public()
def count_nonzero(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Number of elements over axes that are not 0, int64."""
    return sum(cast(not_equal(x, 0), "int64"), axis, None, keepdim)


def _infer_running(x: TensorSpec, *, axis: int, smallest: bool) -> TensorSpec:
    if x.dtype.kind not in "fiu":
        raise DTypeError(f"a running extremum is defined for real numbers, got {x.dtype.name}")
    axis_index(axis, x)
    return TensorSpec(x.shape, np.dtype("int64"))


@define_op("running_extremum", infer=_infer_running, kinds="fiu")
def running_extremum_op(x: Array, *, axis: int, smallest: bool) -> Array:
    """Where along `axis` the largest (or smallest) element up to each place is; the last of equal ones, or of NaN."""
    along = np.moveaxis(x, axis, -1)
    running = (np.minimum if smallest else np.maximum).accumulate(along, -1)
    is_it = (along == running) | (np.isnan(along) if x.dtype.kind == "f" else False)
    places = np.where(is_it, np.arange(along.shape[-1]), 0)
    return np.moveaxis(np.maximum.accumulate(places, -1), -1, axis)


def _running(x: Tensor, axis: int | None, dtype: Any, smallest: bool) -> tuple[Tensor, Tensor]:
    x = tensor_or_number(x)
    if axis is None or not x.ndim:
        x, axis = reshape(x, [-1]), 0
    place = axis_index(axis, x)
    indices = bind(running_extremum_op, x, axis=place, smallest=smallest)
    return take_along_axis(x, indices, place), cast(indices, as_dtype(dtype))


@public()
def cummax(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """The largest element up to each place along an axis (by default of all elements), and where it is."""
    return _running(x, axis, dtype, False)


@public()
def cummin(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """The smallest element up to each place along an axis (by default of all elements), and where it is."""
    return _running(x, axis, dtype, True)
