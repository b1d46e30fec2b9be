"""Writes in place, by traced code, to tensors of which detached ones are in use, and to these."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import GradientError, UnsupportedSyntaxError
from tests.jit.both import leaf, recorder

LOG: list = []


def both_written(x, z, c, n):
    y = x * 2
    d = y.detach()
    y.register_hook(recorder(LOG, "before"))
    y.add_(z)
    d.add_(1.0)
    y.register_hook(recorder(LOG, "behind"))
    return y * d, d


def detached_gets_history(x, z, c, n):
    y = x * 2
    d = y.detach()
    d.multiply_(z)
    d.register_hook(recorder(LOG, "d"))
    return y * 3, d


def detached_from_a_part(x, z, c, n):
    y = x * 2
    d = y[0:1].detach()
    y.multiply_(z)
    d.add_(x[1:2])
    return y * d, d


def several_steps(x, z, c, n):
    y = x * 2
    d = y.detach()[0:2].detach()
    e = d.reshape([2, 1]).detach()
    e[0] = 7.0
    d.multiply_(z)
    return y * 2, d, e


def sources_are_gone(x, z, c, n):
    y = x * 2
    d, e = y.detach(), y[0:1].detach()
    y = y * z
    d.multiply_(z)
    return y, d, e


def view_without_history(x, z, c, n):
    y = x * 2
    with d2s.no_grad():
        part = y[0:1]
    part.multiply_(z[1:])
    part.register_hook(recorder(LOG, "part"))
    y.register_hook(recorder(LOG, "y"))
    return y * 3, part


def history_comes_later(x, z, c, n):
    y = d2s.ones([2])
    d, part = y.detach(), y[1:]
    d.add_(x)
    part.multiply_(z[0:1])
    return y, d


def from_outside(x, z, c, n):
    d = x.detach()
    d.add_(d2s.ones([2]))
    d[0:1].multiply_(d[1:2])
    return d * z, x * 2


def from_outside_with_history(x, z, c, n):
    d = x.detach()
    d.multiply_(z)
    return d * 2, x * z


def under_no_grad(x, z, c, n):
    y = x * z
    d = y.detach()
    with d2s.no_grad():
        y.add_(d2s.ones([2]))
        d[1] = 3.0
    return y * 2, d


def in_a_branch(x, z, c, n):
    y = x * 1
    d = y.detach()
    if c > 0:
        d.multiply_(z)
        y.register_hook(recorder(LOG, "y"))
    else:
        y.multiply_(z)
    return y * d, d


def in_turns(x, z, c, n):
    y = x * 1
    d = y[0:1].detach()
    for _ in range(n):
        y.multiply_(z)
        d.add_(0.5)
        y.register_hook(recorder(LOG, "y"))
    return y * d, d


def detached_in_a_branch(x, z, c, n):
    y = x * 2
    d = z.detach()
    if c > 0:
        d = y.detach()
    y.add_(x)
    return y * d, d


def chosen_among_others(x, z, c, n):
    """What is written may be one of two others, of which only the second has a detached one."""
    u, s = z * 2, x.detach()
    b = u
    if c > 0 and n > 1:
        u = z - u
    else:
        b = x
    u[1] = x[0]
    return u, b, s


def chosen_with_history(x, z, c, n):
    y = x * 2
    d, e = y.detach(), z.detach()
    b = d if c > 0 else e
    y.multiply_(x)
    b.register_hook(recorder(LOG, "b")) if not b.stop_gradient else None
    return y, b * x


def leaf_of_its_own(x, z, c, n):
    y = x * 1
    d = y.detach()
    d.stop_gradient = False
    d.register_hook(recorder(LOG, "d"))
    kept = d * z
    y.add_(z)
    return y * kept, d * 2


def in_place_steps(x, z, c, n):
    """As an optimizer of the user's own writes."""
    for _ in range(3):
        step = (z * 0.1).detach()
        x.detach().subtract_(step)
    return x * z, x.detach()


def carried_beside_a_detached(x, z, c, n):
    """Turns carry another name of what is written, or of what another one is detached from."""
    u, s = z * 2, x.detach()
    b = u
    for _ in range(n):
        u[1:] = 0.5
        b = x
    return u, b * s


def left_in_a_turn(x, z, c, n):
    y = x * 2
    d = y.detach()
    with d2s.no_grad():
        d.add_(z)
    for _ in range(n):
        if c > 0:
            return y, d
        with d2s.no_grad():
            d.multiply_(z)
        y.register_hook(recorder(LOG, "y"))
    return y, d


def what_turns_chose_is_written(x, z, c, n):
    y, u = x * 2, z * 3
    d, e = y.detach(), u.detach()
    b = y
    for _ in range(n):
        b, d = u, e
    b.add_(x)
    d.multiply_(z)
    b.register_hook(recorder(LOG, "b"))
    return y, u, b, d, e


def swapped_with_detached_views(x, z, c, n):
    y = x * 2
    d, e = y.detach()[0:1], y[1:2].detach()
    for _ in range(n):
        d.add_(1.0)
        d, e = e, d
    with d2s.no_grad():
        e.multiply_(z[0:1])
    return y * z, d, e


WORKS = [
    carried_beside_a_detached, left_in_a_turn, what_turns_chose_is_written, swapped_with_detached_views,
    both_written, detached_gets_history, detached_from_a_part, several_steps, sources_are_gone, view_without_history,
    history_comes_later, from_outside, from_outside_with_history, under_no_grad, in_a_branch, in_turns,
    detached_in_a_branch, chosen_among_others, chosen_with_history, leaf_of_its_own, in_place_steps]


def seen(f):
    LOG.clear()
    for c, n in ((1.0, 2), (-1.0, 3), (1.0, 0), (1.0, 2)):
        x, z = leaf(0.5, -1.5), leaf(2.0, 0.25)
        results = f(x, z, d2s.to_tensor(c), d2s.to_tensor(n))
        LOG.append([(result.tolist(), result.stop_gradient) for result in results])
        try:
            sum((result * result).sum() for result in results).backward()
        except GradientError as error:
            LOG.append(error.kind)
        LOG.append([None if one.grad is None else one.grad.tolist() for one in (x, z)])
        LOG.append([one.tolist() for one in (x, z, *results)])
    return LOG[:]


@pytest.mark.parametrize("function", WORKS)
def test_static_is_eager(function):
    assert seen(d2s.to_static(function)) == seen(function)


def test_saved_values_that_are_written_over_are_noticed():
    def square(x, z, c, n):
        y = x * x
        d = y.detach()
        w = y * y
        d.add_(1.0)
        return (w,)

    assert "G02" in seen(square)
    assert seen(d2s.to_static(square)) == seen(square)


@pytest.mark.parametrize("is_kept", [True, False])
def test_writes_of_others_behind_a_traced_write_are_seen(is_kept):
    def play(static):
        kept = []
        keep = d2s.jit.not_to_static(lambda tensor: kept.append(tensor) if is_kept else None)
        write = d2s.jit.not_to_static(lambda: [tensor.set_value(tensor.numpy() + 1) for tensor in kept])

        def f(x):
            y = x * 2
            keep(y)
            d = y.detach()
            d.multiply_(x.detach())
            write()
            return y * 1.0, d * 1.0

        return [one.tolist() for one in static(f)(leaf(0.5, -1.5))]

    assert play(d2s.to_static) == play(lambda f: f)


def test_turns_that_choose_what_is_detached_are_refused():
    def f(x, n):
        y = x * 2
        d = x.detach()
        while n > 0:
            d, n = y.detach(), n - 1
        y.add_(x)
        return y * d

    with pytest.raises(UnsupportedSyntaxError) as caught:
        d2s.to_static(f)(leaf(0.5, -1.5), d2s.to_tensor(1))
    assert caught.value.kind == "U23"


def written_in_turns(x, n):
    d = x.detach()
    while n > 0:
        d[1:], n = 0.5, n - 1
    return x, d


def view_written_in_turns(x, n):
    x = x.detach()
    d = x[0:1]
    while n > 0:
        d.add_(d2s.ones([1]))
        n = n - 1
    return x, d


@pytest.mark.parametrize("function", [written_in_turns, view_written_in_turns])
def test_what_turns_have_written_goes_on_sharing_with_tensors_from_outside(function):
    def play(f):
        found = []
        for n in (0, 2):
            x = leaf(0.5, -1.5)
            y, d = f(x, d2s.to_tensor(n))
            for tensor in (d, x):
                with d2s.no_grad():
                    tensor.add_(d2s.ones([1]))
                found.append([one.tolist() for one in (x, y, d)])
        return found

    assert play(d2s.to_static(function)) == play(function)


def test_a_return_in_a_turn_gives_tensors_that_share_or_refuse():
    def f(x, n):
        y = x * 2
        d = y.detach()
        while n >= 0:
            return y, d

    y, d = d2s.to_static(f)(leaf(0.5, -1.5), d2s.to_tensor(1))
    with d2s.no_grad(), pytest.raises(GradientError, match="D2S-G17"):
        y.add_(d2s.ones([2]))
    assert y.tolist() == d.tolist()
