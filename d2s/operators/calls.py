"""What a call means while a function is traced: converted, run as it is, or an effect of the Program."""

from __future__ import annotations

import builtins
import contextlib
import functools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.op import Op
from d2s.errors import TracingError, UnsupportedSyntaxError, user_location
from d2s.operators import access, conversion, native, policy
from d2s.operators.control_flow import SymbolicRange, is_symbol, symbol_of
from d2s.operators.sources import Constant, is_layer, is_plain
from d2s.operators.tracer import Tracer, current_tracer
from d2s.static.variable import ObjectVariable, Variable

# Methods that change the container they belong to, and whether they give something back.
MUTATORS: dict[type, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"}),
    dict: frozenset({"update", "pop", "popitem", "clear", "setdefault"}),
    set: frozenset({"add", "discard", "remove", "pop", "clear", "update"}),
    deque: frozenset({"append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "clear", "rotate"}),
}
_GIVE_BACK = frozenset({"pop", "popitem", "setdefault", "popleft"})

# Packages whose functions compute only from their arguments.
_PURE = frozenset({
    "abc", "bisect", "builtins", "collections", "copy", "cmath", "dataclasses", "decimal", "enum", "fractions",
    "functools", "heapq", "inspect", "itertools", "json", "math", "numbers", "numpy", "operator", "re", "statistics",
    "string", "textwrap", "types", "typing", "_collections_abc", "_functools", "_operator", "_bisect", "_heapq",
    "_collections", "_struct", "struct", "copyreg", "contextlib", "pathlib", "posixpath", "warnings_", "weakref",
})
_EFFECTS_IN_BUILTINS = frozenset({"print", "open", "input", "exec", "eval", "breakpoint", "setattr", "delattr"})


def call(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``func(*args, **kwargs)`` in traced code."""
    tracer = current_tracer()
    if tracer is None:
        return func(*args, **kwargs)
    if isinstance(func, ObjectVariable):
        return func(*args, **kwargs)
    if isinstance(func, Op):
        return func(*args, **kwargs)
    special = _SPECIAL.get(func) if _is_hashable(func) else None
    if special is not None:
        return special(tracer, *args, **kwargs)
    if isinstance(func, FunctionType):
        return _call_function(tracer, func, args, kwargs)
    if isinstance(func, MethodType):
        return _call_method(tracer, func, args, kwargs)
    if isinstance(func, functools.partial):
        return call(func.func, *func.args, *args, **{**func.keywords, **kwargs})
    if isinstance(func, type):
        return _construct(tracer, func, args, kwargs)
    if isinstance(func, BuiltinFunctionType | np.ufunc) or type(func).__module__ == "builtins":
        return _call_builtin(tracer, func, args, kwargs)
    inline = getattr(type(func), "__d2s_inline__", None)
    if inline is not None:
        return inline(func, tracer, args, kwargs)
    if isinstance(func, functools._lru_cache_wrapper):
        return call(func.__wrapped__, *args, **kwargs)
    method = getattr(type(func), "__call__", None)
    if isinstance(method, FunctionType):
        tracer.read(Constant(type(func)), type(func))
        return call(MethodType(method, func), *args, **kwargs)
    return _call_unknown(tracer, func, args, kwargs)


def _is_hashable(func: Any) -> bool:
    return isinstance(func, BuiltinFunctionType | type | FunctionType)


# --- functions of the user ----------------------------------------------------------------------------------------


def _call_function(tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if "__d2s_nested__" in func.__dict__ or "__d2s_converted__" in func.__dict__:
        return func(*args, **kwargs)
    if policy.is_kept_eager(func):
        return _call_unknown(tracer, func, args, kwargs)
    if _is_context_manager_maker(func):
        return _context_manager(tracer, func, args, kwargs)
    if policy.is_convertible(func):
        converted = conversion.converted_for_tracing(func)
        if converted is not None:
            return converted(*args, **kwargs)
        return func(*args, **kwargs)
    if policy.is_own(func.__code__):
        return func(*_seen(tracer, args), **_seen_named(tracer, kwargs))
    return _call_library(tracer, func, args, kwargs)


def _call_method(tracer: Tracer, func: MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner, function = func.__self__, func.__func__
    if isinstance(function, FunctionType):
        if policy.is_own(function.__code__) and not isinstance(owner, TensorBase):
            return _call_own_method(tracer, func, args, kwargs)
        if policy.is_library(function.__code__) and tracer.is_outer(owner) and not isinstance(owner, type):
            # A method of a library may change what it belongs to.
            tracer.dirty[id(owner)] = owner
            return _call_unknown(tracer, func, args, kwargs)
        return _call_function(tracer, function, (owner, *args), kwargs)
    return call(function, owner, *args, **kwargs)


def _call_own_method(tracer: Tracer, func: MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a class of d2s: Layers are looked into, other objects act when the Program runs."""
    owner = func.__self__
    if tracer.is_outer(owner) and not is_layer(owner) and not isinstance(owner, type):
        result = _run_later(tracer, func, args, kwargs)
        tracer.tensors_may_change()
        return result
    return func(*_seen(tracer, args), **_seen_named(tracer, kwargs))


def _is_context_manager_maker(func: FunctionType) -> bool:
    return func.__code__ is _CONTEXT_MANAGER_CODE and hasattr(func, "__wrapped__")


@contextlib.contextmanager
def _sample() -> Iterator[None]:
    yield


_CONTEXT_MANAGER_CODE = _sample.__code__


def _context_manager(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A context manager made from a generator function: its body is converted too."""
    generator = func.__wrapped__

    @functools.wraps(generator)
    def traced(*inner: Any, **named: Any) -> Any:
        return call(generator, *inner, **named)

    return contextlib.contextmanager(traced)(*args, **kwargs)


def _construct(tracer: Tracer, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    init = getattr(cls, "__init__", None)
    plain_new = cls.__new__ is object.__new__
    if type(cls) is type and plain_new and isinstance(init, FunctionType) and policy.is_convertible(init):
        made = object.__new__(cls)
        call(init, made, *args, **kwargs)
        return made
    if cls.__module__ == "builtins" or policy.module_of(cls) in _PURE:
        return _call_builtin(tracer, cls, args, kwargs)
    return cls(*_seen(tracer, args), **_seen_named(tracer, kwargs))


# --- everything else ----------------------------------------------------------------------------------------------


def _call_builtin(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner = getattr(func, "__self__", None)
    name = getattr(func, "__name__", "")
    if owner is not None and not isinstance(owner, type(math)) and not isinstance(func, type):
        return _call_bound_builtin(tracer, func, owner, name, args, kwargs)
    module = policy.module_of(func)
    if module == "builtins" and name in _EFFECTS_IN_BUILTINS:
        return _call_unknown(tracer, func, args, kwargs)
    if module == "numpy" or isinstance(func, np.ufunc):
        if _holds_symbols(args) or _holds_symbols(kwargs):
            return _run_later(tracer, func, args, kwargs)
        return _call_with_older(tracer, func, args, kwargs)
    if module not in _PURE:
        return _call_unknown(tracer, func, args, kwargs)
    if _holds_objects(args) or (module in ("math", "cmath") and _holds_symbols(args)):
        return _run_later(tracer, func, args, kwargs)
    return _call_with_older(tracer, func, args, kwargs)


def _call_bound_builtin(
    tracer: Tracer, func: Any, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A method of a built-in type."""
    outer = tracer.is_outer(owner)
    for kind, mutators in MUTATORS.items():
        if isinstance(owner, kind) and name in mutators:
            if not outer:
                return func(*args, **kwargs)
            result = _run_later(tracer, func, args, kwargs)
            tracer.dirty[id(owner)] = owner
            return result if name in _GIVE_BACK else None
    if outer and id(owner) in tracer.dirty:
        return _run_later(tracer, func, args, kwargs)
    if outer and isinstance(owner, list | dict | set | tuple | deque):
        seen = tracer.snapshot(owner)
        return getattr(seen, name)(*_seen(tracer, args), **_seen_named(tracer, kwargs))
    if isinstance(owner, str | bytes) and (_holds_symbols(args) or _holds_symbols(kwargs)):
        return tracer.python_call(func, args, kwargs, kind=type(owner) if name in ("format", "join") else None, effect=True)
    module = type(owner).__module__.partition(".")[0]
    if module in _PURE and not (module == "numpy" and "random" in type(owner).__module__):
        if _holds_objects(args) or (isinstance(owner, np.ndarray) and outer):
            return _run_later(tracer, func, args, kwargs)
        return func(*_seen(tracer, args), **_seen_named(tracer, kwargs))
    if not outer and _is_generator(owner):
        return func(*args, **kwargs)
    return _call_unknown(tracer, func, args, kwargs)


def _call_with_older(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A library function that is pure, unless it is given something older that it may change or look deep into."""
    older = [arg for arg in (*args, *kwargs.values()) if tracer.is_outer(arg) and not _is_harmless(arg)]
    if any(id(arg) in tracer.dirty or not _is_flat(arg) for arg in older) or (older and _may_change(func)):
        for arg in older:
            if _may_change(func):
                tracer.dirty[id(arg)] = arg
        return _run_later(tracer, func, args, kwargs)
    return func(*_seen(tracer, args), **_seen_named(tracer, kwargs))


def _is_harmless(thing: Any) -> bool:
    """True for functions, classes, modules and tensors: nothing in them is read by a library function."""
    return callable(thing) or isinstance(thing, TensorBase | ModuleType)


def _is_flat(thing: Any) -> bool:
    """True for a container of plain values and tensors."""
    if isinstance(thing, dict):
        return all(is_plain(part) or isinstance(part, TensorBase) for part in thing.values())
    if isinstance(thing, list | tuple | set | frozenset | deque):
        return all(is_plain(part) or isinstance(part, TensorBase) for part in thing)
    return False


def _may_change(func: Any) -> bool:
    """True for library functions that write to an argument."""
    name, module = getattr(func, "__name__", ""), policy.module_of(func)
    owner = getattr(func, "__objclass__", None)
    if owner is not None:
        return any(issubclass(owner, kind) and name in names for kind, names in MUTATORS.items())
    if module in ("heapq", "_heapq"):
        return name not in ("nlargest", "nsmallest", "merge")
    if module in ("operator", "_operator"):
        return name in ("setitem", "delitem") or name.startswith("i") and name in _IN_PLACE
    return module in ("bisect", "_bisect") and name.startswith("insort")


_IN_PLACE = frozenset({"iadd", "iconcat", "imul", "iand", "ior", "ixor", "isub"})


def _is_generator(thing: Any) -> bool:
    return isinstance(thing, Iterator)


def _call_library(tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A Python function of the standard library or of an installed package."""
    module = policy.module_of(func)
    if module in _PURE:
        if module == "numpy" and (_holds_symbols(args) or _holds_symbols(kwargs)):
            return _run_later(tracer, func, args, kwargs)
        if module == "numpy" and "random" in func.__module__:
            return _call_unknown(tracer, func, args, kwargs)
        return _call_with_older(tracer, func, args, kwargs)
    if getattr(func, "__wrapped__", None) is not None and not policy.is_stdlib(module):
        return func(*_seen(tracer, args), **_seen_named(tracer, kwargs))
    if _holds_tensors(args) and not policy.is_stdlib(module):
        return func(*_seen(tracer, args), **_seen_named(tracer, kwargs))
    return _call_unknown(tracer, func, args, kwargs)


def _call_unknown(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that may do anything: it happens on every run, at its place."""
    result = _run_later(tracer, func, args, kwargs)
    if not policy.is_stdlib(policy.module_of(func)) and policy.module_of(func) not in ("builtins", "numpy"):
        tracer.tensors_may_change()
    return None if func in _GIVES_NONE or policy.module_of(func) in ("logging", "warnings") else result


_GIVES_NONE = (print, setattr, delattr)


def _run_later(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObjectVariable:
    return tracer.python_call(func, args, kwargs, effect=True)


def _holds_symbols(tree: Any) -> bool:
    return _holds(tree, (Variable, ObjectVariable, TensorBase))


def _holds_objects(tree: Any) -> bool:
    return _holds(tree, (ObjectVariable,))


def _holds_tensors(tree: Any) -> bool:
    return _holds(tree, (TensorBase,))


def _holds(tree: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(tree, kinds):
        return True
    if isinstance(tree, list | tuple | set):
        return any(_holds(part, kinds) for part in tree)
    if isinstance(tree, dict):
        return any(_holds(part, kinds) for part in tree.values())
    return False


def _seen(tracer: Tracer, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments for code that is not traced: older containers as guarded copies."""
    return tuple(tracer.snapshot(arg) if isinstance(arg, list | tuple | dict | set) else arg for arg in args)


def _seen_named(tracer: Tracer, kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: tracer.snapshot(arg) if isinstance(arg, list | tuple | dict | set) else arg
            for name, arg in kwargs.items()}


def iterable_of(tracer: Tracer, iterable: Any) -> Any:
    """What a loop in traced code runs over."""
    iterable = symbol_of(tracer, iterable)
    if is_symbol(iterable) or isinstance(iterable, SymbolicRange):
        return iterable
    native.refuse_outer_iterator(tracer, iterable)
    if id(iterable) in tracer.dirty:
        raise UnsupportedSyntaxError(
            "a loop over a container from outside that this function has changed", user_location(),
            "Loop over a copy made before the change.",
        )
    if tracer.is_outer(iterable) and isinstance(iterable, list | tuple | dict | set | frozenset):
        return tracer.snapshot(iterable)
    method = getattr(type(iterable), "__iter__", None)
    if isinstance(method, FunctionType) and policy.is_convertible(method):
        return call(MethodType(method, iterable))
    return iterable


def manager_of(tracer: Tracer, manager: Any) -> Any:
    """What a ``with`` statement in traced code enters: methods of the user's class are converted."""
    enter = getattr(type(manager), "__enter__", None)
    if isinstance(manager, ObjectVariable):
        raise UnsupportedSyntaxError(
            "a context manager that is known only when the Program runs cannot become a graph", user_location(),
            "Enter it outside the static function.",
        )
    if isinstance(enter, FunctionType) and policy.is_convertible(enter):
        return _Traced(manager)
    return manager


class _Traced:
    """A user's context manager whose methods are traced."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __enter__(self) -> Any:
        return call(MethodType(type(self.manager).__enter__, self.manager))

    def __exit__(self, *details: Any) -> Any:
        return call(MethodType(type(self.manager).__exit__, self.manager), *details)


# --- builtins that look at their arguments --------------------------------------------------------------------------


def _isinstance(tracer: Tracer, thing: Any, kinds: Any) -> bool:
    if isinstance(thing, Variable):
        tensor = tracer.outer_tensor(thing)
        shown: Any = type(tensor) if tensor is not None else _tensor_class()
        return issubclass(shown, kinds)
    if isinstance(thing, ObjectVariable):
        if thing.value.kind is None:
            raise TracingError(
                f"isinstance() of a value that is known only when the Program runs ({thing.value.name})",
                user_location())
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
    if isinstance(thing, ObjectVariable) or id(thing) in tracer.dirty:
        return tracer.python_call(len, (thing,), kind=int, effect=True)
    method = getattr(type(thing), "__len__", None)
    if isinstance(method, FunctionType) and policy.is_convertible(method):
        return call(MethodType(method, thing))
    tracer.guard_length(thing)
    return len(thing)


def _getattr(tracer: Tracer, thing: Any, name: str, *default: Any) -> Any:
    if default and not _hasattr(tracer, thing, name):
        return default[0]
    return access.attr(tracer, thing, name)


def _hasattr(tracer: Tracer, thing: Any, name: str) -> bool:
    if (id(thing), "attr", name) in tracer.pending:
        return True
    present = hasattr(thing, name)
    source = tracer.source_of(thing)
    if source is not None and not isinstance(thing, TensorBase):
        from d2s.operators.sources import Guard

        tracer.guards.add(
            Guard(source, f"hasattr({{v}}, {name!r}) is {present}", (), f"hasattr {name}: {present}"))
    return present


def _setattr(tracer: Tracer, thing: Any, name: str, value: Any) -> None:
    access.store_attr(tracer, thing, name, value)


def _delattr(tracer: Tracer, thing: Any, name: str) -> None:
    access.delete_attr(tracer, thing, name)


def _range(tracer: Tracer, *args: Any) -> Any:
    args = tuple(symbol_of(tracer, arg) for arg in args)
    if not any(map(is_symbol, args)):
        return range(*args)
    numbers = [ObjectVariable(tracer, tracer.truth_of(arg)) if isinstance(arg, Variable) else arg for arg in args]
    if len(numbers) == 1:
        return SymbolicRange(0, numbers[0], 1)
    return SymbolicRange(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 1)


def _number(kind: type) -> Callable[..., Any]:
    def convert(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and is_symbol(symbol_of(tracer, args[0])):
            thing = symbol_of(tracer, args[0])
            if isinstance(thing, Variable):
                thing = ObjectVariable(tracer, tracer.truth_of(thing))
            return thing if thing.value.kind is kind else tracer.python_call(kind, (thing,), kind=kind)
        return kind(*args, **kwargs)

    return convert


def _str(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
    if args and is_symbol(symbol_of(tracer, args[0])):
        return tracer.python_call(str, args, kwargs, kind=str, effect=True)
    return str(*args, **kwargs)


def _format(tracer: Tracer, *args: Any) -> Any:
    if args and is_symbol(symbol_of(tracer, args[0])):
        return tracer.python_call(format, args, kind=str, effect=True)
    return format(*args)


def _next(tracer: Tracer, iterator: Any, *default: Any) -> Any:
    native.refuse_outer_iterator(tracer, iterator)
    return next(iterator, *default)


def _vars(tracer: Tracer, *things: Any) -> Any:
    return access.attr(tracer, things[0], "__dict__") if things else vars()


def _super(tracer: Tracer, *args: Any) -> Any:
    return super(*args)


def _sum(tracer: Tracer, iterable: Any, *start: Any, **named: Any) -> Any:
    total = start[0] if start else named.get("start", 0)
    for part in iterable_of(tracer, iterable):
        total = total + part
    return total


def _any(tracer: Tracer, iterable: Any) -> Any:
    for part in iterable_of(tracer, iterable):
        if symbol_of(tracer, part):
            return True
    return False


def _all(tracer: Tracer, iterable: Any) -> Any:
    for part in iterable_of(tracer, iterable):
        if not symbol_of(tracer, part):
            return False
    return True


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """map, filter, sorted, min, max: the function they call is traced."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        def wrapped(inner: Any) -> Any:
            return None if inner is None else lambda *values: call(inner, *values)

        if function in (map, filter):
            return function(wrapped(args[0]), *(iterable_of(tracer, part) for part in args[1:]))
        if kwargs.get("key") is not None:
            kwargs["key"] = wrapped(kwargs["key"])
        if _holds_objects(args) and not kwargs:
            kind = _common_kind(args)
            return tracer.python_call(function, args, kind=kind)
        return function(*(iterable_of(tracer, part) for part in args), **kwargs)

    return traced


def _common_kind(args: tuple[Any, ...]) -> type | None:
    kinds = {part.value.kind if isinstance(part, ObjectVariable) else type(part) for part in args}
    return kinds.pop() if len(kinds) == 1 else None


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    """zip, enumerate, list, ...: what they run over is read through the trace."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], ObjectVariable):
            return tracer.python_call(function, args, kwargs, effect=True)
        seen = (iterable_of(tracer, part) if isinstance(part, Iterable) else part for part in args)
        return function(*seen, **kwargs)

    return traced


def _print(tracer: Tracer, *args: Any, **kwargs: Any) -> None:
    tracer.python_call(builtins.print, args, kwargs, effect=True)


def _callable(tracer: Tracer, thing: Any) -> bool:
    return callable(thing)


_SPECIAL: dict[Any, Callable[..., Any]] = {
    isinstance: _isinstance, type: _type, len: _len, getattr: _getattr, hasattr: _hasattr, setattr: _setattr,
    delattr: _delattr, range: _range, int: _number(int), float: _number(float), bool: _number(bool), str: _str,
    format: _format, super: _super, sum: _sum, any: _any, all: _all, print: _print, callable: _callable,
    next: _next, vars: _vars, map: _mapping(map), filter: _mapping(filter), sorted: _mapping(sorted), min: _mapping(min), max: _mapping(max),
    zip: _over(zip), enumerate: _over(enumerate), list: _over(list), tuple: _over(tuple), set: _over(set),
    reversed: _over(reversed), iter: _over(iter), dict: _over(dict), frozenset: _over(frozenset),
}

__all__ = ["call", "iterable_of", "manager_of"]
