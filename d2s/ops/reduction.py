"""Reductions over axes: sums, means, extrema, products, truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import DType, Shape, Size, TensorSpec, as_dtype
from d2s.errors import DTypeError, ShapeError
from d2s.ops.annotations import Array, Axis, Tensor, add_reduce, maximum_reduce, minimum_reduce
from d2s.ops.axes import axis_indices, reduced_shape
from d2s.ops.casting import cast
from d2s.ops.comparison import equal
from d2s.ops.complex_numbers import conj
from d2s.ops.exponential import exp
from d2s.ops.half_precision import HALF, SINGLE, in_float32
from d2s.ops.promotion import floating, tensor_or_number

Axes = tuple[int, ...] | None


def _reduces(dtype_of: Callable[[DType], DType]) -> Callable[..., TensorSpec]:
    """The `infer` of a reduction whose dtype is `dtype_of` that of its input."""

    def infer(x: TensorSpec, *, axis: Axes = None, keepdim: bool = False) -> TensorSpec:
        axes = axis_indices(axis, x)
        return TensorSpec(reduced_shape(x.shape, axes, keepdim), dtype_of(x.dtype))

    return infer


def sum_dtype(dtype: DType) -> DType:
    """dtype in which elements of `dtype` add up."""
    return np.dtype("int64") if dtype.kind in "biu" and dtype.name != "uint64" else dtype


def _template(ufunc: str) -> Callable[..., str | None]:
    """The expression of a reduction of floating point numbers by `ufunc`, over given axes."""

    def template(x: TensorSpec, *, axis: Axes = None, keepdim: bool = False) -> str | None:
        if x.dtype.kind not in "fc" or x.dtype == HALF:
            return None
        more = ", None, None, True" if keepdim else ""
        return f"np.{ufunc}.reduce({{0}}, {_short(axis)}{more})"

    return template


def _short(axis: Axes) -> Any:
    return axis[0] if axis is not None and len(axis) == 1 else axis


@define_op("sum", infer=_reduces(sum_dtype), fresh=True, in_order=True, template=_template("add"))
def sum_op(x: Array, *, axis: Axes = None, keepdim: bool = False) -> Any:
    """Sum; integers and bools add up in int64, float16 in float32."""
    if x.dtype == HALF:
        return _wide_sum(x, axis, keepdim).astype(HALF)
    dtype = None if x.dtype.kind in "fc" else sum_dtype(x.dtype)
    return add_reduce(x, axis=axis, dtype=dtype, keepdims=keepdim)


def _wide_sum(x: Array, axis: Axes, keepdim: bool) -> Any:
    """The sum; that of float16 in float32."""
    return add_reduce(x, axis=axis, dtype=SINGLE if x.dtype == HALF else None, keepdims=keepdim)


sum_op.vjp(lambda g, out, x, *, axis=None, keepdim=False: spread(g, x.shape, axis, keepdim))


def _floats_only(name: str) -> Callable[[DType], DType]:
    def keep(dtype: DType) -> DType:
        if dtype.kind not in "fc":
            raise DTypeError(f"{name} is defined for floating point tensors, got {dtype.name}")
        return dtype

    return keep


def _mean_template(x: TensorSpec, *, axis: Axes = None, keepdim: bool = False) -> str | None:
    total = _template("add")(x, axis=axis, keepdim=keepdim)
    sizes: Any = x.shape if axis is None else [x.shape[one] for one in axis]
    return None if total is None else f"({total} / np.{x.dtype.name}({math.prod(sizes)}))"


@define_op("mean", kinds="fc", infer=_reduces(_floats_only("mean")), fresh=True, in_order=True, template=_mean_template)
def mean_op(x: Array, *, axis: Axes = None, keepdim: bool = False) -> Any:
    """Sum over the number of elements; NaN if there are none."""
    total = _wide_sum(x, axis, keepdim)
    count = x.size if axis is None else math.prod(x.shape[one] for one in axis)
    average = total / total.dtype.type(count)
    return average.astype(HALF) if x.dtype == HALF else average


mean_op.vjp(lambda g, out, x, *, axis=None, keepdim=False: spread(g, x.shape, axis, keepdim, average=True))


# So many elements are filled in faster than NumPy makes a view that repeats one.
FILLED = 4096


def _infer_spread(
    g: TensorSpec, *, shape: Shape, axis: Axes = None, keepdim: bool = False, average: bool = False
) -> TensorSpec:
    return TensorSpec(shape, _floats_only("spread")(g.dtype))


def _spread_template(
    g: TensorSpec, *, shape: Shape, axis: Axes = None, keepdim: bool = False, average: bool = False
) -> str | None:
    if average or not (keepdim or axis is None):
        return None
    count = math.prod(shape)  # type: ignore[arg-type]
    if count > FILLED:
        return f"np.broadcast_to({{0}}, {shape})"
    if math.prod(g.shape) != 1:  # type: ignore[arg-type]
        return f"np.full({shape}, {{0}})"
    # One number: the same, and twice as fast.
    return f"{{0}}.repeat({count})" + ("" if len(shape) == 1 else f".reshape({shape})")


@define_op("spread", kinds="fc", infer=_infer_spread, template=_spread_template)
def spread_op(
    g: Array, *, shape: tuple[int, ...], axis: Axes = None, keepdim: bool = False, average: bool = False
) -> Array:
    """The reverse of a sum (or, with `average`, of a mean): each element over the axes that were reduced."""
    if average:
        count = math.prod(shape if axis is None else [shape[one] for one in axis])
        g = (g / SINGLE.type(count)).astype(HALF) if g.dtype == HALF else g / g.dtype.type(count)
    if not keepdim and axis is not None:
        g = np.expand_dims(g, axis)
    return np.full(shape, g) if math.prod(shape) <= FILLED else np.broadcast_to(g, shape)


spread_op.vjp(
    lambda g, out, x, *, shape, axis=None, keepdim=False, average=False: bind(
        mean_op if average else sum_op, g, axis=axis, keepdim=keepdim
    )
)


def spread(g: Tensor, shape: Any, axis: Axes = None, keepdim: bool = False, average: bool = False) -> Tensor:
    """Undo the shape of a reduction: `g` repeated over `axis` up to `shape`; with `average`, each part of a mean."""
    return bind(spread_op, g, shape=tuple(shape), axis=axis, keepdim=keepdim, average=average)


def _infer_unbroadcast(g: TensorSpec, *, dropped: int, axes: tuple[int, ...]) -> TensorSpec:
    return TensorSpec(tuple(1 if axis in axes else size for axis, size in enumerate(g.shape))[dropped:], g.dtype)


def _unbroadcast_template(g: TensorSpec, *, dropped: int, axes: tuple[int, ...]) -> str | None:
    return None if axes else _template("add")(g, axis=tuple(range(dropped)))


@define_op("unbroadcast", infer=_infer_unbroadcast, fresh=True, in_order=True, template=_unbroadcast_template)
def unbroadcast_op(g: Array, *, dropped: int, axes: tuple[int, ...]) -> Any:
    """Sum over the first `dropped` axes, which go, and over `axes`, which stay with size 1."""
    over = (*range(dropped), *axes)
    if g.dtype == HALF:
        total = _wide_sum(g, over, bool(axes)).astype(HALF)
    else:
        total = add_reduce(g, axis=over, dtype=g.dtype, keepdims=bool(axes))
    return total.reshape(total.shape[dropped:]) if axes else total


unbroadcast_op.vjp(lambda g, out, x, *, dropped, axes: g.broadcast_to(x.shape))


def unbroadcast(g: Tensor, shape: Sequence[Size]) -> Tensor:
    """
    The gradient of a value of `shape` from that of what it was broadcast to: the sum over what broadcasting added.

    Parameters
    ----------
    g : Tensor
    shape : tuple of sizes
        Must broadcast to the shape of `g`.

    Returns
    -------
    Tensor, of `shape`
        `g` itself if it has that shape.
    """
    own: Shape = g.spec.shape
    if own == tuple(shape):
        return g
    dropped = len(own) - len(shape)
    axes = tuple(dropped + axis for axis, size in enumerate(shape) if size == 1 and own[dropped + axis] != 1)
    if not dropped and not axes:
        return g
    return bind(unbroadcast_op, g, dropped=dropped, axes=axes)


@define_op("unbroadcast_like", infer=lambda g, x: TensorSpec(x.shape, g.dtype))
def unbroadcast_like_op(g: Array, x: Array) -> Any:
    """Sum over what broadcasting added to `x`, of which only the shape is used."""
    dropped = g.ndim - x.ndim
    axes = tuple(axis for axis, size in enumerate(x.shape, dropped) if size == 1 and g.shape[axis] != 1)
    return unbroadcast_op.forward(g, dropped=dropped, axes=axes) if dropped or axes else g


unbroadcast_like_op.vjp(lambda g, out, x, like: g.broadcast_to(x.shape), None)


def unbroadcast_like(g: Tensor, x: Tensor) -> Tensor:
    """`unbroadcast` to the shape of `x`, for sizes that are known only when the Program runs."""
    return bind(unbroadcast_like_op, g, x)


def _infer_extremum(x: TensorSpec, *, axis: Axes = None, keepdim: bool = False) -> TensorSpec:
    axes = axis_indices(axis, x)
    if 0 in [size for position, size in enumerate(x.shape) if axes is None or position in axes]:
        raise ShapeError(f"the largest or smallest of no elements: shape {list(x.shape)}, axis {axis}", kind="S05")
    return TensorSpec(reduced_shape(x.shape, axes, keepdim), x.dtype)


@define_op("max", infer=_infer_extremum, saves=("x", "out"), fresh=True, in_order=True,
           template=_template("maximum"))
def max_op(x: Array, *, axis: Axes = None, keepdim: bool = False) -> Any:
    """Largest element."""
    return maximum_reduce(x, axis=axis, keepdims=keepdim)


@define_op("min", infer=_infer_extremum, saves=("x", "out"), fresh=True, in_order=True,
           template=_template("minimum"))
def min_op(x: Array, *, axis: Axes = None, keepdim: bool = False) -> Any:
    """Smallest element."""
    return minimum_reduce(x, axis=axis, keepdims=keepdim)


def _to_the_winners(g: Tensor, out: Tensor, x: Any, *, axis: Axes = None, keepdim: bool = False) -> Tensor:
    """Elements that equal the extremum share its gradient evenly."""
    shape = x.shape
    winners = cast(equal(x, spread(out, shape, axis, keepdim)), g.dtype)
    shares = g / bind(sum_op, winners, axis=axis, keepdim=keepdim)
    return winners * spread(shares, shape, axis, keepdim)


max_op.vjp(_to_the_winners)
min_op.vjp(_to_the_winners)


@define_op("logsumexp", infer=_reduces(_floats_only("logsumexp")), saves=("x", "out"))
def logsumexp_op(x: Array, *, axis: Axes = None, keepdim: bool = False) -> Any:
    """Logarithm of the sum of exponentials, the largest exponent taken out first."""
    sizes = x.real
    top = maximum_reduce(sizes, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, sizes.dtype.type(0))
    total = np.log(add_reduce(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdim else total.reshape(add_reduce(total, axis=axis).shape)


logsumexp_op.vjp(
    lambda g, out, x, *, axis=None, keepdim=False: (
        spread(g, x.shape, axis, keepdim) * conj(exp(x - spread(out, x.shape, axis, keepdim)))
    )
)


def _is_bool(dtype: DType) -> DType:
    return np.dtype(bool)


@define_op("any", infer=_reduces(_is_bool))
def any_op(x: Array, *, axis: Axes = None, keepdim: bool = False) -> Any:
    """True where at least one element is."""
    return np.any(x, axis, keepdims=keepdim)


@define_op("all", infer=_reduces(_is_bool))
def all_op(x: Array, *, axis: Axes = None, keepdim: bool = False) -> Any:
    """True where every element is."""
    return np.all(x, axis, keepdims=keepdim)


def sum_of_own_dtype(x: Tensor) -> Tensor:
    """Sum along the last axis; integers stay what they are."""
    return cast(sum(x, -1), x.dtype) if x.dtype.kind in "iu" else sum(x, -1)


@public(x="input", axis="dim")
def sum(x: Tensor, axis: Axis = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """
    Sum over axes.

    Parameters
    ----------
    x : Tensor
    axis : int or sequence of int, optional
        Axes to sum over; all if left out.
    dtype : dtype, optional
        `x` is cast to it first, and the sum has it; where it is too small for the sum, this wraps round.  By default
        integers and bools add up in int64.
    keepdim : bool
        Keep the axes, with size 1.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexOutOfRangeError
        If there is no such axis.
    """
    x = tensor_or_number(x) if dtype is None else cast(x, as_dtype(dtype))
    if axis is None and not keepdim:
        total = bind(sum_op, x)
    else:
        total = bind(sum_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))
    return total if dtype is None else cast(total, x.dtype)


@public(x="input", axis="dim")
def mean(
    x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None
) -> Tensor:
    """Arithmetic mean over axes; see `sum`.  Integers become the default dtype, or all elements `dtype`."""
    x = floating(x) if dtype is None else floating(cast(x, dtype))
    if axis is None and not keepdim:
        return bind(mean_op, x)
    return bind(mean_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))


@public()
def max(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Largest element over axes; see `sum`.  Equal ones share the gradient evenly.  ShapeError if there are none."""
    return bind(max_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))


@public()
def min(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Smallest element over axes; see `max`."""
    return bind(min_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))


@public(x="input", axis="dim")
def amax(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """As `max`."""
    return max(x, axis, keepdim)


@public(x="input", axis="dim")
def amin(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """As `min`."""
    return min(x, axis, keepdim)


@in_float32()
@public(x="input", axis="dim")
def logsumexp(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """``log(sum(exp(x)))`` over axes, safe for elements of any finite size; see `sum`."""
    x = floating(x)
    return bind(logsumexp_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))


@public(x="input", axis="dim")
def any(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """True where at least one element over the axes is true (not zero)."""
    return bind(any_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))


@public(x="input", axis="dim")
def all(x: Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """True where every element over the axes is true (not zero)."""
    return bind(all_op, x, axis=axis_indices(axis, x), keepdim=bool(keepdim))
