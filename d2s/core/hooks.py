"""Gradient hooks: a property of a value, applied once, to the complete gradient of that value."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

from d2s.core import interpreter
from d2s.core.interpreter import TensorBase
from d2s.errors import HookError

# A hook that registers itself again on every call would never end.
MAX_CALLS_IN_ONE_PASS = 1000

_ids = itertools.count()


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
    """

    __slots__ = ("hooks",)

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}

    def add(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Register `hook`; raises TypeError if it cannot be called."""
        if not callable(hook):
            raise TypeError(f"a gradient hook must be callable, got {type(hook).__name__}")
        hook_id = next(_ids)
        self.hooks[hook_id] = hook
        return RemovableHandle(self.hooks, hook_id)

    def __len__(self) -> int:
        return len(self.hooks)

    def run(self, gradient: Any) -> Any:
        """Apply the hooks to `gradient` (a Tensor) and return the result.

        Raises
        ------
        TypeError
            If a hook returns something that is neither a Tensor nor None.
        HookError
            If a hook returns another shape or dtype, or hooks register hooks without end.
        """
        last, calls = -1, 0
        while True:
            hook_id = next((key for key in self.hooks if key > last), None)
            if hook_id is None:
                return gradient
            last = hook_id
            hook = self.hooks[hook_id]
            calls += 1
            if calls > MAX_CALLS_IN_ONE_PASS:
                raise HookError(
                    f"more than {MAX_CALLS_IN_ONE_PASS} hook calls on one tensor in one backward; "
                    f"{name_of(hook)} registers a new hook each time it runs"
                )
            result = hook(gradient)
            if result is not None and result is not gradient:
                gradient = checked(hook, gradient, result)


def checked(hook: Callable[..., Any], before: Any, after: Any) -> Any:
    """`after` if it can stand in for the gradient `before`."""
    if not isinstance(after, TensorBase):
        raise TypeError(
            f"expected Tensor or None, but hook {name_of(hook)} returned {type(after).__name__!r}"
        )
    old, new = interpreter.unwrap(before), interpreter.unwrap(after)
    if old.shape != new.shape:
        raise HookError(
            f"hook {name_of(hook)} has changed the shape of the gradient from {list(old.shape)} to {list(new.shape)}"
        )
    if old.dtype != new.dtype:
        raise HookError(
            f"hook {name_of(hook)} has changed the dtype of the gradient from {old.dtype.name} to {new.dtype.name}"
        )
    return after


def name_of(hook: Callable[..., Any]) -> str:
    """How messages name a hook."""
    name = getattr(hook, "__qualname__", None) or type(hook).__qualname__
    code = getattr(hook, "__code__", None)
    return f"'{name}'" if code is None else f"'{name}' ({code.co_filename}:{code.co_firstlineno})"
