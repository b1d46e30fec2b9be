"""Matrices and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from .calls import Array, Call, Draw, call


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
