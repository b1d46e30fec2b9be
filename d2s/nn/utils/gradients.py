"""Clipping of the gradients that parameters hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import ArgumentError, GradientError


def _with_gradients(parameters: Any) -> list[Any]:
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [parameter for parameter in given if parameter.grad is not None]


def _set(parameter: Any, values: Any) -> None:
    parameter.grad = tensor_of(np.asarray(values, parameter.grad.dtype))


def clip_grad_norm_(
    parameters: Iterable[Any] | Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale all gradients by one factor, such that their common norm is at most `max_norm`.

    Parameters
    ----------
    parameters : Parameter or iterable of Parameter
        Those without a gradient are left out.
    max_norm : float
    norm_type : float
        Which norm; infinity: the greatest size of an element.
    error_if_nonfinite : bool
        Raise if the norm is infinite or not a number.

    Returns
    -------
    Tensor, shape ()
        The norm before.

    Raises
    ------
    RuntimeError
        If `error_if_nonfinite`, and the norm is not finite.
    """
    chosen = _with_gradients(parameters)
    sizes = [np.abs(parameter.grad.data).astype(np.float64).ravel() for parameter in chosen]
    everything = np.concatenate(sizes) if sizes else np.zeros(1)
    total = float(np.linalg.norm(everything, norm_type))
    if error_if_nonfinite and not math.isfinite(total):
        raise GradientError(f"the norm of the gradients is {total}", kind="G15")
    factor = max_norm / (total + 1e-6)
    if not factor >= 1:
        for parameter in chosen:
            _set(parameter, parameter.grad.data * factor)
    return tensor_of(np.asarray(total, chosen[0].grad.dtype if chosen else np.float32))


def clip_grad_value_(parameters: Iterable[Any] | Any, clip_value: float) -> None:
    """Clip every element of the gradients to ``[-clip_value, clip_value]``.

    Raises
    ------
    ValueError
        If `clip_value` is negative.
    """
    if clip_value < 0:
        raise ArgumentError(f"clip_value must not be negative, got {clip_value}")
    for parameter in _with_gradients(parameters):
        _set(parameter, np.clip(parameter.grad.data, -clip_value, clip_value))
