"""The mutable state that a piece of traced code can reach, so that a branch can be undone and compared.

Only objects made inside the trace are here: stores to older ones are effects and never happen while tracing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

from d2s.operators.iterators import progress_of
from d2s.operators.views import relatives
from d2s.static.runtime import MISSING
from d2s.static.variable import Variable

CONTAINERS = (list, dict, set, deque, bytearray)


def content_of(node: Any) -> Any:
    """A shallow copy of what a mutable object holds."""
    if isinstance(node, CellType):
        try:
            return node.cell_contents
        except ValueError:
            return MISSING
    if isinstance(node, Variable):
        return node.value
    if isinstance(node, CONTAINERS):
        return node.copy()
    return dict(node.__dict__)


def restore(node: Any, content: Any) -> None:
    """Put `content` back into a mutable object."""
    if isinstance(node, CellType):
        if content is MISSING:
            if content_of(node) is not MISSING:
                del node.cell_contents
        else:
            node.cell_contents = content
    elif isinstance(node, Variable):
        node.value = content
    elif isinstance(node, list | bytearray):
        node[:] = content
    elif isinstance(node, deque):
        node.clear()
        node.extend(content)
    elif isinstance(node, dict | set):
        node.clear()
        node.update(content)
    else:
        node.__dict__.clear()
        node.__dict__.update(content)


def is_same(node: Any, first: Any, second: Any) -> bool:
    """True if two contents hold the identical objects in the same places."""
    if first is second:
        return True
    if isinstance(node, CellType | Variable):
        return False
    if isinstance(node, dict) or not isinstance(node, CONTAINERS):
        return (
            list(first) == list(second)
            and all(first[key] is second[key] for key in first)
        )
    if isinstance(node, set):
        return {id(part) for part in first} == {id(part) for part in second}
    return len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))


class Heap:
    """A snapshot of all mutable objects that are reachable from `roots`; `names` has those of the cells among them."""

    def __init__(self, roots: Iterable[Any], is_outer: Callable[[Any], bool]) -> None:
        self.nodes: dict[int, Any] = {}
        self.contents: dict[int, Any] = {}
        self.names: dict[int, str] = {}
        self._iterators: list[tuple[Iterator[Any], Any]] = []
        self._is_outer = is_outer
        stack = list(roots)
        seen: set[int] = set()
        keep: list[Any] = []
        while stack:
            thing = stack.pop()
            if id(thing) in seen or thing is MISSING:
                continue
            seen.add(id(thing))
            keep.append(thing)
            if isinstance(thing, FunctionType):
                closure = thing.__closure__ or ()
                self.names.update(zip(map(id, closure), thing.__code__.co_freevars, strict=True))
                stack.extend(closure)
                stack.extend(thing.__defaults__ or ())
                stack.extend((thing.__kwdefaults__ or {}).values())
            elif isinstance(thing, MethodType):
                stack.extend((thing.__self__, thing.__func__))
            elif isinstance(thing, tuple | frozenset):
                stack.extend(thing)
            elif isinstance(thing, CellType) and is_outer(thing):
                continue
            elif isinstance(thing, Iterator) and not is_outer(thing):
                self._iterators.append((thing, progress_of(thing)))
            elif self._is_mutable(thing):
                self.nodes[id(thing)] = thing
                content = self.contents[id(thing)] = content_of(thing)
                if isinstance(thing, CellType):
                    stack.append(content)
                elif isinstance(thing, dict) or not isinstance(thing, (*CONTAINERS, Variable)):
                    stack.extend(content.values())
                elif isinstance(thing, Variable):
                    # A write to one is a write to those that share its values.
                    stack.extend(relatives(thing))
                elif not isinstance(thing, bytearray):
                    stack.extend(content)
        self._keep = keep

    def _is_mutable(self, thing: Any) -> bool:
        if isinstance(thing, CellType | Variable):
            return True
        if self._is_outer(thing) or isinstance(thing, type):
            return False
        if type(thing) in CONTAINERS:
            return True
        return hasattr(thing, "__dict__") and type(thing).__module__ not in ("builtins",) and _is_user_object(thing)

    def changes(self) -> dict[int, tuple[Any, Any]]:
        """Objects that hold something else now, by identity, with what they hold."""
        found = {}
        for key, node in self.nodes.items():
            now = content_of(node)
            if not is_same(node, self.contents[key], now):
                found[key] = (node, now)
        return found

    def restore(self) -> None:
        """Put everything back as it was."""
        for key, node in self.nodes.items():
            if not is_same(node, self.contents[key], content_of(node)):
                restore(node, self.contents[key])

    def is_advanced(self) -> bool:
        """True if an iterator has given items since: that cannot be undone."""
        return any(progress_of(iterator) != before for iterator, before in self._iterators)

    def holds(self, thing: Any) -> bool:
        """True if `thing` existed when the snapshot was taken."""
        return id(thing) in self.nodes


def _is_user_object(thing: Any) -> bool:
    """True for an instance with attributes that traced code may have made."""
    module = type(thing).__module__
    return not module.startswith("d2s.") and isinstance(getattr(thing, "__dict__", None), dict) and module != "types"
