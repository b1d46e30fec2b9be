"""Tensors whose `stop_gradient` a function has set, and which others get: they have a history, which may come back."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import D2SError
from tests.jit.both import leaf, recorder

LOG = []


def returned(x):
    y = x * 2
    y.stop_gradient = True
    return y


def used_before(x):
    y = x * 2
    z = y * y
    y.stop_gradient = True
    return y, z


def used_behind(x):
    y = x * 2
    y.stop_gradient = True
    return y, y * x


def set_back(x):
    y = x * 2
    y.stop_gradient = True
    y.stop_gradient = False
    return y, y * 3


def with_a_hook(x):
    y = x * x
    y.register_hook(recorder(LOG, "y"))
    y.stop_gradient = True
    return y


def in_a_container(x):
    y = x * x
    y.stop_gradient = True
    return {"found": [y, x]}["found"]


def stored(x):
    y = x * x
    y.stop_gradient = True
    LOG.append(y)
    return y


@d2s.jit.not_to_static
def untraced(y):
    LOG.append(y.is_leaf)
    y.stop_gradient = False
    return y * 3


def given_to_untraced_code(x):
    y = x * x
    y.stop_gradient = True
    return untraced(y), y


def written_behind(x):
    y = x * x
    y.stop_gradient = True
    y.add_(d2s.ones([2]))
    return y


def written_with_a_detached_one(x):
    y = x * x
    kept = y.detach()
    view = y[1:]
    y.stop_gradient = True
    y.add_(d2s.ones([2]))
    return y, kept, view


def written_in_turns(x):
    y = x * x
    y.stop_gradient = True
    n = d2s.to_tensor(0)
    while n < 2:
        y.add_(d2s.ones([2]))
        n = n + 1
    return y


def written_before(x):
    y = x * x
    y.multiply_(x)
    y.stop_gradient = True
    return y


def in_a_branch(x):
    y = x * x
    if x.sum() > 0:
        y.stop_gradient = True
    return y


def chosen(x):
    y = x * x
    y.stop_gradient = True
    z = x * 3
    return y if x.sum() > 0 else z


def through_turns(x):
    y = x * x
    y.stop_gradient = True
    total, n = x * 0, d2s.to_tensor(0)
    while n < 2:
        total = total + y
        n = n + 1
    return y, total


def in_a_view(x):
    y = x * x
    view = y[:1]
    y.stop_gradient = True
    return view, y


def without_grad_mode(x):
    with d2s.no_grad():
        y = x * x
    y.stop_gradient = True
    return y


def detached(x):
    y = (x * x).detach()
    y.stop_gradient = True
    return y


def a_leaf(x):
    y = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    z = y * x
    y.stop_gradient = True
    return y, z


def asked_inside(x):
    y = x * x
    y.stop_gradient = True
    return y, d2s.to_tensor(y.is_leaf)


def walked_inside(x):
    y = x * x
    z = y * x
    y.stop_gradient = True
    z.sum().backward()
    return y, x.grad


FUNCTIONS = [
    returned, used_before, used_behind, set_back, with_a_hook, in_a_container, stored, given_to_untraced_code,
    written_behind, written_with_a_detached_one, written_in_turns, written_before, in_a_branch, chosen, through_turns,
    in_a_view, without_grad_mode, detached, a_leaf, asked_inside, walked_inside]


def shown(call):
    try:
        return call()
    except D2SError as error:
        return error.kind


def played(function, set_back):
    seen = []
    LOG.clear()
    for values in ((1.0, 2.0), (-1.5, 0.5), (2.0, 3.0), (0.25, -1.0)):
        x = leaf(*values)
        found = function(x)
        results = list(found) if isinstance(found, list | tuple) else [found]
        for result in results:
            seen.append((result.is_leaf, result.stop_gradient, result.tolist()))
        if set_back:
            results[0].stop_gradient = False
            results[0].register_hook(recorder(LOG, "outside"))
        for result in results:
            seen.append(shown(lambda result=result: (result * result).sum().backward()))
            seen.append(None if x.grad is None else x.grad.tolist())
            seen.append(shown(lambda result=result: result.grad is None or result.grad.tolist()))
        seen.append([entry.tolist() if isinstance(entry, d2s.Tensor) else entry for entry in LOG])
    return seen


@pytest.mark.parametrize("set_back", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_static_is_eager(function, set_back):
    assert played(d2s.to_static(function), set_back) == played(function, set_back)


def test_tensors_that_stay_inside_are_not_made():
    """Targets of a loss, say: whoever needs no Tensor pays for none."""

    @d2s.to_static
    def step(x):
        target = x * 2
        target.stop_gradient = True
        return ((x - target) * (x - target)).sum()

    step(leaf(1.0, 2.0)).backward()
    assert "setattr" not in str(step.main_program)
