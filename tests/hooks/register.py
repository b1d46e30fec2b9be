"""The table of situations, and the small vocabulary their programs are written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Program = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Situation:
    """A program ``program(paddle, to_static)`` that returns what it observed, and what it has to observe."""

    row: str
    program: Program
    expected: Any


SITUATIONS: dict[str, Situation] = {}


def situation(row: str, expected: Any) -> Callable[[Program], Program]:
    """Enter the decorated program under the number of its row."""

    def enter(program: Program) -> Program:
        assert row not in SITUATIONS, f"situation {row} is there already"
        SITUATIONS[row] = Situation(row, program, expected)
        return program

    return enter


def leaf(paddle: Any, *values: Any) -> Any:
    """A leaf that requires a gradient."""
    return paddle.to_tensor(list(values), dtype="float32", stop_gradient=False)


def val(tensor: Any) -> Any:
    """The values as lists, or None."""
    return None if tensor is None else tensor.numpy().tolist()


def recorder(log: list[Any], name: Any, change: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """A hook that logs (name, gradient), and returns what `change` makes of the gradient."""

    def record(g: Any) -> Any:
        log.append((name, val(g)))
        return None if change is None else change(g)

    return record


def named(log: list[Any], name: Any) -> Callable[[Any], Any]:
    """A hook that logs its name alone."""

    def record(g: Any) -> None:
        log.append(name)

    return record


def outcome(action: Callable[[], Any], text: str = "") -> str:
    """Name of the builtin class of the error that `action` raises, "no error" if none.

    The message must contain `text`, else all of it is given.
    """
    try:
        action()
    except BaseException as error:
        builtin = next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return builtin.__name__ if text in str(error) else f"{builtin.__name__}: {error}"
    return "no error"


def plus_one(g: Any) -> Any:
    return g + 1


def times_ten(g: Any) -> Any:
    return g * 10


def squared(g: Any) -> Any:
    return g * g
