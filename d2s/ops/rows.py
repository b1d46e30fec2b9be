"""One slice along an axis, at a place that a tensor tells: what a loop over an axis of unknown size reads and collects.

The place is an operand, not an attribute, so loops of Programs that are saved or built by hand may count it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import DType, Shape, TensorSpec, is_floating
from d2s.errors import DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.annotations import Array
from d2s.ops.axes import axis_index, sizes_agree
from d2s.ops.creation import full


def _infer_row(x: TensorSpec, index: TensorSpec, *, axis: int) -> TensorSpec:
    place = axis_index(axis, x)
    _check_place(index)
    return TensorSpec((*x.shape[:place], *x.shape[place + 1 :]), x.dtype)


def _check_place(index: TensorSpec) -> None:
    if index.shape or index.dtype.kind != "i":
        raise ShapeError(f"the place of a row must be one integer, got {index}")


def _place(index: Array, size: int) -> int:
    if not size:
        raise ShapeError("along an axis of size 0 there is no row")
    found = int(index)
    if not 0 <= found < size:
        raise IndexOutOfRangeError(f"there is no row {found} of {size}")
    return found


@define_op("row", infer=_infer_row, saves=("index",))
def row_op(x: Array, index: Array, *, axis: int) -> Array:
    """The slice of `x` at place `index` (0-d, integer, from 0 on) along `axis`."""
    return np.moveaxis(x, axis, 0)[_place(index, x.shape[axis]), ...]


def _infer_row_alone(row: TensorSpec, index: TensorSpec, *, axis: int, shape: Shape) -> TensorSpec:
    _check_place(index)
    wanted = (*shape[:axis], *shape[axis + 1 :])
    if row.ndim != len(wanted) or not all(map(sizes_agree, row.shape, wanted)):
        raise ShapeError(f"shape {list(row.shape)} is not that of a row of shape {list(shape)} along axis {axis}")
    return TensorSpec(shape, row.dtype)


@define_op("row_alone", infer=_infer_row_alone, saves=("index",), fresh=True)
def row_alone_op(row: Array, index: Array, *, axis: int, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with `row` at place `index` along `axis`.

    They are negative zeros: such tensors add up to what `stack` gives to the bit, since -0.0 + x is x for each x.
    """
    found = np.full(shape, _nothing(row.dtype), row.dtype)
    np.moveaxis(found, axis, 0)[_place(index, shape[axis]), ...] = row
    return found


def _infer_add_row(x: TensorSpec, row: TensorSpec, index: TensorSpec, *, axis: int) -> TensorSpec:
    if row.dtype != x.dtype:
        raise DTypeError(f"a row of {row.dtype.name} cannot be added to {x.dtype.name}")
    _infer_row_alone(row, index, axis=axis, shape=x.shape)
    return x


@define_op("add_row", kinds="", infer=_infer_add_row, saves=("index",), fresh=True, in_order=True)
def add_row_op(x: Array, row: Array, index: Array, *, axis: int) -> Array:
    """`x` with `row` added at place `index` along `axis`: ``x + row_alone(row, index)``, in one pass."""
    found = x.copy()
    part = np.moveaxis(found, axis, 0)[_place(index, x.shape[axis]), ...]
    np.add(part, row, out=part)
    return found


row_op.vjp(lambda g, out, x, index, *, axis: bind(row_alone_op, g, index, axis=axis, shape=tuple(x.shape)))
row_alone_op.vjp(lambda g, out, row, index, *, axis, shape: bind(row_op, g, index, axis=axis))
add_row_op.vjp(
    lambda g, out, x, row, index, *, axis: g,
    lambda g, out, x, row, index, *, axis: bind(row_op, g, index, axis=axis),
)


def no_rows(row: Any, axis: int, size: Any) -> Any:
    """What rows like `row` can be added to: negative zeros, with `size` places along a new `axis`."""
    sizes = list(row.shape)
    sizes.insert(axis, size)
    return full(sizes, _nothing(row.dtype), row.dtype)


def _nothing(dtype: DType) -> float | int:
    return -0.0 if is_floating(dtype) else 0
