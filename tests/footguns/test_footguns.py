"""Every footgun, in eager and in static mode; and tests of the test."""

from __future__ import annotations

import pytest

from tests.footguns import table
from tests.footguns.stage import FOOTGUNS, Footgun, assert_safe


@pytest.mark.parametrize("name", FOOTGUNS)
def test_same_in_both_modes_or_refused(name: str) -> None:
    assert_safe(FOOTGUNS[name])


def test_the_page_lists_what_is_refused() -> None:
    assert table.PAGE.read_text() == table.page(), "run python -m tests.footguns.table"


def _stale(stage):
    """A function that in static mode would have kept what it read first."""
    kept = []
    scale = [2.0]

    def f(z):
        if not kept:
            kept.append(scale[0])
        return z * (scale[0] if stage.static.__name__ == "<lambda>" else kept[0])

    for scale[0] in (2.0, 3.0):
        stage(f, 1.0)


def test_a_stale_value_is_noticed() -> None:
    with pytest.raises(AssertionError, match="entry 1"):
        assert_safe(Footgun(_stale))


def _harmless(stage):
    stage(stage.static(lambda z: z), 1.0)


def test_a_refusal_that_does_not_come_is_noticed() -> None:
    with pytest.raises(AssertionError, match="not refused"):
        assert_safe(Footgun(_harmless, reason="none"))
    with pytest.raises(AssertionError, match="not differ"):
        assert_safe(Footgun(_harmless, difference="none"))
