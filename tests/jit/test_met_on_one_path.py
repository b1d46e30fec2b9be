"""Tensors that only one path has met, written or shown: behind the branch, and in later turns, both modes agree."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import leaf

LOG = []


class State(d2s.nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", d2s.ones([3]) * 0.2)
        self.kept = d2s.ones([3])
        self.store = [None]


class Wrong(Exception):
    pass


@d2s.jit.not_to_static
def outside(a):
    return a * 0.6


def written_on_the_second_path(s, x, y, n):
    if x.sum() > 0.5:
        x = x * 2
    else:
        with d2s.no_grad():
            s.buffer.add_(y)
    return s.buffer * x


def written_where_a_turn_goes_on(s, x, y, n):
    z = x * 0.5
    for t in (x, y):
        z = z + t
        if z.sum() > 0.5:
            continue
        with d2s.no_grad():
            s.buffer.add_(y)
    return s.buffer * z


def written_on_second_paths(s, x, y, n):
    z = x * 0.5
    for _ in range(2):
        if z.sum() > 0.5:
            z = z * 2
        else:
            s.buffer.add_(y.detach())
        z = z + y
    return z


def untraced_calls_in_unrolled_turns(s, x, y, n):
    z, u, v = x * 0.5, y * 1.5, x - y
    for _ in x:
        w = u[:2]
        z = z + w.sum()
        if x[0] < y[1]:
            return y
        u = outside(v.detach()) + x
    return z


def attribute_carried_behind_a_walk(s, x, y, n):
    z = x * y
    z.sum().backward(retain_graph=True)
    t = d2s.zeros([])
    while t < n:
        t = t + 1
        s.kept = s.kept * 0.9 + x.detach() * 0.1
    return z * s.kept


def stopped_then_written(s, x, y, n):
    v = x - y
    v.stop_gradient = True
    loss = (x * v).sum()
    v[1:] = y[1:] * 0.4
    return loss


def detached_is_shown_by_turns(s, x, y, n):
    u = x * 1.5
    for _ in range(n):
        LOG.append(u.detach())
        u.add_(u * 0.3)
    return u


def detached_is_written_by_turns(s, x, y, n):
    u = x * 1.5
    for _ in range(n):
        w = u.detach()[1:]
        w.add_(w * 0.3)
        LOG.append(w)
    return u


def add_to(held, g):
    with d2s.no_grad():
        held.add_(g)


def walk_in_turns_behind_a_caught_exception(s, x, y, n):
    z = x * 0.5
    s.store[0] = (x * 2.0).detach()
    z.register_hook(lambda g: add_to(s.buffer, g))
    try:
        if y[1] > 1.5:
            raise Wrong
    except Wrong:
        y = y * 1
    turns = n * 0
    while turns < n:
        turns = turns + 1
        s.kept = s.store[0]
        (z * y).sum().backward(retain_graph=True)
    return s.kept * x


def writes_at_one_place_of_the_trace(s, x, y, n):
    z, u = x * 0.5, y * 1.5
    s.kept = s.buffer.detach()
    with d2s.no_grad():
        s.buffer.add_(z)
    try:
        u[-1] = 0.5
    except Wrong:
        u = y
    (g,) = d2s.grad([(z * z).sum()], [z], retain_graph=True, allow_unused=True)
    return g * x + u


def buffer_replaced_beside_walks_in_turns(s, x, y, n):
    z = x * 0.5
    for _ in range(n):
        s.buffer = s.buffer * 0.9 + x.detach() * 0.1
        d2s.grad([(y * z).sum()], [z], retain_graph=True, allow_unused=True)
    return z * s.buffer


PROGRAMS = [
    buffer_replaced_beside_walks_in_turns,
    writes_at_one_place_of_the_trace, walk_in_turns_behind_a_caught_exception,
    written_on_the_second_path, written_where_a_turn_goes_on, written_on_second_paths, untraced_calls_in_unrolled_turns,
    attribute_carried_behind_a_walk, stopped_then_written, detached_is_shown_by_turns, detached_is_written_by_turns]


def seen(convert, function):
    found, state, f = [], State(), convert(function)
    for k in range(4):
        LOG.clear()
        x, y = leaf(0.31 - k, -1.73, 0.57 + 3 * (k % 2)), leaf(1.13, 0.29 + k, -0.77)
        try:
            result = f(state, x, y, d2s.to_tensor(3))
            result.sum().backward()
            found.append(result.tolist())
        except d2s.errors.GradientError as error:
            found.append(error.kind)
        tensors = (x.grad, y.grad, state.buffer, state.kept, *LOG)
        found.append([None if one is None else one.tolist() for one in tensors])
    return found


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_static_is_eager(function):
    assert seen(d2s.to_static, function) == seen(lambda f: f, function)
