"""Tests that run in eager and in static mode: the parameter, leaves, and hooks that record what they get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import d2s

MODES: dict[str, Callable[[Any], Any]] = {"eager": lambda function: function, "static": d2s.to_static}
both_modes = pytest.mark.parametrize("convert", MODES.values(), ids=MODES)


def leaf(*values: float) -> Any:
    """A leaf that requires a gradient."""
    return d2s.to_tensor(list(values), stop_gradient=False)


def recorder(log: list[Any], name: str) -> Callable[[Any], Any]:
    """A hook that logs its name and the gradient, and gives another one that is no multiple of it."""

    def hook(g: Any) -> Any:
        log.append((name, g.tolist()))
        return g * g + 1

    return hook
