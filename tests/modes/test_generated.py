"""Random programs with hooks do the same in both modes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from d2s.static import passes
from d2s.static.passes import in_place
from tests.corpus.register import number
from tests.modes import programs
from tests.modes.harness import Leaf, assert_same

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
ARGUMENTS = (
    ([0.31, -1.73, 0.57], [1.13, 0.29, -0.77], 0.7, 2),
    ([-0.91, 0.37, 1.21], [0.17, -0.63, 0.83], -0.3, 0),
    ([0.11, 0.53, -0.41], [-1.31, 0.71, 0.19], 0.2, 1),
    ([0.31, -1.73, 0.57], [1.13, 0.29, -0.77], -0.8, 3),
)


def calls(kind: str) -> list[tuple[object, ...]]:
    return [(Leaf(x), Leaf(y), number(c, kind), number(n, kind)) for x, y, c, n in ARGUMENTS]


@relaxed
@given(text=programs.functions(), kind=st.sampled_from(["tensor", "python"]))
def test_after_each_call(text, kind):
    note(text)
    assert_same(lambda: programs.load(text), calls(kind))


@relaxed
@given(text=programs.functions(depth=1), kind=st.sampled_from(["tensor", "python"]), backwards=st.integers(1, 2))
def test_after_all_calls(text, kind, backwards):
    note(text)
    assert_same(lambda: programs.load(text), calls(kind), together=True, backwards=backwards)


@relaxed
@given(text=programs.functions(depth=1), kind=st.sampled_from(["tensor", "python"]), y_changes=st.booleans())
def test_with_sizes_that_change(text, kind, y_changes):
    """What was traced for one size serves others; sizes of 1 are broadcast."""
    note(text)
    sizes = (3, 5, 2, 1, 4)
    steering = [(c, n) for _, _, c, n in ARGUMENTS]
    assert_same(lambda: programs.load(text), [
        (Leaf([0.3 * k - 0.7 for k in range(size)]), Leaf([0.9 - 0.2 * k for k in range(size if y_changes else 1)]),
         number(c, kind), number(n, kind))
        for size, (c, n) in zip(sizes, [*steering, steering[0]], strict=True)])


@relaxed
@given(text=programs.functions("try", depth=1), kind=st.sampled_from(["tensor", "python"]))
def test_with_exceptions(text, kind):
    note(text)
    assert_same(lambda: programs.load(text), calls(kind))


@relaxed
@given(text=programs.functions("hand on", "bound"), kind=st.sampled_from(["tensor", "python"]))
def test_values_handed_on_from_turn_to_turn(text, kind):
    """What is known to differ: a leaf that comes back under another name in a later turn is finished later."""
    note(text)
    assert_same(lambda: programs.load(text), calls(kind), exact=False)




@relaxed
@given(text=programs.steps(), kind=st.sampled_from(["tensor", "python"]), planned=st.booleans())
def test_whole_steps(text, kind, planned):
    """Backward inside of the function; with `planned`, also the smallest arrays are written into buffers."""
    note(text)
    with pytest.MonkeyPatch.context() as patched:
        if planned:
            patched.setattr(in_place, "SMALLEST", 1)
        assert_same(lambda: programs.load(text), calls(kind)[:2], backwards=0)


@relaxed
@given(text=programs.functions(depth=1), kind=st.sampled_from(["tensor", "python"]))
def test_with_buffers_for_the_smallest_arrays(text, kind):
    note(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(in_place, "SMALLEST", 1)
        assert_same(lambda: programs.load(text), calls(kind))


@relaxed
@given(text=programs.steps(), off=st.sets(st.sampled_from([name for name, _ in passes.PIPELINE]), min_size=1))
def test_any_passes_left_out(text, off):
    note(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passes, "disabled", off)
        assert_same(lambda: programs.load(text), calls("tensor")[:2], backwards=0)
