"""Cross-entropy of logits with integer labels: the op, its gradient, and the gradient of that."""

from __future__ import annotations

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import TensorSpec
from d2s.errors import DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor, add_reduce, maximum_reduce
from d2s.ops.axes import sizes_agree
from d2s.ops.casting import cast
from d2s.ops.comparison import not_equal
from d2s.ops.encoding import class_index_op
from d2s.ops.gathering import take_along_axis
from d2s.ops.logits import softmax, softmax_of
from d2s.ops.reduction import sum
from d2s.ops.shape import squeeze, unsqueeze


def _infer_cross_entropy(logits: TensorSpec, label: TensorSpec, *, ignore_index: int) -> TensorSpec:
    if logits.dtype.kind != "f":
        raise DTypeError(f"cross_entropy needs floating point logits, got {logits.dtype.name}")
    if label.dtype.kind not in "iu":
        raise DTypeError(f"cross_entropy needs integer labels, got {label.dtype.name}; for probabilities: soft_label")
    pairs = zip(logits.shape[:-1], label.shape, strict=False)
    if label.ndim != logits.ndim - 1 or any(not sizes_agree(size, own) for size, own in pairs):
        raise ShapeError(
            f"cross_entropy of logits of shape {list(logits.shape)} needs labels of shape "
            f"{list(logits.shape[:-1])}, got {list(label.shape)}"
        )
    return TensorSpec(logits.shape[:-1], logits.dtype)


def _checked_labels(label: Array, classes: int, ignore_index: int) -> tuple[Array, Array]:
    """Labels with 0 in place of ignored ones, and which are not ignored."""
    valid = label != ignore_index
    label = np.where(valid, label, 0)
    class_index_op.forward(label, classes=classes)
    return label, valid


@define_op("softmax_cross_entropy", kinds="f", infer=_infer_cross_entropy, saves=("logits", "label"))
def softmax_cross_entropy_op(logits: Array, label: Array, *, ignore_index: int) -> Array:
    """-log(softmax(logits)[label]) over the last axis; 0 where the label is `ignore_index`."""
    label, valid = _checked_labels(label, logits.shape[-1], ignore_index)
    top = maximum_reduce(logits, axis=-1, keepdims=True)
    total = add_reduce(np.exp(logits - top), axis=-1)
    picked = np.take_along_axis(logits, label[..., None], -1)
    return np.asarray((np.log(total) - (picked - top)[..., 0]) * valid)


def _infer_softmax_minus_label(
    g: TensorSpec, logits: TensorSpec, label: TensorSpec, *, ignore_index: int
) -> TensorSpec:
    _infer_cross_entropy(logits, label, ignore_index=ignore_index)
    return logits


@define_op(
    "softmax_minus_label",
    kinds="f", infer=_infer_softmax_minus_label,
    saves=("g", "logits", "label"),
)
def softmax_minus_label_op(g: Array, logits: Array, label: Array, *, ignore_index: int) -> Array:
    """g * (softmax(logits) - 1 at the label): the gradient of softmax_cross_entropy."""
    label, valid = _checked_labels(label, logits.shape[-1], ignore_index)
    result = softmax_of(logits, -1)
    at_label = label[..., None]
    np.put_along_axis(result, at_label, np.take_along_axis(result, at_label, -1) - 1, -1)
    result *= (g * valid)[..., None]
    return result


def _second_order_of_g(a: Tensor, logits: Tensor, label: Tensor, ignore_index: int) -> Tensor:
    valid = not_equal(label, ignore_index)
    at_label = squeeze(take_along_axis(a, unsqueeze(label * valid, -1), -1), -1)
    return (sum(a * softmax(logits), -1) - at_label) * cast(valid, a.dtype)


def _second_order_of_logits(a: Tensor, g: Tensor, logits: Tensor, label: Tensor, ignore_index: int) -> Tensor:
    probabilities = softmax(logits)
    weighted = a * unsqueeze(g * cast(not_equal(label, ignore_index), g.dtype), -1) * probabilities
    return weighted - probabilities * sum(weighted, -1, keepdim=True)


softmax_cross_entropy_op.vjp(
    lambda g, out, logits, label, *, ignore_index: bind(
        softmax_minus_label_op, g, logits, label, ignore_index=ignore_index
    )
)
softmax_minus_label_op.vjp(
    lambda a, out, g, logits, label, *, ignore_index: _second_order_of_g(a, logits, label, ignore_index),
    lambda a, out, g, logits, label, *, ignore_index: _second_order_of_logits(a, g, logits, label, ignore_index),
)
