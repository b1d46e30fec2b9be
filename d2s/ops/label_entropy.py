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


@define_op("softmax_cross_entropy", kinds="f", infer=_infer_cross_entropy, saves=("logits", "label"),
           fresh=True, in_order=True)
def softmax_cross_entropy_op(logits: Array, label: Array, *, ignore_index: int) -> Array:
    """-log(softmax(logits)[label]) over the last axis; 0 where the label is `ignore_index`."""
    return _entropy_parts(logits, label, ignore_index)[0]


def _entropy_parts(logits: Array, label: Array, ignore_index: int) -> tuple[Array, ...]:
    """The result, the exponentials of the logits, their sums, the labels as indices, and which of them count."""
    label, valid = _checked_labels(label, logits.shape[-1], ignore_index)
    top = maximum_reduce(logits, axis=-1, keepdims=True)
    exponentials = np.exp(logits - top)
    total = add_reduce(exponentials, axis=-1)
    if logits.ndim == 2:
        picked = logits[np.arange(len(label)), label]
    else:
        picked = np.take_along_axis(logits, label[..., None], -1)[..., 0]
    result = np.asarray((np.log(total) - (picked - top[..., 0])) * valid)
    return result, exponentials, np.asarray(total), label, np.asarray(valid)


def _infer_softmax_minus_label(
    g: TensorSpec, logits: TensorSpec, label: TensorSpec, *, ignore_index: int
) -> TensorSpec:
    _infer_cross_entropy(logits, label, ignore_index=ignore_index)
    return logits


@define_op(
    "softmax_minus_label",
    kinds="f", infer=_infer_softmax_minus_label,
    saves=("g", "logits", "label"), out="apart",
)
def softmax_minus_label_op(
    g: Array, logits: Array, label: Array, *, ignore_index: int, out: Array | None = None
) -> Array:
    """g * (softmax(logits) - 1 at the label): the gradient of softmax_cross_entropy."""
    label, valid = _checked_labels(label, logits.shape[-1], ignore_index)
    return _minus_label(g, softmax_of(logits, -1, out), label, valid)


def _minus_label(g: Array, result: Array, label: Array, valid: Array) -> Array:
    """Probabilities minus 1 at the label, times g where the label counts; in place of the probabilities."""
    if result.ndim == 2:
        result[np.arange(len(label)), label] -= 1
    else:
        at_label = label[..., None]
        np.put_along_axis(result, at_label, np.take_along_axis(result, at_label, -1) - 1, -1)
    result *= (g * valid)[..., None]
    return result


def _infer_entropy_parts(logits: TensorSpec, label: TensorSpec, *, ignore_index: int) -> tuple[TensorSpec, ...]:
    result = _infer_cross_entropy(logits, label, ignore_index=ignore_index)
    return result, logits, result, label, TensorSpec(label.shape, np.dtype(bool))


@define_op("cross_entropy_parts", kinds="f", infer=_infer_entropy_parts, fresh=True)
def cross_entropy_parts_op(logits: Array, label: Array, *, ignore_index: int) -> tuple[Array, ...]:
    """The result of softmax_cross_entropy, and what its gradient needs."""
    return _entropy_parts(logits, label, ignore_index)


def _infer_entropy_rest(
    g: TensorSpec, result: TensorSpec, exponentials: TensorSpec, total: TensorSpec, label: TensorSpec,
    valid: TensorSpec, *, ignore_index: int
) -> TensorSpec:
    _infer_cross_entropy(exponentials, label, ignore_index=ignore_index)
    return exponentials


@define_op("cross_entropy_rest", kinds="f", infer=_infer_entropy_rest, fresh=True)
def cross_entropy_rest_op(
    g: Array, result: Array, exponentials: Array, total: Array, label: Array, valid: Array, *, ignore_index: int
) -> Array:
    """What softmax_minus_label computes, from the parts."""
    # In the order in memory of the exponentials, as there.
    probabilities = np.divide(exponentials, total[..., None], out=np.empty_like(exponentials))
    return _minus_label(g, probabilities, label, valid)


softmax_cross_entropy_op.share(softmax_minus_label_op, cross_entropy_parts_op, cross_entropy_rest_op)


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
