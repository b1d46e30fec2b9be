"""Grad mode: whether ops of this thread record what backward needs."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar, overload

from d2s.autograd.decorated import in_mode
from d2s.core.interpreter import grad_enabled, set_grad_mode

P = ParamSpec("P")
R = TypeVar("R")


class GradMode:
    """A grad mode, for the body of a ``with`` statement or, as a decorator, for every call of a function.

    A decorated generator function has the mode while its own code runs, not while its caller's does.
    """

    # Also in traced code: what it changes is the mode of the trace.
    __d2s_acts_at_once__ = True

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(set_grad_mode(self._enabled))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        set_grad_mode(self._before.pop())

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        return in_mode(function, self._enabled)


@overload
def no_grad(function: None = None) -> GradMode: ...
@overload
def no_grad(function: Callable[P, R]) -> Callable[P, R]: ...
def no_grad(function: Callable[P, R] | None = None) -> GradMode | Callable[P, R]:
    """Record nothing: results have ``stop_gradient=True``.

    Use it as ``with no_grad():``, or to decorate a function, with or without parentheses.
    """
    mode = GradMode(False)
    return mode if function is None else mode(function)


@overload
def enable_grad(function: None = None) -> GradMode: ...
@overload
def enable_grad(function: Callable[P, R]) -> Callable[P, R]: ...
def enable_grad(function: Callable[P, R] | None = None) -> GradMode | Callable[P, R]:
    """Record again, inside `no_grad` or inside a gradient hook.

    Use it as ``with enable_grad():``, or to decorate a function, with or without parentheses.
    """
    mode = GradMode(True)
    return mode if function is None else mode(function)


class set_grad_enabled(GradMode):
    """Switch grad mode from here on; as a context manager, until the end of the ``with`` statement.

    Parameters
    ----------
    mode : bool
        True to record.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self._outside = set_grad_mode(self._enabled)

    def __enter__(self) -> None:
        self._before.append(self._outside)
        set_grad_mode(self._enabled)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        set_grad_mode(self._outside)
        return super().__call__(function)


def is_grad_enabled() -> bool:
    """True if ops of this thread record what backward needs."""
    return grad_enabled()
