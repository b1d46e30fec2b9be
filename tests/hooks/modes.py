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

# Situations that static mode does not answer rightly yet: row -> reason.  They are expected to fail.
STATIC_NOT_YET: dict[str, str] = {}

# Rows of the contract that have no situation here, with the reason.
LEFT_OUT: dict[str, str] = {
    "N01_True": "there is no recompute",
    "N02_True": "there is no recompute",
    "N03_True": "there is no recompute",
    "N01_False": "there is no recompute",
    "N02_False": "there is no recompute",
    "N03_False": "there is no recompute",
    "Q03": "attributes that a hook sets on a gradient: the contract leaves it open",
    "Q07": "there are no sparse gradients: an embedding has a dense one",
}
