"""Hooks are called, each once in a backward, whatever their code is: none is made a part of the Program."""

from __future__ import annotations

import sys

import pytest

import d2s
from tests.jit.both import both_modes, leaf


def calls_of(codes, action):
    """How often code objects are entered while `action` runs, as Python itself tells."""
    found = []

    def profile(frame, event, arg):
        if event == "call" and frame.f_code in codes:
            found.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
    return [found.count(code) for code in codes]


def half(g):
    return g * 0.5 + 1


def squared(g):
    return g * g


@both_modes
@pytest.mark.parametrize("inside", [False, True])
def test_pure_hooks_are_called_once_in_each_backward(convert, inside):
    """Also in a training step that is one function, and in later runs."""
    w = leaf(2.0, 3.0)
    w.register_hook(squared)

    def f(x):
        y = w * x
        y.register_hook(half)
        loss = (y * y).sum()
        if inside:
            loss.backward()
        return loss

    f = convert(f)
    for turn in range(4):
        w.clear_grad()
        calls = calls_of([half.__code__, squared.__code__], lambda: f(leaf(1.0, 2.0)) if inside else f(
            leaf(1.0, 2.0)).backward())
        assert calls == [1, 1], turn
        # The gradient of y is 2 y = (4, 12), of w that after `half` times x, squared.
        assert w.grad.tolist() == [9.0, 196.0]


@both_modes
def test_a_pure_hook_in_turns_is_called_once_a_turn(convert):
    def f(x, n):
        while n > 0:
            x = x * 2
            x.register_hook(half)
            n = n - 1
        return x.sum()

    f = convert(f)
    for count in (0, 3):
        x = leaf(1.0)
        assert calls_of([half.__code__], f(x, d2s.to_tensor(count)).backward) == [count]
