"""The mutable state that a piece of traced code can reach, so that a branch can be undone and compared.

Only objects made inside the trace are here: stores to older ones are effects and never happen while tracing.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from types import (
    BuiltinMethodType,
    CellType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from d2s.operators.choices import Origin, origins_of
from d2s.operators.converted import nested_in
from d2s.operators.iterators import progress_of
from d2s.operators.open_items import OpenItems
from d2s.operators.restarts import ArraysOfTheRun
from d2s.operators.sharing import is_given_up, relatives
from d2s.operators.turns import Turns
from d2s.static.runtime import MISSING
from d2s.static.variable import Variable

CONTAINERS = (list, dict, set, deque, bytearray)


class Fields:
    """The attributes of an object that is a container as well: what it holds in that quality."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner


def container_class(thing: Any) -> type | None:
    """The built-in container that an object is one of; its own methods may do something else."""
    return next((cls for cls in (OrderedDict, *CONTAINERS) if isinstance(thing, cls)), None)


def content_of(node: Any) -> Any:
    """A shallow copy of what a mutable object holds: a list or dict."""
    if isinstance(node, CellType):
        try:
            return node.cell_contents
        except ValueError:
            return MISSING
    if isinstance(node, Variable):
        return node.value
    if isinstance(node, np.ndarray):
        return node.tobytes() if node.dtype != object else node.tolist()
    if isinstance(node, dict):
        return dict(dict.items(node)) if not isinstance(node, OrderedDict) else dict(OrderedDict.items(node))
    if isinstance(node, CONTAINERS):
        cls = container_class(node)
        assert cls is not None
        return cls(cls.__iter__(node))  # type: ignore[attr-defined]
    return fields_of(node.owner if isinstance(node, Fields) else node)


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
    elif isinstance(node, CONTAINERS):
        cls: Any = container_class(node)
        cls.clear(node)
        (cls.extend if cls in (list, deque, bytearray) else cls.update)(node, content)
    else:
        _restore_fields(node.owner if isinstance(node, Fields) else node, content)


def write(node: Any, where: Any, part: Any) -> None:
    """Exchange one part of a mutable object: `where` is its index, key or name (of no account for a cell)."""
    if isinstance(node, CellType):
        restore(node, part)
    elif isinstance(node, CONTAINERS):
        cls: Any = container_class(node)
        cls.__setitem__(node, where, part)
    else:
        owner = node.owner if isinstance(node, Fields) else node
        _restore_fields(owner, {**fields_of(owner), where: part})


def part_of(node: Any, content: Any, where: Any) -> Any:
    """The part that `content`, which a mutable object holds, has at a place; see `write`."""
    return content if isinstance(node, CellType) else content[where]


def slots_of(cls: type) -> dict[str, Any]:
    """The descriptors of the slots that Python classes among `cls` and its bases have."""
    return {
        name: found
        for base in reversed(cls.__mro__) if "__slots__" in base.__dict__
        for name, found in base.__dict__.items() if isinstance(found, MemberDescriptorType)
    }


def dict_of(thing: Any) -> dict[str, Any] | None:
    """The dict of attributes of an object, whatever its class makes of names that are not there."""
    try:
        found = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def fields_of(thing: Any) -> dict[str, Any]:
    """What an object holds under names: in its dict and in its slots."""
    fields = dict(dict_of(thing) or ())
    for name, slot in slots_of(type(thing)).items():
        try:
            fields[name] = slot.__get__(thing)
        except AttributeError:
            continue
    return fields


def _restore_fields(thing: Any, content: dict[str, Any]) -> None:
    slots = slots_of(type(thing))
    for name, slot in slots.items():
        if name in content:
            slot.__set__(thing, content[name])
        elif name in fields_of(thing):
            slot.__delete__(thing)
    held = dict_of(thing)
    if held is not None:
        held.clear()
        held.update((name, part) for name, part in content.items() if name not in slots)


def is_same(node: Any, first: Any, second: Any) -> bool:
    """True if two contents hold the identical objects in the same places."""
    if first is second:
        return True
    if isinstance(node, CellType | Variable):
        return False
    if isinstance(node, np.ndarray):
        return bool(first == second)
    if isinstance(first, dict):
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
        self.nodes: dict[Any, Any] = {}
        self.contents: dict[Any, Any] = {}
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
                closure = _own_cells(thing)
                self.names.update((id(cell), name) for name, cell in closure)
                stack.extend(cell for _, cell in closure)
                stack.extend(thing.__defaults__ or ())
                stack.extend((thing.__kwdefaults__ or {}).values())
                if not is_outer(thing):
                    self._note(id(thing), thing, stack)
            elif isinstance(thing, MethodType):
                stack.extend((thing.__self__, thing.__func__))
            elif isinstance(thing, tuple | frozenset):
                stack.extend(thing)
            elif isinstance(thing, functools.partial):
                stack.extend((thing.func, thing.args, *thing.keywords.values()))
            elif isinstance(thing, BuiltinMethodType) and not isinstance(thing.__self__, ModuleType | type | None):
                stack.append(thing.__self__)
            elif isinstance(thing, Origin):
                stack.extend(_not_given_up(thing.members().values()))
            elif isinstance(thing, OpenItems):
                stack.extend(_not_given_up(thing.elements.tensors()))
            elif isinstance(thing, Turns):
                stack.extend(vars(thing).values())
            elif isinstance(thing, CellType) and is_outer(thing):
                continue
            elif isinstance(thing, Iterator) and not is_outer(thing) and not is_user_object(thing):
                self._iterators.append((thing, progress_of(thing)))
            elif self._is_mutable(thing):
                self._note(id(thing), thing, stack)
                if isinstance(thing, CONTAINERS) and type(thing) not in CONTAINERS and fields_of(thing):
                    self._note(("fields", id(thing)), Fields(thing), stack)
        self._keep = keep

    def _note(self, key: Any, node: Any, stack: list[Any]) -> None:
        """Take down what `node` holds; what is in it is to be looked at too."""
        self.nodes[key] = node
        content = self.contents[key] = content_of(node)
        if isinstance(node, CellType):
            stack.append(content)
        elif isinstance(node, Variable):
            # A write to one is a write to those that share its values, or may be the same.
            stack.extend((*_not_given_up(relatives(node)), *origins_of(node)))
        elif isinstance(content, dict):
            stack.extend(content.values())
        elif not isinstance(node, bytearray | np.ndarray):
            stack.extend(content)

    def _is_mutable(self, thing: Any) -> bool:
        if isinstance(thing, CellType | Variable):
            return True
        if self._is_outer(thing) or isinstance(thing, type):
            return False
        return isinstance(thing, (*CONTAINERS, np.ndarray)) or is_user_object(thing)

    def changes(self) -> dict[int, tuple[Any, Any]]:
        """Objects that hold something else now, by identity, with what they hold.

        Raises
        ------
        ArraysOfTheRun
            If an array was written: the trace cannot make one of two.
        """
        found = {}
        for key, node in self.nodes.items():
            now = content_of(node)
            if not is_same(node, self.contents[key], now):
                if isinstance(node, np.ndarray):
                    raise ArraysOfTheRun
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


def _not_given_up(variables: Iterable[Variable]) -> list[Variable]:
    """Without what another path has made: none can reach it here, and a snapshot that holds it would keep it in use."""
    return [variable for variable in variables if not is_given_up(variable)]


def _own_cells(function: FunctionType) -> list[tuple[str, CellType]]:
    """The variables around a function, by name, but for those of functions around the traced ones: they are older."""
    mark = nested_in(function)
    outside = () if mark is None else mark[0].__closure__ or ()
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return [(name, cell) for name, cell in cells if not any(cell is other for other in outside)]


def is_user_object(thing: Any) -> bool:
    """True for an instance with attributes that traced code may have made."""
    cls = type(thing)
    if cls is SimpleNamespace:
        return True
    if cls.__module__ in ("builtins", "types") or cls.__module__.startswith("d2s."):
        return False
    return dict_of(thing) is not None or bool(slots_of(cls))
