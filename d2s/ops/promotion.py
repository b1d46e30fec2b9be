"""Which dtype the operands of an op are brought to: Paddle's rules, in one table.

=================  =========================================  ===========================
tensor             with                                       gives
=================  =========================================  ===========================
float, complex     Python or NumPy number (not complex)       the tensor's dtype
integer            Python or NumPy int, bool                  the tensor's dtype
integer, bool      Python or NumPy float                      the default dtype (float32)
bool               int / bool                                 int64 / bool
any                complex                                    complex of the same width
float32            float64                                    float64
any float          integer or bool tensor                     that float
integer            another integer tensor                     NumPy's, but never a float
with axes          a tensor of the same kind without axes     the dtype of the one with axes,
                                                              but for `where`, `maximum`, `minimum`
=================  =========================================  ===========================

A NumPy array counts as a tensor.  True division and functions like `exp` bring integers to the default dtype.
"""

from __future__ import annotations

import numbers
from functools import cache
from typing import Any

import numpy as np

from d2s.core.arrays import LARGEST_HALF, as_number, no_operand
from d2s.core.interpreter import TensorBase, bind
from d2s.core.spec import DType, default_dtype
from d2s.errors import DTypeError
from d2s.ops.annotations import Tensor
from d2s.ops.casting import assign_op, cast_op

_BOOL = np.dtype(bool)
_INT64 = np.dtype("int64")


@cache
def promote(first: DType, second: DType) -> DType:
    """Common dtype of two tensors."""
    if first == second or second.kind == "b":
        return first
    if first.kind == "b":
        return second
    exact = first.kind in "iu", second.kind in "iu"
    if exact == (True, False):
        return second
    if exact == (False, True):
        return first
    found = np.promote_types(first, second)
    # int64 with uint64 is float64 to NumPy.
    return _INT64 if all(exact) and found.kind == "f" else found


def promote_all(*dtypes: DType) -> DType:
    """Common dtype of any number of tensors."""
    found = dtypes[0]
    for dtype in dtypes[1:]:
        found = promote(found, dtype)
    return found


def dtype_with_number(dtype: DType, number: Any) -> DType:
    """Common dtype of a tensor of `dtype` and a Python or NumPy number, also one that only the run knows."""
    if hasattr(type(number), "__d2s_operand__"):
        return number.__d2s_operand__(dtype).dtype  # type: ignore[no-any-return]
    if isinstance(number, bool | np.bool_):
        return dtype
    if isinstance(number, numbers.Integral):
        return _INT64 if dtype.kind == "b" else dtype
    if isinstance(number, numbers.Real | np.floating):
        return dtype if dtype.kind in "fc" else default_dtype()
    if dtype.kind == "c":
        return dtype
    return np.promote_types(dtype if dtype.kind == "f" else default_dtype(), "complex64")


def is_number(value: Any) -> bool:
    """True for Python and NumPy numbers and bools."""
    return isinstance(value, int | float | complex | np.number | np.bool_)


def operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands of a binary op, brought to one dtype: tensors, or NumPy scalars.

    Raises
    ------
    DTypeError
        If one is neither a tensor, an array nor a number.
    """
    if isinstance(x, TensorBase):
        if isinstance(y, TensorBase):
            if x.dtype is y.dtype:  # type: ignore[attr-defined]
                return x, y
        elif (type(y) is float or type(y) is int) and -LARGEST_HALF <= y <= LARGEST_HALF:
            dtype = x.dtype  # type: ignore[attr-defined]
            if dtype.kind == "f":
                return x, dtype.type(y)
    elif (type(x) is float or type(x) is int) and -LARGEST_HALF <= x <= LARGEST_HALF and isinstance(y, TensorBase):
        dtype = y.dtype  # type: ignore[attr-defined]
        if dtype.kind == "f":
            return dtype.type(x), y
    return _brought_together(x, y)


def equal_operands(x: Any, y: Any) -> tuple[Any, Any]:
    """As `operands`, for ops that choose between them: a tensor without axes counts as any other."""
    if isinstance(x, TensorBase) and isinstance(y, TensorBase):
        dtype = promote(x.dtype, y.dtype)  # type: ignore[attr-defined]
        return as_dtype_of(x, dtype), as_dtype_of(y, dtype)
    return operands(x, y)


def float_operands(x: Any, y: Any) -> tuple[Any, Any]:
    """As `operands`, but integers and bools become the default dtype: for true division and its like."""
    x, y = operands(x, y)
    if x.dtype.kind in "fc":
        return x, y
    dtype = default_dtype()
    return as_dtype_of(x, dtype), as_dtype_of(y, dtype)


def _brought_together(x: Any, y: Any) -> tuple[Any, Any]:
    x, y = (part.__d2s_array__() if hasattr(type(part), "__d2s_array__") else part for part in (x, y))
    symbolic = hasattr(type(x), "__d2s_operand__"), hasattr(type(y), "__d2s_operand__")
    if symbolic[0] and symbolic[1]:
        return x.__d2s_operand__(default_dtype()), y.__d2s_operand__(default_dtype())
    if symbolic[1]:
        x = tensor_or_number(x)
        y = y.__d2s_operand__(x.dtype, x)
        return as_dtype_of(x, y.dtype), y
    if symbolic[0]:
        y = tensor_or_number(y)
        x = x.__d2s_operand__(y.dtype, y)
        return x, as_dtype_of(y, x.dtype)
    if is_number(y):
        x = tensor_or_number(x)
        dtype = dtype_with_number(x.dtype, y)
    elif is_number(x):
        y = tensor_or_number(y)
        dtype = dtype_with_number(y.dtype, x)
    else:
        x, y = tensor_or_number(x), tensor_or_number(y)
        dtype = _promote_by_axes(x, y)
    return as_dtype_of(x, dtype), as_dtype_of(y, dtype)


def _promote_by_axes(x: Any, y: Any) -> DType:
    """Common dtype of two tensors; of one kind, that of the one with axes, if the other has none."""
    if x.dtype.kind == y.dtype.kind or {x.dtype.kind, y.dtype.kind} == {"i", "u"}:
        if x.ndim and not y.ndim:
            return x.dtype  # type: ignore[no-any-return]
        if y.ndim and not x.ndim:
            return y.dtype  # type: ignore[no-any-return]
    return promote(x.dtype, y.dtype)


def as_dtype_of(value: Any, dtype: DType) -> Any:
    """A tensor or number as the same thing of `dtype`; tensors by a cast op, so that gradients come back."""
    if isinstance(value, TensorBase):
        return value if value.dtype == dtype else bind(cast_op, value, dtype=dtype)  # type: ignore[attr-defined]
    return as_number(value, dtype)


def value_in(value: Any, dtype: DType, what: str = "the value") -> Any:
    """What goes into a tensor of `dtype`, as input of an op: tensors are cast, a Python number has to fit.

    Raises
    ------
    DTypeError
        If it is neither a tensor, an array nor a number.
    NumberError
        If the dtype cannot hold it.
    """
    if isinstance(value, int | float):
        return as_number(value, dtype)
    return as_dtype_of(tensor_or_number(value, what), dtype)


def tensor_or_number(value: Any, what: str = "an operand", dtype: DType | None = None) -> Any:
    """`value` as input of an op: arrays become tensors (copies, as by `to_tensor`), numbers NumPy scalars.

    A number that only the run knows becomes one of `dtype`, by default the default dtype, if that can hold its kind.

    Raises
    ------
    DTypeError
        If it is neither a tensor, an array nor a number.
    """
    if isinstance(value, TensorBase):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biufc":
            return bind(assign_op, value)
        raise DTypeError(f"{what} must hold numbers, got an array of dtype {value.dtype.name}")
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return value
    if hasattr(type(value), "__d2s_operand__"):
        found = value.__d2s_array__()
        return found if found is not value else value.__d2s_operand__(dtype or default_dtype())
    if is_number(value):
        return dtype_with_number(_BOOL, value).type(value)
    raise no_operand(value, what)


def floating(x: Any, what: str = "the input") -> Tensor:
    """`x` as input of a function of real numbers: integers and bools become the default dtype.

    Raises
    ------
    DTypeError
        If it is neither a tensor, an array nor a number.
    """
    if not isinstance(x, TensorBase):
        x = tensor_or_number(x, what)
    if x.dtype.kind in "fc":
        return x
    return as_dtype_of(x, default_dtype())
