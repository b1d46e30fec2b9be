"""Matrices and products."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .calls import Array, Call, Draw, call
from .calls_of_methods import PROGRAMS


@call("tril", "triu")
def _triangle(d: Draw) -> Call:
    return Call([d.array(d.shape(2, smallest=1)), d.int(-2, 2)])


@call("diagonal", "trace")
def _diagonal(d: Draw) -> Call:
    shape = d.shape(2, smallest=3)
    axes = [int(axis) for axis in d.rng.permutation(len(shape))[:2]]
    return Call([d.array(shape)], {"offset": d.int(-1, 1), "axis1": axes[0], "axis2": axes[1]})


@call("diag_embed")
def _diag_embed(d: Draw) -> Call:
    return Call([d.array(d.shape(1, 2, 1))], {"offset": d.int(-1, 1)})


@call("diag")
def _diag(d: Draw) -> Call:
    return Call([d.array(d.shape(1, 2, 2)), d.int(-1, 1)])


@call("diagflat")
def _diagflat(d: Draw) -> Call:
    return Call([d.array(d.shape(1, 2, 1)), d.int(-1, 1)])


@call("matmul")
def _matmul(d: Draw) -> Call:
    rows, inner, columns = d.int(1, 3), d.int(1, 3), d.int(1, 3)
    batch = d.one((), (2,), (1, 2))
    left = d.one((rows, inner), (*batch, rows, inner), (inner,))
    right = d.one((inner, columns), (*batch, inner, columns), (inner,))
    return Call([d.array(left, dtype="float64"), d.array(right, dtype="float64")])


@call("mm")
def _mm(d: Draw) -> Call:
    inner = d.int(1, 3)
    return Call([d.array((d.int(1, 3), inner), dtype="float32"), d.array((inner, d.int(1, 3)), dtype="float32")])


@call("bmm")
def _bmm(d: Draw) -> Call:
    return Call([d.array((2, 3, 4), dtype="float32"), d.array((2, 4, 2), dtype="float32")])


@call("mv")
def _mv(d: Draw) -> Call:
    return Call([d.array((3, 4), dtype="float32"), d.array((4,), dtype="float32")])


@call("dot")
def _dot(d: Draw) -> Call:
    shape = d.shape(1, 2, 1)
    return Call([d.array(shape, dtype="float32"), d.array(shape, dtype="float32")])


@call("outer", "inner")
def _outer(d: Draw) -> Call:
    return Call([d.array((3,), dtype="float32"), d.array((3,), dtype="float32")])


@call("kron")
def _kron(d: Draw) -> Call:
    return Call([d.array(d.shape(1, 3, 1), dtype="float64"), d.array(d.shape(1, 3, 1), dtype="float64")])


@call("tensordot")
def _tensordot(d: Draw) -> Call:
    return Call(
        [d.array((2, 3, 4), dtype="float64"), d.array((3, 4, 2), dtype="float64")],
        {"axes": d.one(2, [[1, 2], [0, 1]], [[2], [1]])},
    )


@call("cross")
def _cross(d: Draw) -> Call:
    shape = d.one((3,), (2, 3), (3, 3))
    return Call([d.array(shape, dtype="float64"), d.array(shape, dtype="float64")], {"axis": -1} if d.int(0, 1) else {})


@call("vecdot")
def _vecdot(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape, dtype="float64"), d.array(shape, dtype="float64")], {"axis": d.axis(len(shape))})


@call("addmm")
def _addmm(d: Draw) -> Call:
    return Call(
        [d.array((2, 3), dtype="float32"), d.array((2, 4), dtype="float32"), d.array((4, 3), dtype="float32")],
        {"beta": 0.5, "alpha": 2.0},
    )


@call("baddbmm")
def _baddbmm(d: Draw) -> Call:
    return Call(
        [d.array((2, 2, 3), dtype="float32"), d.array((2, 2, 4), dtype="float32"), d.array((2, 4, 3), dtype="float32")],
        {"beta": 0.5, "alpha": 2.0},
    )


@call("dist")
def _dist(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape, dtype="float64"), d.array(shape, dtype="float64")], {"p": d.one(1, 2, 3)})


@call("cdist")
def _cdist(d: Draw) -> Call:
    return Call([d.array((3, 2), dtype="float64"), d.array((4, 2), dtype="float64")], {"p": d.one(1.0, 2.0, 3.0)})


def _well(d: Draw) -> Any:
    """A matrix far from singular."""
    batch = d.one((), (2,))
    size = d.int(1, 3)
    return Array(d.rng.uniform(-1, 1, (*batch, size, size)) + 3 * np.eye(size))


@call(
    "inverse",
    "linalg.inv",
    "linalg.det",
    "linalg.slogdet",
    "linalg.svdvals",
    "linalg.matrix_rank",
    "linalg.cond",
    "matrix_transpose",
    "linalg.pinv",
)
def _square(d: Draw) -> Call:
    return Call([_well(d)])


@call("linalg.matrix_power")
def _matrix_power(d: Draw) -> Call:
    return Call([_well(d), d.int(-2, 3)])


@call("linalg.solve")
def _solve(d: Draw) -> Call:
    a = _well(d)
    return Call([a, d.array((*a.data.shape[:-1], 2), dtype="float64")])


@call("linalg.triangular_solve")
def _triangular_solve(d: Draw) -> Call:
    a = _well(d)
    return Call(
        [a, d.array((*a.data.shape[:-1], 2), dtype="float64")],
        {"upper": d.one(True, False), "transpose": d.one(True, False), "unitriangular": d.one(True, False)},
    )


@call("linalg.cholesky", "linalg.eigvalsh")
def _positive(d: Draw) -> Call:
    a = _well(d).data
    return Call([Array(a @ np.swapaxes(a, -1, -2))])


def _module_of(x: Any) -> Any:
    """The library that `x` is a tensor of."""
    return sys.modules[type(x).__module__.partition(".")[0]]


def svd_without_signs(x: Any, full_matrices: bool) -> Any:
    u, s, vh = _module_of(x).linalg.svd(x, full_matrices)
    count = s.shape[-1]
    # Which columns complete the others is open, but not what they project on.
    more = [part @ part.mT for part in (u[..., count:], vh.mT[..., count:])]
    return u[..., :count].abs(), s, vh[..., :count, :].abs(), [part.detach() for part in more]


def eigh_without_signs(x: Any, UPLO: str) -> Any:
    values, vectors = _module_of(x).linalg.eigh(x, UPLO=UPLO)
    return values, vectors.abs()


def qr_without_signs(x: Any, mode: str) -> Any:
    if mode == "r":
        return _module_of(x).linalg.qr(x.detach(), mode=mode).abs()
    tall = mode == "complete" and x.shape[-2] > x.shape[-1]
    q, r = _module_of(x).linalg.qr(x.detach() if tall else x, mode)
    return q.abs(), r.abs()


PROGRAMS.update({
    "linalg.svd": svd_without_signs, "linalg.eigh": eigh_without_signs, "linalg.qr": qr_without_signs})


def _any_sizes(d: Draw) -> Array:
    shape = (*d.one((), (2,)), d.int(1, 4), d.int(1, 4))
    base = np.zeros(shape)
    for k in range(min(shape[-2:])):
        base[..., k, k] = 4.0 - k
    return Array(base + d.rng.uniform(-0.3, 0.3, shape))


@call("linalg.svd")
def _svd(d: Draw) -> Call:
    return Call([_any_sizes(d)], {"full_matrices": d.one(True, False)})


@call("linalg.qr")
def _qr(d: Draw) -> Call:
    return Call([_any_sizes(d)], {"mode": d.one("reduced", "complete", "r")})


@call("linalg.eigh")
def _eigh(d: Draw) -> Call:
    x = d.rng.uniform(-0.2, 0.2, (*d.one((), (2,)), *[d.int(1, 3)] * 2))
    return Call([Array(x + np.swapaxes(x, -1, -2) + np.diag(np.arange(x.shape[-1]) + 1.0))], {"UPLO": d.one("L", "U")})


@call("linalg.matrix_norm")
def _matrix_norm(d: Draw) -> Call:
    return Call(
        [d.array((2, 3, 4), dtype="float64")],
        {"p": d.one("fro", 1, 2, float("inf"), "nuc"), "keepdim": d.one(True, False)},
    )


@call("linalg.vector_norm")
def _vector_norm(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call(
        [d.array(shape, 0.2, 2, dtype="float64")],
        {"p": d.one(1.0, 2.0, 3.0), "axis": d.axes(len(shape)), "keepdim": d.one(True, False)},
    )


@call("linalg.cov", "linalg.corrcoef")
def _cov(d: Draw) -> Call:
    return Call([d.array((2, 5), dtype="float64")], {"rowvar": d.one(True, False)})


@call("linalg.multi_dot")
def _multi_dot(d: Draw) -> Call:
    return Call(
        [[d.array((2, 3), dtype="float64"), d.array((3, 4), dtype="float64"), d.array((4, 2), dtype="float64")]]
    )


@call("vander")
def _vander(d: Draw) -> Call:
    return Call([d.array((3,), dtype="float64")], {"n": d.one(None, 2, 4), "increasing": d.one(True, False)})


@call("einsum")
def _einsum(d: Draw) -> Call:
    text, shapes = d.one(
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
        ("ij->ji", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (2, 3, 2)]),
        ("ij->", [(2, 3)]),
    )
    return Call([text, *[d.array(shape, dtype="float64") for shape in shapes]])
