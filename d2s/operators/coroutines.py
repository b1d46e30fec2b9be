"""``asyncio.run`` of a coroutine that traced code has made: it is traced to its end, if nothing in it has to wait."""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from d2s.errors import UnsupportedSyntaxError, user_location


def is_run(function: Any, args: tuple[Any, ...]) -> bool:
    """True for ``asyncio.run(coroutine)``."""
    is_runner = (function.__module__, function.__name__) == ("asyncio.runners", "run")
    return is_runner and len(args) == 1 and isinstance(args[0], CoroutineType)


def run(coroutine: CoroutineType[Any, Any, Any]) -> Any:
    """What a coroutine returns.

    Raises
    ------
    UnsupportedSyntaxError
        If it waits for something: an event loop has no place in a Program.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise refusal("a coroutine waits for something in a graph")


def refusal(what: str) -> UnsupportedSyntaxError:
    """The error for coroutines that the trace cannot run to their end."""
    return UnsupportedSyntaxError(
        what, user_location(), "Give the coroutine to asyncio.run(), and await only coroutines of your own in it; or "
        "keep the function eager with @d2s.jit.not_to_static.",
        kind="U27",
    )
