"""The same elements in another shape: results are views where NumPy can give one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import ndim_of, need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public, sizes_one_by_one
from d2s.core.spec import Dim, Shape, Size, TensorSpec
from d2s.errors import ShapeError
from d2s.ops.annotations import Array, Axis, Tensor
from d2s.ops.axes import axis_index, axis_indices, integers, known_integers, number_of_elements, shape_argument
from d2s.words import counted


def _infer_reshape(x: TensorSpec, *, shape: Shape) -> TensorSpec:
    if 0 in shape and x.is_static:
        shape = _sizes_kept(shape, x.shape, x.shape)
    if any(isinstance(size, int) and size < -1 for size in shape) or shape.count(-1) > 1:
        raise ShapeError(f"reshape to {list(shape)}: sizes are not negative, but one may be -1, to be worked out")
    rest = list(x.shape)
    others: list[Size] = []
    for size in shape:
        # Sizes that stand on both sides cancel, known or not.
        if size != -1 and size != 0 and size in rest:
            rest.remove(size)
        elif size != -1:
            others.append(size)
    before, after = number_of_elements(rest), number_of_elements(others)
    if isinstance(before, Dim) or isinstance(after, Dim):
        return TensorSpec(tuple(Dim() if size == -1 else size for size in shape), x.dtype)
    if -1 in shape:
        if after == 0 or before % after:
            raise ShapeError(f"cannot reshape a tensor of shape {list(x.shape)} to {list(shape)}")
        return TensorSpec(tuple(before // after if size == -1 else size for size in shape), x.dtype)
    if before != after:
        raise ShapeError(f"cannot reshape a tensor of shape {list(x.shape)} to {list(shape)}")
    return TensorSpec(shape, x.dtype)


@define_op(
    "reshape", infer=_infer_reshape, in_order=True, template=lambda x, *, shape: f"{{0}}.reshape({shape})")
def reshape_op(x: Array, *, shape: tuple[int, ...]) -> Array:
    """The elements in row-major order in another shape; -1 stands for what is left, 0 for the size there."""
    return x.reshape(_sizes_kept(shape, x.shape, x.shape) if 0 in shape else shape)


reshape_op.vjp(lambda g, out, x, *, shape: bind(reshape_op, g, shape=tuple(x.shape)))


def _infer_transpose(x: TensorSpec, *, perm: tuple[int, ...]) -> TensorSpec:
    if len(perm) != x.ndim or sorted(axis_index(axis, x, "perm") for axis in perm) != list(range(x.ndim)):
        raise ShapeError(f"perm {list(perm)} does not name each axis of shape {list(x.shape)} once")
    return TensorSpec(tuple(x.shape[axis] for axis in perm), x.dtype)


@define_op("transpose", infer=_infer_transpose, template=lambda x, *, perm: f"{{0}}.transpose({perm})")
def transpose_op(x: Array, *, perm: tuple[int, ...]) -> Array:
    """Axes in the order `perm`."""
    return x.transpose(perm)


def _inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(perm)), key=lambda axis: perm[axis] % len(perm)))


transpose_op.vjp(lambda g, out, x, *, perm: bind(transpose_op, g, perm=_inverse(perm)))


def _infer_transposed_copy(x: TensorSpec) -> TensorSpec:
    if x.ndim != 2:
        raise ShapeError(f"a copy of the transpose is made of a matrix, got shape {list(x.shape)}")
    return TensorSpec((x.shape[1], x.shape[0]), x.dtype)


# So many rows at a time: what they are read from and written to stays in the cache.
_ROWS = 16


@define_op("transposed_copy", infer=_infer_transposed_copy, out="apart")
def transposed_copy_op(x: Array, *, out: Array | None = None) -> Array:
    """The transpose of a matrix, lying in memory row by row."""
    result = np.empty(x.shape[::-1], x.dtype) if out is None else out
    for begin in range(0, len(x), _ROWS):
        result[:, begin : begin + _ROWS] = x[begin : begin + _ROWS].T
    return result


transposed_copy_op.vjp(lambda g, out, x: bind(transposed_copy_op, g))


def _infer_broadcast_to(x: TensorSpec, *, shape: Shape) -> TensorSpec:
    # Of sizes that only the run knows, it sees whether they fit.
    if len(shape) < x.ndim or any(
        isinstance(new, int) and isinstance(old, int) and old not in (1, new)
        for new, old in zip(reversed(shape), reversed(x.shape), strict=False)
    ):
        raise ShapeError(f"a tensor of shape {list(x.shape)} cannot be broadcast to {list(shape)}")
    return TensorSpec(shape, x.dtype)


@define_op("broadcast_to", infer=_infer_broadcast_to)
def broadcast_to_op(x: Array, *, shape: tuple[int, ...]) -> Array:
    """Repeat along new axes and axes of size 1."""
    return np.broadcast_to(x, shape)


broadcast_to_op.vjp(lambda g, out, x, *, shape: g)


@sizes_one_by_one(1)
@public(x="input")
def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """
    The elements of `x`, in row-major order, in another shape.

    Parameters
    ----------
    x : Tensor
    shape : sequence of int, integer tensor or int
        One size may be -1: it is worked out.  A size 0 keeps the size of that axis of `x` (unless `x` is empty).

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If the number of elements differs.
    """
    sizes = integers(shape)
    if any(type(size) is int and size == 0 for size in sizes):
        sizes = _sizes_kept(sizes, x.spec.shape, x.shape)
    return bind(reshape_op, x, shape=sizes)


def _sizes_kept(sizes: tuple[Any, ...], known: Shape, shape: Sequence[Any]) -> tuple[Any, ...]:
    if 0 in known:
        return sizes
    if any(size == 0 and axis >= len(shape) for axis, size in enumerate(sizes)):
        raise ShapeError(
            f"reshape to {list(sizes)}: 0 keeps the size of an axis, but there are only "
            f"{counted(len(shape), 'axis', 'axes')}")
    return tuple(shape[axis] if isinstance(size, int) and size == 0 else size for axis, size in enumerate(sizes))


@public(x="input", start_axis="start_dim", stop_axis="end_dim")
def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """The axes from `start_axis` to `stop_axis`, both included, as one axis."""
    ndim = ndim_of(x)
    start, stop = axis_index(start_axis, ndim, "start_axis"), axis_index(stop_axis, ndim, "stop_axis")
    if start > stop:
        raise ShapeError(f"start_axis {start_axis} lies behind stop_axis {stop_axis}")
    shape = x.shape
    merged = number_of_elements(x.spec.shape[start : stop + 1])
    middle = -1 if isinstance(merged, Dim) else merged
    return bind(reshape_op, x, shape=(*shape[:start], middle, *shape[stop + 1 :]))


@public(x="input", axis="dim")
def squeeze(x: Tensor, axis: Axis = None, name: str | None = None) -> Tensor:
    """
    Without the axes of size 1, all or those named; a named axis of another size stays.

    So does, in a Program built by hand, one whose size is not known.
    """
    need_tensors(x)
    known = x.spec.shape
    axes = axis_indices(axis, len(known)) if axis is not None else None
    dropped = [place for place in range(len(known)) if (axes is None or place in axes) and _is_one(x, place)]
    return bind(reshape_op, x, shape=tuple(size for position, size in enumerate(x.shape) if position not in dropped))


def _is_one(x: Tensor, position: int) -> bool:
    """Is this size 1?  Of one that may be, and that only the run knows, both answers are followed where they can be."""
    size = x.spec.shape[position]
    if not isinstance(size, Dim):
        return bool(size == 1)
    is_told = size.may_be_one and x.interpreter.follows_decisions
    return bool(is_told and x.shape[position] == 1)


@public(x="input", axis="dim")
def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """With a new axis of size 1 at each of the places `axis`, counted in the result, one after the other."""
    need_tensors(x)
    shape = list(x.shape)
    for one in integers(axis, "axis"):
        shape.insert(axis_index(one, len(shape) + 1), 1)
    return bind(reshape_op, x, shape=tuple(shape))


@public(x="input")
def transpose(x: Tensor, perm: Sequence[int], name: str | None = None) -> Tensor:
    """
    The axes of `x` in the order `perm`.

    Parameters
    ----------
    x : Tensor
    perm : sequence of int
        Axis of `x` that becomes each axis of the result.  Two ints in its place, ``transpose(x, 0, 1)``, are two axes
        to exchange.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If `perm` does not name each axis once.
    """
    if isinstance(perm, int) and isinstance(name, int):
        return swapaxes(x, perm, name)
    return bind(transpose_op, x, perm=known_integers(perm, "perm"))


@public()
def t(input: Tensor, name: str | None = None) -> Tensor:
    """Transpose of a matrix; vectors and 0-d tensors are returned as they are."""
    need_tensors(input)
    if input.ndim > 2:
        raise ShapeError(f"t() is for tensors of at most 2 axes, got shape {input.shape}; use transpose")
    return bind(transpose_op, input, perm=(1, 0)) if input.ndim == 2 else input


@public()
def moveaxis(x: Tensor, source: Any, destination: Any, name: str | None = None) -> Tensor:
    """The axes `source` moved to `destination`; the others keep their order."""
    need_tensors(x)
    ndim = x.ndim
    sources = [axis_index(axis, ndim, "source") for axis in integers(source, "source")]
    targets = [axis_index(axis, ndim, "destination") for axis in integers(destination, "destination")]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ShapeError(f"moveaxis needs as many different sources as destinations, got {source} and {destination}")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return bind(transpose_op, x, perm=tuple(order))


@public(x="input")
def swapaxes(x: Tensor, axis0: int, axis1: int, name: str | None = None) -> Tensor:
    """Two axes exchanged."""
    need_tensors(x)
    order = list(range(x.ndim))
    first, second = axis_index(axis0, x, "axis0"), axis_index(axis1, x, "axis1")
    order[first], order[second] = second, first
    return bind(transpose_op, x, perm=tuple(order))


@public(x="input", shape="size")
def broadcast_to(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """
    `x` repeated along new leading axes and along axes of size 1.

    Parameters
    ----------
    x : Tensor
    shape : sequence of int, integer tensor or int
        A size -1 keeps the size of that axis.

    Returns
    -------
    Tensor, of `shape`

    Raises
    ------
    ShapeError
        If `x` does not broadcast to `shape`.
    """
    sizes = list(integers(shape))
    if any(type(size) is int and size == -1 for size in sizes):
        own = x.shape
        added = len(sizes) - len(own)
        if any(size == -1 for size in sizes[: max(added, 0)]):
            raise ShapeError(f"broadcast of shape {list(own)} to {sizes}: a new axis cannot keep its size")
        sizes = [own[axis - added] if type(size) is int and size == -1 else size for axis, size in enumerate(sizes)]
    return bind(broadcast_to_op, x, shape=shape_argument(sizes))


@sizes_one_by_one(1)
@public(x="input", shape="size")
def expand(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """As `broadcast_to`."""
    return broadcast_to(x, shape)


@public(x="input", y="other")
def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """`x` broadcast to the shape of `y`."""
    need_tensors(x, y)
    return bind(broadcast_to_op, x, shape=tuple(y.shape))
