"""Writes in place to views that turns of a loop or branches have taken, where all of them are one view."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import UnsupportedSyntaxError
from tests.jit.both import leaf, recorder

LOG: list = []


def taken_in_each_turn(x, c, n):
    y = x * 2
    for _ in range(n + 1):
        part = y[0:1]
        part.register_hook(recorder(LOG, "part"))
    part.multiply_(x[1:2])
    return y * y


def taken_before_and_in_turns(x, c, n):
    y = x * 2
    part = y[0:1]
    for _ in range(n):
        part.add_(x[1:2])
        part = y[0:1]
        y.register_hook(recorder(LOG, "y"))
    part.multiply_(x[1:2])
    y.register_hook(recorder(LOG, "y at last"))
    return y * y


def written_in_the_turn_that_takes_it(x, c, n):
    y = x * x
    while n > 0:
        part = y[1:3]
        part.multiply_(x[0:2])
        y = y + x
        n = n - 1
    return y


def taken_in_branches(x, c, n):
    y = x * 2
    if c > 0:
        part = y[0:2]
        part.register_hook(recorder(LOG, "part"))
    else:
        y.multiply_(x)
        part = y[0:2]
    part.multiply_(x[1:3])
    return y * part.sum()


def parts_of_parts(x, c, n):
    y = x * 2
    for _ in range(n + 1):
        part = y.reshape([1, 3])
        inner = part[:, 1:]
        y.register_hook(recorder(LOG, "y"))
    inner.add_(x[0:2])
    part.multiply_(x)
    return y * y


def swapped_for_a_new_tensor(x, c, n):
    y = x * 2
    part = y[0:2]
    for _ in range(n):
        part.add_(x[1:3])
        part = part * 3
    return y * part.sum()


def another_part_each_time(x, c, n):
    y = x * 2
    part = y[0:2]
    while n > 0:
        part = y[1:3]
        n = n - 1
    part.add_(x[1:3])
    return y * y


def of_another_tensor_each_time(x, c, n):
    y = x * 2
    part = y[0:2]
    while n > 0:
        y = y * x
        part = y[0:2]
        n = n - 1
    part.add_(x[1:3])
    return y * y


def swapped_for_another(x, c, n):
    y = x * 2
    part, other = y[0:2], y[1:3]
    for _ in range(n):
        part.add_(x[1:3])
        part, other = other, part
    part.add_(x[0:2])
    return y * part.sum() + other.sum()


def in_a_list(x, c, n):
    y = x * 2
    parts = [y[0:2], y[1:3]]
    for _ in range(n):
        parts[0].add_(x[1:3])
        parts = [parts[1], parts[0]]
    parts[0].add_(x[0:2])
    return y * parts[1].sum()


def detached_from_a_view(x, c, n):
    y = x * 2
    part = y[0:2].detach()
    part.add_(x[1:3].detach())
    return y * part.sum()


def written_behind_a_detached_view(x, c, n):
    y = x * 2
    shown = y.reshape([3, 1]).detach().reshape([3])
    y.add_(x)
    return y * shown.sum()


def another_tensor_in_the_place(x, c, n):
    """The view stays one of the first; what has its name is another tensor after some turns."""
    y = x * 2
    part = y[0:2]
    k = 0
    while k < n:
        k = k + 1
        if c > 0:
            y = x * x
    part.add_(x[1:3])
    y.register_hook(recorder(LOG, "y"))
    return y * part.sum()


def overlapping_views_change_places(x, c, n):
    y = x * 2
    part, other, whole = y[0:2], y[1:3], y.reshape([3, 1])
    for _ in range(n):
        part.multiply_(x[1:3])
        part, other = other, part
        other.register_hook(recorder(LOG, "other"))
    other.add_(x[0:2])
    whole.register_hook(recorder(LOG, "whole"))
    return (part * other).sum() + (whole * whole).sum() + y


def chosen_views_without_grad(x, c, n):
    y = x * 2
    part, other = y[0:2], y[1:3]
    for _ in range(n):
        part, other = other, part
        with d2s.no_grad():
            part.add_(x[1:3])
    part.register_hook(recorder(LOG, "part"))
    return (part * other).sum() + y * y


def names_of_views_of_names(x, c, n):
    y, u = x * 2, x + 1
    b, part, more = y, y[0:2], u[0:2]
    for _ in range(n):
        if c > 0:
            b, part = u, more
        b.add_(x)
        part.multiply_(x[0:2])
    b.register_hook(recorder(LOG, "b"))
    return y * u + b * part.sum()


def taken_in_turns_then_the_tensor_is_written(x, c, n):
    y = x * 2
    part = x[0:2] * 1
    for _ in range(n):
        part = y[1:3]
        part.register_hook(recorder(LOG, "part"))
    y.multiply_(x)
    part.register_hook(recorder(LOG, "part behind"))
    return y * part.sum()


def taken_in_turns_of_turns(x, c, n):
    y = x * 2
    part = y[0:2]
    for _ in range(n):
        for _ in range(n - 1):
            part = y[1:3]
        part.add_(x[0:2])
        if c > 0:
            y.register_hook(recorder(LOG, "y"))
    return y * y


def shown_and_written_without_grad(x, c, n):
    y = x * 2
    part, fixed = y[0:2], y.detach()
    for _ in range(n):
        part = y[1:3]
    inner = part[0:1]
    with d2s.no_grad():
        part.multiply_(x[0:2])
        inner.add_(x[2:3])
        fixed.add_(x)
    inner.register_hook(recorder(LOG, "inner"))
    return (y * fixed).sum() + inner * part.sum() + y


def taken_of_the_same_tensor_under_two_names(x, c, n):
    y = x * 2
    b = y if c > 0 else x * 3
    part = b[0:2]
    for _ in range(n):
        part = y[1:3]
    part.add_(x[0:2])
    b.multiply_(x)
    b.register_hook(recorder(LOG, "b"))
    return y * b + part.sum()


WORKS = [
    taken_in_turns_then_the_tensor_is_written, taken_in_turns_of_turns, shown_and_written_without_grad,
    taken_of_the_same_tensor_under_two_names, another_part_each_time,
    another_tensor_in_the_place, overlapping_views_change_places, chosen_views_without_grad, names_of_views_of_names,
    taken_in_each_turn, taken_before_and_in_turns, written_in_the_turn_that_takes_it, taken_in_branches,
    detached_from_a_view, written_behind_a_detached_view, swapped_for_a_new_tensor, swapped_for_another, in_a_list]
REFUSED = [parts_of_parts, of_another_tensor_each_time]


def seen(f):
    LOG.clear()
    for c in (1.0, -1.0):
        for n in (0, 1, 3):
            x = leaf(0.5, 1.5, -0.75)
            y = f(x, d2s.to_tensor(c), d2s.to_tensor(n))
            LOG.append(y.tolist())
            y.sum().backward()
            LOG.append(x.grad.tolist())
    return LOG[:]


@pytest.mark.parametrize("function", WORKS)
def test_static_is_eager(function):
    assert seen(d2s.to_static(function)) == seen(function)


@pytest.mark.parametrize("function", REFUSED)
def test_several_views_are_refused(function):
    with pytest.raises(UnsupportedSyntaxError) as caught:
        seen(d2s.to_static(function))
    assert caught.value.kind == "U12"
