"""Run code with static functions run eagerly, or as Programs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from d2s.errors import ArgumentError
from d2s.jit.function import static_mode


def both_modes(test: Callable[..., Any]) -> Callable[..., None]:
    """
    Decorator for a test, of `unittest` too: it runs twice, with static functions run eagerly and as Programs.

    In a `unittest.TestCase` each run is a subtest of its own; elsewhere the first that fails ends the test.

    Raises
    ------
    ArgumentError
        If it is given a class, whose tests it would hide.
    """
    if isinstance(test, type):
        raise ArgumentError(
            f"both_modes decorates a test, got the class {test.__qualname__}", advice="Decorate each of its tests.")

    @functools.wraps(test)
    def twice(*args: Any, **kwargs: Any) -> None:
        subtest = getattr(args[0], "subTest", None) if args else None
        for is_on in (False, True):
            with static_mode(is_on):
                if subtest is None:
                    test(*args, **kwargs)
                else:
                    with subtest(mode="static" if is_on else "eager"):
                        test(*args, **kwargs)

    return twice
