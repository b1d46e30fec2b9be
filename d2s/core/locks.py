"""What a forked process needs, whatever other threads did when it was forked: locks that are free, whole modules."""

from __future__ import annotations

import functools
import importlib
import os
import sys
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


def free_in_forks(*classes: type) -> None:
    """Let cached properties of these classes be computed in a forked process, whoever computed one when it was forked.

    Under Python 3.11 each has a lock.
    """
    for cls in classes:
        for member in vars(cls).values():
            if isinstance(member, functools.cached_property) and hasattr(member, "lock"):
                _known(member.lock)


def _known(lock: Any) -> Any:
    _locks.add(lock)
    return lock


def _free_all() -> None:
    # The thread that held one goes on in the parent only.
    for lock in _locks:
        lock._at_fork_reinit()


def _wait_for_imports() -> None:
    # Python has a lock for each module that is being imported, and the thread that would release it goes on in the
    # parent only.  To import it here waits for that thread, or does nothing if it is this one.
    for name, module in list(sys.modules.items()):
        if name.startswith("d2s.") and getattr(getattr(module, "__spec__", None), "_initializing", False):
            importlib.import_module(name)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_free_all)
