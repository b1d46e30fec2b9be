"""Values of which only the path of a run tells which tensor they are: gradients are summed up by identity."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s.static.program import walk_operators


def carried_as_two(x, y, n):
    """One tensor that the turns give under two names."""
    u = x * y + 0.2
    p = u * 1
    k = 0
    while k < n:
        k = k + 1
        u = u * 0.7
        p = u
    return p, (u * u).sum() + (p * p).sum(), u


def unbound_before(x, y, n):
    u = x * y + 0.2
    k = 0
    while k < n:
        k = k + 1
        u = u * 0.7
        p = u
    return p, (u * u).sum()


def given_as_two(x, y, n):
    if n > 1:
        u = x * y
        p = u
    else:
        u = x + y
        p = x * 3
    return (u * u).sum() * 0.3 + (p * p).sum() * 0.7 + (u * y).sum() + (p * x).sum(), p


def best_so_far(x, y, n):
    best, k = x * y, 0
    while k < n:
        k = k + 1
        y = y * 0.9 + x * 0.3
        if (y * y).sum() > (best * best).sum():
            best = y
    return (best * best).sum() + (y * best).sum(), best, y


def best_of_arguments(x, y, n):
    best, k = x, 0
    while k < n:
        k = k + 1
        if (y * y).sum() > (best * best).sum() * 0.9:
            best, y = y, best
        y = y * 0.9
    return (best * best).sum() + (y * best).sum(), best * 1


def chosen_inside(x, y, n):
    u, v = x * 0.9, y * 1.1
    if n > 0:
        p = u if n > 1 else v
        q = v if x.sum() > 0 else u
    else:
        p, q = u, u
    return (p * q).sum() + (p * p).sum() * 0.3 + (u * q).sum() * 0.7 + (v * p).sum()


def left_early(x, y, n):
    best = x
    for _ in range(5):
        y = y * 0.9 + 0.1
        if (x * y).sum() > n:
            return best, (best * y).sum()
        if (y * y).sum() > 1.0:
            best = y
        x = x + best * 0.3
    return best, (best * x).sum()


FUNCTIONS = [
    carried_as_two, unbound_before, given_as_two, best_so_far, best_of_arguments, chosen_inside, left_early]
BY_IDENTITY = [best_so_far, best_of_arguments, chosen_inside, left_early]


def data():
    generator = np.random.default_rng(3)
    return [generator.uniform(-1.5, 1.5, (2, 5)).astype("float32") for _ in range(12)]


def leaves(values, log):
    tensors = [d2s.to_tensor(value, stop_gradient=False) for value in values]
    for name, tensor in zip("xy", tensors, strict=True):
        tensor.register_hook(lambda g, name=name: log.append((name, g.numpy().tolist())))
    return tensors


def observed(function, differentiate):
    """Gradients and hook calls of several runs."""
    seen = []
    for number, values in enumerate(data()):
        log = []
        x, y = leaves(values, log)
        try:
            found = function(x, y, d2s.to_tensor(number % 4))
        except UnboundLocalError:
            seen.append("unbound")
            continue
        found = found if isinstance(found, tuple) else (found,)
        total = sum(((part * part).sum() + (part * 1.7).sum() for part in found), start=x.sum() * 0)
        log.append(differentiate(total, x, y, found))
        seen.append((log, [None if t.grad is None else t.grad.numpy().tolist() for t in (x, y)]))
    return seen


def once(total, x, y, found):
    total.backward()


def twice(total, x, y, found):
    total.backward(retain_graph=True)
    total.backward()


def of_results(total, x, y, found):
    grads = d2s.grad(total, [x, y, *found], allow_unused=True)
    return [None if g is None else g.numpy().tolist() for g in grads]


def of_gradients(total, x, y, found):
    grads = d2s.grad(total, [x, y], create_graph=True)
    sum((g * g * 0.3).sum() for g in grads).backward()


@pytest.mark.parametrize("differentiate", [once, twice, of_results, of_gradients], ids=lambda given: given.__name__)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda given: given.__name__)
def test_gradients_and_their_order_are_those_of_eager_mode(function, differentiate):
    assert observed(d2s.to_static(function), differentiate) == observed(function, differentiate)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda given: given.__name__)
def test_backward_inside(function):
    def step(x, y, n):
        found = function(x, y, n)
        found = found if isinstance(found, tuple) else (found,)
        total = x.sum() * 0
        for part in found:
            total = total + (part * part).sum() + (part * 1.7).sum()
        total.backward()
        return total

    def nothing(total, x, y, found):
        return None

    assert observed(d2s.to_static(step), nothing) == observed(step, nothing)


def kinds_of_backward(function, *args):
    static = d2s.to_static(function)
    static(*args)
    return [operator.kind for operator in walk_operators(static.main_program.backward.block)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda given: given.__name__)
def test_identities_where_nothing_less_tells(function):
    x, y = leaves(data()[0], [])
    kinds = kinds_of_backward(function, x, y, d2s.to_tensor(2))
    assert ("take_by_identity" in kinds) is (function in BY_IDENTITY)


def test_backward_of_unrolled_exits_grows_with_the_turns():
    def f(x, limit, turns):
        y = x
        for _ in range(turns):
            y = y * 1.01
            if y.sum() > limit:
                return y
            x = x + y
        return x

    x = d2s.to_tensor([0.3, 0.2], stop_gradient=False)
    few, many = (len(kinds_of_backward(f, x, d2s.to_tensor(30.0), turns)) for turns in (20, 40))
    assert 20 < many < 2.2 * few


def test_an_error_on_the_way_leaves_nothing_behind():
    def raises(g):
        if raises.now:
            raise ValueError("stop here")

    raises.now = True

    def f(x, y, n):
        best, k = x * y, 0
        while k < n:
            k = k + 1
            y = y * 0.9
            y.register_hook(raises)
            if (y * y).sum() > (best * best).sum():
                best = y
        return (best * best).sum() + (y * best).sum()

    def run(function):
        raises.now = True
        x, y = leaves(data()[0], [])
        found = function(x, y, d2s.to_tensor(3))
        with pytest.raises(ValueError, match="stop here"):
            found.backward(retain_graph=True)
        raises.now = False
        x.clear_gradient()
        y.clear_gradient()
        found.backward()
        return x.grad.numpy().tolist(), y.grad.numpy().tolist()

    assert run(d2s.to_static(f)) == run(f)
