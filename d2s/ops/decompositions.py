"""Eigenvalue, QR and singular value decompositions, by LAPACK through NumPy; leading axes are batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Dim, Size, TensorSpec
from d2s.errors import ArgumentError, NotSupportedError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.complex_numbers import conj, real, real_dtype
from d2s.ops.creation import detach
from d2s.ops.diagonals import diag_embed, diagonal, tril
from d2s.ops.inverses import adjoint, check_matrices, lapack, solve_op
from d2s.ops.joining import concat
from d2s.ops.products import matmul
from d2s.ops.promotion import floating
from d2s.ops.shape import unsqueeze


def _infer_eigh(x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    check_matrices("eigh", x)
    return TensorSpec(x.shape[:-1], real_dtype(x.dtype)), x


@define_op("eigh", kinds="fc", infer=_infer_eigh, saves=("out",))
def eigh_op(x: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices, read from their lower triangle."""
    values, vectors = lapack("eigh", np.linalg.eigh, x)
    return values, vectors


def _one_over_differences(values: Tensor) -> Tensor:
    """1 / (v[j] - v[i]), and 0 on the diagonal."""
    identity = np.eye(values.shape[-1], dtype=values.dtype)
    return 1 / (unsqueeze(values, -2) - unsqueeze(values, -1) + identity) - identity


def _eigh_gradient(g: Any, out: Any) -> Tensor:
    (g_values, g_vectors), (values, vectors) = g, out
    inner = matmul(conj(vectors), g_vectors, True, False) * _one_over_differences(values) + diag_embed(g_values)
    full = matmul(matmul(vectors, inner), conj(vectors), False, True)
    return (full + adjoint(full)) * 0.5


eigh_op.vjp(lambda g, out, x: _eigh_gradient(g, out))


def _infer_qr(x: TensorSpec, *, is_complete: bool = False) -> tuple[TensorSpec, TensorSpec]:
    check_matrices("qr", x, False)
    rows, columns = x.shape[-2:]
    inner = rows if is_complete else _smaller(rows, columns)
    return TensorSpec((*x.shape[:-1], inner), x.dtype), TensorSpec((*x.shape[:-2], inner, columns), x.dtype)


def _smaller(rows: Size, columns: Size) -> Size:
    if isinstance(rows, int) and isinstance(columns, int):
        return min(rows, columns)
    return rows if rows == columns else Dim()


@define_op("qr", kinds="fc", infer=_infer_qr, saves=("out",))
def qr_op(x: Array, *, is_complete: bool = False) -> tuple[Array, Array]:
    """Orthonormal columns q and an upper triangle r with q @ r = x; `is_complete`: q is square."""
    q, r = lapack("qr", np.linalg.qr, x, mode="complete" if is_complete else "reduced")
    return q, r


def _qr_gradient(g: Any, out: Any) -> Tensor:
    (g_q, g_r), (q, r) = g, out
    rows, columns = r.shape[-2:]
    if rows > columns:
        raise NotSupportedError(
            "qr of more rows than columns has no gradient with mode='complete': other columns of q would do as well")
    if rows == columns:
        return _gradient_of_tall(g_q, g_r, q, r)
    # The columns behind the square part are q @ r[rows:], and so depend on q.
    first, behind = r[..., :rows], r[..., rows:]
    g_first, g_behind = g_r[..., :rows], g_r[..., rows:]
    g_q = g_q + matmul(matmul(q, behind), conj(g_behind), False, True)
    return concat([_gradient_of_tall(g_q, g_first, q, first), matmul(q, g_behind)], -1)


def _gradient_of_tall(g_q: Tensor, g_r: Tensor, q: Tensor, r: Tensor) -> Tensor:
    inner = matmul(r, conj(g_r), False, True) - matmul(conj(g_q), q, True, False)
    below = tril(inner, -1)
    # The diagonal of r is real.
    symmetric = below + adjoint(below) + diag_embed(real(diagonal(inner, 0, -2, -1)))
    return adjoint(bind(solve_op, r, adjoint(g_q + matmul(q, symmetric))))


qr_op.vjp(lambda g, out, x, *, is_complete=False: _qr_gradient(g, out))


def _infer_svd(x: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    check_matrices("svd", x, False)
    rows, columns = x.shape[-2:]
    inner = _smaller(rows, columns)
    batch = x.shape[:-2]
    return (
        TensorSpec((*batch, rows, inner), x.dtype),
        TensorSpec((*batch, inner), real_dtype(x.dtype)),
        TensorSpec((*batch, inner, columns), x.dtype),
    )


@define_op("svd", kinds="fc", infer=_infer_svd, saves=("out",))
def svd_op(x: Array) -> tuple[Array, Array, Array]:
    """u, s, vh with u * s @ vh = x; singular values s descending."""
    u, s, vh = lapack("svd", np.linalg.svd, x, full_matrices=False)
    return u, s, vh


def _svd_gradient(g: Any, out: Any) -> Tensor:
    (g_u, g_s, g_vh), (u, s, vh) = g, out
    differences = _one_over_differences(s * s)
    s_row, s_column = unsqueeze(s, -2), unsqueeze(s, -1)
    uu, vv = matmul(conj(u), g_u, True, False), matmul(vh, conj(g_vh), False, True)
    inner = (uu - adjoint(uu)) * differences * s_row + s_column * ((vv - adjoint(vv)) * differences)
    if u.dtype.kind == "c":
        # A turn of both vectors of a value changes nothing, but one of them alone.
        g_s = g_s + diagonal(uu - adjoint(uu), 0, -2, -1) / (s * 2)
    found = matmul(matmul(u, inner + diag_embed(g_s)), vh)
    if u.shape[-2] > u.shape[-1]:
        outside = g_u / s_row
        found = found + matmul(outside - matmul(u, matmul(conj(u), outside, True, False)), vh)
    if vh.shape[-1] > vh.shape[-2]:
        outside = g_vh / s_column
        found = found + matmul(u, outside - matmul(matmul(outside, conj(vh), False, True), vh))
    return found


svd_op.vjp(lambda g, out, x: _svd_gradient(g, out))


@public()
def eigh(x: Tensor, UPLO: str = "L", name: str | None = None) -> tuple[Tensor, Tensor]:
    """
    Eigenvalues, ascending, and eigenvectors (columns) of symmetric or Hermitian matrices.

    Only the triangle that `UPLO` names ("L" or "U") is read.  Gradients need eigenvalues that differ; those of complex
    vectors are right for what does not depend on their phases.
    """
    values, vectors = bind(eigh_op, floating(adjoint(x) if UPLO == "U" else x))
    return values, vectors


@public()
def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """
    Orthonormal columns `q` and an upper triangle `r` with ``q @ r = x``.

    Parameters
    ----------
    x : Tensor, shape (..., rows, columns)
    mode : {"reduced", "complete", "r"}
        "complete": `q` is square; then there is no gradient if there are more rows than columns.  "r": `r` alone.

    Raises
    ------
    ValueError
        If `mode` is another one.
    """
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(f"mode must be reduced, complete or r, got {mode!r}")
    q, r = bind(qr_op, floating(x), **({"is_complete": True} if mode == "complete" else {}))
    return r if mode == "r" else (q, r)


@public()
def svd(x: Tensor, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """
    `u`, `s`, `vh` with ``u * s @ vh = x``, singular values descending.

    With `full_matrices`, `u` and `vh` are square; no gradient flows through what they have more.
    """
    u, s, vh = bind(svd_op, floating(x))
    if full_matrices:
        u, vh = _completed(u), adjoint(_completed(adjoint(vh)))
    return u, s, vh


def _completed(columns: Tensor) -> Tensor:
    """Orthonormal columns, and more of them until they are as many as rows."""
    whole, _ = bind(qr_op, detach(columns), is_complete=True)
    return concat([columns, whole[..., columns.shape[-1]:]], -1)
