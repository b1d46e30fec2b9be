"""Tensors that a turn of a loop has put into an object outside are differentiated like all others."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import d2s
from d2s.errors import GradientError
from tests.jit.both import both_modes, leaf, recorder


@both_modes
def test_backward_from_the_tensor_of_a_turn(convert):
    seen, log = [], []

    def f(x, w, n):
        for i in range(n):
            x = x * w
            x.register_hook(recorder(log, f"turn {i}"))
            seen.append(x)
        return x

    f = convert(f)
    for turns in (3, 2):
        seen.clear(), log.clear()
        y = f(x := leaf(1.0, 2.0), w := leaf(0.5, -1.0), d2s.to_tensor(turns))
        assert [t.stop_gradient for t in seen] == [False] * turns
        assert seen[-1].tolist() == y.tolist()
        (seen[0] * seen[1] + seen[-1]).sum().backward()
        # By hand, with s0 = x w, s1 = s0 w, s2 = s1 w, and g -> g * g + 1 at each.
        xs, ws = np.array([1.0, 2.0]), np.array([0.5, -1.0])
        s0 = xs * ws
        s1 = s0 * ws
        g2 = np.array([2.0, 2.0])
        if turns == 3:
            g1 = (s0 + g2 * ws) ** 2 + 1
        else:
            g1 = (s0 + 1) ** 2 + 1
        g0 = (s1 + g1 * ws) ** 2 + 1
        gw = g0 * xs + g1 * s0 + (g2 * s1 if turns == 3 else 0)
        assert np.allclose(x.grad.numpy(), g0 * ws)
        assert np.allclose(w.grad.numpy(), gw)
        assert [name for name, _ in log] == [f"turn {i}" for i in reversed(range(turns))]


@both_modes
def test_backward_from_both_the_result_and_turns(convert):
    seen = []

    def f(x, n):
        for _ in range(n):
            x = x * x
            seen.append(x)
        return x.sum()

    y = convert(f)(x := leaf(1.5, 2.0), d2s.to_tensor(3))
    # The result is found first, as the run itself.
    (y + seen[1].sum()).backward()
    a = np.array([1.5, 2.0], np.float32)
    assert np.allclose(x.grad.numpy(), 8 * a**7 + 4 * a**3)
    with pytest.raises(GradientError, match="second time"):
        seen[0].sum().backward()


@both_modes
def test_hooks_and_gradients_on_tensors_of_turns(convert):
    seen, log = [], []

    def f(x, n, c):
        for _ in range(n):
            if c > 0:
                x = x * x
            seen.append(x)
        return x.sum()

    f = convert(f)
    for c in (1.0, -1.0):
        seen.clear(), log.clear()
        y = f(x := leaf(1.0, 2.0) * 1.0, d2s.to_tensor(2), d2s.to_tensor(c))
        seen[0].register_hook(recorder(log, "first"))
        seen[0].retain_grads()
        assert (seen[0] is x) == (c < 0)
        y.backward()
        log.append(seen[0].grad.tolist())
        assert log == [[("first", [2.0, 8.0]), [5.0, 65.0]], [("first", [1.0, 1.0]), [2.0, 2.0]]][c < 0]


@both_modes
def test_random_numbers_of_turns_are_not_drawn_again(convert):
    seen = []

    def f(x, n):
        for _ in range(n):
            noisy = x * d2s.rand([2])
            seen.append(noisy * noisy)
            x = x + 1
        return x.sum()

    d2s.seed(7)
    convert(f)(x := leaf(1.0, 2.0), d2s.to_tensor(2))
    drawn = d2s.rand([2])
    (seen[0] + seen[1]).sum().backward()
    d2s.seed(7)
    first, second, third = d2s.rand([2]).numpy(), d2s.rand([2]).numpy(), d2s.rand([2])
    assert third.tolist() == drawn.tolist()
    a = np.array([1.0, 2.0], np.float32)
    assert np.allclose(x.grad.numpy(), 2 * a * first**2 + 2 * (a + 1) * second**2)


@both_modes
def test_writes_to_tensors_of_turns(convert):
    seen = []

    def f(x, n):
        for _ in range(n):
            x = x * x
            seen.append(x)
        return x.sum()

    y = convert(f)(x := leaf(1.0, 2.0), d2s.to_tensor(2))
    with d2s.no_grad():
        seen[0].add_(d2s.ones([2]))
    with pytest.raises(GradientError, match="modified in place"):
        y.backward()
    assert x.grad is None


@both_modes
def test_grad_with_respect_to_tensors_of_turns(convert):
    seen = []

    def f(x, n):
        for _ in range(n):
            x = x * x
            seen.append(x)
        return x.sum()

    y = convert(f)(x := leaf(3.0), d2s.to_tensor(2))
    first, second, own = d2s.grad(y, [seen[0], seen[1], x], retain_graph=True, create_graph=True)
    assert (first.item(), second.item(), own.item()) == (18.0, 1.0, 108.0)
    (twice,) = d2s.grad(first, [seen[0]])
    assert twice.item() == 2.0


@both_modes
def test_a_write_in_place_keeps_the_history_of_a_turn(convert):
    seen = []

    def f(x, n):
        total = x * 0.0
        for _ in range(n):
            total.add_(x * x)
            seen.append(total + x)
        return total.sum()

    convert(f)(x := leaf(3.0), d2s.to_tensor(2))
    (seen[0] * 2 + seen[1]).sum().backward()
    assert x.grad.item() == 2 * 7.0 + 13.0


def test_tensors_of_turns_do_not_keep_their_run_alive():
    seen = []

    @d2s.to_static
    def f(x, n):
        for _ in range(n):
            x = x * x
            seen.append(x)
        return x.sum()

    y = f(leaf(1.0, 2.0), d2s.to_tensor(2))
    node = weakref.ref(y._node)
    gc.disable()
    try:
        del y
        seen.clear()
        assert node() is None
    finally:
        gc.enable()


@both_modes
def test_a_loop_that_goes_on(convert):
    """Code that is not traced differentiates what the turns so far have made; what it uses up is used up."""
    seen = []

    @d2s.jit.not_to_static
    def ask(x, retain_graph):
        try:
            x.sum().backward(retain_graph=retain_graph)
        except GradientError as error:
            seen.append(error.kind)
        seen.append(leaf_.grad.item())

    @convert
    def f(x, n):
        ask(x * x, False)
        for i in range(n):
            x = x * x
            x.register_hook(recorder(seen, "x"))
            ask(x, i < 2)
        return x.sum()

    leaf_ = leaf(1.5)
    f(leaf_, d2s.to_tensor(2)).backward()
    assert seen[:3] == [3.0, ("x", [1.0]), 3.0 + 2 * 3]
    seen.clear()
    y = f(leaf_, d2s.to_tensor(4))
    assert seen[-2:] == ["G01", leaf_.grad.item()]
    with pytest.raises(GradientError):
        y.backward()


def test_a_test_that_differentiates_a_tensor_of_a_turn():
    @d2s.jit.not_to_static
    def is_small(x):
        x.sum().backward(retain_graph=True)
        return x.item() < 3

    @d2s.to_static
    def f(x):
        while is_small(x):
            x = x * x
        return x

    with pytest.raises(GradientError) as caught:
        f(leaf(1.5))
    assert caught.value.kind == "G09"


@both_modes
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_backward_in_code_that_is_not_traced(convert, c):
    log = []

    @d2s.jit.not_to_static
    def ask(tensor):
        tensor.sum().backward(retain_graph=True)
        log.append(x.grad.tolist())

    def f(x, c):
        y = x * x
        y.register_hook(recorder(log, "y"))
        if c > 0:
            ask(y)
            z = y * x
            z.register_hook(recorder(log, "z"))
            ask(z)
        else:
            z = y.tanh()
        return z.sum()

    x = leaf(1.0, 2.0)
    convert(f)(x, d2s.to_tensor(c)).backward()
    log.append(x.grad.tolist())
    if c > 0:
        g, total = np.array([1.0, 1.0]), np.zeros(2)
        a = np.array([1.0, 2.0])
        expected = [("y", [1.0, 1.0]), (total := total + (g * g + 1) * 2 * a).tolist()]
        for _ in range(2):
            gz = g * g + 1
            gy = gz * a
            total = total + (gy * gy + 1) * 2 * a + gz * a * a
            expected += [("z", [1.0, 1.0]), ("y", gy.tolist()), total.tolist()]
        assert log == expected
    else:
        assert [entry[0] for entry in log[:-1]] == ["y"]


@both_modes
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_backward_in_the_second_branch(convert, c):
    def f(x, c):
        z = x * x
        if c > 0:
            z = z * x
            y = z * 2.0
        else:
            y = z.tanh()
            z.sum().backward(retain_graph=True)
        return y.sum() + z.sum()

    convert(f)(x := leaf(1.0, 2.0), d2s.to_tensor(c)).backward()
    a = np.array([1.0, 2.0])
    expected = 9 * a * a if c > 0 else 2 * a * 2 + 2 * a * (1 - np.tanh(a * a) ** 2)
    assert np.allclose(x.grad.numpy(), expected)
