"""A class that tells when one of its attributes is set or deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Called with the class and the name, once it has changed.
listeners: list[Callable[[type, str], None]] = []


class WatchedClass(type):
    """The class of such a class.

    ``isinstance`` of a class with a metaclass takes a little longer: code that runs for every op asks for a base
    without one.
    """

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        for listener in listeners:
            listener(cls, name)

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        for listener in listeners:
            listener(cls, name)
