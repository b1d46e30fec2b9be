"""What code that is not traced writes in place to tensors of a run is read again behind it."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import leaf, recorder

LOG: list = []


@d2s.jit.not_to_static
def bump(tensor):
    with d2s.no_grad():
        tensor.add_(d2s.full(tensor.shape, 0.5))


@d2s.jit.not_to_static
def look(tensor):
    LOG.append(tensor.tolist())


def made_inside(x, z, c, n):
    y = x * 2
    bump(y)
    return (y * z,)


def read_before_too(x, z, c, n):
    y = x * 2
    y.register_hook(recorder(LOG, "before"))
    q = y + z
    bump(y)
    y.register_hook(recorder(LOG, "behind"))
    return y * z + q, y


def saved_before(x, z, c, n):
    y = x * 2
    look(y)
    square = y * y
    bump(y)
    return square, y


def by_views_and_detached(x, z, c, n):
    y = x * 2
    part, fixed = y[0:1], y.detach()
    bump(part)
    r = y * z
    bump(fixed)
    return r, y * 1, part * 2, fixed * 2


def detached_from_outside(x, z, c, n):
    d = x.detach()
    q = d * z
    bump(d)
    return q + d, x * 2


def outside_of_detached(x, z, c, n):
    d = x.detach()
    bump(x)
    return d * z, x * 2


def with_traced_writes(x, z, c, n):
    y = x * 2
    look(y)
    y.add_(z)
    bump(y)
    y.multiply_(z)
    bump(y)
    return y * 3, y


def in_turns(x, z, c, n):
    y = x * 2
    while n > 0:
        bump(y)
        y.register_hook(recorder(LOG, "y"))
        z, n = z + y, n - 1
    return (y * z,)


def in_a_branch(x, z, c, n):
    y = x * 2
    if c > 0:
        bump(y)
        z = z * y
    else:
        look(y)
    return (y * z,)


def behind_an_early_return(x, z, c, n):
    u = x + z
    d = u.detach()
    bump(u)
    if c > 0.0 and n > 2:
        return u, d
    u[1:] = 0.5
    return u, d


def behind_a_loop_that_may_return(x, z, c, n):
    u = x + z
    d = u.detach()
    if c > 0:
        return x * 1, u
    for _ in range(n):
        return u, d
    bump(u)
    return u - z, u


def written_on_another_path(x, z, c, n):
    """What is returned as it is there has no Tensor here before the write."""
    d = x.detach() * 2
    if n > 1:
        d.add_(x.detach())
        if n > 2:
            return d * z, d
    elif c > 0:
        return z * 1, d
    return d * z, d


WORKS = [
    made_inside, read_before_too, saved_before, by_views_and_detached, detached_from_outside, outside_of_detached,
    with_traced_writes, in_turns, in_a_branch, behind_an_early_return, behind_a_loop_that_may_return,
    written_on_another_path]


def seen(f):
    LOG.clear()
    for c, n in ((1.0, 2), (-1.0, 3), (1.0, 0), (-1.0, 0), (1.0, 3)):
        x, z = leaf(0.5, -1.5), leaf(2.0, 0.25)
        results = f(x, z, d2s.to_tensor(c), d2s.to_tensor(n))
        LOG.append([(result.tolist(), result.stop_gradient) for result in results])
        try:
            sum((result * result).sum() for result in results).backward()
        except d2s.GradientError as error:
            LOG.append(error.kind)
        LOG.append([None if one.grad is None else one.grad.tolist() for one in (x, z)])
        LOG.append([one.tolist() for one in (x, z)])
    return LOG[:]


@pytest.mark.parametrize("function", WORKS)
def test_static_is_eager(function):
    assert seen(d2s.to_static(function)) == seen(function)


@pytest.mark.parametrize("make", [lambda x: x * 1, lambda x: x.detach()], ids=["interior", "without gradient"])
@pytest.mark.parametrize("is_outside", [True, False])
def test_a_history_that_the_run_does_not_know_is_an_error(make, is_outside):
    w = leaf(5.0, 7.0)
    write = d2s.jit.not_to_static(lambda tensor: tensor.add_(w))

    @d2s.to_static
    def f(y):
        y = y if is_outside else y * 2
        write(y)
        return y * 3

    with pytest.raises(d2s.ExecutionError, match=r"another history.*D2S-X12"):
        f(make(leaf(1.0, 2.0)))


def test_a_tensor_that_is_made_to_stop_gradients_elsewhere_is_an_error():
    @d2s.jit.not_to_static
    def freeze(tensor):
        tensor.stop_gradient = True

    @d2s.to_static
    def f(x):
        freeze(x)
        return x * 3

    with pytest.raises(d2s.ExecutionError, match=r"^x was .*D2S-X12"):
        f(leaf(1.0, 2.0))


def test_a_write_in_a_turn_to_what_was_there_before_the_loop_is_noticed():
    kept = []

    @d2s.jit.not_to_static
    def write(tensor):
        kept.append(tensor)
        bump(tensor)

    def f(x, n):
        u = x * 2
        b = u
        while n > 0:
            write(b)
            b, n = x, n - 1
        return u * 1

    with pytest.raises(d2s.ExecutionError, match="D2S-X12"):
        d2s.to_static(f)(leaf(1.0, 2.0), d2s.to_tensor(1))


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_tensor_that_only_a_turn_has_held(turns):
    """What untraced code writes to a Tensor made in a turn is noticed behind the loop, when nobody holds that."""

    def f(x, n):
        u = x * 2
        y = x * 3
        b = u
        while n > 0:
            bump(b)
            b = y
            n = n - 1
        return u * 1, y * 1

    @d2s.jit.not_to_static
    def bump(tensor):
        with d2s.no_grad():
            tensor.add_(d2s.full([1], 10.0))

    static = d2s.to_static(f)
    assert [part.tolist() for part in static(leaf(0.5, 1.0), d2s.to_tensor(0))] == [[1.0, 2.0], [1.5, 3.0]]
    with pytest.raises(d2s.errors.ExecutionError, match="D2S-X12"):
        static(leaf(0.5, 1.0), d2s.to_tensor(turns))
