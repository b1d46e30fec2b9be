"""Generators of paths that a trace gives up: how they end belongs to no path; Python may free them at any time."""

from __future__ import annotations

import weakref
from contextlib import suppress
from types import GeneratorType
from typing import Any


class PathGivenUp(BaseException):
    """Code of a path that is given up would record something."""


class Generators:
    """Those that the code traced by one tracer has made."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[GeneratorType[Any, Any, Any]]] = []
        self._are_ending = False

    def note(self, thing: Any) -> Any:
        """`thing`, what the traced code has made."""
        if isinstance(thing, GeneratorType):
            self._made.append(weakref.ref(thing))
        return thing

    def end(self) -> None:
        """End those that are left, without a trace of what they do then."""
        left = [generator for reference in self._made if (generator := reference()) is not None]
        self._made.clear()
        self._are_ending = True
        try:
            for generator in left:
                with suppress(BaseException):
                    generator.close()
        finally:
            self._are_ending = False

    def check_not_ending(self) -> None:
        """Raise if code of a path that is given up records something."""
        if self._are_ending:
            raise PathGivenUp
