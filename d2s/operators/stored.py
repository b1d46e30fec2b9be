"""What a trace knows of the places of older objects in which it has stored things."""

from __future__ import annotations

from types import CellType
from typing import Any


class Stored:
    """In place of a whole object among what only the run knows: all that has changed is what the trace has stored.

    Attributes
    ----------
    target : list or dict
    keys : tuple
        Where, in order of the first time; what is there is among the things pending.
    """

    __slots__ = ("keys", "target")

    def __init__(self, target: Any, keys: tuple[Any, ...]) -> None:
        self.target = target
        self.keys = keys

    def agrees(self, other: Any) -> bool:
        """True if the two say the same."""
        return isinstance(other, Stored) and self.keys == other.keys


class Held:
    """In place of what is pending at a place: a variable of the trace has it, which loops carry."""

    __slots__ = ("cell",)

    def __init__(self, value: Any) -> None:
        self.cell = CellType(value)


def content_at(entry: tuple[Any, Any]) -> Any:
    """The value of an entry of what is pending."""
    return entry[0].cell.cell_contents if isinstance(entry[0], Held) else entry[0]


def as_whole(entry: Any) -> Any:
    """An entry of what only the run knows that leaves everything open."""
    return entry.target if isinstance(entry, Stored) else entry


def joined(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """What only the run knows behind two paths."""
    found = {}
    for key, entry in {**first, **second}.items():
        is_same = isinstance(entry, Stored) and entry.agrees(first.get(key)) and entry.agrees(second.get(key))
        found[key] = entry if is_same else as_whole(entry)
    return found
