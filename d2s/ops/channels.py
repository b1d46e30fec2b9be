"""Channels rearranged or reduced: pixel shuffle, channel shuffle, maxout, local response normalisation."""

from __future__ import annotations

import numpy as np

from d2s.core.arrays import ndim_of, need_tensors
from d2s.core.public import public
from d2s.errors import ArgumentError, ShapeError
from d2s.ops.annotations import Tensor
from d2s.ops.arithmetic import pow
from d2s.ops.axes import axis_index
from d2s.ops.exponential import square
from d2s.ops.half_precision import in_float32
from d2s.ops.products import matmul
from d2s.ops.shape import moveaxis, reshape, transpose
from d2s.ops.sorting import first_of_the_largest


def _images(x: Tensor, data_format: str, name: str) -> Tensor:
    """`x` as (B, C, H, W)."""
    if data_format not in ("NCHW", "NHWC"):
        raise ArgumentError(f"data_format must be 'NCHW' or 'NHWC', got {data_format!r}")
    if x.ndim != 4:
        raise ShapeError(f"{name} needs a tensor of 4 axes, got shape {list(x.shape)}")
    return transpose(x, (0, 3, 1, 2)) if data_format == "NHWC" else x


def _back(x: Tensor, data_format: str) -> Tensor:
    return transpose(x, (0, 2, 3, 1)) if data_format == "NHWC" else x


def _divided(size: int, by: int, what: str) -> int:
    if size % by:
        raise ShapeError(f"{what} {size} cannot be divided by {by}")
    return size // by


@public()
def pixel_shuffle(x: Tensor, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """
    Channels laid out as pixels: (B, C r r, H, W) becomes (B, C, H r, W r), with r the `upscale_factor`.

    Raises
    ------
    ShapeError
        If the channels cannot be divided by r r.
    """
    need_tensors(x)
    x, r = _images(x, data_format, "pixel_shuffle"), upscale_factor
    batch, channels, height, width = x.shape
    kept = _divided(channels, r * r, "the number of channels")
    parts = transpose(reshape(x, [batch, kept, r, r, height, width]), (0, 1, 4, 2, 5, 3))
    return _back(reshape(parts, [batch, kept, height * r, width * r]), data_format)


@public()
def pixel_unshuffle(x: Tensor, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """
    The reverse of `pixel_shuffle`: (B, C, H r, W r) becomes (B, C r r, H, W).

    Raises
    ------
    ShapeError
        If height or width cannot be divided by r.
    """
    need_tensors(x)
    x, r = _images(x, data_format, "pixel_unshuffle"), downscale_factor
    batch, channels, height, width = x.shape
    rows, columns = _divided(height, r, "the height"), _divided(width, r, "the width")
    parts = transpose(reshape(x, [batch, channels, rows, r, columns, r]), (0, 1, 3, 5, 2, 4))
    return _back(reshape(parts, [batch, channels * r * r, rows, columns]), data_format)


@public()
def channel_shuffle(x: Tensor, groups: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """
    Channels in another order: the first of each of the `groups`, then the second of each, and so on.

    Raises
    ------
    ShapeError
        If the channels cannot be divided by `groups`.
    """
    need_tensors(x)
    x = _images(x, data_format, "channel_shuffle")
    batch, channels, height, width = x.shape
    size = _divided(channels, groups, "the number of channels")
    parts = transpose(reshape(x, [batch, groups, size, height, width]), (0, 2, 1, 3, 4))
    return _back(reshape(parts, [batch, channels, height, width]), data_format)


@public()
def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """
    Largest of each `groups` neighbours along `axis`, which becomes shorter by that factor.

    Raises
    ------
    ShapeError
        If the size of `axis` cannot be divided by `groups`.
    """
    axis = axis_index(axis, x)
    shape = list(x.shape)
    kept = _divided(shape[axis], groups, "the size of the axis")
    return first_of_the_largest(reshape(x, [*shape[:axis], kept, groups, *shape[axis + 1 :]]), axis + 1)


@in_float32()
@public()
def local_response_norm(
    x: Tensor,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """``x / (k + alpha * m) ** beta``, with m the mean of the squares over `size` neighbouring channels.

    Channels beyond the first and the last count as zeros.
    """
    if ndim_of(x) < 3:
        raise ShapeError(f"local_response_norm needs a tensor of at least 3 axes, got shape {x.shape}")
    channel = 1 if data_format.startswith("NC") else x.ndim - 1
    count = x.shape[channel]
    offset = np.arange(count)[:, None] - np.arange(count)
    # Column j holds the weights of output channel j.
    window = ((offset >= -(size // 2)) & (offset <= (size - 1) // 2)).astype(x.dtype) / size
    means = moveaxis(matmul(moveaxis(square(x), channel, -1), window), -1, channel)
    return x / pow(means * alpha + k, beta)
