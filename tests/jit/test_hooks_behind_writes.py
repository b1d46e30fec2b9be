"""Hooks put on results of a static function that it has written without grad mode: they are those of the tensor."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import leaf, recorder

LOG: list = []


def through_a_view(x, y, n):
    z = x * y
    part = z[1:3]
    with d2s.no_grad():
        part.add_(y[0:2])
    return z


def with_a_hook_inside(x, y, n):
    z = x * y
    z.register_hook(recorder(LOG, "inside"))
    with d2s.no_grad():
        z.add_(y)
        z[0] = y[1]
    return z


def in_a_branch(x, y, n):
    z = x * y
    if n > 1:
        with d2s.no_grad():
            z.add_(y)
    return z


def in_turns_and_behind(x, y, n):
    z = x * y
    z.register_hook(recorder(LOG, "inside"))
    for _ in range(n):
        with d2s.no_grad():
            z.add_(y)
    with d2s.no_grad():
        z[1:].multiply_(y[0:2])
    return z


def behind_a_choice(x, y, n):
    z = x * y
    u = x + y
    chosen = z if n > 1 else u
    with d2s.no_grad():
        chosen.add_(y)
    return chosen * z, chosen


def shows_what_is_written(x, y, n):
    z = x * y
    part, fixed = z[1:3], z.detach()
    with d2s.no_grad():
        fixed.add_(x)
    return part, z


FUNCTIONS = [through_a_view, with_a_hook_inside, in_a_branch, in_turns_and_behind, behind_a_choice,
             shows_what_is_written]


def differentiated(results, x, y):
    sum((result * result).sum() for result in results).backward(retain_graph=True)
    sum(result.sum() for result in results).backward()


def twice_differentiated(results, x, y):
    gradient, = d2s.grad([sum((result * result * result).sum() for result in results)], [x], create_graph=True)
    gradient.sum().backward()


@pytest.mark.parametrize("walk", [differentiated, twice_differentiated])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_static_is_eager(function, walk):
    def seen(f):
        LOG.clear()
        for n in (0, 1, 2):
            x, y = leaf(0.5, -1.5, 2.0), leaf(2.0, 0.25, -1.0)
            results = f(x, y, d2s.to_tensor(n))
            results = results if isinstance(results, tuple) else (results,)
            for number, result in enumerate(results):
                result.register_hook(recorder(LOG, f"result {number}"))
                result.retain_grads()
            walk(results, x, y)
            LOG.append([one.grad.tolist() for one in (x, y, *results)])
        return LOG[:]

    expected = seen(function)
    assert any(entry[0] == "result 0" for entry in expected)
    assert seen(d2s.to_static(function)) == expected
