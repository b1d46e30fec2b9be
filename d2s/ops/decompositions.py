"""Inverses, determinants and decompositions of matrices, by LAPACK through NumPy; leading axes are batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import Dim, Size, TensorSpec, broadcast_shapes
from d2s.errors import DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import sizes_agree
from d2s.ops.products import matmul
from d2s.ops.promotion import float_operands, floating
from d2s.ops.rearranging import diag_embed, diagonal, tril
from d2s.ops.shape import squeeze, swapaxes, unsqueeze


def _check(name: str, x: TensorSpec, is_square: bool = True) -> None:
    if x.dtype.name not in ("float32", "float64"):
        raise DTypeError(f"{name} is defined for float32 and float64, got {x.dtype.name}")
    if x.ndim < 2 or (is_square and not sizes_agree(x.shape[-1], x.shape[-2])):
        raise ShapeError(f"{name} needs {'square ' * is_square}matrices, got shape {list(x.shape)}")


def _same_shape(name: str) -> Any:
    def infer(x: TensorSpec) -> TensorSpec:
        _check(name, x)
        return x

    return infer


def _transposed(x: Tensor) -> Tensor:
    return swapaxes(x, -1, -2)


@define_op("inverse", infer=_same_shape("inverse"), saves=("out",))
def inverse_op(x: Array) -> Array:
    """Matrix inverse."""
    return np.linalg.inv(x)


inverse_op.vjp(lambda g, out, x: -matmul(matmul(out, g, True, False), out, False, True))


def _infer_solve(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    _check("solve", a)
    if b.ndim < 2 or a.dtype != b.dtype or not sizes_agree(a.shape[-1], b.shape[-2]):
        raise ShapeError(f"solve: a right side of {b} does not fit matrices of {a}")
    return TensorSpec((*broadcast_shapes(a.shape[:-2], b.shape[:-2], what="batches of solve"), *b.shape[-2:]), a.dtype)


@define_op("solve", infer=_infer_solve, saves=("a", "out"))
def solve_op(a: Array, b: Array) -> Array:
    """The x with a @ x = b."""
    if b.ndim < 2:
        raise ShapeError("solve needs matrices")
    return np.linalg.solve(a, b)


solve_op.vjp(
    lambda g, out, a, b: -matmul(bind(solve_op, _transposed(a), g), out, False, True),
    lambda g, out, a, b: bind(solve_op, _transposed(a), g),
)


@define_op("cholesky", infer=_same_shape("cholesky"), saves=("out",))
def cholesky_op(x: Array) -> Array:
    """The lower triangle l with l @ l.T = x."""
    return np.linalg.cholesky(x)


def _cholesky_gradient(g: Tensor, factor: Tensor) -> Tensor:
    # Murray 2016, "Differentiation of the Cholesky decomposition", with the lower triangle of l.T @ g halved on
    # the diagonal.
    inner = tril(matmul(factor, g, True, False))
    inner = inner - diag_embed(diagonal(inner, 0, -2, -1)) * 0.5
    upper = _transposed(factor)
    outer = bind(solve_op, upper, _transposed(bind(solve_op, upper, _transposed(inner + _transposed(inner)))))
    return outer * 0.5


cholesky_op.vjp(lambda g, out, x: _cholesky_gradient(g, out))


def _infer_det(x: TensorSpec) -> TensorSpec:
    _check("det", x)
    return TensorSpec(x.shape[:-2], x.dtype)


@define_op("det", infer=_infer_det, saves=("x", "out"))
def det_op(x: Array) -> Any:
    """Determinant."""
    return np.linalg.det(x)


det_op.vjp(lambda g, out, x: unsqueeze(g * out, [-1, -1]) * _transposed(inverse(x)))


def _infer_slogdet(x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    _check("slogdet", x)
    one = TensorSpec(x.shape[:-2], x.dtype)
    return one, one


@define_op("slogdet", infer=_infer_slogdet, saves=("x",))
def slogdet_op(x: Array) -> tuple[Any, Any]:
    """Sign and logarithm of the absolute value of the determinant."""
    sign, logarithm = np.linalg.slogdet(x)
    return sign, logarithm


slogdet_op.vjp(lambda g, out, x: unsqueeze(g[1], [-1, -1]) * _transposed(inverse(x)))


def _infer_eigh(x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    _check("eigh", x)
    return TensorSpec(x.shape[:-1], x.dtype), x


@define_op("eigh", infer=_infer_eigh, saves=("out",))
def eigh_op(x: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices, read from their lower triangle."""
    values, vectors = np.linalg.eigh(x)
    return values, vectors


def _one_over_differences(values: Tensor) -> Tensor:
    """1 / (v[j] - v[i]), and 0 on the diagonal."""
    identity = np.eye(values.shape[-1], dtype=values.dtype)
    return 1 / (unsqueeze(values, -2) - unsqueeze(values, -1) + identity) - identity


def _eigh_gradient(g: Any, out: Any) -> Tensor:
    (g_values, g_vectors), (values, vectors) = g, out
    inner = matmul(vectors, g_vectors, True, False) * _one_over_differences(values) + diag_embed(g_values)
    full = matmul(matmul(vectors, inner), vectors, False, True)
    return (full + _transposed(full)) * 0.5


eigh_op.vjp(lambda g, out, x: _eigh_gradient(g, out))


def _infer_qr(x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    _check("qr", x, False)
    rows, columns = x.shape[-2:]
    inner = _smaller(rows, columns)
    return TensorSpec((*x.shape[:-1], inner), x.dtype), TensorSpec((*x.shape[:-2], inner, columns), x.dtype)


def _smaller(rows: Size, columns: Size) -> Size:
    if isinstance(rows, int) and isinstance(columns, int):
        return min(rows, columns)
    return rows if rows == columns else Dim()


@define_op("qr", infer=_infer_qr, saves=("out",))
def qr_op(x: Array) -> tuple[Array, Array]:
    """Orthonormal columns q and an upper triangle r with q @ r = x."""
    q, r = np.linalg.qr(x)
    return q, r


def _qr_gradient(g: Any, out: Any) -> Tensor:
    (g_q, g_r), (q, r) = g, out
    if r.shape[-2] != r.shape[-1]:
        raise ShapeError(f"the gradient of qr needs matrices with at least as many rows as columns, got r of {r.shape}")
    inner = matmul(r, g_r, False, True) - matmul(g_q, q, True, False)
    symmetric = tril(inner) + _transposed(tril(inner, -1))
    return _transposed(bind(solve_op, r, _transposed(g_q + matmul(q, symmetric))))


qr_op.vjp(lambda g, out, x: _qr_gradient(g, out))


def _infer_svd(x: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    _check("svd", x, False)
    rows, columns = x.shape[-2:]
    inner = _smaller(rows, columns)
    batch = x.shape[:-2]
    return (
        TensorSpec((*batch, rows, inner), x.dtype),
        TensorSpec((*batch, inner), x.dtype),
        TensorSpec((*batch, inner, columns), x.dtype),
    )


@define_op("svd", infer=_infer_svd, saves=("out",))
def svd_op(x: Array) -> tuple[Array, Array, Array]:
    """u, s, vh with u * s @ vh = x; singular values s descending."""
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return u, s, vh


def _svd_gradient(g: Any, out: Any) -> Tensor:
    (g_u, g_s, g_vh), (u, s, vh) = g, out
    differences = _one_over_differences(s * s)
    s_row, s_column = unsqueeze(s, -2), unsqueeze(s, -1)
    uu, vv = matmul(u, g_u, True, False), matmul(vh, g_vh, False, True)
    inner = (uu - _transposed(uu)) * differences * s_row + s_column * ((vv - _transposed(vv)) * differences)
    found = matmul(matmul(u, inner + diag_embed(g_s)), vh)
    if u.shape[-2] > u.shape[-1]:
        outside = g_u / s_row
        found = found + matmul(outside - matmul(u, matmul(u, outside, True, False)), vh)
    if vh.shape[-1] > vh.shape[-2]:
        outside = g_vh / s_column
        found = found + matmul(u, outside - matmul(matmul(outside, vh, False, True), vh))
    return found


svd_op.vjp(lambda g, out, x: _svd_gradient(g, out))


def inverse(x: Tensor, name: str | None = None) -> Tensor:
    """
    Inverse of square matrices.

    Parameters
    ----------
    x : Tensor, shape (..., n, n)

    Returns
    -------
    Tensor, shape (..., n, n)

    Raises
    ------
    ShapeError
        If the matrices are not square.
    numpy.linalg.LinAlgError
        If one is singular.
    """
    return bind(inverse_op, floating(x))


inv = inverse


def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None) -> Tensor:
    """The z with ``x @ z = y`` (or ``z @ x = y`` if not `left`); `y` may be a vector."""
    x, y = float_operands(x, y)
    if not left:
        return _transposed(solve(_transposed(x), _transposed(y)))
    if y.ndim == 1:
        return squeeze(bind(solve_op, x, unsqueeze(y, -1)), -1)
    return bind(solve_op, x, y)


def cholesky(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The lower triangle `l` with ``l @ l.T = x`` (or `upper`: its transpose) of symmetric positive definite `x`."""
    factor = bind(cholesky_op, floating(x))
    return _transposed(factor) if upper else factor


def det(x: Tensor, name: str | None = None) -> Tensor:
    """Determinant.  Its gradient needs matrices that are not singular."""
    return bind(det_op, floating(x))


def slogdet(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Sign and logarithm of the absolute value of the determinant."""
    sign, logarithm = bind(slogdet_op, floating(x))
    return sign, logarithm


def eigh(x: Tensor, UPLO: str = "L", name: str | None = None) -> tuple[Tensor, Tensor]:
    """
    Eigenvalues, ascending, and eigenvectors (columns) of symmetric matrices.

    Only the triangle that `UPLO` names ("L" or "U") is read.  Gradients need eigenvalues that differ.
    """
    values, vectors = bind(eigh_op, floating(_transposed(x) if UPLO == "U" else x))
    return values, vectors


def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> tuple[Tensor, Tensor]:
    """Orthonormal columns `q` and an upper triangle `r` with ``q @ r = x``; `mode` must be "reduced"."""
    if mode != "reduced":
        raise NotImplementedError(f"qr supports mode 'reduced', got {mode!r}")
    q, r = bind(qr_op, floating(x))
    return q, r


def svd(x: Tensor, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """`u`, `s`, `vh` with ``u * s @ vh = x``, singular values descending; `full_matrices` must be False."""
    if full_matrices:
        raise NotImplementedError("svd supports full_matrices=False only")
    u, s, vh = bind(svd_op, floating(x))
    return u, s, vh


def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Square matrices multiplied by themselves, `n` times; negative powers are those of the inverse."""
    if n < 0:
        return matrix_power(inverse(x), -n)
    if n == 0:
        return x * 0 + np.eye(x.shape[-1], dtype=x.dtype)
    half = matrix_power(x, n // 2) if n > 1 else None
    if half is None:
        return x
    squared = matmul(half, half)
    return matmul(squared, x) if n % 2 else squared
