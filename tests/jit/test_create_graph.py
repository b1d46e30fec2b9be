"""Derivatives of derivatives through static calls: eager mode is the oracle, to the bit, hooks and all."""

from __future__ import annotations

import numpy as np
import pytest

import d2s


def straight(x, w, hook):
    y = x * w
    z = d2s.tanh(y) * y + x
    y.register_hook(hook)
    return z * z


def branching(x, w, hook):
    y = x * w
    if y.sum() > 0:
        y.register_hook(hook)
        inner = y * y
        z = d2s.exp(inner) * inner
    else:
        z = d2s.sin(y) * x
    return z * w


def broadcasting(x, w, hook):
    y = (x.reshape([2, 1]) * w[:1]).sum(axis=0, keepdim=True)
    y.register_hook(hook)
    return y * x * y


def looping(x, w, hook):
    y = x
    while (y * y).sum() < 50:
        y = y * w + d2s.tanh(y)
        y.register_hook(hook)
    return y * y


def looping_without_a_turn(x, w, hook):
    y = x * w
    y.register_hook(hook)
    while y.sum() > 1e6:
        y = y * y
    return y * y * x


def branch_in_a_loop(x, w, hook):
    y = x * w
    count = d2s.to_tensor(0)
    while count < 4:
        if count % 2 == 0:
            z = y * y
            z.register_hook(hook)
            y = z * 0.5 + x
        else:
            y = y * w * y * 0.1
        count = count + 1
    return y * y


def loop_in_a_loop(x, w, hook):
    y = x
    i = d2s.to_tensor(0)
    while i < 2:
        j = d2s.to_tensor(0)
        while j < 2:
            y = d2s.tanh(y * w) * y + y
            y.register_hook(hook)
            j = j + 1
        y = y * y * 0.5
        i = i + 1
    return y


PROGRAMS = [straight, branching, broadcasting, looping, looping_without_a_turn, branch_in_a_loop, loop_in_a_loop]
HOOKS = {
    "silent": lambda g: None,
    "linear": lambda g: g * 3 + 1,
    "quadratic": lambda g: g * g,
}


def observed(function, change, sign, order):
    """Gradients up to `order`, those of a gradient penalty, and every call of the hook."""
    log = []

    def hook(g):
        log.append(g.numpy().tolist())
        return change(g)

    x = d2s.to_tensor([0.5, 0.75], stop_gradient=False)
    w = d2s.to_tensor([1.5 * sign, 1.25], stop_gradient=False)
    x.register_hook(lambda g: log.append(("x", g.numpy().tolist())))
    out = function(x, w, hook)
    grads, value = [], out
    for _ in range(order):
        (value,) = d2s.grad(value.sum(), [x], create_graph=True)
        grads.append(value.numpy().tolist())
        log.append("--")
    ((value * value).sum() + out.sum()).backward()
    return grads, x.grad.numpy().tolist(), w.grad.numpy().tolist(), log


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("change", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings("ignore:overflow")
def test_all_orders_agree_with_eager_mode(program, change, sign, order):
    eager = observed(program, change, sign, order)
    static = observed(d2s.to_static(program), change, sign, order)
    assert np.array_equal(eager[0], static[0], equal_nan=True)
    assert repr(eager) == repr(static)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_second_derivatives_agree_with_differences(program):
    function = d2s.to_static(program)
    w = d2s.to_tensor([1.5, 1.25], dtype="float64")

    def gradient(values):
        x = d2s.to_tensor(values, dtype="float64", stop_gradient=False)
        (g,) = d2s.grad(function(x, w, HOOKS["silent"]).sum(), [x], create_graph=True)
        return x, g

    x, g = gradient([0.5, 0.75])
    (found,) = d2s.grad((g * d2s.to_tensor([1.0, -2.0], dtype="float64")).sum(), [x])
    step = 1e-6
    expected = []
    for position in range(2):
        ends = []
        for side in (1, -1):
            moved = np.array([0.5, 0.75])
            moved[position] += side * step
            ends.append((gradient(moved)[1].numpy() * [1.0, -2.0]).sum())
        expected.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_a_run_is_freed_by_the_last_backward():
    function = d2s.to_static(looping)
    x = d2s.to_tensor([0.5, 0.75], stop_gradient=False)
    (g,) = d2s.grad(function(x, d2s.ones([2]), HOOKS["silent"]).sum(), [x], create_graph=True)
    g.sum().backward()
    with pytest.raises(d2s.GradientError, match="second time"):
        g.sum().backward()


def test_two_runs_of_one_function_keep_their_own():
    function = d2s.to_static(straight)
    x, w = d2s.to_tensor([0.5, 0.75], stop_gradient=False), d2s.ones([2])

    def second(f):
        total = f(x, w, HOOKS["quadratic"]) + f(x * 2, w, HOOKS["linear"])
        (g,) = d2s.grad(total.sum(), [x], create_graph=True)
        return d2s.grad((g * g).sum(), [x])[0].numpy()

    np.testing.assert_array_equal(second(function), second(straight))
