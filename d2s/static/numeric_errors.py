"""NumPy's error state while a Program runs: ops are silent, the user's own code sees what the user has set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np


class _UserStates(threading.local):
    """Per thread: the error states of the callers of the Programs that run, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


_users = _UserStates()


class Silent:
    """``with Silent():`` inf and nan are computed without warning, as tensor libraries do."""

    __slots__ = ()

    def __enter__(self) -> None:
        _users.stack.append(np.seterr(all="ignore"))

    def __exit__(self, *_: object) -> None:
        np.seterr(**_users.stack.pop())


def outside(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the user's code from a Program under the user's error state; what it sets there stays set."""
    if not _users.stack:
        return function(*args, **kwargs)
    silent = np.seterr(**_users.stack[-1])
    try:
        return function(*args, **kwargs)
    finally:
        _users.stack[-1] = np.seterr(**silent)
