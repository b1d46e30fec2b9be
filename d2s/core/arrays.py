"""NumPy arrays from whatever a user may call data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core import interpreter
from d2s.core.interpreter import TensorBase
from d2s.core.spec import DType, as_dtype, default_dtype
from d2s.errors import AnomalyError, DTypeError, IndexOutOfRangeError, NumberError, ShapeError

# What may stand in the place of a tensor.
OPERANDS = (np.ndarray, np.generic, bool, int, float, complex)
# The largest number of float16: larger ones may be infinite in a floating point dtype.
LARGEST_HALF = 65504


def no_operand(value: Any, what: str = "an operand") -> DTypeError:
    """The error for something else."""
    return DTypeError(f"{what} must be a tensor, an array or a number, got {type(value).__name__}")


def no_tensor(x: Any) -> DTypeError:
    """The error for what has no shape or dtype."""
    return DTypeError(f"an operand must be a tensor or an array, got {type(x).__name__}")


def need_tensors(*operands: Any) -> None:
    """Refuse what is no tensor, array or spec, before a function looks at its shape or dtype."""
    for x in operands:
        ndim_of(x)


def ndim_of(x: Any) -> int:
    """Number of axes of a tensor, an array or a spec.

    Raises
    ------
    DTypeError
        If it is something else.
    """
    try:
        found: int = x.ndim
    except AttributeError:
        raise no_tensor(x) from None
    return found


def as_array(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """A new array of `data` by the rules of `to_tensor`."""
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(data, TensorBase):
        return np.array(interpreter.unwrap(data), dtype=wanted)
    if isinstance(data, np.ndarray | np.generic):
        array = np.array(data)
    else:
        if isinstance(data, list | tuple):
            data = _plain(data)
        try:
            array = np.array(data)
        except ValueError:
            raise ShapeError("to_tensor needs nested sequences of equal lengths") from None
        if array.dtype.kind == "O" and all(isinstance(number, int) for number in array.flat):
            largest = max(array.flat, key=abs)
            raise NumberError(f"{largest} is out of range for {(wanted or np.dtype('int64')).name}")
        if wanted is not None and array.dtype.kind in "biufc":
            return fitting(array, wanted)
        if wanted is None:
            if array.dtype.kind == "f":
                wanted = default_dtype()
            elif array.dtype.kind == "c":
                wanted = np.promote_types(default_dtype(), "complex64")
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"to_tensor cannot make a tensor of {type(data).__name__} ({array.dtype.name})")
    return array if wanted is None else _cast(array, wanted)


def fitting(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """An array of Python numbers, or of what is computed from them, as one of `dtype`.

    Raises
    ------
    NumberError
        If it is an integer dtype that cannot hold one of them.
    """
    if dtype.kind in "iu" and array.dtype.kind in "iuf" and array.dtype != dtype and array.size:
        for number in (array.min(), array.max()):
            as_number(number.item(), dtype)
    return _cast(array, dtype)


def _cast(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """As ``array.astype(dtype)``, without a warning where a number becomes infinite, or is no number of the dtype."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype, copy=False)


def is_in_order(array: np.ndarray[Any, Any] | None) -> bool:
    """True if results computed from `array` are contiguous: it is contiguous itself, or one number shown everywhere."""
    return array is None or array.flags.c_contiguous or not any(array.strides)


def _plain(data: Any) -> Any:
    """Nested sequences with tensors in them as nested sequences of arrays."""
    if isinstance(data, list | tuple):
        return [_plain(part) for part in data]
    return interpreter.unwrap(data) if isinstance(data, TensorBase) else data


def several_elements(shape: Sequence[Any], use: str) -> str:
    """What to say of a tensor of which `use` needs the only element, while it has another number of them."""
    return f"{use} of a tensor needs exactly one element, got shape {list(shape)}"


def element_of(array: np.ndarray[Any, Any], index: tuple[int, ...] = (), use: str = "item()") -> Any:
    """The single element, or the one at `index`, as Python number.

    Raises
    ------
    ShapeError
        If there is no `index` and more than one element, or none.
    IndexOutOfRangeError
        If there is no such element.
    """
    if not index and array.size != 1:
        raise ShapeError(several_elements(array.shape, use), kind="S02")
    try:
        return array.item(*index)
    except (IndexError, ValueError):
        shown = ", ".join(map(str, index))
        raise IndexOutOfRangeError(f"item({shown}) of a tensor of shape {list(array.shape)}") from None


def check_nan(op: str, result: Any, *operands: Any) -> None:
    """Raise AnomalyError if there is a NaN in `result`, what `op` gave for these arrays."""
    if _has_nan(result):
        whose = "one of its operands has already" if any(map(_has_nan, operands)) else "none of its operands has"
        shown = ", ".join(map(str, np.shape(result)))
        raise AnomalyError(f"{op} gave nan, which {whose}: {np.asarray(result).dtype.name}[{shown}]")


def _has_nan(array: Any) -> bool:
    array = np.asarray(array)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def as_number(value: Any, dtype: DType) -> Any:
    """A Python number as a NumPy scalar of `dtype`; infinite where it is too large for floating point numbers.

    Raises
    ------
    NumberError
        If the dtype cannot hold it.
    """
    try:
        # Most numbers are like this, and a context takes time.
        if (type(value) is float or type(value) is int) and -LARGEST_HALF <= value <= LARGEST_HALF:
            return dtype.type(value)
        with np.errstate(over="ignore"):
            return dtype.type(value)
    except (OverflowError, ValueError):
        raise NumberError(f"{value} is out of range for {dtype.name}") from None
