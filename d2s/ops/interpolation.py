"""Images made larger or smaller: along each axis a linear map, so one matrix product per axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import Op, define_op
from d2s.core.public import public
from d2s.core.spec import DType, Size, TensorSpec
from d2s.errors import ArgumentError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import is_symbolic
from d2s.ops.gathering import index_select
from d2s.ops.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d
from d2s.ops.products import matmul
from d2s.ops.shape import moveaxis
from d2s.words import counted

_MODES = {"nearest": (3, 4), "linear": (3,), "bilinear": (4,), "bicubic": (4,), "area": (3, 4)}
_CHANNELS_LAST = ("NWC", "NLC", "NHWC")


@public(x="input")
def interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """
    An image of another size.

    Parameters
    ----------
    x : Tensor, shape (B, C, H, W) or (B, C, L)
    size : int or sequence of int, optional
        New sizes; either it or `scale_factor` is given.
    scale_factor : float or sequence of float, optional
        New sizes as multiples of the old ones, rounded down.
    mode : {"nearest", "linear", "bilinear", "bicubic", "area"}
        "linear" is for three axes, "bilinear" and "bicubic" are for four.
    align_corners : bool
        The centres of the first and last pixels fall together, instead of the outer edges.
    align_mode : {0, 1}
        Of the linear modes without `align_corners`: 1 begins counting at the edges instead of the centres of pixels.
    data_format : str, optional
        "NCHW", "NHWC", "NCW" or "NWC"; channels come second by default.
    recompute_scale_factor : bool, optional
        Use the ratio of the sizes in place of a `scale_factor` that was rounded.
    antialias : bool
        Must be False.

    Returns
    -------
    Tensor, of the dtype of `x`

    Raises
    ------
    ShapeError
        If `x` has not the axes that the mode needs, or sizes that are not known.
    ValueError
        If arguments are missing, contradict each other, or are not known.
    """
    need_tensors(x)
    if mode not in _MODES:
        raise ArgumentError(f"mode must be one of {', '.join(_MODES)}, got {mode!r}")
    if x.ndim not in _MODES[mode]:
        raise ShapeError(f"interpolation {mode!r} does not take shape {list(x.shape)}")
    if antialias:
        raise ArgumentError("antialias=True is not supported")
    if align_corners and mode in ("nearest", "area"):
        raise ArgumentError(f"align_corners=True has no meaning for mode {mode!r}")
    is_last = data_format in _CHANNELS_LAST
    if is_last:
        x = moveaxis(x, -1, 1)
    old = list(x.shape[2:])
    new, factors = _sizes(old, size, scale_factor)
    if recompute_scale_factor:
        factors = [None] * len(new)
    if mode == "area":
        result = adaptive_avg_pool1d(x, new[0]) if x.ndim == 3 else adaptive_avg_pool2d(x, new)
    elif mode == "nearest":
        result = x
        for axis, (one, other, factor) in enumerate(zip(old, new, factors, strict=True), 2):
            result = index_select(result, _made(nearest_places_op, old=one, new=other, factor=factor), axis)
    else:
        starts_at_edge = align_mode == 1 and mode != "bicubic"
        matrices = [
            _made(
                interpolation_op, old=one, new=other, factor=factor, cubic=mode == "bicubic",
                align_corners=bool(align_corners), starts_at_edge=starts_at_edge, dtype=x.dtype)
            for one, other, factor in zip(old, new, factors, strict=True)
        ]
        result = matmul(matrices[0], x) if len(matrices) == 2 else x
        result = matmul(result, matrices[-1].T)
    return moveaxis(result, 1, -1) if is_last else result


def _made(op: Op, *, old: Any, new: Any, **attrs: Any) -> Any:
    """What `op` gives: an array if the sizes are known, else a tensor."""
    if is_symbolic(old) or is_symbolic(new):
        return bind(op, old=old, new=new, **attrs)
    return op.forward(old=old, new=new, **attrs)


def _sizes(old: list[Any], size: Any, scale_factor: Any) -> tuple[list[Any], list[float | None]]:
    """The new sizes, and the factors if those were given."""
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolation needs either size or scale_factor")
    given = size if scale_factor is None else scale_factor
    numbers = list(given) if isinstance(given, list | tuple) else [given] * len(old)
    if len(numbers) != len(old):
        raise ShapeError(f"interpolation needs {counted(len(old), 'size')} or factors, got {len(numbers)}")
    if scale_factor is None:
        new = [one if is_symbolic(one) else int(one) for one in numbers]
    else:
        new = [_scaled(one, float(factor)) for one, factor in zip(old, numbers, strict=True)]
    if any(isinstance(one, int) and one < 1 for one in new):
        raise ShapeError(f"interpolation of sizes {old} to {new}: sizes must be positive")
    return new, [None if scale_factor is None else float(factor) for factor in numbers]


def _scaled(old: Any, factor: float) -> Any:
    if not is_symbolic(old):
        return int(old * factor)
    if not factor.is_integer():
        raise ShapeError(f"interpolation by {factor:g} needs sizes that are known", kind="S06")
    return old * int(factor)


def _ratio(old: int, new: int, factor: float | None) -> float:
    """How many old pixels there are to a new one."""
    if new < 1:
        raise ShapeError(f"interpolation of size {old} to {new}: sizes must be positive")
    return old / new if factor is None else 1 / factor


@define_op("nearest_places", infer=lambda *, old, new, factor: TensorSpec((new,), np.dtype("int64")))
def nearest_places_op(*, old: int, new: int, factor: float | None) -> Array:
    """Of each of `new` pixels, the nearest of `old` ones."""
    return np.minimum((np.arange(new) * _ratio(old, new, factor)).astype(np.int64), old - 1)


def _infer_interpolation(*, old: Size, new: Size, dtype: DType, **how: Any) -> TensorSpec:
    return TensorSpec((new, old), dtype)


@define_op("interpolation", infer=_infer_interpolation)
def interpolation_op(
    *, old: int, new: int, factor: float | None, cubic: bool, align_corners: bool, starts_at_edge: bool, dtype: DType
) -> Array:
    """Matrix (new, old) of the weights of old pixels in new ones."""
    positions = _positions(old, new, _ratio(old, new, factor), align_corners, starts_at_edge)
    return (_cubic if cubic else _linear)(old, new, positions).astype(dtype)


def _positions(old: int, new: int, ratio: float, align_corners: bool, starts_at_edge: bool) -> Array:
    """Where the new pixels lie, counted in old ones."""
    if align_corners:
        return np.arange(new) * ((old - 1) / (new - 1) if new > 1 else 0.0)
    return np.arange(new) * ratio if starts_at_edge else (np.arange(new) + 0.5) * ratio - 0.5


def _spread(old: int, new: int, first: Array, weights: list[Array]) -> Array:
    """Matrix (new, old) with weight k at the old pixel ``first + k``, or at the nearest one there is."""
    matrix = np.zeros((new, old))
    for step, weight in enumerate(weights):
        np.add.at(matrix, (np.arange(new), np.clip(first + step, 0, old - 1)), weight)
    return matrix


def _linear(old: int, new: int, positions: Array) -> Array:
    positions = np.maximum(positions, 0)
    first = np.minimum(np.floor(positions), old - 1)
    part = positions - first
    return _spread(old, new, first.astype(np.int64), [1 - part, part])


def _cubic(old: int, new: int, positions: Array) -> Array:
    first = np.floor(positions)
    part = positions - first
    near: Callable[[Array], Array] = lambda d: (1.25 * d - 2.25) * d * d + 1  # noqa: E731
    far: Callable[[Array], Array] = lambda d: ((-0.75 * d + 3.75) * d - 6) * d + 3  # noqa: E731
    weights = [far(part + 1), near(part), near(1 - part), far(2 - part)]
    return _spread(old, new, first.astype(np.int64) - 1, weights)


@public()
def upsample(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """An image of another size; see `interpolate`."""
    need_tensors(x)
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)
