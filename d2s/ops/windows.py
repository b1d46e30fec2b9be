"""Sliding windows over the last two axes, by copies of slices: what convolution and pooling are made of.

Everything here works on arrays of shape (B, C, H, W) and is no op itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from d2s.core.spec import Dim, Shape, Size
from d2s.errors import ShapeError
from d2s.ops.annotations import Array


@dataclass(frozen=True, slots=True)
class Window:
    """Geometry of a window.

    Attributes
    ----------
    kernel, stride, dilation : (int, int)
        Along height and width.
    padding : (int, int, int, int)
        Rows above, rows below, columns to the left, columns to the right.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)

    def output_sizes(self, height: Size, width: Size) -> tuple[Size, Size]:
        """How often the window fits along each axis.

        Raises
        ------
        ShapeError
            If it does not fit at all.
        """
        top, bottom, left, right = self.padding
        return (
            _fits(height, top + bottom, self.kernel[0], self.stride[0], self.dilation[0]),
            _fits(width, left + right, self.kernel[1], self.stride[1], self.dilation[1]),
        )

    def slices(self, rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
        """For each place in the kernel: the padded rows and columns that it sees."""
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                top, left = i * self.dilation[0], j * self.dilation[1]
                yield (
                    slice(top, top + self.stride[0] * (rows - 1) + 1, self.stride[0]),
                    slice(left, left + self.stride[1] * (columns - 1) + 1, self.stride[1]),
                )


def _fits(size: Size, padding: int, kernel: int, stride: int, dilation: int) -> Size:
    if isinstance(size, Dim):
        return Dim()
    room = size + padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise ShapeError(f"a window of {kernel} (dilation {dilation}) does not fit into {size} plus padding {padding}")
    return room // stride + 1


def padded(x: Array, window: Window, value: float = 0.0) -> Array:
    """`x` with a border of `value`."""
    top, bottom, left, right = window.padding
    if not any(window.padding):
        return x
    batch, channels, height, width = x.shape
    # Memory in the order of x, which is often channels first.
    result = np.full_like(x, value, shape=(batch, channels, height + top + bottom, width + left + right))
    result[:, :, top : top + height, left : left + width] = x
    return result


def without_padding(x: Array, window: Window) -> Array:
    """The inner part of a padded array."""
    top, bottom, left, right = window.padding
    return x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right]


def columns_of(x: Array, window: Window) -> Array:
    """What each place in the kernel sees: shape (C, kh * kw, OH, OW, B), contiguous.

    The batch comes last, so that what lies side by side is copied (and pooled) in long runs.
    """
    rows, columns = (int(size) for size in window.output_sizes(x.shape[2], x.shape[3]))  # type: ignore[arg-type]
    source = _batch_last(x, window)
    channels, batch = source.shape[0], source.shape[3]
    result = np.empty((channels, window.kernel[0] * window.kernel[1], rows, columns, batch), x.dtype)
    for place, (vertical, horizontal) in enumerate(window.slices(rows, columns)):
        result[:, place] = source[:, vertical, horizontal]
    return result


def _batch_last(x: Array, window: Window) -> Array:
    """`x` with its border, as (C, H, W, B), contiguous."""
    top, bottom, left, right = window.padding
    inner = x.transpose(1, 2, 3, 0)
    if not any(window.padding):
        return np.ascontiguousarray(inner)
    channels, height, width, batch = inner.shape
    result = np.zeros((channels, height + top + bottom, width + left + right, batch), x.dtype)
    result[:, top : top + height, left : left + width] = inner
    return result


def add_columns(columns: Array, shape: tuple[int, ...], window: Window) -> Array:
    """The reverse of `columns_of`: each element of `columns` added where it was read; of `shape` (B, C, H, W)."""
    batch, channels, height, width = shape
    top, bottom, left, right = window.padding
    result = np.zeros((channels, height + top + bottom, width + left + right, batch), columns.dtype)
    for place, (vertical, horizontal) in enumerate(window.slices(*columns.shape[2:4])):
        result[:, vertical, horizontal] += columns[:, place]
    return without_padding(result.transpose(3, 0, 1, 2), window)


def windowed_shape(shape: Shape, window: Window, name: str) -> Shape:
    """Shape after a window has passed over (B, C, H, W)."""
    if len(shape) != 4:
        raise ShapeError(f"{name} needs a tensor of 4 axes (batch, channels, height, width), got shape {list(shape)}")
    try:
        return (*shape[:2], *window.output_sizes(shape[2], shape[3]))
    except ShapeError as error:
        raise ShapeError(f"{name} of shape {list(shape)}: {error.message}") from None
