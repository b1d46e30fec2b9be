"""Calls of code that is not traced: what computes only from its arguments runs while tracing, the rest when the
Program runs.

What such code is given from outside it would read without the trace noticing: older containers are handed over as
guarded copies, and anything else makes the call wait for the run.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import logging
import math
import sys
from collections import ChainMap, OrderedDict, deque
from types import BuiltinMethodType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.errors import Location, TracingError, UnsupportedSyntaxError, user_location
from d2s.operators import coroutines, given_away, made_once, places, policy, users_code
from d2s.operators.asked_numbers import in_call
from d2s.operators.equality import is_plain
from d2s.operators.guards import is_layer
from d2s.operators.older_arrays import holds_older_content, know
from d2s.operators.open_elements import forget_elements, open_up
from d2s.operators.open_items import OPENED, is_open
from d2s.operators.purity import (
    ACT_IN_NUMPY,
    EFFECTS_IN_BUILTINS,
    EFFECTS_IN_PURE,
    PURE,
    computes_only,
    is_ufunc_of_user,
    names_nothing,
    runs_no_code_of_user,
)
from d2s.operators.sources import Constant
from d2s.operators.surroundings import note_decimals, refuse_context, refuse_looking_around
from d2s.operators.symbols import holds_objects, holds_symbols, holds_tensors
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable

# Methods that only look at the container they belong to; all others may change it.
READERS: dict[type, frozenset[str]] = {
    dict: frozenset({"get", "items", "keys", "values", "copy", "__getitem__", "__contains__", "__len__", "__iter__",
                     "__eq__", "__ne__", "__or__", "__ror__", "__reversed__", "fromkeys", "most_common", "elements"}),
    list: frozenset({"copy", "count", "index", "__getitem__", "__contains__", "__len__", "__iter__", "__eq__", "__ne__",
                     "__add__", "__mul__", "__rmul__", "__lt__", "__le__", "__gt__", "__ge__", "__reversed__"}),
    set: frozenset({"copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "union",
                    "symmetric_difference", "__contains__", "__len__", "__iter__", "__eq__", "__ne__", "__and__",
                    "__or__", "__sub__", "__xor__", "__le__", "__lt__", "__ge__", "__gt__"}),
    deque: frozenset({"copy", "count", "index", "__getitem__", "__contains__", "__len__", "__iter__", "__eq__",
                      "__reversed__"}),
}


# Functions of `operator` that are statements, and what these are while tracing.
_STATEMENTS = {"getitem": "item", "setitem": "store_item", "delitem": "delete_item"}

_KEEP: tuple[type, ...] = (functools.partial, SimpleNamespace, slice)

# Classes that hand on what they are given.
_HAND_ON = (
    itertools.chain, itertools.cycle, itertools.zip_longest, itertools.product, itertools.pairwise,
    itertools.permutations, itertools.combinations, itertools.islice,
)

# And those that ask a function of the user about it.
_CALL_AND_HAND_ON = (
    itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.filterfalse, functools.reduce)

# Containers that hold what they are given.
_HOLD = (deque, OrderedDict)

# Modules whose functions look at all that a container holds, and at all that is in it.
_LOOK_DEEP = frozenset({"json", "copy", "dataclasses", "statistics", "pprint"})

# Library functions that call the functions they are given at once: those are traced.
_CALL_THEIR_ARGUMENTS = (
    functools.reduce, itertools.accumulate, itertools.starmap, itertools.takewhile, itertools.dropwhile,
    itertools.filterfalse, itertools.groupby, heapq.nlargest, heapq.nsmallest, heapq.merge,
)


# What runs over its arguments: modules all functions and classes of which do so, and others.
_ITERATING = frozenset({"itertools", "heapq", "_heapq", "math", "statistics", "collections", "_collections"})
_RUN_OVER = (functools.reduce, bytes, bytearray)

# Modules of which all functions do so.
_CALLING = frozenset({"re", "bisect", "_bisect", "statistics"})


def call_builtin(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function, class or method that is written in C."""
    owner = getattr(func, "__self__", None)
    name = getattr(func, "__name__", "")
    if func == object.__new__ and len(args) == 1 and not kwargs:
        made = object.__new__(args[0])
        if not is_layer(made):
            tracer.note_made(made)
        return made
    if owner is not None and not isinstance(owner, type(math)) and not isinstance(func, type):
        from d2s.operators.bound_methods import call_bound

        return call_bound(tracer, func, owner, name, args, kwargs)
    if func is MethodType and not holds_objects(args):
        return func(*args)
    module = policy.module_of(func)
    if module == "_operator" and name in _STATEMENTS and not kwargs:
        from d2s.operators import items

        return getattr(items, _STATEMENTS[name])(tracer, *args)
    if module == "_operator" and name in _IN_PLACE and len(args) == 2 and not kwargs:
        from d2s.operators import items

        return items.augmented(tracer, name, *args)
    if func in (sys.exc_info, getattr(sys, "exception", None)):
        # What is handled while tracing is what is handled on this path of the program.
        return func()
    if module == "decimal":
        refuse_context(name)
        note_decimals(tracer)
    if func is eval and len(args) == 1 and names_nothing(args[0]):
        return eval(args[0], {})
    if func is eval and len(args) > 1 and not tracer.is_outer(args[1]):
        func = evaluated_apart
    if isinstance(func, np.vectorize) or is_ufunc_of_user(func):
        return call_unknown(tracer, func, args, kwargs)
    if (module == "builtins" and name in EFFECTS_IN_BUILTINS) or name in EFFECTS_IN_PURE:
        return call_unknown(tracer, func, args, kwargs)
    if module == "numpy" and "random" in func.__module__:
        # Each call makes a generator anew, or goes on with that of NumPy.
        return made_later(tracer, func, args, kwargs) if isinstance(func, type) else call_unknown(
            tracer, func, args, kwargs)
    if module == "numpy" and name in ACT_IN_NUMPY:
        if tracer.late_arrays.is_fresh(args):
            tracer.late_arrays.need()
        return call_unknown(tracer, func, args, kwargs)
    if module == "numpy" or isinstance(func, np.ufunc):
        check_unwritten(tracer, kwargs.get("out"), args, kwargs)
        if holds_symbols(args) or holds_symbols(kwargs):
            return run_later(tracer, func, args, kwargs)
        return _call_with_older(tracer, func, args, kwargs)
    if module not in PURE:
        return call_unknown(tracer, func, args, kwargs)
    if isinstance(func, type) and (issubclass(func, BaseException) or func in _KEEP):
        # They keep these very objects.
        return func(*args, **kwargs)
    if func is ChainMap and any(map(tracer.is_outer, args[:1])):
        raise UnsupportedSyntaxError(
            "a ChainMap of a dict from outside would write to a copy of it", user_location(),
            "Make it outside, or with an empty dict first: ChainMap({}, ...).", kind="U05")
    if func is MappingProxyType and tracer.is_outer(args[0]):
        return func(tracer.run_over(args[0]))
    args, kwargs = in_call(tracer, func, args, kwargs)
    if func is itertools.repeat and not holds_objects(args[1:]) and not kwargs:
        # It gives this very object.
        return func(*args)
    if any(func is known for known in _HAND_ON) and not any(isinstance(arg, ObjectVariable) for arg in args[1:]):
        return _call_with_older(tracer, func, args, kwargs)
    if holds_objects(args) or holds_objects(kwargs) or (module in ("math", "cmath") and holds_symbols(args)):
        return _call_with_objects(tracer, func, args, kwargs)
    return _call_with_older(tracer, func, args, kwargs)


def _call_with_objects(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A library function that is pure, or changes its first argument, given what only the run knows."""
    changed = args[0] if args and may_change(func) else None
    if changed is not None and tracer.is_outer(changed):
        result = run_later(tracer, func, args, kwargs)
        tracer.changed(changed)
        return result
    if type(changed) in OPENED:
        # What it holds from now on, only the run knows.
        tracer.check_not_frozen(changed)
        open_up(tracer, changed)
    if type(changed) is list and policy.module_of(func) in _ORDERING:
        from d2s.operators.open_functions import call_ordering

        return call_ordering(tracer, func, args, kwargs)
    if is_open(changed):
        forget_elements(changed)
    return run_later(tracer, func, args, kwargs)


_OF_NUMBERS = frozenset({"math", "cmath", "statistics"})
_ORDERING = frozenset({"heapq", "_heapq", "bisect", "_bisect"})
_OF_ANY_ITERABLE = frozenset({"nlargest", "nsmallest", "merge"})

def _tells_later(tracer: Tracer, thing: Any) -> bool:
    from d2s.operators.native import tells_later

    return tells_later(tracer, thing)


def traced(func: Any) -> Any:
    """A function of the user for library code that calls it at once."""
    from d2s.operators.builtin_functions import MEANING

    if not callable(func) or (isinstance(func, type) and func not in MEANING):
        return func

    def run(*args: Any, **kwargs: Any) -> Any:
        from d2s.operators.calls import call

        return call(func, *args, **kwargs)

    return run


def run_over(tracer: Tracer, thing: Any) -> Any:
    """What code that is not traced runs over: an object of the user's class is asked for its items as in a loop."""
    from d2s.operators import access
    from d2s.operators.protocols import iterable_of

    # Of a mapping such code asks more.
    is_users = not hasattr(type(thing), "keys") and access.special(tracer, thing, "__iter__") is not None
    return iterable_of(tracer, thing) if is_users else thing


def _call_with_older(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A library function that is pure, unless it is given something older that it may change or look deep into."""
    module = policy.module_of(func)
    if module in _ITERATING or any(func is known for known in _RUN_OVER):
        args = tuple(run_over(tracer, arg) for arg in args)
    changes = may_change(func)
    if changes and args and tracer.is_outer(args[0]):
        result = run_later(tracer, func, args, kwargs)
        tracer.changed(args[0])
        return result
    older = [arg for arg in (*args, *kwargs.values()) if tracer.is_outer(arg) and not _is_harmless(arg)]
    handed = (*args, *kwargs.values())
    if isinstance(func, FunctionType) and module not in _ITERATING and (
            users_code.is_asked_for_what_is_missing(tracer, handed)):
        return run_later(tracer, func, args, kwargs)
    if module in _OF_NUMBERS and users_code.run_by(tracer, func, args, kwargs):
        # It asks what is in its arguments for numbers.
        return run_later(tracer, func, args, kwargs)
    if module in _LOOK_DEEP and any(_tells_later(tracer, arg) for arg in (*args, *kwargs.values())):
        return run_later(tracer, func, args, kwargs)
    if module == "numpy" and any(holds_older_content(tracer, arg) for arg in (*args, *kwargs.values())):
        # It takes what is in a list for what is in an array.
        return run_later(tracer, func, args, kwargs)
    hands_on = any(func is known for known in (*_HAND_ON, *_HOLD)) or (
        any(func is known for known in _CALL_AND_HAND_ON) and all(map(callable, args[:1]))) or (
        func is itertools.accumulate and (len(args) > 1 or "func" in kwargs))
    if not changes and any(id(arg) in tracer.dirty or not (hands_on or _is_flat(arg)) for arg in older):
        if isinstance(func, FunctionType) and args and isinstance(args[0], dict) and not tracer.is_outer(args[0]) and (
                func.__name__ not in READERS[dict]):
            raise UnsupportedSyntaxError(
                f"{func.__name__}() of a {type(args[0]).__name__} made inside is given something that this function "
                "has changed, or of which only the run knows what is in it", user_location(),
                "Give it a copy that was made before the change.", kind="U04")
        return run_later(tracer, func, args, kwargs)
    if isinstance(func, type) and issubclass(func, dict):
        from d2s.operators import items

        args = tuple(items.of_the_user(tracer, arg) for arg in args)
    if func is itertools.compress and len(args) > 1:
        # It asks what is in the second one whether it is true; the next one does so without a function.
        over = tracer.run_over(args[1]) if tracer.is_outer(args[1]) else args[1]
        args = (args[0], map(traced(bool), over))
    if func is itertools.filterfalse and args[0] is None:
        args = (bool, *args[1:])
    looks = module in _CALLING
    if looks or any(func is known for known in _CALL_THEIR_ARGUMENTS):
        given = if_known if looks else _if_users
        args = tuple(map(given, args))
        kwargs = {name: given(arg) for name, arg in kwargs.items()}
    if isinstance(func, type) and issubclass(func, dict):
        from d2s.operators import keys

        args = keys.asked_for(tracer, {}, "update", args)
    if module in _ORDERING and func.__name__ not in _OF_ANY_ITERABLE and not kwargs:
        from d2s.operators.special_methods import in_heap

        # What it writes to was made inside; it compares what that holds.
        know(tracer, *args)
        return in_heap(tracer, func, (args[0] if changes else tracer.snapshot(args[0]), *args[1:]))
    if changes:
        return func(*args, **kwargs)
    if module == "numpy" or isinstance(func, np.ufunc):
        return tracer.late_arrays.call(func, seen(tracer, args), seen_named(tracer, kwargs))
    if module == "itertools":
        inner = _as_it_is if hands_on else tracer.snapshot_deeply
        args = tuple(
            tracer.run_over(arg) if isinstance(arg, _RUN_OVER_LATER) and tracer.is_outer(arg)
            else inner(arg) for arg in args)
        return func(*args, **{name: inner(arg) for name, arg in kwargs.items()})
    if func is functools.reduce:
        return func(args[0], tracer.snapshot(args[1]), *args[2:])
    if hands_on:
        return func(*map(tracer.snapshot, args), **{name: tracer.snapshot(arg) for name, arg in kwargs.items()})
    return called(tracer, func, args, kwargs)


def _as_it_is(thing: Any) -> Any:
    return thing


# What iterators see the later changes of.
_RUN_OVER_LATER = (list, dict, set, deque)


def check_unwritten(tracer: Tracer, array: Any, *given: Any) -> None:
    """Begin the trace anew if an array made inside is about to be written with what only the run knows."""
    if tracer.late_arrays.is_fresh(array) and any(
            holds_symbols(part) or holds_older_content(tracer, part) for part in given):
        tracer.late_arrays.need()


def _if_users(arg: Any) -> Any:
    return traced(arg) if callable(arg) and not isinstance(arg, TensorBase) else arg


def if_known(arg: Any) -> Any:
    """The same for a library that looks at what the function gives."""
    called = _if_users(arg)
    if called is arg or isinstance(arg, type):
        return arg

    def run(*args: Any, **kwargs: Any) -> Any:
        result = called(*args, **kwargs)
        if holds_symbols(result):
            raise TracingError(
                f"what {getattr(arg, '__qualname__', 'a function')} gives to a library needs a Python value that is "
                "known only when the Program runs", _place_of(arg), kind="T02")
        return result

    return run


def _place_of(function: Any) -> Location | None:
    code = getattr(function, "__code__", None)
    return user_location() if code is None else Location(code.co_filename, code.co_firstlineno)


def _is_harmless(thing: Any) -> bool:
    """True for functions, classes, modules and tensors: nothing in them is read by a library function."""
    return isinstance(thing, FunctionType | MethodType | type | TensorBase | ModuleType) or (
        callable(thing) and type(thing).__module__ in ("builtins", "functools", "numpy"))


def _is_flat(thing: Any) -> bool:
    """True for a container of plain values and tensors."""
    if isinstance(thing, dict):
        return all(is_plain(part) or isinstance(part, TensorBase) for part in thing.values())
    if isinstance(thing, list | tuple | set | frozenset | deque):
        return all(is_plain(part) or isinstance(part, TensorBase) for part in thing)
    return False


def may_change(func: Any) -> bool:
    """True for library functions that write to an argument."""
    name, module = getattr(func, "__name__", ""), policy.module_of(func)
    owner = getattr(func, "__objclass__", None)
    if owner is not None:
        return any(issubclass(owner, kind) and name not in names for kind, names in READERS.items())
    if module in ("heapq", "_heapq"):
        return name not in ("nlargest", "nsmallest", "merge")
    if module in ("operator", "_operator"):
        return name in ("setitem", "delitem") or name in _IN_PLACE
    return module in ("bisect", "_bisect") and name.startswith("insort")


_IN_PLACE = frozenset({"iadd", "iconcat", "imul", "iand", "ior", "ixor", "isub"})


def call_library(tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A Python function of the standard library or of an installed package."""
    module = policy.module_of(func)
    if func is logging.getLogger and not holds_objects(args):
        logger = func(*args, **kwargs)
        # Loggers live as long as the process: this one is found again under its name.
        tracer.remember(logger, Constant(logger))
        return logger
    if module == "collections" and args and hasattr(args[0], "_fields"):
        # A method of a named tuple takes apart, or makes, nothing but that.
        return called(tracer, func, args, kwargs)
    if coroutines.is_run(func, args) and not tracer.is_outer(args[0]):
        return coroutines.run(args[0])
    if module == "pdb" and func.__name__ == "set_trace":
        return places.stop_in_debugger(tracer, **kwargs)
    if computes_only(func):
        if holds_objects(args) or holds_objects(kwargs):
            return run_later(tracer, func, args, kwargs)
        if module == "numpy" and (holds_symbols(args) or holds_symbols(kwargs)):
            return run_later(tracer, func, args, kwargs)
        if module == "numpy" and ("random" in func.__module__ or func.__name__ in ACT_IN_NUMPY):
            return call_unknown(tracer, func, args, kwargs)
        return made_once.note_result(tracer, func, args, _call_with_older(tracer, func, args, kwargs))
    if getattr(func, "__wrapped__", None) is not None and not policy.is_stdlib(module):
        return called(tracer, func, args, kwargs)
    if holds_tensors(args) and not policy.is_stdlib(module):
        return called(tracer, func, args, kwargs)
    return call_unknown(tracer, func, args, kwargs)


def evaluated_apart(text: Any, names: Any, *more: Any) -> Any:
    """What `eval` gives, which leaves something behind in the dict that it is given."""
    return eval(text, dict(names), *more)


def call_unknown(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that may do anything: it happens on every run, at its place."""
    refuse_looking_around(func, args, kwargs)
    given = (*args, *kwargs.values())
    if runs_no_code_of_user(func):
        from d2s.operators.calls_in_the_run import library_later

        result = library_later(tracer, func, args, kwargs)
    else:
        if tracer.late_arrays.is_fresh([*given]):
            tracer.late_arrays.need()
        with given_away.watched(tracer, given):
            result = run_later(tracer, func, args, kwargs)
        for arg in given:
            if isinstance(arg, list | dict | set | deque) and tracer.is_outer(arg):
                tracer.changed(arg)
        tracer.anything_may_change()
    if isinstance(func, FunctionType | MethodType | functools._lru_cache_wrapper) and not runs_no_code_of_user(func):
        tracer.foreign_results.add(result)
    return None if _gives_nothing(func) else result


def made_later(tracer: Tracer, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObjectVariable:
    """An object of a library that each run makes anew."""
    if policy.is_of_user(cls) or any(map(_is_users_function, (*args, *kwargs.values()))):
        # Its methods may do anything, and other threads may call them.
        tracer.anything_may_change()
    tracer.effects += 1
    return tracer.python_call(cls, args, kwargs, kind=cls, effect=True)


def _is_users_function(thing: Any) -> bool:
    return isinstance(thing, FunctionType | MethodType) and not policy.is_library(thing.__code__)


def _gives_nothing(func: Any) -> bool:
    return func in (print, setattr, delattr) or (policy.module_of(func) == "logging" and func.__name__ in _LOG)


_LOG = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})


def run_later(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObjectVariable:
    """A call that is an effect of the Program."""
    tracer.effects += 1
    given = func
    module = policy.module_of(func)
    kind = _RESULTS.get((module, getattr(func, "__name__", "")))
    if module == "logging":
        func = places.from_user_line(func)
    if tracer.attempts and isinstance(func, BuiltinMethodType) and type(func.__self__) in (list, dict, set, deque):
        # As what the run can try on a copy.
        func, args = getattr(type(func.__self__), func.__name__), (func.__self__, *args)
    with users_code.watched(tracer, given, args, kwargs):
        return tracer.python_call(func, args, kwargs, kind=kind, effect=True)


# What well-known functions give.
_RESULTS: dict[tuple[str, str], type] = {
    **dict.fromkeys([("random", name) for name in ("random", "uniform", "gauss", "normalvariate")], float),
    **dict.fromkeys([("random", name) for name in ("randint", "randrange", "getrandbits")], int),
    **dict.fromkeys([("time", name) for name in ("time", "perf_counter", "monotonic", "process_time")], float),
    **dict.fromkeys([("time", name) for name in ("time_ns", "perf_counter_ns", "monotonic_ns")], int),
}


def called(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call code that is not traced while tracing; older containers that it hands on are these themselves."""
    return tracer.handed_back(func(*seen(tracer, args), **seen_named(tracer, kwargs)))


def seen(tracer: Tracer, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments for code that is not traced: older containers as guarded copies."""
    return tuple(map(tracer.snapshot_deeply, args))


def seen_named(tracer: Tracer, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The same for keyword arguments."""
    return {name: tracer.snapshot_deeply(arg) for name, arg in kwargs.items()}


