"""Calls of traced code, for modules that `calls` is made of."""

from __future__ import annotations

from typing import Any


def late_call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call what may be code of the user, as a call in traced code does."""
    # It imports whoever imports this.
    from d2s.operators.calls import call

    return call(function, *args, **kwargs)
