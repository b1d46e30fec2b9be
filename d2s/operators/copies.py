"""`copy.copy`, `copy.deepcopy` and `dataclasses.replace` in traced code: copies hold symbols as the originals do."""

from __future__ import annotations

import copy
import copyreg
import dataclasses
from collections import deque
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import access, open_functions, open_tables, policy
from d2s.operators.equality import is_plain
from d2s.operators.guards import ABSENT, Guard, lookup
from d2s.operators.heap import container_class, content_of, dict_of, restore, slots_of
from d2s.operators.late_call import late_call
from d2s.operators.libraries import run_later
from d2s.operators.open_items import is_open
from d2s.operators.sources import Constant
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable
from d2s.words import counted

_CONTAINERS = (list, dict, set, deque, tuple, frozenset)


def shallow_copy(tracer: Tracer, thing: Any) -> Any:
    """``copy.copy(thing)``."""
    method = None if isinstance(thing, TensorBase) else access.special(tracer, thing, "__copy__")
    if method is not None:
        return late_call(method)
    if is_open(thing):
        return open_tables.copied(tracer, thing)
    if type(thing) in _CONTAINERS:
        return copy.copy(tracer.snapshot(thing))
    if tracer.is_made(thing):
        return _like(tracer, thing, content_of(thing))
    if _is_copied_by_attributes(tracer, thing):
        return _like(tracer, thing, _read_attributes(tracer, thing))
    if isinstance(thing, ObjectVariable) or _belongs_to_others(tracer, thing):
        # Both hold the same things: what is done to those of the copy shows in the original.
        tracer.anything_may_change()
        return run_later(tracer, copy.copy, (thing,), {})
    return copy.copy(thing)


def deep_copy(tracer: Tracer, thing: Any, memo: dict[int, Any] | None = None) -> Any:
    """``copy.deepcopy(thing, memo)``."""
    memo = {} if memo is None else memo
    if id(thing) in memo:
        return memo[id(thing)]
    if isinstance(thing, TensorBase):
        return copy.deepcopy(tracer.lift(thing), memo)
    method = access.special(tracer, thing, "__deepcopy__")
    if method is not None:
        made = late_call(method, memo)
    elif is_open(thing):
        made = open_functions.deeply_copied(tracer, thing)
    elif type(thing) in _CONTAINERS:
        made = _deep_container(tracer, tracer.snapshot(thing), memo, id(thing))
    elif tracer.is_made(thing) or _is_copied_by_attributes(tracer, thing):
        made = _like(tracer, thing, {})
        memo[id(thing)] = made
        content = content_of(thing) if tracer.is_made(thing) else _read_attributes(tracer, thing)
        restore(made, {name: deep_copy(tracer, part, memo) for name, part in content.items()})
    elif isinstance(thing, ObjectVariable) or _belongs_to_others(tracer, thing):
        made = run_later(tracer, copy.deepcopy, (thing,), {})
    else:
        made = copy.deepcopy(thing, memo)
    memo[id(thing)] = made
    return made


def _deep_container(tracer: Tracer, thing: Any, memo: dict[int, Any], key: int) -> Any:
    if isinstance(thing, tuple | frozenset):
        return type(thing)(deep_copy(tracer, part, memo) for part in thing)
    made: Any = deque(maxlen=thing.maxlen) if isinstance(thing, deque) else type(thing)()
    # Known before its parts are copied: they may lead back to it.
    memo[key] = made
    if isinstance(thing, dict):
        made.update((deep_copy(tracer, name, memo), deep_copy(tracer, part, memo)) for name, part in thing.items())
    else:
        restore(made, [deep_copy(tracer, part, memo) for part in thing])
    return made


def _like(tracer: Tracer, thing: Any, content: dict[str, Any]) -> Any:
    """An object of the class of `thing` with this content."""
    made = object.__new__(type(thing))
    restore(made, content)
    tracer.note_made(made)
    return made


# By which a class may say how its objects are copied, besides `__copy__` and `__deepcopy__`.
_SAY_HOW = (
    "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs_ex__", "__getnewargs__", "__new__",
    "__getattribute__",
)


def _is_copied_by_attributes(tracer: Tracer, thing: Any) -> bool:
    """True for an older object of a class of the user that leaves it to Python how it is copied."""
    cls = type(thing)
    if not _belongs_to_others(tracer, thing) or isinstance(thing, ObjectVariable) or not policy.is_of_user(cls):
        return False
    held = dict_of(thing)
    return (
        held is not None and container_class(thing) is None and not slots_of(cls) and not tracer.is_changed(thing)
        and cls not in copyreg.dispatch_table
        and all(lookup(cls, name) in (ABSENT, object.__dict__.get(name, ABSENT)) for name in _SAY_HOW)
        and not any(hasattr(type(lookup(cls, name)), "__set__") for name in held))


def _read_attributes(tracer: Tracer, thing: Any) -> dict[str, Any]:
    """What such an object holds, as the trace reads it; guarded are its attributes, and that it is copied so."""
    cls, names, source = type(thing), tuple(thing.__dict__), tracer.source_of(thing)
    assert source is not None
    tracer.guard_type(thing)
    for name in _SAY_HOW:
        tracer.guard_held(cls, name)
    tracer.guards.add(Guard(
        Constant(copyreg.dispatch_table), "{k0} not in {v}", (cls,), f"how {cls.__name__} is copied"))
    shown = f"its {counted(len(names), 'attribute')}"
    tracer.require(Guard(source, "tuple({v}.__dict__) == {k0}", (names,), shown, is_live=True), thing)
    return {name: access.attr(tracer, thing, name) for name in names}


def _belongs_to_others(tracer: Tracer, thing: Any) -> bool:
    return tracer.is_outer(thing) and not is_plain(thing) and not callable(thing)


def replaced(tracer: Tracer, thing: Any, /, **changes: Any) -> Any:
    """``dataclasses.replace(thing, **changes)``."""
    if isinstance(thing, ObjectVariable) or not dataclasses.is_dataclass(thing) or isinstance(thing, type):
        return run_later(tracer, dataclasses.replace, (thing,), changes)
    for field in dataclasses.fields(thing):
        if not field.init:
            if field.name in changes:
                dataclasses.replace(thing, **{field.name: None})  # for the error, in Python's words
        elif field.name not in changes:
            changes[field.name] = access.attr(tracer, thing, field.name)
    return late_call(type(thing), **changes)


def as_dict(tracer: Tracer, thing: Any, **kwargs: Any) -> Any:
    """``dataclasses.asdict(thing)``."""
    if kwargs or not _is_record(thing):
        return run_later(tracer, dataclasses.asdict, (thing,), kwargs)
    return _plain(tracer, thing, dict)


def as_tuple(tracer: Tracer, thing: Any, **kwargs: Any) -> Any:
    """``dataclasses.astuple(thing)``."""
    if kwargs or not _is_record(thing):
        return run_later(tracer, dataclasses.astuple, (thing,), kwargs)
    return _plain(tracer, thing, lambda pairs: tuple(value for _, value in pairs))


def fields(tracer: Tracer, thing: Any) -> Any:
    """``dataclasses.fields(thing)``: its class says it all."""
    if isinstance(thing, ObjectVariable):
        return run_later(tracer, dataclasses.fields, (thing,), {})
    tracer.guard_class(thing, "__dataclass_fields__")
    return dataclasses.fields(thing)


def _is_record(thing: Any) -> bool:
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type | ObjectVariable)


def _plain(tracer: Tracer, thing: Any, make: Any) -> Any:
    if _is_record(thing):
        return make([
            (field.name, _plain(tracer, access.attr(tracer, thing, field.name), make))
            for field in dataclasses.fields(thing)])
    if type(thing) is list and not is_open(thing):
        return [_plain(tracer, part, make) for part in tracer.snapshot(thing)]
    if isinstance(thing, tuple):
        parts = [_plain(tracer, part, make) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else type(thing)(parts)
    if type(thing) is dict:
        pairs = tracer.snapshot(thing).items()
        return {_plain(tracer, name, make): _plain(tracer, part, make) for name, part in pairs}
    return deep_copy(tracer, thing)
