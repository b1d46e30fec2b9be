"""Tensors made in a call, stored in objects of the caller, and written in place where only these have them."""

from __future__ import annotations

import pytest

import d2s


class Box:
    pass


def item_in_branch(x, w, n, s):
    s.a = x + 1.0
    if w.sum() > 0.3:
        s.a[0] = w[1]
    return x * s.a


def whole_in_branch(x, w, n, s):
    s.a = x + 1.0
    if w.sum() > 0.3:
        s.a.add_(w)
    return x * s.a


def on_both_paths(x, w, n, s):
    s.a = x + 1.0
    if w.sum() > 0.3:
        s.a.add_(w)
    else:
        s.a.multiply_(x)
    return x * s.a


def not_read_behind(x, w, n, s):
    s.a = x + 1.0
    if w.sum() > 0.3:
        s.a.add_(w)
    return x * 2.0


def in_list(x, w, n, s):
    s.a = [x + 1.0]
    if w.sum() > 0.3:
        s.a[0].add_(w)
    return x * s.a[0]


def list_grown_in_branch(x, w, n, s):
    s.a = [x + 1.0]
    if w.sum() > 0.3:
        s.a[0] = s.a[0] * w
    return x * s.a[-1]


def in_dict(x, w, n, s):
    s.d["q"] = x + 1.0
    if w.sum() > 0.3:
        s.d["q"].add_(w)
    return x * s.d["q"]


def in_turns(x, w, n, s):
    s.a = x + 1.0
    for _ in range(n):
        s.a.add_(w)
    return x * s.a


def in_turns_of_branch(x, w, n, s):
    s.a = x + 1.0
    for i in range(n):
        if w[0] > i:
            s.a[0] = s.a[1] * 2.0
    return x * s.a


def hooked_and_written(x, w, n, s):
    s.a = x + 1.0
    s.a.register_hook(lambda g: g * g + 1.0)
    if w.sum() > 0.3:
        s.a.add_(w * x)
    s.a.register_hook(lambda g: g + 2.0)
    return x * s.a


@pytest.mark.parametrize("function", [
    item_in_branch, whole_in_branch, on_both_paths, not_read_behind, in_list, list_grown_in_branch, in_dict, in_turns,
    in_turns_of_branch, hooked_and_written])
def test_both_modes(function):
    def play(static):
        run, s, log = static(function), Box(), []
        s.d = {}
        for sign, n in ((1.0, 2), (-1.0, 0), (1.0, 1)):
            x, w = d2s.to_tensor([0.3, -0.7, 1.1], stop_gradient=False), d2s.to_tensor([0.9, 0.4, -0.6]) * sign
            y = run(x, w, d2s.to_tensor(n), s)
            y.sum().backward()
            left = s.d["q"] if s.d else s.a[0] if isinstance(s.a, list) else s.a
            log.append((y.tolist(), left.tolist(), left.stop_gradient, x.grad.tolist()))
        return log

    assert play(d2s.to_static) == play(lambda function: function)
