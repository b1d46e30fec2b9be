"""Watch gradient hooks: when they are registered, and each call with what it was given and what it gave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from d2s.core.hooks import name_of, watching
from d2s.eager.tensor import Tensor
from d2s.errors import Location, user_location


@dataclass(frozen=True)
class HookCall:
    """
    One call of a gradient hook, or of a hook that runs when a leaf is complete (then both arrays are None).

    Attributes
    ----------
    name : str
        Of the function, with its place.
    defined, registered : Location or None
        The user's lines; `registered` is None if that was before anybody watched.
    given, result : ndarray or None
        The gradient before and after; `result` is None too if the hook gave None.
    code : code object or None
        Of the function: two hooks of one line have the same name.
    """

    name: str
    defined: Location | None
    registered: Location | None
    given: np.ndarray[Any, Any] | None
    result: np.ndarray[Any, Any] | None
    code: CodeType | None = None

    @property
    def column(self) -> int | None:
        """The column of the line, from 0, at which the text of the function's result begins."""
        positions = () if self.code is None else self.code.co_positions()
        return min((column for *_, column, _ in positions if column), default=None)

    @property
    def place(self) -> Location | None:
        """Where it was registered, or else where the function is."""
        return self.registered or self.defined


@contextmanager
def watched_hooks(note: Callable[[HookCall], None], apply: bool = True) -> Iterator[None]:
    """Call `note` after every call of a hook in this thread; without `apply`, what hooks return is not used."""
    registered: dict[int, tuple[Any, Location | None]] = {}

    def on_register(hook: Callable[..., Any]) -> None:
        registered[id(hook)] = hook, user_location(sys._getframe(1))

    def on_call(hook: Callable[..., Any], *gradient: Tensor) -> Any:
        given = gradient[0].data if gradient else None
        result = hook(*gradient)
        after = result.data if gradient and isinstance(result, Tensor) else None
        code = getattr(hook, "__code__", None)
        defined = None if code is None else Location(code.co_filename, code.co_firstlineno)
        place = registered.get(id(hook), (None, None))[1]
        note(HookCall(name_of(hook), defined, place, given, after, code))
        return result if apply else None

    before = watching.registers, watching.calls
    watching.registers, watching.calls = on_register, on_call
    try:
        yield
    finally:
        watching.registers, watching.calls = before
