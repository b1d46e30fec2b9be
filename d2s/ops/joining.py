"""Several tensors into one and one into several: concat, stack, split and their kin."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Dim, Size, TensorSpec
from d2s.errors import ArgumentError, DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor, is_tensor
from d2s.ops.axes import axis_index, integers, known_count, own_axis, size_argument
from d2s.ops.casting import assign_op
from d2s.ops.promotion import as_dtype_of, promote_all, tensor_or_number
from d2s.ops.shape import moveaxis


def _infer_concat(*xs: TensorSpec, axis: int) -> TensorSpec:
    shapes = " and ".join(str(list(x.shape)) for x in xs)
    first = xs[0]
    if any(x.ndim != first.ndim for x in xs) or not first.ndim:
        raise ShapeError(f"concat needs tensors of as many axes, at least one, got shapes {shapes}")
    place = axis_index(axis, first)
    shape: list[Size] = list(first.shape)
    for x in xs[1:]:
        for position, size in enumerate(x.shape):
            if position != place:
                shape[position] = _same(shape[position], size, f"concat along axis {axis} of shapes {shapes}")
    sizes = [x.shape[place] for x in xs]
    shape[place] = Dim() if any(isinstance(size, Dim) for size in sizes) else sum(sizes)  # type: ignore[arg-type]
    return TensorSpec(tuple(shape), _one_dtype("concat", xs))


def _same(first: Size, second: Size, what: str) -> Size:
    if first == second or isinstance(second, Dim):
        return first
    if isinstance(first, Dim):
        return second
    raise ShapeError(f"{what}: {first} is not {second}")


def _one_dtype(name: str, xs: Sequence[TensorSpec]) -> Any:
    if any(x.dtype != xs[0].dtype for x in xs):
        raise DTypeError(f"{name} needs one dtype, got {', '.join(x.dtype.name for x in xs)}")
    return xs[0].dtype


@define_op("concat", infer=_infer_concat, out="apart")
def concat_op(*xs: Array, axis: int, out: Array | None = None) -> Array:
    """Tensors one after the other along `axis`."""
    return np.concatenate(xs, axis, out=out)


def _infer_split(x: TensorSpec, *, sizes: tuple[Size, ...], axis: int) -> tuple[TensorSpec, ...]:
    place = axis_index(axis, x)
    total = x.shape[place]
    if all(isinstance(size, int) for size in (total, *sizes)) and sum(sizes) != total:  # type: ignore[arg-type]
        raise ShapeError(f"split into {list(sizes)} along axis {axis} of shape {list(x.shape)}: the sum is not {total}")
    return tuple(TensorSpec((*x.shape[:place], size, *x.shape[place + 1 :]), x.dtype) for size in sizes)


def _parts(g: Any) -> tuple[Any, ...]:
    """The gradients of all outputs; that of a single output does not come as a tuple."""
    return g if isinstance(g, tuple) else (g,)


def _split_template(x: TensorSpec, *, sizes: tuple[int, ...], axis: int) -> str:
    ends = [0, *itertools.accumulate(sizes)]
    before = ":, " * (axis % x.ndim)
    return f"({', '.join(f'{{0}}[{before}{start}:{end}]' for start, end in itertools.pairwise(ends))},)"


def _with_rest(sizes: tuple[Any, ...], total: Any) -> tuple[Any, ...]:
    """The sizes with what is left of `total` in place of -1."""
    is_rest = [type(size) is int and size == -1 for size in sizes]
    rest = total - sum(size for size, found in zip(sizes, is_rest, strict=True) if not found)
    return tuple(rest if found else size for size, found in zip(sizes, is_rest, strict=True))


@define_op("split", infer=_infer_split, template=_split_template)
def split_op(x: Array, *, sizes: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """Consecutive parts of the given sizes along `axis`."""
    if sizes.count(-1) == 1:
        sizes = _with_rest(sizes, x.shape[axis])
    if sum(sizes) != x.shape[axis]:
        raise ShapeError(f"split into {list(sizes)} along axis {axis} of shape {list(x.shape)}")
    before = (slice(None),) * (axis % x.ndim)
    parts, start = [], 0
    for size in sizes:
        parts.append(x[(*before, slice(start, start + size))])
        start += size
    return tuple(parts)


concat_op.vjp_all(lambda g, out, *xs, needs, axis: bind(split_op, g, sizes=tuple(x.shape[axis] for x in xs), axis=axis))
split_op.vjp(lambda g, out, x, *, sizes, axis: bind(concat_op, *_parts(g), axis=axis))


def _infer_stack(*xs: TensorSpec, axis: int) -> TensorSpec:
    shape = list(xs[0].shape)
    for x in xs:
        if x.ndim != len(shape):
            raise ShapeError(f"stack of shapes {' and '.join(str(list(x.shape)) for x in xs)}: they must be equal")
        for position, size in enumerate(x.shape):
            shape[position] = _same(shape[position], size, "stack of different shapes")
    shape.insert(axis_index(axis, len(shape) + 1), len(xs))
    return TensorSpec(tuple(shape), _one_dtype("stack", xs))


@define_op("stack", infer=_infer_stack, fresh=True, in_order=True)
def stack_op(*xs: Array, axis: int) -> Array:
    """Tensors of one shape along a new axis."""
    return np.stack(xs, axis)


def _infer_unbind(x: TensorSpec, *, axis: int) -> tuple[TensorSpec, ...]:
    if not x.ndim:
        raise ShapeError("a 0-d tensor has no axis to unbind")
    place = axis_index(axis, x)
    size = x.shape[place]
    if not isinstance(size, int):
        raise ShapeError(
            f"unbind along axis {axis} of shape {list(x.shape)}: the number of parts must be known",
            kind="S06",
        )
    return (TensorSpec((*x.shape[:place], *x.shape[place + 1 :]), x.dtype),) * size


@define_op("unbind", infer=_infer_unbind)
def unbind_op(x: Array, *, axis: int) -> tuple[Array, ...]:
    """The slices along `axis`."""
    return tuple(np.moveaxis(x, axis, 0))


stack_op.vjp_all(lambda g, out, *xs, needs, axis: bind(unbind_op, g, axis=axis))
unbind_op.vjp(lambda g, out, x, *, axis: bind(stack_op, *_parts(g), axis=axis))


def _of_one_dtype(xs: Any, name: str) -> list[Any]:
    if is_tensor(xs):
        xs = list(xs)
    found = [tensor_or_number(x, f"an input of {name}") for x in xs]
    if not found:
        raise ShapeError(f"{name} needs at least one tensor")
    if any(x.dtype != found[0].dtype for x in found):
        dtype = promote_all(*[x.dtype for x in found])
        found = [as_dtype_of(x, dtype) for x in found]
    return found


@public(x="tensors", axis="dim")
def concat(x: Sequence[Tensor], axis: Any = 0, name: str | None = None) -> Tensor:
    """
    Tensors one after the other along `axis`.

    Parameters
    ----------
    x : sequence of Tensor
        Equal in all sizes but that of `axis`; different dtypes are promoted.
    axis : int or 0-d tensor

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If there are no tensors, or the other sizes differ.
    """
    tensors = _of_one_dtype(x, "concat")
    return bind(concat_op, *tensors, axis=axis_index(size_argument(axis), tensors[0]))


@public(x="tensors", axis="dim")
def stack(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape along a new axis, at place `axis` of the result; different dtypes are promoted.

    A tensor stands for its slices along the first axis.
    """
    if is_tensor(x) and x.ndim:  # type: ignore[attr-defined]
        return bind(assign_op, moveaxis(x, 0, axis_index(axis, x)))
    tensors = _of_one_dtype(x, "stack")
    return bind(stack_op, *tensors, axis=axis_index(axis, tensors[0].ndim + 1))


@public()
def split(x: Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """
    Consecutive parts along `axis`.

    Parameters
    ----------
    x : Tensor
    num_or_sections : int or sequence of int
        Number of equal parts, or their sizes, of which one may be -1.
    axis : int or 0-d tensor

    Returns
    -------
    list of Tensor

    Raises
    ------
    ShapeError
        If the sizes do not add up to that of the axis.
    """
    place = own_axis(size_argument(axis), x)
    total = x.shape[place]
    num_or_sections = known_count(num_or_sections)
    if isinstance(num_or_sections, int):
        if num_or_sections < 1:
            raise ArgumentError(f"split into {num_or_sections} parts along axis {axis} of shape {list(x.spec.shape)}")
        # Where they are not equal, the op says so.
        sizes: tuple[Any, ...] = (total // num_or_sections,) * num_or_sections
    else:
        sizes = integers(num_or_sections)
        # One that is computed and turns out to be -1 is left to the op.
        if [size for size in sizes if type(size) is int].count(-1) == 1:
            sizes = _with_rest(sizes, total)
    return list(bind(split_op, x, sizes=sizes, axis=place))


@public(x="input", axis="dim")
def chunk(x: Tensor, chunks: int, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """`chunks` equal parts along `axis`; see `split`."""
    return split(x, chunks, axis)


@public(axis="dim")
def unbind(input: Tensor, axis: int = 0) -> list[Tensor]:
    """The slices of a tensor along `axis`, which goes."""
    return list(bind(unbind_op, input, axis=own_axis(axis, input)))
