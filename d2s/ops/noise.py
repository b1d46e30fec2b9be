"""Activations and dropout that are random in training."""

from __future__ import annotations

import math

from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.errors import ArgumentError
from d2s.ops.annotations import Tensor
from d2s.ops.axes import axis_index
from d2s.ops.dropout import dropout, dropout_mask_op
from d2s.ops.encoding import one_hot
from d2s.ops.exponential import log
from d2s.ops.logits import softmax
from d2s.ops.promotion import floating
from d2s.ops.random import uniform_op
from d2s.ops.selection import where
from d2s.ops.shape import moveaxis
from d2s.ops.sorting import argmax

# What SELU tends to for small inputs.
_SATURATION = -1.6732632423543772 * 1.0507009873554805


@public()
def rrelu(
    x: Tensor, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, training: bool = True, name: str | None = None
) -> Tensor:
    """`x` where not negative, else `x` times a slope: random on [lower, upper) in training, else the mean of these.

    Raises
    ------
    ValueError
        If not ``0 <= lower <= upper <= 1``.
    """
    if not 0 <= lower <= upper <= 1:
        raise ArgumentError(f"rrelu needs 0 <= lower <= upper <= 1, got {lower} and {upper}")
    x = floating(x)
    if not training:
        return where(x >= 0, x, x * ((lower + upper) / 2))
    slope = bind(uniform_op, shape=tuple(x.shape), dtype=x.dtype, min=float(lower), max=float(upper))
    return where(x >= 0, x, x * slope)


@public()
def gumbel_softmax(
    x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None
) -> Tensor:
    """
    A differentiable draw of one class each (Jang et al., 2017).

    Parameters
    ----------
    x : Tensor
        Logits, classes along `axis`.
    temperature : float
        The smaller, the closer to one-hot.
    hard : bool
        Give one-hot results, with the gradient of the soft ones.
    axis : int

    Returns
    -------
    Tensor, of the shape of `x`
    """
    x = floating(x)
    tiny = 1e-20 if x.dtype.itemsize > 2 else 1e-7
    drawn = bind(uniform_op, shape=tuple(x.shape), dtype=x.dtype)
    soft = softmax((x - log(-log(drawn + tiny) + tiny)) / temperature, axis)
    if not hard:
        return soft
    axis = axis_index(axis, x)
    chosen = moveaxis(one_hot(argmax(soft, axis), x.shape[axis], x.dtype), -1, axis)
    return chosen - soft.detach() + soft


@public()
def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """Elements set to the lower limit of SELU at random, then scaled so that mean 0 and variance 1 stay.

    Raises
    ------
    ValueError
        If `p` is no probability.
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"the probability p of dropout must lie in [0, 1], got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    kept = bind(dropout_mask_op, shape=tuple(x.shape), p=float(p), kept=1.0, dtype=x.dtype)
    factor = 1 / math.sqrt((1 - p) * (1 + p * _SATURATION**2))
    return (x * kept + _SATURATION * (1 - kept)) * factor - factor * p * _SATURATION


@public()
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (B, C, L) or (C, L) set to 0 at random; see `dropout`.  `inplace` is ignored."""
    return dropout(input, p, list(range(input.ndim - 1)), training)
