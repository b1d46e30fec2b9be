"""Every footgun, in eager and in static mode."""

from __future__ import annotations

import pytest

from tests.footguns import arguments, effects, hooks, layers, objects, reads, refusals, values  # noqa: F401
from tests.footguns.stage import FOOTGUNS, assert_safe


@pytest.mark.parametrize("name", FOOTGUNS)
def test_same_in_both_modes_or_refused(name: str) -> None:
    assert_safe(FOOTGUNS[name])
