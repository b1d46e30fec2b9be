"""Grad mode: whether ops of this thread record what backward needs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, overload

from d2s.core.interpreter import grad_enabled, set_grad_mode, state

P = ParamSpec("P")
R = TypeVar("R")


class GradMode:
    """A grad mode, for the body of a ``with`` statement or, as a decorator, for every call of a function.

    A decorated generator function has the mode while its own code runs, not while its caller's does.
    """

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
        enabled = self._enabled
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: P.args, **kwargs: P.kwargs) -> Any:
                return _drive(function(*args, **kwargs), enabled)

            return generate

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            before = state.grad_enabled
            try:
                state.grad_enabled = enabled
                return function(*args, **kwargs)
            finally:
                state.grad_enabled = before

        return call


def _drive(generator: Generator[Any, Any, Any], enabled: bool) -> Generator[Any, Any, Any]:
    """Pass everything between `generator` and its caller, with the grad mode switched at each crossing."""
    step: Callable[[], Any] = functools.partial(next, generator)
    while True:
        before = state.grad_enabled
        try:
            state.grad_enabled = enabled
            value = step()
        except StopIteration as stop:
            return stop.value
        finally:
            state.grad_enabled = before
        try:
            sent = yield value
        except BaseException as error:
            step = functools.partial(generator.throw, error)
        else:
            step = functools.partial(generator.send, sent)


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
