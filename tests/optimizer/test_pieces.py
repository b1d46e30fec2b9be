"""Steps on parameters so large that they are changed piece by piece."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s.optimizer.pieces import are_large, pieces


def test_pieces_are_views_of_everything_in_order():
    arrays = [np.arange(300_000, dtype="float32").reshape(300, 1000) + turn for turn in range(2)]
    assert are_large(*arrays)
    for array, parts in zip(arrays, pieces(*arrays), strict=True):
        assert len(parts) > 1
        assert all(np.shares_memory(part, array) for part in parts)
        np.testing.assert_array_equal(np.concatenate(parts), array.ravel())


@pytest.mark.parametrize("other", [
    np.zeros((1000, 300), "float32").T, np.zeros((300, 1000), "float64"), np.zeros((300, 2000), "float32")[:, ::2]])
def test_arrays_in_another_order_or_dtype_are_not_cut(other: np.ndarray):
    assert not are_large(np.zeros((300, 1000), "float32"), other)


@pytest.mark.parametrize("is_static", [False, True])
def test_steps_on_large_parameters_of_several_shapes(is_static: bool):
    r = np.random.default_rng(3)
    shapes = [(300, 400), (7,), (400, 301), (300, 200), (1, 1, 70_001)]
    expected = [r.standard_normal(shape).astype("float32") for shape in shapes]
    grads = [r.standard_normal(shape).astype("float32") for shape in shapes]
    # One gradient, and one parameter, lie in another order than theirs.
    grads[2] = np.asfortranarray(grads[2])
    params = [d2s.to_tensor(np.asfortranarray(array) if turn == 3 else array, stop_gradient=False)
              for turn, array in enumerate(expected)]
    optimizer = d2s.optimizer.SGD(0.3, parameters=params)
    step = d2s.to_static(lambda: optimizer.step()) if is_static else optimizer.step
    for turn in range(3):
        for param, grad in zip(params, grads, strict=True):
            param.grad = d2s.to_tensor(grad * (turn + 1))
        step()
        expected = [array - (grad * (turn + 1)) * 0.3 for array, grad in zip(expected, grads, strict=True)]
        for param, grad, array in zip(params, grads, expected, strict=True):
            np.testing.assert_array_equal(param.numpy(), array)
            np.testing.assert_array_equal(param.grad.numpy(), grad * (turn + 1))


def test_values_that_somebody_else_holds_are_not_written_to():
    param = d2s.to_tensor(np.ones((300, 400), "float32"), stop_gradient=False)
    before = param.detach()
    held = before.numpy().copy()
    optimizer = d2s.optimizer.SGD(0.5, parameters=[param])
    (param * param).sum().backward()
    array = param.data
    optimizer.step()
    np.testing.assert_array_equal(array, held)
    np.testing.assert_array_equal(param.numpy(), np.zeros((300, 400)))
