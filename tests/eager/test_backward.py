"""`backward` and `grad`: values, options, graphs used twice, versions, order, size."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import DTypeError, GradientError, ShapeError


def leaf(*values, dtype="float64"):
    return d2s.to_tensor(list(values), dtype=dtype, stop_gradient=False)


FUNCTIONS = {
    "polynomial": lambda x: (x * x * x - 2 * x).sum(),
    "quotient": lambda x: (x / (1 + x * x)).sum(),
    "tanh of product": lambda x: (x * x[::-1]).tanh().sum(),
    "matmul": lambda x: (x.reshape([2, 2]) @ x.reshape([2, 2])).sum(),
    "indexing": lambda x: (x[1:] * x[:-1]).sum() + x[0] * x[3],
    "broadcast": lambda x: (x.reshape([4, 1]) * x).exp().mean(),
    "division of a sum": lambda x: (x / x.sum()).square().sum(),
}


def numeric_gradient(function, values, step=1e-6):
    found = np.zeros_like(values)
    for index in range(len(values)):
        shift = np.zeros_like(values)
        shift[index] = step
        above, below = (function(d2s.to_tensor(values + sign * shift)).item() for sign in (1, -1))
        found[index] = (above - below) / (2 * step)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_agrees_with_differences(name):
    values = np.array([0.3, -0.7, 1.1, 0.5])
    x = leaf(*values)
    FUNCTIONS[name](x).backward()
    np.testing.assert_allclose(x.grad.numpy(), numeric_gradient(FUNCTIONS[name], values), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_gradient_agrees_with_differences(name):
    values = np.array([0.3, -0.7, 1.1, 0.5])
    weights = d2s.to_tensor(np.array([1.0, -2.0, 0.5, 3.0]))

    def slope(x):
        x.stop_gradient = False
        (g,) = d2s.grad(FUNCTIONS[name](x), [x], create_graph=True)
        return (g * weights).sum()

    x = leaf(*values)
    slope(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), numeric_gradient(slope, values), rtol=1e-5, atol=1e-7)


def test_grad_of_several_outputs_with_weights():
    x = leaf(2.0)
    y, z = x * 3, x * x
    found = d2s.grad([y, z], [x], grad_outputs=[d2s.to_tensor([10.0], "float64"), None])
    assert found[0].tolist() == [34.0]
    assert found[0].stop_gradient
    assert x.grad is None


def test_grad_of_the_same_input_twice():
    x = leaf(2.0)
    assert [g.item() for g in d2s.grad(x * x, [x, x])] == [4.0, 4.0]


def test_grad_frees_the_graph_unless_told_otherwise():
    x = leaf(2.0)
    y = x * x
    d2s.grad(y, x, retain_graph=True)
    d2s.grad(y, x)
    with pytest.raises(GradientError, match="second time"):
        d2s.grad(y, x)


def test_grad_of_unused_input():
    x, w = leaf(2.0), leaf(1.0)
    with pytest.raises(GradientError, match=r"input 1 of grad\(\) is not used"):
        d2s.grad(x * x, [x, w])
    assert d2s.grad(x * x, [x, w], allow_unused=True)[1] is None


def test_third_order():
    x = leaf(2.0)
    g = x**4
    for expected in (32.0, 48.0, 48.0):
        (g,) = d2s.grad(g, [x], create_graph=True)
        assert g.item() == pytest.approx(expected)


def test_part_of_a_freed_graph_cannot_be_used():
    x = leaf(2.0)
    y = x * x
    first, second = y + 1, y + 2
    first.backward()
    with pytest.raises(GradientError, match="retain_graph=True"):
        second.backward()
    assert x.grad.tolist() == [4.0]


def test_leaf_below_a_path_without_gradient_is_finished():
    """One use of x gives it nothing (it is cut below an integer): the other must still reach `.grad`."""
    x = leaf(2.0)
    y = x * 3
    blocked = x * 5
    total = y + blocked
    (found,) = d2s.grad(total, [x], no_grad_vars=[blocked])
    assert found.tolist() == [3.0]


@pytest.mark.parametrize("read", [lambda y, w: y * w, lambda y, w: w @ y, lambda y, w: w / y, lambda y, w: y**w])
def test_write_to_a_value_that_is_read_is_noticed(read):
    x, w = leaf(2.0), leaf(3.0)
    y = x * 2
    z = read(y, w)
    y[0] = 1.0
    with pytest.raises(GradientError, match=r"modified in place: shape \[1\]"):
        z.sum().backward()
    assert (x.grad, w.grad) == (None, None)


@pytest.mark.parametrize(
    ("read", "slope"),
    [
        (lambda y: y + 1, 1.0),
        (lambda y: y * 3, 3.0),
        (lambda y: y / d2s.to_tensor([4.0], "float64"), 0.25),
        (lambda y: y.sqrt(), 0.25),
    ],
)
def test_write_to_a_value_that_is_not_read_is_allowed(read, slope):
    """These gradients read the other operand, the result, or nothing."""
    x = leaf(4.0)
    y = x * 1
    z = read(y)
    y[0] = 1.0
    z.sum().backward()
    assert x.grad.item() == slope


def test_in_place_op_reads_its_own_value_before():
    x, w = leaf(2.0), leaf(3.0)
    y = x * 1
    y.multiply_(w)
    y.multiply_(w)
    y.backward()
    assert (y.item(), x.grad.item(), w.grad.item()) == (18.0, 9.0, 12.0)


def test_in_place_op_keeps_the_dtype():
    x, w = leaf(2.0, dtype="float32"), leaf(3.0)
    y = x * 1
    y.multiply_(w)
    y.multiply_(w)
    assert y.dtype == np.float32
    y.backward()
    assert (x.grad.item(), w.grad.item()) == (9.0, 12.0)


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (lambda y: y.add_(d2s.ones([2, 3])), ShapeError, r"shape \[2, 3\] cannot be written into .* shape \[3\]"),
        (lambda y: y.cast("int64").add_(1.5), DTypeError, "float32 cannot be written into a tensor of int64"),
    ],
)
def test_in_place_op_refuses_what_does_not_fit(write, error, message):
    y = leaf(1.0, 2.0, 3.0) * 1
    with pytest.raises(error, match=message):
        write(y)
    assert (y.tolist(), y.version) == ([1.0, 2.0, 3.0], 0)


def test_in_place_reshape():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.reshape_([2, 1])
    (y * y).sum().backward()
    assert (y.shape, x.grad.tolist()) == ([2, 1], [8.0, 16.0])


def test_overwriting_sends_zeros():
    x = leaf(2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.zero_()
    assert not y.stop_gradient
    (3 * y).backward()
    assert (seen, x.grad.tolist()) == ([[0.0]], [0.0])


def test_clear_gradient():
    x = leaf(2.0)
    x.clear_gradient()
    assert x.grad is None
    (x * x).backward()
    x.clear_gradient()
    assert x.grad.tolist() == [0.0]
    (x * x).backward()
    assert x.grad.tolist() == [4.0]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None


def test_a_long_chain():
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y


def test_deep_diamond_is_walked_once():
    x = leaf(1.0)
    calls = []
    y = x
    for _ in range(60):
        y = y + y
        y.register_hook(lambda g: calls.append(1))
    y.backward()
    assert x.grad.item() == 2.0**60
    assert len(calls) == 60


def test_large_and_small_operands_may_be_the_same_tensor():
    x = leaf(1.0, 2.0)
    (x.reshape([2, 1]) * x).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_result_that_its_gradient_reads_must_not_be_written(recorded):
    x = d2s.to_tensor([0.5], stop_gradient=False)

    def written():
        y = x.tanh()
        with d2s.set_grad_enabled(recorded):
            y.add_(d2s.ones([1]))
        return y * 2

    with pytest.raises(d2s.GradientError, match=r"gradient of tanh needs has been modified in place: shape \[1\]"):
        written().backward()


def test_an_in_place_op_may_read_its_own_result():
    x = d2s.to_tensor([0.5], stop_gradient=False)
    y = x * 1
    y.tanh_()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 - np.tanh(0.5) ** 2, rtol=1e-6)
