"""Tensors under several names: contributions to their gradients are summed up in the order of eager mode."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

from tests.modes import named_programs
from tests.modes.harness import assert_same
from tests.modes.programs import load
from tests.modes.test_generated import calls, relaxed


@relaxed
@given(choices=st.randoms(use_true_random=False), kind=st.sampled_from(["tensor", "python"]))
def test_after_each_call(choices, kind):
    text = named_programs.program(choices)
    note(text)
    assert_same(lambda: load(text), calls(kind))


@relaxed
@given(choices=st.randoms(use_true_random=False), backwards=st.integers(1, 2))
def test_after_all_calls(choices, backwards):
    text = named_programs.program(choices)
    note(text)
    assert_same(lambda: load(text), calls("tensor"), together=True, backwards=backwards)
