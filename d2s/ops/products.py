"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Size, TensorSpec, broadcast_shapes
from d2s.errors import ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import sizes_agree
from d2s.ops.complex_numbers import conj
from d2s.ops.elementwise import ufunc_dtype
from d2s.ops.promotion import operands
from d2s.ops.reduction import sum, sum_of_own_dtype
from d2s.ops.shape import flatten, reshape, squeeze, unsqueeze


def _infer_matmul(x: TensorSpec, y: TensorSpec, *, transpose_x: bool = False, transpose_y: bool = False) -> TensorSpec:
    if not x.ndim or not y.ndim:
        raise ShapeError(f"matmul needs tensors of at least one axis, got shapes {list(x.shape)} and {list(y.shape)}")
    left = _with_transpose(x.shape, transpose_x) if x.ndim > 1 else (1, *x.shape)
    right = _with_transpose(y.shape, transpose_y) if y.ndim > 1 else (*y.shape, 1)
    if not sizes_agree(left[-1], right[-2]):
        raise ShapeError(
            f"matmul of shapes {list(x.shape)}{' transposed' * transpose_x} and "
            f"{list(y.shape)}{' transposed' * transpose_y}: {left[-1]} columns meet {right[-2]} rows"
        )
    batch = broadcast_shapes(left[:-2], right[:-2], what="batches of matmul")
    rows = left[-2:-1] if x.ndim > 1 else ()
    columns = right[-1:] if y.ndim > 1 else ()
    return TensorSpec((*batch, *rows, *columns), ufunc_dtype(np.matmul, "matmul", x, y))


def _with_transpose(shape: tuple[Size, ...], transposed: bool) -> tuple[Size, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if transposed else shape


def _matmul_template(
    x: TensorSpec, y: TensorSpec, *, transpose_x: bool = False, transpose_y: bool = False
) -> str | None:
    if x.ndim > 2 or y.ndim > 2:
        return None
    left, right = (".T" if part.ndim == 2 and swap else "" for part, swap in ((x, transpose_x), (y, transpose_y)))
    return f"np.{_product_of(x, y).__name__}({{0}}{left}, {{1}}{right})"


def _product_of(x: Any, y: Any) -> Any:
    """NumPy's function for such operands: products with a vector are small, and `dot` begins in half the time."""
    return np.dot if (x.ndim, y.ndim) in ((2, 1), (1, 2), (1, 1)) else np.matmul


@define_op("matmul", infer=_infer_matmul, saves=("x", "y"), out="apart", template=_matmul_template)
def matmul_op(
    x: Array, y: Array, *, transpose_x: bool = False, transpose_y: bool = False, out: Array | None = None
) -> Any:
    """Matrix product over the last two axes; a tensor of one axis is a row on the left, a column on the right."""
    if transpose_x and x.ndim > 1:
        x = x.swapaxes(-1, -2)
    if transpose_y and y.ndim > 1:
        y = y.swapaxes(-1, -2)
    if y.ndim == 2 and x.ndim > 2 and not transpose_x and x.size:
        # One product instead of one for each of the leading axes.
        flat = None if out is None else out.reshape(-1, y.shape[-1])
        return np.matmul(x.reshape(-1, x.shape[-1]), y, out=flat).reshape(*x.shape[:-1], y.shape[-1])
    return _product_of(x, y)(x, y, out=out)


def _gradient_of_x(g: Tensor, x: Any, y: Any, transpose_x: bool, transpose_y: bool) -> Tensor:
    if y.ndim == 1:
        if x.ndim == 1:
            return g * y
        return unsqueeze(y, -1) * unsqueeze(g, -2) if transpose_x else unsqueeze(g, -1) * y
    if x.ndim == 1:
        row = squeeze(matmul(unsqueeze(g, -2), y, False, not transpose_y), -2)
        return sum(row, axis=list(range(row.ndim - 1))) if row.ndim > 1 else row
    if transpose_x:
        return matmul(y, g, transpose_y, True)
    return matmul(g, y, False, not transpose_y)


def _gradient_of_y(g: Tensor, x: Any, y: Any, transpose_x: bool, transpose_y: bool) -> Tensor:
    if x.ndim == 1:
        if y.ndim == 1:
            return g * x
        return unsqueeze(g, -1) * x if transpose_y else unsqueeze(x, -1) * unsqueeze(g, -2)
    if y.ndim == 1 and x.ndim == 2:
        return matmul(x, g, not transpose_x)
    if y.ndim == 1:
        column = squeeze(matmul(x, unsqueeze(g, -1), not transpose_x, False), -1)
        return sum(column, axis=list(range(column.ndim - 1))) if column.ndim > 1 else column
    if y.ndim == 2 and x.ndim > 2 and not transpose_x:
        # The sum over the leading axes is part of one product.
        x, g = (flatten(part, 0, -2) for part in (x, g))
    if transpose_y:
        return matmul(g, x, True, transpose_x)
    return matmul(x, g, not transpose_x, False)


matmul_op.vjp(
    lambda g, out, x, y, *, transpose_x=False, transpose_y=False: _gradient_of_x(
        g, x, conj(y), transpose_x, transpose_y
    ),
    lambda g, out, x, y, *, transpose_x=False, transpose_y=False: _gradient_of_y(
        g, conj(x), y, transpose_x, transpose_y
    ),
)


@public(x="input", y="other")
def matmul(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None) -> Tensor:
    """
    Matrix product over the last two axes.

    Parameters
    ----------
    x : Tensor, shape (..., n, k) or (k,)
    y : Tensor, shape (..., k, m) or (k,)
        Leading axes broadcast.  A tensor of one axis is a row on the left and a column on the right; that axis is
        not in the result.
    transpose_x, transpose_y : bool
        Exchange the last two axes first; a tensor of one axis stays.

    Returns
    -------
    Tensor, shape (..., n, m)

    Raises
    ------
    ShapeError
        If the inner sizes differ, the leading axes do not broadcast, or a tensor is 0-d.
    """
    x, y = operands(x, y)
    if transpose_x or transpose_y:
        return bind(matmul_op, x, y, transpose_x=bool(transpose_x), transpose_y=bool(transpose_y))
    return bind(matmul_op, x, y)


def _checked(name: str, x: Tensor, y: Tensor, axes: tuple[int, int]) -> None:
    if (x.ndim, y.ndim) != axes:
        raise ShapeError(f"{name} needs tensors of {axes[0]} and {axes[1]} axes, got shapes {x.shape} and {y.shape}")


@public()
def mm(input: Tensor, mat2: Tensor, name: str | None = None) -> Tensor:
    """Matrix product; see `matmul`."""
    return matmul(input, mat2)


@public(x="input")
def bmm(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Products of two batches of matrices: (B, n, k) and (B, k, m) to (B, n, m)."""
    need_tensors(x, y)
    _checked("bmm", x, y, (3, 3))
    if x.shape[0] != y.shape[0]:
        raise ShapeError(f"bmm needs batches of one size, got shapes {x.shape} and {y.shape}")
    return matmul(x, y)


@public()
def mv(x: Tensor, vec: Tensor, name: str | None = None) -> Tensor:
    """Product of a matrix and a vector."""
    need_tensors(x, vec)
    _checked("mv", x, vec, (2, 1))
    return matmul(x, vec)


@public(x="input")
def dot(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Inner product of vectors, or of the rows of two matrices."""
    need_tensors(x, y)
    if x.ndim not in (1, 2) or x.shape != y.shape:
        raise ShapeError(f"dot needs two tensors of one shape with 1 or 2 axes, got {x.shape} and {y.shape}")
    return matmul(x, y) if x.ndim == 1 else sum_of_own_dtype(x * y)


@public(x="input", y="vec2")
def outer(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Product of each element of `x` with each of `y`: shape (elements of x, elements of y)."""
    need_tensors(x, y)
    return reshape(x, [-1, 1]) * reshape(y, [1, -1])


@public()
def addmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """``beta * input + alpha * (x @ y)``."""
    need_tensors(input, x, y)
    return input * beta + matmul(x, y) * alpha


@public()
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``x @ weight + bias`` with a weight of shape (in, out)."""
    product = matmul(x, weight)
    return product if bias is None else product + bias
