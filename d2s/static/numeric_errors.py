"""NumPy's error state while a Program runs: ops are silent, the user's own code sees what the user has set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class ErrorStates(Protocol):
    """Reads and sets NumPy's error state of this thread and context."""

    def get(self) -> Any: ...

    def set(self, state: Any) -> Any: ...

    def silent(self, state: Any) -> Any:
        """`state` with all errors ignored."""


class PublicStates:
    """By the public functions, which take a microsecond each."""

    def get(self) -> Any:
        return np.geterr()

    def set(self, state: Any) -> Any:
        np.seterr(**state)

    def silent(self, state: Any) -> Any:
        return dict.fromkeys(state, "ignore")


class FastStates:
    """By the context variable behind them: twenty times faster."""

    def __init__(self, umath: Any) -> None:
        self.get = umath._extobj_contextvar.get
        self.set = umath._extobj_contextvar.set
        self._make = umath._make_extobj
        # The state that was asked for last and its silent form: programs ask for the same one all the time.
        self._last: tuple[Any, Any] = (None, None)

    def silent(self, state: Any) -> Any:
        known, found = self._last
        if known is not state:
            # From the current state: its buffer size and its callback stay.
            found = self._make(all="ignore")
            self._last = (state, found)
        return found


def _error_states() -> ErrorStates:
    try:
        from numpy._core import umath

        states = FastStates(umath)
        states.silent(states.get())
    except (ImportError, AttributeError, TypeError):
        return PublicStates()
    return states


_states = _error_states()


class _UserStates(threading.local):
    """Per thread: the error states of the callers of the Programs that run, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


_users = _UserStates()


class Silent:
    """``with SILENT:`` inf and nan are computed without warning, as tensor libraries do."""

    __slots__ = ()

    def __enter__(self) -> None:
        state = _states.get()
        _users.stack.append(state)
        _states.set(_states.silent(state))

    def __exit__(self, *_: object) -> None:
        _states.set(_users.stack.pop())


SILENT = Silent()


def outside(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the user's code from a Program under the user's error state; what it sets there stays set."""
    if not _users.stack:
        return function(*args, **kwargs)
    silent = _states.get()
    _states.set(_users.stack[-1])
    try:
        return function(*args, **kwargs)
    finally:
        _users.stack[-1] = _states.get()
        _states.set(silent)
