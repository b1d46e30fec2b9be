"""`grad` and `backward` of several tensors inside of static functions, with hooks on what they pass."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import GradientError

LOG = []


def watch(name):
    def hook(g):
        LOG.append((name, g.tolist()))
        return g * g + 1

    return hook


def of_an_argument(x, w):
    y = x * x
    y.register_hook(watch("y"))
    (g,) = d2s.grad((y * 3).sum(), [x])
    return w * g


def of_an_intermediate(x, w):
    y = x * w
    y.register_hook(watch("y"))
    z = y * y
    z.register_hook(watch("z"))
    gy, gw = d2s.grad([z.sum()], [y, w], retain_graph=True)
    return z + gy * gw


def with_gradients_of_outputs(x, w):
    y, z = x * w, x * x
    gx, gw = d2s.grad([y, z], [x, w], [z.detach(), None], retain_graph=True)
    return y + gx * gw


def unused(x, w):
    y = x * x
    gx, gw = d2s.grad(y.sum(), [x, w], retain_graph=True, allow_unused=True)
    return y * gx if gw is None else y * gw


def in_a_branch(x, w):
    y = x * w
    y.register_hook(watch("y"))
    if x.sum() > 0:
        (g,) = d2s.grad(y.sum(), [x], retain_graph=True)
    else:
        g = w * 2
    return y * g


def behind_a_loop(x, w):
    y, n = x, 0
    while n < 3 and y.sum() < 100:
        y = y * w
        y.register_hook(watch("turn"))
        n += 1
    (g,) = d2s.grad(y.sum(), [w], retain_graph=True)
    return y * g


def differentiated_again(x, w):
    y = x * x * w
    y.register_hook(watch("y"))
    (g,) = d2s.grad(y.sum(), [x], create_graph=True)
    g.register_hook(watch("g"))
    return g * g + w


def three_times(x, w):
    y = x * x * x * w
    y.register_hook(watch("y"))
    (first,) = d2s.grad(y.sum(), [x], create_graph=True)
    (second,) = d2s.grad((first * first).sum(), [x], create_graph=True)
    return second * w + first


def of_what_is_linear(x, w):
    (g,) = d2s.grad((x * 3).sum(), [x], create_graph=True)
    return g * x + w


def several_roots(x, w):
    y, z = x * w, x * x
    y.register_hook(watch("y"))
    d2s.autograd.backward([y, z], [None, y.detach()], retain_graph=True)
    return y * z * x.grad


def around(x, w):
    y = x * w
    gx, _ = d2s.grad(y, [x, w], retain_graph=True, no_grad_vars=[w], allow_unused=True)
    return y * gx


FUNCTIONS = [
    of_an_argument, of_an_intermediate, with_gradients_of_outputs, unused, in_a_branch, behind_a_loop,
    differentiated_again, three_times, of_what_is_linear, several_roots, around,
]


def seen(function, start):
    LOG.clear()
    x, w = (d2s.to_tensor([value], "float64", stop_gradient=False) for value in (start, 0.7))
    for tensor in (x, w):
        tensor.register_hook(watch("leaf"))
    y = function(x, w)
    y.sum().backward()
    return y.tolist(), [None if tensor.grad is None else tensor.grad.tolist() for tensor in (x, w)], LOG[:]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_static_is_eager(function):
    static = d2s.to_static(function)
    for start in (1.5, -0.5, 1.5):
        assert seen(static, start) == seen(function, start)


def test_what_they_raise():
    def unconnected(x, w):
        return d2s.grad((x * x).sum(), [w])[0]

    def used_up(x, w):
        y = x * x
        d2s.grad(y.sum(), [x])
        return y

    for function in (unconnected, d2s.to_static(unconnected)):
        with pytest.raises(GradientError) as caught:
            seen(function, 1.0)
        assert caught.value.kind == "G04"
    for function in (used_up, d2s.to_static(used_up)):
        with pytest.raises(GradientError) as caught:
            seen(function, 1.0)
        assert caught.value.kind == "G01"
