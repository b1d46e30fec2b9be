"""What ``Tensor(...)`` is called with, in either mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.device import check_device
from d2s.errors import DTypeError, ShapeError

# Names of the first argument.
_DATA = ("value", "data")
# For programs that say how memory is to be held.
_IGNORED = ("persistable", "zero_copy")


def data_and_dtype(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, tuple[int, ...] | None]:
    """The data that a tensor is to be made of and its dtype, for `to_tensor`; and its shape, if only that is given.

    Raises
    ------
    DTypeError
        If the arguments are of no form that is known.
    """
    for name in ("place", "device"):
        if named.get(name) is not None:
            check_device(named[name])
    data = [name for name in named if name in _DATA]
    for name in named:
        if name not in (*_DATA, *_IGNORED, "place", "device"):
            raise DTypeError(f"Tensor() got an unexpected keyword argument {name!r}")
    if len(data) + bool(given) > 1:
        raise DTypeError("Tensor() got its data twice")
    if data:
        return (*_checked(named[data[0]], always_float=data == ["data"]), None)
    if len(given) == 2 and not _is_size(given[0]):
        check_device(given[1])
        given = given[:1]
    if all(map(_is_size, given)):
        return None, "float32", _shape(given)
    if len(given) > 1:
        raise DTypeError("Tensor() takes one list, array or tensor, or sizes")
    return (*_checked(given[0], always_float=False), None)


def _checked(data: Any, always_float: bool) -> tuple[Any, Any]:
    kind = _kind(data)
    is_array = issubclass(kind, TensorBase | np.ndarray)
    if not is_array and not issubclass(kind, list | tuple):
        raise DTypeError(
            f"Tensor() takes a list, an array, a tensor or sizes, got {kind.__name__}",
            advice="d2s.to_tensor(...) makes a tensor of a number.")
    return data, None if is_array and not always_float else "float32"


def _kind(thing: Any) -> type:
    """The class of `thing`, also of one that is known only when the Program runs."""
    if hasattr(type(thing), "is_symbolic_size"):
        return thing.value.kind or object
    return type(thing)


def _is_size(thing: Any) -> bool:
    return _kind(thing) is int


def _shape(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    for size in sizes:
        if isinstance(size, int) and size < 0:
            raise ShapeError(f"Tensor() needs sizes from 0 on, got {size}")
    return sizes or (0,)
