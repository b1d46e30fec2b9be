"""``x[...]`` and ``x[...] = value``, with every kind of index that NumPy has; see `Index.steps` for one difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Shape, TensorSpec
from d2s.errors import DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_index, integers, own_axis, sizes_agree
from d2s.ops.casting import cast
from d2s.ops.indices import Index, Template, filled, index_of, indexed_shape, spec_of_input
from d2s.ops.promotion import value_in
from d2s.ops.shape import reshape


def _infer_getitem(x: TensorSpec, *tensors: TensorSpec, index: Template) -> TensorSpec:
    return TensorSpec(indexed_shape(x.shape, index, tensors), x.dtype)


def _getitem_template(x: TensorSpec, *tensors: TensorSpec, index: Template) -> str | None:
    parts = []
    for part in index:
        if isinstance(part, slice):
            ends = (part.start, part.stop, part.step)
            if not all(end is None or type(end) is int for end in ends):
                return None
            parts.append(":".join("" if end is None else str(end) for end in ends))
        elif type(part) is int:
            parts.append(str(part))
        else:
            return None
    return f"{{0}}[{', '.join(parts)}]" if parts else None


@define_op("getitem", infer=_infer_getitem, saves=("tensors",), template=_getitem_template)
def getitem_op(x: Array, *tensors: Array, index: Template) -> Any:
    """Read ``x[index]``."""
    try:
        return x[filled(index, tensors)]
    except IndexError as error:
        raise IndexOutOfRangeError(f"{error} (shape {list(x.shape)})") from None


def _infer_put(g: TensorSpec, *tensors: TensorSpec, index: Template, shape: Shape) -> TensorSpec:
    _check_fits(g, indexed_shape(shape, index, tensors))
    return TensorSpec(shape, g.dtype)


def _check_fits(value: TensorSpec, target: Shape) -> None:
    """Refuse a value that does not broadcast to the part of a tensor that it goes to."""
    fits = value.ndim <= len(target) and all(
        size == 1 or sizes_agree(size, wanted)
        for size, wanted in zip(reversed(value.shape), reversed(target), strict=False)
    )
    if not fits:
        raise ShapeError(f"cannot write a value of shape {list(value.shape)} into a part of shape {list(target)}")


@define_op("put", infer=_infer_put, saves=("tensors",), fresh=True, in_order=True)
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
    _check_fits(value, target)
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


def _read(x: Tensor, index: Index) -> Tensor:
    return bind(getitem_op, x, *index.tensors, index=index.template)


def _written(x: Tensor, index: Index, value: Any) -> Tensor:
    """A copy of `x` with `value` written at `index`, which takes one step."""
    sizes = spec_of_input(value).shape
    if sizes and sizes[0] == 1:
        # Axes of size 1 in front of those of the part written do not count.
        target = indexed_shape(x.spec.shape, index.template, [spec_of_input(tensor) for tensor in index.tensors])
        surplus = sizes[: max(len(sizes) - len(target), 0)]
        if surplus and all(size == 1 for size in surplus):
            value = reshape(value, value.shape[len(surplus) :])
    return bind(setitem_op, x, value, *index.tensors, index=index.template)


@public()
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
    value = value_in(value, x.dtype, "the value written")
    first, *rest = index_of(index).steps()
    if rest:
        value = _written(_read(x, first), rest[0], value)
    return _written(x, first, value)


@public()
def strided_slice(x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None) -> Tensor:
    """``x[starts:ends:strides]`` along each of `axes`; the other axes stay whole."""
    own_axis(0, x)
    parts: list[Any] = [slice(None)] * x.ndim
    bounds = (integers(bound, "a bound of strided_slice") for bound in (starts, ends, strides))
    for axis, start, end, stride in zip(integers(axes, "axes"), *bounds, strict=True):
        parts[axis_index(axis, x)] = slice(start, end, stride)
    return getitem(x, tuple(parts))
