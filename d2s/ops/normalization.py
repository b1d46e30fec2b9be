"""Normalisation: every layer of this kind is one op, `standardize`, on other axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.core.arrays import ndim_of, need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec
from d2s.errors import DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor, add_reduce
from d2s.ops.axes import axis_indices, integers, reduced_shape, sizes_agree
from d2s.ops.casting import cast
from d2s.ops.exponential import rsqrt, square
from d2s.ops.half_precision import in_float32, wide
from d2s.ops.promotion import floating
from d2s.ops.reduction import mean
from d2s.ops.row_groups import behind_rows, groups, has_groups
from d2s.ops.shape import reshape
from d2s.words import counted

Axes = tuple[int, ...]


def _infer_standardize(x: TensorSpec, *, axis: Axes, epsilon: float) -> TensorSpec:
    axis_indices(axis, x)
    if x.dtype.kind != "f":
        raise DTypeError(f"normalisation is defined for floating point tensors, got {x.dtype.name}")
    return x


def _parts(
    x: Array, axis: Axes, epsilon: float, out: Array | None, scratch: Array | None
) -> tuple[Array, Array]:
    """`x` minus its mean over its standard deviation, and one over the latter."""
    if not has_groups(axis, x, out):
        return _parts_at_once(x, axis, epsilon, out, scratch)
    result = np.empty_like(x) if out is None else out
    scale = np.empty((*x.shape[: axis[0]], *[1] * len(axis)), x.dtype)
    for rows, target, its_scale in groups(axis, x, result, scale):
        its_scale[...] = _parts_at_once(rows, behind_rows(rows), epsilon, target, None)[1]
    return result, scale


def _parts_at_once(
    x: Array, axis: Axes, epsilon: float, out: Array | None, scratch: Array | None
) -> tuple[Array, Array]:
    count = x.dtype.type(math.prod(x.shape[one] for one in axis))
    result = np.subtract(x, add_reduce(x, axis=axis, keepdims=True) / count, out=out)
    variance = add_reduce(np.multiply(result, result, out=scratch), axis=axis, keepdims=True) / count
    scale = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    result *= scale
    return result, scale


@define_op("standardize", kinds="f", infer=_infer_standardize, saves=("x",), out="in place", scratch=1)
def standardize_op(
    x: Array, *, axis: Axes, epsilon: float, out: Array | None = None, scratch: tuple[Array | None] = (None,)
) -> Array:
    """Minus the mean, over the standard deviation: (x - mean) / sqrt(variance + epsilon), over the given axes."""
    return _parts(x, axis, epsilon, out, *scratch)[0]


@define_op(
    "standardize_gradient",
    kinds="f", infer=lambda g, x, *, axis, epsilon: _infer_standardize(x, axis=axis, epsilon=epsilon),
    saves=("g", "x"), out="apart", scratch=1,
)
def standardize_gradient_op(
    g: Array, x: Array, *, axis: Axes, epsilon: float, out: Array | None = None,
    scratch: tuple[Array | None] = (None,),
) -> Array:
    """The gradient of standardize: what is left of g without its mean and its part along the result, scaled."""
    if has_groups(axis, g, x, out):
        found = np.empty_like(x) if out is None else out
        for g_rows, rows, target in groups(axis, g, x, found):
            _gradient(g_rows, rows, behind_rows(rows), epsilon, target, None)
        return found
    return _gradient(g, x, axis, epsilon, out, *scratch)


def _gradient(
    g: Array, x: Array, axis: Axes, epsilon: float, out: Array | None, scratch: Array | None
) -> Array:
    count = x.dtype.type(math.prod(x.shape[one] for one in axis))
    result, scale = _parts_at_once(x, axis, epsilon, out, scratch)
    along = add_reduce(np.multiply(g, result, out=scratch), axis=axis, keepdims=True) / count
    result *= -along
    result += g
    result -= add_reduce(g, axis=axis, keepdims=True) / count
    result *= scale
    return result


def _second_order(a: Tensor, g: Tensor, x: Tensor, axis: Axes, epsilon: float) -> Tensor:
    """Gradient of sum(a * standardize_gradient(g, x)) with respect to x, through the result and the scale."""
    h = bind(standardize_op, x, axis=axis, epsilon=epsilon)
    centred = x - mean(x, axis, True)
    scale = rsqrt(mean(square(centred), axis, True) + epsilon)
    a_along, g_along = mean(a * h, axis, True), mean(g * h, axis, True)
    through_result = -scale * (a * g_along + g * a_along)
    through_scale = mean(a * (g - mean(g, axis, True)), axis, True) - a_along * g_along
    inner = bind(standardize_gradient_op, through_result, x, axis=axis, epsilon=epsilon)
    return inner - square(scale) * h * through_scale


standardize_op.vjp(lambda g, out, x, *, axis, epsilon: bind(standardize_gradient_op, g, x, axis=axis, epsilon=epsilon))
standardize_gradient_op.vjp(
    # The gradient is a symmetric function of g: its gradient is itself.
    lambda a, out, g, x, *, axis, epsilon: bind(standardize_gradient_op, a, x, axis=axis, epsilon=epsilon),
    lambda a, out, g, x, *, axis, epsilon: _second_order(a, g, x, axis, epsilon),
)


def _infer_parts(x: TensorSpec, *, axis: Axes, epsilon: float) -> tuple[TensorSpec, TensorSpec]:
    spec = _infer_standardize(x, axis=axis, epsilon=epsilon)
    return spec, TensorSpec(reduced_shape(spec.shape, axis_indices(axis, spec), True), spec.dtype)


@define_op("standardize_parts", kinds="f", infer=_infer_parts, out="in place", scratch=1)
def standardize_parts_op(
    x: Array, *, axis: Axes, epsilon: float, out: Array | None = None, scratch: tuple[Array | None] = (None,)
) -> tuple[Array, Array]:
    """The result of standardize, and what x was divided by, inverted."""
    return _parts(x, axis, epsilon, out, *scratch)


@define_op(
    "standardize_rest", kinds="f", out="apart",
    infer=lambda g, result, scale, *, axis, epsilon: _infer_standardize(result, axis=axis, epsilon=epsilon))
def standardize_rest_op(
    g: Array, result: Array, scale: Array, *, axis: Axes, epsilon: float, out: Array | None = None
) -> Array:
    """What standardize_gradient computes, from the parts."""
    if has_groups(axis, g, result, out):
        whole = np.empty_like(result) if out is None else out
        for g_rows, rows, its_scale, target in groups(axis, g, result, scale, whole):
            _rest(g_rows, rows, its_scale, behind_rows(rows), target)
        return whole
    return _rest(g, result, scale, axis, out)


def _rest(g: Array, result: Array, scale: Array, axis: Axes, out: Array | None) -> Array:
    count = g.dtype.type(math.prod(g.shape[one] for one in axis))
    found = np.asarray(np.multiply(g, result, out=out))
    along = add_reduce(found, axis=axis, keepdims=True) / count
    # It lies in memory as there, like `result`: the order of elements decides how later sums are rounded.
    if out is None and found.strides != result.strides:
        found = np.empty_like(result)
    np.multiply(result, -along, out=found)
    found += g
    found -= add_reduce(g, axis=axis, keepdims=True) / count
    found *= scale
    return found


standardize_op.share(standardize_gradient_op, standardize_parts_op, standardize_rest_op)


def standardize(x: Tensor, axis: Any, epsilon: float) -> Tensor:
    """``(x - mean) / sqrt(variance + epsilon)`` over `axis`."""
    x = floating(x)
    axes = axis_indices(axis, x)
    return bind(standardize_op, x, axis=tuple(range(x.ndim)) if axes is None else axes, epsilon=float(epsilon))


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


@in_float32()
@public(x="input")
def layer_norm(
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-05,
    name: str | None = None,
) -> Tensor:
    """
    Normalisation over the last axes.

    Parameters
    ----------
    x : Tensor, shape (..., *normalized_shape)
    normalized_shape : int or sequence of int
    weight, bias : Tensor, shape `normalized_shape`, optional
        Scale and shift of the result; flat ones are reshaped.
    epsilon : float
        Added to the variance.

    Returns
    -------
    Tensor, of the shape of `x`

    Raises
    ------
    ShapeError
        If `x` does not end in `normalized_shape`.
    """
    need_tensors(x, *(part for part in (weight, bias) if part is not None))
    sizes = integers(normalized_shape)
    own = x.spec.shape[x.ndim - len(sizes) :]
    if len(sizes) > x.ndim or not all(type(a) is not int or sizes_agree(a, b) for a, b in zip(sizes, own, strict=True)):
        raise ShapeError(f"layer_norm over {list(sizes)} does not fit a tensor of shape {x.shape}")
    parts = [part if part is None or part.ndim == len(sizes) else reshape(part, sizes) for part in (weight, bias)]
    return _affine(standardize(x, list(range(x.ndim - len(sizes), x.ndim)), epsilon), *parts)


@in_float32()
@public()
def rms_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: float = 1e-05,
    name: str | None = None,
) -> Tensor:
    """``x / sqrt(mean(x ** 2) + eps) * weight`` over the last axes; see `layer_norm`."""
    axes = list(range(input.ndim - len(integers(normalized_shape)), input.ndim))
    return _affine(input * rsqrt(mean(square(input), axes, True) + eps), weight, None)


def _channel_axis(ndim: int, data_format: str) -> int:
    return ndim - 1 if data_format.endswith("C") and len(data_format) > 2 else 1


def _channel_shape(ndim: int, channel: int) -> list[int]:
    return [-1 if axis == channel else 1 for axis in range(ndim)]


@in_float32("running_mean", "running_var")
@public()
def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """
    Normalisation of each channel over all other axes.

    Parameters
    ----------
    x : Tensor, shape (B, C, ...), or (B, ..., C) if `data_format` ends in "C"
    running_mean, running_var : Tensor, shape (C,)
        Statistics used outside training.  In training they are updated in place, as
        ``momentum * running + (1 - momentum) * batch``.
    weight, bias : Tensor, shape (C,), optional
    training : bool
    momentum, epsilon : float
    data_format : str
    use_global_stats : bool, optional
        Use the running statistics; by default ``not training``.

    Returns
    -------
    Tensor, of the shape of `x`
    """
    channel = _channel_axis(x.ndim, data_format)
    shape = _channel_shape(x.ndim, channel)
    use_running = not training if use_global_stats is None else use_global_stats
    if use_running:
        scale = reshape(rsqrt(wide(running_var) + epsilon), shape)
        result = (x - reshape(wide(running_mean), shape)) * scale
    else:
        axes = [axis for axis in range(x.ndim) if axis != channel]
        result = standardize(x, axes, epsilon)
        values = x.detach()
        batch_mean = mean(values, axes)
        batch_var = mean(square(values - reshape(batch_mean, shape)), axes)
        for running, new in ((running_mean, batch_mean), (running_var, batch_var)):
            running.set_value(cast(wide(running.detach()) * momentum + new * (1 - momentum), running.dtype))
    parts = [None if part is None else reshape(part, shape) for part in (weight, bias)]
    return _affine(result, *parts)


@in_float32()
@public()
def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalisation of each channel of each example, (B, C, ...), over the other axes.

    Channels are the last axis if `data_format` ends in "C".  Running statistics are neither used nor changed.

    Raises
    ------
    ShapeError
        If `x` has fewer than three axes.
    """
    if x.ndim < 3:
        raise ShapeError(f"instance_norm needs a tensor of at least 3 axes, got shape {list(x.shape)}")
    channel = _channel_axis(x.ndim, data_format)
    shape = _channel_shape(x.ndim, channel)
    parts = [None if part is None else reshape(part, shape) for part in (weight, bias)]
    return _affine(standardize(x, [axis for axis in range(1, x.ndim) if axis != channel], eps), *parts)


@in_float32()
@public(x="input")
def group_norm(
    x: Tensor,
    num_groups: int,
    epsilon: float = 1e-05,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """
    Normalisation of each group of channels of each example.

    Raises
    ------
    ShapeError
        If the channels of `x`, (B, C, ...) or (B, ..., C), cannot be split evenly.
    """
    if ndim_of(x) < 2:
        raise ShapeError(f"group_norm needs a tensor of at least 2 axes, got shape {x.shape}")
    sizes, channel = list(x.shape), _channel_axis(x.ndim, data_format)
    if isinstance(sizes[channel], int) and sizes[channel] % num_groups:
        raise ShapeError(
            f"group_norm: {counted(sizes[channel], 'channel')} cannot be split into {counted(num_groups, 'group')}")
    elif not isinstance(sizes[channel], int):
        # The run sees whether they can.
        x = reshape(x, [*sizes[:channel], num_groups, sizes[channel] // num_groups, *sizes[channel + 1 :]])
    if channel == 1:
        grouped, axes = reshape(x, [sizes[0], num_groups, -1]), [2]
    else:
        members = sizes[channel] // num_groups
        grouped, axes = reshape(x, [sizes[0], -1, num_groups, members]), [1, 3]
    shape = _channel_shape(x.ndim, channel)
    parts = [None if part is None else reshape(part, shape) for part in (weight, bias)]
    return _affine(reshape(standardize(grouped, axes, epsilon), sizes), *parts)
