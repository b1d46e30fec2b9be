"""`ClipGradBy...` called in static functions: what it does in eager mode."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s import nn

NET = nn.Linear(2, 2)
NET.bias.need_clip = False
BY_VALUE = nn.ClipGradByValue(0.3)
OUTER = d2s.to_tensor([3.0, 4.0])


class Doubled(nn.clip.ClipGrad):
    def clip(self, grads: list[Any]) -> list[Any]:
        return [grad * 2 for grad in grads]


def by_global_norm(x: Any) -> Any:
    y = x * 2
    (_, first), (_, second), (_, nothing) = nn.ClipGradByGlobalNorm(1.0)([(x, y), (x, y * 3), (x, None)])
    assert nothing is None
    return first, second


def of_parameters(x: Any) -> Any:
    (NET(x) ** 2).sum().backward()
    clipped = nn.ClipGradByNorm(0.1)([(p, p.grad) for p in NET.parameters()])
    found = [grad * 1 for _, grad in clipped]
    NET.clear_gradients()
    return found


def in_branches_and_turns(x: Any) -> Any:
    y = x * 1
    if x.sum() > 0:
        y = BY_VALUE([(x, x)])[0][1] * x
    i = d2s.to_tensor(0)
    while i < 2:
        y = nn.ClipGradByNorm(1.0)([(x, y)])[0][1] + y
        i = i + 1
    return (y,)


def of_a_class_of_the_user(x: Any) -> Any:
    return (Doubled()([(x, x)])[0][1] + x * x,)


def of_a_tensor_from_outside(x: Any) -> Any:
    return (nn.ClipGradByNorm(1.0)([(x, OUTER)])[0][1] * x,)


def results(function: Any, numbers: list[float]) -> Any:
    x, seen = d2s.to_tensor(numbers, stop_gradient=False), []
    x.register_hook(lambda g: seen.append(g.tolist()) or g * g)
    found = function(x)
    total = sum(one.sum() for one in found)
    if not total.stop_gradient:
        total.backward()
    grad = None if x.grad is None else x.grad.tolist()
    return [(one.tolist(), one.stop_gradient) for one in found], seen, grad


@pytest.mark.parametrize(
    "function",
    [by_global_norm, of_parameters, in_branches_and_turns, of_a_class_of_the_user, of_a_tensor_from_outside],
    ids=lambda function: function.__name__)
def test_both_modes(function: Any) -> None:
    static = d2s.jit.to_static(function)
    for numbers in ([1.0, 2.0], [-1.0, -3.0], [0.1, 0.2]):
        OUTER.set_value([numbers[0] * 3, 4.0])
        assert results(static, numbers) == results(function, numbers)
