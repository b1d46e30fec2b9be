"""Order: sort, topk, arg-extrema, unique, search and counts.  Values are picked by index, so gradients follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Dim, DType, Size, TensorSpec, as_dtype
from d2s.errors import ArgumentError, DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_index, reduced_shape, size_argument, sizes_agree
from d2s.ops.gathering import take_along_axis
from d2s.ops.promotion import operands
from d2s.ops.shape import reshape, squeeze

_INT64 = np.dtype("int64")


def _order(x: Array, axis: int, descending: bool) -> Array:
    """Indices that sort, equal elements in their order."""
    if not x.ndim:
        return np.zeros((), _INT64)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    # Sorted backwards and read backwards: equal elements keep their order that way too.
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - backwards, axis)


def _infer_argsort(x: TensorSpec, *, axis: int, descending: bool) -> TensorSpec:
    axis_index(axis, x)
    return TensorSpec(x.shape, _INT64)


@define_op("argsort", infer=_infer_argsort)
def argsort_op(x: Array, *, axis: int, descending: bool) -> Array:
    """Indices that would sort along `axis`."""
    return _order(x, axis, descending)


def _infer_top_indices(x: TensorSpec, *, k: Size, axis: int, largest: bool) -> TensorSpec:
    place = axis_index(axis, x)
    size = x.shape[place] if x.ndim else 0
    if isinstance(k, int) and isinstance(size, int) and not 1 <= k <= size:
        raise ShapeError(f"topk of {k} along axis {axis} of shape {list(x.shape)}: k must lie between 1 and the size")
    return TensorSpec((*x.shape[:place], k, *x.shape[place + 1 :]), _INT64)


@define_op("top_indices", infer=_infer_top_indices)
def top_indices_op(x: Array, *, k: int, axis: int, largest: bool) -> Array:
    """Indices of the k largest or smallest elements along `axis`, in order."""
    if not 1 <= k <= x.shape[axis]:
        raise ShapeError("topk: k must lie between 1 and the size")
    return np.take(_order(x, axis, largest), range(k), axis)


def _infer_arg_extremum(x: TensorSpec, *, axis: int | None, keepdim: bool, dtype: DType) -> TensorSpec:
    axes = None if axis is None else (axis_index(axis, x),)
    if any(size == 0 for place, size in enumerate(x.shape) if axes is None or place in axes):
        raise ShapeError(f"the place of the largest or smallest of no elements: shape {list(x.shape)}", kind="S05")
    return TensorSpec(reduced_shape(x.shape, axes, keepdim), dtype)


@define_op("argmax", infer=_infer_arg_extremum)
def argmax_op(x: Array, *, axis: int | None, keepdim: bool, dtype: DType) -> Any:
    """Place of the first largest element."""
    return np.asarray(np.argmax(x, axis, keepdims=keepdim)).astype(dtype)


@define_op("argmin", infer=_infer_arg_extremum)
def argmin_op(x: Array, *, axis: int | None, keepdim: bool, dtype: DType) -> Any:
    """Place of the first smallest element."""
    return np.asarray(np.argmin(x, axis, keepdims=keepdim)).astype(dtype)


@define_op("mode_index", kinds="fiub", infer=_infer_arg_extremum)
def mode_index_op(x: Array, *, axis: int | None, keepdim: bool, dtype: DType) -> Any:
    """Last place of the element that there is most often; of several the smallest."""
    order = np.moveaxis(np.argsort(x, axis, kind="stable"), axis, -1)  # type: ignore[arg-type]
    ranked = np.take_along_axis(np.moveaxis(x, axis, -1), order, -1)  # type: ignore[arg-type]
    places = np.arange(ranked.shape[-1])
    begins = np.ones(ranked.shape, bool)
    begins[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    # How many equal elements stand before each one: most before the last of the longest run.
    before = places - np.maximum.accumulate(np.where(begins, places, 0), -1)
    found = np.take_along_axis(order, np.argmax(before, -1, keepdims=True), -1).astype(dtype)
    return np.moveaxis(found, -1, axis) if keepdim else found[..., 0]  # type: ignore[arg-type]


def _infer_unique(x: TensorSpec, *, axis: int | None) -> tuple[TensorSpec, ...]:
    count = Dim()
    if axis is None:
        shape: tuple[Size, ...] = (count,)
        size: Size = Dim()
        if x.is_static:
            size = int(np.prod(x.shape))  # type: ignore[arg-type]
    else:
        place = axis_index(axis, x)
        shape, size = (*x.shape[:place], count, *x.shape[place + 1 :]), x.shape[place]
    indices = TensorSpec((count,), _INT64)
    return TensorSpec(shape, x.dtype), indices, TensorSpec((size,), _INT64), indices


@define_op("unique", infer=_infer_unique)
def unique_op(x: Array, *, axis: int | None) -> tuple[Array, ...]:
    """The different elements (or slices) in order; the first place of each; which each element is; how often."""
    found, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    return found, first, inverse.reshape(-1), counts


def _infer_searchsorted(sequence: TensorSpec, values: TensorSpec, *, right: bool, dtype: DType) -> TensorSpec:
    if sequence.ndim != 1 and (sequence.ndim != values.ndim or sequence.shape[:-1] != values.shape[:-1]):
        raise ShapeError(
            f"searchsorted of shape {list(sequence.shape)} for values of shape {list(values.shape)}: "
            "all axes but the last must be equal, or the sequence a vector"
        )
    return TensorSpec(values.shape, dtype)


@define_op("searchsorted", infer=_infer_searchsorted)
def searchsorted_op(sequence: Array, values: Array, *, right: bool, dtype: DType) -> Array:
    """Where each value belongs in a sorted sequence."""
    side: Any = "right" if right else "left"
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side)).astype(dtype)
    if sequence.shape[:-1] != values.shape[:-1]:
        raise ShapeError("searchsorted: all axes but the last must be equal")
    rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
    found = [np.searchsorted(row, wanted, side) for row, wanted in rows]
    return np.asarray(found, dtype).reshape(values.shape)


def _infer_bincount(x: TensorSpec, *weights: TensorSpec, minlength: int) -> TensorSpec:
    if x.ndim != 1 or x.dtype.kind not in "iu":
        raise DTypeError(f"bincount needs a vector of integers, got {x}")
    if weights and (weights[0].ndim != 1 or not sizes_agree(weights[0].shape[0], x.shape[0])):
        raise ShapeError(f"bincount needs as many weights as numbers, got shapes {list(x.shape)} and "
                         f"{list(weights[0].shape)}")
    if weights and weights[0].dtype.kind == "c":
        raise DTypeError(f"bincount needs real weights, got {weights[0].dtype.name}")
    return TensorSpec((Dim(),), weights[0].dtype if weights else _INT64)


@define_op("bincount", infer=_infer_bincount)
def bincount_op(x: Array, *weights: Array, minlength: int) -> Array:
    """How often each number occurs; with weights, their sum."""
    if weights:
        return np.bincount(x, weights[0], minlength).astype(weights[0].dtype)
    return np.bincount(x, minlength=minlength)


@public(x="input", axis="dim")
def argsort(
    x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None
) -> Tensor:
    """Indices, int64, that sort `x` along `axis`; equal elements keep their order, NaN counts as largest."""
    return bind(argsort_op, x, axis=axis_index(axis, x), descending=bool(descending))


@public()
def sort(x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None) -> Tensor:
    """`x` sorted along `axis`; see `argsort`."""
    need_tensors(x)
    return take_along_axis(x, argsort(x, axis, descending), axis) if x.ndim else x


@public(x="input", axis="dim")
def topk(
    x: Tensor, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """
    The `k` largest (or smallest) elements along an axis.

    Parameters
    ----------
    x : Tensor
    k : int
    axis : int, optional
        The last if left out.
    largest : bool
    sorted : bool
        Not used: the result is always in order.

    Returns
    -------
    values, indices : Tensor
        With size `k` along `axis`; indices are int64.

    Raises
    ------
    ShapeError
        If `k` is less than 1 or more than there are.
    """
    need_tensors(x)
    if not x.ndim:
        values, indices = topk(reshape(x, [1]), k, axis, largest, sorted)
        return reshape(values, []), reshape(indices, [])
    place = axis_index(-1 if axis is None else axis, x)
    indices = bind(top_indices_op, x, k=size_argument(k), axis=place, largest=bool(largest))
    return take_along_axis(x, indices, place), indices


@public(x="input", axis="dim", keepdim="keepdims")
def argmax(
    x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None
) -> Tensor:
    """Place of the first largest element along `axis`, or in the flattened tensor."""
    place = None if axis is None else axis_index(size_argument(axis), x)
    return bind(argmax_op, x, axis=place, keepdim=bool(keepdim), dtype=as_dtype(dtype))


def first_of_the_largest(x: Tensor, axis: int) -> Tensor:
    """The largest element along an axis; of several the first, which gets all of the gradient."""
    return squeeze(take_along_axis(x, argmax(x, axis, keepdim=True), axis), axis)


@public(x="input", axis="dim", keepdim="keepdims")
def argmin(
    x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None
) -> Tensor:
    """Place of the first smallest element along `axis`, or in the flattened tensor."""
    place = None if axis is None else axis_index(size_argument(axis), x)
    return bind(argmin_op, x, axis=place, keepdim=bool(keepdim), dtype=as_dtype(dtype))


@public()
def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    name: str | None = None,
    *,
    sorted: bool = True,
) -> Any:
    """
    The different elements of `x` (or slices along `axis`) in ascending order.

    Parameters
    ----------
    x : Tensor
    return_index, return_inverse, return_counts : bool
        Return also: the first place of each; for each element of `x`, which one it is; how often each occurs.
    axis : int, optional
    dtype : dtype
        Of the index tensors.

    Returns
    -------
    Tensor, or tuple of Tensor
    """
    place = None if axis is None else axis_index(axis, x)
    found, *extra = bind(unique_op, x, axis=place)
    wanted = as_dtype(dtype)
    flags = (return_index, return_inverse, return_counts)
    chosen = [part.cast(wanted) for part, flag in zip(extra, flags, strict=True) if flag]
    return (found, *chosen) if chosen else found


@public(values="input")
def searchsorted(
    sorted_sequence: Tensor, values: Tensor, out_int32: bool = False, right: bool = False, name: str | None = None,
    *, side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:
    """Where each of `values` belongs in `sorted_sequence`, sorted along its last axis: before (or after) equal ones.

    `side` says the same as `right`: "left" or "right".  With `sorter`, what `argsort` gives, the sequence need not be
    sorted.
    """
    if side not in (None, "left", "right"):
        raise ArgumentError(f"side must be 'left' or 'right', got {side!r}")
    right = right or side == "right"
    if sorter is not None:
        sorted_sequence = take_along_axis(sorted_sequence, sorter, -1)
    sequence, wanted = operands(sorted_sequence, values)
    dtype = np.dtype("int32") if out_int32 else _INT64
    return bind(searchsorted_op, sequence, wanted, right=bool(right), dtype=dtype)


@public(x="input", sorted_sequence="boundaries")
def bucketize(
    x: Tensor, sorted_sequence: Tensor, out_int32: bool = False, right: bool = False, name: str | None = None
) -> Tensor:
    """Which interval of the vector `sorted_sequence` each element of `x` lies in."""
    return searchsorted(sorted_sequence, x, out_int32, right)


@public()
def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0, name: str | None = None) -> Tensor:
    """How often each number occurs in a vector of non-negative ints, or the sum of the weights of its places."""
    return bind(bincount_op, x, *([] if weights is None else [weights]), minlength=minlength)


@public()
def kthvalue(
    x: Tensor, k: int, axis: int | None = None, keepdim: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along an axis, counted from 1, and its index."""
    place = axis_index(-1 if axis is None else axis, x)
    values, indices = topk(x, k, place, largest=False)
    last = (slice(None),) * place + (slice(k - 1, k) if keepdim else k - 1,)
    return values[last], indices[last]


@public()
def mode(x: Tensor, axis: int = -1, keepdim: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The element that there is most often along an axis, of several the smallest, and the last place where it is.

    Raises
    ------
    ShapeError
        If there are no elements.
    """
    need_tensors(x)
    if not x.ndim:
        values, indices = mode(reshape(x, [1]))
        return values, indices
    place = axis_index(axis, x)
    indices = bind(mode_index_op, x, axis=place, keepdim=True, dtype=_INT64)
    values = take_along_axis(x, indices, place)
    return (values, indices) if keepdim else (squeeze(values, place), squeeze(indices, place))
