"""A hook, or a PyLayer, that raises uses up what backward has visited: the rest can be differentiated again."""

from __future__ import annotations

import pytest

import d2s

LOG = []


def straight(x, w, boom):
    a = x * x
    b = a * w
    b.register_hook(boom("b"))
    a.register_hook(boom("a"))
    return b * b, a * w


def in_turns(x, w, boom):
    y = x * w
    while y.sum() < 50:
        y = y * w
        y.register_hook(boom("turn"))
    return y * y, x * x * w


def in_branches(x, w, boom):
    y = x * w
    if x.sum() > 0:
        z = y * y
        z.register_hook(boom("b"))
    else:
        z = y * 3
    return z * w, y * w


def on_outputs(x, w, boom):
    first, second = x * w, x * x
    return first * second, second * w


class Doubled(d2s.autograd.PyLayer):
    """Its backward calls a function, which may raise."""

    @staticmethod
    def forward(ctx, x, called):
        ctx.save_for_backward(x)
        ctx.called = called
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return ctx.called(g) * x


def through_layers(x, w, boom):
    a = x * x
    y = Doubled.apply(a, boom("a")) * w
    while y.sum() < 100:
        y = Doubled.apply(y, boom("turn")) * a
    return Doubled.apply(y, boom("b")), a * w


def seen(function, failing, first, then):
    """What is seen if the hook `failing` raises in a backward from result `first`, and others follow."""
    LOG.clear()
    raising = [True]

    def boom(name):
        def hook(g):
            LOG.append((name, g.tolist()))
            if raising[0] and name.startswith(failing):
                raise ValueError(name)
            return g * g + 1

        return hook

    x, w = (d2s.to_tensor([value], "float64", stop_gradient=False) for value in (1.5, 2.5))
    for name, tensor in (("x", x), ("w", w)):
        tensor.register_hook(boom(name))
    results = function(x, w, boom)
    results[0].register_hook(boom("first"))
    found = []
    for number in (first, *then):
        try:
            results[number].backward()
        except (ValueError, d2s.GradientError) as error:
            found.append((type(error), getattr(error, "kind", None)))
        raising[0] = False
        found.append([None if tensor.grad is None else tensor.grad.tolist() for tensor in (x, w)])
    return found, LOG[:]


@pytest.mark.parametrize("failing", ["a", "b", "x", "w", "first", "turn", "none"])
@pytest.mark.parametrize("function", [straight, in_turns, in_branches, on_outputs, through_layers])
def test_the_rest_is_left(function, failing):
    static = d2s.to_static(function)
    for first, then in ((0, (1, 0)), (1, (0, 1)), (0, (0,)), (1, (1,))):
        assert seen(static, failing, first, then) == seen(function, failing, first, then)
