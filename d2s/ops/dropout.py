"""Dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import DType, Shape, TensorSpec
from d2s.errors import ArgumentError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_indices
from d2s.ops.random import generator


def _infer_mask(*, shape: Shape, p: float, kept: float, dtype: DType) -> TensorSpec:
    return TensorSpec(shape, dtype)


@define_op("dropout_mask", infer=_infer_mask, random=True)
def dropout_mask_op(*, shape: tuple[int, ...], p: float, kept: float, dtype: DType) -> Array:
    """0 with probability `p`, else `kept`."""
    return np.asarray((generator().random(shape, np.float32) >= p) * dtype.type(kept))


@public()
def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: Any = None,
    training: bool = True,
    inplace: bool = False,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """
    Elements set to 0 at random, each with probability `p`.

    Parameters
    ----------
    x : Tensor
    p : float
    axis : int or sequence of int, optional
        Draw along these axes only; elements that differ in the others share their fate.
    training : bool
        Outside training nothing is drawn.
    inplace : bool
        Ignored.
    mode : {"upscale_in_train", "downscale_in_infer"}
        Divide by ``1 - p`` in training, or multiply by it outside.

    Returns
    -------
    Tensor, of the shape of `x`

    Raises
    ------
    ValueError
        If `p` is no probability or `mode` another word.
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"the probability p of dropout must lie in [0, 1], got {p}")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ArgumentError(f"mode must be 'upscale_in_train' or 'downscale_in_infer', got {mode!r}")
    upscales = mode == "upscale_in_train"
    if not training:
        return x if upscales else x * (1 - p)
    if p == 0:
        return x
    axes = axis_indices(axis, x)
    shape = tuple(size if axes is None or place in axes else 1 for place, size in enumerate(x.shape))
    kept = 1 / (1 - p) if upscales and p < 1 else 1.0
    return x * bind(dropout_mask_op, shape=shape, p=float(p), kept=kept, dtype=x.dtype)


@public()
def dropout2d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """Whole channels of (B, C, H, W) set to 0 at random; see `dropout`."""
    return dropout(x, p, [0, 1] if data_format == "NCHW" else [0, 3], training)
