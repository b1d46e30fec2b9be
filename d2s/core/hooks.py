"""Gradient hooks: a property of a value, applied once, to the complete gradient of that value."""

from __future__ import annotations

import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from d2s.core import interpreter
from d2s.core.interpreter import TensorBase
from d2s.errors import DTypeError, HookError

# Hooks added during a pass run in that pass: one that adds a hook on every call would never end.
MAX_HOOKS_ADDED_IN_ONE_PASS = 1000

_ids = itertools.count()


class _Watching(threading.local):
    """Who sees the hooks of this thread; None: nobody.

    Attributes
    ----------
    registers : callable or None
        ``registers(hook)`` is told of each registration.
    calls : callable or None
        ``calls(hook, *arguments)`` calls each hook, and returns what it returned.
    """

    registers: Callable[[Callable[..., Any]], None] | None = None
    calls: Callable[..., Any] | None = None


watching = _Watching()


class RemovableHandle:
    """What `register_hook` returns: removes exactly the hook it was returned for.

    It remembers the value (tensor version) and the id, so it never removes another hook; ids are not used again.
    """

    __slots__ = ("__weakref__", "_hooks", "hook_id")

    def __init__(self, hooks: dict[int, Any], hook_id: int) -> None:
        self._hooks = hooks
        self.hook_id = hook_id

    def remove(self) -> bool:
        """Remove the hook.  True if it was there; else False, with a RuntimeWarning."""
        if self._hooks.pop(self.hook_id, None) is not None:
            return True
        warnings.warn(
            f"the hook (ID: {self.hook_id}) you want to remove does not exist or has been removed",
            RuntimeWarning,
            stacklevel=2,
        )
        return False


class HookList:
    """Gradient hooks of one tensor version, in order of registration.

    Each hook receives the complete gradient and may return a new one; returning None keeps it.  The list is read
    while backward runs, by ascending id: a hook removed during the pass does not run, one added during it does.

    Attributes
    ----------
    hooks : dict of int to callable
    keep : callable or None
        Gets what all hooks have made of the gradient.
    """

    __slots__ = ("first", "hooks", "keep")

    def __init__(self) -> None:
        # Id of the hook that was registered first; of a list without any, larger than all.
        self.first: float = math.inf
        self.hooks: dict[int, Callable[..., Any]] = {}
        self.keep: Callable[[Any], None] | None = None

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register `hook`; raises DTypeError (a TypeError) if it cannot be called."""
        if not callable(hook):
            raise DTypeError(f"a gradient hook must be callable, got {type(hook).__name__}")
        hook_id = next(_ids)
        if not self.hooks:
            self.first = min(self.first, hook_id)
        self.hooks[hook_id] = hook
        if watching.registers is not None:
            watching.registers(hook)
        return RemovableHandle(self.hooks, hook_id)

    def __bool__(self) -> bool:
        """True if there is something to call."""
        return bool(self.hooks) or self.keep is not None

    def live(self) -> Iterator[Callable[..., Any]]:
        """The hooks by ascending id, as the list is when each one is reached."""
        hooks = self.hooks
        pending, added = list(hooks), 0
        while pending:
            for hook_id in pending:
                hook = hooks.get(hook_id)
                if hook is not None:
                    yield hook
            last = pending[-1]
            if next(reversed(hooks), last) <= last:
                return
            pending, added = self._later(last, added)

    def _later(self, last: int, added: int) -> tuple[list[int], int]:
        """Ids of hooks that were added while those up to `last` ran, and how many have been added in this pass."""
        found = [hook_id for hook_id in self.hooks if hook_id > last]
        added += len(found)
        if added > MAX_HOOKS_ADDED_IN_ONE_PASS:
            raise HookError(
                f"hooks have added more than {MAX_HOOKS_ADDED_IN_ONE_PASS} hooks to one tensor in one backward; "
                f"{name_of(self.hooks[last])} registers a new hook each time it runs",
                kind="H03",
            )
        return found, added

    def run(self, gradient: Any, own: Callable[[Any], Any] | None = None) -> Any:
        """Apply the hooks to `gradient` (a Tensor) and return the result.

        Parameters
        ----------
        gradient : Tensor
            The complete gradient, as a Tensor object that nobody else holds: a hook may write to it in place.
        own : callable, optional
            Makes such an object from what a hook returned, for the next hook.

        Raises
        ------
        TypeError
            If a hook returns something that is neither a Tensor nor None.
        HookError
            If a hook returns another shape or dtype, or hooks register hooks without end.
        """
        before = gradient.data
        for hook in self.live():
            result = hook(gradient) if watching.calls is None else watching.calls(hook, gradient)
            if result is None or result is gradient:
                if gradient.data is not before:
                    check_result(hook, before, gradient)
            else:
                check_result(hook, before, result)
                gradient = result if own is None else own(result)
        if self.keep is not None:
            self.keep(gradient)
        return gradient


def check_result(hook: Callable[..., Any], before: np.ndarray[Any, Any], after: Any) -> None:
    """Raise unless `after` can stand in for a gradient whose array was `before`."""
    if not isinstance(after, TensorBase):
        raise DTypeError(
            f"expected Tensor or None, but hook {name_of(hook)} returned {type(after).__name__!r}", kind="D05")
    array = interpreter.unwrap(after)
    if array is before:
        return
    if array.shape != before.shape:
        raise HookError(
            f"hook {name_of(hook)} has changed the shape of the gradient "
            f"from {list(before.shape)} to {list(array.shape)}",
            kind="H04",
        )
    if array.dtype != before.dtype:
        raise HookError(
            f"hook {name_of(hook)} has changed the dtype of the gradient "
            f"from {before.dtype.name} to {array.dtype.name}",
            kind="H04",
        )


def name_of(hook: Callable[..., Any]) -> str:
    """How messages name a hook."""
    name = getattr(hook, "__qualname__", None) or type(hook).__qualname__
    code = getattr(hook, "__code__", None)
    return f"'{name}'" if code is None else f"'{name}' ({code.co_filename}:{code.co_firstlineno})"
