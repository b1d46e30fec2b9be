"""Which mode runs: functions of tests do another thing in static mode, as if it were at fault."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import pytest

from d2s.testing import same

# A module without a file is nothing that a comparison puts back.
now: Any = types.ModuleType("now")
now.static = False


@pytest.fixture(autouse=True)
def told_of_the_mode(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sets `now.static` in each run of a comparison."""
    run = same.Comparison.run

    def noting_the_mode(self: Any, mode: Any, *args: Any, **kwargs: Any) -> Any:
        now.static = mode.is_static
        return run(self, mode, *args, **kwargs)

    monkeypatch.setattr(same.Comparison, "run", noting_the_mode)
    yield
    now.static = False
