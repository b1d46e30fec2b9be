"""The memory that an optimizer keeps from step to step: nobody sees it."""

from __future__ import annotations

import copy

import numpy as np

import d2s
from d2s.optimizer.scratch import Scratch


def test_memory_is_used_again_for_any_shape_and_dtype_and_by_one_user_at_a_time():
    scratch = Scratch()
    assert scratch.take(np.zeros(10, "float32")) is None
    first = scratch.take(np.zeros((300, 200), "float64"))
    other = scratch.take(np.zeros((300, 200), "float64"))
    assert first.shape == (300, 200)
    assert not np.shares_memory(first, other)
    scratch.give(first)
    again = scratch.take(np.zeros(50_000, "float32"))
    assert again.dtype == np.float32
    assert again.shape == (50_000,)
    assert np.shares_memory(again, first)
    scratch.give(again)
    assert scratch.take(np.zeros((500, 500))).shape == (500, 500)


def test_a_copy_starts_without():
    scratch = Scratch()
    scratch.give(scratch.take(np.zeros(50_000)))
    assert not copy.deepcopy(scratch)._free
    assert scratch._free


def test_steps_on_large_parameters_of_several_shapes():
    r = np.random.default_rng(3)
    shapes = [(300, 200), (7,), (400, 300), (300, 200)]
    start = [r.standard_normal(shape).astype("float32") for shape in shapes]
    grads = [r.standard_normal(shape).astype("float32") for shape in shapes]
    params = [d2s.to_tensor(array, stop_gradient=False) for array in start]
    optimizer = d2s.optimizer.SGD(0.3, parameters=params)
    expected = start
    for turn in range(3):
        for param, grad in zip(params, grads, strict=True):
            param.grad = d2s.to_tensor(grad * (turn + 1))
        optimizer.step()
        expected = [array - (grad * (turn + 1)) * 0.3 for array, grad in zip(expected, grads, strict=True)]
        for param, grad, array in zip(params, grads, expected, strict=True):
            np.testing.assert_array_equal(param.numpy(), array)
            np.testing.assert_array_equal(param.grad.numpy(), grad * (turn + 1))
