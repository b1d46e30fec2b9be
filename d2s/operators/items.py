"""Reading and writing items of containers while a function is traced."""

from __future__ import annotations

import operator
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from types import MappingProxyType, MethodType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.operators import (
    asked_numbers,
    foreign_results,
    given_away,
    keys,
    layer_changes,
    native,
    open_functions,
    open_items,
    open_lists,
    open_tables,
    picking,
    policy,
    special_methods,
    users_code,
)
from d2s.operators.access import attr, special
from d2s.operators.control_flow import number_of_range
from d2s.operators.equality import is_plain
from d2s.operators.guards import ABSENT, Guard, is_layer, lookup
from d2s.operators.late_call import late_call
from d2s.operators.libraries import check_unwritten, run_over
from d2s.operators.older_arrays import holds_older_content, index_of, index_of_tensor
from d2s.operators.open_elements import open_up
from d2s.operators.open_items import TABLES, TableView, is_open, is_open_table
from d2s.operators.protocols import iterable_of
from d2s.operators.sources import Constant
from d2s.operators.symbols import SymbolicRange, holds_objects, holds_symbols, holds_tensors
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
from d2s.static.variable import ObjectVariable, Variable


def item(tracer: Tracer, value: Any, index: Any) -> Any:
    """``value[index]``."""
    index = asked_numbers.in_index(tracer, value, index)
    if isinstance(value, TensorBase):
        target = value if isinstance(value, Variable) else tracer.lift(value)
        return target[_index(tracer, index)]
    if isinstance(value, ObjectVariable):
        return value[index]
    if isinstance(value, SymbolicRange):
        return _number_of(tracer, value, index)
    tracer.check_untouched(value)
    if is_open(value) or (type(value) in _FILLING and not tracer.is_outer(value) and holds_objects(index)):
        tracer.needed_by_python(index)
        open_up(tracer, value)
        return _meaning(value).item(tracer, value, index)
    getter = special(tracer, value, "__getitem__")
    if getter is not None:
        return late_call(getter, index)
    if type(value) is list and isinstance(index, slice) and not tracer.is_unknown(value):
        index = _bounds(index)
        if _holds_symbol(index):
            whole = list(tracer.snapshot(value))
            open_up(tracer, whole)
            return open_lists.item(tracer, whole, index)
    if isinstance(value, tuple) and isinstance(index, slice):
        index = _cut_on_paths(tracer, _bounds(index), len(value))
    if isinstance(value, dict):
        keys.key(tracer, index, value)
    _adopt_namespace(tracer, value)
    if isinstance(value, str | bytes) and holds_symbols(index):
        tracer.needed_by_python(index)
        kind = int if isinstance(value, bytes) and not isinstance(index, slice) else type(value)
        return tracer.python_call(operator.getitem, (value, index), kind=kind, effect=True)
    source = tracer.source_of(value)
    if is_layer(value):
        return _layer_in(tracer, value, index)
    if source is None or not _holds_plain_values(value):
        place = picking.place_in(tracer, value, index)
        if place is not None:
            names = picking.names_in(tracer, value)
            return picking.picked(tracer, lambda number: item(tracer, value, names[number]), place, len(names))
    if source is None:
        if isinstance(value, np.ndarray) and holds_symbols(index):
            tracer.late_arrays.need()
        is_missing = isinstance(value, dict) and type(value) is not dict and not dict.__contains__(value, index)
        return _missing(tracer, value, index) if is_missing else value[_position(tracer, value, index)]
    index = _position(tracer, value, index)
    place = None if _holds_symbol(index) else tracer.pending_item(value, index)
    if place is not None:
        return place[0]
    known = None if _holds_symbol(index) else tracer.place_of(value, index)
    if known is not None:
        return tracer.read_item(value, known, source)
    if id(value) in tracer.dirty or isinstance(value, np.ndarray) or _holds_symbol(index):
        found = _item_in_the_run(tracer, value, index)
        if holds_tensors(value) or id(value) in tracer.given_tensors:
            tracer.elements.add(found.value)
        return found
    if isinstance(value, dict) and type(value) is not dict and not dict.__contains__(value, index):
        tracer.require(Guard(source, "not contains({v}, {k0})", (index,), f"without {index!r}"), value)
        return _missing(tracer, value, index)
    if isinstance(value, dict) and isinstance(index, TensorBase):
        return tracer.snapshot(value)[index]
    if isinstance(value, list | tuple | dict) or type(value).__name__ == "deque":
        return tracer.snapshot(value)[index] if isinstance(index, slice) else tracer.read_item(value, index, source)
    return tracer.python_call(operator.getitem, (value, index), effect=True)


def _bounds(cut: slice) -> slice:
    """A slice with numbers in place of tensors."""
    return slice(*(part.item() if isinstance(part, Variable) and part.dtype.kind in "iu" else part
                   for part in (cut.start, cut.stop, cut.step)))


# Longer tuples are not cut at numbers of the run: there would be too many ways.
MAX_CUT = 16


def _cut_on_paths(tracer: Tracer, cut: slice, count: int) -> slice:
    """The slice of a tuple of so many elements with ends that are known on each path."""
    forward = cut.step is None or (type(cut.step) is int and cut.step > 0)
    if count > MAX_CUT or not forward:
        return cut

    def known(bound: Any, place_of: Callable[[Any, int], int]) -> Any:
        if not isinstance(bound, ObjectVariable):
            return bound
        place = tracer.python_call(place_of, (bound, count), kind=int)
        return next((number for number in range(count) if tracer.decide(place == number)), count)

    return slice(known(cut.start, _first_of), known(cut.stop, _end_of), cut.step)


def _first_of(bound: Any, count: int) -> int:
    return slice(bound, None).indices(count)[0]


def _end_of(bound: Any, count: int) -> int:
    return slice(None, bound).indices(count)[1]


def _number_of(tracer: Tracer, span: SymbolicRange, index: Any) -> Any:
    """``range(start, stop, step)[index]``."""
    if isinstance(index, slice):
        open_items.refuse("a part of a range whose length only the run knows")
    return tracer.python_call(number_of_range, (span.start, span.stop, span.step, index), kind=int, effect=True)


def _meaning(thing: Any) -> Any:
    """What is meant by items of a container of the run."""
    return open_tables if is_open_table(thing) else open_lists


# Dicts that make what is missing in them.
_FILLING = (defaultdict, Counter)


def _holds_plain_values(container: Any) -> bool:
    """True if all that is known of the elements of an older container is known when the Program runs."""
    return isinstance(container, list | tuple | dict) and all(
        map(is_plain, container.values() if isinstance(container, dict) else container))


def _layer_in(tracer: Tracer, layer: Any, index: Any) -> Any:
    """``layer[index]``; of a container of d2s whose index only the run knows, it is one of its layers."""
    getter = MethodType(lookup(type(layer), "__getitem__"), layer)
    if not isinstance(index, TensorBase | ObjectVariable) or not policy.is_own(getter.__func__.__code__):
        return late_call(getter, index)
    names = list(layer) if hasattr(layer, "keys") else range(len(layer))
    if not names or len(names) > picking.MAX_ELEMENTS:
        return late_call(getter, index)
    place = tracer.python_call(_place_of_layer, (layer, index, tuple(names)), kind=int, effect=True)
    return picking.picked(tracer, lambda number: late_call(getter, names[number]), place, len(names))


def _place_of_layer(layer: Any, index: Any, names: tuple[Any, ...]) -> int:
    """Which of its layers ``layer[index]`` is, in the run."""
    found = layer[index]
    return next(place for place, key in enumerate(names) if layer[key] is found)


def _position(tracer: Tracer, held: Any, index: Any) -> Any:
    """An index that says which number it is; the keys of a dict are looked for as they are."""
    if isinstance(held, dict) or isinstance(index, TensorBase | ObjectVariable):
        return index
    number = asked_numbers.number_said(tracer, index)
    return index_of(tracer, number) if isinstance(held, list | tuple | str | bytes | range) else number


def _missing(tracer: Tracer, table: Any, key: Any) -> Any:
    """``table[key]`` of a dict of a class of its own that does not hold `key`."""
    method = special(tracer, table, "__missing__")
    if method is not None:
        return late_call(method, key)
    meaning = lookup(type(table), "__missing__")
    if meaning is lookup(defaultdict, "__missing__"):
        factory = attr(tracer, table, "default_factory")
        if factory is not None:
            made = late_call(factory)
            store_item(tracer, table, key, made)
            return made
    if not tracer.is_outer(table) or meaning in (ABSENT, lookup(Counter, "__missing__")):
        return table[key]
    # Asking may add it.
    result = tracer.python_call(operator.getitem, (table, key), effect=True)
    tracer.changed(table)
    return result


def _item_in_the_run(tracer: Tracer, value: Any, index: Any) -> ObjectVariable:
    """``value[index]`` where only the run knows what that is; a dict may ask the user for what it does not hold."""
    if not users_code.is_asked_for_what_is_missing(tracer, (value,)):
        return tracer.python_call(operator.getitem, (value, index), effect=True)
    with given_away.watched(tracer, (value, index)):
        found = tracer.python_call(operator.getitem, (value, index), effect=True)
    tracer.changed(value)
    tracer.anything_may_change()
    return found


def _adopt_namespace(tracer: Tracer, thing: Any) -> None:
    """``globals()`` is older than the call, also where nothing else has read it yet."""
    if type(thing) is dict and "__builtins__" in thing and not tracer.is_outer(thing):
        tracer.remember(thing, Constant(thing))


def _holds_symbol(index: Any) -> bool:
    if isinstance(index, tuple):
        return any(map(_holds_symbol, index))
    if isinstance(index, slice):
        return any(map(_holds_symbol, (index.start, index.stop, index.step)))
    return isinstance(index, ObjectVariable)


def _index(tracer: Tracer, index: Any) -> Any:
    """An index of a tensor: older arrays and lists in it are read through the trace."""
    if isinstance(index, tuple):
        return tuple(_index(tracer, part) for part in index)
    if isinstance(index, TensorBase) and not isinstance(index, Variable):
        return tracer.lift(index)
    if isinstance(index, ObjectVariable):
        return index.__d2s_array__()
    return index_of_tensor(tracer, tracer.snapshot(index) if isinstance(index, list) else index)


def store_item(tracer: Tracer, target: Any, index: Any, value: Any) -> None:
    """``target[index] = value``."""
    index, value = asked_numbers.in_index(tracer, target, index), asked_numbers.element(tracer, target, value)
    if isinstance(target, TensorBase):
        variable = target if isinstance(target, Variable) else tracer.lift(target)
        variable[_index(tracer, index)] = value
        return
    if isinstance(target, ObjectVariable):
        tracer.effect(operator.setitem, target, index, value)
        return
    if isinstance(index, slice) and type(target) is list:
        whole = open_functions.as_open_list(tracer, value)
        value = value if whole is None else whole
    is_part = isinstance(index, slice) and type(target) is list
    if is_open(target) or (is_part and is_open(value)) or (
            is_part and _holds_symbol(index) and not tracer.is_outer(target)) or (
            type(target) in TABLES and not tracer.is_outer(target) and holds_objects(index)):
        tracer.needed_by_python(index)
        tracer.check_not_frozen(target)
        open_up(tracer, target)
        _meaning(target).store_item(tracer, target, index, value)
        return
    tracer.check_not_frozen(target)
    if isinstance(index, slice):
        value = run_over(tracer, value)
    if isinstance(target, dict):
        keys.key(tracer, index, target)
    _adopt_namespace(tracer, target)
    check_unwritten(tracer, target, index, value)
    setter = special(tracer, target, "__setitem__")
    if setter is not None:
        late_call(setter, index, value)
    elif layer_changes.is_outer(tracer, target):
        layer_changes.refuse_change(target)
    elif tracer.is_outer(target):
        _store_outside(tracer, target, index, value)
    elif isinstance(target, list) and (place := picking.place_in(tracer, target, index, "list assignment")) is not None:
        picking.put(tracer, target, place, value)
    else:
        target[index] = tracer.snapshot(value) if isinstance(index, slice) else value


def _store_outside(tracer: Tracer, target: Any, index: Any, value: Any) -> None:
    """The same in an older container."""
    given = isinstance(value, TensorBase)
    place = None
    if type(target) is list and (given or holds_tensors(target)):
        place = picking.place_in(tracer, target, index, "list assignment")
    if place is None:
        if given:
            tracer.given_tensors[id(target)] = target
        tracer.store_item(target, index, value)
        return
    before = [item(tracer, target, number) for number in range(len(target))]
    tracer.effect(operator.setitem, target, index, value)
    picking.put(tracer, before, place, value)
    for number, now in enumerate(before):
        tracer.note_place(target, number, now)


def delete_item(tracer: Tracer, target: Any, index: Any) -> None:
    """``del target[index]``."""
    index = asked_numbers.in_index(tracer, target, index)
    tracer.check_not_frozen(target)
    if isinstance(target, dict):
        keys.key(tracer, index, target)
    deleter = None if isinstance(target, ObjectVariable | TensorBase) else special(tracer, target, "__delitem__")
    if deleter is not None:
        late_call(deleter, index)
    elif layer_changes.is_outer(tracer, target):
        layer_changes.refuse_change(target)
    elif is_open(target) or (isinstance(target, list | dict) and not tracer.is_outer(target) and holds_objects(index)):
        open_up(tracer, target)
        tracer.effect(operator.delitem, target, index)
    elif isinstance(target, ObjectVariable) or tracer.is_outer(target):
        if tracer.is_outer(target):
            tracer.follow(target, "__delitem__", (index,))
        tracer.effect(operator.delitem, target, index)
        tracer.changed(target, is_followed=True)
    else:
        del target[index]


def augmented(tracer: Tracer, name: str, target: Any, value: Any) -> Any:
    """``target += value`` and its like; gives what is bound again."""
    function = getattr(operator, name)
    target, value = asked_numbers.in_repetition(tracer, name, target, value)
    if tracer.foreign_results.is_one(target):
        return foreign_results.binary(tracer, name, target, value)
    if type(target) is list and name == "iadd":
        value = run_over(tracer, value)
    if native.is_division_in_try(tracer, name, target, value):
        return native.divided_in_try(tracer, name, target, value)
    if isinstance(target, TensorBase):
        if tracer.foreign_results.is_one(value):
            return native.binary(tracer, name[1:], target, value)
        return function(target if isinstance(target, Variable) else tracer.lift(target), value)
    tracer.check_not_frozen(target)
    check_unwritten(tracer, target, value)
    in_place = _is_changed_in_place(target, name) and tracer.is_outer(target)
    if not in_place and (is_open_table(target) or (type(target) in (dict, set) and is_open(value))):
        open_up(tracer, target)
        return open_tables.augmented(tracer, name, target, value)
    if not in_place and (is_open(target) or is_open(value)):
        return open_lists.augmented(tracer, name, target, value)
    method = special(tracer, target, f"__{name}__")
    if method is not None:
        result = late_call(method, value)
        if result is not NotImplemented:
            return result
    if in_place:
        tracer.effect(function, target, value)
        tracer.changed(target)
        return target
    if tracer.is_outer(target) or special(tracer, target, f"__{name[1:].rstrip('_')}__") is not None:
        return native.binary(tracer, name[1:], target, value)
    if isinstance(target, np.ndarray | np.generic):
        return tracer.late_arrays.call(function, (target, tracer.snapshot(value)), {})
    return function(target, tracer.snapshot(value))


def _is_changed_in_place(target: Any, name: str) -> bool:
    return not isinstance(target, tuple | str | bytes | int | float | complex) and hasattr(
        type(target), f"__{name.rstrip('_')}__")


def mapping(tracer: Tracer, thing: Any) -> Any:
    """What ``{**thing}`` and ``f(**thing)`` take apart."""
    if isinstance(thing, MappingProxyType) and tracer.is_outer(thing):
        return {name: item(tracer, thing, name) for name in iterable_of(tracer, thing)}
    return native.seen(tracer, of_the_user(tracer, thing))


def of_the_user(tracer: Tracer, thing: Any) -> Any:
    """A dict of what a mapping of a class of the user gives when Python takes it apart; others as they are."""
    cls = type(thing)
    if isinstance(thing, TensorBase | ObjectVariable) or not policy.is_of_user(cls) or is_layer(thing) or (
            not hasattr(cls, "keys")) or (isinstance(thing, dict) and special(tracer, thing, "__iter__") is None):
        return thing
    asked = special(tracer, thing, "keys")
    # Those of mappings of the standard library give what `__iter__` does, that of a dict does not ask it.
    names = thing if asked is None and not isinstance(thing, dict) else late_call(asked or thing.keys)
    return {name: item(tracer, thing, name) for name in iterable_of(tracer, names)}


def contains(tracer: Tracer, container: Any, element: Any) -> Any:
    """``element in container``."""
    tracer.check_untouched(container)
    if isinstance(container, TableView | SymbolicRange | Turns):
        container = open_functions.as_open_list(tracer, container)
    is_table = type(container) is dict and tracer.place_of(container, element) is not None
    if is_table and element in (tracer.stored_keys(container) or ()):
        return True
    later = isinstance(container, ObjectVariable) or is_open(container) or (
        id(container) in tracer.dirty and not is_table)
    if later or _holds_symbol(element) or holds_older_content(tracer, [container, element]):
        return tracer.python_call(operator.contains, (container, element), kind=bool, effect=True)
    method = None if isinstance(container, TensorBase) else special(tracer, container, "__contains__")
    if method is not None:
        return late_call(bool, late_call(method, element))
    parts = run_over(tracer, container)
    if parts is not container:
        return special_methods.search(tracer, parts, "__contains__", element)
    if isinstance(container, list | tuple | deque) and any(
            special_methods.compares(tracer, part) for part in (container, element)):
        return special_methods.search(tracer, tracer.snapshot(container), "__contains__", element)
    source = tracer.source_of(container)
    if isinstance(container, dict | set | frozenset):
        keys.key(tracer, element, container)
    if source is not None and isinstance(container, dict | set | frozenset):
        if isinstance(element, TensorBase):
            return element in tracer.snapshot(container)
        present = element in container
        tracer.require(
            Guard(source, "({k0} in {v}) is " + repr(present), (element,), f"{element!r}: {present}"), container)
        return present
    if source is not None and not isinstance(container, list | tuple | str | bytes | range | TensorBase | type):
        if is_layer(container) or type(container).__name__ == "deque":
            return tracer.snapshot_deeply(element) in tracer.snapshot_deeply(container)
        return tracer.python_call(operator.contains, (container, element), kind=bool, effect=True)
    return tracer.snapshot_deeply(element) in tracer.snapshot_deeply(container)
