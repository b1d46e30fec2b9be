"""Where the programs write what is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# (kind, name, values): kind "hook" for a call of a hook, "show" for what the program shows.
LOG: list[tuple[str, str, Any]] = []


def record(name: str, change: Callable[[Any], Any] = lambda g: None) -> Callable[[Any], Any]:
    """A hook that logs what it sees and replaces the gradient by `change(g)`."""

    def hook(g: Any) -> Any:
        LOG.append(("hook", name, g.tolist()))
        return change(g)

    return hook


def note(name: str) -> Callable[[], None]:
    """A reduce hook that logs its name."""

    def hook() -> None:
        LOG.append(("hook", name, []))

    return hook


def show(name: str, tensor: Any) -> None:
    """Log the values of a tensor, or that there is none."""
    LOG.append(("show", name, None if tensor is None else tensor.tolist()))
