"""``full_graph=False``: calls that cannot become a graph run eagerly, and say so once for each place."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from d2s.core.spec import default_dtype
from d2s.errors import D2SError
from d2s.jit.entry import MISSED
from d2s.operators.guards import GuardSet

_told: set[tuple[str, int, str]] = set()


class EagerCall:
    """In the place of a Program: the function as it is, for arguments with which its trace came to a refusal.

    It holds as long as everything that the trace had read up to there.
    """

    def __init__(
        self, function: Callable[..., Any], signature: inspect.Signature, guards: GuardSet, grad_mode: bool
    ) -> None:
        self._function = function
        self._signature = signature
        self.grad_mode = grad_mode
        self.dtype = default_dtype()
        self._checks = (guards.live_check(grad_mode), guards.structural_check())
        self.guards = guards

    def matches(self, args: dict[str, Any]) -> bool:
        """True if a trace for these arguments would come to the same refusal."""
        return all(check(args) for check in self._checks)

    def enter(self, args: dict[str, Any]) -> Any:
        """Call the function; MISSED if it is not refused for these arguments."""
        return self.run(args) if self.matches(args) else MISSED

    def run(self, args: dict[str, Any]) -> Any:
        """Call the function."""
        call = inspect.BoundArguments(self._signature, args)
        return self._function(*call.args, **call.kwargs)


def tell(name: str, refusal: D2SError) -> None:
    """Warn that `name` runs eagerly, at the user's line and with the reason; once for each place."""
    place = refusal.location
    file, line = ("<unknown>", 0) if place is None else (place.file, place.line)
    key = file, line, refusal.message
    if key not in _told:
        _told.add(key)
        warnings.warn_explicit(
            f"{name} runs eagerly, because of line {line}: {refusal.message}", RuntimeWarning, file, line)
