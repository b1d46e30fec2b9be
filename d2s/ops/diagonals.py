"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Dim, Shape, Size, TensorSpec
from d2s.errors import ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.casting import cast
from d2s.ops.comparison import equal
from d2s.ops.creation import ones_like
from d2s.ops.promotion import tensor_or_number
from d2s.ops.reduction import sum_of_own_dtype
from d2s.ops.selection import where
from d2s.ops.shape import moveaxis, reshape


def _infer_triangle(x: TensorSpec, *, diagonal: int) -> TensorSpec:
    if x.ndim < 2:
        raise ShapeError(f"a triangle needs a tensor of at least 2 axes, got shape {list(x.shape)}")
    return x


@define_op("tril", infer=_infer_triangle)
def tril_op(x: Array, *, diagonal: int) -> Array:
    """Zeros above a diagonal."""
    if x.ndim < 2:
        raise ShapeError("tril needs at least 2 axes")
    return np.tril(x, diagonal)


@define_op("triu", infer=_infer_triangle)
def triu_op(x: Array, *, diagonal: int) -> Array:
    """Zeros below a diagonal."""
    if x.ndim < 2:
        raise ShapeError("triu needs at least 2 axes")
    return np.triu(x, diagonal)


tril_op.vjp(lambda g, out, x, *, diagonal: bind(tril_op, g, diagonal=diagonal))
triu_op.vjp(lambda g, out, x, *, diagonal: bind(triu_op, g, diagonal=diagonal))


@public(x="input")
def tril(x: Tensor, diagonal: int = 0, name: str | None = None) -> Tensor:
    """The matrices of the last two axes with zeros above a diagonal (0: the main one, 1: the next to the right)."""
    return bind(tril_op, x, diagonal=diagonal)


@public(x="input")
def triu(x: Tensor, diagonal: int = 0, name: str | None = None) -> Tensor:
    """The matrices of the last two axes with zeros below a diagonal (0: the main one, 1: the next to the right)."""
    return bind(triu_op, x, diagonal=diagonal)


def diagonal_size(rows: Size, columns: Size, offset: int) -> Size:
    """Number of elements of a diagonal; a Dim if the sizes are not known."""
    if isinstance(rows, Dim) or isinstance(columns, Dim):
        return Dim()
    return max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))


def _infer_diagonal(x: TensorSpec, *, offset: int) -> TensorSpec:
    if x.ndim < 2:
        raise ShapeError(f"a diagonal needs a tensor of at least 2 axes, got shape {list(x.shape)}")
    return TensorSpec((*x.shape[:-2], diagonal_size(x.shape[-2], x.shape[-1], offset)), x.dtype)


@define_op("diagonal", infer=_infer_diagonal)
def diagonal_op(x: Array, *, offset: int) -> Array:
    """The diagonals of the matrices of the last two axes, as last axis."""
    return np.diagonal(x, offset, -2, -1)


def _infer_onto_diagonal(x: TensorSpec, *, shape: Shape, offset: int) -> TensorSpec:
    return TensorSpec(shape, x.dtype)


@define_op("onto_diagonal", infer=_infer_onto_diagonal)
def onto_diagonal_op(x: Array, *, shape: tuple[int, ...], offset: int) -> Array:
    """Matrices of zeros with the last axis of `x` on a diagonal."""
    result = np.zeros(shape, x.dtype)
    place = np.arange(x.shape[-1])
    result[..., place + max(0, -offset), place + max(0, offset)] = x
    return result


diagonal_op.vjp(lambda g, out, x, *, offset: bind(onto_diagonal_op, g, shape=tuple(x.shape), offset=offset))
onto_diagonal_op.vjp(lambda g, out, x, *, shape, offset: bind(diagonal_op, g, offset=offset))


@public(x="input")
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """The diagonal of each matrix of two axes, as last axis; `offset` counts to the right, or downwards if negative."""
    need_tensors(x)
    return bind(diagonal_op, moveaxis(x, [axis1, axis2], [-2, -1]), offset=offset)


@public(x="input")
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """Sum of a diagonal; see `diagonal`."""
    need_tensors(x)
    return sum_of_own_dtype(diagonal(x, offset, axis1, axis2))


@public()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1, name: str | None = None) -> Tensor:
    """Matrices, zero but for a diagonal, which is the last axis of `input`."""
    need_tensors(input)
    if not input.ndim:
        raise ShapeError("diag_embed needs a tensor of at least 1 axis, got shape []")
    size = input.shape[-1] + (offset if offset >= 0 else -offset)
    matrix = bind(onto_diagonal_op, input, shape=(*input.shape[:-1], size, size), offset=offset)
    return moveaxis(matrix, [-2, -1], [dim1, dim2])


@public()
def diag(x: Tensor, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> Tensor:
    """The diagonal of a matrix, or the matrix with the vector `x` on its diagonal and `padding_value` elsewhere."""
    need_tensors(x)
    if x.ndim == 2:
        return diagonal(x, offset)
    if x.ndim != 1:
        raise ShapeError(f"diag needs a tensor of 1 or 2 axes, got shape {x.shape}")
    matrix = diag_embed(x, offset)
    if padding_value == 0:
        return matrix
    return where(equal(diag_embed(ones_like(x), offset), 0), cast(tensor_or_number(padding_value), x.dtype), matrix)


@public()
def diagflat(x: Tensor, offset: int = 0, name: str | None = None) -> Tensor:
    """A matrix with all elements of `x` on a diagonal."""
    need_tensors(x)
    return diag(reshape(x, [-1]), offset)
