"""Exits that managers and ``finally`` clauses override, by errors that others swallow; see `leaving_programs`."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.modes import leaving_programs
from tests.modes.leaving_programs import calls, compare, compare_plain
from tests.modes.test_generated import relaxed


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_transpiled_programs_do_the_same(first):
    for seed in range(first, first + 20):
        compare_plain(leaving_programs.program(random.Random(seed)))


@relaxed
@given(choices=st.randoms(use_true_random=False), kind=st.sampled_from(["tensor", "python"]))
def test_static_is_eager_or_refused(choices, kind):
    text = leaving_programs.program(choices, depth=2)
    note(text)
    compare(text, kind)


WAYS_TO_CATCH = {
    "except": ("try:", "except Exception:\n        y = y * 7"),
    "bare except": ("try:", "except:\n        y = y * 7"),
    "finally": ("try:", "finally:\n        raise Wrong('instead')"),
    "manager": ("with Manager('swallows', 'm'):", ""),
    "another error": ("with Manager('replaces', 'm'):", ""),
    "suppress": ("with contextlib.suppress(Exception):", ""),
    "stack": ("with contextlib.ExitStack() as stack:\n        stack.callback(LOG.append, 1)", ""),
}


@pytest.mark.parametrize("kind", ["tensor", "python"])
@pytest.mark.parametrize("way", WAYS_TO_CATCH)
def test_no_handler_sees_a_refusal_in_a_branch(way, kind):
    begin, end = WAYS_TO_CATCH[way]
    text = leaving_programs.HEAD + f"""
def f(x, y, c, n):
    {begin}
        try:
            if not c > 0.5:
                return x * 0.5
        finally:
            LOG.append(y)
        for t in range(n):
            if c > 0 and n < 3:
                return 28.0
    {end}
    return y
"""
    message = compare(text, kind)
    assert message is None or "on one path" in message


def test_programs_are_left_in_all_ways():
    """Some of the programs return, raise, and go on behind a swallowed error: else the other tests would say little."""
    from tests.modes.harness import observe

    seen = set()
    for seed in range(40):
        function = leaving_programs.load(leaving_programs.program(random.Random(seed)))
        for entry in observe(function, calls("python"), False, 0).calls:
            seen.add("error" if "error" in entry else "result")
            seen.update("swallowed" for part in entry["log"][1] if "Wrong" in repr(part) and "error" not in entry)
    assert seen == {"error", "result", "swallowed"}
