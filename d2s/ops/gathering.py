"""Elements picked by index tensors along an axis, and written back."""

from __future__ import annotations

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import Shape, TensorSpec, broadcast_shapes
from d2s.errors import DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_index
from d2s.ops.indexing import getitem


def _infer_take_along_axis(x: TensorSpec, indices: TensorSpec, *, axis: int) -> TensorSpec:
    place = axis_index(axis, x.ndim)
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"take_along_axis needs integer indices, got {indices.dtype.name}")
    if indices.ndim != x.ndim:
        raise ShapeError(
            f"take_along_axis needs as many axes in both, got shapes {list(x.shape)} and {list(indices.shape)}"
        )
    own = [1 if position == place else size for position, size in enumerate(x.shape)]
    given = [1 if position == place else size for position, size in enumerate(indices.shape)]
    shape = list(broadcast_shapes(own, given, what="tensor and indices of take_along_axis"))
    shape[place] = indices.shape[place]
    return TensorSpec(tuple(shape), x.dtype)


@define_op("take_along_axis", infer=_infer_take_along_axis, saves=("indices",))
def take_along_axis_op(x: Array, indices: Array, *, axis: int) -> Array:
    """x[..., indices[..., i, ...], ...] along `axis`."""
    try:
        return np.take_along_axis(x, indices, axis)
    except IndexError as error:
        raise IndexOutOfRangeError(f"{error} (shape {list(x.shape)})") from None


take_along_axis_op.vjp(
    lambda g, out, x, indices, *, axis: bind(
        add_along_axis_op, g, indices, axis=axis, shape=tuple(x.shape)
    )
)


def _infer_add_along_axis(g: TensorSpec, indices: TensorSpec, *, axis: int, shape: Shape) -> TensorSpec:
    return TensorSpec(shape, g.dtype)


@define_op("add_along_axis", infer=_infer_add_along_axis, saves=("indices",))
def add_along_axis_op(g: Array, indices: Array, *, axis: int, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with `g` added at `indices` along `axis`: the reverse of take_along_axis."""
    result = np.zeros(shape, g.dtype)
    place = list(np.ogrid[tuple(slice(size) for size in g.shape)])
    place = [np.zeros_like(one) if shape[at] == 1 else one for at, one in enumerate(place)]
    place[axis] = indices
    np.add.at(result, tuple(place), g)
    return result


add_along_axis_op.vjp(
    lambda g, out, x, indices, *, axis, shape: bind(take_along_axis_op, g, indices, axis=axis)
)


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
    place = axis_index(axis, arr.ndim)
    if not broadcast:
        arr = getitem(arr, tuple(
            slice(None) if position == place else slice(0, size) for position, size in enumerate(indices.shape)
        ))
    return bind(take_along_axis_op, arr, indices, axis=place)
