"""`jacobian` and `hessian` against finite differences in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s.autograd import hessian, jacobian
from d2s.errors import GradientError, ShapeError

STEP = 1e-6
X = np.array([0.3, -0.7, 1.2])


def leaf(array: Any) -> Any:
    return d2s.to_tensor(np.asarray(array, "float64"), stop_gradient=False)


def mixed(x: Any) -> Any:
    return d2s.stack([x[0] * x[1], x[2].sin() * x[0], (x * x).sum(), x[1].exp()])


def numeric(function: Any, at: Any) -> Any:
    """Columns by central differences."""
    columns = []
    for place in range(at.size):
        step = np.zeros(at.size)
        step[place] = STEP
        columns.append((function(at + step) - function(at - step)) / (2 * STEP))
    return np.stack(columns, -1)


def mixed_of_arrays(x: Any) -> Any:
    return mixed(d2s.to_tensor(x)).numpy()


@pytest.mark.parametrize("convert", [lambda function: function, d2s.jit.to_static], ids=["eager", "static"])
def test_jacobian(convert: Any) -> None:
    x = leaf(X)
    found = jacobian(convert(mixed)(x), x)
    assert found.shape == [4, 3]
    expected = numeric(mixed_of_arrays, X)
    np.testing.assert_allclose(found[:].numpy(), expected, atol=1e-8)
    np.testing.assert_allclose(found[-1].numpy(), expected[-1], atol=1e-8)
    np.testing.assert_allclose(found[1, 2].numpy(), expected[1, 2], atol=1e-8)
    np.testing.assert_allclose(found[1:3, 0].numpy(), expected[1:3, 0], atol=1e-8)
    np.testing.assert_allclose((found + found).sum(0).numpy(), 2 * expected.sum(0), atol=1e-8)


def test_a_row_is_computed_once_when_asked_for() -> None:
    x, calls = leaf(X), []
    y = mixed(x)
    x.register_hook(lambda g: calls.append(1))
    found = jacobian(y, x)
    assert not calls
    found[2]
    found[2, 0]
    assert len(calls) == 1
    found[:]
    assert len(calls) == 4


@pytest.mark.parametrize(("y_axes", "x_axes"), [(0, 0), (0, 1), (1, 0)])
def test_axes_that_are_not_there(y_axes: int, x_axes: int) -> None:
    x = leaf(X) if x_axes else leaf(0.5)
    y = x.exp().sum() * 2 if not y_axes else d2s.stack([x.exp(), x * x])
    found = jacobian(y, x)
    assert found.shape == [2][:y_axes] + [3][:x_axes]
    assert found[:].shape == found.shape if found.shape else found.whole().shape == []


def test_a_batch() -> None:
    x = leaf(np.stack([X, 2 * X]))
    y = d2s.stack([x[:, 0] * x[:, 1], x.prod(1)], 1)
    found = jacobian(y, x, batch_axis=0)
    assert found.shape == [2, 2, 3]
    for number, row in enumerate((X, 2 * X)):
        expected = numeric(lambda v: np.array([v[0] * v[1], v.prod()]), row)
        np.testing.assert_allclose(found[number].numpy(), expected, atol=1e-8)
        np.testing.assert_allclose(found[:, 1].numpy()[number], expected[1], atol=1e-8)


def test_several_and_unused() -> None:
    x, y = leaf(X), leaf([1.0, 2.0])
    found = jacobian([x.sum(), y * y], (x, y))
    assert [[part.shape for part in row] for row in found] == [[[3], [2]], [[2, 3], [2, 2]]]
    assert found[0][1][:].tolist() == [0.0, 0.0]
    assert found[1][1][:].tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert jacobian(leaf(np.zeros(0)) * 2, x)[:].shape == [0, 3]


@pytest.mark.parametrize("convert", [lambda function: function, d2s.jit.to_static], ids=["eager", "static"])
def test_hessian(convert: Any) -> None:
    def function(x: Any) -> Any:
        return (x[0] * x[1] * x[2]).exp() + (x**3).sum()

    x = leaf(X)
    first = lambda v: jacobian(function(at := leaf(v)), at)[:].numpy()  # noqa: E731
    np.testing.assert_allclose(hessian(convert(function)(x), x)[:].numpy(), numeric(first, X), atol=1e-7)


def test_hessian_of_several_and_of_a_batch() -> None:
    x, y = leaf(X), leaf([1.0, 2.0])
    found = hessian((x * x).sum() * y.prod(), (x, y))
    assert [[part.shape for part in row] for row in found] == [[[3, 3], [3, 2]], [[2, 3], [2, 2]]]
    np.testing.assert_allclose(found[0][1][:].numpy(), np.outer(2 * X, [2.0, 1.0]))
    rows = leaf(np.stack([X, 2 * X]))
    np.testing.assert_allclose(
        hessian((rows**3).sum(1), rows, batch_axis=0)[:].numpy(), [np.diag(6 * X), np.diag(12 * X)]
    )


def test_it_can_be_differentiated() -> None:
    x = leaf(X)
    jacobian(x**3, x)[:].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * X)


def test_refusals() -> None:
    x = leaf(np.ones((2, 2)))
    with pytest.raises(ShapeError, match=r"xs of a Jacobian must have 0 or 1 axes, got shape \[2, 2\]"):
        jacobian(x.sum(), x)
    with pytest.raises(ShapeError, match="hessian needs one element, got shape"):
        hessian(leaf(X) * 2, leaf(X))
    with pytest.raises(ValueError, match="batch_axis must be None or 0, got 1"):
        jacobian(x, x, 1)
    with pytest.raises(GradientError, match="stops gradients"):
        jacobian(leaf(X) * 2, d2s.to_tensor(X))[:]


def test_many_rows_inside_a_static_function() -> None:
    """Whether a row depends on `xs` is for the run: the trace does not go two ways for each."""

    def program(x: Any, w: Any) -> list[Any]:
        y = d2s.concat([x[:20] * w[0], w[1:3] ** 2])
        return [
            *(part[:] for part in jacobian(y, (x, w))), jacobian(w * 2, x)[:],
            *(part[:] for row in hessian((x * x).sum() * w.sum(), (x, w)) for part in row)]

    results = []
    for convert in (lambda function: function, d2s.jit.to_static):
        x, w = leaf(np.linspace(-1, 1, 30)), leaf(X)
        converted = convert(program)
        results.append(converted(x, w))
    assert len(converted.program_cache) == 1
    for eager, static in zip(*results, strict=True):
        np.testing.assert_array_equal(eager.numpy(), static.numpy())
        assert eager.stop_gradient is static.stop_gradient
