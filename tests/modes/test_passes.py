"""Every pass, left out or the only one: results, gradients and hook calls of random programs are those of eager mode.

Programs of one kind have branches, loops, hooks and effects on small vectors.  Those of the other have matrices, also
transposed and sliced ones, that are large enough for a sum to be rounded in another way if it is added up in another
order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings

import d2s
from d2s.static import passes
from d2s.static.passes import in_place, recompute
from d2s.static.passes.rewriting import Rewriter
from tests.corpus.register import number
from tests.modes import programs
from tests.modes.harness import Leaf, are_close, assert_same, observe
from tests.modes.test_generated import ARGUMENTS

EXACT = [*(name for name, _ in passes.PIPELINE), "in_place"]
REASSOCIATING = [name for name, _ in passes.REASSOCIATING]
# For each pass; the profile nightly tries 200 of each kind.
few = settings(
    max_examples=max(2, settings.default.max_examples // 10),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
vectors = [(Leaf(x), Leaf(y), number(c, "tensor"), n) for x, y, c, n in ARGUMENTS]


def matrices() -> list[tuple[Leaf, Leaf]]:
    draw = np.random.default_rng(3).standard_normal
    return [(Leaf(draw((9, 21)), dtype="float32"), Leaf(draw((21, 9)), dtype="float32")) for _ in range(2)]


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Leave out passes; the smallest arrays are worth what the others do."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passes, "disabled", set(names))
        patched.setattr(in_place, "SMALLEST", 1)
        patched.setattr(recompute, "SMALLEST", 1)
        yield


def assert_exact(text: str, calls: list[tuple[object, ...]], name: str, backwards: int) -> None:
    """The same in both modes, without the pass and with no other one."""
    note(text)
    for off in ([name], [other for other in EXACT if other != name], []):
        with without(*off):
            assert_same(lambda: programs.load(text), calls, backwards=backwards)


@pytest.mark.parametrize("name", EXACT)
class TestOnAndOff:
    @few
    @given(text=programs.functions(depth=1))
    def test_functions(self, name, text):
        assert_exact(text, vectors[:2], name, 1)

    @few
    @given(text=programs.steps())
    def test_steps(self, name, text):
        assert_exact(text, vectors[:2], name, 0)

    @few
    @given(text=programs.of_matrices())
    def test_matrices(self, name, text):
        assert_exact(text, matrices(), name, 0)


@pytest.mark.parametrize("name", REASSOCIATING)
@few
@given(text=programs.of_matrices())
def test_passes_that_add_in_another_order(name, text):
    """Alone: within their tolerance; hooks are called in the same order."""
    note(text)
    strategy = d2s.static.BuildStrategy(batch_products=True)
    eager = observe(programs.load(text), matrices(), False, 0)
    with without(*(other for other in REASSOCIATING if other != name)):
        static = observe(d2s.to_static(programs.load(text), build_strategy=strategy), matrices(), False, 0)
    for expected, got in zip(eager.calls, static.calls, strict=True):
        assert are_close(expected, got)


def test_a_pass_that_changes_values_is_found(monkeypatch):
    """The programs above would show it."""
    def forgetful(program, kept):
        def change(operator, rewriter):
            if operator.kind != "tanh":
                return operator
            rewriter.replace(operator.outputs[0], operator.inputs[0])
            return None

        return Rewriter(change).program(program)

    monkeypatch.setattr(passes, "PIPELINE", (*passes.PIPELINE, ("forgetful", forgetful)))

    @settings(few, phases=[Phase.generate], database=None, max_examples=30)
    @given(text=programs.of_matrices())
    def search(text):
        assert_exact(text, matrices(), "simplify", 0)

    with pytest.raises(AssertionError):
        search()
