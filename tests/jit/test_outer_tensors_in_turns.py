"""Tensors from outside that the turns of a loop on a tensor read and write."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import GradientError, UnsupportedSyntaxError
from tests.jit.both import both_modes, leaf


def one():
    return d2s.ones([1])


def an_argument(x, a, b, n):
    for _ in range(n):
        a.add_(one())
    return x * a


def read_and_written(x, a, b, n):
    for _ in range(n):
        with d2s.no_grad():
            a.add_(one())
        x = x * a
    return x


def before_in_and_after(x, a, b, n):
    a.add_(one())
    for _ in range(n):
        b.multiply_(a)
        a.add_(one())
    a.add_(one())
    return x * a + b


def in_turns_of_turns(x, a, b, n):
    for i in range(n):
        j = 0
        while j < i:
            a.add_(one())
            x = x + a
            j = j + 1
        a.multiply_(one() * 0.5)
        x = x + a
    return x * a


def one_of_two(x, a, b, n):
    for _ in range(n):
        t = a if x.sum() > 2 else b
        t.add_(one())
        x = x + t - a * b
    return x * a + b


def put_there_by_a_turn(x, a, b, n):
    t = x * 1
    for _ in range(n):
        x = x + t
        t = a
        t.add_(one())
    return x * t


@pytest.mark.parametrize(
    "function",
    [an_argument, read_and_written, before_in_and_after, in_turns_of_turns, one_of_two, put_there_by_a_turn])
def test_static_is_eager(function):
    def seen(f):
        found = []
        for n in (0, 1, 3):
            x, a, b = leaf(1.5), one(), one() * 2
            try:
                f(x, a, b, d2s.to_tensor(n)).sum().backward()
            except GradientError as error:
                found.append(error.kind)
            found.append([a.tolist(), b.tolist(), None if x.grad is None else x.grad.tolist()])
        return found

    assert seen(d2s.to_static(function)) == seen(function)


def test_views_are_refused():
    """Who else shows what a turn has written, the trace does not know."""

    @d2s.to_static
    def f(buffer, view, n):
        y = buffer * 0
        for _ in range(n):
            view.add_(d2s.ones([2]))
            y = y + buffer
        return y

    buffer = d2s.to_tensor([1.0, 2.0, 3.0])
    with pytest.raises(UnsupportedSyntaxError) as caught:
        f(buffer, buffer[0:2], d2s.to_tensor(2))
    assert caught.value.kind == "U08"
    # Without views it works, and a later one is noticed.
    plain, written = d2s.to_tensor([1.0, 2.0, 3.0]), d2s.to_tensor([4.0, 5.0])
    f(plain, written, d2s.to_tensor(2))
    assert written.tolist() == [6.0, 7.0]
    with pytest.raises(UnsupportedSyntaxError):
        f(plain, plain[0:2], d2s.to_tensor(2))


@both_modes
def test_behind_a_walk_they_are_read_again(convert):
    """Its hooks may have changed them."""
    w = leaf(2.0)

    @convert
    def f(x, n):
        y = x * w
        while n > 0:
            y.register_hook(lambda g: g + 1)
            y.sum().backward(retain_graph=True)
            y = y * w
            n = n - 1
        return y * w

    x = leaf(1.5)
    f(x, d2s.to_tensor(2)).sum().backward()
    assert x.grad.tolist() == [4.0 + 10.0 + 22.0]


@pytest.mark.parametrize("calls_before", [False, True])
def test_what_calls_write_in_turns_is_read_again(calls_before):
    def play(static):
        w = one()

        @d2s.jit.not_to_static
        def bump():
            w.add_(one())

        @static
        def f(x, n):
            if calls_before:
                bump()
            y = x * w
            while n > 0:
                y = y * w
                bump()
                n = n - 1
            return y * w

        return [f(one(), d2s.to_tensor(count)).tolist() for count in (3, 0, 1)]

    assert play(d2s.to_static) == play(lambda function: function)
