"""What traced code asks about classes: `type`, `isinstance`, `issubclass`, `callable`, and dispatch by class."""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType, UnionType
from typing import Any, get_args

from d2s.errors import TracingError, UnsupportedSyntaxError, user_location
from d2s.operators import made_once, native, policy
from d2s.operators.converted import is_converted
from d2s.operators.guards import Guard, lookup
from d2s.operators.late_call import late_call
from d2s.operators.outside import MUTABLE_CLASS
from d2s.operators.sources import Attribute, Constant
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable

# What is an instance of these in a run is one in eager mode, whatever the trace makes of it.
_TOLD = (int, float, complex, bool, str, bytes, type(None))


def type_of(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
    """``type(thing)``: of what stands for something, the type of that; with three arguments, a new class."""
    if len(args) != 1 or kwargs:
        return made_once.note(tracer, type(*args, **kwargs))
    found = _class_of(tracer, args[0])
    return tracer.python_call(type, args, effect=True) if found is None else found


def _class_of(tracer: Tracer, thing: Any) -> Any:
    """The class that `thing` has in eager mode; None if it is known only when the Program runs."""
    if isinstance(thing, Variable):
        tensor = tracer.outer_tensor(thing)
        return type(tensor) if tensor is not None else _tensor_class()
    if isinstance(thing, ObjectVariable):
        return thing.value.kind
    tracer.guard_type(thing)
    return type(thing)


def _tensor_class() -> type:
    from d2s.eager.tensor import Tensor

    return Tensor


def _known_class(tracer: Tracer, thing: Any, use: str) -> Any:
    cls = _class_of(tracer, thing)
    if cls is None:
        raise TracingError(
            f"{use} of a value that is known only when the Program runs ({thing.value.name})", user_location(),
            kind="T08")
    return cls


def is_instance(tracer: Tracer, thing: Any, kinds: Any) -> Any:
    """``isinstance(thing, kinds)``."""
    if tracer.foreign_results.is_one(thing):
        return tracer.python_call(isinstance, (thing, kinds), kind=bool, effect=True)
    if _class_of(tracer, thing) is None and all(any(kind is cls for cls in _TOLD) for kind in _flat(kinds)):
        return tracer.python_call(isinstance, (thing, tuple(_flat(kinds))), kind=bool, effect=True)
    cls = _known_class(tracer, thing, "isinstance()")
    is_symbol = isinstance(thing, Variable | ObjectVariable)
    for kind in _flat(kinds):
        if cls is kind:
            return True
        check = _users_check(tracer, kind, "__instancecheck__")
        if check is not None:
            found = native.truth(tracer, late_call(check, thing))
        else:
            found = issubclass(cls, kind) if is_symbol else isinstance(thing, kind)
            _guard_kind(tracer, cls, kind, thing)
        if found:
            return found
    return False


def is_subclass(tracer: Tracer, cls: Any, kinds: Any) -> Any:
    """``issubclass(cls, kinds)``."""
    for kind in _flat(kinds):
        check = _users_check(tracer, kind, "__subclasscheck__")
        if check is not None:
            found = native.truth(tracer, late_call(check, cls))
        else:
            found = issubclass(cls, kind)
            _guard_kind(tracer, cls, kind)
        if found:
            return found
    return False


def _flat(kinds: Any) -> Iterator[Any]:
    if isinstance(kinds, tuple):
        for kind in kinds:
            yield from _flat(kind)
    elif isinstance(kinds, UnionType):
        yield from get_args(kinds)
    else:
        yield kinds


def _users_check(tracer: Tracer, kind: Any, name: str) -> MethodType | None:
    """What the user's metaclass of `kind` defines for the question."""
    check = lookup(type(kind), name)
    if isinstance(check, FunctionType) and policy.is_convertible(check):
        tracer.guard_held(type(kind), name)
        return MethodType(check, kind)
    return None


def _guard_kind(tracer: Tracer, cls: type, kind: Any, thing: Any = None) -> None:
    """Note that the trace depends on whether `cls` is a `kind`."""
    if lookup(type(kind), "__subclasscheck__") is type.__dict__["__subclasscheck__"]:
        if cls.__flags__ & MUTABLE_CLASS and policy.is_of_user(cls):
            tracer.read(Attribute(Constant(cls), "__mro__"), cls.__mro__, getattr, cls, "__mro__")
        return
    # Classes may be registered with an abstract one at any time; protocols ask what an object has.
    named = getattr(kind, "__qualname__", kind)
    source = tracer.source_of(thing)
    if source is not None and lookup(type(kind), "__instancecheck__") not in _BY_CLASS:
        known = isinstance(thing, kind)
        tracer.require(Guard(
            source, f"isinstance({{v}}, {{k0}}) is {known}", (kind,), f"{named}: {known}", is_live=True), thing)
        return
    known = issubclass(cls, kind)
    tracer.guards.add(Guard(Constant(cls), f"issubclass({{v}}, {{k0}}) is {known}", (kind,), f"{named}: {known}"))


# What answers ``isinstance`` by the class alone.
_BY_CLASS = (type.__instancecheck__, abc.ABCMeta.__instancecheck__)


def is_callable(tracer: Tracer, thing: Any) -> Any:
    """``callable(thing)``."""
    if isinstance(thing, ObjectVariable):
        return tracer.python_call(callable, (thing,), kind=bool, effect=True)
    if not isinstance(thing, type | Variable | ObjectVariable) and policy.is_of_user(type(thing)):
        tracer.guard_class(thing, "__call__")
    return callable(thing)


# --- classes made inside ---------------------------------------------------------------------------------------------


def check_base(cls: Any) -> None:
    """Refuse a base or metaclass that runs code of the user when a class is made from it: it is not traced."""
    if not isinstance(cls, type):
        return
    makers = cls if issubclass(cls, type) else type(cls)
    for held, names in ((cls, ("__init_subclass__",)), (makers, ("__prepare__", "__new__", "__init__"))):
        for name in names:
            _check_maker(lookup(held, name))


def check_members(members: Mapping[str, Any]) -> None:
    """Refuse a member of a class whose `__set_name__` runs code of the user when the class is made."""
    for member in members.values():
        _check_maker(lookup(type(member), "__set_name__"))


def _check_maker(found: Any) -> None:
    function = getattr(found, "__func__", found)
    # Code of this trace itself is seen.
    if isinstance(function, FunctionType) and not is_converted(function) and policy.is_convertible(function):
        raise UnsupportedSyntaxError(
            f"a class made inside: {function.__qualname__} acts when it is made", user_location(),
            "Make the class outside of the static function.", kind="U28")


# --- functools.singledispatch ---------------------------------------------------------------------------------------


def is_single_dispatch(func: FunctionType) -> bool:
    """True for what `functools.singledispatch` makes of a function."""
    return func.__code__ is _DISPATCHER_CODE and hasattr(func, "dispatch")


@functools.singledispatch
def _sample(thing: Any) -> None:
    """Only its code is looked at."""


_DISPATCHER_CODE = _sample.__code__  # type: ignore[attr-defined]


def dispatched(tracer: Tracer, func: Any, first: Any) -> Any:
    """The function that is registered with `func` for the class of its first argument."""
    cls = _known_class(tracer, first, "dispatch by the class")
    found = func.dispatch(cls)
    tracer.guards.add(Guard(
        Constant(func), "{v}.dispatch({k0}) is {k1}", (cls, found), f"{found.__qualname__} for {cls.__qualname__}"))
    return found
