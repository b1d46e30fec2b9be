"""What a trace takes for granted of the Layers that it uses.

What the tables of a Layer hold (parameters, buffers, sublayers, hooks) is compared only when `STRUCTURE.version` has
changed.  Other code may write past the attributes of a Layer, to its `__dict__`, which nothing tells of: so each call
compares that the tables are the same ones, and the settings that code of d2s reads.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import policy
from d2s.operators.equality import is_plain, same_thing
from d2s.operators.guards import REGISTRIES, Guard, guard_for, lookup
from d2s.operators.sources import Attribute, Constant, Held

# The first is that of the sublayers.
_TABLES = ("_sub_layers", "_forward_pre_hooks", "_forward_post_hooks")
# Attributes of all Layers that no class of a user is expected to have another meaning for.
_PLAIN = (*_TABLES, *REGISTRIES)
# What all Layers have.
_OF_ALL = frozenset({
    "_parameters", "_buffers", "_sub_layers", "_non_persistable_buffers", "training", "_dtype", "_names"})
_BELOW = frozenset({"_sub_layers", "children", "named_children", "sublayers", "named_sublayers", "modules"})
# Not part of a call.
_APART = frozenset({"__init__", "extra_repr", "__repr__"})


def guards_of(layer: Any, whole: bool, stored: frozenset[str]) -> Iterator[Guard]:
    """The conditions on a Layer besides those of what its own traced code reads.

    `whole` is True for a Layer that is used by code of d2s itself, which is not converted: then they are on everything
    that code reads; of its tensors, on their names: they are found by path.  What the trace has `stored` before does
    not count, whatever it was.
    """
    source, held = Constant(layer), layer.__dict__
    methods = list(_methods(type(layer))) if whole else []
    names = names_read(type(layer)) if whole else frozenset()
    forward = lookup(type(layer), "forward")
    is_of_d2s = whole and isinstance(forward, FunctionType) and policy.is_own(forward.__code__)
    # Layers of d2s that are no containers do not look whether they have sublayers.
    is_leaf = is_of_d2s and not held["_sub_layers"] and names.isdisjoint(_BELOW)
    tables = _TABLES[is_leaf:]
    parts = [f"{{d}}[{name!r}] is {{k{number}}}" if isinstance(path_to(layer, name), Held) else
             f"{{v}}.{name} is {{k{number}}}" for number, name in enumerate(tables)]
    if is_of_d2s:
        # Nothing has come that hides a method, or an entry of a table.
        parts.append(f"len({{d}}) == {len(held)}")
    yield Guard(source, " and ".join(parts), tuple(held[name] for name in tables), "its tables", is_live=True)
    for module, name, function in _functions_of_modules(methods):
        yield Guard(Attribute(Constant(module), name), "{v} is {k0}", (function,), f"{name} of {module.__name__}")
    for name in sorted(names & held.keys() - {*_TABLES, *REGISTRIES} - stored):
        yield _setting(path_to(layer, name), held[name])
    state = layer_state(layer, whole, stored)
    yield Guard(source, "{k1}({v}, {k2}, {k3}, {k0})", (state, same_state, whole, stored), "its layers and hooks")


def path_to(layer: Any, name: str) -> Attribute:
    """The path to an attribute that a Layer holds itself.

    A Layer is not asked for what code of d2s reads of it: Python looks for `__getattr__` first, and takes three times
    as long.  That its classes give the name no other meaning is what `class_guards` say.
    """
    cls = type(layer)
    is_known = name in _PLAIN or not policy.is_of_user(cls)
    if is_known and not any(name in base.__dict__ for base in cls.__mro__):
        return Held(Constant(layer), name)
    return Attribute(Constant(layer), name)


def class_guards(cls: type) -> Iterator[Guard]:
    """The conditions that `path_to` finds what asking the Layer would."""
    for base in cls.__mro__[:-1]:
        if policy.is_of_user(base):
            template = " and ".join(f"{name!r} not in {{d}}" for name in _PLAIN if name not in base.__dict__)
            shown = "without the tables of a Layer"
        else:
            # Names come to it, if ever, for a test; none goes.
            template, shown = f"len({{d}}) == {len(base.__dict__)}", "as d2s has made it"
        yield Guard(Constant(base), template or "True", (), shown, is_live=True)


def _setting(source: Attribute, value: Any) -> Guard:
    """The condition that a setting is as it was, also by what it holds."""
    if isinstance(value, list | tuple | dict | set) and not is_plain(value):
        content = frozen(value)
        return Guard(source, "{k1}({k2}({v}), {k0})", (content, same_thing, frozen), repr(content), is_live=True)
    if isinstance(value, TensorBase):
        # Code of d2s reaches it by no path.
        return Guard(source, "{v} is {k0}", (value,), "the same tensor", is_live=True)
    found = guard_for(source, value)
    assert found is not None
    return found.made_live()


def frozen(value: Any) -> Any:
    """What nested containers hold, as tuples that begin with their types; of another thing, itself."""
    if isinstance(value, list | tuple | set):
        return type(value), *map(frozen, value)
    return (dict, *map(frozen, value.items())) if isinstance(value, dict) else value


def names_read(cls: type) -> frozenset[str]:
    """The names that methods of d2s in `cls` read."""
    found = _names.get(cls)
    if found is None:
        found = _names[cls] = frozenset(name for method in _methods(cls) for name in _names_in(method.__code__))
    return found


_names: weakref.WeakKeyDictionary[type, frozenset[str]] = weakref.WeakKeyDictionary()


def _methods(cls: type) -> Iterator[FunctionType]:
    """The methods of d2s in `cls`, and in its bases below the class of all Layers, that a call may come to."""
    for base in cls.__mro__:
        if "call_traced" in base.__dict__:
            break
        for name, member in base.__dict__.items():
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if isinstance(function, FunctionType) and policy.is_own(function.__code__) and name not in _APART:
                yield function


def _functions_of_modules(methods: Iterable[FunctionType]) -> Iterator[tuple[ModuleType, str, FunctionType]]:
    """What code of Layers calls by the names that users call it by, ``F.linear``: they may put another one there."""
    for method in methods:
        names = set(_names_in(method.__code__))
        for module in map(method.__globals__.get, names):
            if isinstance(module, ModuleType):
                for name in sorted(names & vars(module).keys()):
                    function = getattr(module, name)
                    if isinstance(function, FunctionType):
                        yield module, name, function


def may_call_users_code(layer: Any, method: Any) -> bool:
    """True if this method of d2s may call code of the user, put in the place of a function of d2s or in the Layer."""
    methods = list(_methods(type(layer)))
    if not any(method is known for known in methods):
        return False
    called = [function for _, _, function in _functions_of_modules(methods)]
    below = [lookup(type(inner), "__call__") for inner in layer._sub_layers.values() if inner is not None]
    given = [_function_of(value) for name, value in layer.__dict__.items() if name != "forward"]
    # What a class of the user has in the place of a method or setting.
    over = [lookup(type(layer), name) for name in names_read(type(layer))] if policy.is_of_user(type(layer)) else []
    over = [getattr(member, "fget", None) or getattr(member, "__func__", member) for member in over]
    return any(
        isinstance(function, FunctionType) and policy.is_convertible(function)
        for function in (*called, *below, *given, *over))


def _function_of(value: Any) -> Any:
    """What is run when a setting is called."""
    if isinstance(value, FunctionType | type) or not callable(value):
        return value
    value = value.func if isinstance(value, functools.partial) else value
    return getattr(value, "__func__", None) or lookup(type(value), "__call__")


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def layer_state(layer: Any, whole: bool, stored: frozenset[str]) -> tuple[Any, ...]:
    """What the tables of hooks hold; with `whole`, everything that the Layer does, but for what is `stored` in it."""
    held = layer.__dict__
    hooks = tuple(held["_forward_pre_hooks"]), tuple(held["_forward_post_hooks"])
    return (*hooks, *held_by(layer, stored)) if whole else hooks


def held_by(layer: Any, stored: frozenset[str]) -> tuple[Any, ...]:
    """What code of d2s may read of a Layer, but for its hooks and what is `stored`; of its tensors, the names."""
    found: list[Any] = []
    read = (names_read(type(layer)) | _OF_ALL) - stored
    for name, value in layer.__dict__.items():
        if name not in read:
            # Something of the user's.
            continue
        if name in REGISTRIES:
            value = {key: part is None for key, part in value.items()}
        found.append((name, tuple(value.items()) if isinstance(value, dict) else value))
    return tuple(found)


def same_state(layer: Any, whole: bool, stored: frozenset[str], expected: tuple[Any, ...]) -> bool:
    """True if `layer_state` is what it was: plain values the same, other objects identical."""
    return same_thing(layer_state(layer, whole, stored), expected)
