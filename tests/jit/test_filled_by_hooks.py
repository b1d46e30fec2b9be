"""What hooks put into lists and variables during `backward()`, combined with tensors after it in the same call."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import leaf


def of_several_kinds(x):
    seen = []
    y = x * x
    y.register_hook(lambda g: seen.extend([g, float(g.sum()), g.sum()]))
    y.sum().backward(retain_graph=True)
    return x * seen[0], x.detach() * seen[1], x + seen[2] * 2.0, (seen[0] - x) / 2.0


def without_history(x):
    seen = []
    y = x * x
    y.register_hook(lambda g: seen.append(g * g))
    y.sum().backward()
    with d2s.no_grad():
        moved = x - seen[-1] * 0.5
    return x.detach() + seen[-1], moved


def descent(x):
    w, i = x.detach() * 2.0, 0
    while i < x.detach().sum() * 0 + 3:
        seen = []
        y = w * x
        y.register_hook(lambda g: seen.append(g * 0.1))  # noqa: B023
        (y * y).sum().backward()
        w = w - seen[-1]
        i = i + 1
    return (w,)


def in_a_variable(x):
    total, i = x.detach() * 0.0, 0

    def hook(g):
        nonlocal total
        total = total + g

    while i < x.detach().sum() * 0 + 3:
        y = x * x
        y.register_hook(hook)
        y.sum().backward()
        i = i + 1
    return (x.detach() - total * 0.5,)


def counted(x):
    n = [0]

    def hook(g):
        n[0] += 1
        return g * n[0]

    y = x * x
    y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return (x.detach() * n[0],)


def seen_by(f):
    x = leaf([1.5, 0.5])
    results = f(x)
    flags = [result.stop_gradient for result in results]
    if not all(flags):
        sum(result.sum() for result in results if not result.stop_gradient).backward()
    return [result.tolist() for result in results], flags, x.grad.tolist()


@pytest.mark.parametrize(
    "f", [of_several_kinds, without_history, descent, in_a_variable, counted], ids=lambda f: f.__name__)
def test_static_is_eager(f):
    static = d2s.to_static(f)
    expected = seen_by(f)
    assert seen_by(static) == expected
    assert seen_by(static) == expected


@pytest.mark.parametrize("other", [lambda g: g.astype("float64"), lambda g: d2s.concat([g, g]), lambda g: "text"])
def test_what_cannot_be_combined_is_refused_in_the_run(other):
    @d2s.to_static
    def f(x):
        seen = []
        y = x * x
        y.register_hook(lambda g: seen.append(other(g)))
        y.sum().backward()
        return x + seen[-1]

    with pytest.raises(d2s.ExecutionError, match="D2S-X08") as caught:
        f(leaf([1.5, 0.5]))
    assert caught.value.kind == "X08"
