"""What is switched for a while and then back: interpreter, grad mode, NumPy's error state; also after an interrupt.

A Ctrl-C may come between any two steps of Python, also in the `finally` that would switch back.  So the outermost calls
keep what was there before them, and put it back if anything but an ordinary exception comes out.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from d2s.core.interpreter import state


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
        # Without a function of Python in between, for states that were asked for before.
        self.silent = _SilentForms(umath._make_extobj).__getitem__


class _SilentForms(dict[Any, Any]):
    """The silent forms of states: programs ask for the same few all the time."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, state: Any) -> Any:
        if len(self) == _MAX_FORMS:
            self.clear()
        # From the current state: its buffer size and its callback stay.
        found = self[state] = self._make(all="ignore")
        return found


_MAX_FORMS = 8


def _error_states() -> ErrorStates:
    try:
        from numpy._core import umath

        states = FastStates(umath)
        states.silent(states.get())
    except (ImportError, AttributeError, TypeError):
        return PublicStates()
    return states


error_states = _error_states()


Modes = tuple[int, bool, Any]


def modes_now() -> Modes:
    """The modes of this thread."""
    return len(state.stack), state.grad_enabled, error_states.get()


def put_back(modes: Modes, error: BaseException) -> None:
    """Switch back to `modes` if `error` may have come up between any two steps; others have switched back already."""
    if isinstance(error, Exception) and not isinstance(error, MemoryError):
        return
    depth, grad_enabled, errors = modes
    del state.stack[depth:]
    state.current = state.stack[-1]
    state.grad_enabled = grad_enabled
    error_states.set(errors)
