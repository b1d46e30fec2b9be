"""Tensors of single turns of a loop, in lists that grow: gradients, hooks and errors as in eager mode."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import d2s
from d2s.errors import GradientError


def collected(x, n):
    parts = [x]
    z = x
    for _ in range(n):
        z = d2s.tanh(z * 1.5) * x
        parts.append(z)
    return d2s.stack(parts), parts


@pytest.fixture(params=[False, True], ids=["eager", "static"])
def function(request):
    return d2s.to_static(collected) if request.param else collected


def leaf():
    return d2s.to_tensor([0.3, -0.4], stop_gradient=False)


def in_both_modes(use):
    seen = [use(f) for f in (collected, d2s.to_static(collected))]
    assert seen[0] == seen[1]
    return seen[0]


def test_second_derivatives():
    def use(f):
        x = leaf()
        stacked, _ = f(x, d2s.to_tensor(3))
        first, = d2s.grad([(stacked * stacked).sum()], [x], create_graph=True)
        second, = d2s.grad([first.sum()], [x])
        return first.tolist(), second.tolist()

    assert in_both_modes(use)[1] != [0.0, 0.0]


def test_hooks_and_retained_gradients_of_one_turn():
    def use(f):
        x, log = leaf(), []
        stacked, parts = f(x, d2s.to_tensor(3))
        parts[2].register_hook(lambda g: (log.append(g.tolist()), g + 1)[1])
        parts[2].retain_grads()
        (stacked.sum() + parts[2].sum()).backward()
        return log, parts[2].grad.tolist(), x.grad.tolist(), parts[0] is x

    log, *_ = in_both_modes(use)
    assert len(log) == 1


def test_gradients_with_respect_to_one_turn():
    def use(f):
        stacked, parts = f(leaf(), d2s.to_tensor(3))
        return [part.tolist() for part in d2s.grad([stacked.sum()], parts[1:])]

    in_both_modes(use)


def test_several_backwards_of_one_run():
    def use(f):
        x = leaf()
        stacked, parts = f(x, d2s.to_tensor(2))
        parts[1].sum().backward(retain_graph=True)
        stacked.sum().backward()
        return x.grad.tolist()

    in_both_modes(use)


def test_what_was_used_up_says_so(function):
    stacked, parts = function(leaf(), d2s.to_tensor(2))
    stacked.sum().backward()
    for root in (stacked.sum(), parts[1].sum()):
        with pytest.raises(GradientError, match="a second time"):
            root.backward()


def test_a_run_goes_with_its_tensors(function):
    stacked, parts = function(leaf(), d2s.to_tensor(2))
    known = weakref.ref(parts[1])
    stacked.sum().backward()
    del stacked, parts
    gc.collect()
    assert known() is None


def test_backward_in_the_middle_of_a_run():
    @d2s.to_static
    def f(x, n):
        parts = []
        for i in range(n):
            parts.append(x * x * i)
        parts[-1].sum().backward(retain_graph=True)
        return parts

    parts = f(x := leaf(), d2s.to_tensor(3))
    first = x.grad.numpy()
    parts[-1].sum().backward()
    assert np.array_equal(first, 4 * x.numpy())
    assert np.array_equal(x.grad.numpy(), 8 * x.numpy())


@pytest.mark.parametrize("value", [2.0, -2.0])
def test_a_name_bound_to_an_empty_tuple_in_some_turns(value: float) -> None:
    def bound_in_a_turn(x, n):
        i = d2s.to_tensor(0)
        while i < n:
            if x.sum() > i:
                u = ()
            i = i + 1
        return u

    found = []
    for function in (bound_in_a_turn, d2s.to_static(bound_in_a_turn)):
        try:
            found.append(function(d2s.to_tensor([value]), d2s.to_tensor(3)))
        except UnboundLocalError as error:
            found.append(str(error))
    assert found[0] == found[1]
