"""Writes under `no_grad` to views and to what they show: values change everywhere, the history of each stays."""

from __future__ import annotations

import pytest

import d2s

LOG = []


def rec(g):
    LOG.append(g.tolist())
    return g * g + 1.0


def view_written(x, w):
    u = x + 1.0
    t = u[:]
    with d2s.no_grad():
        t.multiply_(w)
    return t * t + u


def shown_written(x, w):
    u = x + 1.0
    t = u[:]
    with d2s.no_grad():
        u.multiply_(w)
    return t * t + u


def view_of_view_with_hooks(x, w):
    u = x * x
    t = u[0:2]
    s = t[1:]
    t.register_hook(rec)
    s.register_hook(rec)
    with d2s.no_grad():
        u.multiply_(w)
    s.register_hook(rec)
    return (t * t).sum() + s * s


def item_written(x, w):
    u = x + 1.0
    t = u[0:2]
    with d2s.no_grad():
        t[0] = 5.0
    return (t * t).sum() + u * u


def written_then_written_with_history(x, w):
    u = x * x
    t = u.reshape([3, 1])
    with d2s.no_grad():
        t.add_(w.reshape([3, 1]))
    t.add_(t * x.reshape([3, 1]))
    return (t * t).sum() + u * u


def values_set(x, w):
    u = x * x
    t = u[:]
    with d2s.no_grad():
        u.set_value(w)
    return t * x


def history_then_none(x, w):
    u = w * 1.0
    t = u[:]
    t.add_(x)
    with d2s.no_grad():
        t.add_(w)
    return t * u


def sibling_views(x, w):
    u = x * x
    a, b = u[0:2], u[1:3]
    with d2s.no_grad():
        a.multiply_(w[0:2])
    a.register_hook(rec)
    return (a * b).sum() + u


def in_branch(x, w):
    u = x * x
    t = u[:]
    if w[0] > 0:
        with d2s.no_grad():
            t.multiply_(w)
    return t * t + u


def in_turns(x, w):
    u = x * x
    t = u[:]
    for _ in range(d2s.to_tensor(2)):
        with d2s.no_grad():
            t.multiply_(w)
    return t * t + u


def in_turns_with_history(x, w):
    u = x * x
    for _ in range(d2s.to_tensor(2)):
        t = u[0:2]
        with d2s.no_grad():
            t.multiply_(w[0:2])
        u = u * x + t.sum()
    return u


@pytest.mark.parametrize("function", [
    view_written, shown_written, view_of_view_with_hooks, item_written, written_then_written_with_history, values_set,
    history_then_none, sibling_views, in_branch, in_turns, in_turns_with_history])
def test_history_stays(function):
    def play(static):
        LOG.clear()
        x, w = d2s.to_tensor([0.9, 0.4, -0.6], stop_gradient=False), d2s.to_tensor([1.2, -0.5, 0.8])
        y = static(function)(x, w)
        try:
            y.sum().backward()
        except d2s.D2SError as error:
            return y.tolist(), y.stop_gradient, error.kind, list(LOG)
        return y.tolist(), y.stop_gradient, x.grad.tolist(), list(LOG)

    assert play(d2s.to_static) == play(lambda function: function)
