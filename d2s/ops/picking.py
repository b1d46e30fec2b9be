"""Elements picked by number, by mask and by value: made of `gather`, `where` and `[...]`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Dim, TensorSpec, as_dtype
from d2s.errors import ArgumentError, DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.annotations import Array, Tensor, is_tensor
from d2s.ops.axes import axis_index, integers, number_of_elements, own_axis
from d2s.ops.casting import cast
from d2s.ops.comparison import equal
from d2s.ops.gathering import index_select, take_along_axis
from d2s.ops.indexing import getitem, put_op, with_item
from d2s.ops.indices import index_of
from d2s.ops.joining import stack
from d2s.ops.logical import logical_not
from d2s.ops.promotion import operands, tensor_or_number, value_in
from d2s.ops.reduction import any
from d2s.ops.selection import nonzero, where
from d2s.ops.shape import broadcast_to, reshape, unsqueeze
from d2s.ops.sorting import sort


@public()
def argwhere(input: Tensor) -> Tensor:
    """Places of the elements that are not 0, a row for each."""
    found: Tensor = nonzero(input)
    return found


@public()
def msort(input: Tensor) -> Tensor:
    """Elements in order along the first axis."""
    return sort(input, 0)


@public()
def take(x: Tensor, index: Tensor, mode: str = "raise", name: str | None = None) -> Tensor:
    """
    Elements by their number in all of `x`, in the shape of `index`.

    Parameters
    ----------
    index : Tensor of integers
    mode : {"raise", "wrap", "clip"}
        What to do about numbers out of range: an error, start anew, or take the first or last element.
    """
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"mode of take must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if not is_tensor(index) or index.dtype.kind not in "iu":
        found = index.dtype.name if is_tensor(index) else type(index).__name__
        raise DTypeError(f"take needs a tensor of integers as index, got {found}")
    flat = reshape(x, [-1])
    if mode == "wrap":
        index = index % flat.shape[0]
    elif mode == "clip":
        index = index.clip(0, flat.shape[0] - 1)
    return reshape(getitem(flat, reshape(index, [-1])), index.shape)


@public()
def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """For each row of a matrix the elements in the places that the same row of `index` names."""
    need_tensors(x, index)
    return take_along_axis(x, index, 1, False)


@public()
def index_fill(x: Tensor, index: Tensor, axis: int, value: Any, name: str | None = None) -> Tensor:
    """`x` with `value` in all slices along `axis` that `index` names."""
    place = axis_index(axis, x)
    return with_item(x, (*[slice(None)] * place, index), value_in(value, x.dtype))


@public(x="input")
def index_put(
    x: Tensor, indices: Sequence[Tensor], value: Any, accumulate: bool = False, name: str | None = None
) -> Tensor:
    """``x[indices] = value`` as a new tensor; with `accumulate`, ``+=``, where a place named twice counts twice."""
    need_tensors(x)
    place = tuple(indices)
    if not accumulate:
        return with_item(x, place, value)
    step, *rest = index_of(place).steps()
    if rest:
        raise ShapeError("index_put with accumulate needs index tensors only")
    part = broadcast_to(value_in(value, x.dtype), getitem(x, place).shape)
    return x + bind(put_op, part, *step.tensors, index=step.template, shape=tuple(x.shape))


@public()
def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """`x` with the elements of `value`, in their order, where `mask` is true."""
    need_tensors(x, mask, value)
    mask = broadcast_to(mask, x.shape)
    number = cast(reshape(mask, [-1]), "int64").cumsum() - 1
    flat = reshape(value, [-1])
    picked = index_select(flat, number.clip(0), 0)
    return where(mask, reshape(picked, x.shape), x)


@public()
def slice_(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """The part of a tensor between places along axes; places past the end mean the end."""
    own_axis(0, input)
    cuts: list[Any] = [slice(None)] * input.ndim
    for axis, start, end in zip(integers(axes), integers(starts), integers(ends), strict=True):
        cuts[axis_index(axis, input)] = slice(start, end)
    return getitem(input, tuple(cuts))


@public(x="elements", test_x="test_elements")
def isin(x: Any, test_x: Any, assume_unique: bool = False, invert: bool = False, name: str | None = None) -> Tensor:
    """True where an element is among those of `test_x` (with `invert`: where it is not)."""
    x, test_x = operands(x, test_x)
    x, test_x = tensor_or_number(x), tensor_or_number(test_x)
    among = reshape(test_x, [-1]) if is_tensor(test_x) else np.asarray(test_x).reshape(-1)
    found = any(equal(unsqueeze(x, -1), among), -1) if is_tensor(x) else any(equal(x, among))
    return logical_not(found) if invert else found


@public()
def multiplex(inputs: Sequence[Tensor], index: Tensor, name: str | None = None) -> Tensor:
    """Row by row, that row of the tensor which `index`, of shape ``[rows, 1]``, names."""
    need_tensors(index)
    rows = stack(inputs, 0)
    return getitem(rows, (reshape(index, [-1]), np.arange(inputs[0].shape[0])))


def _infer_runs(x: TensorSpec, *, axis: int | None) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    count, total = Dim(), number_of_elements(x.shape)
    if axis is None:
        shape: Any = (count,)
    else:
        place = axis_index(axis, x)
        shape, total = (*x.shape[:place], count, *x.shape[place + 1 :]), x.shape[place]
    int64 = np.dtype("int64")
    return TensorSpec(shape, x.dtype), TensorSpec((total,), int64), TensorSpec((count,), int64)


@define_op("unique_consecutive", infer=_infer_runs)
def unique_consecutive_op(x: Array, *, axis: int | None) -> tuple[Array, Array, Array]:
    """The first of each run of equal slices, the run that each slice is in, and the lengths of the runs."""
    along = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    flat = along.reshape(len(along), math.prod(along.shape[1:]))
    begins = np.ones(len(along), bool)
    begins[1:] = (flat[1:] != flat[:-1]).any(1)
    firsts = np.flatnonzero(begins)
    lengths = np.diff(np.append(firsts, len(along)))
    found = along[firsts]
    return found if axis is None else np.moveaxis(found, 0, axis), np.cumsum(begins) - 1, lengths


@public(x="input")
def unique_consecutive(
    x: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Any:
    """
    `x` without repeats of the element (or slice along `axis`) before.

    Parameters
    ----------
    return_inverse, return_counts : bool
        Also give the run that each element is in, and the lengths of the runs, as `dtype`.
    """
    need_tensors(x)
    found, inverse, counts = bind(unique_consecutive_op, x, axis=axis)
    result = [found]
    if return_inverse:
        result.append(cast(inverse, as_dtype(dtype)))
    if return_counts:
        result.append(cast(counts, as_dtype(dtype)))
    return result[0] if len(result) == 1 else tuple(result)


@public()
def select_scatter(x: Tensor, values: Tensor, axis: int, index: int, name: str | None = None) -> Tensor:
    """`x` with `values` in the slice number `index` along `axis`."""
    place = axis_index(axis, x)
    return with_item(x, (*[slice(None)] * place, index), values)


@public()
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` slices along an axis from `start` on."""
    place = own_axis(dim, input)
    begin = start + input.shape[place] if start < 0 else start
    size = input.shape[place]
    if isinstance(size, int) and not 0 <= begin <= begin + length <= size:
        raise IndexOutOfRangeError(f"narrow from {start} on, {length} long, along axis {dim} of shape {input.shape}")
    return getitem(input, (*[slice(None)] * place, slice(begin, begin + length)))


@public()
def histogram(
    input: Tensor,
    bins: int = 100,
    min: float = 0,
    max: float = 0,
    weight: Any = None,
    density: bool = False,
    name: str | None = None,
) -> Tensor:
    """
    How many elements lie in each of `bins` equal parts of ``[min, max]``, or their weight.

    Equal `min` and `max` stand for the smallest and the largest element.
    """
    need_tensors(input)
    if not isinstance(bins, int) or bins < 1:
        raise ShapeError(f"histogram needs at least one bin, got {bins}")
    return bind(
        histogram_op, input, *([] if weight is None else [weight]), bins=bins, low=min, high=max, density=bool(density)
    )


def _infer_histogram(x: TensorSpec, *weights: TensorSpec, bins: int, low: Any, high: Any, density: bool) -> TensorSpec:
    if x.dtype.kind not in "fiu":
        raise DTypeError(f"histogram is defined for real numbers, got {x.dtype.name}")
    return TensorSpec((bins,), np.dtype("float32") if density or weights else np.dtype("int64"))


@define_op("histogram", infer=_infer_histogram, kinds="fiu")
def histogram_op(x: Array, *weights: Array, bins: int, low: Any, high: Any, density: bool) -> Array:
    """Counts (or weights) by bin."""
    if low == high:
        low, high = (x.min(), x.max()) if x.size else (0, 1)
        if low == high:
            low, high = low - 1, high + 1
    found, _ = np.histogram(x, bins, (low, high), density, weights[0] if weights else None)
    return found.astype(np.float32 if density or weights else np.int64)
