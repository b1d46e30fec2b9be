"""Locks that are free in a forked process, whoever held them when it was forked."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock() -> Any:
    """A `threading.Lock`: in a forked process nobody holds it."""
    return _known(threading.Lock())


def new_reentrant_lock() -> Any:
    """A `threading.RLock`, likewise."""
    return _known(threading.RLock())


def _known(lock: Any) -> Any:
    _locks.add(lock)
    return lock


def _free_all() -> None:
    # The thread that held one goes on in the parent only.
    for lock in _locks:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
