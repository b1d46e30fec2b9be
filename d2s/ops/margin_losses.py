"""Losses that push scores or distances apart by a margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.errors import ArgumentError, ShapeError
from d2s.ops.activation import log_sigmoid, relu
from d2s.ops.annotations import Tensor
from d2s.ops.arithmetic import minimum, pow, subtract
from d2s.ops.casting import cast
from d2s.ops.encoding import class_index_op
from d2s.ops.gathering import take_along_axis
from d2s.ops.half_precision import in_float32
from d2s.ops.indexing import getitem
from d2s.ops.loss import reduced
from d2s.ops.reduction import mean
from d2s.ops.selection import clip, where
from d2s.ops.shape import reshape, unsqueeze
from d2s.ops.statistics import norm


@in_float32()
@public(x="x1", y="x2")
def pairwise_distance(
    x: Tensor, y: Tensor, p: float = 2.0, epsilon: float = 1e-06, keepdim: bool = False, name: str | None = None
) -> Tensor:
    """The `p` norm of ``x - y + epsilon`` along the last axis; `epsilon` keeps its gradient finite."""
    return norm(subtract(x, y) + epsilon, p, -1, keepdim)


@in_float32()
@public()
def triplet_margin_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    epsilon: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """
    How far ``distance(input, positive) - distance(input, negative) + margin`` exceeds 0.

    Parameters
    ----------
    input, positive, negative : Tensor, shape (N, D)
        Anchors, and for each something alike and something different.
    margin : float
    p, epsilon
        Of the distance; see `pairwise_distance`.
    swap : bool
        Use the distance of `positive` and `negative` where it is smaller than that of `input` and `negative`.
    reduction : {"mean", "sum", "none"}
    """

    def distance(one: Tensor, other: Tensor) -> Tensor:
        return pairwise_distance(one, other, p, epsilon)

    return triplet_margin_with_distance_loss(input, positive, negative, distance, margin, swap, reduction)


@public()
def triplet_margin_with_distance_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """As `triplet_margin_loss`, with a distance of one's own; by default `pairwise_distance`.

    Raises
    ------
    ValueError
        If `margin` is negative.
    """
    if margin < 0:
        raise ArgumentError(f"margin must not be negative, got {margin}")
    distance = distance_function or pairwise_distance
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(clip(near - far + margin, min=0.0), reduction)


@in_float32()
@public()
def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """The distance `input` where `label` is 1, and how far it stays below `margin` where `label` is -1."""
    near = where(label == 1, input, 0.0)
    far = where(label == -1, relu(margin - input), 0.0)
    return reduced(near + far, reduction)


@in_float32()
@public()
def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``log(1 + exp(-label * input))`` with labels 1 and -1; safe for scores of any finite size."""
    need_tensors(input, label)
    return reduced(-log_sigmoid(cast(label, input.dtype) * input), reduction)


@in_float32()
@public()
def multi_margin_loss(
    input: Tensor,
    label: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """
    How far the score of each other class comes closer than `margin` to that of the right one, to the power `p`.

    Parameters
    ----------
    input : Tensor, shape (N, C)
        Scores.
    label : Tensor, int, shape (N,)
    p : int
    margin : float
    weight : Tensor, shape (C,), optional
        Weight of each class as the right one, before the power is taken.
    reduction : {"mean", "sum", "none"}

    Returns
    -------
    Tensor, shape () or, with "none", (N,)
        Mean over the classes.

    Raises
    ------
    ShapeError
        If `input` is no matrix.
    """
    need_tensors(input, label)
    if input.ndim != 2:
        raise ShapeError(f"multi_margin_loss needs scores of shape (N, C), got {list(input.shape)}")
    classes = input.shape[1]
    index = bind(class_index_op, reshape(label, [-1]), classes=classes)
    right = take_along_axis(input, unsqueeze(index, -1), 1)
    excess = clip(input - right + margin, min=0.0)
    own: Any = margin**p / classes
    if weight is not None:
        factor = getitem(weight, index)
        excess = excess * unsqueeze(factor, -1)
        own = factor * own
    return reduced(mean(pow(excess, p), 1) - own, reduction)


@in_float32()
@public()
def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """Cross-entropy of classes that may hold together, from logits (N, C): its mean over the classes.

    `label` holds 1 for each class that holds and 0 for the others; `weight` has a factor for each class.
    """
    need_tensors(input, label)
    loss = -(label * log_sigmoid(input) + (1 - label) * log_sigmoid(-input))
    return reduced(mean(loss if weight is None else loss * weight, -1), reduction)
