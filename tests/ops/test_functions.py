"""Public functions against NumPy: values, shapes and dtypes over axes, empty and 0-d tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import d2s
from d2s import ops
from d2s.testing import check_grads
from tests.ops.strategies import axes_of, reals, shapes


def same(result: Any, expected: Any) -> None:
    """Equal values (to rounding), shape and dtype."""
    expected = np.asarray(expected)
    assert result.shape == list(expected.shape)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6, atol=1e-12)


UNARY = [
    "exp", "expm1", "log1p", "square", "abs", "sign", "floor", "ceil", "trunc", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "isnan", "isinf", "isfinite", "logical_not", "negative",
]


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_unary(name: str, data: Any) -> None:
    x = reals(data.draw, data.draw(shapes()), -0.9, 2)
    with np.errstate(all="ignore"):
        same(getattr(ops, name)(d2s.to_tensor(x)), getattr(np, name)(x))


REDUCTIONS: dict[str, Any] = {
    "sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "amax": np.max, "amin": np.min, "prod": np.prod,
    "any": np.any, "all": np.all,
    "logsumexp": lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis, keepdims=keepdims)),
    "var": lambda x, axis, keepdims: np.var(x, axis, keepdims=keepdims, ddof=1),
    "std": lambda x, axis, keepdims: np.std(x, axis, keepdims=keepdims, ddof=1),
    "norm": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis, keepdims=keepdims)),
}


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@given(data=st.data())
def test_reductions(name: str, data: Any) -> None:
    shape = data.draw(shapes(min_side=2))
    axis, keepdim = axes_of(data.draw, len(shape)), data.draw(st.booleans())
    if not shape and name in ("var", "std"):
        return
    x = reals(data.draw, shape)
    given_axis: Any = None if axis is None else [one - len(shape) if data.draw(st.booleans()) else one for one in axis]
    if given_axis and len(given_axis) == 1 and data.draw(st.booleans()):
        given_axis = given_axis[0]
    result = getattr(d2s, name)(d2s.to_tensor(x), axis=given_axis, keepdim=keepdim)
    same(result, REDUCTIONS[name](x, axis, keepdims=keepdim))


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all"])
def test_reductions_of_nothing(name: str) -> None:
    same(getattr(d2s, name)(d2s.zeros([0, 3], "float64"), axis=0), getattr(np, name)(np.zeros((0, 3)), axis=0))


def test_mean_of_nothing_is_nan_and_axis_of_a_0d_tensor() -> None:
    assert math.isnan(float(d2s.mean(d2s.zeros([0]))))
    assert float(d2s.sum(d2s.to_tensor(2.0), axis=0)) == 2.0
    assert float(d2s.max(d2s.to_tensor(2.0), axis=-1)) == 2.0


def test_logsumexp_of_extreme_values() -> None:
    for values, expected in (([1000.0, 1000.0], 1000 + math.log(2)), ([-math.inf, 1.0], 1.0), ([-math.inf], -math.inf)):
        assert float(d2s.logsumexp(d2s.to_tensor(values, "float64"))) == pytest.approx(expected)


X = np.arange(24.0).reshape(2, 3, 4) - 7.25
M = X[0]
PLACES = np.array([[0, 2], [1, 0]])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: d2s.reshape(x, [0, -1]), X.reshape(2, 12)),
        (lambda x: d2s.reshape(x, d2s.to_tensor([4, 6])), X.reshape(4, 6)),
        (lambda x: d2s.reshape(x, [d2s.to_tensor(4), 6]), X.reshape(4, 6)),
        (lambda x: d2s.flatten(x, 1), X.reshape(2, 12)),
        (lambda x: d2s.flatten(x, 0, -2), X.reshape(6, 4)),
        (lambda x: d2s.squeeze(d2s.unsqueeze(x, [0, -1]), 0), X[..., None]),
        (lambda x: d2s.squeeze(x, [0, 1]), X),
        (lambda x: d2s.transpose(x, [2, 0, 1]), X.transpose(2, 0, 1)),
        (lambda x: x.T, X.T),
        (lambda x: d2s.moveaxis(x, [0, 1], [1, 2]), np.moveaxis(X, [0, 1], [1, 2])),
        (lambda x: d2s.swapaxes(x, 0, -1), X.swapaxes(0, -1)),
        (lambda x: d2s.expand(x, [5, -1, 3, -1]), np.broadcast_to(X, (5, 2, 3, 4))),
        (lambda x: d2s.expand_as(x[0], x), np.broadcast_to(M, X.shape)),
        (lambda x: d2s.concat([x, x[:1]], 0), np.concatenate([X, X[:1]])),
        (lambda x: d2s.stack(list(x), -1), np.stack(list(X), -1)),
        (lambda x: d2s.split(x, [1, -1], 2)[1], X[..., 1:]),
        (lambda x: d2s.split(x, 2, -1)[1], X[..., 2:]),
        (lambda x: d2s.chunk(x, 3, 1)[2], X[:, 2:]),
        (lambda x: d2s.unbind(x, 1)[2], X[:, 2]),
        (lambda x: d2s.tile(x, [2, 1]), np.tile(X, [2, 1])),
        (lambda x: d2s.tile(x, [2, 1, 1, 3]), np.tile(X, [2, 1, 1, 3])),
        (lambda x: d2s.repeat_interleave(x, 2, 1), X.repeat(2, 1)),
        (lambda x: d2s.repeat_interleave(x, [2, 0, 1], 1), X.repeat([2, 0, 1], 1)),
        (lambda x: d2s.flip(x, [0, -1]), np.flip(X, (0, 2))),
        (lambda x: d2s.roll(x, 5), np.roll(X, 5)),
        (lambda x: d2s.roll(x, [1, -2], [0, -1]), np.roll(X, (1, -2), (0, 2))),
        (lambda x: d2s.rot90(x, 1, [1, 2]), np.rot90(X, 1, (1, 2))),
        (lambda x: d2s.rot90(x, -1, [0, 2]), np.rot90(X, -1, (0, 2))),
        (lambda x: d2s.tril(x, 1), np.tril(X, 1)),
        (lambda x: d2s.triu(x, -1), np.triu(X, -1)),
        (lambda x: d2s.diagonal(x, 1, 1, 2), np.diagonal(X, 1, 1, 2)),
        (lambda x: d2s.diagonal(x, -2, 2, 1), np.diagonal(X, -2, 2, 1)),
        (lambda x: d2s.trace(x, 1, 0, 2), np.trace(X, 1, 0, 2)),
        (lambda x: d2s.diag(x[0, 0], -1), np.diag(X[0, 0], -1)),
        (lambda x: d2s.diag(x[0], 1), np.diag(M, 1)),
        (lambda x: d2s.meshgrid(x[0, 0], x[0, :, 0])[1], np.meshgrid(X[0, 0], X[0, :, 0], indexing="ij")[1]),
        (lambda x: d2s.cumsum(x, -2), np.cumsum(X, -2)),
        (lambda x: d2s.cumsum(x), np.cumsum(X)),
        (lambda x: d2s.cumprod(x, 1), np.cumprod(X, 1)),
        (lambda x: d2s.sort(x, 1, True), -np.sort(-X, 1)),
        (lambda x: d2s.argsort(x, 1, True), np.argsort(-X, 1)),
        (lambda x: d2s.argmax(x, 1), np.argmax(X, 1)),
        (lambda x: d2s.argmin(x), np.argmin(X)),
        (lambda x: d2s.topk(x, 2, 1)[0], -np.sort(-X, 1)[:, :2]),
        (lambda x: d2s.kthvalue(x, 2, 2)[0], X[..., 1]),
        (lambda x: d2s.median(x), np.median(X)),
        (lambda x: d2s.median(x, 1, True), np.median(X, 1, keepdims=True)),
        (lambda x: d2s.quantile(x, [0.1, 0.75], 2), np.quantile(X, [0.1, 0.75], 2)),
        (lambda x: d2s.clip(x, -1.0, d2s.to_tensor(2.0, "float64")), np.clip(X, -1, 2)),
        (lambda x: d2s.where(x > 0, x, 0.0), np.where(X > 0, X, 0)),
        (lambda x: d2s.masked_fill(x, x > 0, 1.5), np.where(X > 0, 1.5, X)),
        (lambda x: d2s.masked_select(x, x[0] > 0), X[np.broadcast_to(X[0] > 0, X.shape)]),
        (lambda x: d2s.nonzero(x > 0), np.argwhere(X > 0)),
        (lambda x: d2s.gather(x, d2s.to_tensor([1, 0, 1])), X[[1, 0, 1]]),
        (lambda x: d2s.index_select(x, d2s.to_tensor([2, 2]), 1), X[:, [2, 2]]),
        (lambda x: d2s.gather_nd(x, d2s.to_tensor(PLACES)), X[PLACES[:, 0] % 2, PLACES[:, 1]]),
        (
            lambda x: d2s.take_along_axis(x, d2s.to_tensor(PLACES[None]), 1, False),
            np.take_along_axis(X[:1, :, :2], PLACES[None], 1),
        ),
        (lambda x: d2s.matmul(x, x, transpose_y=True), X @ X.swapaxes(1, 2)),
        (lambda x: d2s.dot(x[0], x[1]), np.sum(X[0] * X[1], -1)),
        (lambda x: d2s.outer(x[0, 0], x[0, :, 1]), np.outer(X[0, 0], X[0, :, 1])),
        (lambda x: d2s.norm(x, 3, [0, 1, 2]), np.sum(np.abs(X) ** 3) ** (1 / 3)),
        (lambda x: d2s.norm(x, 1, [1, 2]), np.linalg.norm(X, 1, (1, 2))),
        (lambda x: d2s.norm(x, "nuc", [1, 2], True), np.linalg.norm(X, "nuc", (1, 2), True)),
        (lambda x: d2s.einsum("bij,bkj->ik", x, x), np.einsum("bij,bkj->ik", X, X)),
        (
            lambda x: d2s.einsum("bij,jj,...k->...bk", x, x[0].T @ x[0], x),
            np.einsum("bij,jj,lmk->lmbk", X, M.T @ M, X),
        ),
        (lambda x: d2s.einsum("bij->jb", x), np.einsum("bij->jb", X)),
        (lambda x: d2s.einsum("i,j", x[0, 0], x[0, 1]), np.einsum("i,j", X[0, 0], X[0, 1])),
        (lambda x: d2s.lerp(x, 1.0, 0.25), X + 0.25 * (1 - X)),
        (lambda x: d2s.scale(x, 2.0, 1.0, False), (X + 1) * 2),
        (lambda x: d2s.frac(x), X - np.trunc(X)),
        (lambda x: d2s.round(x, 1), np.round(X, 1)),
        (lambda x: d2s.matrix_power(x[0, :, :3], 3), np.linalg.matrix_power(M[:, :3], 3)),
        (lambda x: d2s.diff(x, 2, 1), np.diff(X, 2, 1)),
        (lambda x: d2s.diff(x, axis=0, append=x[:1]), np.diff(X, axis=0, append=X[:1])),
        (lambda x: d2s.strided_slice(x, [0, 2], [1, 3], [2, 0], [1, -2]), X[1:2, :, 3:0:-2]),
        (lambda x: d2s.nan_to_num(d2s.log(x), 1.5), np.nan_to_num(np.log(np.where(X < 0, math.nan, X)), nan=1.5)),
        (lambda x: ops.logit(ops.sigmoid(x / 4)), X / 4),
        (lambda x: d2s.increment(x.clone(), 2), X + 2),
        (lambda x: d2s.isclose(x, x + 1e-9), np.ones(X.shape, bool)),
        (lambda x: d2s.equal_all(x, x[0]), np.array(False)),
        (lambda x: d2s.full_like(x, 2, "int64"), np.full(X.shape, 2)),
        (lambda x: d2s.one_hot(d2s.to_tensor([0, 2]), 3, "float64"), np.eye(3)[[0, 2]]),
    ],
)
def test_against_numpy(function: Any, expected: Any) -> None:
    if expected is not None:
        same(function(d2s.to_tensor(X)), expected)


def test_gather_nd_counts_the_first_axes() -> None:
    x = d2s.arange(6).reshape([2, 3])
    assert d2s.gather_nd(x, d2s.to_tensor([[1], [0]])).tolist() == [[3, 4, 5], [0, 1, 2]]
    assert d2s.gather_nd(x, d2s.to_tensor([[1, 2]])).tolist() == [5]


def test_scatter() -> None:
    x, index = d2s.ones([3, 2]), d2s.to_tensor([0, 2, 2])
    updates = d2s.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert d2s.scatter(x, index, updates).tolist() == [[1, 2], [1, 1], [5, 6]]
    assert d2s.scatter(x, index, updates, overwrite=False).tolist() == [[1, 2], [1, 1], [8, 10]]
    assert d2s.scatter_nd_add(x, index.unsqueeze(1), updates).tolist() == [[2, 3], [1, 1], [9, 11]]
    assert d2s.index_add(x, index, 0, updates, 2).tolist() == [[3, 5], [1, 1], [17, 21]]
    assert d2s.put_along_axis(x, d2s.to_tensor([[1]]), 5.0, 0).tolist() == [[1, 1], [5, 5], [1, 1]]
    added = d2s.put_along_axis(x, d2s.to_tensor([[1, 1], [1, 0]]), d2s.to_tensor([[5.0, 6.0], [7.0, 8.0]]), 0, "add")
    assert added.tolist() == [[1, 9], [13, 7], [1, 1]]


def test_unique() -> None:
    found, first, inverse, counts = d2s.unique(d2s.to_tensor([2, 1, 2, 5]), True, True, True)
    assert found.tolist() == [1, 2, 5]
    assert first.tolist() == [1, 0, 3]
    assert inverse.tolist() == [1, 0, 1, 2]
    assert counts.tolist() == [1, 2, 1]


def test_searchsorted_and_bincount() -> None:
    rows = d2s.to_tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
    assert d2s.searchsorted(rows, d2s.to_tensor([[3.0], [3.0]]), right=True).tolist() == [[2], [1]]
    assert d2s.bucketize(d2s.to_tensor([0.0, 3.0]), rows[0]).tolist() == [0, 1]
    assert d2s.bincount(d2s.to_tensor([1, 1, 3]), minlength=5).tolist() == [0, 2, 0, 1, 0]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: d2s.arange(5), np.arange(5)),
        (lambda: d2s.arange(1, 6, 2), np.arange(1, 6, 2)),
        (lambda: d2s.arange(0, 1, 0.25), np.arange(0, 1, 0.25).astype("float32")),
        (lambda: d2s.arange(5, 1, -2), np.arange(5, 1, -2)),
        (lambda: d2s.arange(d2s.to_tensor(3)), np.arange(3)),
        (lambda: d2s.linspace(0, 1, 5), np.linspace(0, 1, 5).astype("float32")),
        (lambda: d2s.full([2], 3), np.full(2, 3, "float32")),
        (lambda: d2s.full([2], True), np.full(2, True)),
        (lambda: d2s.full([2], d2s.to_tensor(3)), np.full(2, 3)),
        (lambda: d2s.zeros(d2s.to_tensor([2, 1])), np.zeros((2, 1), "float32")),
        (lambda: d2s.ones(3, "int32"), np.ones(3, "int32")),
        (lambda: d2s.eye(2, 3), np.eye(2, 3, dtype="float32")),
        (lambda: d2s.assign([1.0, 2.0]), np.array([1, 2], "float32")),
        (lambda: d2s.ones_like(d2s.zeros([2], "int64")), np.ones(2, "int64")),
        (lambda: d2s.empty([0, 2]), np.zeros((0, 2), "float32")),
    ],
)
def test_creation(made: Any, expected: Any) -> None:
    same(made(), expected)


def test_erf_is_exact_to_the_last_digit() -> None:
    x = np.concatenate([np.linspace(-7, 7, 4001), [1e-30, -1e-300, math.inf, -math.inf]])
    expected = np.array([math.erf(value) for value in x])
    result = d2s.erf(d2s.to_tensor(x)).numpy()
    assert np.all(np.abs(result - expected) <= 2.3e-16 * np.abs(expected))
    assert math.isnan(float(d2s.erf(d2s.to_tensor(math.nan))))


def test_gradient_where_a_function_has_a_corner() -> None:
    """At ties and bounds as Paddle: extrema share evenly, clip passes at its bounds, abs and relu give 0 at 0."""
    for function, at, expected in (
        (d2s.max, [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
        (lambda x: d2s.clip(x, 1.0, 2.0), [0.0, 1.0, 1.5, 2.0, 3.0], [0, 1, 1, 1, 0]),
        (d2s.abs, [0.0, 1.0, -1.0], [0, 1, -1]),
        (ops.relu, [0.0, 1.0, -1.0], [0, 1, 0]),
        (lambda x: d2s.maximum(x, 2.0), [1.0, 2.0, 3.0], [0, 0.5, 1]),
        (lambda x: x**0, [0.0, 2.0], [0, 0]),
        (lambda x: x**2.0, [0.0, 2.0], [0, 4]),
        (d2s.norm, [0.0, 0.0], [0, 0]),
        (d2s.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
        (lambda x: d2s.cumprod(x, 0), [0.0, 2.0, 3.0], [9, 0, 0]),
    ):
        x = d2s.to_tensor(at, stop_gradient=False)
        function(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), expected, err_msg=str(function))


def test_complex_gradients_conjugate() -> None:
    a = np.array([1 + 2j, 3 - 1j], "complex64")
    x = d2s.to_tensor(a, stop_gradient=False)
    (x * x.conj()).real().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * a, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "int32", "int64", "bool", "float16", "float64"])
@pytest.mark.parametrize("convert", [lambda function: function, d2s.jit.to_static], ids=["eager", "static"])
def test_sums_and_products_have_the_dtype_that_is_asked_for(dtype: str, convert: Any) -> None:
    a = np.array([[100, 100], [3, 4]])
    names = ("sum", "nansum", "cumsum", "prod")
    functions = [lambda x, name=name: getattr(d2s, name)(x, dtype=dtype) for name in names]
    with np.errstate(all="ignore"):
        for name, function in zip(names, functions, strict=True):
            expected = getattr(np, name)(a.astype(dtype), dtype=dtype)
            same(convert(function)(d2s.to_tensor(a)), expected)
        running = convert(lambda x: d2s.cumprod(x, 1, dtype=dtype))(d2s.to_tensor(a))
        same(running, np.cumprod(a.astype(dtype), 1, dtype=dtype))


def test_flip_along_no_axis_changes_nothing() -> None:
    x = d2s.to_tensor([[1, 2], [3, 4]])
    for convert in (lambda function: function, d2s.jit.to_static):
        assert convert(lambda x: d2s.flip(x, []))(x).tolist() == x.tolist()
        assert convert(lambda x: x.flip([0, 1]))(x).tolist() == [[4, 3], [2, 1]]


@pytest.mark.parametrize("function", [d2s.median, d2s.nanmedian])
def test_smaller_median_comes_with_its_index_and_keeps_the_dtype(function: Any) -> None:
    a = np.array([[5, 1, 3, 2], [4, 8, 6, 7]])
    for dtype in ("int64", "int32", "float64"):
        x = d2s.to_tensor(a.astype(dtype))
        for convert in (lambda made: made, d2s.jit.to_static):
            values, indices = convert(lambda x: function(x, 1, mode="min"))(x)
            same(values, np.array([2, 6], dtype))
            same(indices, np.array([3, 2]))
            values, indices = convert(lambda x: function(x, 0, True, "min"))(x)
            same(values, a.min(0, keepdims=True).astype(dtype))
            same(indices, np.array([[1, 0, 0, 0]]))
            same(convert(lambda x: function(x, mode="min"))(x), np.array(4, dtype))
    with pytest.raises(ValueError, match="mode must be 'avg' or 'min', got 'max'"):
        function(x, mode="max")


def test_smaller_median_of_nan() -> None:
    x = d2s.to_tensor([[5, math.nan, 3, math.nan], [math.nan] * 4])
    assert d2s.median(x, 1, mode="min")[1].tolist() == [1, 0]
    values, indices = d2s.nanmedian(x, 1, mode="min")
    assert values.tolist()[0] == 3
    assert math.isnan(values[1].item())
    assert indices.tolist() == [2, 0]


def test_smaller_median_has_its_gradient_at_its_place() -> None:
    x = d2s.to_tensor([[5.0, 1, 3, 2]], stop_gradient=False)
    d2s.median(x, 1, mode="min")[0].sum().backward()
    assert x.grad.tolist() == [[0, 0, 0, 1]]


def test_spread_of_complex_numbers_is_real() -> None:
    a = np.array([[0.3 + 0.7j, 1 - 2j, 2 + 1j]])
    x = d2s.to_tensor(a, stop_gradient=False)
    same(d2s.var(x, 1), np.var(a, 1, ddof=1))
    same(d2s.std(x, unbiased=False), np.std(a))
    d2s.var(x, unbiased=False).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 / 3 * (a - a.mean()))


def test_spread_and_middle_of_no_elements_are_nan_in_both_modes() -> None:
    functions: list[Any] = [
        lambda x: x.var(), lambda x: x.std(0), lambda x: x.median(), lambda x: x.quantile(0.3), lambda x: x.nanmedian()]
    for function in functions:
        open_size = d2s.jit.to_static(function, input_spec=[d2s.static.InputSpec([-1])])
        for made in (function, d2s.jit.to_static(function), open_size):
            assert math.isnan(made(d2s.zeros([0])).item())
        assert open_size(d2s.to_tensor([1.0, 3.0])).item() == function(d2s.to_tensor([1.0, 3.0])).item()
    assert math.isnan(d2s.var(d2s.ones([1]), correction=2).item())


def test_searchsorted_by_a_sorter() -> None:
    sequence = d2s.to_tensor([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])
    order = d2s.argsort(sequence, -1)
    wanted = d2s.to_tensor([[1.5, 3.0], [7.0, 10.0]])
    for convert in (lambda function: function, d2s.jit.to_static):
        found = convert(lambda s, v, o: d2s.searchsorted(s, v, sorter=o))(sequence, wanted, order)
        assert found.tolist() == [[1, 2], [0, 3]]
    assert d2s.searchsorted(sequence[0], wanted[0], sorter=order[0], side="right").tolist() == [1, 3]


def test_sizes_one_by_one() -> None:
    def program(x: Any) -> list[Any]:
        n = x.shape[0]
        return [
            x.reshape(3, 2), d2s.reshape(x, -1, 2), x.expand(2, 2, 3), x.tile(2, 1), x.view(3, 2), x.transpose(0, 1),
            d2s.zeros(2, 3), d2s.ones(n, 3), d2s.empty(2, n).shape, d2s.rand(2, 3).shape, d2s.randn(n, 3).shape,
            x.new_zeros(2, 3), d2s.transpose(d2s.ones([2, 3, 4]), 0, 2).shape, x.reshape(n * 3, 1)]

    x = d2s.arange(6, dtype="float32").reshape([2, 3])
    expected = [
        x.reshape([3, 2]), x.reshape([-1, 2]), x.expand([2, 2, 3]), x.tile([2, 1]), x.reshape([3, 2]), x.t(),
        d2s.zeros([2, 3]), d2s.ones([2, 3]), [2, 2], [2, 3], [2, 3], d2s.zeros([2, 3]), [4, 3, 2], x.reshape([6, 1])]
    for convert in (lambda function: function, d2s.jit.to_static):
        for found, wanted in zip(convert(program)(x), expected, strict=True):
            if isinstance(wanted, list):
                assert found == wanted
            else:
                np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_fill_constant_and_disable_static_take_a_place() -> None:
    assert d2s.tensor.fill_constant([2], "float32", "1.5", place="cpu").tolist() == [1.5, 1.5]
    d2s.disable_static(d2s.CPUPlace())
    for call in (lambda: d2s.disable_static("gpu"), lambda: d2s.tensor.fill_constant([1], "int64", 0, place="gpu")):
        with pytest.raises(d2s.ArgumentError, match="the CPU only"):
            call()
    with pytest.raises(d2s.NotSupportedError, match="out="):
        d2s.tensor.fill_constant([1], "int64", 0, out=d2s.ones([1]))


@pytest.mark.parametrize("convert", [lambda f: f, d2s.to_static])
def test_mode_is_the_smallest_of_the_most_frequent_at_its_last_place(convert: Any) -> None:
    # By PaddlePaddle 3.3.1.
    x = d2s.to_tensor([[1.0, 2, 2, 3, 3], [5, 5, 4, 4, 4], [3, 2, 1, 3, 2]], stop_gradient=False)
    values, indices = convert(lambda x: d2s.mode(x))(x)
    assert (values.tolist(), indices.tolist(), indices.dtype) == ([2.0, 4.0, 2.0], [2, 4, 4], "int64")
    values.sum().backward()
    assert x.grad.tolist() == [[0.0, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
    along = convert(lambda x: x.mode(0, keepdim=True))(x)
    assert [part.tolist() for part in along] == [[[1.0, 2.0, 1.0, 3.0, 2.0]], [[0, 2, 2, 2, 2]]]
    assert [part.item() for part in convert(lambda x: d2s.mode(x))(d2s.to_tensor(3.0))] == [3.0, 0]


def test_mode_where_there_is_none() -> None:
    with pytest.raises(d2s.ShapeError, match=r"no elements: shape \[2, 0\]"):
        d2s.mode(d2s.zeros([2, 0]))
    values, indices = d2s.mode(d2s.to_tensor([math.nan, 2.0, math.nan]))
    assert (values.item(), indices.item()) == (2.0, 1)


@pytest.mark.parametrize("convert", [lambda f: f, d2s.to_static])
def test_logcumsumexp(convert: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3, 7, 2)) * 100

    def f(*args: Any) -> Any:
        return convert(lambda x, axis, dtype=None: d2s.logcumsumexp(x, axis, dtype))(*args)

    for axis in (0, 1, -1):
        same(f(d2s.to_tensor(x), axis), np.logaddexp.accumulate(x, axis))
    same(f(d2s.to_tensor(x), None), np.logaddexp.accumulate(x.reshape(-1)))
    same(f(d2s.to_tensor(3.0), None), np.full(1, 3.0, "float32"))
    same(f(d2s.zeros([0, 2]), 0), np.zeros((0, 2), "float32"))
    same(f(d2s.to_tensor([1, 1]), 0), np.asarray([1, 1 + math.log(2)], "float32"))
    assert f(d2s.to_tensor([1, 1]), 0, "float64").dtype == "float64"
    same(f(d2s.to_tensor([-math.inf, -math.inf, 0.0, math.inf]), 0),
         np.asarray([-math.inf, -math.inf, 0, math.inf], "float32"))


def test_gradients_of_logaddexp_where_both_are_equal() -> None:
    x = d2s.zeros([2], "float64")
    x.stop_gradient = False
    (first,) = d2s.grad(d2s.logaddexp(x[0], x[1]), [x], create_graph=True)
    assert first.tolist() == [0.5, 0.5]
    assert [d2s.grad(part, [x], retain_graph=True)[0].tolist() for part in first] == [[0.25, -0.25], [-0.25, 0.25]]
    x = d2s.full([1], -math.inf)
    x.stop_gradient = False
    d2s.logaddexp(x, x).backward()
    assert x.grad.tolist() == [1.0]


def test_logcumsumexp_can_be_differentiated_twice() -> None:
    values = np.random.default_rng(1).normal(size=(5, 2))
    check_grads(lambda x: d2s.logcumsumexp(x, 0), d2s.to_tensor(values), order=2)


def test_names_that_programs_of_other_libraries_use() -> None:
    x, y = d2s.to_tensor([1.0, 2.0]), d2s.to_tensor([3.0, 4.0])
    assert np.array_equal(d2s.ger(x, y), d2s.outer(x, y))
    assert np.array_equal(x.ger(y), d2s.outer(x, y))
    assert np.array_equal(d2s.true_divide(x, y), x / y)
    pair = d2s.view_as_complex(d2s.stack([x, y], -1))
    assert pair.tolist() == [1 + 3j, 2 + 4j]
    assert np.array_equal(d2s.view_as_real(pair), d2s.stack([x, y], -1))
