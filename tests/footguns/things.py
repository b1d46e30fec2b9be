"""What many scenarios use."""

from __future__ import annotations

from typing import Any

import d2s


def x(*data: float) -> Any:
    """A tensor that wants a gradient."""
    return d2s.to_tensor(list(data) or [0.5, -1.5, 2.0], stop_gradient=False)


def constant(*data: float) -> Any:
    """A tensor that wants none."""
    return d2s.to_tensor(list(data) or [1.0, 2.0, 3.0])


class Box:
    """An object with attributes."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)
