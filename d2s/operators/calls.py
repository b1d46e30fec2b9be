"""What a call means while a function is traced: converted, run as it is, or an effect of the Program."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, cast

import numpy as np

from d2s.core.hooks import RemovableHandle
from d2s.core.interpreter import TensorBase
from d2s.core.op import Op
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import (
    access,
    builtin_functions,
    cached_functions,
    calls_in_the_run,
    changed_lists,
    classes,
    conversion,
    foreign_results,
    given_objects,
    items,
    layer_changes,
    layer_guards,
    layer_settings,
    libraries,
    made_once,
    making,
    native,
    older_arrays,
    open_functions,
    policy,
    protocols,
    unbound,
)
from d2s.operators.converted import is_converted
from d2s.operators.guards import function_guards, global_names, is_empty, is_layer, lookup, stores_outside
from d2s.operators.purity import EFFECTS_IN_BUILTINS
from d2s.operators.sources import Attribute, Constant
from d2s.operators.tracer import Tracer, current_tracer
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable


def call(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``func(*args, **kwargs)`` in traced code."""
    tracer = current_tracer()
    if tracer is None or isinstance(func, Op):
        return func(*args, **kwargs)
    if isinstance(func, ObjectVariable):
        handle = _handle_removed_by(tracer, func)
        if handle is not None and not args and not kwargs:
            return tracer.python_call(RemovableHandle.remove, (handle,), kind=bool, effect=True)
        # It may be the `remove` of any handle.
        tracer.layer_hooks.doubt()
        result = calls_in_the_run.call_of_run(tracer, func, args, kwargs)
        tracer.later_calls_may_change()
        return result
    replaced = builtin_functions.MEANING.get(func) if _is_hashable(func) else None
    if replaced is not None:
        return replaced(tracer, *args, **kwargs)
    if unbound.is_known(func):
        result = unbound.called(tracer, call, func, args, kwargs)
        if result is not NotImplemented:
            return result
    if isinstance(func, FunctionType):
        return _call_function(tracer, func, args, kwargs)
    if isinstance(func, MethodType):
        return _call_method(tracer, func, args, kwargs)
    if isinstance(func, functools.partial):
        return _call_partial(tracer, func, args, kwargs)
    if isinstance(func, _PICKERS) and len(args) == 1:
        return _pick(tracer, func, args[0])
    if isinstance(func, type):
        return made_once.note_birth(tracer, making.construct(tracer, func, args, kwargs))
    if isinstance(func, MethodWrapperType) and func.__name__ == "__call__" and isinstance(func.__self__, type):
        # Reached by the `super().__call__()` of a metaclass.
        return making.make(tracer, func.__self__, args, kwargs)
    if isinstance(func, BuiltinFunctionType | np.ufunc) or type(func).__module__ in ("builtins", "numpy"):
        return libraries.call_builtin(tracer, func, args, kwargs)
    inline = getattr(type(func), "__d2s_inline__", None)
    if inline is not None:
        return inline(func, tracer, args, kwargs)
    if isinstance(func, functools._lru_cache_wrapper):
        return cached_functions.call_cached(tracer, func, args, kwargs)
    own = access.special(tracer, func, "__call__")
    if own is not None:
        return call(own, *args, **kwargs)
    method = lookup(type(func), "__call__")
    if isinstance(method, FunctionType):
        return call(MethodType(method, func), *args, **kwargs)
    return libraries.call_unknown(tracer, func, args, kwargs)


def _handle_removed_by(tracer: Tracer, func: ObjectVariable) -> ObjectVariable | None:
    """The handle of a gradient hook of which `func` is the method `remove`; that raises nothing."""
    definition = tracer.definitions.get(func.value)
    if definition is None or definition[0].kind != "python":
        return None
    function, args, _ = definition[0].attrs["call"]
    is_remove = function is getattr and len(args) == 2 and args[1] == "remove"
    is_known = is_remove and isinstance(args[0], Value) and args[0].kind is RemovableHandle
    return ObjectVariable(tracer, args[0]) if is_known else None


def _is_hashable(func: Any) -> bool:
    return isinstance(func, BuiltinFunctionType | type | FunctionType | WrapperDescriptorType | MethodDescriptorType)


# --- functions of the user ----------------------------------------------------------------------------------------


def _call_function(tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if is_converted(func):
        tracer.calls += 1
        return tracer.generators.note(func(*args, **kwargs))
    if policy.is_kept_eager(func):
        return libraries.call_unknown(tracer, func, args, kwargs)
    if protocols.is_context_manager_maker(func):
        return protocols.context_manager(func, args, kwargs)
    if classes.is_single_dispatch(func) and args:
        return call(classes.dispatched(tracer, func, args[0]), *args, **kwargs)
    if policy.is_convertible(func) or policy.wraps_users(func) or is_traced_as_written(func):
        return _call_converted(tracer, func, args, kwargs)
    if policy.acts_when_run(func):
        result = libraries.run_later(tracer, func, args, kwargs)
        tracer.tensors_may_change()
        return result
    if policy.is_own(func.__code__):
        if args and is_layer(args[0]) and any(vars(base).get(func.__name__) is func for base in type(args[0]).__mro__):
            # A method of a Layer that is called by its class.
            return _call_own_method(tracer, MethodType(func, args[0]), args[1:], kwargs)
        if tracer.foreign_results.are_given(args, kwargs) and foreign_results.may_be_called(func):
            return foreign_results.call_own(tracer, func, args, kwargs)
        args = tuple(given_objects.as_operand(tracer, changed_lists.as_read(tracer, arg)) for arg in args)
        kwargs = {name: given_objects.as_operand(tracer, arg) for name, arg in kwargs.items()}
        if open_functions.are_given(args, kwargs):
            return open_functions.call_own(tracer, func, args, kwargs)
        return older_arrays.given(tracer, func, libraries.seen(tracer, args), libraries.seen_named(tracer, kwargs))
    return libraries.call_library(tracer, func, args, kwargs)


def _call_converted(tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tracer.calls += 1
    converted = conversion.converted_for_tracing(func)
    if converted is None:
        return _call_without_source(tracer, func, args, kwargs)
    for guard in function_guards(func):
        tracer.guards.add(guard)
    tracer.check_still(("code", id(func)), getattr, (func, "__code__"), func.__code__, f"code of {func.__name__}")
    args, kwargs = _with_defaults(tracer, func, args, kwargs)
    return tracer.generators.note(converted(*args, **kwargs))


def _with_defaults(
    tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the defaults that the call uses as the trace reads them."""
    code, defaults = func.__code__, func.__defaults__
    if len(args) >= code.co_argcount and not code.co_kwonlyargcount:
        return args, kwargs
    names = code.co_varnames[: code.co_argcount]
    place = Attribute(Constant(func), "__defaults__")
    if defaults is None or len(args) < code.co_argcount:
        tracer.read(place, defaults)
    kwargs = dict(kwargs)
    first = len(names) - len(defaults or ())
    for index in range(max(first, len(args)), len(names)):
        if names[index] in kwargs and index >= code.co_posonlyargcount:
            continue
        assert defaults is not None
        value = tracer.read_item(defaults, index - first, place)
        if index == len(args) and index < code.co_posonlyargcount:
            args = (*args, value)
        else:
            kwargs[names[index]] = value
    if code.co_kwonlyargcount:
        _keyword_defaults(tracer, func, kwargs)
    return args, kwargs


def _keyword_defaults(tracer: Tracer, func: FunctionType, kwargs: dict[str, Any]) -> None:
    place, held = Attribute(Constant(func), "__kwdefaults__"), func.__kwdefaults__
    tracer.read(place, held)
    code = func.__code__
    for name in code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]:
        if name not in kwargs and held is not None and name in held:
            kwargs[name] = tracer.read_item(held, name, place)


def _call_without_source(tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function made by `exec`: those of dataclasses are known; others must not see what is older."""
    if func.__name__ == "__eq__" and len(args) == 2 and dataclasses.is_dataclass(args[0]):
        return _equal_dataclasses(tracer, *args)
    if func.__name__ == "__hash__" and len(args) == 1 and dataclasses.is_dataclass(args[0]):
        names = [
            field.name for field in dataclasses.fields(args[0])
            if (field.compare if field.hash is None else field.hash)]
        return call(hash, tuple(access.attr(tracer, args[0], name) for name in names))
    dataclass = making.dataclass_of(func, args)
    if dataclass is not None:
        args, kwargs = _with_defaults(tracer, func, args, kwargs)
        return making.fill_dataclass(tracer, dataclass, func, args, kwargs)
    if any(tracer.is_outer(arg) and not callable(arg) for arg in (*args, *kwargs.values())) or not _stands_alone(func):
        return libraries.call_unknown(tracer, func, args, kwargs)
    args, kwargs = _with_defaults(tracer, func, args, kwargs)
    return func(*args, **kwargs)


def _stands_alone(func: FunctionType) -> bool:
    """True for code, of which only the byte code is known, that reads nothing outside but what cannot change."""
    names = set(global_names(func.__code__))
    held = [func.__globals__[name] for name in names if name in func.__globals__]
    for cell in func.__closure__ or ():
        if is_empty(cell):
            return False
        held.append(cell.cell_contents)
    fixed = (ModuleType, type, BuiltinFunctionType, type(dataclasses.MISSING))
    if not all(isinstance(thing, fixed) for thing in held):
        return False
    return names.isdisjoint(EFFECTS_IN_BUILTINS) and not stores_outside(func.__code__)


def _equal_dataclasses(tracer: Tracer, left: Any, right: Any) -> Any:
    if type(left) is not type(right):
        return NotImplemented
    names = [field.name for field in dataclasses.fields(left) if field.compare]
    parts = [tuple(access.attr(tracer, side, name) for name in names) for side in (left, right)]
    return native.binary(tracer, "eq", *parts)


def is_traced_as_written(func: FunctionType) -> bool:
    """True for functions of d2s that change what is older than the call."""
    return getattr(func, "__d2s_traced_as_written__", False)


def _call_method(tracer: Tracer, func: MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner, function = func.__self__, func.__func__
    if isinstance(owner, TensorBase) and func.__name__ in unbound.BY_FUNCTION:
        return call(unbound.BY_FUNCTION[func.__name__], owner, *args)
    if isinstance(function, FunctionType):
        if is_traced_as_written(function):
            return _call_function(tracer, function, (owner, *args), kwargs)
        if policy.is_own(function.__code__) and not isinstance(owner, TensorBase):
            return _call_own_method(tracer, func, args, kwargs)
        if policy.is_library(function.__code__) and tracer.is_outer(owner) and not isinstance(owner, type):
            # A method of a library may change what it belongs to.
            result = libraries.call_unknown(tracer, func, args, kwargs)
            tracer.changed(owner)
            return result
        return _call_function(tracer, function, (owner, *args), kwargs)
    return call(function, owner, *args, **kwargs)


_WRITERS: dict[str, Callable[..., None]] = {
    "__setattr__": access.store_plainly,
    "__delattr__": access.delete_plainly,
}


def _call_own_method(tracer: Tracer, func: MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a class of d2s: Layers are looked into, other objects act when the Program runs."""
    owner: Any = func.__self__
    if is_layer(owner):
        if func.__name__ in _WRITERS:
            # A method of the user's class of that name has called it.
            return _WRITERS[func.__name__](tracer, owner, *args, **kwargs)
        if tracer.is_outer(owner):
            if layer_changes.registers(tracer, func):
                return layer_changes.register(tracer, func, args, kwargs)
            layer_changes.check_unchanged(tracer, func, args, kwargs, _looked_at(owner, func.__name__))
        function = cast("FunctionType", func.__func__)
        if function.__name__ == "forward" and tracer.foreign_results.are_given(args, kwargs):
            return libraries.call_unknown(tracer, func, args, kwargs)
        if layer_guards.may_call_users_code(owner, function):
            return _call_converted(tracer, function, (owner, *args), kwargs)
        is_forward = func.__name__ == "forward"
        for layer in _looked_at(owner, func.__name__):
            if not tracer.layer_hooks.is_new(layer):
                tracer.remember(layer, Constant(layer))
                tracer.guard_layer(layer, True)
                # What it hands out is as old as it is.
                for below in layer._sub_layers.values():
                    if below is not None:
                        tracer.remember(below, Constant(below))
        if is_forward:
            args, kwargs = libraries.seen(tracer, args), libraries.seen_named(tracer, kwargs)
            with layer_settings.as_stored(tracer, owner):
                return older_arrays.given(tracer, func, args, kwargs)
    elif isinstance(owner, dict) and hasattr(type(owner), "tells_changes") and tracer.is_outer(owner):
        result = libraries.run_later(tracer, func, args, kwargs)
        tracer.changed(owner)
        return result
    elif tracer.is_outer(owner) and not isinstance(owner, type) and not hasattr(type(owner), "__d2s_acts_at_once__"):
        result = libraries.run_later(tracer, func, args, kwargs)
        tracer.tensors_may_change()
        return result
    elif policy.has_state(type(owner)) and not isinstance(owner, type):
        raise UnsupportedSyntaxError(
            f"a {type(owner).__name__} that is made inside of a static function, of a class of its own, cannot become "
            "a graph", user_location(), "Make it outside, and call its methods inside.", kind="U32")
    return older_arrays.given(tracer, func, libraries.seen(tracer, args), libraries.seen_named(tracer, kwargs))


# Methods that look at their Layer alone: those of containers tell what its table has.
_OF_ITSELF = frozenset({"forward", "__iter__", "__len__", "__getitem__", "__contains__", "keys", "values", "items"})


def _looked_at(layer: Any, method: str) -> list[Any]:
    """The Layers of a tree on which the result of a method of d2s may depend."""
    if "_sub_layers" not in layer.__dict__:
        # What is just being made has no structure yet.
        return []
    if method in _OF_ITSELF:
        return [layer]
    if method == "__call__":
        # What is called then sees to the Layer itself, once hooks have stored settings in it.
        only_calls = getattr(lookup(type(layer), "forward"), "__d2s_only_calls__", False)
        return [] if only_calls else list(layer.sublayers())
    return list(layer.sublayers(include_self=True))


def _call_partial(
    tracer: Tracer, func: functools.partial[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    first, named = func.args, func.keywords
    if tracer.is_outer(func):
        source = tracer.source_of(func)
        assert source is not None
        first = tracer.snapshot(tracer.read(Attribute(source, "args"), first))
        named = tracer.snapshot(tracer.read(Attribute(source, "keywords"), named))
    return call(func.func, *first, *args, **{**named, **kwargs})


_PICKERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def _pick(tracer: Tracer, picker: Any, thing: Any) -> Any:
    """``itemgetter(...)(thing)`` and its kin: what they look at is read through the trace."""
    made, given = picker.__reduce__()
    if isinstance(picker, operator.methodcaller):
        named = made.keywords if isinstance(made, functools.partial) else {}
        name, *args = (*made.args, *given) if isinstance(made, functools.partial) else given
        return call(access.attr(tracer, thing, name), *args, **named)
    if isinstance(picker, operator.itemgetter):
        found = [items.item(tracer, thing, index) for index in given]
    else:
        found = [
            functools.reduce(lambda held, name: access.attr(tracer, held, name), path.split("."), thing)
            for path in given]
    return found[0] if len(found) == 1 else tuple(found)
