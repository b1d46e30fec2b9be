"""Spread, norms and quantiles: compositions, but for the norm, whose slope at 0 is made 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec
from d2s.errors import ArgumentError, DTypeError
from d2s.ops.annotations import Array, Axis, Tensor, add_reduce, is_tensor
from d2s.ops.axes import axis_index, axis_indices, reduced_shape
from d2s.ops.casting import cast
from d2s.ops.comparison import equal, isnan, not_equal
from d2s.ops.complex_numbers import imag, real, real_dtype
from d2s.ops.decompositions import svd
from d2s.ops.exponential import sqrt, square
from d2s.ops.gathering import index_select, take_along_axis
from d2s.ops.half_precision import in_float32
from d2s.ops.joining import stack
from d2s.ops.promotion import floating, tensor_or_number
from d2s.ops.rearranging import pad_op
from d2s.ops.reduction import any, max, mean, min, spread, sum
from d2s.ops.rounding import abs
from d2s.ops.selection import where
from d2s.ops.shape import moveaxis, reshape, squeeze, transpose, unsqueeze
from d2s.ops.sorting import argsort, sort


def _infer_norm(x: TensorSpec, *, axis: tuple[int, ...] | None, keepdim: bool) -> TensorSpec:
    if x.dtype.kind not in "fc":
        raise DTypeError(f"norm is defined for floating point tensors, got {x.dtype.name}")
    return TensorSpec(reduced_shape(x.shape, axis_indices(axis, x), keepdim), real_dtype(x.dtype))


@define_op("euclidean_norm", kinds="fc", infer=_infer_norm, saves=("x", "out"))
def euclidean_norm_op(x: Array, *, axis: tuple[int, ...] | None, keepdim: bool) -> Any:
    """Root of the sum of squares."""
    squares = np.square(x.real) + np.square(x.imag) if x.dtype.kind == "c" else np.square(x)
    return np.sqrt(add_reduce(squares, axis=axis, keepdims=keepdim))


def _norm_gradient(g: Tensor, out: Tensor, x: Tensor, axis: Any, keepdim: bool) -> Tensor:
    # At 0 every element of x is 0: any finite quotient makes the slope 0.
    safe = out + cast(equal(out, 0), out.dtype)
    return x * spread(g / safe, x.shape, axis, keepdim)


euclidean_norm_op.vjp(lambda g, out, x, *, axis, keepdim: _norm_gradient(g, out, x, axis, keepdim))


def _count(x: Tensor, axis: Axis) -> Any:
    axes = axis_indices(axis, x)
    sizes = x.shape
    total = 1
    for place in range(x.ndim) if axes is None else axes:
        total = total * sizes[place]
    return total


@in_float32()
@public(x="input", axis="dim")
def var(
    x: Tensor,
    axis: Axis = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: float = 1,
) -> Tensor:
    """
    Variance over axes.

    Parameters
    ----------
    x : Tensor
    axis : int or sequence of int, optional
        All axes if left out.
    unbiased : bool, optional
        Divide by the number of elements less one (True) or by their number (False).
    keepdim : bool
    correction : float
        What is taken off the number of elements, if `unbiased` is left out.

    Returns
    -------
    Tensor
        NaN where the divisor is not greater than 0.  Of complex numbers it is real, as in NumPy: the mean of the
        squares of their distances from the mean.
    """
    x = floating(x)
    less = correction if unbiased is None else int(unbiased)
    off = x - mean(x, axis, True)
    squares = square(real(off)) + square(imag(off)) if x.dtype.kind == "c" else square(off)
    squares = sum(squares, axis, keepdim=keepdim)
    degrees = _count(x, axis) - less
    # Of fewer elements than are taken off there is no variance: 0 / 0.
    if isinstance(degrees, int | float):
        return squares / (degrees if degrees > 0 else 0)
    return squares / (degrees if is_tensor(degrees) else degrees.__d2s_operand__(squares.dtype)).maximum(0)


@in_float32()
@public()
def std(x: Tensor, axis: Axis = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Standard deviation over axes: the root of `var`."""
    return sqrt(var(x, axis, unbiased, keepdim))


@in_float32()
@public(x=("A", "input"), p="ord", axis="dim")
def norm(
    x: Tensor, p: Any = None, axis: Axis = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None
) -> Tensor:
    """
    Norm of all elements, or over axes.

    Parameters
    ----------
    x : Tensor
    p : float, inf, -inf, "fro" or "nuc", optional
        Power; 2 if left out.  0 counts elements that are not 0.  Over two axes: the norm of a matrix, that is with 1
        and inf the largest sum of absolute values in a column and in a row, with 2 and "nuc" the largest singular
        value and the sum of all; "fro" (by default) is the root of the sum of squares.
    axis : int or sequence of int, optional
    keepdim : bool
    dtype : dtype, optional
        Compute in this floating point dtype.

    Returns
    -------
    Tensor
        The gradient of the 2-norm at 0 is 0.
    """
    if dtype is not None:
        return norm(cast(x, dtype), p, axis, keepdim)
    x = floating(x)
    if isinstance(axis, list | tuple) and len(axis) == 2 and p not in (None, "fro"):
        return _matrix_norm(x, p, (axis[0], axis[1]), keepdim)
    if p is None or p == "fro" or p == 2:
        return bind(euclidean_norm_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))
    if p == math.inf:
        return max(abs(x), axis, keepdim)
    if p == -math.inf:
        return min(abs(x), axis, keepdim)
    if p == 0:
        return sum(cast(not_equal(x, 0), real_dtype(x.dtype)), axis, keepdim=keepdim)
    if p == 1:
        return sum(abs(x), axis, keepdim=keepdim)
    if not isinstance(p, int | float):
        raise DTypeError(f"norm needs a number or 'fro' as p, got {p!r}")
    return sum(abs(x) ** p, axis, keepdim=keepdim) ** (1 / p)


def _matrix_norm(x: Tensor, p: Any, axes: tuple[int, int], keepdim: bool) -> Tensor:
    if p not in (1, -1, 2, -2, math.inf, -math.inf, "nuc"):
        raise DTypeError(f"the norm of a matrix is defined for p = 1, 2, inf, 'fro' and 'nuc', got {p!r}")
    matrix = moveaxis(x, list(axes), [-2, -1])
    if p == "nuc":
        found = sum(svd(matrix)[1], -1)
    else:
        if p in (2, -2):
            candidates = svd(matrix)[1]
        else:
            candidates = sum(abs(matrix), -2 if p in (1, -1) else -1)
        found = max(candidates, -1) if p > 0 else min(candidates, -1)
    return unsqueeze(found, sorted(axis_index(axis, x) for axis in axes)) if keepdim else found


@in_float32()
@public()
def dist(x: Tensor, y: Tensor, p: float = 2, name: str | None = None) -> Tensor:
    """The `p`-norm of ``x - y``."""
    need_tensors(x, y)
    return norm(x - y, p)


@in_float32()
@public(x="input", axis="dim")
def normalize(x: Tensor, p: float = 2, axis: int = 1, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """`x` over its `p`-norm along `axis`, or over `epsilon` where that is larger."""
    return x / norm(x, p, axis, True).maximum(epsilon)


@public()
def median(
    x: Tensor, axis: int | None = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Any:
    """
    Middle element over an axis, or over all elements; NaN if one is NaN.

    Parameters
    ----------
    x : Tensor
    axis : int, optional
    keepdim : bool
    mode : {"avg", "min"}
        Of two middle elements take the mean, or the smaller.

    Returns
    -------
    Tensor
        With "min", in the dtype of `x`; and if there is an axis, a pair: this and the indices along it, int64.  The
        index of NaN is that of the first one.

    Raises
    ------
    ValueError
        If `mode` is another word.
    """
    return _smaller_median(x, axis, keepdim, False) if _takes_min(mode) else quantile(x, 0.5, axis, keepdim)


def _takes_min(mode: str) -> bool:
    if mode not in ("avg", "min"):
        raise ArgumentError(f"mode must be 'avg' or 'min', got {mode!r}")
    return mode == "min"


def _smaller_median(x: Tensor, axis: Any, keepdim: bool, passes_over_nan: bool) -> Any:
    """The element, and of one axis also its index, in the middle of the ordered ones, or before it."""
    x, places = _axes_last(tensor_or_number(x), axis)
    count = sum(cast(equal(x, x), "int64"), -1, keepdim=True)
    middle = ((count - 1) // 2).maximum(0)
    if not passes_over_nan:
        # NaN comes behind all others.
        middle = where(any(isnan(x), -1, True), count, middle)
    indices = take_along_axis(argsort(x, -1), middle, -1)
    found = [take_along_axis(x, indices, -1), indices]
    parts = [unsqueeze(squeeze(part, -1), places) if keepdim else squeeze(part, -1) for part in found]
    return tuple(parts) if isinstance(axis, int) else parts[0]


@public(x="input", axis="dim")
def quantile(
    x: Tensor, q: Any, axis: Any = None, keepdim: bool = False, interpolation: str = "linear", name: str | None = None
) -> Tensor:
    """
    The value below which the share `q` of the elements lies; NaN if one is NaN.

    Parameters
    ----------
    x : Tensor
    q : float or sequence of float, in ``[0, 1]``
        A sequence adds a first axis to the result.
    axis : int, optional
        All elements if left out.
    keepdim : bool
    interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}
        Between the two elements next to the place sought.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If a share lies outside [0, 1], or `interpolation` is another word.
    """
    if isinstance(q, list | tuple):
        return stack([quantile(x, share, axis, keepdim, interpolation) for share in q])
    q = _share(q)
    x, places = _axes_last(floating(x), axis)
    found = _at_share(sort(x, -1), q, x.shape[-1], x.ndim - 1, interpolation)
    found = squeeze(where(any(isnan(x), -1, True), math.nan, found), -1)
    return unsqueeze(found, places) if keepdim else found


def _share(q: Any) -> float:
    if not 0 <= q <= 1:
        raise ArgumentError(f"quantile needs shares in [0, 1], got {q}")
    return float(q)


def _axes_last(x: Tensor, axis: Any) -> tuple[Tensor, list[int]]:
    """`x` with the elements of some axes (by default all) in one, the last; and these axes."""
    if axis is None or not x.ndim:
        axis_indices(axis, x)
        return reshape(x, [-1]), list(range(x.ndim))
    places = sorted(axis_index(one, x) for one in (axis if isinstance(axis, list | tuple) else [axis]))
    if len(places) == 1:
        return moveaxis(x, places, [-1]), places
    rest = [one for one in range(x.ndim) if one not in places]
    return reshape(transpose(x, [*rest, *places]), [*(x.shape[one] for one in rest), -1]), places


def _at_share(ordered: Tensor, q: float, size: Any, place: int, interpolation: str) -> Tensor:
    """The element of ordered ones, along an axis that is kept, below which the share `q` of the first `size` lies.

    `size` is a number, also one that is known only when the Program runs, or a tensor of numbers, with that axis.
    """
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ArgumentError(
            f"interpolation must be one of linear, lower, higher, midpoint, nearest, got {interpolation!r}")
    if not isinstance(size, int) or size == 0:
        # Of no elements it is NaN.
        widths = (*[(0, 0)] * place, (0, 1))
        ordered = bind(pad_op, ordered, widths=widths, value=math.nan)
    if isinstance(size, int):
        position: Any = q * (size - 1 if size else 0)
        below: Any = math.floor(position)
        nearest: Any = round(position)
    else:
        count = size if is_tensor(size) else reshape(size.__d2s_operand__("float64"), [1] * ordered.ndim)
        position = (cast(count, "float64") - 1).maximum(0.0) * q
        below, nearest = position.floor(), position.round()
    between = position - below
    share = {"linear": between, "lower": 0.0, "higher": 1.0, "midpoint": 0.5, "nearest": nearest - below}[interpolation]
    if isinstance(size, int):
        low, high = (index_select(ordered, np.asarray([at]), place) for at in (below, math.ceil(position)))
        return low * (1 - share) + high * share if 0 < share < 1 else high if share else low
    low, high = (take_along_axis(ordered, cast(at, "int64"), place) for at in (below, position.ceil()))
    if not is_tensor(share):
        return low * (1 - share) + high * share if 0 < share < 1 else high if share else low
    mixed = low * cast(1 - share, low.dtype) + high * cast(share, low.dtype)
    return where(equal(share, 0), low, where(equal(share, 1), high, mixed))


@public()
def nanmedian(
    x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Any:
    """Middle element over axes of those that are not NaN, see `median`; NaN where there are none, with index 0."""
    return _smaller_median(x, axis, keepdim, True) if _takes_min(mode) else nanquantile(x, 0.5, axis, keepdim)


@public()
def nanquantile(
    x: Tensor, q: Any, axis: Any = None, keepdim: bool = False, interpolation: str = "linear"
) -> Tensor:
    """`quantile` of the elements that are not NaN; NaN where there are none."""
    if isinstance(q, list | tuple):
        return stack([nanquantile(x, share, axis, keepdim, interpolation) for share in q])
    x, places = _axes_last(floating(x), axis)
    ordered = sort(x, -1)
    count = sum(cast(equal(x, x), "float64"), -1, keepdim=True)
    found = where(equal(count, 0), math.nan, _at_share(ordered, _share(q), count, x.ndim - 1, interpolation))
    found = squeeze(found, -1)
    return unsqueeze(found, places) if keepdim else found
