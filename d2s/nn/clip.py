"""Gradient clipping, for the `grad_clip` argument of optimizers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from d2s.core.interpreter import traced_as_written
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import ArgumentError, NotSupportedError
from d2s.ops.promotion import tensor_or_number

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]

ParamsGrads: TypeAlias = Sequence[tuple[Any, Any]]


class ClipGrad:
    """Turns (parameter, gradient) pairs into pairs with clipped gradients; the gradients given are not changed.

    Pairs without a gradient, and those of parameters with ``need_clip=False``, pass through.
    """

    @traced_as_written
    def __call__(self, params_grads: ParamsGrads) -> list[tuple[Any, Any]]:
        result = list(params_grads)
        chosen = [place for place, pair in enumerate(result) if _is_clipped(*pair)]
        grads = [result[place][1] for place in chosen]
        for place, grad in zip(chosen, _clipped(self, grads), strict=True):
            result[place] = (result[place][0], grad)
        return result

    def clip(self, grads: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The clipped gradients, in the same order."""
        raise NotSupportedError(f"{type(self).__name__} does not define clip(grads)", kind="N02")


def _clipped(clip: ClipGrad, grads: list[Any]) -> list[Any]:
    """The clipped gradients as tensors; of a Program that is being made, when it runs."""
    if not all(isinstance(grad, Tensor) for grad in grads):
        tensors = [tensor_or_number(grad, "a gradient") for grad in grads]
        recorder: Any = next(tensor.interpreter for tensor in tensors if not isinstance(tensor, Tensor))
        return recorder.computed(clip.clip, tensors)  # type: ignore[no-any-return]
    return [tensor_of(np.asarray(grad)) for grad in clip.clip([grad.data for grad in grads])]


def _is_clipped(param: Any, grad: Any) -> bool:
    return grad is not None and getattr(param, "need_clip", True)


class ClipGradByValue(ClipGrad):
    """Clip every element to ``[min, max]``; `min` is ``-max`` by default.

    Raises
    ------
    ValueError
        If `max` is not above `min`.
    """

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = float(max)
        self.min = -self.max if min is None else float(min)
        if self.min >= self.max:
            raise ArgumentError(f"max must be above min, got max={self.max} and min={self.min}")

    def clip(self, grads: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        return [np.clip(grad, self.min, self.max) for grad in grads]


class ClipGradByNorm(ClipGrad):
    """Scale each gradient whose Euclidean norm is above `clip_norm` down to it."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _positive(clip_norm)

    def clip(self, grads: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        return [grad * (self.clip_norm / max(math.sqrt(_square_sum(grad)), self.clip_norm)) for grad in grads]


class ClipGradByGlobalNorm(ClipGrad):
    """Scale all gradients by one factor, such that their common Euclidean norm is at most `clip_norm`.

    `group_name` and `auto_skip_clip` are accepted and ignored.
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = _positive(clip_norm)

    def clip(self, grads: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        norm = math.sqrt(sum(_square_sum(grad) for grad in grads))
        factor = self.clip_norm / max(norm, self.clip_norm)
        return [grad * factor for grad in grads]


def _square_sum(grad: np.ndarray[Any, Any]) -> float:
    """Sum of the squared magnitudes, in double precision: float16 and float32 would overflow early."""
    wide = np.abs(grad).astype(np.float64, copy=False).ravel()
    return float(wide @ wide)


def _positive(clip_norm: float) -> float:
    if not clip_norm > 0:
        raise ArgumentError(f"clip_norm must be positive, got {clip_norm}")
    return float(clip_norm)
