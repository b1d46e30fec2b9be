"""Tensors from Python and NumPy data."""

from __future__ import annotations

from typing import Any

from d2s.core.arrays import as_array
from d2s.core.interpreter import current_interpreter
from d2s.device import check_device
from d2s.eager.tensor import tensor_of


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Any:
    """Make a tensor of a number, nested lists, a NumPy array or a Tensor; the data is copied.

    Parameters
    ----------
    data : number, bool, sequence, ndarray or Tensor
        Python floats become the default dtype (float32), ints int64; NumPy arrays keep their dtype.
    dtype : dtype or str, optional
        Element type of the result.
    place : CPUPlace or "cpu", optional
        There is only the CPU.
    stop_gradient : bool
        False if gradients are wanted (then the dtype must be floating point or complex).

    Returns
    -------
    Tensor
        A leaf.

    Raises
    ------
    DTypeError
        If `data` is no array of numbers, or an integer tensor should require gradients.
    ValueError
        If `place` is another one.
    """
    if place is not None:
        check_device(place)
    interpreter = current_interpreter()
    stage = getattr(interpreter, "to_tensor", None)
    if stage is not None:
        return stage(data, dtype, stop_gradient)
    tensor = tensor_of(as_array(data, dtype))
    tensor.stop_gradient = stop_gradient
    return tensor


def as_tensor(data: Any, dtype: Any = None) -> Any:
    """As `to_tensor`: the data is copied, that of a Tensor too, and the result is a leaf without gradient."""
    return to_tensor(data, dtype)


def asarray(obj: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
    """As `to_tensor`: the data is copied, whatever `copy` says."""
    return to_tensor(obj, dtype)
