"""The arguments of a call, and what they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Arguments:
    """What a function is called with."""

    positional: tuple[Any, ...] = ()
    keyword: dict[str, Any] = field(default_factory=dict)

    def call(self, function: Callable[..., Any]) -> Any:
        """``function(*positional, **keyword)``."""
        return function(*self.positional, **self.keyword)

    def named(self, function: Callable[..., Any]) -> dict[str, Any]:
        """The arguments by the names of the parameters."""
        return dict(zip(self._names(function), self.positional, strict=True)) | self.keyword

    def _names(self, function: Callable[..., Any]) -> list[str]:
        parameters = parameters_of(function)
        free = [p.name for p in parameters
                if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in self.keyword]
        more = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        count = len(self.positional)
        return free[:count] + [
            f"argument {number + 1}" if more is None else f"{more}[{number - len(free)}]"
            for number in range(len(free), count)]

    def changed(self, change: Callable[[str, Any], Any], function: Callable[..., Any]) -> Arguments:
        """The same with what `change` makes of each name and value."""
        new = {name: change(name, value) for name, value in self.named(function).items()}
        keyword = {name: new.pop(name) for name in self.keyword}
        return Arguments(tuple(new.values()), keyword)


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function or of a Layer's forward; none if they cannot be known."""
    plain: Any = function.forward if hasattr(function, "forward") else function
    try:
        return list(inspect.signature(plain).parameters.values())
    except (TypeError, ValueError):
        return []
