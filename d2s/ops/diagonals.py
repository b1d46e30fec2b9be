"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import TensorSpec
from d2s.errors import ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.arithmetic import add
from d2s.ops.indexing import getitem
from d2s.ops.rearranging import pad_op
from d2s.ops.reduction import sum
from d2s.ops.shape import broadcast_to, moveaxis, unsqueeze


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


def tril(x: Tensor, diagonal: int = 0, name: str | None = None) -> Tensor:
    """The matrices of the last two axes with zeros above a diagonal (0: the main one, 1: the next to the right)."""
    return bind(tril_op, x, diagonal=diagonal)


def triu(x: Tensor, diagonal: int = 0, name: str | None = None) -> Tensor:
    """The matrices of the last two axes with zeros below a diagonal (0: the main one, 1: the next to the right)."""
    return bind(triu_op, x, diagonal=diagonal)


def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """The diagonal of each matrix of two axes, as last axis; `offset` counts to the right, or downwards if negative."""
    matrix = moveaxis(x, [axis1, axis2], [-2, -1])
    rows, columns = matrix.shape[-2:]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    place = np.arange(count)
    return getitem(matrix, (..., place + max(0, -offset), place + max(0, offset)))


def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """Sum of a diagonal; see `diagonal`."""
    return sum(diagonal(x, offset, axis1, axis2), -1)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1, name: str | None = None) -> Tensor:
    """Matrices, zero but for a diagonal, which is the last axis of `input`."""
    size = input.shape[-1] + (offset if offset >= 0 else -offset)
    wide = broadcast_to(unsqueeze(input, -1), [*input.shape, input.shape[-1]]) * np.eye(input.shape[-1], dtype=bool)
    ends = ((0, size - input.shape[-1]), (size - input.shape[-1], 0))
    rows, columns = ends if offset >= 0 else ends[::-1]
    matrix = bind(pad_op, wide, widths=(*[(0, 0)] * (input.ndim - 1), rows, columns), value=0)
    return moveaxis(matrix, [-2, -1], [dim1, dim2])


def diag(x: Tensor, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> Tensor:
    """The diagonal of a matrix, or the matrix with the vector `x` on its diagonal and `padding_value` elsewhere."""
    if x.ndim == 2:
        return diagonal(x, offset)
    if x.ndim != 1:
        raise ShapeError(f"diag needs a tensor of 1 or 2 axes, got shape {x.shape}")
    matrix = diag_embed(x, offset)
    if padding_value == 0:
        return matrix
    elsewhere = ~np.eye(matrix.shape[0], k=offset, dtype=bool)
    return add(matrix, elsewhere.astype(x.dtype) * x.dtype.type(padding_value))
