"""What an index is to an op: a *template* with index tensors in its gaps, and the shape that it gives.

A template is a tuple of ints, slices, None, Ellipsis, and `IndexInput(k)` where the k-th index tensor goes.  Index
tensors (ints or a bool mask) are inputs of the op, so that they may be known at run time only.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from d2s.core.spec import Dim, Shape, Size, TensorSpec, broadcast_shapes, spec_of
from d2s.errors import DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.annotations import is_tensor
from d2s.ops.axes import is_symbolic, size_argument
from d2s.ops.joining import stack
from d2s.ops.promotion import tensor_or_number


@dataclass(frozen=True, slots=True)
class IndexInput:
    """Stands in an index template for the index tensor number `position`."""

    position: int


Template: TypeAlias = tuple["int | Dim | slice | EllipsisType | IndexInput | None", ...]


def filled(index: Template, tensors: Sequence[Any]) -> Any:
    """The template with the index tensors in their places."""
    return tuple([tensors[part.position] if type(part) is IndexInput else part for part in index])


def indexed_shape(shape: Shape, index: Template, tensors: Sequence[TensorSpec]) -> Shape:
    """
    Shape of ``x[index]``.

    Raises
    ------
    IndexOutOfRangeError
        If there are more indices than axes, or an int lies outside its axis.
    ShapeError
        If a mask does not have the shape of the axes it stands for, or index tensors do not broadcast.
    """
    parts = _expanded(shape, filled(index, tensors))
    # With an index tensor in it NumPy treats ints as index tensors too.
    is_advanced = any(isinstance(part, TensorSpec) for part, _ in parts)
    result: list[Size] = []
    pointed: list[Shape] = []
    places: list[int] = []
    for position, (part, sizes) in enumerate(parts):
        if isinstance(part, TensorSpec):
            pointed.append(_pointed_shape(part, sizes))
        elif part is None:
            result.append(1)
            continue
        elif isinstance(part, slice):
            result.append(_sliced_size(part, sizes[0]))
            continue
        else:
            _check_index(part, sizes[0], shape)
            if not is_advanced:
                continue
            pointed.append(())
        places.append(position if not places or position == places[-1] + 1 else -1)
        if len(places) == 1:
            start = len(result)
    if not is_advanced:
        return tuple(result)
    if -1 in places:
        start = 0
    return (*result[:start], *broadcast_shapes(*pointed, what="index tensors"), *result[start:])


def _expanded(shape: Shape, index: Sequence[Any]) -> list[tuple[Any, Shape]]:
    """The parts of an index, each with the sizes of the axes that it consumes; every axis is consumed."""
    consumed = [_axes_consumed(part) for part in index]
    missing = len(shape) - sum(consumed)
    if missing < 0:
        raise IndexOutOfRangeError(f"too many indices: {sum(consumed)} for a tensor of shape {list(shape)}")
    ellipsis = [position for position, part in enumerate(index) if part is Ellipsis]
    if len(ellipsis) > 1:
        raise IndexOutOfRangeError("an index can have one ellipsis ('...') only")
    place = ellipsis[0] if ellipsis else len(index)
    whole = [slice(None)] * missing
    result, axis = [], 0
    for part in (*index[:place], *whole, *index[place + 1 :]):
        count = _axes_consumed(part)
        result.append((part, shape[axis : axis + count]))
        axis += count
    return result


def _axes_consumed(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, TensorSpec) and part.dtype.kind == "b" else 1


def _pointed_shape(tensor: TensorSpec, sizes: Shape) -> Shape:
    """What an index tensor contributes to the broadcast of all of them."""
    if tensor.dtype.kind != "b":
        return tensor.shape
    for size, own in zip(sizes, tensor.shape, strict=True):
        if size != own and isinstance(size, int) and isinstance(own, int):
            raise IndexOutOfRangeError(f"a mask of shape {list(tensor.shape)} does not fit axes of sizes {list(sizes)}")
    return (Dim(),)


def _check_index(index: Any, size: Size, shape: Shape) -> None:
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise IndexOutOfRangeError(f"index {index} is out of range for an axis of size {size} (shape {list(shape)})")


def _sliced_size(part: slice, size: Size) -> Size:
    bounds = (part.start, part.stop, part.step)
    if part.step == 0:
        raise ShapeError("the step of a slice cannot be 0")
    if bounds in ((None, None, None), (0, None, None), (None, None, 1)):
        return size
    if bounds == (None, None, -1):
        return size
    if any(isinstance(bound, Dim) for bound in bounds):
        return Dim()
    if isinstance(size, Dim):
        return _from_an_end(part, 0 if size.may_be_one else 2)
    return len(range(*part.indices(size)))


def _from_an_end(part: slice, known: int) -> Size:
    """The size of the first or last elements of an axis of at least `known`; a new Dim if it depends on the rest."""
    start, stop, step = part.start, part.stop, part.step
    if step in (None, 1):
        if start in (None, 0) and stop is not None and 0 <= stop <= known:
            return int(stop)
        if stop is None and start is not None and -known <= start < 0:
            return -int(start)
    return Dim()


@dataclass(frozen=True, slots=True)
class Index:
    """A template with its index tensors."""

    template: Template
    tensors: tuple[Any, ...] = ()

    def is_single(self, part: Any) -> bool:
        """True for a part that picks one place of one axis: an int, or a 0-d tensor of ints."""
        if type(part) is IndexInput:
            tensor = self.tensors[part.position]
            return not tensor.ndim and tensor.dtype.kind != "b"
        return isinstance(part, int) or is_symbolic(part)

    def steps(self) -> tuple[Index, ...]:
        """
        The index as NumPy has to be asked for it: in one step, or the single places first and then the rest.

        To NumPy an int beside index tensors is one of them: ``x[0, :, [1, 2]]`` has the axis of the list in front.  To
        Paddle and PyTorch it picks a part first, and the list stays where it stands.
        """
        singles = [self.is_single(part) for part in self.template]
        if not any(singles) or not any(
            type(part) is IndexInput and not single for part, single in zip(self.template, singles, strict=True)
        ):
            return (self,)
        first: list[Any] = []
        rest: list[Any] = []
        for part, single in zip(self.template, singles, strict=True):
            if single:
                first.append(part)
                continue
            rest.append(part)
            if part is Ellipsis:
                first.append(part)
            elif part is not None:
                shown = spec_of_input(self.tensors[part.position]) if type(part) is IndexInput else part
                first += [slice(None)] * _axes_consumed(shown)
        return self._renumbered(first), self._renumbered(rest)

    def _renumbered(self, parts: list[Any]) -> Index:
        tensors: list[Any] = []
        for place, part in enumerate(parts):
            if type(part) is IndexInput:
                parts[place] = IndexInput(len(tensors))
                tensors.append(self.tensors[part.position])
        return Index(tuple(parts), tuple(tensors))


def index_of(index: Any) -> Index:
    """An index as the user wrote it.

    Raises
    ------
    DTypeError
        If a part is neither int, slice, None, Ellipsis, bool nor a tensor, array or list of ints or bools.
    """
    if type(index) is int:
        return Index((index,))
    template: list[Any] = []
    tensors: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if type(part) is int or part is None or part is Ellipsis or is_symbolic(part):
            template.append(part)
        elif isinstance(part, slice):
            template.append(slice(_bound(part.start), _bound(part.stop), _bound(part.step)))
        elif _is_integer(part):
            template.append(operator.index(part))
        else:
            template.append(IndexInput(len(tensors)))
            tensors.append(_index_tensor(part))
    return Index(tuple(template), tuple(tensors))


def _is_integer(part: Any) -> bool:
    """True for what Python takes for an integer: also members of an IntEnum and others that have `__index__`."""
    if isinstance(part, bool | np.bool_ | np.ndarray) or is_tensor(part):
        return False
    return hasattr(type(part), "__index__")


def _bound(bound: Any) -> Any:
    return None if bound is None else size_argument(bound, "a bound of a slice")


def _index_tensor(part: Any) -> Any:
    if isinstance(part, list | tuple | range):
        if any(is_tensor(one) for one in part):
            part = stack([tensor_or_number(one) for one in part])
        else:
            part = np.asarray(part) if len(part) else np.zeros(0, np.int64)
    elif isinstance(part, bool | np.bool_ | np.ndarray):
        # Of an array a copy: backward reads it again.
        part = np.array(part)
    kind = part.dtype.kind if is_tensor(part) or isinstance(part, np.ndarray) else None
    if kind is None or kind not in "iub":
        name = type(part).__name__ if kind is None else part.dtype.name
        raise DTypeError(
            f"an index must be int, slice, None, ..., or a tensor, array or list of ints or bools, got {name}"
        )
    return part


def spec_of_input(value: Any) -> TensorSpec:
    spec: TensorSpec = value.spec if is_tensor(value) else spec_of(value)
    return spec
