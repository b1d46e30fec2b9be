"""Shapes and dtypes of tensors, known before any value is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from d2s.errors import DTypeError, ShapeError

DType: TypeAlias = np.dtype[Any]

_counter = itertools.count()


class Dim:
    """A size that is not known before the Program runs: a free size of an input, or one that depends on data.

    Two Dims are equal only if they are the same object.  Sizes that are known are plain ints.

    Attributes
    ----------
    may_be_one : bool
        False for a size that is certainly greater than 1, so that nothing is broadcast along it.
    """

    __slots__ = ("may_be_one", "name")

    def __init__(self, name: str | None = None, *, may_be_one: bool = True) -> None:
        self.name = name or f"d{next(_counter)}"
        self.may_be_one = may_be_one

    def __repr__(self) -> str:
        return self.name


Size: TypeAlias = int | Dim
Shape: TypeAlias = tuple[Size, ...]


@dataclass(slots=True, unsafe_hash=True)
class TensorSpec:
    """What is known of a tensor without its values: its shape (ints and Dims) and its dtype.

    Never changed; not `frozen`, because then it takes four times as long to make one, and every op makes some.
    """

    shape: Shape
    dtype: DType

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """True if every size is known."""
        return all(isinstance(size, int) for size in self.shape)

    def admits(self, array: np.ndarray[Any, Any]) -> bool:
        """True if `array` has this dtype and, where they are known, these sizes."""
        if array.dtype != self.dtype or array.ndim != len(self.shape):
            return False
        return all(isinstance(known, Dim) or known == size for known, size in zip(self.shape, array.shape, strict=True))

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


def spec_of(array: np.ndarray[Any, Any] | np.generic) -> TensorSpec:
    """Spec of a NumPy array or scalar."""
    return TensorSpec(array.shape, array.dtype)


def broadcast_sizes(first: Size, second: Size) -> Size | None:
    """Common size of two aligned axes, or None if they cannot be broadcast together.

    Against a size that is certainly greater than 1 the other is that size or 1: anything else fails at run time.
    """
    if first is second or first == second:
        return first
    if first == 1:
        return second
    if second == 1:
        return first
    if isinstance(first, int):
        return first if isinstance(second, Dim) else None
    if isinstance(second, int) or not second.may_be_one:
        return second
    return Dim() if first.may_be_one else first


def broadcast_shapes(*shapes: Sequence[Size], what: str = "operands") -> Shape:
    """Shape to which all `shapes` broadcast.

    Raises
    ------
    ShapeError
        If two sizes differ and neither is 1.
    """
    result: list[Size] = []
    for axis in range(1, max(map(len, shapes), default=0) + 1):
        size: Size | None = 1
        for shape in shapes:
            if len(shape) >= axis and size is not None:
                size = broadcast_sizes(size, shape[-axis])
        if size is None:
            shown = " and ".join(str(list(shape)) for shape in shapes)
            raise ShapeError(f"{what} of shapes {shown} cannot be broadcast together")
        result.append(size)
    return tuple(reversed(result))


FLOATS = ("float16", "float32", "float64")


def is_floating(dtype: DType) -> bool:
    """True for the dtypes that can carry a gradient: floating point and complex."""
    return dtype.kind in "fc"


class _Defaults:
    """What holds where nothing is said: the `dtype` of tensors made from Python floats."""

    __slots__ = ("dtype",)

    def __init__(self) -> None:
        self.dtype: DType = np.dtype("float32")


# For guards, which read it in each call.
defaults = _Defaults()


def default_dtype() -> DType:
    """dtype of tensors made from Python floats."""
    return defaults.dtype


def set_default_dtype(d: Any) -> None:
    """Set the dtype of tensors made from Python floats (float16, float32 or float64)."""
    wanted = as_dtype(d)
    if wanted.name not in FLOATS:
        raise DTypeError(f"the default dtype must be one of {', '.join(FLOATS)}, got {wanted.name}")
    defaults.dtype = wanted


def check_fits(into: TensorSpec, value: TensorSpec) -> None:
    """Check that a value can be written in place to a tensor; sizes that only the run knows are left to it.

    Raises
    ------
    ShapeError, DTypeError
        If it has another number of elements, or a dtype of another kind.
    """
    if into.is_static and value.is_static and math.prod(into.shape) != math.prod(value.shape):  # type: ignore[arg-type]
        raise ShapeError(
            f"a value of shape {list(value.shape)} cannot be written into a tensor of shape {list(into.shape)}",
            kind="S04",
        )
    if not np.can_cast(value.dtype, into.dtype, "same_kind"):
        raise DTypeError(f"{value.dtype.name} cannot be written into a tensor of {into.dtype.name}", kind="D04")


def check_same_shape(into: TensorSpec, value: TensorSpec) -> None:
    """Check that the values of a tensor can be replaced; sizes that only the run knows are left to it.

    Raises
    ------
    ShapeError
        If the shape is another one.
    """
    pairs = list(zip(into.shape, value.shape, strict=False))
    if len(into.shape) != len(value.shape) or any(
            old != new and isinstance(old, int) and isinstance(new, int) for old, new in pairs):
        raise ShapeError(f"set_value needs shape {list(into.shape)}, got {list(value.shape)}", kind="S04")


def as_dtype(dtype: Any) -> DType:
    """NumPy dtype of a dtype, its name ("float32", "paddle.float32") or a Python or NumPy type: `float` is float64.

    Raises
    ------
    DTypeError
        If it names no dtype that tensors can have.
    """
    if isinstance(dtype, str):
        dtype = dtype.rpartition(".")[2]
    if dtype is int:
        return np.dtype("int64")
    try:
        found: DType = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{dtype!r} is no dtype") from None
    if found.kind not in "biufc":
        raise DTypeError(f"tensors cannot have dtype {found.name}")
    return found
