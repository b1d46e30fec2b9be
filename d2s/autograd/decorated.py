"""Functions that have a grad mode of their own.

Traced code looks into these wrappers, so that the functions inside are traced too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from d2s.core.interpreter import GradModeBlock, driven_in_mode

P = ParamSpec("P")
R = TypeVar("R")


def in_mode(function: Callable[P, R], enabled: bool) -> Callable[P, R]:
    """`function`, with the grad mode while its code runs."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: P.args, **kwargs: P.kwargs) -> Any:
            return driven_in_mode(function(*args, **kwargs), enabled)

        return generate

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with GradModeBlock(enabled):
            return function(*args, **kwargs)

    return call
