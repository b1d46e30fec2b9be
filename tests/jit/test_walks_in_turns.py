"""`backward` and `grad` in the turns of loops whose number only the run knows."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import both_modes, leaf

LOG: list = []


def watch(name, change=lambda g: g * g + 1):
    def hook(g):
        LOG.append((name, g.tolist()))
        return change(g)

    return hook


def grad_of_a_leaf(x, w, n):
    y = x * x
    while n > 0:
        y.register_hook(watch("y"))
        (g,) = d2s.grad((y * w).sum(), [x], retain_graph=True)
        y = y + g
        n = n - 1
    return y * w


def differentiated_again(x, w, n):
    y = x * x * x
    while n > 0:
        y.register_hook(watch("y"))
        (g,) = d2s.grad(y.sum(), [x], create_graph=True)
        y = g * w
        n = n - 1
    return y


def backward_in_branches(x, w, n):
    total, i = x * 0, 0
    while i < n:
        y = x * w
        y.register_hook(watch("y", lambda g: g + i))  # noqa: B023
        if i > 0:
            z = y * y
            z.register_hook(watch("z"))
        else:
            z = y * 3
        z.sum().backward(retain_graph=True)
        total = total + z
        i = i + 1
    return total


def used_up_in_a_turn(x, w, n):
    y = x * x
    for _ in range(n):
        y = y * w
        y.sum().backward()
    return y


def descent(x, w, n):
    v = x * 0
    for _ in range(n):
        loss = (w * x - 1) * (w * x - 1)
        (g,) = d2s.grad(loss.sum(), [w])
        v = v * 0.9 + g
        w = (w - v * 0.1).detach()
        w.stop_gradient = False
        w.register_hook(watch("w"))
    return w * x * v


def assigned_by_hooks(x, w, n):
    count = 0

    def counting(g):
        nonlocal count
        count += 1
        return g * count

    for _ in range(n):
        y = x * 2
        y.register_hook(counting)
        y.sum().backward()
        x = x * count
    return x * w


def nested(x, w, n):
    i = 0
    while i < n:
        y, j = x * x, 0
        while j < i:
            y = y * w
            y.register_hook(watch("y"))
            y = y + d2s.grad(y.sum(), [x], retain_graph=True)[0]
            j = j + 1
        x = x + d2s.grad(y.sum(), [x], retain_graph=True)[0] * 0.1
        i = i + 1
    return x


def in_the_test(x, w, n):
    y = x * x
    while d2s.grad(y.sum(), [x], retain_graph=True)[0].sum() < n * 4:
        y = y * 2 + w
        y.register_hook(watch("y"))
    return y


def left_by_a_break(x, w, n):
    while True:
        loss = (w * x) * (w * x)
        loss.register_hook(watch("loss", lambda g: g * 0.5))
        loss.sum().backward()
        if x.sum() > n:
            break
        x = x * 2
    return x * w


def raising(x, w, n):
    y = x * 1
    for i in range(n):
        y = y * w

        def hook(g, i=i):
            LOG.append((i, g.tolist()))
            if i == 2:
                raise KeyError(i)
            return g + 1

        y.register_hook(hook)
        y.sum().backward(retain_graph=True)
    return y


@d2s.jit.not_to_static
def back(y):
    LOG.append(y.tolist())
    y.sum().backward(retain_graph=True)


def by_code_that_is_not_traced(x, w, n):
    y = x * 1
    for i in range(n):
        y = y * w
        y.register_hook(watch("y", lambda g: g + i))  # noqa: B023
        back(y)
    return y


PROGRAMS = [
    grad_of_a_leaf, differentiated_again, backward_in_branches, used_up_in_a_turn, descent, assigned_by_hooks, nested,
    in_the_test, left_by_a_break, raising, by_code_that_is_not_traced,
]


def seen(function, outside):
    """What is seen of calls with 0 to 3 turns, each differentiated by `outside`."""
    LOG.clear()
    for n in range(4):
        x, w = leaf(0.5), leaf(1.5)
        try:
            y = function(x, w, d2s.to_tensor(n))
            LOG.append(y.tolist())
            LOG.append(outside(y, x, w))
        except (d2s.GradientError, KeyError) as error:
            LOG.append((type(error), getattr(error, "kind", None)))
        LOG.append([None if tensor.grad is None else tensor.grad.tolist() for tensor in (x, w)])
    return LOG[:]


def once(y, x, w):
    y.sum().backward()


def twice(y, x, w):
    first, second = d2s.grad(y.sum(), [x, w], create_graph=True, allow_unused=True)
    found = [g for g in (first, second) if g is not None]
    (found[0] * found[-1]).sum().backward()
    return [g.tolist() for g in found]


@pytest.mark.parametrize("outside", [once, twice])
@pytest.mark.parametrize("function", PROGRAMS)
def test_static_is_eager(function, outside):
    assert seen(d2s.to_static(function), outside) == seen(function, outside)


@both_modes
def test_the_numbers_are_right(convert):
    """Two turns of y = y + d(w y)/dx, where hooks make g*g + 1 of the gradient of y."""
    LOG.clear()
    x, w = leaf(0.5), leaf(1.5)
    y = convert(grad_of_a_leaf)(x, w, d2s.to_tensor(2))
    step = (1.5**2 + 1) * 2 * 0.5
    # In the second turn, what is added to y has no history: its hook and that of the first y stand in one chain.
    second = ((1.5**2 + 1) ** 2 + 1) * 2 * 0.5
    assert y.tolist() == [(0.25 + step + second) * 1.5]
    assert LOG == [("y", [1.5]), ("y", [1.5]), ("y", [1.5**2 + 1])]
