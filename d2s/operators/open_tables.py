"""What traced code does with dicts and sets of which only the run knows what is in them.

As lists of the run they are Python objects of the run: what is done to them are effects.  Of the keys and of the values
it is known what all of them are.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Callable
from types import BuiltinMethodType
from typing import Any

from d2s.operators.carried import ANYTHING, BuiltForm, Form, ObjectForm
from d2s.operators.control_flow import if_else, not_
from d2s.operators.late_call import late_call
from d2s.operators.open_elements import element, kind_of, open_up, put, put_all, put_key
from d2s.operators.open_items import OPENED, Elements, TableView, elements_of, is_open, is_open_table, new_open, refuse
from d2s.operators.open_lists import as_list
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns

_KINDS = {"__len__": int, "__contains__": bool, "issubset": bool, "issuperset": bool, "isdisjoint": bool, "total": int}
# Methods of sets that take members from other containers.
_TAKE_MEMBERS = frozenset({"update", "union", "symmetric_difference_update", "symmetric_difference"})
_GIVE_SET = frozenset({"copy", "union", "intersection", "difference", "symmetric_difference"})
_GIVE_NOTHING = frozenset({
    "add", "discard", "remove", "update", "clear", "difference_update", "intersection_update",
    "symmetric_difference_update", "move_to_end", "__setitem__", "__delitem__"})
_OPERATORS = {"or_": "update", "sub": "difference_update", "and_": "intersection_update",
              "xor": "symmetric_difference_update"}
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def item(tracer: Tracer, table: Any, key: Any) -> Any:
    """``table[key]``."""
    elements = elements_of(table)
    if isinstance(table, defaultdict) and table.default_factory is not None:
        def fill() -> None:
            store_item(tracer, table, key, late_call(table.default_factory))

        if_else(tracer, not_(tracer, contains(tracer, table, key)), fill, None)
    elif isinstance(table, Counter):
        put(tracer, elements, 0)
    return _value(tracer, operator.getitem, (table, key), elements)


def _value(tracer: Tracer, function: Callable[..., Any], args: tuple[Any, ...], elements: Elements) -> Any:
    """What a function gives that gives one of the values."""
    form: Form | None = elements.form
    return element(tracer, tracer.python_call(function, args, kind=kind_of(form), effect=True), form, elements)


def contains(tracer: Tracer, table: Any, key: Any) -> Any:
    """``key in table``."""
    return tracer.python_call(operator.contains, (table, key), kind=bool, effect=True)


def store_item(tracer: Tracer, table: Any, key: Any, value: Any) -> None:
    """``table[key] = value``."""
    put_key(elements_of(table), key)
    put(tracer, elements_of(table), value)
    tracer.effect(operator.setitem, table, key, value)


def call_method(
    tracer: Tracer, func: BuiltinMethodType, table: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A method of the dict or set."""
    name = func.__name__
    if name == "__iter__":
        return TurnsOf(tracer, table)
    if isinstance(table, dict):
        own = _OF_DICTS.get(name)
        if own is not None:
            return own(tracer, table, *args, **kwargs)
    elif name in _TAKE_MEMBERS:
        return _with_members(tracer, table, name, args)
    elif name == "add":
        put(tracer, elements_of(table), *args)
    elif name == "pop":
        return _value(tracer, set.pop, (table,), elements_of(table))
    if name not in _GIVE_NOTHING and name not in _KINDS and name not in _GIVE_SET:
        refuse(f"{type(table).__name__}.{name}() of a {type(table).__name__} of which only the run knows what is in it")
    found = tracer.python_call(
        getattr(type(table), name), (table, *args), kwargs, kind=_KINDS.get(name), effect=True)
    if name in _GIVE_SET:
        return new_open(tracer, found.value, elements_of(table))
    return None if name in _GIVE_NOTHING else found


def _with_members(tracer: Tracer, table: Any, name: str, args: tuple[Any, ...]) -> Any:
    elements = elements_of(table)
    if name in _GIVE_SET:
        elements = Elements(elements.form, empty=set)
    for arg in args:
        put_all(tracer, elements, arg)
    found = tracer.python_call(getattr(set, name), (table, *args), kind=set, effect=True)
    return new_open(tracer, found.value, elements) if name in _GIVE_SET else None


def looked_up(tracer: Tracer, table: Any, key: Any, default: Any = None) -> Any:
    """``table.get(key, default)`` of a dict of which all is known but the key."""
    from d2s.operators import items

    return if_else(tracer, contains(tracer, table, key), lambda: items.item(tracer, table, key), lambda: default)


def _get(tracer: Tracer, table: Any, key: Any, default: Any = None) -> Any:
    def found() -> Any:
        return _value(tracer, operator.getitem, (table, key), elements_of(table))

    return if_else(tracer, contains(tracer, table, key), found, lambda: default)


def _pop(tracer: Tracer, table: Any, key: Any, *default: Any) -> Any:
    def taken() -> Any:
        return _value(tracer, dict.pop, (table, key), elements_of(table))

    if not default:
        return taken()
    return if_else(tracer, contains(tracer, table, key), taken, lambda: default[0])


def _set_default(tracer: Tracer, table: Any, key: Any, default: Any = None) -> Any:
    put_key(elements_of(table), key)
    if type(default) in OPENED and not tracer.is_outer(default):
        # To be changed there.
        open_up(tracer, default)
    put(tracer, elements_of(table), default)
    return _value(tracer, dict.setdefault, (table, key, default), elements_of(table))


def _pop_item(tracer: Tracer, table: Any, **kwargs: Any) -> Any:
    found = tracer.python_call(type(table).popitem, (table,), kwargs, kind=tuple, effect=True)
    return element(tracer, found, pair_form(elements_of(table)), elements_of(table))


def pair_form(elements: Elements) -> BuiltForm:
    """The form of an item of a dict."""
    assert elements.keys is not None
    forms = (elements.keys.form, elements.form)
    return BuiltForm(tuple, None, tuple(ObjectForm(None) if form is None else form for form in forms))


def update(tracer: Tracer, table: Any, *others: Any, **named: Any) -> None:
    if isinstance(table, Counter):
        refuse("a Counter of which only the run knows what is in it is updated as a whole")
    for other in (*others, named):
        if is_open_table(other) and isinstance(other, dict):
            _learn_of(tracer, elements_of(table), other)
            tracer.effect(dict.update, table, other)
            continue
        pairs = tracer.snapshot(other)
        if is_open(pairs) or not isinstance(pairs, dict | list | tuple):
            refuse(f"a dict of the run is updated by a {type(other).__name__} of which it is not known what is in it")
        for key, value in pairs.items() if isinstance(pairs, dict) else pairs:
            store_item(tracer, table, key, value)


def _learn_of(tracer: Tracer, elements: Elements, other: Any) -> None:
    """Take note that all that another dict of the run holds is put in."""
    theirs = elements_of(other)
    assert elements.keys is not None
    assert theirs.keys is not None
    put_all(tracer, elements.keys, other)
    put_all(tracer, elements, listed(TableView(tracer, other, "values")))


def _most_common(tracer: Tracer, table: Any, n: Any = None) -> Any:
    found = tracer.python_call(Counter.most_common, (table, n), kind=list, effect=True)
    return new_open(tracer, found.value, Elements(pair_form(elements_of(table))))


def copied(tracer: Tracer, table: Any) -> Any:
    """``table.copy()``, also of a list or deque."""
    found = tracer.python_call(type(table).copy, (table,), kind=type(table), effect=True)
    return new_open(tracer, found.value, elements_of(table))


def as_dict(tracer: Tracer, table: Any) -> Any:
    """``dict(table)``."""
    known = elements_of(table)
    elements = Elements(known.form, known.is_older, dict)
    elements.keys = known.keys
    for tensor in known.tensors():
        elements.note(tensor)
    return new_open(tracer, tracer.python_call(dict, (table,), kind=dict, effect=True).value, elements)


def of_pairs(tracer: Tracer, pairs: list[Any]) -> Any:
    """``dict(pairs)`` of a list into which hooks may have put anything."""
    elements = Elements(ANYTHING, is_older=True, empty=dict)
    assert elements.keys is not None
    elements.keys.form = ObjectForm(None)
    return new_open(tracer, tracer.python_call(dict, (pairs,), kind=dict, effect=True).value, elements)


_OF_DICTS: dict[str, Callable[..., Any]] = {
    "get": _get, "pop": _pop, "setdefault": _set_default, "popitem": _pop_item, "update": update, "copy": copied,
    "__getitem__": item, "__setitem__": store_item, "most_common": _most_common,
    "keys": lambda tracer, table: TableView(tracer, table, "keys"),
    "values": lambda tracer, table: TableView(tracer, table, "values"),
    "items": lambda tracer, table: TableView(tracer, table, "items"),
}


# --- operators ----------------------------------------------------------------------------------------------------


def binary(tracer: Tracer, name: str, left: Any, right: Any) -> Any:
    """``left | right`` and its like, where one is such a dict or set."""
    if name in _COMPARISONS:
        return tracer.python_call(getattr(operator, name), (left, right), kind=bool, effect=True)
    table = left if is_open_table(left) else right
    if isinstance(table, dict):
        if name != "or_" or type(left) is not dict or type(right) is not dict:
            refuse(f"an operator of a {type(table).__name__} of which only the run knows what is in it")
        whole = new_open(tracer, tracer.python_call(dict, (), kind=dict, effect=True).value, Elements(empty=dict))
        for side in (left, right):
            update(tracer, whole, side)
        return whole
    elements = Elements(empty=set)
    for side in (left, right):
        put_all(tracer, elements, side)
    found = tracer.python_call(getattr(operator, name), (left, right), kind=set, effect=True)
    return new_open(tracer, found.value, elements)


def augmented(tracer: Tracer, name: str, table: Any, value: Any) -> Any:
    """``table |= value`` and its like."""
    if isinstance(table, dict):
        if name != "ior":
            refuse(f"an operator of a {type(table).__name__} of which only the run knows what is in it")
        update(tracer, table, value)
        return table
    if name == "ior":
        put_all(tracer, elements_of(table), value)
    tracer.effect(getattr(operator, name), table, value)
    return table


# --- loops --------------------------------------------------------------------------------------------------------


def turns(view: TableView) -> TurnsOf:
    """What a loop over a view that begins now runs over."""
    return TurnsOf(view.tracer, view.table, view.what)


def listed(view: TableView) -> list[Any]:
    """A list of all that a view shows."""
    found = view.tracer.python_call(_listed, (view.table, view.what), kind=list, effect=True)
    made: list[Any] = new_open(view.tracer, found.value, _elements_given(elements_of(view.table), view.what))
    return made


def _elements_given(elements: Elements, what: str) -> Elements:
    if what == "keys" and elements.keys is not None:
        return elements.keys
    if what != "items":
        return as_list(elements)
    made = Elements(pair_form(elements), elements.is_older)
    for tensor in elements.tensors():
        made.note(tensor)
    return made


def _listed(table: Any, what: str) -> list[Any]:
    return list(getattr(table, what)())


class TurnsOf(Turns):
    """A loop over a dict, set or deque, or a view of a dict: by an iterator of the run, as in Python."""

    def __init__(self, tracer: Tracer, table: Any, what: str = "keys", is_backward: bool = False) -> None:
        self.tracer = tracer
        self.elements = elements_of(table)
        self.what = what if isinstance(table, dict) else "members"
        self.table = table
        self._walk = tracer.python_call(Walk, (table, self.what, is_backward), effect=True)

    def backward(self) -> TurnsOf:
        """The same from the end."""
        return TurnsOf(self.tracer, self.table, self.what, is_backward=True)

    def has(self, index: Any) -> Any:
        return self.tracer.python_call(Walk.has, (self._walk, index), kind=bool, effect=True)

    def part(self, index: Any) -> Any:
        elements = _elements_given(self.elements, self.what)
        form: Form | None = elements.form
        found = self.tracer.python_call(Walk.part, (self._walk,), kind=kind_of(form), effect=True)
        return element(self.tracer, found, form, elements)


class Walk:
    """An iterator of the run, and how far it has come."""

    def __init__(self, table: Any, what: str, is_backward: bool) -> None:
        things = table if what == "members" else getattr(table, what)()
        self._iterator = reversed(things) if is_backward else iter(things)
        self._turn = -1
        self._part: Any = None

    def has(self, index: int) -> bool:
        """Is there a turn of this number?"""
        if index > self._turn:
            try:
                self._part = next(self._iterator)
            except StopIteration:
                return False
            self._turn = index
        return True

    def part(self) -> Any:
        """What this turn is given."""
        return self._part


__all__ = [
    "TurnsOf", "as_dict", "augmented", "binary", "call_method", "contains", "copied", "item", "listed", "looked_up",
    "of_pairs", "store_item", "turns", "update",
]
