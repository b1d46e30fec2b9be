"""Axes and sizes as arguments: checked, counted from the front, and in one form."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import ndim_of
from d2s.core.spec import Dim, Shape, Size
from d2s.errors import DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.annotations import is_tensor
from d2s.words import counted


def axis_index(axis: Any, of: Any, what: str = "axis") -> int:
    """`axis` of a tensor, an array or a spec, or of so many axes, counted from the front.

    A 0-d tensor is taken to have one axis, as Paddle does.

    Raises
    ------
    IndexOutOfRangeError
        If there is no such axis.
    DTypeError
        If it is no integer, or `of` no tensor.
    """
    ndim = of if isinstance(of, int) else ndim_of(of)
    number = _integer(axis, what)
    axes = max(ndim, 1)
    if not -axes <= number < axes:
        raise IndexOutOfRangeError(
            f"{what} {number} is out of range for a tensor of {counted(ndim, 'axis', 'axes')}", kind="I02")
    return number % axes


def own_axis(axis: Any, x: Any) -> int:
    """As `axis_index`, of a tensor that must have axes.

    Raises
    ------
    ShapeError
        If it has none.
    """
    place = axis_index(axis, x)
    if not x.ndim:
        raise ShapeError(f"a tensor of shape [] has no axis {axis}")
    return place


def need_axes(name: str, x: Any, axes: Sequence[str]) -> None:
    """Refuse what is no tensor, or has not these axes.

    Raises
    ------
    DTypeError, ShapeError
    """
    if ndim_of(x) != len(axes):
        raise ShapeError(f"{name} needs a tensor of {len(axes)} axes ({', '.join(axes)}), got shape {x.shape}")


def axis_indices(axis: Any, of: Any) -> tuple[int, ...] | None:
    """Axes of a reduction of a tensor, or of so many axes, ascending and counted from the front; None: all of them.

    Raises
    ------
    IndexOutOfRangeError
        If there is no such axis.
    ShapeError
        If one is named twice.
    """
    ndim = of if isinstance(of, int) else ndim_of(of)
    if axis is None:
        return None
    if is_tensor(axis) and axis.ndim == 1:
        axis = integers(axis)
    if isinstance(axis, list | tuple):
        found = tuple(sorted(axis_index(one, ndim) for one in axis))
        if len(set(found)) != len(found):
            raise ShapeError(f"axis {list(axis)} names an axis twice")
        # Paddle reads an empty list as all axes.
        return found if found and ndim else None
    found = (axis_index(axis, ndim),)
    return found if ndim else None


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"{what} must be an int, got {type(value).__name__}") from None


def is_symbolic(value: Any) -> bool:
    """True for a size that is known only when the Program runs."""
    return isinstance(value, Dim) or getattr(type(value), "is_symbolic_size", False)


def size_argument(value: Any, what: str = "a size") -> Any:
    """One size: an int, or a symbolic one as it is.  0-d integer tensors are read.

    Raises
    ------
    DTypeError
        If it is neither.
    """
    if type(value) is int or is_symbolic(value):
        return value
    if is_tensor(value):
        if value.dtype.kind not in "iu":
            raise DTypeError(f"{what} must be an int, got a tensor of {value.dtype.name}")
        return value.item()
    return _integer(value, what)


def own_axes(axes: Any, x: Any) -> tuple[int, ...]:
    """Several axes of a tensor, or one, counted from the front, in the order given."""
    return tuple(axis_index(axis, x) for axis in (axes if isinstance(axes, list | tuple | range) else [axes]))


def integers(values: Any, what: str = "a size") -> tuple[Any, ...]:
    """Several ints (or symbolic ones): from a sequence, an integer tensor of one axis, or a single one."""
    is_array = is_tensor(values) or isinstance(values, np.ndarray)
    if isinstance(values, list | tuple | range) or (is_array and values.ndim):
        return tuple(size_argument(value, what) for value in values)
    return (size_argument(values, what),)


def known_integers(values: Any, what: str) -> tuple[int, ...]:
    """The same, of which Python needs to know the values."""
    return tuple(map(operator.index, integers(values, what)))


def known_count(parts: Any) -> Any:
    """A number of parts, of which Python needs to know how many there are; other ways to give them as they are."""
    return operator.index(parts) if is_symbolic(parts) else parts


def shape_argument(shape: Any) -> tuple[Any, ...]:
    """A shape given as sequence, tensor or int.

    Raises
    ------
    DTypeError
        If a size is no integer.
    ShapeError
        If a size is negative.
    """
    sizes = integers(shape)
    if any(type(size) is int and size < 0 for size in sizes):
        raise ShapeError(f"a shape cannot have negative sizes, got {list(sizes)}")
    return sizes


def reduced_shape(shape: Shape, axes: Sequence[int] | None, keepdim: bool) -> Shape:
    """Shape after a reduction over `axes` (None: all)."""
    if axes is None:
        return (1,) * len(shape) if keepdim else ()
    if keepdim:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def sizes_agree(first: Size, second: Size) -> bool:
    """False if two sizes are known to differ."""
    return first == second or isinstance(first, Dim) or isinstance(second, Dim)


def number_of_elements(shape: Iterable[Size]) -> Size:
    """Product of the sizes; a new Dim if it depends on one."""
    total = 1
    unknown: list[Dim] = []
    for size in shape:
        if isinstance(size, Dim):
            unknown.append(size)
        else:
            total *= size
    if not unknown or total == 0:
        return total
    return unknown[0] if len(unknown) == 1 and total == 1 else Dim()
