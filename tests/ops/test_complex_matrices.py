"""Linear algebra of complex matrices against NumPy, in both modes; gradients of its ops are in `test_table`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s import linalg

R = np.random.default_rng(3)


def numbers(*shape: int) -> Any:
    return R.uniform(-1, 1, shape) + 1j * R.uniform(-1, 1, shape)


SQUARE = numbers(2, 3, 3) + 2 * np.eye(3)
WIDE, TALL = numbers(2, 2, 4), numbers(2, 4, 2)
DEFINITE = SQUARE @ np.conj(np.swapaxes(SQUARE, -1, -2))
RIGHT = numbers(2, 3, 2)
LOWER = np.linalg.cholesky(DEFINITE)
UPPER = np.conj(np.swapaxes(LOWER, -1, -2))

CALLS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "inv": (linalg.inv, (SQUARE,), np.linalg.inv(SQUARE)),
    "det": (linalg.det, (SQUARE,), np.linalg.det(SQUARE)),
    "slogdet": (linalg.slogdet, (SQUARE,), np.stack(np.linalg.slogdet(SQUARE))),
    "solve": (linalg.solve, (SQUARE, RIGHT), np.linalg.solve(SQUARE, RIGHT)),
    "solve from the right": (
        lambda a, b: linalg.solve(a, b, left=False), (SQUARE, WIDE[..., :3]),
        WIDE[..., :3] @ np.linalg.inv(SQUARE)),
    "matrix_power": (lambda x: linalg.matrix_power(x, -2), (SQUARE,), np.linalg.matrix_power(SQUARE, -2)),
    "cholesky": (linalg.cholesky, (DEFINITE,), LOWER),
    "cholesky upper": (lambda x: linalg.cholesky(x, upper=True), (DEFINITE,), UPPER),
    "cholesky_solve": (linalg.cholesky_solve, (RIGHT, LOWER), np.linalg.solve(DEFINITE, RIGHT)),
    "cholesky_solve upper": (
        lambda x, y: linalg.cholesky_solve(x, y, upper=True), (RIGHT, UPPER), np.linalg.solve(DEFINITE, RIGHT)),
    "triangular_solve": (linalg.triangular_solve, (UPPER, RIGHT), np.linalg.solve(UPPER, RIGHT)),
    "eigvalsh": (linalg.eigvalsh, (DEFINITE,), np.linalg.eigvalsh(DEFINITE)),
    "eigh of the lower triangle": (
        lambda x: linalg.eigh(x)[0], (np.tril(DEFINITE),), np.linalg.eigvalsh(DEFINITE)),
    "eigh of the upper triangle": (
        lambda x: linalg.eigh(x, UPLO="U")[0], (np.triu(DEFINITE),), np.linalg.eigvalsh(DEFINITE)),
    "svdvals": (linalg.svdvals, (WIDE,), np.linalg.svd(WIDE, compute_uv=False)),
    "pinv wide": (linalg.pinv, (WIDE,), np.linalg.pinv(WIDE)),
    "pinv tall": (linalg.pinv, (TALL,), np.linalg.pinv(TALL)),
    "pinv hermitian": (lambda x: linalg.pinv(x, hermitian=True), (DEFINITE,), np.linalg.inv(DEFINITE)),
    "matrix_rank": (linalg.matrix_rank, (WIDE,), np.array([2, 2])),
    "cond": (linalg.cond, (SQUARE,), np.linalg.cond(SQUARE)),
    "cov": (linalg.cov, (WIDE[0],), np.cov(WIDE[0])),
    "corrcoef": (linalg.corrcoef, (WIDE[0],), np.corrcoef(WIDE[0])),
    "norm": (d2s.norm, (WIDE,), np.linalg.norm(WIDE)),
    **{
        f"norm {p} of vectors": (
            lambda x, p=p: d2s.norm(x, p, 1), (SQUARE,), np.linalg.norm(SQUARE, p, 1))
        for p in (0, 1, 2, 3, np.inf, -np.inf)
    },
    **{
        f"norm {p} of matrices": (
            lambda x, p=p: d2s.norm(x, p, [-2, -1]), (WIDE,), np.linalg.norm(WIDE, p, (-2, -1)))
        for p in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")
    },
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_values_are_those_of_numpy(name: str) -> None:
    function, given, expected = CALLS[name]
    tensors = [d2s.to_tensor(array) for array in given]
    found, static = function(*tensors), d2s.jit.to_static(function)(*tensors)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)
    assert found.numpy().tobytes() == static.numpy().tobytes()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("a", [WIDE, TALL])
def test_decompositions_multiply_to_the_matrix(a: Any, full: bool) -> None:
    x = d2s.to_tensor(a)
    q, r = linalg.qr(x, mode="complete" if full else "reduced")
    np.testing.assert_allclose((q @ r).numpy(), a, atol=1e-12)
    u, s, vh = linalg.svd(x, full_matrices=full)
    assert s.dtype == "float64"
    np.testing.assert_allclose((u[..., :2] * s.unsqueeze(-2) @ vh[..., :2, :]).numpy(), a, atol=1e-12)
    for orthonormal in (q, u, vh.transpose([0, 2, 1])):
        product = orthonormal.transpose([0, 2, 1]).conj() @ orthonormal
        np.testing.assert_allclose(product.numpy(), np.tile(np.eye(product.shape[-1]), (2, 1, 1)), atol=1e-12)


@pytest.mark.parametrize("name", ["pinv tall", "matrix_power", "cholesky_solve", "cond", "norm 3 of vectors", "cov"])
def test_gradients_of_compositions_agree_with_finite_differences(name: str) -> None:
    function, given, _ = CALLS[name]
    step, rng = 1e-6, np.random.default_rng(1)

    def slope_along(result: Any) -> Any:
        return sum((part * np.linspace(1, 2, part.size).reshape(part.shape)).sum() for part in (
            [result.real(), result.imag()] if result.dtype.kind == "c" else [result]))

    for place in range(len(given)):
        direction = rng.uniform(-1, 1, given[place].shape) + 1j * rng.uniform(-1, 1, given[place].shape)
        if name.startswith("cholesky_solve"):
            direction = np.tril(direction) if place else direction
        leaves = [d2s.to_tensor(array, stop_gradient=False) for array in given]
        slope_along(function(*leaves)).backward()
        moved = []
        for sign in (1, -1):
            others = [*map(d2s.to_tensor, given)]
            others[place] = d2s.to_tensor(given[place] + sign * step * direction)
            moved.append(slope_along(function(*others)).item())
        numeric = (moved[0] - moved[1]) / (2 * step)
        found = (np.conj(leaves[place].grad.numpy()) * direction).sum().real
        assert abs(found - numeric) <= 1e-6 * max(1, abs(numeric)), name


def test_a_singular_complex_matrix_is_an_error() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="inverse of shape"):
        linalg.inv(d2s.zeros([2, 2], "complex64"))
