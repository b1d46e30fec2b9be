"""Keys of dicts and members of sets: what `__hash__` and `__eq__` of the user's classes do.

Python's containers call them, so they run as they are, and only while the function is traced.  Here they are traced
first: what they read is guarded, and where they act, or tell something else than in the run, the line is refused.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, NoReturn

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import native
from d2s.operators.control_flow import for_loop
from d2s.operators.equality import is_plain
from d2s.operators.guards import lookup
from d2s.operators.heap import Heap, container_class
from d2s.operators.late_call import late_call
from d2s.operators.open_items import is_open
from d2s.operators.policy import is_convertible
from d2s.operators.protocols import iterable_of
from d2s.operators.symbols import holds_objects
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable


def _is_users(thing: Any, *names: str) -> bool:
    """True for an object of whose class one of these methods is code of the user."""
    if is_plain(thing) or isinstance(thing, TensorBase | ObjectVariable | type | FunctionType):
        return False
    found = (lookup(type(thing), name) for name in names)
    return any(isinstance(method, FunctionType) and is_convertible(method) for method in found)


def as_hash(number: Any) -> Any:
    """What ``hash()`` gives where ``__hash__`` gives `number`."""
    if not isinstance(number, int):
        return number
    return (-2 if number == -1 else int(number)) if -(2**63) <= number < 2**63 else hash(number)


def is_hashed_by_value(thing: Any) -> bool:
    """True for what has the same hash in each run: plain values, classes and functions, and tuples of these."""
    if type(thing) in (tuple, frozenset):
        return all(map(is_hashed_by_value, thing))
    return _is_users(thing, "__hash__") or isinstance(thing, type | FunctionType | enum.Enum) or is_plain(thing)


def key(tracer: Tracer, thing: Any, container: Any = ()) -> Any:
    """`thing`, which Python is about to hash, and to compare with the keys of `container` that have the same hash."""
    if type(thing) is tuple:
        for part in thing:
            key(tracer, part)
    elif _is_users(thing, "__hash__", "__eq__"):
        number = _hash_of(tracer, thing)
        for other in _parts(container):
            if other is not thing and not isinstance(other, TensorBase) and _hash_of(tracer, other) == number:
                _asked(tracer, "eq", other, thing)
    return thing


def _kind(container: Any) -> Any:
    return container_class(container) or type(container)


def _parts(things: Iterable[Any]) -> list[Any]:
    """What is in a container, whatever a class of the user makes of looping over it."""
    return list(_kind(things).__iter__(things))


def _hash_of(tracer: Tracer, thing: Any) -> Any:
    return _asked(tracer, "hash", thing) if _is_users(thing, "__hash__") else hash(thing)


def dict_of(tracer: Tracer, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dict of keys and values."""
    from d2s.operators.items import store_item

    made: dict[Any, Any] = {}

    def add(pair: tuple[Any, Any]) -> None:
        store_item(tracer, made, *pair)

    if is_open(pairs):
        for_loop(tracer, iterable_of(tracer, pairs), add, None)
        return made
    for pair in pairs:
        add(pair)
    return made


def set_of(tracer: Tracer, parts: Iterable[Any]) -> set[Any]:
    """A set of members."""
    made: set[Any] = set()

    def add(part: Any) -> None:
        late_call(made.add, part)

    if is_open(parts):
        for_loop(tracer, iterable_of(tracer, parts), add, None)
        return made
    for part in parts:
        add(part)
    return made


def made(tracer: Tracer, cls: Any, things: Any, named: dict[str, Any]) -> Any:
    """``dict(things, **named)``, ``set(things)`` or ``frozenset(things)``."""
    if not isinstance(things, Iterable) or isinstance(things, TensorBase | ObjectVariable | str):
        return cls(things, **named)
    if cls is not dict:
        members = set_of(tracer, things)
        if cls is frozenset and is_open(members):
            return tracer.python_call(frozenset, (members,), kind=frozenset, effect=True)
        return members if cls is set else cls(members)
    if isinstance(things, dict) or hasattr(things, "keys"):
        seen_by(tracer, things)
        return dict(things, **named)
    if is_open(things):
        found = dict_of(tracer, things)
        for name, value in named.items():
            late_call(found.__setitem__, name, value)
        return found
    pairs = [tracer.snapshot(pair) for pair in things]
    if any(isinstance(pair, list | tuple) and len(pair) == 2 and holds_objects(pair[0]) for pair in pairs):
        return dict_of(tracer, [*pairs, *named.items()])
    seen_by(tracer, pairs, {})
    return dict(pairs, **named)


# Methods that are given whole containers, not one key.
_TAKE_MANY = frozenset({"update", "fromkeys", "subtract"})


def asked_for(tracer: Tracer, owner: Any, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a method of a dict or set, with what it hashes looked at; iterators as lists."""
    if not isinstance(owner, dict | set | frozenset):
        return args
    if name in ("add", "remove", "discard") or (isinstance(owner, dict) and name not in _TAKE_MANY):
        for arg in args[:1]:
            key(tracer, arg, owner)
        return args
    given = tuple(list(arg) if isinstance(arg, Iterator) and not tracer.is_outer(arg) else arg for arg in args)
    for arg in given:
        if isinstance(arg, list | tuple | dict | set | frozenset) and not is_open(arg):
            seen_by(tracer, arg, owner)
    return given


def seen_by(tracer: Tracer, things: Iterable[Any], owner: Any = ()) -> None:
    """Look at what a container takes over from another; of pairs, a dict takes the first as key."""
    pairs, met = isinstance(owner, dict) and not isinstance(things, dict), _parts(owner)
    for thing in _parts(things):
        if pairs and isinstance(thing, list | tuple) and len(thing) == 2:
            thing = thing[0]
        met.append(key(tracer, thing, met))


def rehashed(tracer: Tracer, container: Any) -> None:
    """Look at the keys of a dict or set that is copied: they are hashed anew."""
    seen_by(tracer, container)
    for thing in _parts(container):
        if _is_users(thing, "__hash__", "__eq__") and not _kind(container).__contains__(container, thing):
            _refuse("hash", thing, "gives something else than when the key was stored")


def _asked(tracer: Tracer, what: str, *things: Any) -> Any:
    """What ``hash(thing)`` or ``thing == other`` gives, known to be so in each run and to do nothing else."""
    effects, before = tracer.effects, Heap(list(things), tracer.is_outer)
    traced = late_call(hash, *things) if what == "hash" else late_call(bool, native.binary(tracer, "eq", *things))
    if tracer.effects != effects or before.changes():
        _refuse(what, things[-1], "does more than answer: Python would call it while tracing only")
    if isinstance(traced, TensorBase | ObjectVariable):
        _refuse(what, things[-1], "gives what is known only when the Program runs")
    now = hash(things[0]) if what == "hash" else bool(things[0] == things[1])
    if now != traced:
        _refuse(what, things[-1], "reads what this function has changed")
    return now


def _refuse(what: str, thing: Any, why: str) -> NoReturn:
    raise UnsupportedSyntaxError(
        f"{type(thing).__qualname__}.__{what}__, called for a key of a dict or member of a set, {why}", user_location(),
        "Use names or numbers as keys, or keep the function eager with @d2s.jit.not_to_static.", kind="U35")
