"""Tensors that turns and branches show, and write to by way of others: who has one sees the same in both modes."""

from __future__ import annotations

import types

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import d2s
from d2s.testing.generated import load
from tests.modes import shown_programs
from tests.modes.harness import Names, Seen, collected, differentiate, plain
from tests.modes.test_generated import relaxed
from tests.modes.test_wide import REFUSALS

# What only eager mode does, where nobody knows any more how a tensor shares its values.
UNKNOWN_SHARING = "G17"


def observe(made, stops, kind, is_static):
    """What can be seen of four calls, behind each, and behind a write by the caller to what was shown first."""
    function, log = made
    if is_static:
        function = d2s.to_static(function)
    log.clear()
    state, seen = types.SimpleNamespace(kept=None, box={}), Seen()
    for call, turns in enumerate((1, 3, 0, 2)):
        x = d2s.to_tensor([0.7, 1.1, -0.4], stop_gradient=stops)
        given_x = x * 1 if call % 2 else x
        args = (given_x, d2s.to_tensor(turns) if kind == "tensor" else turns)
        with collected(seen, args) as entry:
            result = function(state, *args)
            entry["result"] = plain(result, Names(args))
            differentiate([result], 1)
        seen.calls[-1]["shown"] = plain([x, x.grad, log, state.kept, state.box], Names(args))
        if call % 2 and log:
            with collected(seen, args) as entry, d2s.no_grad():
                log[0].add_(1.0)
                entry["shown"] = plain([x, log, state.kept, state.box], Names(args))
    return seen.calls


def check(text, stops, kind):
    """Compare calls until static mode refuses one; how many were equal."""
    compared = 0
    expected, got = (observe(load(text)(), stops, kind, is_static) for is_static in (False, True))
    for eager, static in zip(expected, got, strict=True):
        raised, message = static.get("error", (None, ""))[:2]
        is_refused = raised in REFUSALS or (raised is d2s.errors.GradientError and UNKNOWN_SHARING in message)
        if is_refused and raised is not eager.get("error", (None,))[0]:
            # Nothing is promised of what follows: the two have done other things.
            break
        assert static == eager
        compared += 1
    return compared


@relaxed
@given(choices=st.randoms(use_true_random=False), stops=st.booleans(), kind=st.sampled_from(["tensor", "python"]))
def test_static_is_eager_or_refused(choices, stops, kind):
    text = shown_programs.program(choices)
    note(text)
    check(text, stops, kind)


FOUND = {
    "a detached tensor of each turn, shown before the write": """
    for t in range(n):
        LOG.append(x.detach())
        x.add_(x.detach() * 0.3)
    u = x * 1
""",
    "a part of a detached tensor, written and then shown": """
    for t in range(n):
        w = x[0:2].detach()
        w.add_(w * 0.3)
        LOG.append(w)
    u = x * 1
""",
    "the gradient reads what was written by way of a detached tensor in a branch": """
    u = x * 0.7
    LOG.append(u.detach())
    w = u.detach()
    if x.sum() < 5:
        w.detach().add_(w.detach() * 0.1)
""",
    "a leaf written without gradients in turns is still one": """
    for t in range(n):
        with d2s.no_grad():
            x.scale_(1.3)
    x.add_(x * 0.3)
    u = x * 1
""",
    "what has noted a tensor does not keep it": """
    u = x * 1.5
    x = x * 1
    for t in range(n):
        x[0] = x[1] * 0.5
        if x.sum() > 0:
            s.kept = x
        s.box["k"] = x
        if x.sum() > 0:
            break
        s.box["k"] = u
""",
    "a leaf made inside, too": """
    u = d2s.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    for t in range(n):
        with d2s.no_grad():
            u[0:1].add_(x[1:2])
        u[1:].scale_(2.0)
""",
}


# Refused where the number of turns is a tensor: an attribute holds what some turns have shown.
OF_PYTHON_NUMBERS = ("what has noted a tensor does not keep it",)


@pytest.mark.parametrize("kind", ["tensor", "python"])
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("name", FOUND)
def test_found(name, stops, kind):
    function = f"def g(s, x, n):{FOUND[name]}    return u.sum() + (x * u).sum()\n"
    compared = check(f"import d2s\nLOG = []\n{function}def f():\n    return g, LOG\n", stops, kind)
    assert (compared > 0) is (kind == "python" or name not in OF_PYTHON_NUMBERS)
