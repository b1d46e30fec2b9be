"""Random functions that register, remove and call hooks in all places do the same in both modes, or are refused."""

from __future__ import annotations

import random
import re
import textwrap

import pytest

import d2s
from d2s.testing.generated import load
from tests.modes import hooked_programs
from tests.modes.harness import Names, Seen, collected, plain
from tests.modes.test_wide import REFUSALS

STEPS = ((1.0, 1), (-1.0, 0), (0.3, 2), (1.0, 1))


def observe(made, kind, is_static):
    """What can be seen of four calls and of the backwards behind them."""
    function, after, state = made
    if is_static:
        function = d2s.to_static(function)
    w = d2s.to_tensor([1.13, 0.29, -0.77, -0.41], stop_gradient=False)
    seen = Seen()
    for steering in STEPS:
        x = d2s.to_tensor([0.31, -1.73, 0.57, 1.21], stop_gradient=False)
        numbers = [d2s.to_tensor(v) for v in steering] if kind == "tensor" else steering
        with collected(seen, (x, w)) as entry:
            first, second, handles, loss = function(x, w, *numbers, state)
            entry["result"] = plain([first, second, len(handles), loss], Names((x, w)))
            after(x, w, first, second, handles, loss)
            entry["after"] = plain([first, first.grad, second, second.grad], Names((x, w)))
        layer = state.layer
        # Ids of hooks are never used again, by no mode.
        seen.calls[-1]["warned"] = [(kind, re.sub("ID: [0-9]+", "ID", text)) for kind, text in seen.calls[-1]["warned"]]
        seen.calls[-1]["state"] = plain(
            [x.grad, w.grad, layer.weight.grad, layer.bias.grad, len(state.kept), list(state.box)], Names((x, w)))
    return seen.calls


def check(text, kind):
    """Compare calls until static mode refuses one; how many were equal."""
    compared = 0
    expected, got = (observe(load(text)(), kind, is_static) for is_static in (False, True))
    for eager, static in zip(expected, got, strict=True):
        raised = static.get("error", (None,))[0]
        if raised in REFUSALS and raised is not eager.get("error", (None,))[0]:
            # Nothing is promised of what follows: the two have done other things.
            break
        assert static == eager
        compared += 1
    return compared


@pytest.mark.parametrize("kind", ["tensor", "python"])
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_static_is_eager_or_refused(first, kind):
    for seed in range(first, first + 20):
        check(hooked_programs.program(random.Random(seed)), kind)


# A body, and what the caller does with its results.
FOUND = {
    "a variable that only turns bind, read by a hook that backward inside may run": ("""
        w.register_hook(record("w", plus))
        turn = 0
        while turn < n:
            turn = turn + 1
            (a * b).sum().backward(retain_graph=True)
            at = a.sum()
            b.register_hook(lambda g: g * 0.5 + at.detach())
        return a, c, handles, (c * c).sum() + a.sum()
    """, "(first.sum() + second.sum()).backward()"),
    "the same where the turns are over": ("""
        turn = 0
        while turn < n:
            turn = turn + 1
            at = b.sum()
            b.register_hook(lambda g: g * 0.5 + at.detach())
        b.register_hook(keep(grads))
        LOG.append(d2s.grad(c.sum(), [x], retain_graph=True))
        return b, c, handles, (c * c).sum() + a.sum()
    """, "loss.backward()"),
    "an object that a turn makes for a hook, inside of a manager": ("""
        with Watching(a, "a"):
            turn = 0
            while turn < n:
                turn = turn + 1
                handles.append(w.register_hook(record("w", Scaled(0.5))))
        return a, b, handles, (a * b).sum()
    """, "(first * second).sum().backward()"),
    "the same inside of a handler that takes anything": ("""
        try:
            turn = 0
            while turn < n:
                turn = turn + 1
                handles.append(w.register_hook(functools.partial(halve, 0.5)))
                handles.append(b.register_hook(record("b", Scaled(0.5))))
        except BaseException as error:
            LOG.append(error)
        return a, b, handles, (a * b).sum()
    """, "(first * second).sum().backward()"),
    "a gradient that does not read what was written to": ("""
        b = w * a
        v = a.reshape([2, 2]).T[0]
        v.scale_(1.3)
        return b, c, handles, (a * b).sum()
    """, """
        try:
            LOG.append(d2s.grad(first.sum(), [x], retain_graph=True))
        except RuntimeError as error:
            LOG.append(type(error))
        LOG.append(d2s.grad(loss, [x], retain_graph=True, allow_unused=True))
    """),
    "the same of a written argument and of a result": ("""
        given = x * 1.0
        b = w * given
        c = w.tanh() * x
        return given, c, handles, b.sum()
    """, """
        first.scale_(1.5)
        for wanted in (x, w):
            try:
                LOG.append(d2s.grad(loss, [wanted], retain_graph=True, allow_unused=True))
            except RuntimeError as error:
                LOG.append(type(error))
        LOG.append(d2s.grad(second.sum(), [x], retain_graph=True))
    """),
    "what one way writes to a tensor that was written by a view, another way returns": ("""
        v = c.reshape([2, 2])
        v.add_(v * 0.3)
        if n > 1:
            return b, c, [1], (c * c).sum() + a.sum()
        c[1:].scale_(1.3)
        c.register_hook(record("c", plus))
        return b, c, handles, (c * c).sum() + a.sum()
    """, "loss.backward(retain_graph=True)"),
}


@pytest.mark.parametrize("kind", ["tensor", "python"])
@pytest.mark.parametrize("name", FOUND)
def test_found(name, kind):
    body, after = (textwrap.dedent(part).strip().splitlines() for part in FOUND[name])
    assert check(hooked_programs.text_of(body, after), kind) == len(STEPS)
