"""Losses; those with logarithms of softmax and sigmoid work on logits, so that nothing overflows."""

from __future__ import annotations

from typing import Any

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.errors import ArgumentError, ShapeError
from d2s.ops.activation import log_sigmoid, relu
from d2s.ops.annotations import Tensor
from d2s.ops.arithmetic import maximum, subtract
from d2s.ops.axes import axis_index, own_axis, sizes_agree
from d2s.ops.binary_entropy import entropy_of_shares
from d2s.ops.casting import cast
from d2s.ops.comparison import not_equal
from d2s.ops.encoding import class_index_op, one_hot
from d2s.ops.exponential import exp, log, sqrt, square
from d2s.ops.gathering import take_along_axis
from d2s.ops.half_precision import in_float32
from d2s.ops.indexing import getitem
from d2s.ops.label_entropy import softmax_cross_entropy_op
from d2s.ops.logits import log_softmax, softmax
from d2s.ops.promotion import floating
from d2s.ops.reduction import mean, sum
from d2s.ops.rounding import abs
from d2s.ops.selection import clip, where
from d2s.ops.shape import moveaxis, squeeze, unsqueeze


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The mean, the sum or all of a loss.

    Raises
    ------
    ValueError
        If `reduction` is another word.
    """
    if reduction == "mean":
        return mean(loss)
    if reduction == "sum":
        return sum(loss)
    if reduction == "none":
        return loss
    raise ArgumentError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")


@in_float32()
@public(label="target")
def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """
    Cross-entropy of class labels, in nats.

    Computed as ``logsumexp(input) - input[label]`` with the largest logit subtracted first, so logits of any finite
    size are safe.

    Parameters
    ----------
    input : Tensor, float, C classes along `axis`
        Logits; probabilities if `use_softmax` is False.
    label : Tensor
        Class of each example in ``[0, C)``, int, in the shape of `input` without `axis` or with size 1 there.  With
        `soft_label` or floats of the shape of `input`: the probability of each class.  Not differentiated if int.
    weight : Tensor, shape (C,), optional
        Weight of each class; the mean is then weighted.
    ignore_index : int
        Examples with this label count for nothing.
    reduction : {"mean", "sum", "none"}
    soft_label : bool
    axis : int
    use_softmax : bool
    label_smoothing : float
        Share of the probability that is spread evenly over the classes.

    Returns
    -------
    Tensor, shape () or, with "none", the shape of `label`

    Raises
    ------
    ShapeError
        If `label` does not fit `input`.
    IndexOutOfRangeError
        If a label is no class.
    """
    need_tensors(input, label)
    input = floating(input, "the input of cross_entropy")
    axis = axis_index(axis, input)
    if axis != input.ndim - 1:
        input = moveaxis(input, axis, -1)
        label = moveaxis(label, axis, -1) if label.ndim == input.ndim else label
    is_hard = not soft_label and label.dtype.kind in "iu"
    keeps_axis = label.ndim == input.ndim
    if is_hard and keeps_axis:
        label = squeeze(label, -1)
    if is_hard and label_smoothing == 0.0 and weight is None and use_softmax:
        loss = bind(softmax_cross_entropy_op, input, label, ignore_index=ignore_index)
        if reduction == "mean" and ignore_index >= 0:
            loss = sum(loss) / sum(cast(not_equal(label, ignore_index), loss.dtype))
        else:
            loss = reduced(loss, reduction)
    else:
        loss = _general_cross_entropy(
            input, label, weight, ignore_index, reduction, is_hard, use_softmax, label_smoothing
        )
    return unsqueeze(loss, axis) if reduction == "none" and keeps_axis else loss


def _general_cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    is_hard: bool,
    use_softmax: bool,
    label_smoothing: float,
) -> Tensor:
    """Cross-entropy over the last axis with class weights, soft or smoothed labels, or given probabilities."""
    classes = input.shape[-1]
    log_probabilities = log_softmax(input) if use_softmax else log(input)
    if is_hard:
        valid = not_equal(label, ignore_index)
        index = where(valid, label, 0)
        target = one_hot(index, classes, input.dtype)
    else:
        if not all(map(sizes_agree, input.spec.shape, label.spec.shape)) or input.ndim != label.ndim:
            raise ShapeError(f"cross_entropy of shape {input.shape} needs soft labels of that shape, got {label.shape}")
        valid, target = None, cast(label, input.dtype)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    counts = None if valid is None else cast(valid, input.dtype)
    if weight is not None:
        weights = sum(target * weight, -1)
        counts = weights if counts is None else weights * counts
    loss = -sum(target * log_probabilities, -1)
    if counts is not None:
        loss = loss * counts
    return sum(loss) / sum(counts) if reduction == "mean" and counts is not None else reduced(loss, reduction)


@in_float32()
@public()
def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Cross-entropy of each example, with the class axis kept at size 1; see `cross_entropy`.

    `numeric_stable_mode` is ignored; with `return_softmax` the probabilities are given too.
    """
    need_tensors(logits, label)
    loss = cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)
    if loss.ndim < logits.ndim:
        loss = unsqueeze(loss, axis)
    return (loss, softmax(logits, axis)) if return_softmax else loss


@in_float32()
@public()
def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Squared difference of two tensors that broadcast; its mean by default, "sum" or "none"."""
    return reduced(square(subtract(input, label)), reduction)


@in_float32()
@public()
def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Absolute difference of two tensors that broadcast; its mean by default, "sum" or "none"."""
    return reduced(abs(subtract(input, label)), reduction)


@public()
def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """Squared difference, element by element."""
    return square(subtract(input, label))


@in_float32()
@public()
def nll_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """
    Negative log-likelihood of class labels.

    Parameters
    ----------
    input : Tensor, shape (N, C) or (N, C, ...)
        Log-probabilities, classes along axis 1.
    label : Tensor, int, shape (N) or (N, ...)
    weight, ignore_index, reduction
        As in `cross_entropy`.

    Returns
    -------
    Tensor, shape () or, with "none", the shape of `label`
    """
    need_tensors(input, label)
    if label.ndim != input.ndim - 1:
        raise ShapeError(f"nll_loss of shape {input.shape} needs labels with an axis less, got shape {label.shape}")
    input = moveaxis(input, 1, -1)
    valid = not_equal(label, ignore_index)
    index = bind(class_index_op, where(valid, label, 0), classes=input.shape[-1])
    counts = cast(valid, input.dtype)
    if weight is not None:
        counts = counts * getitem(weight, index)
    loss = -squeeze(take_along_axis(input, unsqueeze(index, -1), -1), -1) * counts
    return sum(loss) / sum(counts) if reduction == "mean" else reduced(loss, reduction)


@in_float32()
@public()
def binary_cross_entropy(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """Cross-entropy of two classes; `input` and `label` are probabilities.  Logarithms are cut off at -100."""
    need_tensors(input, label)
    loss = entropy_of_shares(input, label)
    return reduced(loss if weight is None else loss * weight, reduction)


@in_float32()
@public()
def binary_cross_entropy_with_logits(
    logit: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """
    Cross-entropy of two classes, from logits; safe for logits of any finite size.

    Parameters
    ----------
    logit : Tensor
    label : Tensor
        Probability of the first class, of the shape of `logit`.
    weight : Tensor, optional
        Factor of each element.
    reduction : {"mean", "sum", "none"}
    pos_weight : Tensor, optional
        Factor of the first class.
    """
    need_tensors(logit, label)
    if pos_weight is None:
        loss = -(label * log_sigmoid(logit) + (1 - label) * log_sigmoid(-logit))
    else:
        loss = -(label * pos_weight * log_sigmoid(logit) + (1 - label) * log_sigmoid(-logit))
    return reduced(loss if weight is None else loss * weight, reduction)


@in_float32()
@public()
def smooth_l1_loss(
    input: Tensor,
    label: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
) -> Tensor:
    """Squared difference (halved) up to `delta`, linear beyond; divided by `delta` unless `is_huber`."""
    size = abs(subtract(input, label))
    loss = where(size < delta, square(size) * 0.5, size * delta - 0.5 * delta * delta)
    return reduced(loss if is_huber else loss / delta, reduction)


@in_float32()
@public()
def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False, name: str | None = None
) -> Tensor:
    """
    Kullback-Leibler divergence ``label * (log(label) - input)`` of log-probabilities `input`.

    Parameters
    ----------
    input : Tensor
        Log-probabilities.
    label : Tensor
        Probabilities, or log-probabilities if `log_target`.  Where a probability is 0 the result is 0.
    reduction : {"mean", "batchmean", "sum", "none"}
        "batchmean" divides the sum by the size of the first axis.
    """
    need_tensors(input, label)
    if log_target:
        loss = exp(label) * (label - input)
    else:
        is_positive = label > 0
        loss = where(is_positive, label * (log(where(is_positive, label, 1.0)) - input), 0.0)
    if reduction == "batchmean":
        own_axis(0, input)
        return sum(loss) / input.shape[0]
    return reduced(loss, reduction)


@in_float32()
@public()
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-08) -> Tensor:
    """Cosine of the angle between vectors along `axis`; norms below `eps` count as `eps`."""
    norms = maximum(sum(square(x1), axis) * sum(square(x2), axis), eps * eps)
    return sum(x1 * x2, axis) / sqrt(norms)


@in_float32()
@public()
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, label: Tensor, margin: float = 0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """``1 - cosine`` where `label` is 1, and how far the cosine exceeds `margin` where it is -1."""
    cosine = cosine_similarity(input1, input2, -1)
    return reduced(where(label == 1, 1 - cosine, clip(cosine - margin, min=0.0)), reduction)


@in_float32()
@public()
def margin_ranking_loss(
    input: Tensor, other: Tensor, label: Tensor, margin: float = 0.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """How far ``label * (other - input) + margin`` exceeds 0."""
    need_tensors(input, other, label)
    return reduced(relu(label * (other - input) + margin), reduction)


@public()
def label_smooth(
    label: Tensor, prior_dist: Tensor | None = None, epsilon: float = 0.1, name: str | None = None
) -> Tensor:
    """One-hot labels with the share `epsilon` of the probability spread over all classes (or as `prior_dist`)."""
    own_axis(-1, label)
    # Of no classes nothing is spread.
    known: Any = getattr(label, "spec", label)
    classes = label.shape[-1] if known.shape[-1] != 0 else 1
    prior = 1 / classes if prior_dist is None else prior_dist
    return label * (1 - epsilon) + prior * epsilon
