"""What can be asked of tensors and of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.public import public
from d2s.core.spec import as_dtype
from d2s.errors import DTypeError
from d2s.ops.annotations import Tensor
from d2s.ops.annotations import is_tensor as _is_tensor
from d2s.ops.promotion import tensor_or_number


@public()
def is_tensor(x: Any) -> bool:
    """True for a Tensor, also for one of a Program."""
    return bool(_is_tensor(x))


@public(x="input")
def is_complex(x: Tensor) -> bool:
    """True if the elements are complex numbers."""
    need_tensors(x)
    return bool(x.dtype.kind == "c")


@public(x="input")
def is_floating_point(x: Tensor) -> bool:
    """True if the elements are floating point numbers."""
    need_tensors(x)
    return bool(x.dtype.kind == "f")


@public()
def is_integer(x: Tensor) -> bool:
    """True if the elements are integers; False for bools."""
    need_tensors(x)
    return x.dtype.kind in "iu"


@public()
def numel(x: Tensor, name: str | None = None) -> Tensor:
    """Number of elements, as a tensor (int64, 0-d)."""
    need_tensors(x)
    return _number(x.size)


@public()
def rank(input: Tensor) -> Tensor:
    """Number of axes, as a tensor (int32, 0-d)."""
    need_tensors(input)
    return tensor_or_number(np.asarray(input.ndim)).cast("int32")


@public()
def shape_of(input: Tensor) -> Tensor:
    """Sizes of the axes, as a tensor (int64)."""
    need_tensors(input)
    from d2s.ops.joining import stack

    sizes = [_number(size) for size in input.shape]
    return stack(sizes) if sizes else tensor_or_number(np.zeros(0, np.int64))


@public()
def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """Whether there is no element, as a tensor (bool, 0-d)."""
    need_tensors(x)
    return _number(x.size) == 0


def _number(size: Any) -> Tensor:
    found = size.__d2s_operand__("int64") if hasattr(type(size), "__d2s_operand__") else np.asarray(size, np.int64)
    return tensor_or_number(found)


@public()
def tolist(x: Tensor) -> Any:
    """The elements as nested lists of Python numbers."""
    need_tensors(x)
    return x.tolist()


@public()
def finfo(dtype: Any) -> Any:
    """What a floating point dtype can hold: an object with `min`, `max`, `eps`, `tiny`, `bits` and others."""
    found = as_dtype(dtype)
    if found.kind not in "fc":
        raise DTypeError(f"finfo needs a floating point dtype, got {found.name}")
    return np.finfo(found)


@public()
def iinfo(dtype: Any) -> Any:
    """What an integer dtype can hold: an object with `min`, `max` and `bits`."""
    found = as_dtype(dtype)
    if found.kind not in "iu":
        raise DTypeError(f"iinfo needs an integer dtype, got {found.name}")
    return np.iinfo(found)
