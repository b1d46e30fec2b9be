"""Built-in functions that look at their arguments, as they are meant in traced code."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.errors import TracingError, user_location
from d2s.operators import access, copies, native, open_lists, places
from d2s.operators.control_flow import SymbolicRange, for_loop, is_symbol, symbol_of
from d2s.operators.libraries import holds_objects, run_later
from d2s.operators.libraries import traced as traced_call
from d2s.operators.open_items import is_open
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable


def _iterable(tracer: Tracer, iterable: Any) -> Any:
    from d2s.operators.protocols import iterable_of

    return iterable_of(tracer, iterable)


def _call(function: Any, *args: Any) -> Any:
    from d2s.operators.calls import call

    return call(function, *args)


def _isinstance(tracer: Tracer, thing: Any, kinds: Any) -> bool:
    if isinstance(thing, Variable):
        tensor = tracer.outer_tensor(thing)
        shown: Any = type(tensor) if tensor is not None else _tensor_class()
        return issubclass(shown, kinds)
    if isinstance(thing, ObjectVariable):
        if thing.value.kind is None:
            raise TracingError(
                f"isinstance() of a value that is known only when the Program runs ({thing.value.name})",
                user_location(), kind="T08")
        return issubclass(thing.value.kind, kinds)
    return isinstance(thing, kinds)


def _tensor_class() -> type:
    from d2s.eager.tensor import Tensor

    return Tensor


def _type(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], Variable):
        tensor = tracer.outer_tensor(args[0])
        return type(tensor) if tensor is not None else _tensor_class()
    if len(args) == 1 and isinstance(args[0], ObjectVariable) and args[0].value.kind is not None:
        return args[0].value.kind
    return type(*args, **kwargs)


def _len(tracer: Tracer, thing: Any) -> Any:
    if isinstance(thing, Variable) and thing.spec.shape and not isinstance(thing.spec.shape[0], int):
        return thing.shape[0]
    tracer.check_untouched(thing)
    if isinstance(thing, ObjectVariable) or is_open(thing) or id(thing) in tracer.dirty:
        return tracer.python_call(len, (thing,), kind=int, effect=True)
    method = None if isinstance(thing, TensorBase) else access.special(tracer, thing, "__len__")
    if method is not None:
        return _call(method)
    tracer.guard_length(thing)
    return len(thing)


def _getattr(tracer: Tracer, thing: Any, name: str, *default: Any) -> Any:
    if default and not access.has_attr(tracer, thing, name):
        return default[0]
    return access.attr(tracer, thing, name)


def _setattr(tracer: Tracer, thing: Any, name: str, value: Any) -> None:
    access.store_attr(tracer, thing, name, value)


def _delattr(tracer: Tracer, thing: Any, name: str) -> None:
    access.delete_attr(tracer, thing, name)


def _range(tracer: Tracer, *args: Any) -> Any:
    args = tuple(symbol_of(tracer, arg) for arg in args)
    if not any(map(is_symbol, args)):
        return range(*args)
    numbers = [ObjectVariable(tracer, tracer.truth_of(arg)) if isinstance(arg, Variable) else arg for arg in args]
    tracer.needed_by_python(*numbers)
    if len(numbers) == 1:
        return SymbolicRange(0, numbers[0], 1)
    return SymbolicRange(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 1)


def _number(kind: type) -> Callable[..., Any]:
    def convert(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        if kind is bool and len(args) == 1:
            args = (native.truth(tracer, args[0]),)
        if len(args) == 1 and is_symbol(symbol_of(tracer, args[0])):
            thing = symbol_of(tracer, args[0])
            if isinstance(thing, Variable):
                thing = ObjectVariable(tracer, tracer.truth_of(thing, f"{kind.__name__}()"))
            return thing if thing.value.kind is kind else tracer.python_call(kind, (thing,), kind=kind)
        return kind(*args, **kwargs)

    return convert


def _text(function: Callable[..., Any]) -> Callable[..., Any]:
    """str, repr, format: what an older object or a symbol says of itself is asked for when the Program runs."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        if any(native.tells_later(tracer, arg) for arg in args):
            return tracer.python_call(function, args, kwargs, kind=str, effect=True)
        return function(*args, **kwargs)

    return traced


def _identity(tracer: Tracer, thing: Any) -> Any:
    """id(): of what stands for something else while tracing, and of objects made inside, it is another in each run."""
    if isinstance(thing, TensorBase | ObjectVariable) or not tracer.is_outer(thing):
        return tracer.python_call(id, (thing,), kind=int, effect=True)
    return run_later(tracer, id, (thing,), {})


def _hash(tracer: Tracer, thing: Any) -> Any:
    method = None if isinstance(thing, TensorBase | ObjectVariable) else access.special(tracer, thing, "__hash__")
    if method is not None:
        return _call(method)
    if native.is_plain(thing) and not holds_objects(thing):
        return hash(thing)
    return tracer.python_call(hash, (thing,), kind=int, effect=True)


def _next(tracer: Tracer, iterator: Any, *default: Any) -> Any:
    native.refuse_outer_iterator(tracer, iterator)
    return next(iterator, *default)


def _vars(tracer: Tracer, *things: Any) -> Any:
    return access.attr(tracer, things[0], "__dict__") if things else vars()


def _super(tracer: Tracer, *args: Any) -> Any:
    return super(*args)


def _sum(tracer: Tracer, iterable: Any, *start: Any, **named: Any) -> Any:
    total = start[0] if start else named.get("start", 0)

    def add(part: Any) -> None:
        nonlocal total
        total = native.binary(tracer, "add", total, part)

    for_loop(tracer, _iterable(tracer, iterable), add, None)
    return total


def _any(tracer: Tracer, iterable: Any) -> Any:
    return any(native.truth(tracer, symbol_of(tracer, part)) for part in _iterable(tracer, iterable))


def _all(tracer: Tracer, iterable: Any) -> Any:
    return all(native.truth(tracer, symbol_of(tracer, part)) for part in _iterable(tracer, iterable))


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """map, filter, sorted, min, max: the function they call is traced."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        def wrapped(inner: Any) -> Any:
            return None if inner is None else traced_call(inner)

        if function in (map, filter):
            return function(wrapped(args[0]), *(_iterable(tracer, part) for part in args[1:]))
        if len(args) == 1 and is_open(args[0]) and kwargs.get("key") is None:
            if function is sorted:
                return open_lists.copied(tracer, sorted, args[0], **kwargs)
            return open_lists.smallest(tracer, function, args[0], **kwargs)
        if kwargs.get("key") is not None:
            kwargs["key"] = wrapped(kwargs["key"])
        if holds_objects(args) and not kwargs:
            kind = _common_kind(args)
            return tracer.python_call(function, args, kind=kind)
        return function(*(_iterable(tracer, part) for part in args), **kwargs)

    return traced


def _common_kind(args: tuple[Any, ...]) -> type | None:
    kinds = {part.value.kind if isinstance(part, ObjectVariable) else type(part) for part in args}
    return kinds.pop() if len(kinds) == 1 else None


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    """zip, enumerate, list, ...: what they run over is read through the trace."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        if function is list and args and isinstance(args[0], SymbolicRange):
            return open_lists.numbers(tracer, args[0])
        if args and isinstance(args[0], ObjectVariable):
            return tracer.python_call(function, args, kwargs, effect=True)
        if args and function is list and is_open(args[0]):
            return open_lists.copied(tracer, list, args[0])
        parts = open_lists.parts_of(tracer, args) if function in (zip, enumerate, reversed, iter) else None
        if parts is not None:
            return _over_parts(tracer, function, parts, args[1:], **kwargs)
        if args and function in (list, tuple, dict, set, frozenset) and id(args[0]) in tracer.dirty:
            # What it holds by then is known when the Program runs.
            return tracer.python_call(function, args, kwargs, kind=function, effect=True)
        if function is dict and args and tracer.is_outer(args[0]) and not isinstance(args[0], dict):
            return tracer.python_call(dict, args, kwargs, effect=True)
        seen = (_iterable(tracer, part) if isinstance(part, Iterable) else part for part in args)
        return function(*seen, **kwargs)

    return traced


def _over_parts(tracer: Tracer, function: Any, parts: Any, more: tuple[Any, ...], start: Any = 0) -> Any:
    """The same where only the run knows how much there is."""
    if function is enumerate:
        return open_lists.Parts(tracer, parts, start=start)
    if function is reversed:
        return open_lists.Parts(tracer, parts, is_backward=True)
    return parts


def _divmod(tracer: Tracer, left: Any, right: Any) -> Any:
    if any(isinstance(part, ObjectVariable) for part in (left, right)):
        return native.binary(tracer, "floordiv", left, right), native.binary(tracer, "mod", left, right)
    return divmod(left, right)


def _setattr_plainly(tracer: Tracer, thing: Any, name: str, value: Any) -> None:
    access.store_plainly(tracer, thing, name, value)


def _print(tracer: Tracer, *args: Any, **kwargs: Any) -> None:
    tracer.python_call(builtins.print, args, kwargs, effect=True)


def _callable(tracer: Tracer, thing: Any) -> bool:
    return callable(thing)


# What stands in for each of them.
MEANING: dict[Any, Callable[..., Any]] = {
    isinstance: _isinstance, type: _type, len: _len, getattr: _getattr, hasattr: access.has_attr, setattr: _setattr,
    delattr: _delattr, range: _range, int: _number(int), float: _number(float), bool: _number(bool),
    str: _text(str), repr: _text(repr), format: _text(format), id: _identity, hash: _hash,
    super: _super, divmod: _divmod, sum: _sum, any: _any, all: _all, print: _print, callable: _callable,
    object.__setattr__: _setattr_plainly, next: _next, vars: _vars, map: _mapping(map),
    filter: _mapping(filter), sorted: _mapping(sorted), min: _mapping(min), max: _mapping(max),
    zip: _over(zip), enumerate: _over(enumerate), list: _over(list), tuple: _over(tuple), set: _over(set),
    reversed: _over(reversed), iter: _over(iter), dict: _over(dict), frozenset: _over(frozenset),
    copy.copy: copies.shallow_copy, copy.deepcopy: copies.deep_copy, dataclasses.replace: copies.replaced,
    warnings.warn: places.warn, breakpoint: places.stop_in_debugger,
}
