"""Operators that Python computes itself - arithmetic, comparison, unpacking, truth - while a function is traced.

Python would read an older list, dict or array here without the trace noticing: it is given a guarded copy instead, or
the operator is done when the Program runs.  Operators that the user's classes define are converted like any call.
"""

from __future__ import annotations

import enum
import operator
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.errors import TracingError, UnsupportedSyntaxError, user_location
from d2s.operators import foreign_results, policy
from d2s.operators.asked_numbers import in_repetition
from d2s.operators.choices import may_be
from d2s.operators.equality import NUMBERS_AND_TEXTS, is_plain
from d2s.operators.guards import Guard, lookup
from d2s.operators.late_call import late_call
from d2s.operators.older_arrays import holds_older_content, know
from d2s.operators.open_items import TableView, is_open, is_open_table, refuse
from d2s.operators.raw_containers import held_in
from d2s.operators.restarts import IteratorsOfTheRun
from d2s.operators.run_time import taken_apart
from d2s.operators.surroundings import note_decimals
from d2s.operators.symbols import SymbolicRange, holds_symbols
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable

_DIVISIONS = frozenset({"truediv", "floordiv", "mod", "itruediv", "ifloordiv", "imod"})
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_COMPARISONS = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def binary(tracer: Tracer, name: str, left: Any, right: Any) -> Any:
    """``left + right`` and its like."""
    if name in ("is_", "is_not"):
        return _identity(tracer, name, left, right)
    if tracer.foreign_results.is_one(left) or tracer.foreign_results.is_one(right):
        return foreign_results.binary(tracer, name, left, right)
    if isinstance(left, Variable) and isinstance(right, Variable | float | int):
        return getattr(operator, name)(left, right)
    left, right = in_repetition(tracer, name, _operand(tracer, left), _operand(tracer, right))
    for side in (left, right):
        tracer.check_untouched(side)
    if is_open(left) or is_open(right):
        from d2s.operators import open_lists, open_tables

        is_table = is_open_table(left) or is_open_table(right)
        return (open_tables if is_table else open_lists).binary(tracer, name, left, right)
    if isinstance(left, TableView) or isinstance(right, TableView):
        return tracer.python_call(getattr(operator, name), (left, right), kind=_kind(name, left), effect=True)
    if name == "mod" and isinstance(left, str | bytes) and _tells_later(tracer, right):
        from d2s.operators.special_methods import text_later

        return text_later(tracer, operator.mod, (left, right), {})
    if _must_wait(tracer, name, left, right):
        return tracer.python_call(getattr(operator, name), (left, right), kind=_kind(name, left), effect=True)
    if is_division_in_try(tracer, name, left, right):
        return divided_in_try(tracer, name, left, right)
    if "decimal" in (type(left).__module__, type(right).__module__):
        note_decimals(tracer)
    if name in ("eq", "ne") and isinstance(left, CONTAINERS) and isinstance(right, CONTAINERS):
        from d2s.operators.special_methods import compares, equal

        if compares(tracer, left) or compares(tracer, right):
            same = equal(tracer, tracer.snapshot(left), tracer.snapshot(right))
            return same if name == "eq" else not same
    if name in _ORDER and type(left) is type(right) and isinstance(left, list | tuple):
        from d2s.operators.special_methods import by_parts, compares, orders

        if any(found(tracer, side) for side in (left, right) for found in (compares, orders)):
            return by_parts(tracer, name, left, right)
    method = _user_method(tracer, left, f"__{name.strip('_')}__")
    if method is not None:
        return _dispatched(tracer, name, method, left, right)
    method = _user_method(tracer, right, _reflected(name))
    if method is not None:
        return late_call(method, left)
    if name == "ne" and _inverts(left) and _user_method(tracer, left, "__eq__") is not None:
        same = binary(tracer, "eq", left, right)
        return tracer.python_call(operator.not_, (same,), kind=bool) if isinstance(same, ObjectVariable) else not same
    # What is put together holds the very things that its parts hold.
    seen = tracer.snapshot if name in _JOINING else tracer.snapshot_deeply
    operands = seen(left), seen(right)
    if isinstance(left, _OF_NUMPY) or isinstance(right, _OF_NUMPY):
        return tracer.late_arrays.call(getattr(operator, name), operands, {})
    return getattr(operator, name)(*operands)


_ORDER = frozenset({"lt", "le", "gt", "ge"})
_JOINING = frozenset({"add", "iadd", "mul", "imul", "or_", "ior"})
_OF_NUMPY = (np.ndarray, np.generic)


def _inverts(thing: Any) -> bool:
    """True if the class of `thing` leaves ``!=`` to `object`, which asks ``==``."""
    return lookup(type(thing), "__ne__") is object.__dict__["__ne__"]


def _identity(tracer: Tracer, name: str, left: Any, right: Any) -> Any:
    """``left is right``: of what is known only when the Program runs, it is asked then."""
    left, right = _operand(tracer, left), _operand(tracer, right)
    if type(left) is type(right) and left is not right:
        if is_open(left) and is_open(right):
            return tracer.python_call(getattr(operator, name), (left, right), kind=bool, effect=True)
        for side in (left, right):
            tracer.check_not_frozen(side, " or asked for by `is`")
    if isinstance(left, Variable) and isinstance(right, Variable) and left is not right:
        if not any(right is other for other in may_be(left)):
            return name == "is_not"
        same = tracer.are_one(left.value, right.value)
        return same if name == "is_" else tracer.python_call(operator.not_, (same,), kind=bool)
    symbols = [part for part in (left, right) if isinstance(part, ObjectVariable)]
    if not symbols or (left is None and _is_something(right)) or (right is None and _is_something(left)):
        return getattr(operator, name)(left, right)
    return tracer.python_call(getattr(operator, name), (left, right), kind=bool, effect=True)


def _is_something(thing: Any) -> bool:
    """True for an object of the run that is known not to be None."""
    return not isinstance(thing, ObjectVariable) or thing.value.kind not in (None, type(None))


def unary(tracer: Tracer, name: str, operand: Any) -> Any:
    """``-operand`` and its like."""
    operand = _operand(tracer, operand)
    method = _user_method(tracer, operand, f"__{name.strip('_')}__")
    if method is not None:
        return late_call(method)
    if tracer.is_outer(operand) and not isinstance(operand, TensorBase):
        return tracer.python_call(getattr(operator, name), (operand,), effect=True)
    return getattr(operator, name)(operand)


def tells_later(tracer: Tracer, thing: Any) -> bool:
    """True if what an object says of itself as text is known only when the Program runs."""
    if isinstance(thing, np.ndarray | TableView):
        # As NumPy is set to print it then.
        return True
    if holds_symbols(thing) or tracer.is_made(thing) or (tracer.is_outer(thing) and not isinstance(thing, type)):
        return True
    return isinstance(thing, CONTAINERS) and any(tells_later(tracer, part) for part in held_in(thing))


def _operand(tracer: Tracer, thing: Any) -> Any:
    return tracer.lift(thing) if isinstance(thing, TensorBase) and not isinstance(thing, Variable) else thing


def _tells_later(tracer: Tracer, right: Any) -> bool:
    """True if ``text % right`` is a text that is known only when the Program runs."""
    parts = right if isinstance(right, tuple) else (right,)
    return any(tells_later(tracer, part) for part in (right, *parts))


def _must_wait(tracer: Tracer, name: str, left: Any, right: Any) -> bool:
    """True if the operator has to be done when the Program runs."""
    if isinstance(left, TensorBase) or isinstance(right, TensorBase):
        return False
    return any(id(part) in tracer.dirty or holds_older_content(tracer, part) for part in (left, right))


def _kind(name: str, left: Any) -> type | None:
    if name == "mod" and isinstance(left, str):
        return str
    return bool if name in _COMPARISONS and not isinstance(left, np.ndarray) else None


def _user_method(tracer: Tracer, thing: Any, name: str) -> MethodType | None:
    """The user's own definition of an operator on the class of `thing`."""
    if isinstance(thing, TensorBase | ObjectVariable):
        return None
    from d2s.operators.access import special

    return special(tracer, thing, name)


def _dispatched(tracer: Tracer, name: str, method: MethodType, left: Any, right: Any) -> Any:
    result = late_call(method, right)
    if result is not NotImplemented:
        return result
    other = _user_method(tracer, right, _reflected(name))
    if other is not None:
        result = late_call(other, left)
        if result is not NotImplemented:
            return result
    return getattr(operator, name)(left, right)


def _reflected(name: str) -> str:
    return f"__{_COMPARISONS[name]}__" if name in _COMPARISONS else f"__r{name.strip('_')}__"


def seen(tracer: Tracer, thing: Any) -> Any:
    """An older container as guarded copy; other things as they are."""
    return tracer.snapshot(thing) if isinstance(thing, CONTAINERS) else thing


def unpack(tracer: Tracer, value: Any, before: int | None, after: int | None) -> Any:
    """What ``a, b = value`` takes apart."""
    refuse_outer_iterator(tracer, value)
    left = isinstance(value, ObjectVariable) and value.value.kind is None and value.value in tracer.elements
    if left or is_open(value) or isinstance(value, TableView | SymbolicRange):
        from d2s.operators import open_functions

        value = open_functions.list_of(tracer, value) if left else open_functions.as_open_list(tracer, value)

        if before is None:
            refuse("a list whose length only the run knows is unpacked into several displays")
        return open_functions.unpacked(tracer, value, before, after)
    method = _user_method(tracer, value, "__iter__")
    if isinstance(value, np.ndarray):
        know(tracer, value)
    if method is None:
        parts = tracer.late_arrays.parts(value)
        if parts is None and isinstance(value, ObjectVariable) and before is not None and after is None:
            return _unpacked_later(tracer, value, before)
        return seen(tracer, value) if parts is None else parts
    from d2s.operators.protocols import items_of

    return items_of(tracer, late_call(method))


def _unpacked_later(tracer: Tracer, value: ObjectVariable, count: int) -> list[Any]:
    """The parts of an object of the run: as many as there are names."""
    taken = tracer.python_call(taken_apart, (value, count), kind=list, effect=True)
    parts = [tracer.python_call(operator.getitem, (taken, place), effect=True) for place in range(count)]
    if tracer.foreign_results.is_one(value):
        for part in parts:
            tracer.foreign_results.add(part)
    return parts


def matched(tracer: Tracer, subject: Any, types_at: str, looks_at: str) -> Any:
    """What a ``match`` statement looks at.

    `types_at` says where its class patterns stand, which ask for types: symbols cannot show theirs.
    """
    asks = {"": False, "top": isinstance(subject, Variable | ObjectVariable), "inside": holds_symbols(subject)}
    looked_into = isinstance(subject, ObjectVariable) or looks_at == "inside"
    if asks[types_at] or id(subject) in tracer.dirty or (looks_at and looked_into and _may_be_anything(subject)):
        raise TracingError(
            "a match statement looks at a value that is known only when the Program runs", user_location(),
            "Use if and isinstance, or keep the function eager with @d2s.jit.not_to_static.",
            kind="T06",
        )
    seen_subject = tracer.snapshot_deeply(subject)
    if _holds_older_objects(tracer, seen_subject, bool(types_at)):
        raise TracingError(
            "a match statement looks into an object from outside", user_location(),
            "Use if and attributes, or keep the function eager with @d2s.jit.not_to_static.",
            kind="T06",
        )
    return seen_subject


def _may_be_anything(tree: Any) -> bool:
    """True if there is an object of the run that patterns may take for something else than it is."""
    if isinstance(tree, ObjectVariable):
        return tree.value.kind not in (int, float, str)
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list | tuple) else ()
    return any(map(_may_be_anything, parts))


def _holds_older_objects(tracer: Tracer, tree: Any, asks_types: bool) -> bool:
    """True if patterns may read what an older object holds."""
    if type(tree) in (list, tuple):
        return any(_holds_older_objects(tracer, part, asks_types) for part in tree)
    if type(tree) is dict:
        return any(_holds_older_objects(tracer, part, asks_types) for part in tree.values())
    if not asks_types and lookup(type(tree), "__eq__") is object.__dict__["__eq__"] and not isinstance(tree, Iterable):
        return False
    return tracer.is_outer(tree) and not callable(tree)


def truth(tracer: Tracer, value: Any) -> Any:
    """What Python makes of ``bool(value)`` where it decides a branch: an older container is guarded by its length."""
    if isinstance(value, CONTAINERS):
        tracer.check_untouched(value)
        if tracer.is_unknown(value) or is_open(value):
            return tracer.python_call(bool, (value,), kind=bool, effect=True)
        if tracer.stored_keys(value):
            # Something is in it.
            return True
        tracer.guard_length(value)
        return value
    if isinstance(value, ObjectVariable) and value.is_true:
        return True
    if isinstance(value, TableView):
        return tracer.python_call(bool, (value.table,), kind=bool, effect=True)
    method = _user_method(tracer, value, "__bool__")
    if method is not None:
        return _answer(late_call(method))
    method = _user_method(tracer, value, "__len__")
    if method is not None:
        return checked_length(late_call(method))
    if not tells_other_things(tracer, value) or not any(hasattr(type(value), name) for name in ("__bool__", "__len__")):
        return value
    if tracer.is_unknown(value):
        return tracer.python_call(bool, (value,), kind=bool, effect=True)
    if isinstance(value, np.ndarray):
        know(tracer, value)
        return value
    found = bool(value)
    source = tracer.source_of(value)
    assert source is not None
    tracer.require(Guard(source, f"bool({{v}}) is {found}", (), f"bool: {found}", is_live=True), value)
    return found


def _answer(found: Any) -> Any:
    """What `__bool__` of the user has given, if it is what Python takes."""
    kind = found.value.kind if isinstance(found, ObjectVariable) else type(found)
    if kind not in (bool, None):
        name = "Tensor" if isinstance(found, TensorBase) else kind.__name__
        raise TypeError(f"__bool__ should return bool, returned {name}")
    return found


def checked_length(found: Any) -> Any:
    """What `__len__` of the user has given, if it is what Python takes."""
    if isinstance(found, ObjectVariable | TensorBase):
        return found
    length = operator.index(found)
    if length < 0:
        raise ValueError("__len__() should return >= 0")
    return length


def tells_other_things(tracer: Tracer, thing: Any) -> bool:
    """True for an older object of a library that may say something else of itself in the next call, as an array."""
    if isinstance(thing, (TensorBase, ObjectVariable, type, enum.Enum, *CONTAINERS, np.generic, *NUMBERS_AND_TEXTS)):
        return False
    return tracer.is_outer(thing) and not is_plain(thing)


def is_division_in_try(tracer: Tracer, name: str, left: Any, right: Any) -> bool:
    """True for numbers of which the divisor may be 0 when the Program runs, where the user may catch that."""
    return (
        tracer.attempts > 0 and name in _DIVISIONS and isinstance(right, ObjectVariable)
        and {_type_of(left), _type_of(right)} <= {int, float, bool})


def divided_in_try(tracer: Tracer, name: str, left: Any, right: Any) -> Any:
    """A division that raises while tracing, on the path on which the divisor is 0: there it can be caught."""
    function = getattr(operator, name)
    if not tracer.decide(right != 0):
        dividend = _type_of(left)(1) if isinstance(left, ObjectVariable) else left
        return function(dividend, _type_of(right)(0))  # raises, with the words for these types
    with tracer.unguarded():
        return function(left, right)


def _type_of(number: Any) -> Any:
    return number.value.kind if isinstance(number, ObjectVariable) else type(number)


def refuse_outer_iterator(tracer: Tracer, iterable: Any) -> None:
    """Raise for an iterator from outside, which tracing would use up, and for one of which only the run knows how far
    it came."""
    if id(iterable) in tracer.spent:
        if IteratorsOfTheRun not in tracer.learned:
            raise IteratorsOfTheRun
        raise UnsupportedSyntaxError(
            "an iterator goes on behind a loop that only the run knows the turns of", user_location(),
            "Make a new iterator, or count in a variable.",
            kind="U15",
        )
    if tracer.is_outer(iterable) and (isinstance(iterable, Iterator) or draws(tracer, iterable)):
        raise UnsupportedSyntaxError(
            f"a {type(iterable).__name__} from outside would be used up while the function is traced", user_location(),
            "Pass a list of its items, or keep the function eager with @d2s.jit.not_to_static.",
            kind="U15",
        )
    if tracer.is_outer(iterable) and isinstance(iterable, weakref.WeakSet | weakref.WeakKeyDictionary):
        raise UnsupportedSyntaxError(
            f"a {type(iterable).__name__} from outside is run over: the Program would keep alive what it holds",
            user_location(), "Take a list of its members outside, or keep the function eager with "
            "@d2s.jit.not_to_static.", kind="U15",
        )


def draws(tracer: Tracer, iterable: Any) -> bool:
    """True for samplers and loaders of d2s, from outside or made by the run: each loop over them draws anew."""
    if isinstance(iterable, ObjectVariable):
        cls = iterable.value.kind
        if cls is None:
            return False
    elif tracer.is_outer(iterable):
        cls = type(iterable)
    else:
        return False
    found = lookup(cls, "__iter__")
    return policy.has_state(cls) and isinstance(found, FunctionType) and policy.is_own(found.__code__)


__all__ = ["binary", "draws", "is_plain", "matched", "refuse_outer_iterator", "seen", "truth", "unpack"]
