"""Classes as vectors: one-hot vectors and learned embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import DType, Size, TensorSpec, as_dtype, default_dtype
from d2s.errors import DTypeError, IndexOutOfRangeError, NotSupportedError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import need_axes, size_argument
from d2s.ops.casting import cast
from d2s.ops.comparison import not_equal
from d2s.ops.gathering import take_op
from d2s.ops.shape import unsqueeze


def _infer_class_index(x: TensorSpec, *, classes: Size) -> TensorSpec:
    if x.dtype.kind not in "iu":
        raise DTypeError(f"classes must be integers, got {x.dtype.name}")
    return x


@define_op("class_index", infer=_infer_class_index)
def class_index_op(x: Array, *, classes: int) -> Array:
    """x itself, if each element is a class."""
    if x.dtype.kind not in "iu":
        raise DTypeError("classes must be integers")
    # As unsigned numbers, negative ones are too large as well.
    if x.size and x.astype(np.uint64).max() >= classes:
        wrong = x[(x < 0) | (x >= classes)].flat[0]
        raise IndexOutOfRangeError(f"class {wrong} is out of range for {classes} classes", kind="I03")
    return x


def _infer_one_hot(x: TensorSpec, *, classes: int, dtype: DType) -> TensorSpec:
    if x.dtype.kind not in "iu":
        raise DTypeError(f"one_hot needs integers, got {x.dtype.name}")
    return TensorSpec((*x.shape, classes), dtype)


@define_op("one_hot", infer=_infer_one_hot)
def one_hot_op(x: Array, *, classes: int, dtype: DType) -> Array:
    """1 at the place of the class, 0 elsewhere, along a new last axis."""
    result = np.zeros((*x.shape, classes), dtype)
    np.put_along_axis(result, class_index_op.forward(x, classes=classes)[..., None], 1, -1)
    return result


@public(x="input")
def one_hot(x: Tensor, num_classes: Any = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """
    1 at the place of the class and 0 elsewhere, along a new last axis.

    Parameters
    ----------
    x : Tensor, int, in ``[0, num_classes)``
    num_classes : int
        -1: one more than the largest element.
    dtype : dtype, optional
        By default the default dtype.

    Returns
    -------
    Tensor, shape (..., num_classes)

    Raises
    ------
    IndexOutOfRangeError
        If an element is no class.
    """
    classes = size_argument(num_classes)
    if type(classes) is int and classes == -1:
        classes = (x.max() + 1).item()
    return bind(one_hot_op, x, classes=classes, dtype=default_dtype() if dtype is None else as_dtype(dtype))


@public(x="input")
def embedding(
    x: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    sparse: bool = False,
    scale_grad_by_freq: bool = False,
    name: str | None = None,
) -> Tensor:
    """
    Rows of `weight`, one for each class.

    Parameters
    ----------
    x : Tensor, int, in ``[0, classes)``
    weight : Tensor, shape (classes, size)
    padding_idx : int, optional
        This class gives zeros and gets no gradient; a negative one counts from the end.
    max_norm, norm_type, scale_grad_by_freq
        Not supported: `max_norm` must be None and `scale_grad_by_freq` False.
    sparse : bool
        Not used: gradients are dense.

    Returns
    -------
    Tensor, shape (*x.shape, size)

    Raises
    ------
    IndexOutOfRangeError
        If an element is no class.
    """
    need_axes("the weight of embedding", weight, ("classes", "features"))
    need_tensors(x, weight)
    if max_norm is not None or scale_grad_by_freq:
        raise NotSupportedError("embedding supports neither max_norm nor scale_grad_by_freq")
    rows = bind(take_op, weight, bind(class_index_op, x, classes=weight.shape[0]), axis=0)
    if padding_idx is None:
        return rows
    padding = padding_idx if padding_idx >= 0 else weight.shape[0] + padding_idx
    return rows * cast(unsqueeze(not_equal(x, padding), -1), weight.dtype)
