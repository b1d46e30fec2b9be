"""The backward of loops that Python unrolls, with a break on a tensor, grows with the turns, not with their square."""

from __future__ import annotations

import pytest

import d2s
from d2s.static.backward import append_backward
from d2s.static.program import walk_operators


def stopped(x, limit, turns):
    for turn in range(turns):
        x = x * 1.1 + turn
        if x.sum() > limit:
            break
    return x


def skipped(x, limit, turns):
    total = x * 0
    for turn in range(turns):
        if (x * turn).sum() > limit:
            continue
        total = total + x * turn
    return total


def two_states(x, limit, turns):
    first, second = x * 1, x * 0
    for _ in range(turns):
        first = first * 1.1 + x
        second = second + first
        if second.sum() > limit:
            break
    return first + second


def operators_of_backward(function, turns):
    static = d2s.to_static(function)
    static(d2s.to_tensor([1.0, 2.0], stop_gradient=False), d2s.to_tensor(50.0), turns)
    program = static.main_program
    edges = [value for value in program.block.inputs if value.is_tensor and not value.stop_gradient]
    plan = append_backward(program, edges, range(len(program.outputs)))
    return sum(1 for _ in walk_operators(plan.program.block))


@pytest.mark.parametrize("function", [stopped, skipped, two_states], ids=lambda function: function.__name__)
def test_operators_grow_with_the_turns(function):
    few, many = operators_of_backward(function, 8), operators_of_backward(function, 16)
    assert 0 < many < 2.5 * few


def test_what_is_used_behind_the_branch_too_keeps_its_order():
    order = []

    def f(x, c):
        a = x * 1
        b = a if c > 0 else a * 2
        d = a * 3
        a.register_hook(lambda g: order.append(g.tolist()))
        return b * 1e8 + d * 1.0 + b * -1e8 + a

    for c in (1.0, -1.0):
        grads = []
        for function in (f, d2s.to_static(f)):
            x = d2s.to_tensor([0.1, 0.7], stop_gradient=False)
            function(x, d2s.to_tensor(c)).sum().backward()
            grads.append((x.grad.tolist(), order.pop()))
        assert grads[0] == grads[1]
