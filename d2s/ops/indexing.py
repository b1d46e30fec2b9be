"""``x[...]`` and ``x[...] = value``, with every kind of index that NumPy has; see `Index.steps` for one difference.

The index of an op is a *template*: a tuple of ints, slices, None, Ellipsis, and `IndexInput(k)` where the k-th index
tensor goes.  Index tensors (ints or a bool mask) are inputs of the op, so that they may be known at run time only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import Dim, Shape, Size, TensorSpec, broadcast_shapes, spec_of
from d2s.errors import DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.annotations import Array, Tensor, is_tensor
from d2s.ops.axes import is_symbolic, size_argument, sizes_agree
from d2s.ops.casting import cast
from d2s.ops.joining import stack
from d2s.ops.promotion import as_dtype_of, tensor_or_number
from d2s.ops.shape import reshape


@dataclass(frozen=True, slots=True)
class IndexInput:
    """Stands in an index template for the index tensor number `position`."""

    position: int


Template: TypeAlias = tuple["int | Dim | slice | EllipsisType | IndexInput | None", ...]


def filled(index: Template, tensors: Sequence[Any]) -> Any:
    """The template with the index tensors in their places."""
    return tuple([tensors[part.position] if type(part) is IndexInput else part for part in index])


# --- what is known of the result -----------------------------------------------------------------------------------


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
    if isinstance(size, Dim) or any(isinstance(bound, Dim) for bound in bounds):
        return Dim()
    return len(range(*part.indices(size)))


# --- the ops -------------------------------------------------------------------------------------------------------


def _infer_getitem(x: TensorSpec, *tensors: TensorSpec, index: Template) -> TensorSpec:
    return TensorSpec(indexed_shape(x.shape, index, tensors), x.dtype)


@define_op("getitem", infer=_infer_getitem, saves=("tensors",))
def getitem_op(x: Array, *tensors: Array, index: Template) -> Any:
    """Read ``x[index]``."""
    try:
        return x[filled(index, tensors)]
    except IndexError as error:
        raise IndexOutOfRangeError(f"{error} (shape {list(x.shape)})") from None


def _infer_put(g: TensorSpec, *tensors: TensorSpec, index: Template, shape: Shape) -> TensorSpec:
    return TensorSpec(shape, g.dtype)


@define_op("put", infer=_infer_put, saves=("tensors",))
def put_op(g: Array, *tensors: Array, index: Template, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with `g` added at `index`: an element pointed at several times gets the sum."""
    result = np.zeros(shape, g.dtype)
    if any(tensor.dtype.kind != "b" for tensor in tensors):
        np.add.at(result, filled(index, tensors), g)
    else:
        result[filled(index, tensors)] = g
    return result


getitem_op.vjp(lambda g, out, x, *tensors, index: bind(put_op, g, *tensors, index=index, shape=tuple(x.shape)))
put_op.vjp(lambda g, out, x, *tensors, index, shape: bind(getitem_op, g, *tensors, index=index))


def _infer_setitem(x: TensorSpec, value: TensorSpec, *tensors: TensorSpec, index: Template) -> TensorSpec:
    target = indexed_shape(x.shape, index, tensors)
    if value.dtype != x.dtype:
        raise DTypeError(f"cannot write {value.dtype.name} into a tensor of {x.dtype.name}")
    fits = value.ndim <= len(target) and all(
        size == 1 or sizes_agree(size, wanted)
        for size, wanted in zip(reversed(value.shape), reversed(target), strict=False)
    )
    if not fits:
        raise ShapeError(f"cannot write a value of shape {list(value.shape)} into a part of shape {list(target)}")
    return x


@define_op("setitem", infer=_infer_setitem, saves=("tensors",))
def setitem_op(x: Array, value: Array, *tensors: Array, index: Template) -> Array:
    """A copy of `x` with `value` written at `index`."""
    result = np.array(x)
    try:
        result[filled(index, tensors)] = value
    except IndexError as error:
        raise IndexOutOfRangeError(f"{error} (shape {list(x.shape)})") from None
    return result


def _infer_written_last(*tensors: TensorSpec, index: Template, shape: Shape) -> TensorSpec:
    return TensorSpec(indexed_shape(shape, index, tensors), np.dtype(bool))


@define_op("written_last", infer=_infer_written_last)
def written_last_op(*tensors: Array, index: Template, shape: tuple[int, ...]) -> Any:
    """Which elements of a value written at `index` stay: those not overwritten by a later one."""
    place = filled(index, tensors)
    writer = np.zeros(shape, np.int64)
    numbers = np.arange(writer[place].size).reshape(writer[place].shape)
    writer[place] = numbers
    return writer[place] == numbers


def _gradient_of_value(g: Tensor, tensors: Sequence[Any], index: Template) -> Tensor:
    picked = bind(getitem_op, g, *tensors, index=index)
    if any(tensor.dtype.kind != "b" and tensor.ndim for tensor in tensors):
        picked = picked * cast(bind(written_last_op, *tensors, index=index, shape=tuple(g.shape)), g.dtype)
    return picked


setitem_op.vjp(
    lambda g, out, x, value, *tensors, index: bind(setitem_op, g, g.dtype.type(0), *tensors, index=index),
    lambda g, out, x, value, *tensors, index: _gradient_of_value(g, tensors, index),
)


# --- from Python's index to a template -----------------------------------------------------------------------------


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
                shown = _spec(self.tensors[part.position]) if type(part) is IndexInput else part
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
        elif isinstance(part, np.integer):
            template.append(int(part))
        else:
            template.append(IndexInput(len(tensors)))
            tensors.append(_index_tensor(part))
    return Index(tuple(template), tuple(tensors))


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


def _spec(value: Any) -> TensorSpec:
    spec: TensorSpec = value.spec if is_tensor(value) else spec_of(value)
    return spec


def _read(x: Tensor, index: Index) -> Tensor:
    return bind(getitem_op, x, *index.tensors, index=index.template)


def _written(x: Tensor, index: Index, value: Any) -> Tensor:
    """A copy of `x` with `value` written at `index`, which takes one step."""
    sizes = _spec(value).shape
    if sizes and sizes[0] == 1:
        # Axes of size 1 in front of those of the part written do not count.
        target = indexed_shape(x.spec.shape, index.template, [_spec(tensor) for tensor in index.tensors])
        surplus = sizes[: max(len(sizes) - len(target), 0)]
        if surplus and all(size == 1 for size in surplus):
            value = reshape(value, value.shape[len(surplus) :])
    return bind(setitem_op, x, value, *index.tensors, index=index.template)


def getitem(x: Tensor, index: Any) -> Tensor:
    """``x[index]``: a basic index gives part of the tensor, an index tensor gathers, a mask selects."""
    if type(index) is int:
        return bind(getitem_op, x, index=(index,))
    for step in index_of(index).steps():
        x = _read(x, step)
    return x


def with_item(x: Tensor, index: Any, value: Any) -> Tensor:
    """
    A copy of `x` with `value` written at `index`; what ``x[index] = value`` makes of `x`.

    Parameters
    ----------
    x : Tensor
    index : int, slice, None, Ellipsis, tensor, array or list of ints or bools, or a tuple of these
    value : Tensor, array or number
        Broadcast to the part written; cast to the dtype of `x`.

    Returns
    -------
    Tensor, of the shape and dtype of `x`

    Raises
    ------
    ShapeError
        If the value does not broadcast to the part written.
    IndexOutOfRangeError
        If an index lies outside its axis.
    """
    value = as_dtype_of(tensor_or_number(value, "the value written"), x.dtype)
    first, *rest = index_of(index).steps()
    if rest:
        value = _written(_read(x, first), rest[0], value)
    return _written(x, first, value)
