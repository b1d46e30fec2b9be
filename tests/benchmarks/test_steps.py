"""The steps that are timed do the same in both modes, and are one function."""

from __future__ import annotations

import pytest

import d2s
from benchmarks.steps import STEPS


@pytest.mark.parametrize("make", STEPS, ids=lambda make: make.__name__)
def test_static_is_eager(make):
    def losses(mode):
        d2s.seed(0)
        step = mode(make())
        found = [step(d2s.randn([8, 16])) for _ in range(3)]
        found = [result[0] if isinstance(result, tuple) else result for result in found]
        return step, [None if loss is None else loss.numpy().tobytes() for loss in found]

    static, eager = losses(d2s.jit.to_static), losses(lambda step: step)
    assert static[1] == eager[1]
    assert static[0].concrete_program.traced.compiled.step is not None
