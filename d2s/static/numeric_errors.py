"""NumPy's error state while a Program runs: ops are silent, the user's own code sees what the user has set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from d2s.core.modes import error_states


class Callers(threading.local):
    """Per thread: the error states of the callers of the Programs that run, in `stack`, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


callers = Callers()


class Silent:
    """``with SILENT:`` inf and nan are computed without warning, as tensor libraries do."""

    __slots__ = ()

    def __enter__(self) -> None:
        state = error_states.get()
        callers.stack.append(state)
        error_states.set(error_states.silent(state))

    def __exit__(self, *_: object) -> None:
        error_states.set(callers.stack.pop())


SILENT = Silent()


def outside(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the user's code from a Program under the user's error state; what it sets there stays set."""
    if not callers.stack:
        return function(*args, **kwargs)
    silent = error_states.get()
    error_states.set(callers.stack[-1])
    try:
        return function(*args, **kwargs)
    finally:
        callers.stack[-1] = error_states.get()
        error_states.set(silent)
