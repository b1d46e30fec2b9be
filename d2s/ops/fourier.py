"""Discrete Fourier transforms, by NumPy's FFT: one op along one axis, and compositions of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec, as_dtype, default_dtype
from d2s.errors import ArgumentError, DTypeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_index, own_axes, own_axis
from d2s.ops.complex_numbers import conj, real
from d2s.ops.creation import assign, zeros
from d2s.ops.indexing import getitem
from d2s.ops.joining import concat
from d2s.ops.promotion import floating
from d2s.ops.rearranging import flip, roll

# Which factor is left: a transform and its inverse share 1 / n.
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
Axes = Sequence[int] | None


def _infer_fft(x: TensorSpec, *, axis: int, inverse: bool, norm: str) -> TensorSpec:
    axis_index(axis, x)
    if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise DTypeError(f"fft is defined for float32, float64 and complex tensors, got {x.dtype.name}")
    return TensorSpec(x.shape, np.result_type(x.dtype, np.complex64))


@define_op("fft", kinds="", infer=_infer_fft, fresh=True)
def fft_op(x: Array, *, axis: int, inverse: bool, norm: str) -> Array:
    """Transform along one axis."""
    function: Any = np.fft.ifft if inverse else np.fft.fft
    found: Array = function(x, axis=axis, norm=norm).astype(np.result_type(x.dtype, np.complex64), copy=False)
    return found


def _gradient(g: Tensor, x: Any, axis: int, inverse: bool, norm: str) -> Tensor:
    # The adjoint is the other transform with the same factor.
    found = bind(fft_op, g, axis=axis, inverse=not inverse, norm=_SWAPPED[norm])
    return found if x.dtype.kind == "c" else real(found)


fft_op.vjp(lambda g, out, x, *, axis, inverse, norm: _gradient(g, x, axis, inverse, norm))


def _transformed(x: Any, sizes: Any, axes: Axes, norm: str, inverse: bool) -> Tensor:
    """Along several axes, each cut or filled up with zeros to its size."""
    if norm not in _SWAPPED:
        raise ArgumentError(f"norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    x = floating(x)
    if axes is None:
        axes = range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim)
    for number, axis in enumerate(axes):
        x = _of_size(x, None if sizes is None else sizes[number], axis)
        x = bind(fft_op, x, axis=axis_index(axis, x), inverse=inverse, norm=norm)
    return x


def _of_size(x: Tensor, size: int | None, axis: int) -> Tensor:
    axis = own_axis(axis, x)
    own = x.shape[axis]
    size = own if size is None else size
    if size < 1:
        raise ArgumentError(f"a transform needs at least one element, got {size}")
    if size == own:
        return x
    if size < own:
        return _part(x, axis, 0, size)
    rest = [*x.shape]
    rest[axis] = size - own
    return concat([x, zeros(rest, x.dtype)], axis)


def _part(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    return getitem(x, (*[slice(None)] * axis, slice(start, stop)))


@public(x="input", axis="dim")
def fft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """
    Discrete Fourier transform along an axis.

    Parameters
    ----------
    x : Tensor
        Real or complex.
    n : int, optional
        Length of the result: `x` is cut, or filled up with zeros.
    axis : int
    norm : {"backward", "ortho", "forward"}
        Which way is divided by n: the inverse, both by its root, or this one.

    Returns
    -------
    Tensor, complex

    Raises
    ------
    ValueError
        If `norm` is another word.
    """
    return _transformed(x, None if n is None else [n], [axis], norm, False)


@public(x="input", axis="dim")
def ifft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _transformed(x, None if n is None else [n], [axis], norm, True)


@public(x="input")
def fftn(x: Tensor, s: Any = None, axes: Axes = None, norm: str = "backward", name: str | None = None) -> Tensor:
    """`fft` along several axes, by default all, with the lengths `s`."""
    return _transformed(x, s, axes, norm, False)


@public(x="input")
def ifftn(x: Tensor, s: Any = None, axes: Axes = None, norm: str = "backward", name: str | None = None) -> Tensor:
    """The inverse of `fftn`."""
    return _transformed(x, s, axes, norm, True)


@public(x="input")
def fft2(
    x: Tensor, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str = "backward", name: str | None = None
) -> Tensor:
    """`fft` along two axes."""
    return _transformed(x, s, axes, norm, False)


@public(x="input")
def ifft2(
    x: Tensor, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str = "backward", name: str | None = None
) -> Tensor:
    """The inverse of `fft2`."""
    return _transformed(x, s, axes, norm, True)


@public(x="input", axis="dim")
def rfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """The first ``n // 2 + 1`` results of `fft` of real numbers: the others are their conjugates."""
    x = _real(x, "rfft")
    axis = own_axis(axis, x)
    whole = fft(x, n, axis, norm)
    return _part(whole, axis, 0, whole.shape[axis] // 2 + 1)


@public(x="input", axis="dim")
def irfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """The inverse of `rfft`: `n` real numbers, by default ``2 * (m - 1)`` of m."""
    axis = own_axis(axis, x)
    size = 2 * (x.shape[axis] - 1) if n is None else n
    half = _of_size(x, size // 2 + 1, axis)
    rest = flip(_part(half, axis, 1, (size + 1) // 2), axis)
    return real(ifft(concat([half, conj(rest)], axis), None, axis, norm))


@public(x="input", axis="dim")
def hfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """The transform, `n` real numbers, of numbers of which the second half are the conjugates of the first."""
    need_tensors(x)
    return irfft(conj(x), n, axis, _swapped(norm))


@public(x="input", axis="dim")
def ihfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    return conj(rfft(_real(x, "ihfft"), n, axis, _swapped(norm)))


@public(x="input")
def rfftn(x: Tensor, s: Any = None, axes: Axes = None, norm: str = "backward", name: str | None = None) -> Tensor:
    """`rfft` along the last of several axes, `fft` along the others."""
    x = _real(x, "rfftn")
    *others, last = _all_axes(x, s, axes)
    half = rfft(x, None if s is None else s[-1], last, norm)
    return _transformed(half, None if s is None else s[:-1], others, norm, False)


@public(x="input")
def irfftn(x: Tensor, s: Any = None, axes: Axes = None, norm: str = "backward", name: str | None = None) -> Tensor:
    """The inverse of `rfftn`."""
    *others, last = _all_axes(x, s, axes)
    part = _transformed(x, None if s is None else s[:-1], others, norm, True)
    return irfft(part, None if s is None else s[-1], last, norm)


@public(x="input")
def rfft2(
    x: Tensor, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str = "backward", name: str | None = None
) -> Tensor:
    """`rfftn` along two axes."""
    return rfftn(x, s, axes, norm)


@public(x="input")
def irfft2(
    x: Tensor, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str = "backward", name: str | None = None
) -> Tensor:
    """The inverse of `rfft2`."""
    return irfftn(x, s, axes, norm)


@public()
def fftfreq(n: int, d: float = 1.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """The frequencies of the results of `fft` of `n` values taken at the distance `d`."""
    return _frequencies(np.fft.fftfreq(n, d), dtype)


@public()
def rfftfreq(n: int, d: float = 1.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """The frequencies of the results of `rfft`."""
    return _frequencies(np.fft.rfftfreq(n, d), dtype)


@public(x="input")
def fftshift(x: Tensor, axes: Any = None, name: str | None = None) -> Tensor:
    """The frequency 0 moved into the middle, along axes (all if left out)."""
    places = _shifted_axes(x, axes)
    return roll(x, [x.shape[axis] // 2 for axis in places], places)


@public(x="input")
def ifftshift(x: Tensor, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    places = _shifted_axes(x, axes)
    return roll(x, [-(x.shape[axis] // 2) for axis in places], places)


def _swapped(norm: str) -> str:
    if norm not in _SWAPPED:
        raise ArgumentError(f"norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    return _SWAPPED[norm]


def _real(x: Any, name: str) -> Tensor:
    x = floating(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"{name} is defined for real tensors, got {x.dtype.name}")
    return x


def _all_axes(x: Tensor, s: Any, axes: Axes) -> list[int]:
    own_axis(0, x)
    if axes is not None:
        return list(own_axes(axes, x))
    return list(range(x.ndim)) if s is None else list(range(x.ndim - len(s), x.ndim))


def _shifted_axes(x: Tensor, axes: Any) -> list[int]:
    own_axis(0, x)
    return list(range(x.ndim)) if axes is None else list(own_axes(axes, x))


def _frequencies(values: Array, dtype: Any) -> Tensor:
    return assign(values.astype(default_dtype() if dtype is None else as_dtype(dtype)))
