"""Backward from some outputs of a call, one after another, and gradients between its outputs: as in eager mode."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import GradientError
from tests.jit.both import both_modes, leaf


@both_modes
def test_independent_outputs_have_a_backward_each(convert):
    a, b = convert(lambda x, y: (x * x, y * y))(x := leaf(2.0), y := leaf(3.0))
    a.backward()
    b.backward()
    assert (x.grad.item(), y.grad.item()) == (4.0, 6.0)
    with pytest.raises(GradientError, match="second time"):
        a.backward()


@both_modes
def test_what_outputs_share_is_used_up_by_the_first_backward(convert):
    log = []

    def f(x):
        z = x * x
        b = z * z
        b.register_hook(lambda g: log.append(g.item()))
        return z + 1, b

    a, b = convert(f)(x := leaf(2.0))
    a.backward()
    with pytest.raises(GradientError, match="second time"):
        b.backward()
    # The newer part of the second backward has run.
    assert log == [1.0]
    assert x.grad.item() == 4.0


@both_modes
def test_the_hook_of_a_returned_value_waits_for_its_uses_inside(convert):
    log = []

    def f(x, n):
        z = x * x
        u = z * 0.5
        for _ in range(n):
            return z, u
        z.register_hook(lambda g: log.append(g.item()) or g + 1)
        return z, u

    static = convert(f)
    for turns, expected in ((3, []), (0, [1.5])):
        log.clear()
        z, u = static(leaf(2.0), d2s.to_tensor(turns))
        (z + u).backward()
        assert log == expected


@both_modes
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_the_gradient_of_an_output_that_a_branch_chose(convert, c):
    def f(x, y, c):
        if c > 0:
            u = x + y
        else:
            u = x - y
        u.register_hook(lambda g: g * g + 1)
        return u

    x = leaf(2.0)
    u = convert(f)(x, leaf(3.0), d2s.to_tensor(c))
    found = d2s.grad(u, [x, u], d2s.to_tensor([3.0]))
    assert [grad.item() for grad in found] == [10.0, 10.0]


@both_modes
def test_hooks_of_outputs_that_lead_to_no_target_do_not_run(convert):
    log = []

    def f(x, y):
        z = x * y
        z.register_hook(lambda g: log.append(g.item()) or g + 1)
        return z, (z * 0.5).tanh()

    f = convert(f)
    x, y = leaf(1.0), leaf(3.0)
    z0, u0 = f(x, y)
    z1, u1 = f(z0, y)
    d2s.grad(z0 * u1 + u0.tanh() * z1, [u0])
    assert log == []
