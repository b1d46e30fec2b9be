"""The ops of pooling: extrema and sums over windows, and the ways back."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import Shape, TensorSpec
from d2s.errors import DTypeError
from d2s.ops.annotations import Array
from d2s.ops.windows import Window, padded, windowed_shape, without_padding


def _infer_pool(x: TensorSpec, *, window: Window) -> TensorSpec:
    if x.dtype.kind != "f":
        raise DTypeError(f"pooling is defined for floating point tensors, got {x.dtype.name}")
    return TensorSpec(windowed_shape(x.shape, window, "pooling"), x.dtype)


def _output_sizes(x: Array, window: Window) -> tuple[int, int]:
    rows, columns = window.output_sizes(*x.shape[2:])
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    return rows, columns


@define_op("max_pool2d", kinds="f", infer=_infer_pool, saves=("x", "out"), fresh=True)
def max_pool2d_op(x: Array, *, window: Window) -> Array:
    """Largest element of each window."""
    rows, columns = _output_sizes(x, window)
    source = padded(x, window, -np.inf)
    views = (source[:, :, vertical, horizontal] for vertical, horizontal in window.slices(rows, columns))
    result = next(views).copy(order="K")
    for view in views:
        np.maximum(result, view, out=result)
    return result


def _winners(x: Array, out: Array, window: Window) -> Any:
    """For each place in the kernel: its slices, and where it holds the first largest element of the window."""
    source = padded(x, window, -np.inf)
    undecided = np.ones_like(out, dtype=bool)
    for vertical, horizontal in window.slices(*out.shape[2:]):
        wins = source[:, :, vertical, horizontal] == out
        wins &= undecided
        undecided ^= wins
        yield (slice(None), slice(None), vertical, horizontal), wins


@define_op("unpool2d", infer=lambda g, x, out, *, window: x, saves=("x", "pooled"), fresh=True)
def unpool2d_op(g: Array, x: Array, pooled: Array, *, window: Window) -> Array:
    """`g` sent back to the element of `x` that won each window."""
    result = padded(np.zeros_like(x), window)
    # In memory like what it is multiplied with.
    shares = np.empty_like(pooled, g.dtype)
    shares[...] = g
    for place, wins in _winners(x, pooled, window):
        result[place] += shares * wins
    return without_padding(result, window)


@define_op(
    "pick2d",
    infer=lambda a, x, pooled, *, window: TensorSpec(pooled.shape, a.dtype),
    saves=("x", "pooled"),
    fresh=True,
)
def pick2d_op(a: Array, x: Array, pooled: Array, *, window: Window) -> Array:
    """The element of `a` at the place that won each window of `x`."""
    source = padded(a, window)
    result = np.zeros_like(pooled, a.dtype)
    for place, wins in _winners(x, pooled, window):
        result += source[place] * wins
    return result


max_pool2d_op.vjp(lambda g, out, x, *, window: bind(unpool2d_op, g, x, out, window=window))
unpool2d_op.vjp(lambda a, out, g, x, pooled, *, window: bind(pick2d_op, a, x, pooled, window=window))
pick2d_op.vjp(lambda g, out, a, x, pooled, *, window: bind(unpool2d_op, g, x, pooled, window=window))


@define_op("window_sum", kinds="f", infer=_infer_pool, fresh=True)
def window_sum_op(x: Array, *, window: Window) -> Array:
    """Sum over each window."""
    rows, columns = _output_sizes(x, window)
    source = padded(x, window)
    views = (source[:, :, vertical, horizontal] for vertical, horizontal in window.slices(rows, columns))
    result = next(views).copy(order="K")
    for view in views:
        result += view
    return result


def _infer_window_spread(g: TensorSpec, *, window: Window, shape: Shape) -> TensorSpec:
    if g.dtype.kind != "f":
        raise DTypeError(f"pooling is defined for floating point tensors, got {g.dtype.name}")
    return TensorSpec(shape, g.dtype)


@define_op("window_spread", kinds="f", infer=_infer_window_spread, fresh=True)
def window_spread_op(g: Array, *, window: Window, shape: tuple[int, ...]) -> Array:
    """Each element added to all places of its window, in an image of `shape`."""
    result = padded(np.zeros(shape, g.dtype), window)
    for vertical, horizontal in window.slices(*g.shape[2:]):
        result[:, :, vertical, horizontal] += g
    return without_padding(result, window)


window_sum_op.vjp(lambda g, out, x, *, window: bind(window_spread_op, g, window=window, shape=tuple(x.shape)))
window_spread_op.vjp(lambda g, out, x, *, window, shape: bind(window_sum_op, g, window=window))
