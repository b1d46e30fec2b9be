"""The modes in which the situations run, and the rows that are left out, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.jit import to_static


def eager(function: Any) -> Any:
    """The function itself."""
    return function


# name -> decorator of the functions inside the situations
MODES: dict[str, Callable[[Any], Any]] = {"eager": eager, "static": to_static}

# Rows of the contract that have no situation here, with the reason.
LEFT_OUT: dict[str, str] = {
    "Q03": "attributes that a hook sets on a gradient: the contract leaves it open",
    "Q07": "there are no sparse gradients: an embedding has a dense one",
}
