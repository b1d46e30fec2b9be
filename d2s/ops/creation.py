"""Tensors from nothing: ops without tensor inputs, so that a traced function makes them anew on each run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.core.arrays import as_number, fitting, need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public, sizes_one_by_one
from d2s.core.spec import Dim, DType, TensorSpec, as_dtype, default_dtype
from d2s.device import check_device
from d2s.errors import DTypeError, NotSupportedError, ShapeError
from d2s.ops.annotations import Array, Tensor, is_tensor
from d2s.ops.axes import is_symbolic, shape_argument
from d2s.ops.casting import assign_op
from d2s.ops.promotion import as_dtype_of, is_number, tensor_or_number


def _as_float(dtype: Any) -> DType:
    return default_dtype() if dtype is None else as_dtype(dtype)


@define_op("full", infer=lambda *, shape, value, dtype: TensorSpec(shape, dtype))
def full_op(*, shape: tuple[int, ...], value: Any, dtype: DType) -> Array:
    """One value everywhere."""
    return np.full(shape, value, dtype)


@define_op("full_like", infer=lambda x, *, value, dtype: TensorSpec(x.shape, dtype))
def full_like_op(x: Array, *, value: Any, dtype: DType) -> Array:
    """One value everywhere, in the shape of `x`."""
    return np.full(x.shape, value, dtype)


full_like_op.vjp(None)


@define_op("empty", infer=lambda *, shape, dtype: TensorSpec(shape, dtype))
def empty_op(*, shape: tuple[int, ...], dtype: DType) -> Array:
    """Unspecified values: zeros, so that equal Programs give equal results."""
    return np.zeros(shape, dtype)


def _infer_arange(*, start: Any, end: Any, step: Any, dtype: DType) -> TensorSpec:
    if isinstance(start, Dim) or isinstance(end, Dim) or isinstance(step, Dim):
        return TensorSpec((Dim(),), dtype)
    return TensorSpec((max(0, math.ceil((end - start) / step)),), dtype)


@define_op("arange", infer=_infer_arange)
def arange_op(*, start: Any, end: Any, step: Any, dtype: DType) -> Array:
    """Evenly spaced numbers from `start` up to, without, `end`."""
    return fitting(np.arange(start, end, step), dtype)


@define_op("linspace", infer=lambda *, start, stop, num, dtype: TensorSpec((num,), dtype))
def linspace_op(*, start: float, stop: float, num: int, dtype: DType) -> Array:
    """`num` evenly spaced numbers from `start` to `stop`, both included."""
    return fitting(np.linspace(start, stop, num), dtype)


@define_op("logspace", infer=lambda *, start, stop, num, base, dtype: TensorSpec((num,), dtype))
def logspace_op(*, start: float, stop: float, num: int, base: float, dtype: DType) -> Array:
    """Numbers from ``base ** start`` to ``base ** stop``, with the same factor between neighbours."""
    return fitting(np.logspace(start, stop, num, base=base), dtype)


@define_op("eye", infer=lambda *, rows, columns, dtype: TensorSpec((rows, columns), dtype))
def eye_op(*, rows: int, columns: int, dtype: DType) -> Array:
    """Ones on the diagonal, zeros elsewhere."""
    return np.eye(rows, columns, dtype=dtype)


# A view is enough: tensors never write to an array that another one may hold.
@define_op("detach", infer=lambda x: x, in_order=True, template="{0}")
def detach_op(x: Array) -> Array:
    """The same values; no gradient passes."""
    return x


@public(shape="size")
def full(shape: Any, fill_value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """
    A tensor with one value everywhere.

    Parameters
    ----------
    shape : sequence of int, int or integer tensor
    fill_value : number or 0-d tensor
    dtype : dtype, optional
        By default bool for a bool, complex128 for a complex number, else the default dtype, for ints too.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If a size is negative.
    DTypeError
        If a size is no integer or `fill_value` no number.
    """
    sizes = shape_argument(shape)
    if is_tensor(fill_value) or hasattr(type(fill_value), "__d2s_operand__"):
        if dtype is None and getattr(fill_value, "__d2s_kind__", None) is bool:
            dtype = "bool"
        # In the dtype that is wanted at once: float32 would not hold all ints.
        value = tensor_or_number(fill_value, dtype=None if dtype is None else as_dtype(dtype))
        return value.cast(dtype or value.dtype).broadcast_to(sizes)
    if not is_number(fill_value):
        raise DTypeError(f"fill_value must be a number, got {type(fill_value).__name__}")
    if dtype is None and isinstance(fill_value, bool | complex) and not isinstance(fill_value, np.floating):
        dtype = "bool" if isinstance(fill_value, bool) else "complex128"
    wanted = _as_float(dtype)
    as_dtype_of(fill_value, wanted)
    return bind(full_op, shape=sizes, value=fill_value, dtype=wanted)


@public()
def fill_constant(
    shape: Any,
    dtype: Any,
    value: Any,
    force_cpu: bool = False,
    out: None = None,
    place: Any = None,
    name: str | None = None,
) -> Tensor:
    """A tensor with one value everywhere, which may be given as text: see `full`.  `place` must be the CPU.

    Raises
    ------
    NotSupportedError
        If `out` is given: results are new tensors.
    """
    if out is not None:
        raise NotSupportedError("fill_constant(out=...) is not supported: results are new tensors")
    check_device("cpu" if place is None else place)
    return full(shape, float(value) if isinstance(value, str) else value, dtype)


@sizes_one_by_one(0)
@public(shape="size")
def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros of `shape`, by default of the default dtype; see `full`."""
    return bind(full_op, shape=shape_argument(shape), value=0, dtype=_as_float(dtype))


@sizes_one_by_one(0)
@public(shape="size")
def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones of `shape`, by default of the default dtype; see `full`."""
    return bind(full_op, shape=shape_argument(shape), value=1, dtype=_as_float(dtype))


@sizes_one_by_one(0)
@public()
def empty(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose values will be written later; until then they are zeros."""
    return bind(empty_op, shape=shape_argument(shape), dtype=_as_float(dtype))


@public(x="input")
def full_like(x: Tensor, fill_value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """One value everywhere in the shape of `x`, and in its dtype unless `dtype` is given."""
    need_tensors(x)
    wanted = x.dtype if dtype is None else as_dtype(dtype)
    if isinstance(fill_value, int | float):
        as_number(fill_value, wanted)
    return bind(full_like_op, x, value=fill_value, dtype=wanted)


@public(x="input")
def zeros_like(x: Tensor, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros in the shape (and dtype) of `x`."""
    need_tensors(x)
    return full_like(x, 0, dtype)


@public(x="input")
def ones_like(x: Tensor, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones in the shape (and dtype) of `x`."""
    need_tensors(x)
    return full_like(x, 1, dtype)


@public()
def empty_like(x: Tensor, dtype: Any = None, name: str | None = None) -> Tensor:
    """A tensor in the shape (and dtype) of `x` whose values will be written later; until then they are zeros."""
    return full_like(x, 0, dtype)


def _number(value: Any) -> Any:
    """A number given as such or as 0-d tensor."""
    return value.item() if is_tensor(value) or isinstance(value, np.generic) else value


@public()
def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: str | None = None) -> Tensor:
    """
    Evenly spaced numbers from `start` up to, without, `end`; with one argument from 0 up to it.

    Parameters
    ----------
    start, end, step : int, float or 0-d tensor
    dtype : dtype, optional
        By default int64 if all three are integers, else the default dtype.

    Returns
    -------
    Tensor, shape (ceil((end - start) / step),)

    Raises
    ------
    ShapeError
        If `step` is 0.
    """
    if end is None:
        start, end = 0, start
    numbers = [_number(value) for value in (start, end, step)]
    if dtype is None:
        whole = all(is_symbolic(value) or isinstance(value, int | np.integer) for value in numbers)
        dtype = "int64" if whole else default_dtype()
    if not is_symbolic(numbers[2]) and numbers[2] == 0:
        raise ShapeError("arange with step 0 never reaches its end")
    return bind(arange_op, start=numbers[0], end=numbers[1], step=numbers[2], dtype=as_dtype(dtype))


@public(stop="end", num="steps")
def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, both included.  Shape (num,)."""
    (count,) = shape_argument(num)
    return bind(linspace_op, start=_number(start), stop=_number(stop), num=count, dtype=_as_float(dtype))


@public()
def logspace(start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """`num` numbers, evenly spaced in their logarithms, from ``base ** start`` to ``base ** stop``.  Shape (num,)."""
    (count,) = shape_argument(num)
    attrs = {"start": _number(start), "stop": _number(stop), "num": count, "base": _number(base)}
    return bind(logspace_op, **attrs, dtype=_as_float(dtype))


@public(num_rows="n", num_columns="m")
def eye(num_rows: Any, num_columns: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.  Shape (num_rows, num_columns), square if one is left out."""
    rows, columns = shape_argument([num_rows, num_rows if num_columns is None else num_columns])
    return bind(eye_op, rows=rows, columns=columns, dtype=_as_float(dtype))


@public()
def assign(x: Any, output: Any = None) -> Tensor:
    """
    A copy of a tensor, through which gradients pass, or a tensor of an array or number.

    Parameters
    ----------
    x : Tensor, array, number or nested sequence of numbers
    output : Tensor, optional
        Written in place and returned.

    Returns
    -------
    Tensor
    """
    if isinstance(x, list | tuple):
        x = np.asarray(x)
        x = x.astype(default_dtype()) if x.dtype.kind == "f" else x
    copy = bind(assign_op, tensor_or_number(x))
    return copy if output is None else output._assign_version(copy)


@public()
def clone(x: Tensor, name: str | None = None) -> Tensor:
    """A copy of `x`, through which gradients pass."""
    return bind(assign_op, x)


def detach(x: Tensor) -> Tensor:
    """The values of `x` without history: no gradient passes."""
    return bind(detach_op, x)
