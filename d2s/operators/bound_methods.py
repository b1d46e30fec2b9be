"""Methods of built-in types, of containers above all, that traced code calls."""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Iterator
from types import MethodType
from typing import Any

import numpy as np

from d2s.operators import asked_numbers, changed_lists, items, keys, open_lists, open_tables, users_code
from d2s.operators.equality import is_plain
from d2s.operators.libraries import (
    READERS,
    call_unknown,
    called,
    check_unwritten,
    if_known,
    run_later,
    run_over,
    seen,
    seen_named,
    traced,
)
from d2s.operators.native import tells_later
from d2s.operators.older_arrays import holds_older, holds_older_content, know
from d2s.operators.open_elements import open_up
from d2s.operators.open_functions import as_open_list
from d2s.operators.open_items import OPENED, is_open, is_open_table
from d2s.operators.open_lists import Parts
from d2s.operators.protocols import iterable_of
from d2s.operators.purity import EFFECTS_IN_PURE, PURE
from d2s.operators.raw_containers import raw_kind
from d2s.operators.sorting import in_order
from d2s.operators.special_methods import compares, order_key, search, text_later
from d2s.operators.surroundings import note_decimals
from d2s.operators.symbols import holds_objects, holds_tensors
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable

_GIVE_NOTHING = frozenset({
    "append", "extend", "insert", "remove", "clear", "sort", "reverse", "update", "add", "discard", "appendleft",
    "extendleft", "rotate", "move_to_end", "subtract", "__setitem__", "__delitem__", "difference_update",
    "intersection_update", "symmetric_difference_update",
})
# Methods of arrays that write to them.
_WRITE_TO_ARRAYS = frozenset({"fill", "put", "sort", "partition", "resize", "itemset", "setfield"})
# Methods that write to a bytearray, or to an array of the standard library.
_WRITE_TO_NUMBERS = frozenset({
    "append", "extend", "insert", "pop", "remove", "clear", "reverse", "byteswap", "frombytes", "fromfile", "fromlist",
    "fromunicode", "__setitem__", "__delitem__", "__iadd__", "__imul__"})
# Methods of containers that read all that another container holds.
_TAKE_WHOLE = frozenset({
    "extend", "extendleft", "update", "intersection_update", "difference_update", "symmetric_difference_update"})
# These too, and change nothing.
_COMPARE_WHOLE = frozenset({
    "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"})


# Those that are given the key, or the member, to change.
_CHANGE_BY_KEY = frozenset({"pop", "setdefault", "add", "discard", "remove", "__setitem__", "__delitem__"})

# Those that compare what the container holds.
_COMPARING = ("index", "count", "remove", "sort")


def call_bound(
    tracer: Tracer, func: Any, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A method of a built-in type."""
    tracer.check_untouched(owner)
    if name == "__getitem__" and isinstance(owner, dict) and len(args) == 1 and raw_kind(owner, name) is None:
        return items.item(tracer, owner, *args)
    args = asked_numbers.in_method(tracer, owner, name, args)
    if name in _TAKE_WHOLE or name in _COMPARE_WHOLE:
        args = tuple(run_over(tracer, arg) for arg in args)
    if name == "update" and isinstance(owner, dict):
        args = tuple(items.of_the_user(tracer, arg) for arg in args)
        if type(owner) is dict and tracer.is_outer(owner) and not args:
            # Each is stored under a name that is known.
            for place, given in kwargs.items():
                items.store_item(tracer, owner, place, given)
            return None
    args = keys.asked_for(tracer, owner, name, args)
    outer = tracer.is_outer(owner)
    if name in _TAKE_WHOLE or name in _COMPARE_WHOLE:
        args = tuple(arg if is_open(arg) else as_open_list(tracer, arg) or arg for arg in args)
    if is_open(owner) or (type(owner) in OPENED and not outer and _needs_the_run(tracer, owner, name, args)):
        tracer.check_not_frozen(owner)
        open_up(tracer, owner)
        meaning = open_tables if is_open_table(owner) else open_lists
        return meaning.call_method(tracer, func, owner, args, kwargs)
    if isinstance(owner, dict) and name == "get" and not outer and isinstance(args[0], ObjectVariable) and not all(
            map(is_plain, owner.values())):
        return open_tables.looked_up(tracer, owner, *args)
    if isinstance(owner, BaseException) and not outer:
        if name == "add_note" and holds_objects(args):
            # Python takes only text that it knows.
            owner.__dict__.setdefault("__notes__", []).extend(args)
            return None
        return func(*args, **kwargs)
    if not outer and isinstance(owner, dict) and name == "get" and not holds_objects(args[:1]):
        return func(*args, **kwargs)
    kind = next((kind for kind in READERS if isinstance(owner, kind)), None)
    is_sequence = isinstance(owner, list | tuple | deque)
    is_search = is_sequence and len(args) == 1 and name in ("index", "count", "remove", "__contains__")
    if is_search and not outer and (
            compares(tracer, owner) or compares(tracer, args[0]) or holds_older(tracer, owner)):
        return search(tracer, owner, name, args[0])
    if is_search and outer and name != "remove" and not tracer.is_unknown(owner) and (
            compares(tracer, owner) or compares(tracer, args[0])):
        return search(tracer, tracer.snapshot(owner), name, args[0])
    if not outer and is_sequence and name in _COMPARING and not kwargs.get("key"):
        know(tracer, owner, *args)
    if kind is not None and name not in READERS[kind]:
        if not outer:
            tracer.check_not_frozen(owner)
            if name in _TAKE_WHOLE:
                # What is in them is handed on.
                args = tuple(map(tracer.snapshot, args))
            if name == "sort" and type(owner) is list and not args:
                key = kwargs.get("key")
                found = in_order(tracer, owner, None if key is None else traced(key), kwargs.get("reverse", False))
                if found is not None:
                    owner[:] = found
                    return None
            return func(*args, **_with_traced_key(tracer, owner if name == "sort" else (), kwargs))
        result = run_later(tracer, func, args, kwargs)
        changed_lists.note_method(tracer, owner, name, args)
        if holds_tensors(args):
            tracer.given_tensors[id(owner)] = owner
        if holds_tensors(list(owner)) or id(owner) in tracer.given_tensors:
            tracer.elements.add(result.value)
        return None if name in _GIVE_NOTHING else result
    if outer and tracer.is_unknown(owner):
        return run_later(tracer, func, args, kwargs)
    if outer and (kind is not None or isinstance(owner, tuple | frozenset)):
        if holds_objects(args):
            return run_later(tracer, func, args, kwargs)
        shown = tracer.view_of(owner) if name in ("keys", "values", "items") else tracer.snapshot(owner)
        if name in _COMPARING:
            know(tracer, shown, *args)
        own = raw_kind(shown, name)
        # What is called is the method of the built-in type, also where a class of the user has another one.
        method = getattr(shown, name) if own is None else MethodType(getattr(own, name), shown)
        return called(tracer, method, args, kwargs)
    if isinstance(owner, str | bytes) and name == "join" and args:
        parts = as_open_list(tracer, args[0])
        parts = iterable_of(tracer, args[0] if parts is None else parts)
        args = (args[0] if isinstance(parts, Parts | ObjectVariable) else list(parts),)
    if isinstance(owner, str | bytes) and (tells_later(tracer, args) or tells_later(tracer, kwargs)):
        if name in ("format", "format_map"):
            return text_later(tracer, func, args, kwargs)
        with users_code.watched(tracer, func, args, kwargs):
            return tracer.python_call(func, args, kwargs, kind=type(owner) if name == "join" else None, effect=True)
    if not outer and isinstance(owner, Iterator):
        return func(*args, **kwargs)
    if isinstance(owner, np.ndarray) and (name in _WRITE_TO_ARRAYS or "out" in kwargs):
        check_unwritten(tracer, [owner, kwargs.get("out")], args, kwargs)
    module = type(owner).__module__.partition(".")[0]
    if module == "decimal":
        note_decimals(tracer)
    if module in PURE and not (module == "numpy" and "random" in type(owner).__module__):
        if holds_objects(args) or (outer and not is_plain(owner)) or name in EFFECTS_IN_PURE or (
                module == "numpy" and holds_older_content(tracer, [*args, *kwargs.values()])):
            return _changing(tracer, run_later(tracer, func, args, kwargs), owner, name)
        args, kwargs = tuple(map(if_known, seen(tracer, args))), seen_named(tracer, kwargs)
        if module == "numpy":
            return tracer.late_arrays.call(func, args, kwargs)
        return tracer.handed_back(func(*args, **kwargs))
    return _changing(tracer, call_unknown(tracer, func, args, kwargs), owner, name)


def _changing(tracer: Tracer, result: Any, owner: Any, name: str) -> Any:
    """The result of a method; what is outside and written to by it is known only when the Program runs from now on."""
    if isinstance(owner, bytearray | array.array) and tracer.is_outer(owner) and name in _WRITE_TO_NUMBERS:
        tracer.changed(owner)
    return result


def _needs_the_run(tracer: Tracer, owner: Any, name: str, args: tuple[Any, ...]) -> bool:
    """True if what a method does to a container made inside is known when the Program runs."""
    if (name in _TAKE_WHOLE or name in _COMPARE_WHOLE) and any(map(is_open, args)):
        return True
    if not args or name not in _CHANGE_BY_KEY or not isinstance(owner, dict | set) or not holds_objects(args[0]):
        return False
    tracer.needed_by_python(args[0])
    return True


def _with_traced_key(tracer: Tracer, parts: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    key = order_key(tracer, parts, kwargs.get("key"))
    return kwargs if key is None else {**kwargs, "key": traced(key)}
