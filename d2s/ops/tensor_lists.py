"""Lists of tensors under Paddle's names for programs of its static mode: `create_array`, `array_write`, `array_read`.

A list is a Python list; the places in it are Python numbers or tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.errors import DTypeError, IndexOutOfRangeError
from d2s.ops.annotations import Tensor, is_tensor
from d2s.ops.promotion import tensor_or_number


def create_array(dtype: Any, initialized_list: Sequence[Tensor] | None = None) -> list[Tensor]:
    """A list of tensors, empty or a copy of another; its `dtype` is that of what is written."""
    found = list(initialized_list or ())
    for one in found:
        if not is_tensor(one):
            raise DTypeError(f"create_array needs a list of tensors, got {type(one).__name__} in it")
    return found


def array_write(x: Tensor, i: Any, array: list[Tensor] | None = None) -> list[Tensor]:
    """
    Put `x` in place `i` of a list: over what is there, or at the end.

    Parameters
    ----------
    x : Tensor
    i : int or integer tensor of one element
    array : list of Tensor, optional
        A new one if left out.

    Returns
    -------
    list of Tensor
        The same list.

    Raises
    ------
    IndexOutOfRangeError
        If the place lies after the end.
    """
    array = [] if array is None else array
    place = _place(i)
    if place > len(array) or place < 0:
        raise IndexOutOfRangeError("array_write to a place after the end of its list",
                                   advice="A list grows by one at its end, which is place array_length(array).")
    # Puts it over what is there or at the end, also where only the run knows which of them.
    array[place : place + 1] = [x]
    return array


def array_read(array: list[Tensor], i: Any) -> Tensor:
    """The tensor in place `i` (an int, or an integer tensor of one element) of a list."""
    place = _place(i)
    if not 0 <= place < len(array):
        raise IndexOutOfRangeError("array_read of a place that its list does not have")
    return array[place]


def array_length(array: list[Tensor]) -> Tensor:
    """Number of tensors in a list, as a tensor (int64, 0-d)."""
    return tensor_or_number(np.asarray(len(array)))


def _place(i: Any) -> int:
    return int(i.known_value().item()) if is_tensor(i) else int(i)
