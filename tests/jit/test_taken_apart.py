"""Writes and flags on a tensor that a branch chose: each path is followed to the end, and knows which tensor it is."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import UnsupportedSyntaxError

LOG = []
KEPT = []


def watch(g):
    LOG.append(g.tolist())
    return g * 0.5 + 1


def written_view_of_a_branch(x, c, n):
    z, u = x * 2, x * 3
    p = z[1:3]
    if c > 0:
        p = u[0:2]
    p.register_hook(watch)
    p.add_(x[1:3])
    return z * u


def written_view_of_a_branch_in_turns(x, c, n):
    z, u = x * 2, x * 3
    i = 0
    while i < n:
        p = z[1:3]
        if c > i:
            p = u[0:2]
        p.register_hook(watch)
        p.add_(x[1:3])
        i += 1
    return z * u


def written_view_of_nested_branches(x, c, n):
    z, u = x * 2, x * 3
    p = z[0:2]
    if c > 0:
        if n > 1:
            p = u[1:3]
        u.register_hook(watch)
    z[1] = x[0]
    p.register_hook(watch)
    return z * u + p.sum()


def flag_of_one_name(x, c, n):
    y = x * 2
    z = y if c > 0 else x * 3
    z.stop_gradient = True
    return y * x + z * x


def flag_of_the_other_name(x, c, n):
    y = x * 2
    z = y if c > 0 else x * 3
    y.stop_gradient = True
    return y * x + z * x


def flag_taken_back(x, c, n):
    y = x * 2
    if c > 0:
        y.stop_gradient = True
    z = y * x
    y.stop_gradient = False
    return z + y


def flag_set_in_turns(x, c, n):
    y, t, i = x * 2, x * 0, 0
    y.register_hook(watch)
    while i < n:
        if i > c:
            y.stop_gradient = True
        t = t + y * x
        i += 1
    return t + y


def flag_set_again(x, c, n):
    y = x * 2
    KEPT.append(y)
    if c > 0:
        y.stop_gradient = True
    z = y * x
    y.stop_gradient = True
    return z + y * x


def flag_of_a_tensor_that_is_kept(x, c, n):
    y = x * 2
    KEPT.append(y)
    y.register_hook(watch)
    z = y * x
    if c > 0:
        y.stop_gradient = True
    return z + y * x


def flag_of_a_kept_tensor_taken_back(x, c, n):
    y = x * 2
    KEPT.append(y)
    y.stop_gradient = True
    z = y * x
    y.stop_gradient = False
    return z + y * x


FUNCTIONS = [
    written_view_of_a_branch, written_view_of_a_branch_in_turns, written_view_of_nested_branches, flag_of_one_name,
    flag_of_the_other_name, flag_taken_back, flag_set_in_turns, flag_set_again, flag_of_a_tensor_that_is_kept,
    flag_of_a_kept_tensor_taken_back,
]


def seen(function, c, n):
    """Result, gradient, what hooks saw, and the flags of tensors that were kept."""
    LOG.clear()
    KEPT.clear()
    x = d2s.to_tensor([1.0, -2.0, 3.0], stop_gradient=False)
    y = function(x, d2s.to_tensor(c), d2s.to_tensor(n))
    y.sum().backward()
    return y.tolist(), x.grad.tolist(), LOG[:], [tensor.stop_gradient for tensor in KEPT]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_static_is_eager(function):
    static = d2s.to_static(function)
    for c in (1.0, -1.0):
        for n in (0, 1, 3):
            assert seen(static, c, n) == seen(function, c, n)


def test_one_of_two_arguments_is_written():
    def f(x, y):
        c = x if x.sum() > 0 else y
        c.add_(x)
        return c * 2

    for first in (1.0, -1.0):
        for function in (f, d2s.to_static(f)):
            x, y = d2s.to_tensor([first]), d2s.to_tensor([2.0])
            assert function(x, y).item() == (4.0 if first > 0 else 2.0)
            assert (x.item(), y.item()) == ((2.0, 2.0) if first > 0 else (-1.0, 1.0))


def flag_of_what_turns_hand_on(x, n):
    y, a = x * 2, x * 3
    while n > 0:
        a.stop_gradient = True
        a, n = y, n - 1
    return a * x


def flag_of_a_constant_that_is_kept(x, n):
    y = d2s.zeros([1])
    KEPT.append(y)
    y.stop_gradient = False
    return y * x


@pytest.mark.parametrize("function", [flag_of_what_turns_hand_on, flag_of_a_constant_that_is_kept])
def test_what_only_the_run_knows_is_refused(function):
    with pytest.raises(UnsupportedSyntaxError) as caught:
        d2s.to_static(function)(d2s.to_tensor([1.0], stop_gradient=False), d2s.to_tensor(2))
    assert caught.value.kind == "U34"
