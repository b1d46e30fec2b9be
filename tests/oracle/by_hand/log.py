"""What the programs log: names, and values as rounded lists, the same for every library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Log(list[list[Any]]):
    """Called with a name and values, it takes note of them."""

    def __call__(self, name: Any, *values: Any) -> None:
        self.append([name if isinstance(name, str) else shown(name), *[shown(value) for value in values]])


def shown(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
    return float(f"{value:.7g}") if isinstance(value, int | float) else type(value).__name__


def rec(log: Log, name: str, change: Callable[[Any], Any] = lambda g: None) -> Callable[[Any], Any]:
    """A hook that logs what it sees, and gives `change(g)`."""

    def hook(g: Any) -> Any:
        log(name, g)
        return change(g)

    return hook
