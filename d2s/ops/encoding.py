"""Classes as vectors: one-hot vectors and learned embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import DType, TensorSpec, as_dtype, default_dtype
from d2s.errors import DTypeError, IndexOutOfRangeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import size_argument


def _infer_one_hot(x: TensorSpec, *, classes: int, dtype: DType) -> TensorSpec:
    if x.dtype.kind not in "iu":
        raise DTypeError(f"one_hot needs integers, got {x.dtype.name}")
    return TensorSpec((*x.shape, classes), dtype)


@define_op("one_hot", infer=_infer_one_hot)
def one_hot_op(x: Array, *, classes: int, dtype: DType) -> Array:
    """1 at the place of the class, 0 elsewhere, along a new last axis."""
    if x.size and x.astype(np.uint64).max() >= classes:
        raise IndexOutOfRangeError(f"one_hot of {int(x.max())} or {int(x.min())}: out of range for {classes} classes")
    result = np.zeros((*x.shape, classes), dtype)
    np.put_along_axis(result, x[..., None], 1, -1)
    return result


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
