"""Functions of matrices and vectors that are made of products, sums and decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.public import public
from d2s.core.spec import broadcast_sizes
from d2s.errors import ArgumentError, DTypeError, NotSupportedError, ShapeError
from d2s.ops.annotations import Axis, Tensor
from d2s.ops.arithmetic import add, multiply
from d2s.ops.axes import axis_index
from d2s.ops.casting import cast
from d2s.ops.comparison import greater_than
from d2s.ops.complex_numbers import complex, conj, imag, real
from d2s.ops.cumulative import cumsum
from d2s.ops.decompositions import eigh, svd
from d2s.ops.diagonals import tril, triu
from d2s.ops.half_precision import in_float32
from d2s.ops.indexing import getitem
from d2s.ops.inverses import adjoint, solve, transposed
from d2s.ops.joining import stack
from d2s.ops.products import matmul
from d2s.ops.promotion import floating
from d2s.ops.reduction import max, mean, min, sum
from d2s.ops.selection import where
from d2s.ops.shape import flatten, reshape, transpose, unsqueeze
from d2s.ops.statistics import norm


@public()
def matrix_transpose(x: Tensor, name: str | None = None) -> Tensor:
    """The last two axes exchanged."""
    need_tensors(x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose needs at least 2 axes, got shape {x.shape}")
    found: Tensor = transposed(x)
    return found


@public()
def inner(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Sums of products along the last axes; a number multiplies."""
    need_tensors(x, y)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    if x.ndim == 1 and y.ndim == 1:
        return matmul(x, y)
    left, right = (unsqueeze(one, 0) if one.ndim == 1 else flatten(one, 0, -2) for one in (x, y))
    rows = matmul(left, transposed(right))
    return reshape(rows, [*x.shape[:-1], *y.shape[:-1]])


@public()
def vecdot(x: Tensor, y: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Sum of products along an axis."""
    need_tensors(x, y)
    return sum(multiply(x.conj(), y), axis)


@public()
def kron(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Kronecker product: `y` multiplied by every element of `x`, in its place."""
    need_tensors(x, y)
    count = np.maximum(x.ndim, y.ndim)
    rows, parts = [1] * (count - x.ndim) + x.shape, [1] * (count - y.ndim) + y.shape
    left = reshape(x, [size for one in rows for size in (one, 1)])
    right = reshape(y, [size for one in parts for size in (1, one)])
    return reshape(multiply(left, right), [one * other for one, other in zip(rows, parts, strict=True)])


@public()
def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """
    Sums of products along several axes of both tensors.

    Parameters
    ----------
    axes : int, sequence of int, or pair of sequences of int
        How many of the last axes of `x` meet the first of `y`; or which axes of both; or which of `x` and which of `y`.
    """
    need_tensors(x, y)
    if not isinstance(axes, int | list | tuple):
        raise DTypeError(f"axes of tensordot must be an int or a sequence of ints, got {type(axes).__name__}")
    if isinstance(axes, int):
        first, second = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    elif len(axes) and isinstance(axes[0], list | tuple):
        first = list(axes[0])
        second = list(axes[1]) if len(axes) > 1 else list(axes[0])
    else:
        first, second = list(axes), list(axes)
    if len(first) != len(second):
        raise ShapeError(f"tensordot needs as many axes of both tensors, got {first} and {second}")
    first, second = [axis_index(a, x) for a in first], [axis_index(a, y) for a in second]
    for one, other in zip(first, second, strict=True):
        if broadcast_sizes(x.spec.shape[one], y.spec.shape[other]) is None:
            raise ShapeError(f"tensordot over axis {one} of shape {x.shape} and axis {other} of shape {y.shape}")
        # As in Paddle, an axis of size 1 meets any other.
        if x.spec.shape[one] != y.spec.shape[other] and 1 in (x.spec.shape[one], y.spec.shape[other]):
            x = sum(x, one, keepdim=True) if y.spec.shape[other] == 1 else x
            y = sum(y, other, keepdim=True) if x.spec.shape[one] == 1 else y
    rest_x = [axis for axis in range(x.ndim) if axis not in first]
    rest_y = [axis for axis in range(y.ndim) if axis not in second]
    count = reduce(lambda total, axis: total * x.shape[axis], first, 1)
    rows = reduce(lambda total, axis: total * x.shape[axis], rest_x, 1)
    columns = reduce(lambda total, axis: total * y.shape[axis], rest_y, 1)
    left = reshape(transpose(x, [*rest_x, *first]), [rows, count])
    right = reshape(transpose(y, [*second, *rest_y]), [count, columns])
    return reshape(matmul(left, right), [*(x.shape[a] for a in rest_x), *(y.shape[a] for a in rest_y)])


@public(axis="dim")
def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """Vector product along an axis of size 3; by default the first such axis."""
    need_tensors(x, y)
    if axis == 9:
        axis = next((place for place, size in enumerate(x.spec.shape) if size == 3), 9)
    if axis == 9 or not x.ndim or x.spec.shape[axis_index(axis, x)] != 3:
        raise ShapeError(f"cross needs an axis of size 3, got shapes {x.shape} and {y.shape}")
    whole = [slice(None)] * axis_index(axis, x)
    if y.ndim <= len(whole) or y.spec.shape[len(whole)] != 3:
        raise ShapeError(f"cross needs an axis of size 3 in both, got shapes {x.shape} and {y.shape}")
    a, b = ([getitem(one, (*whole, place)) for place in range(3)] for one in (x, y))
    return stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], len(whole))


@public()
def baddbmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """``beta * input + alpha * (x @ y)`` for batches of matrices."""
    return add(multiply(input, beta), multiply(matmul(x, y), alpha))


@public()
def multi_dot(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Product of several matrices, from left to right; the first and the last may be vectors."""
    return reduce(matmul, x)


@in_float32()
@public(p="ord", axis="dim")
def vector_norm(
    x: Tensor, p: float = 2.0, axis: Axis = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None
) -> Tensor:
    """Norm of the elements along axes, by default of all; see `norm`.  With `dtype`, of `x` cast to it."""
    need_tensors(x)
    if dtype is not None:
        return vector_norm(cast(x, dtype), p, axis, keepdim)
    if isinstance(axis, list | tuple) and len(axis) > 1:
        places = [axis_index(one, x) for one in axis]
        rest = [one for one in range(x.ndim) if one not in places]
        flat = reshape(transpose(x, [*rest, *places]), [*(x.shape[one] for one in rest), -1])
        found = norm(flat, p, -1)
        return unsqueeze(found, sorted(places)) if keepdim else found
    if axis is None:
        found = norm(reshape(x, [-1]), p, 0)
        return reshape(found, [1] * x.ndim) if keepdim else found
    return norm(x, p, axis[0] if isinstance(axis, list | tuple) else axis, keepdim)


@in_float32()
@public()
def matrix_norm(
    x: Tensor, p: Any = "fro", axis: Sequence[int] = (-2, -1), keepdim: bool = False, name: str | None = None
) -> Tensor:
    """Norm of the matrices along two axes; see `norm`."""
    if not isinstance(axis, list | tuple) or len(axis) != 2:
        raise ArgumentError(f"axis of matrix_norm must be two axes, got {axis!r}")
    return norm(x, p, list(axis), keepdim)


@public()
def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """Eigenvalues of symmetric matrices, in rising order."""
    return eigh(x, UPLO)[0]


@public()
def svdvals(x: Tensor, name: str | None = None) -> Tensor:
    """Singular values, in falling order."""
    return svd(x)[1]


@public()
def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Tensor:
    """Pseudo-inverse of matrices; singular values below `rcond` times the largest count as 0."""
    x = floating(x)
    if hermitian:
        values, u = eigh(x)
        size, vh = values.abs(), adjoint(u)
    else:
        u, values, vh = svd(x, False)
        size = values
    kept = greater_than(size, max(size, -1, True) * rcond)
    inverse = where(kept, 1 / where(kept, values, 1.0), 0.0)
    return matmul(adjoint(vh) * unsqueeze(inverse, -2), adjoint(u))


@public()
def matrix_rank(
    x: Tensor, tol: Any = None, hermitian: bool = False, atol: Any = None, rtol: Any = None, name: str | None = None
) -> Tensor:
    """Number of singular values above `tol`; by default the largest, times the larger side, times the precision."""
    x = floating(x)
    size = eigvalsh(x).abs() if hermitian else svdvals(x)
    if tol is None:
        largest = max(size, -1, True)
        precision = float(np.finfo(x.dtype).eps) * np.maximum(*x.shape[-2:]) if rtol is None and atol is None else 0.0
        tol = largest * (precision if rtol is None else rtol)
        tol = tol if atol is None else tol.maximum(atol)
    return sum(cast(greater_than(size, tol), "int64"), -1)


@public()
def cond(x: Tensor, p: Any = None, name: str | None = None) -> Tensor:
    """Condition number of matrices: the norm times that of the inverse; 2-norm by default."""
    if p in (None, 2, -2):
        size = svdvals(x)
        large, small = max(size, -1), min(size, -1)
        return small / large if p == -2 else large / small
    return multiply(norm(x, p, [-2, -1]), norm(x.inverse(), p, [-2, -1]))


@public()
def triangular_solve(
    x: Tensor,
    y: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve ``x @ result = y`` for a triangle of `x`: the upper or lower one, transposed, or with ones as diagonal."""
    part = triu(x, int(unitriangular)) if upper else tril(x, -int(unitriangular))
    if unitriangular:
        part = add(part, np.eye(x.shape[-1], dtype=x.dtype))
    return solve(transposed(part) if transpose else part, y)


@public()
def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """Solve ``a @ result = x``, where `y` is the Cholesky factor of `a`."""
    need_tensors(x, y)
    # One of both is the conjugate transpose.
    first, second = (conj(y), y) if upper else (y, conj(y))
    return triangular_solve(second, triangular_solve(first, x, upper, upper), upper, not upper)


@in_float32()
@public()
def cdist(
    x: Tensor,
    y: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
    name: str | None = None,
) -> Tensor:
    """The `p`-norms of the differences between every row of `x` and every row of `y`."""
    need_tensors(x, y)
    return norm(unsqueeze(x, -2) - unsqueeze(y, -3), p, -1)


@public()
def cov(
    x: Tensor,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: Any = None,
    aweights: Any = None,
    name: str | None = None,
) -> Tensor:
    """Covariance of the rows (with ``rowvar=False`` of the columns), over their number less one; without weights."""
    need_tensors(x)
    if fweights is not None or aweights is not None:
        raise NotSupportedError("cov with weights is not supported: multiply the rows first")
    if x.ndim > 2:
        raise ShapeError(f"cov needs a tensor of at most 2 axes, got shape {x.shape}")
    rows = reshape(x, [1, -1]) if x.ndim < 2 else x if rowvar else transposed(x)
    apart = rows - mean(rows, 1, True)
    found = matmul(apart, adjoint(apart)) / (rows.shape[1] - int(ddof))
    return reshape(found, []) if x.ndim < 2 else found


@public()
def corrcoef(x: Tensor, rowvar: bool = True, name: str | None = None) -> Tensor:
    """Correlation of the rows (with ``rowvar=False`` of the columns), between -1 and 1; of complex ones each part."""
    need_tensors(x)
    found = cov(x, rowvar)
    if not found.ndim:
        return found / found
    is_complex = found.dtype.kind == "c"
    spread = found.diagonal()
    spread = (real(spread) if is_complex else spread).sqrt()
    found = found / unsqueeze(spread, 0) / unsqueeze(spread, 1)
    return complex(real(found).clip(-1, 1), imag(found).clip(-1, 1)) if is_complex else found.clip(-1, 1)


@public()
def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """Powers of the elements of a vector, a row for each; falling unless `increasing`."""
    need_tensors(x)
    if x.ndim != 1:
        raise ShapeError(f"vander needs a vector, got shape {x.shape}")
    count = x.shape[0] if n is None else n
    if not isinstance(count, int) or count < 0:
        raise DTypeError(f"vander needs a number of columns, got {count!r}")
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return stack([x**power for power in powers], 1) if count else reshape(x, [-1, 1])[:, :0]


@public()
def trapezoid(y: Tensor, x: Any = None, dx: Any = None, axis: int = -1, name: str | None = None) -> Tensor:
    """Area below `y` along an axis, by trapezoids; `x` are the places, or `dx` the distance between them."""
    return sum(_trapezoids(y, x, dx, axis), axis)


@public()
def cumulative_trapezoid(
    y: Tensor, x: Any = None, dx: Any = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """Areas below `y` up to each place but the first; see `trapezoid`."""
    return cumsum(_trapezoids(y, x, dx, axis), axis)


def _trapezoids(y: Tensor, x: Any, dx: Any, axis: int) -> Tensor:
    whole = [slice(None)] * axis_index(axis, y)
    later, sooner = (*whole, slice(1, None)), (*whole, slice(None, -1))
    width: Any = 1.0 if dx is None else dx
    if x is not None:
        if x.ndim == 1:
            x = reshape(x, [-1, *[1] * (y.ndim - len(whole) - 1)])
            width = x[1:] - x[:-1]
        else:
            width = getitem(x, later) - getitem(x, sooner)
    areas: Tensor = (getitem(y, later) + getitem(y, sooner)) * width / 2.0
    return areas
