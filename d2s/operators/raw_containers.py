"""What is in a container, whatever a class of the user makes of its methods."""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from d2s.operators.guards import lookup

# Classes of the user may have their own ways to look into a container: what a trace reads is what is in it.
_KINDS: tuple[Any, ...] = (list, tuple, dict, set, frozenset, deque)


def raw_kind(thing: Any, name: str) -> Any:
    """The built-in type of a container whose class defines this method anew; None for others."""
    if not isinstance(lookup(type(thing), name), FunctionType):
        return None
    return next((kind for kind in _KINDS if isinstance(thing, kind)), None)


def length_of(thing: Any) -> int:
    """How many things are in a container."""
    kind = raw_kind(thing, "__len__")
    return len(thing) if kind is None else kind.__len__(thing)


def parts_of(thing: Any) -> tuple[Any, ...]:
    """What is in a container; of a dict, its keys."""
    kind = raw_kind(thing, "__iter__")
    # Of an iterator, as `tuple` asks others how long they are.
    return tuple(iter(thing) if kind is None else kind.__iter__(thing))


def held_in(thing: Any) -> Iterable[Any]:
    """What is in a list, tuple, set, deque or dict, of a dict the values: nothing of the user's runs for it."""
    if isinstance(thing, dict):
        return dict.values(thing)
    kind = type(thing) if type(thing) in _KINDS else next(kind for kind in _KINDS if isinstance(thing, kind))
    found: Iterable[Any] = kind.__iter__(thing)
    return found


def with_parts(thing: Any, parts: list[Any]) -> Any:
    """A tuple, list or deque like `thing` with other parts."""
    if isinstance(thing, tuple):
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    return deque(parts, thing.maxlen) if isinstance(thing, deque) else like(thing, list, parts)


def holds_the_same(copied: Any, thing: Any) -> bool:
    """True if a copy of a list, tuple, deque or dict holds the very things that `thing` holds."""
    parts = parts_of(thing)
    if len(parts_of(copied)) != len(parts) or not all(map(operator.is_, parts_of(copied), parts)):
        return False
    if isinstance(thing, dict):
        return all(dict.__getitem__(copied, key) is dict.__getitem__(thing, key) for key in parts)
    return isinstance(thing, list | tuple | deque)


def like(thing: Any, kind: Any, parts: Any) -> Any:
    """A container of the class of `thing`, made without any code of the user."""
    if kind is dict:
        return with_items(_dict_class(thing).__new__(type(thing)), parts)
    made = kind.__new__(type(thing))
    (kind.extend if kind is list else kind.update)(made, parts)
    return made


def with_items(table: Any, items: dict[Any, Any]) -> Any:
    """The dict `table`, now with these items too: the method `update` of its class may add them up, as a Counter's."""
    _dict_class(table).update(table, items)
    return table


def _dict_class(thing: Any) -> type[dict[Any, Any]]:
    """The built-in class that keeps the order of a dict."""
    return OrderedDict if isinstance(thing, OrderedDict) else dict
