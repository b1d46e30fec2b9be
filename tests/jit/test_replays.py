"""Code that is traced on several ways is recorded alike on each, whatever Python has collected in between."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import d2s
from d2s.operators import views
from d2s.operators.closures import Lowering

KEPT: list[Any] = []


@d2s.jit.not_to_static
def keep(thing: Any) -> None:
    KEPT.append(thing)


def several_ways(y):
    """Python orders what only the run knows: what comes before is traced again for each order."""
    return y + sorted([y.sum(), y.sum() * y.sum()])[0] + max([y.sum(), 1.0])


def in_a_circle(thing):
    """Nothing but Python's collector ends what refers to itself."""

    def inner():
        return inner, thing


def view(z):
    if z.sum() > -100:
        y = z * 3
        in_a_circle(y[0:1])
        y[1] = 7.0
        return several_ways(y)
    return z


def view_of_a_view(z):
    if z.sum() > -100:
        y = z * 3
        in_a_circle(y[0:2][1:])
        last = y[1:]
        y[1] = 7.0
        return several_ways(y) + last
    return z


def detached(z):
    if z.sum() > -100:
        y = z * 3
        in_a_circle(y.detach())
        with d2s.no_grad():
            y[1] = 7.0
        return several_ways(y)
    return z


def view_that_is_written(z):
    if z.sum() > -100:
        y = z * 3
        in_a_circle(y.detach()[0:1])
        first = y[0:1]
        with d2s.no_grad():
            first.add_(d2s.to_tensor([2.0]))
        return several_ways(y)
    return z


def list_given_away(z):
    if z.sum() > -100:
        mine = [1.0]
        keep(mine)
        in_a_circle(mine)
        del mine
        keep(1)
        return several_ways(z)
    return z


def list_in_a_list_given_away(z):
    if z.sum() > -100:
        mine = [[1.0], {"a": [2.0]}]
        keep(mine)
        in_a_circle(mine[1])
        del mine
        keep(1)
        return several_ways(z)
    return z


FUNCTIONS = (
    view, view_of_a_view, detached, view_that_is_written, list_given_away, list_in_a_list_given_away)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Python collects in replays only; the list grows with each time that it does."""
    times: list[int] = []

    def collect(tracer: Any) -> None:
        if tracer.path is not None and tracer.path.position < len(tracer.path.log):
            times.append(gc.collect())

    write, given_away = views.write, Lowering.given_away

    def collected_write(tracer: Any, *args: Any, **kwargs: Any) -> None:
        collect(tracer)
        write(tracer, *args, **kwargs)

    def collected_given_away(lowering: Lowering) -> Any:
        collect(lowering.tracer)
        return given_away(lowering)

    monkeypatch.setattr(views, "write", collected_write)
    monkeypatch.setattr(Lowering, "given_away", collected_given_away)
    gc.disable()
    yield times
    gc.enable()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_is_recorded_does_not_depend_on_the_collector(function: Any, collected: list[int]) -> None:
    static = d2s.to_static(function)
    for values in ([1.0, 2.0], [-5.0, 1.0], [0.1, 0.2], [-200.0, 1.0]):
        outcomes = []
        for called in (function, static):
            KEPT.clear()
            z = d2s.to_tensor(values, stop_gradient=False)
            result = called(z)
            result.sum().backward()
            outcomes.append((result.numpy().tobytes(), z.grad.numpy().tobytes(), list(KEPT)))
        assert outcomes[0] == outcomes[1]
    assert any(collected), "nothing was collected in a replay"
