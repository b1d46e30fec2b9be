"""Elements repeated, reversed, moved round, or given a border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import as_number, need_tensors
from d2s.core.interpreter import TensorBase, bind
from d2s.core.op import define_op
from d2s.core.public import public, sizes_one_by_one
from d2s.core.spec import Dim, Size, TensorSpec
from d2s.errors import ArgumentError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_index, axis_indices, integers, size_argument
from d2s.ops.gathering import index_select
from d2s.ops.indexing import getitem
from d2s.ops.joining import concat
from d2s.ops.shape import broadcast_to, reshape, unsqueeze
from d2s.words import counted


def _infer_flip(x: TensorSpec, *, axis: tuple[int, ...]) -> TensorSpec:
    axis_indices(axis, x)
    return x


@define_op("flip", infer=_infer_flip)
def flip_op(x: Array, *, axis: tuple[int, ...]) -> Array:
    """The elements along each axis in reverse order."""
    return np.flip(x, axis)


flip_op.vjp(lambda g, out, x, *, axis: bind(flip_op, g, axis=axis))


def _infer_roll(x: TensorSpec, *, shifts: tuple[int, ...], axis: tuple[int, ...]) -> TensorSpec:
    axis_indices(axis, x)
    return x


@define_op("roll", infer=_infer_roll)
def roll_op(x: Array, *, shifts: tuple[int, ...], axis: tuple[int, ...]) -> Array:
    """Elements moved along axes; those that leave at one end come in at the other."""
    return np.roll(x, shifts, axis)


roll_op.vjp(lambda g, out, x, *, shifts, axis: bind(roll_op, g, shifts=tuple(-shift for shift in shifts), axis=axis))


def _infer_pad(x: TensorSpec, *, widths: tuple[tuple[int, int], ...], value: Any) -> TensorSpec:
    if len(widths) != x.ndim:
        raise ShapeError(f"a border of {counted(len(widths), 'axis', 'axes')} does not fit shape {list(x.shape)}")
    return TensorSpec(tuple(map(_padded_size, x.shape, widths)), x.dtype)


def _padded_size(size: Size, width: tuple[Size, Size]) -> Size:
    if width == (0, 0):
        return size
    return Dim() if any(isinstance(part, Dim) for part in (size, *width)) else size + sum(width)  # type: ignore


@define_op("pad", infer=_infer_pad)
def pad_op(x: Array, *, widths: tuple[tuple[int, int], ...], value: Any) -> Array:
    """A border of one value around x."""
    shape = [size + before + after for size, (before, after) in zip(x.shape, widths, strict=True)]
    result = np.full(shape, value, x.dtype)
    result[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, widths, strict=True))] = x
    return result


pad_op.vjp(
    lambda g, out, x, *, widths, value: getitem(
        g, tuple(slice(before, size - after) for size, (before, after) in zip(g.shape, widths, strict=True))
    )
)


@public()
def flip(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """The elements along each of the axes in reverse order; with no axes, ``[]``, as they are."""
    need_tensors(x)
    # Reductions take [] for all axes.
    axes = () if isinstance(axis, list | tuple) and not axis else axis_indices(axis, x)
    return bind(flip_op, x, axis=tuple(range(x.ndim)) if axes is None else axes)


@public(x="input")
def roll(x: Tensor, shifts: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Elements moved by `shifts` along `axis` (or in the flattened tensor); what leaves comes in at the other end."""
    steps = integers(shifts, "shifts")
    if axis is None:
        flat = bind(roll_op, reshape(x, [-1]), shifts=steps, axis=(0,))
        return reshape(flat, x.shape)
    axes = tuple(axis_index(one, x) for one in integers(axis, "axis"))
    if len(axes) != len(steps):
        raise ShapeError(f"roll needs a shift for each axis, got {len(steps)} for {len(axes)}")
    return bind(roll_op, x, shifts=steps, axis=axes)


@public()
def rot90(x: Tensor, k: int = 1, axes: Sequence[int] = (0, 1), name: str | None = None) -> Tensor:
    """`x` turned `k` times by a quarter, from the first of the two axes to the second."""
    first, second = (axis_index(axis, x) for axis in axes)
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(flip(x, first), second)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return flip(x, second).transpose(order) if turns == 1 else flip(x.transpose(order), second)


@sizes_one_by_one(1)
@public(x="input", repeat_times="dims")
def tile(x: Tensor, repeat_times: Any, name: str | None = None) -> Tensor:
    """`x` repeated as a whole, `repeat_times` along each axis; missing counts are 1, surplus ones are new axes."""
    need_tensors(x)
    times = list(integers(repeat_times, "repeat_times"))
    sizes = list(x.shape)
    if any(isinstance(count, int) and count < 0 for count in times):
        raise ArgumentError(f"repeat_times must not be negative, got {times}")
    times = [1] * (len(sizes) - len(times)) + times
    sizes = [1] * (len(times) - len(sizes)) + sizes
    apart = reshape(x, [part for size in sizes for part in (1, size)])
    repeated = broadcast_to(apart, [part for pair in zip(times, sizes, strict=True) for part in pair])
    return reshape(repeated, [count * size for count, size in zip(times, sizes, strict=True)])


@public(x="input", axis="dim")
def repeat_interleave(
    x: Tensor, repeats: Any, axis: int | None = None, name: str | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element along `axis` (or of the flattened tensor) repeated: the same number of times, or each its own.

    The size of the result follows from the repeats; `output_size` is accepted for programs that pass it.
    """
    need_tensors(x)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    place = axis_index(axis, x)
    if isinstance(repeats, TensorBase | list | tuple | np.ndarray):
        counts = [int(count) for count in integers(repeats, "repeats")]
        return index_select(x, np.repeat(np.arange(len(counts)), counts), place)
    count = size_argument(repeats, "repeats")
    sizes = list(x.shape)
    apart = unsqueeze(x, place + 1)
    repeated = broadcast_to(apart, [*sizes[: place + 1], count, *sizes[place + 1 :]])
    return reshape(repeated, [*sizes[:place], sizes[place] * count, *sizes[place + 1 :]])


@public()
def meshgrid(*args: Any, indexing: str = "ij", name: str | None = None) -> list[Tensor]:
    """Vectors broadcast against each other, the k-th along axis k: one tensor per vector.

    With ``indexing="xy"`` the first two change their axes, as x and y of a picture.
    """
    if indexing not in ("ij", "xy"):
        raise ArgumentError(f"indexing must be 'ij' or 'xy', got {indexing!r}")
    vectors = list(args[0]) if len(args) == 1 and isinstance(args[0], list | tuple) else list(args)
    need_tensors(*vectors)
    if any(vector.ndim > 1 for vector in vectors):
        raise ShapeError(f"meshgrid needs vectors, got shapes {', '.join(str(vector.shape) for vector in vectors)}")
    vectors = [reshape(vector, [-1]) for vector in vectors]
    axes = list(range(len(vectors)))
    if indexing == "xy":
        axes[:2] = axes[1::-1]
    sizes = [vectors[axis].shape[0] for axis in axes]
    return [
        broadcast_to(reshape(vector, [-1 if axis == own else 1 for axis in range(len(vectors))]), sizes)
        for own, vector in zip(axes, vectors, strict=True)
    ]


@public(x="input", axis="dim")
def diff(
    x: Tensor,
    n: int = 1,
    axis: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Differences of neighbours along `axis`, taken `n` times, after `prepend` and `append` are joined on."""
    place = axis_index(axis, x)
    x = concat([part for part in (prepend, x, append) if part is not None], place)
    before = (slice(None),) * place
    for _ in range(n):
        x = getitem(x, (*before, slice(1, None))) - getitem(x, (*before, slice(None, -1)))
    return x


_BORDER_INDEX = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@public(x="input")
def pad(
    x: Tensor,
    pad: Any,
    mode: str = "constant",
    value: Any = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Tensor:
    """
    `x` with a border.

    Parameters
    ----------
    x : Tensor
    pad : int or sequence of int
        One pair (before, after) for each axis, from the first axis on (or, without `pad_from_left_axis`, from the
        last); or pairs for the axes that are neither batch nor channel, from the last one on: (left, right, top,
        bottom); or, of a constant, some other number of pairs for the last axes, from the last one on.
    mode : {"constant", "reflect", "replicate", "circular"}
        `value`; mirrored at the outermost element; that element; from the other end.
    value : number
    data_format : str, optional
        Says which axis holds the channels ("NCHW", "NHWC", …).
    pad_from_left_axis : bool

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If the number of widths fits neither form.
    ValueError
        If `mode` is another word.
    """
    need_tensors(x)
    if mode != "constant" and mode not in _BORDER_INDEX:
        raise ArgumentError(f"mode must be 'constant', {', '.join(map(repr, _BORDER_INDEX))}, got {mode!r}")
    widths = _border_widths(pad, x, mode, data_format, pad_from_left_axis)
    if mode == "constant":
        if isinstance(value, int | float):
            as_number(value, x.dtype)
        inner = tuple(slice(max(0, -before), None if after >= 0 else after) for before, after in widths)
        x = getitem(x, inner) if any(min(pair) < 0 for pair in widths) else x
        return bind(pad_op, x, widths=tuple((max(0, a), max(0, b)) for a, b in widths), value=value)
    for axis, pair in enumerate(widths):
        if pair != (0, 0):
            source = np.pad(np.arange(x.shape[axis]), pair, mode=_BORDER_INDEX[mode])  # type: ignore[call-overload]
            x = index_select(x, source, axis)
    return x


def _border_widths(
    pad: Any, x: Tensor, mode: str, data_format: str | None, from_left: bool
) -> list[tuple[int, int]]:
    spatial = max(x.ndim - 2, 0)
    numbers = list(integers(pad, "pad"))
    if len(numbers) == 1 and spatial:
        numbers = numbers * (2 * spatial)
    pairs = list(zip(numbers[::2], numbers[1::2], strict=False))
    if len(numbers) == 2 * x.ndim and (data_format is None or len(numbers) != 2 * spatial):
        return pairs if from_left else pairs[::-1]
    if mode == "constant" and len(numbers) != 2 * spatial and len(pairs) < x.ndim and len(numbers) % 2 == 0:
        return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    if len(numbers) % 2 or len(pairs) > spatial:
        raise ShapeError(f"pad of {counted(len(numbers), 'width')} does not fit a tensor of shape {x.shape}")
    pairs = [(0, 0)] * (spatial - len(pairs)) + pairs[::-1]
    is_channels_last = data_format is not None and data_format.endswith("C")
    return [(0, 0), *pairs, (0, 0)] if is_channels_last else [(0, 0), (0, 0), *pairs]


@public()
def zeropad2d(x: Tensor, padding: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """`x`, (B, C, H, W), with zeros around: `padding` is left, right, top, bottom."""
    need_tensors(x)
    return pad(x, padding, "constant", 0.0, data_format)
