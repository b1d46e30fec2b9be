"""Where the programs register.

The name of a parameter says what it is given: `x`, `y`, `w` tensors that want gradients (of 3, 3 and no axes),
`c` a number and `n` an int - as 0-d tensors or as Python numbers, so each program runs on conditions that only the
run knows and on plain Python values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.modes.harness import LOG, Leaf

__all__ = ["LOG", "PROGRAMS", "Program", "made", "program", "record", "refused"]

NUMBERS = ((1.5, 2), (-0.5, 0), (0.0, 3), (3.0, 1), (-2.0, 5), (1.5, 2))


@dataclass(frozen=True)
class Program:
    """A function of the corpus: `make` gives it anew, with fresh closures and objects."""

    name: str
    make: Callable[[], Callable[..., Any]]
    is_refused: bool = False

    def calls(self, kind: str) -> list[tuple[Any, ...]]:
        """Arguments of the calls, numbers as tensors or as Python numbers."""
        shared = tensors()
        calls = []
        for turn, (c, n) in enumerate(NUMBERS):
            given = dict(shared if turn < 2 else tensors(turn), c=number(c, kind), n=number(n, kind))
            calls.append(tuple(given[name] for name in inspect.signature(self.make()).parameters))
        return calls


def tensors(turn: int = 0) -> dict[str, Any]:
    return {
        "x": Leaf([0.5 + turn, -1.5, 2.0]),
        "y": Leaf([3.0, 1.0 + turn, -0.5]),
        "w": Leaf(1.25 - turn),
    }


def number(value: float | int, kind: str) -> Any:
    return Leaf(value, True, "float32" if isinstance(value, float) else "int64") if kind == "tensor" else value


PROGRAMS: dict[str, Program] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function."""
    return _register(function, lambda: function)


def refused(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function that static mode refuses on tensors."""
    return _register(function, lambda: function, is_refused=True)


def made(factory: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Register a function that is made anew for each mode."""
    return _register(factory, factory)


def _register(
    named: Callable[..., Any], make: Callable[[], Callable[..., Any]], is_refused: bool = False
) -> Callable[..., Any]:
    name = f"{named.__module__.rpartition('.')[2]}.{named.__name__}"
    assert name not in PROGRAMS, name
    PROGRAMS[name] = Program(name, make, is_refused)
    return named


def record(name: str, change: Callable[[Any], Any] = lambda g: None) -> Callable[[Any], Any]:
    """A hook that logs what it sees and replaces the gradient by `change(g)`."""

    def hook(g: Any) -> Any:
        LOG.append((name, g.tolist()))
        return change(g)

    return hook
