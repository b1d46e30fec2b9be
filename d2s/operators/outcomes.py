"""How the paths through a region of user code end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from d2s.operators.heap import Fields
from d2s.operators.trace_state import TraceState
from d2s.static.program import Value
from d2s.static.variable import Variable


class CannotMerge(BaseException):
    """Two paths end in states that no single value describes; the text says which.  No handler of the user sees it.

    Attributes
    ----------
    name : str or None
        The variable that would have to be of several kinds.
    """

    def __init__(self, text: str, name: str | None = None) -> None:
        super().__init__(text)
        self.name = name


class Grown(CannotMerge):
    """A container holds other things on one path than on another: in a loop, what only the run knows.

    Attributes
    ----------
    thing : list, deque, dict or set
    """

    def __init__(self, thing: Any, text: str) -> None:
        super().__init__(text)
        self.thing = thing


def other_names(node: Any, first: Any, second: Any, where: str) -> str:
    """That a dict or object holds other keys or attributes in one state than in another, and which."""
    names = [*(key for key in first if key not in second), *(key for key in second if key not in first)]
    kind = "key" if isinstance(node, dict) else "attribute"
    thing = type(node.owner if isinstance(node, Fields) else node).__name__
    if not names:
        return f"a {thing} has its {kind}s in another order {where}"
    return f"a {thing} has the {kind} {names[0]!r} {where} only: give it a value of the same kind before"


class OnOnePath(CannotMerge):
    """A place of an object from outside is written on one path only.

    Attributes
    ----------
    place : tuple
    entry : tuple
        What is pending there on that path.
    """

    def __init__(self, place: tuple[int, str, Any], entry: tuple[Any, Any]) -> None:
        super().__init__(f"{place[2]} of an object from outside is written on one path only")
        self.place = place
        self.entry = entry


@dataclass
class Outcome:
    """How one path through a region ended.

    Attributes
    ----------
    result : object
        What the code returned.
    changes : dict
        Reachable objects that hold something else than before, by identity: (object, content).
    error : BaseException or None
        The exception that ended it.
    state : TraceState
        State of the tracer at the end.
    """

    result: Any
    changes: dict[int, tuple[Any, Any]]
    error: BaseException | None
    state: TraceState

    def value_of(self, variable: Variable) -> Value:
        """What `variable` names at the end of the path: it may have been written to there."""
        changed = self.changes.get(id(variable))
        if changed is not None:
            found: Value = changed[1]
            return found
        return next((value for known, value in self.state.canonical if known is variable), variable.value)


__all__ = ["CannotMerge", "Grown", "OnOnePath", "Outcome", "other_names"]
