"""Losses from the likelihood of a density, and from overlaps."""

from __future__ import annotations

import math

from d2s.core.arrays import need_tensors
from d2s.core.public import public
from d2s.errors import ShapeError
from d2s.ops.activation import sigmoid
from d2s.ops.annotations import Tensor
from d2s.ops.arithmetic import pow, subtract
from d2s.ops.casting import cast
from d2s.ops.encoding import one_hot
from d2s.ops.exponential import exp, log, square
from d2s.ops.half_precision import in_float32
from d2s.ops.loss import binary_cross_entropy_with_logits, reduced
from d2s.ops.reduction import mean, sum
from d2s.ops.selection import clip, where
from d2s.ops.shape import squeeze, unsqueeze


@in_float32()
@public()
def gaussian_nll_loss(
    input: Tensor,
    label: Tensor,
    variance: Tensor,
    full: bool = False,
    epsilon: float = 1e-6,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """
    Negative log-likelihood of `label` under normal distributions.

    Parameters
    ----------
    input, label : Tensor
        Means, and what was seen.
    variance : Tensor
        Of the shape of `input`, or without its last axis, or with size 1 there.
    full : bool
        With the constant term.
    epsilon : float
        Smaller variances count as this.
    reduction : {"mean", "sum", "none"}

    Raises
    ------
    ShapeError
        If `variance` has another shape.
    """
    need_tensors(input, label, variance)
    shape, own = list(input.shape), list(variance.shape)
    if own != shape:
        if own == shape[:-1]:
            variance = unsqueeze(variance, -1)
        elif own != [*shape[:-1], 1]:
            raise ShapeError(f"gaussian_nll_loss of shape {shape} does not take variances of shape {own}")
    variance = clip(variance, min=epsilon)
    loss = 0.5 * (log(variance) + square(subtract(input, label)) / variance)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@in_float32()
@public()
def poisson_nll_loss(
    input: Tensor,
    label: Tensor,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """
    Negative log-likelihood of counts under Poisson distributions.

    Parameters
    ----------
    input : Tensor
        Logarithm of the expected count; the count itself if not `log_input`.
    label : Tensor
        Counts.
    log_input : bool
    full : bool
        With the logarithm of the factorial of `label`, by Stirling's formula, for counts above 1.
    epsilon : float
        Keeps the logarithm of an expected count finite.
    reduction : {"mean", "sum", "none"}
    """
    need_tensors(input, label)
    label = cast(label, input.dtype)
    loss = exp(input) - label * input if log_input else input - label * log(input + epsilon)
    if full:
        counts = where(label > 1, label, 1.0)
        factorial = counts * log(counts) - counts + 0.5 * log(2 * math.pi * counts)
        loss = loss + where(label > 1, factorial, 0.0)
    return reduced(loss, reduction)


@in_float32()
@public()
def log_loss(input: Tensor, label: Tensor, epsilon: float = 1e-4, name: str | None = None) -> Tensor:
    """Cross-entropy of two classes for each element; `input` and `label` are probabilities."""
    need_tensors(input, label)
    return -label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)


@in_float32()
@public()
def sigmoid_focal_loss(
    logit: Tensor,
    label: Tensor,
    normalizer: Tensor | None = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> Tensor:
    """
    Cross-entropy of two classes that counts less where the answer is right already (Lin et al., 2017).

    Parameters
    ----------
    logit, label : Tensor
        Logits, and 1 or 0.
    normalizer : Tensor, optional
        The loss is divided by it.
    alpha : float
        Weight of the label 1; ``1 - alpha`` is that of 0.
    gamma : float
        How much less: the power of the probability of the wrong class.
    reduction : {"mean", "sum", "none"}
    """
    need_tensors(logit, label)
    loss = binary_cross_entropy_with_logits(logit, label, reduction="none")
    predicted = sigmoid(logit)
    wrong = 1 - (predicted * label + (1 - predicted) * (1 - label))
    loss = loss * (alpha * label + (1 - alpha) * (1 - label)) * pow(wrong, gamma)
    return reduced(loss if normalizer is None else loss / normalizer, reduction)


@in_float32()
@public()
def dice_loss(input: Tensor, label: Tensor, epsilon: float = 1e-5, name: str | None = None) -> Tensor:
    """
    One minus the overlap of predicted and true classes, its mean over the batch.

    Parameters
    ----------
    input : Tensor, shape (N, ..., C)
        Probabilities of the classes.
    label : Tensor, int, shape (N, ..., 1)
    epsilon : float
        Keeps the divisor from zero.

    Raises
    ------
    ShapeError
        If `label` does not fit.
    """
    need_tensors(input, label)
    if label.ndim != input.ndim or label.shape[-1] != 1:
        raise ShapeError(f"dice_loss of shape {list(input.shape)} does not take labels of shape {list(label.shape)}")
    target = one_hot(squeeze(label, -1), input.shape[-1], input.dtype)
    axes = list(range(1, input.ndim))
    overlap, total = sum(input * target, axes), sum(input, axes) + sum(target, axes)
    return mean(1 - overlap * 2 / (total + epsilon))
