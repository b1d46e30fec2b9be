"""Elements picked by index tensors, and written back."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Shape, TensorSpec, broadcast_shapes
from d2s.errors import DTypeError, IndexOutOfRangeError, NotSupportedError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_index, own_axis, shape_argument, size_argument, sizes_agree
from d2s.ops.creation import assign
from d2s.ops.indexing import getitem, put_op, with_item
from d2s.ops.indices import IndexInput
from d2s.ops.joining import unbind
from d2s.ops.promotion import as_dtype_of, tensor_or_number, value_in
from d2s.ops.shape import reshape, unsqueeze


def _check_integers(name: str, indices: TensorSpec) -> None:
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"{name} needs integer indices, got {indices.dtype.name}")


# --- whole slices along an axis ------------------------------------------------------------------------------------


def _infer_take(x: TensorSpec, indices: TensorSpec, *, axis: int) -> TensorSpec:
    if not x.ndim:
        raise ShapeError("a 0-d tensor has nothing to pick from")
    _check_integers("take", indices)
    place = axis_index(axis, x)
    return TensorSpec((*x.shape[:place], *indices.shape, *x.shape[place + 1 :]), x.dtype)


@define_op("take", infer=_infer_take, saves=("indices",))
def take_op(x: Array, indices: Array, *, axis: int) -> Array:
    """Slices of `x` along `axis`, one for each index."""
    if indices.dtype.kind not in "iu" or not x.ndim:
        raise IndexError
    try:
        return np.take(x, indices, axis)
    except IndexError as error:
        raise IndexOutOfRangeError(f"{error} (shape {list(x.shape)})") from None


def _infer_put_slices(g: TensorSpec, indices: TensorSpec, *, axis: int, shape: Shape) -> TensorSpec:
    _check_integers("put_slices", indices)
    wanted = (*shape[:axis], *indices.shape, *shape[axis + 1 :])
    if g.ndim != len(wanted) or not all(map(sizes_agree, g.shape, wanted)):
        raise ShapeError(f"slices of shape {list(g.shape)} are not those of shape {list(wanted)} that the indices name")
    return TensorSpec(shape, g.dtype)


@define_op("put_slices", infer=_infer_put_slices, saves=("indices",))
def put_slices_op(g: Array, indices: Array, *, axis: int, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with the slices of `g` added at their indices: the reverse of take."""
    result = np.zeros(shape, g.dtype)
    if indices.size and g.size:
        rows = np.moveaxis(g.reshape(*shape[:axis], -1, *shape[axis + 1 :]), axis, 0)
        flat = indices.reshape(-1) % shape[axis]
        order = np.argsort(flat, kind="stable")
        starts = np.flatnonzero(np.diff(flat[order], prepend=-1))
        sums = np.add.reduceat(rows[order], starts, axis=0)
        np.moveaxis(result, axis, 0)[flat[order][starts]] = sums
    return result


take_op.vjp(lambda g, out, x, indices, *, axis: bind(put_slices_op, g, indices, axis=axis, shape=tuple(x.shape)))
put_slices_op.vjp(lambda g, out, x, indices, *, axis, shape: bind(take_op, g, indices, axis=axis))


# --- single elements along an axis ---------------------------------------------------------------------------------


def _infer_take_along_axis(x: TensorSpec, indices: TensorSpec, *, axis: int) -> TensorSpec:
    _check_integers("take_along_axis", indices)
    if indices.ndim != x.ndim or not x.ndim:
        raise ShapeError(
            f"take_along_axis needs as many axes in both, at least one, got shapes {list(x.shape)} and "
            f"{list(indices.shape)}"
        )
    place = axis_index(axis, x)
    own = [1 if position == place else size for position, size in enumerate(x.shape)]
    given = [1 if position == place else size for position, size in enumerate(indices.shape)]
    try:
        shape = list(broadcast_shapes(own, given))
    except ShapeError:
        raise ShapeError(
            f"take_along_axis: tensor and indices of shapes {list(x.shape)} and {list(indices.shape)} cannot be "
            f"broadcast together beside axis {axis}") from None
    shape[place] = indices.shape[place]
    return TensorSpec(tuple(shape), x.dtype)


@define_op("take_along_axis", infer=_infer_take_along_axis, saves=("indices",))
def take_along_axis_op(x: Array, indices: Array, *, axis: int) -> Array:
    """x[..., indices[..., i, ...], ...] along `axis`."""
    try:
        return np.take_along_axis(x, indices, axis)
    except IndexError as error:
        raise IndexOutOfRangeError(f"{error} (shape {list(x.shape)})") from None


def along_axis(indices: Array, shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """The index that reads ``indices`` along `axis` and the same place along every other axis."""
    place: list[Any] = list(np.ogrid[tuple(slice(size) for size in shape)])
    place[axis] = indices
    return tuple(place)


def _infer_put_along_axis(g: TensorSpec, indices: TensorSpec, *, axis: int, shape: Shape) -> TensorSpec:
    return TensorSpec(shape, g.dtype)


@define_op("put_along_axis", infer=_infer_put_along_axis, saves=("indices",))
def put_along_axis_op(g: Array, indices: Array, *, axis: int, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with `g` added at `indices` along `axis`: the reverse of take_along_axis."""
    result = np.zeros(shape, g.dtype)
    place = list(along_axis(indices, g.shape, axis))
    for at, size in enumerate(shape):
        if size == 1 and at != axis:
            # This axis took part by broadcasting: it gets the sum.
            place[at] = np.zeros_like(place[at])
    np.add.at(result, tuple(place), g)
    return result


take_along_axis_op.vjp(
    lambda g, out, x, indices, *, axis: bind(put_along_axis_op, g, indices, axis=axis, shape=tuple(x.shape))
)
put_along_axis_op.vjp(lambda g, out, x, indices, *, axis, shape: bind(take_along_axis_op, g, indices, axis=axis))


@public(arr="input", axis="dim")
def take_along_axis(arr: Tensor, indices: Tensor, axis: int, broadcast: bool = True) -> Tensor:
    """
    Elements picked along `axis`: ``result[i, j] = arr[indices[i, j], j]`` for axis 0 of a matrix.

    Parameters
    ----------
    arr : Tensor
    indices : Tensor, int
        As many axes as `arr`.
    axis : int
    broadcast : bool
        Let the other axes broadcast; else `indices` may only be smaller there.

    Returns
    -------
    Tensor, of the broadcast shape, with the size of `indices` along `axis`

    Raises
    ------
    IndexOutOfRangeError
        If an index lies outside the axis.
    ShapeError
        If the axes do not fit.
    """
    place = axis_index(axis, arr)
    if not broadcast:
        arr = getitem(
            arr,
            tuple(slice(None) if position == place else slice(0, size) for position, size in enumerate(indices.shape)),
        )
    return bind(take_along_axis_op, arr, indices, axis=place)


@public()
def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """
    A copy of `arr` with `values` written (or, with ``reduce="add"``, added) at `indices` along `axis`.

    Parameters
    ----------
    arr : Tensor
    indices : Tensor, int
        As many axes as `arr`; sizes of 1 broadcast.
    values : Tensor or number
        Broadcast to the shape of `indices`.
    axis : int
    reduce : {"assign", "add"}
    include_self : bool
        With "add", False starts from 0 instead of the values of `arr`.
    broadcast : bool
        Let the other axes of `indices` broadcast to those of `arr`.

    Returns
    -------
    Tensor, of the shape of `arr`

    Raises
    ------
    NotImplementedError
        For other ways to reduce.
    """
    need_tensors(arr, indices)
    if reduce not in ("assign", "add"):
        raise NotSupportedError(f"put_along_axis can 'assign' or 'add', got reduce={reduce!r}")
    place = own_axis(axis, arr)
    if indices.ndim != arr.ndim:
        raise ShapeError(f"put_along_axis needs indices of as many axes as the tensor, got shapes {arr.shape} and "
                         f"{indices.shape}")
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"put_along_axis needs integer indices, got {indices.dtype.name}")
    sizes = list(indices.shape)
    if broadcast:
        sizes = [size if position == place else arr.shape[position] for position, size in enumerate(sizes)]
        indices = indices.broadcast_to(sizes)
    index = along_axis(np.empty(0), tuple(sizes), place)
    parts = tuple(indices if position == place else part for position, part in enumerate(index))
    if reduce == "add" and not include_self:
        arr = with_item(arr, parts, 0)
    if reduce == "assign":
        return with_item(arr, parts, values)
    value = value_in(values, arr.dtype)
    added = assign(value).broadcast_to(sizes)
    return arr + bind(put_along_axis_op, added, indices, axis=place, shape=tuple(arr.shape))


@public(x="input", axis="dim")
def index_select(x: Tensor, index: Tensor, axis: int = 0, name: str | None = None) -> Tensor:
    """The slices of `x` along `axis` that a vector of ints points at."""
    need_tensors(x, index)
    return bind(take_op, x, index, axis=axis_index(axis, x))


@public()
def gather(x: Tensor, index: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """The slices of `x` along `axis` (0 by default) that `index`, of shape (n,) or (n, 1), points at."""
    need_tensors(x, index)
    if index.ndim == 2:
        index = reshape(index, [-1])
    return index_select(x, index, 0 if axis is None else size_argument(axis))


@public()
def gather_nd(x: Tensor, index: Tensor, name: str | None = None) -> Tensor:
    """``x[index[..., 0], index[..., 1], ...]``: the last axis of `index` counts the first axes of `x`."""
    return getitem(x, tuple(unbind(index, -1)))


@public()
def scatter(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True, name: str | None = None) -> Tensor:
    """
    A copy of `x` with the rows `updates` written at `index`.

    Parameters
    ----------
    x : Tensor
    index : Tensor, int, shape (n,) or (n, 1)
    updates : Tensor, shape (n, ...)
    overwrite : bool
        False: rows pointed at start from 0, and get the sum of their updates.

    Returns
    -------
    Tensor, of the shape of `x`
    """
    need_tensors(x, index, updates)
    if index.ndim == 2:
        index = reshape(index, [-1])
    if overwrite:
        return with_item(x, index, updates)
    return scatter_nd_add(with_item(x, index, 0), unsqueeze(index, -1), updates)


def _columns(index: Tensor) -> list[Tensor]:
    if index.dtype.kind not in "iu":
        raise DTypeError(f"places are named by integers, got an index of {index.dtype.name}")
    need_tensors(index)
    return unbind(index, -1)


@public()
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """`x` with `updates` added at ``index[..., 0], index[..., 1], ...``; repeated places get the sum."""
    need_tensors(x, index, updates)
    columns = _columns(index)
    template = tuple(IndexInput(position) for position in range(len(columns)))
    added = as_dtype_of(tensor_or_number(updates, "the updates"), x.dtype)
    return x + bind(put_op, added, *columns, index=template, shape=tuple(x.shape))


@public()
def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of `shape` with `updates` added at `index`; see `scatter_nd_add`."""
    need_tensors(index, updates)
    columns = _columns(index)
    template = tuple(IndexInput(position) for position in range(len(columns)))
    return bind(put_op, updates, *columns, index=template, shape=shape_argument(shape))


@public(x="input", axis="dim")
def index_add(x: Tensor, index: Tensor, axis: int, value: Tensor, alpha: Any = 1, name: str | None = None) -> Tensor:
    """`x` with the slices of ``alpha * value`` added at `index` along `axis`."""
    place = own_axis(axis, x)
    scaled = value_in(value, x.dtype) * alpha
    return x + bind(put_slices_op, scaled, index, axis=place, shape=tuple(x.shape))
