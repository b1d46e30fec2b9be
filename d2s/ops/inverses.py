"""Inverses, determinants and linear systems of matrices, by LAPACK through NumPy; leading axes are batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec, broadcast_shapes
from d2s.errors import DTypeError, MatrixError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import sizes_agree
from d2s.ops.casting import cast
from d2s.ops.complex_numbers import conj, imag, real_dtype
from d2s.ops.diagonals import diag_embed, diagonal, tril
from d2s.ops.joining import stack
from d2s.ops.products import matmul
from d2s.ops.promotion import float_operands, floating
from d2s.ops.shape import squeeze, swapaxes, unsqueeze


def check_matrices(name: str, x: TensorSpec, is_square: bool = True) -> None:
    if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise DTypeError(f"{name} is defined for float32 and float64 and complex numbers, got {x.dtype.name}")
    if x.ndim < 2 or (is_square and not sizes_agree(x.shape[-1], x.shape[-2])):
        raise ShapeError(f"{name} needs {'square ' * is_square}matrices, got shape {list(x.shape)}")


def lapack(name: str, function: Callable[..., Any], *matrices: Array, **options: Any) -> Any:
    """Call a function of NumPy on matrices.

    Raises
    ------
    MatrixError
        If LAPACK finds no result.
    """
    try:
        return function(*matrices, **options)
    except np.linalg.LinAlgError as error:
        shapes = " and ".join(str(list(matrix.shape)) for matrix in matrices)
        raise MatrixError(f"{name} of shape{'s' * (len(matrices) > 1)} {shapes}: {error}") from None


def _same_shape(name: str) -> Any:
    def infer(x: TensorSpec) -> TensorSpec:
        check_matrices(name, x)
        return x

    return infer


def transposed(x: Tensor) -> Tensor:
    return swapaxes(x, -1, -2)


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose; of real matrices the transpose."""
    return conj(transposed(x))


@define_op("inverse", kinds="fc", infer=_same_shape("inverse"), saves=("out",))
def inverse_op(x: Array) -> Array:
    """Matrix inverse."""
    found: Array = lapack("inverse", np.linalg.inv, x)
    return found


inverse_op.vjp(lambda g, out, x: -matmul(matmul(conj(out), g, True, False), conj(out), False, True))


def _infer_solve(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    check_matrices("solve", a)
    if b.ndim < 2 or a.dtype != b.dtype or not sizes_agree(a.shape[-1], b.shape[-2]):
        raise ShapeError(f"solve: a right side of {b} does not fit matrices of {a}")
    return TensorSpec((*broadcast_shapes(a.shape[:-2], b.shape[:-2], what="batches of solve"), *b.shape[-2:]), a.dtype)


@define_op("solve", kinds="fc", infer=_infer_solve, saves=("a", "out"))
def solve_op(a: Array, b: Array) -> Array:
    """The x with a @ x = b."""
    if b.ndim < 2:
        raise ShapeError("solve needs matrices")
    found: Array = lapack("solve", np.linalg.solve, a, b)
    return found


solve_op.vjp(
    lambda g, out, a, b: -matmul(bind(solve_op, adjoint(a), g), conj(out), False, True),
    lambda g, out, a, b: bind(solve_op, adjoint(a), g),
)


@define_op("cholesky", kinds="fc", infer=_same_shape("cholesky"), saves=("out",))
def cholesky_op(x: Array) -> Array:
    """The lower triangle l that, times its conjugate transpose, is x."""
    found: Array = lapack("cholesky", np.linalg.cholesky, x)
    return found


def _cholesky_gradient(g: Tensor, factor: Tensor) -> Tensor:
    # Murray 2016, "Differentiation of the Cholesky decomposition", with the lower triangle of l.T @ g halved on
    # the diagonal.
    inner = tril(matmul(conj(factor), g, True, False))
    inner = inner - diag_embed(diagonal(inner, 0, -2, -1)) * 0.5
    upper = adjoint(factor)
    outer = bind(solve_op, upper, adjoint(bind(solve_op, upper, inner + adjoint(inner))))
    return outer * 0.5


cholesky_op.vjp(lambda g, out, x: _cholesky_gradient(g, out))


def _infer_det(x: TensorSpec) -> TensorSpec:
    check_matrices("det", x)
    return TensorSpec(x.shape[:-2], x.dtype)


@define_op("det", kinds="fc", infer=_infer_det, saves=("x", "out"))
def det_op(x: Array) -> Any:
    """Determinant."""
    return np.linalg.det(x)


def _infer_slogdet(x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    check_matrices("slogdet", x)
    return TensorSpec(x.shape[:-2], x.dtype), TensorSpec(x.shape[:-2], real_dtype(x.dtype))


@define_op("slogdet", kinds="fc", infer=_infer_slogdet, saves=("x", "out"))
def slogdet_op(x: Array) -> tuple[Any, Any]:
    """Sign and logarithm of the absolute value of the determinant."""
    sign, logarithm = np.linalg.slogdet(x)
    return sign, logarithm


@public()
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
    MatrixError
        If one is singular; also a numpy.linalg.LinAlgError.
    """
    return bind(inverse_op, floating(x))


def _slogdet_gradient(g: Any, out: Any, x: Tensor) -> Tensor:
    towards = g[1]
    if x.dtype.kind == "c":
        # The sign turns with the imaginary part of the logarithm.
        towards = towards + imag(conj(out[0]) * g[0]) * 1j
    return unsqueeze(towards, [-1, -1]) * adjoint(inverse(x))


slogdet_op.vjp(_slogdet_gradient)


det_op.vjp(lambda g, out, x: unsqueeze(g * conj(out), [-1, -1]) * adjoint(inverse(x)))


inv = inverse


@public(x="A", y="B")
def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None) -> Tensor:
    """The z with ``x @ z = y`` (or ``z @ x = y`` if not `left`); `y` may be a vector."""
    x, y = float_operands(x, y)
    if not left:
        return transposed(solve(transposed(x), transposed(y)))
    if y.ndim == 1:
        return squeeze(bind(solve_op, x, unsqueeze(y, -1)), -1)
    return bind(solve_op, x, y)


@public()
def cholesky(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The lower triangle `l` with ``l @ l.T = x`` (or `upper`: its transpose) of symmetric positive definite `x`.

    Complex matrices are Hermitian, and `l` meets its conjugate transpose.
    """
    factor = bind(cholesky_op, floating(x))
    return adjoint(factor) if upper else factor


@public()
def det(x: Tensor, name: str | None = None) -> Tensor:
    """Determinant.  Its gradient needs matrices that are not singular."""
    return bind(det_op, floating(x))


@public()
def slogdet(x: Tensor, name: str | None = None) -> Tensor:
    """Sign and logarithm of the absolute value of the determinant, along a new first axis of size 2."""
    sign, logarithm = bind(slogdet_op, floating(x))
    return stack([sign, cast(logarithm, sign.dtype)])


@public()
def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Square matrices multiplied by themselves, `n` times; negative powers are those of the inverse."""
    need_tensors(x)
    if x.ndim < 2 or not sizes_agree(*x.spec.shape[-2:]):
        raise ShapeError(f"matrix_power needs square matrices, got shape {x.shape}")
    if n < 0:
        return matrix_power(inverse(x), -n)
    if n == 0:
        return x * 0 + np.eye(x.shape[-1], dtype=x.dtype)
    half = matrix_power(x, n // 2) if n > 1 else None
    if half is None:
        return x
    squared = matmul(half, half)
    return matmul(squared, x) if n % 2 else squared
