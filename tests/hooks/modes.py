"""The modes in which the situations run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.jit import to_static


def eager(function: Any) -> Any:
    """The function itself."""
    return function


# name -> decorator of the functions inside the situations
MODES: dict[str, Callable[[Any], Any]] = {"eager": eager, "static": to_static}
