"""NumPy's error state while a Program runs: ops are silent, the user's own code sees what the user has set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from d2s.core.modes import error_states


class _UserStates(threading.local):
    """Per thread: the error states of the callers of the Programs that run, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


_users = _UserStates()


class Silent:
    """``with SILENT:`` inf and nan are computed without warning, as tensor libraries do."""

    __slots__ = ()

    def __enter__(self) -> None:
        state = error_states.get()
        _users.stack.append(state)
        error_states.set(error_states.silent(state))

    def __exit__(self, *_: object) -> None:
        error_states.set(_users.stack.pop())


SILENT = Silent()


def callers() -> list[Any]:
    """The error states of the callers of the Programs that run in this thread."""
    return _users.stack


def outside(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the user's code from a Program under the user's error state; what it sets there stays set."""
    if not _users.stack:
        return function(*args, **kwargs)
    silent = error_states.get()
    error_states.set(_users.stack[-1])
    try:
        return function(*args, **kwargs)
    finally:
        _users.stack[-1] = error_states.get()
        error_states.set(silent)
