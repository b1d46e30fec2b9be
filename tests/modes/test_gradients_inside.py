"""Functions that ask for gradients on their way do the same in both modes: as operators, and by the walk of a run."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

import d2s
from tests.modes import gradient_programs
from tests.modes.harness import observe
from tests.modes.programs import load
from tests.modes.test_generated import calls, relaxed
from tests.modes.test_wide import REFUSALS


@relaxed
@given(choices=st.randoms(use_true_random=False), inside=st.booleans(), kind=st.sampled_from(["tensor", "python"]))
def test_static_is_eager_or_refused(choices, inside, kind):
    text = gradient_programs.program(choices, inside)
    note(text)
    eager = observe(load(text), calls(kind), together=False, backwards=1)
    static = observe(d2s.to_static(load(text)), calls(kind), together=False, backwards=1)
    for expected, got in zip(eager.calls, static.calls, strict=True):
        if got.get("error", (None,))[0] in REFUSALS:
            # Nothing is promised of what follows: the two have done other things.
            return
        assert got == expected
