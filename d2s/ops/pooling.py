"""Pooling over windows of the last one or two axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import DType, TensorSpec
from d2s.errors import ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import is_symbolic, need_axes
from d2s.ops.casting import cast
from d2s.ops.creation import arange, ones
from d2s.ops.gathering import take_along_axis
from d2s.ops.half_precision import in_float32
from d2s.ops.joining import stack
from d2s.ops.products import matmul
from d2s.ops.shape import broadcast_to, flatten, reshape, squeeze, transpose, unsqueeze
from d2s.ops.sorting import argmax
from d2s.ops.window_arguments import IMAGE, LINE, padding_of, pair
from d2s.ops.window_reduction import max_pool2d_op, pick2d_op, window_sum_op
from d2s.ops.windows import Window


def _window(x: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool) -> Window:
    kernel = pair(kernel_size, "kernel_size")
    strides = kernel if stride is None else pair(stride, "stride")
    top, bottom, left, right = padding_of(padding, x.shape[2:], kernel, strides, (1, 1))
    if ceil_mode:
        # More room at the far ends, for windows that start inside and end outside.
        bottom += _missing(x.shape[2] + top + bottom, kernel[0], strides[0], x.shape[2] + top)
        right += _missing(x.shape[3] + left + right, kernel[1], strides[1], x.shape[3] + left)
    return Window(kernel, strides, (top, bottom, left, right))


def _missing(size: int, kernel: int, stride: int, inside: int) -> int:
    steps = -(-(size - kernel) // stride)
    if steps * stride >= inside:
        steps -= 1
    return max(0, steps * stride + kernel - size)


@public()
def max_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """
    Largest element of each window.

    Parameters
    ----------
    x : Tensor, shape (B, C, H, W)
    kernel_size : int or pair of int
    stride : int or pair of int, optional
        By default the size of the kernel.
    padding : as in `conv2d`
        Padded places never win.
    return_mask : bool
        Also give where each largest element was found.
    ceil_mode : bool
        Count windows that reach over the far end too.
    data_format : {"NCHW", "NHWC"}

    Returns
    -------
    Tensor, shape (B, C, OH, OW)
        The first of equal elements gets the gradient.
    mask : Tensor, int32, shape (B, C, OH, OW)
        With `return_mask`: places in the image, row by row.
    """
    need_tensors(x)
    if data_format == "NHWC":
        x = transpose(x, (0, 3, 1, 2))
    window = _window(x, kernel_size, stride, padding, ceil_mode)
    result = bind(max_pool2d_op, x, window=window)
    if return_mask:
        # float64 counts the places of any image; the values of x only say which place wins.
        places = reshape(arange(x.shape[2] * x.shape[3], dtype="float64"), [1, 1, x.shape[2], x.shape[3]])
        mask = bind(pick2d_op, broadcast_to(places, x.shape), x.detach(), result.detach(), window=window)
        pair_of = result, cast(mask, "int32")
        return tuple(transpose(one, (0, 2, 3, 1)) for one in pair_of) if data_format == "NHWC" else pair_of
    return transpose(result, (0, 2, 3, 1)) if data_format == "NHWC" else result


@in_float32()
@public()
def avg_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """
    Mean of each window; see `max_pool2d`.

    Parameters
    ----------
    exclusive : bool
        Do not count padded places.
    divisor_override : float, optional
        Divide the sum by this instead of the number of places.
    """
    need_tensors(x)
    if data_format == "NHWC":
        x = transpose(x, (0, 3, 1, 2))
    window = _window(x, kernel_size, stride, padding, ceil_mode)
    total = bind(window_sum_op, x, window=window)
    if divisor_override is not None:
        result = total / divisor_override
    elif any(window.padding) and (exclusive or ceil_mode):
        result = total / _counts(x, window, padding, exclusive)
    else:
        result = total / (window.kernel[0] * window.kernel[1])
    return transpose(result, (0, 2, 3, 1)) if data_format == "NHWC" else result


def _counts(x: Tensor, window: Window, padding: Any, exclusive: bool) -> Tensor:
    """How many places of each window count: those in the image, and if not `exclusive`, in its border.

    What `ceil_mode` has added at the far ends never counts.
    """
    height, width = x.shape[2:]
    if not exclusive:
        top, bottom, left, right = padding_of(padding, (height, width), window.kernel, window.stride, (1, 1))
        height, width = height + top + bottom, width + left + right
        window = replace(window, padding=(0, window.padding[1] - bottom, 0, window.padding[3] - right))
    return bind(window_sum_op, ones([1, 1, height, width], x.dtype), window=window)


def _flat(value: Any) -> tuple[int, int]:
    return 1, int(value[0] if isinstance(value, list | tuple) else value)


def _flat_padding(padding: Any) -> Any:
    if isinstance(padding, str):
        return padding
    ends = list(padding) if isinstance(padding, list | tuple) else [padding]
    return 0, 0, int(ends[0]), int(ends[-1])


@public()
def max_pool1d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Tensor:
    """Largest element of each window of the last axis of (B, C, L); see `max_pool2d`."""
    strides = None if stride is None else _flat(stride)
    result = max_pool2d(unsqueeze(x, 2), _flat(kernel_size), strides, _flat_padding(padding), return_mask, ceil_mode)
    return tuple(squeeze(one, 2) for one in result) if return_mask else squeeze(result, 2)


@in_float32()
@public()
def avg_pool1d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Tensor:
    """Mean of each window of the last axis of (B, C, L); see `avg_pool2d`."""
    strides = None if stride is None else _flat(stride)
    result = avg_pool2d(unsqueeze(x, 2), _flat(kernel_size), strides, _flat_padding(padding), ceil_mode, exclusive)
    return squeeze(result, 2)


def _bins(size: Any, count: Any) -> list[tuple[int, int]]:
    """The ranges of an adaptive pooling: `count` ranges that cover `size` elements, overlapping if need be."""
    if not isinstance(size, int) or not isinstance(count, int):
        raise ShapeError("adaptive pooling needs sizes that are known", kind="S06")
    return [(index * size // count, -(-(index + 1) * size // count)) for index in range(count)]


def _averaging(size: Any, count: Any, dtype: DType) -> Any:
    """Matrix (count, size) that takes the mean of each range: an array if the sizes are known."""
    if is_symbolic(size) or is_symbolic(count):
        return bind(averaging_op, size=size, count=count, dtype=dtype)
    return averaging_op.forward(size=size, count=count, dtype=dtype)


@define_op("averaging", infer=lambda *, size, count, dtype: TensorSpec((count, size), dtype))
def averaging_op(*, size: int, count: int, dtype: DType) -> Array:
    """Matrix (count, size) that takes the mean of each range of an adaptive pooling."""
    matrix = np.zeros((count, size), dtype)
    for row, (start, stop) in enumerate(_bins(size, count)):
        matrix[row, start:stop] = 1 / (stop - start)
    return matrix


@in_float32()
@public(x="input")
def adaptive_avg_pool2d(x: Tensor, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Means over ranges that divide the last two axes into `output_size` parts (None: keep that size)."""
    need_axes("adaptive_avg_pool2d", x, IMAGE)
    if data_format == "NHWC":
        x = transpose(x, (0, 3, 1, 2))
    rows, columns = pair(output_size, "output_size")
    if rows is not None:
        x = matmul(_averaging(x.shape[2], rows, x.dtype), x)
    if columns is not None:
        x = matmul(x, _averaging(x.shape[3], columns, x.dtype).T)
    return transpose(x, (0, 2, 3, 1)) if data_format == "NHWC" else x


@in_float32()
@public(x="input")
def adaptive_avg_pool1d(x: Tensor, output_size: int, name: str | None = None) -> Tensor:
    """Means over ranges that divide the last axis of (B, C, L) into `output_size` parts."""
    need_axes("adaptive_avg_pool1d", x, LINE)
    return matmul(x, _averaging(x.shape[2], output_size, x.dtype).T)


@public(x="input", return_mask="return_indices")
def adaptive_max_pool2d(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """
    Largest elements of ranges that divide the last two axes into `output_size` parts.

    With `return_mask` also their places, int32, as counted in the flattened image; of equal elements that of the first.
    """
    need_axes("adaptive_max_pool2d", x, IMAGE)
    rows, columns = pair(output_size, "output_size")
    width = x.shape[3]
    vertical, horizontal = _bins(x.shape[2], rows or x.shape[2]), _bins(width, columns or width)
    places = stack([
        stack([_place_of_the_largest(x, *tall, *wide, width) for wide in horizontal], -1) for tall in vertical
    ], -2)
    found = take_along_axis(flatten(x, 2), flatten(places, 2), 2)
    found = reshape(found, [x.shape[0], x.shape[1], len(vertical), len(horizontal)])
    return (found, cast(places, "int32")) if return_mask else found


def _place_of_the_largest(x: Tensor, top: int, bottom: int, left: int, right: int, width: int) -> Tensor:
    """The place of the largest element of a part of each image, as counted in the whole one."""
    place = argmax(flatten(x[:, :, top:bottom, left:right], 2), 2)
    return (place // (right - left) + top) * width + place % (right - left) + left


@public(x="input", return_mask="return_indices")
def adaptive_max_pool1d(x: Tensor, output_size: int, return_mask: bool = False, name: str | None = None) -> Any:
    """Largest elements of ranges that divide the last axis of (B, C, L); see `adaptive_max_pool2d`."""
    need_axes("adaptive_max_pool1d", x, LINE)
    found = adaptive_max_pool2d(unsqueeze(x, 2), [1, output_size], return_mask)
    return tuple(squeeze(part, 2) for part in found) if return_mask else squeeze(found, 2)
