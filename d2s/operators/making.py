"""How objects are made in traced code: what classes of the user do for it is traced."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Iterator
from types import FunctionType, MemberDescriptorType, MethodType
from typing import Any

from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import access, libraries, made_once, new_state, older_arrays, policy
from d2s.operators.guards import is_layer, lookup
from d2s.operators.late_call import late_call
from d2s.operators.purity import PURE
from d2s.operators.sources import Constant
from d2s.operators.symbols import holds_symbols
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable


def construct(tracer: Tracer, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``cls(*args, **kwargs)``."""
    tracer.guard_held(type(cls), "__call__")
    maker = lookup(type(cls), "__call__")
    if maker is type.__dict__["__call__"]:
        return make(tracer, cls, args, kwargs)
    if _is_written_by_user(maker):
        return late_call(MethodType(maker, cls), *args, **kwargs)
    if issubclass(cls, enum.Enum) and len(args) == 1 and not kwargs and not holds_symbols(args):
        return _member(tracer, cls, args[0])
    return _made_by_library(tracer, cls, args, kwargs)


def _member(tracer: Tracer, cls: type[enum.Enum], value: Any) -> Any:
    """The member of an enum for a value; what the user makes of values that it does not have is traced."""
    missing: Any = getattr(lookup(cls, "_missing_"), "__func__", None)
    if _is_written_by_user(missing) and not isinstance(value, cls) and all(value != member.value for member in cls):
        found = late_call(MethodType(missing, cls), value)
        if isinstance(found, cls):
            return found
    member = cls(value)
    tracer.remember(member, Constant(member))
    return member


def make(tracer: Tracer, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same by ``type.__call__``, whatever a metaclass does."""
    if issubclass(cls, BaseException) and _is_written_by_user(lookup(cls, "__init__")):
        tracer.guard_held(cls, "__init__")
        made = cls.__new__(cls, *args, **kwargs)
        tracer.note_made(made)
        _initialise(lookup(cls, "__init__"), made, args, kwargs)
        return made
    if _is_written_by_user(lookup(cls, "__del__")):
        raise UnsupportedSyntaxError(
            f"a {cls.__name__} is made inside, whose __del__ is called when nobody has it any more: what is made while "
            "a function is traced goes at another time than in the run", user_location(),
            "Make it outside, or call what __del__ does by a name.", kind="U40")
    if _is_users(cls):
        new, init = lookup(cls, "__new__"), lookup(cls, "__init__")
        for name in ("__new__", "__init__"):
            tracer.guard_held(cls, name)
        if isinstance(new, staticmethod):
            made = late_call(new.__func__, cls, *args, **kwargs)
        elif new is object.__dict__["__new__"] and isinstance(init, FunctionType):
            made = object.__new__(cls)
        else:
            made = cls.__new__(cls, *libraries.seen(tracer, args), **libraries.seen_named(tracer, kwargs))
        if isinstance(made, cls):
            if is_layer(made):
                new_state.note_layer(tracer, made)
            else:
                tracer.note_made(made)
            if isinstance(init, FunctionType):
                _initialise(init, made, args, kwargs)
            else:
                init(made, *libraries.seen(tracer, args), **libraries.seen_named(tracer, kwargs))
        return made
    return _made_by_library(tracer, cls, args, kwargs)


def _initialise(init: Any, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call the `__init__` of the user's class."""
    result = late_call(init, made, *args, **kwargs)
    if result is not None and not isinstance(result, ObjectVariable):
        raise TypeError(f"__init__() should return None, not '{late_call(type, result).__name__}'")


def _made_by_library(tracer: Tracer, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    module = policy.module_of(cls)
    if module in PURE or issubclass(cls, BaseException) or not _is_of_library(cls, module):
        if module in PURE:
            return made_once.note_result(tracer, cls, args, libraries.call_builtin(tracer, cls, args, kwargs))
        if module == "d2s" and policy.has_state(cls):
            if any(tracer.outer_tensor(tensor) is None for tensor in _tensors_in((args, kwargs))):
                raise UnsupportedSyntaxError(
                    "an optimizer of tensors that a static function makes cannot become a graph", user_location(),
                    "Make the tensors and the optimizer outside, and call step() inside.", kind="U32")
            tracer.anything_may_change()
            return libraries.made_later(tracer, cls, args, kwargs)
        made = older_arrays.given(
            tracer, cls, libraries.seen(tracer, args), libraries.seen_named(tracer, kwargs))
        return made_once.note_result(tracer, cls, args, made)
    # Each call makes another, which may be changed.
    return libraries.made_later(tracer, cls, args, kwargs)


def _tensors_in(tree: Any) -> Iterator[Variable]:
    if isinstance(tree, Variable):
        yield tree
    elif isinstance(tree, list | tuple | dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _tensors_in(part)


def _is_of_library(cls: type, module: str) -> bool:
    """True for a class of the standard library, or of an installed package."""
    if policy.is_stdlib(module):
        return True
    init = lookup(cls, "__init__")
    return isinstance(init, FunctionType) and policy.is_library(init.__code__) and not policy.is_own(init.__code__)


def _is_written_by_user(function: Any) -> bool:
    return isinstance(function, FunctionType) and policy.is_convertible(function)


def _is_users(cls: type) -> bool:
    """True for a class whose making of objects is Python code of the user, or that of `object`."""
    if issubclass(cls, BaseException):
        return False
    makers = [lookup(cls, name) for name in ("__init__", "__new__")]
    functions = [found.__func__ if isinstance(found, staticmethod) else found for found in makers]
    written = [found for found in functions if isinstance(found, FunctionType)]
    if not written:
        # Made by C code, if not by that of `object`.
        return makers == [object.__init__, object.__dict__["__new__"]] and policy.module_of(cls) not in _LIBRARIES
    return all(map(policy.is_convertible, written))


_LIBRARIES = frozenset({"builtins", "d2s", "numpy"})


# --- dataclasses ----------------------------------------------------------------------------------------------------


def dataclass_of(func: FunctionType, args: tuple[Any, ...]) -> type | None:
    """The dataclass for which Python has generated `func` as ``__init__``, without source; None if it is no such."""
    for base in type(args[0]).__mro__ if args and func.__name__ == "__init__" else ():
        if base.__dict__.get("__init__") is func and "__dataclass_fields__" in base.__dict__:
            return base
    return None


def fill_dataclass(
    tracer: Tracer, cls: Any, init: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """What the generated ``__init__`` of a dataclass does; factories and ``__post_init__`` are traced."""
    try:
        given = inspect.signature(init).bind(*args, **kwargs).arguments
    except TypeError:
        # In the words of Python.
        init(*args, **kwargs)
        raise
    made, fields = args[0], cls.__dict__["__dataclass_fields__"].values()
    frozen = cls.__dataclass_params__.frozen
    passed_on = []
    for field in fields:
        found = _value_of(cls, field, given)
        if field._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]
            passed_on.append(found)
        elif found is not dataclasses.MISSING:
            (access.store_plainly if frozen else access.store_attr)(tracer, made, field.name, found)
    if "__post_init__" in init.__code__.co_names:
        late_call(access.attr(tracer, made, "__post_init__"), *passed_on)


def _value_of(cls: type, field: Any, given: dict[str, Any]) -> Any:
    """What a field gets; MISSING if nothing."""
    found = given[field.name] if field.init and field.name in given else dataclasses.MISSING
    if field.default_factory is not dataclasses.MISSING:
        is_missing = found is dataclasses.MISSING or found is dataclasses._HAS_DEFAULT_FACTORY  # type: ignore[attr-defined]
        return late_call(field.default_factory) if is_missing else found
    if found is dataclasses.MISSING and isinstance(cls.__dict__.get(field.name), MemberDescriptorType):
        # With slots there is no class attribute to hold a default.
        return field.default
    return found
