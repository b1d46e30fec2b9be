"""Functions of matrices, under the names of `paddle.linalg`."""

from d2s.ops.decompositions import eigh, qr, svd
from d2s.ops.diagonals import diagonal
from d2s.ops.inverses import cholesky, det, inv, matrix_power, slogdet, solve
from d2s.ops.matrices import (
    cholesky_solve,
    cond,
    corrcoef,
    cov,
    cross,
    eigvalsh,
    matrix_norm,
    matrix_rank,
    matrix_transpose,
    multi_dot,
    pinv,
    svdvals,
    triangular_solve,
    vecdot,
    vector_norm,
)
from d2s.ops.products import matmul
from d2s.ops.statistics import norm

__all__ = [
    "cholesky",
    "cholesky_solve",
    "cond",
    "corrcoef",
    "cov",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "triangular_solve",
    "vecdot",
    "vector_norm",
]
