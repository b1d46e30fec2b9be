"""Patches of images as columns, and back: convolutions with weights of ones and zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.public import public
from d2s.errors import ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import need_axes
from d2s.ops.convolution import conv2d, conv2d_transpose
from d2s.ops.shape import reshape
from d2s.ops.window_arguments import IMAGE, pair


def _selecting(channels: Any, kernel: tuple[int, int], dtype: Any) -> Array:
    """A weight that gives, for each channel, each place in the kernel a channel of its own."""
    if not isinstance(channels, int):
        raise ShapeError("unfold and fold need a number of channels that is known")
    places = kernel[0] * kernel[1]
    return np.tile(np.eye(places, dtype=dtype).reshape(places, 1, *kernel), (channels, 1, 1, 1))


def _border(paddings: Any) -> list[int]:
    """Padding as [top, bottom, left, right]; four numbers are given as top, left, bottom, right."""
    numbers = list(paddings) if isinstance(paddings, list | tuple) else [paddings]
    if len(numbers) == 4:
        top, left, bottom, right = numbers
        return [top, bottom, left, right]
    rows, columns = pair(paddings, "paddings")
    return [rows, rows, columns, columns]


@public()
def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    """
    What a sliding window sees, as columns.

    Parameters
    ----------
    x : Tensor, shape (B, C, H, W)
    kernel_sizes, strides, dilations : int or pair of int
    paddings : int, pair, or four ints (top, left, bottom, right)

    Returns
    -------
    Tensor, shape (B, C kh kw, L)
        One column for each of the L places of the window.
    """
    need_axes("unfold", x, IMAGE)
    kernel = pair(kernel_sizes, "kernel_sizes")
    weight = _selecting(x.shape[1], kernel, x.dtype)
    seen = conv2d(x, weight, None, strides, _border(paddings), dilations, x.shape[1])
    return reshape(seen, [seen.shape[0], seen.shape[1], -1])


@public(x="input", output_sizes="output_size", kernel_sizes="kernel_size")
def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Tensor:
    """
    The reverse of `unfold`: each element added where it was read.

    Parameters
    ----------
    x : Tensor, shape (B, C kh kw, L)
    output_sizes : int or pair of int
        Height and width of the result.
    kernel_sizes, strides, paddings, dilations
        As in `unfold`.

    Returns
    -------
    Tensor, shape (B, C, H, W)

    Raises
    ------
    ShapeError
        If the columns do not come from an image of these sizes.
    """
    need_tensors(x)
    kernel, sizes = pair(kernel_sizes, "kernel_sizes"), pair(output_sizes, "output_sizes")
    border, places = _border(paddings), kernel[0] * kernel[1]
    counts = _window_counts(sizes, kernel, pair(strides, "strides"), border, pair(dilations, "dilations"))
    if x.ndim != 3 or x.shape[1] % places or x.shape[2] != counts[0] * counts[1]:
        raise ShapeError(
            f"fold into {list(sizes)} with a kernel of {list(kernel)} needs a tensor of shape "
            f"[B, C * {places}, {counts[0] * counts[1]}], got {list(x.shape)}"
        )
    channels = x.shape[1] // places
    weight = _selecting(channels, kernel, x.dtype)
    columns = reshape(x, [x.shape[0], x.shape[1], *counts])
    return conv2d_transpose(columns, weight, None, strides, border, 0, dilations, channels, sizes)


def _window_counts(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], border: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    room = [sizes[axis] + border[2 * axis] + border[2 * axis + 1] - dilations[axis] * (kernel[axis] - 1) - 1
            for axis in (0, 1)]  # fmt: skip
    return [left // strides[axis] + 1 for axis, left in enumerate(room)]
