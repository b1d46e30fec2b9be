"""``f(*things)`` where only the run knows how many things there are.

How many a function of the user takes by name is known: as many of the things are its arguments, on the paths on which
there are so many, and what is left over is a tuple of the run.  Other functions are called by the run.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

from d2s.operators import libraries, policy
from d2s.operators.converted import is_converted
from d2s.operators.guards import lookup
from d2s.operators.open_functions import Spread
from d2s.operators.open_items import refuse
from d2s.operators.purity import runs_no_code_of_user
from d2s.operators.run_time import counted
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable

_BY_NAME = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# Their results are used up as they are read.
_LAZY = (zip, map, filter, enumerate, reversed)


def is_spread(args: Sequence[Any]) -> bool:
    """True if some arguments are as many as only the run knows."""
    return any(type(arg) is Spread for arg in args)


def call_spread(tracer: Tracer, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``func(*args, **kwargs)``."""
    from d2s.operators.calls import call

    tracer.foreign_results.are_used = True
    if tracer.foreign_results.are_numbers:
        refuse("a list whose length only the run knows is spread out in a call")
    first = next(place for place, arg in enumerate(args) if type(arg) is Spread)
    known, rest = args[:first], _one_by_one(tracer, args[first:])
    parameters = _parameters(func)
    if parameters is None:
        return _called_later(tracer, func, known, rest, kwargs)
    by_name = [part for part in parameters if part.kind in _BY_NAME][first:]
    by_name = [part for part in by_name if part.name not in kwargs]
    takes_more = any(part.kind is inspect.Parameter.VAR_POSITIONAL for part in parameters)
    least, most = sum(part.default is part.empty for part in by_name), len(by_name)
    rest = _noted(tracer, tracer.python_call(counted, (rest, *_taking(func, first, kwargs)), effect=True))
    length = tracer.python_call(len, (rest,), kind=int, effect=True) if least < most else None
    for count in range(least, most):
        if tracer.decide(tracer.python_call(operator.eq, (length, count), kind=bool)):
            return call(func, *known, *(_part(tracer, rest, place) for place in range(count)), **kwargs)
    more = (Spread(_part(tracer, rest, slice(most, None))),) if takes_more else ()
    return call(func, *known, *(_part(tracer, rest, place) for place in range(most)), *more, **kwargs)


def tuple_of(tracer: Tracer, given: tuple[Any, ...]) -> Any:
    """What ``*given`` holds in a function: a tuple of the run, if that is all that is known."""
    if not is_spread(given):
        return given
    return _noted(tracer, tracer.python_call(tuple, (_one_by_one(tracer, given),), kind=tuple, effect=True))


def _one_by_one(tracer: Tracer, args: Sequence[Any]) -> ObjectVariable:
    """All that is given, as a list of the run."""
    parts = tuple(arg.things if type(arg) is Spread else (arg,) for arg in args)
    return _noted(tracer, tracer.python_call(joined, parts, effect=True))


def joined(*parts: Sequence[Any]) -> list[Any]:
    """All that is in `parts`."""
    return [one for part in parts for one in part]


def _part(tracer: Tracer, things: ObjectVariable, index: Any) -> ObjectVariable:
    return _noted(tracer, tracer.python_call(operator.getitem, (things, index), effect=True))


def _noted(tracer: Tracer, result: ObjectVariable) -> ObjectVariable:
    tracer.foreign_results.add(result)
    return result


def _parameters(func: Any) -> list[inspect.Parameter] | None:
    """Those of a callable of the user whose code is traced; None for another one."""
    inner = func
    while isinstance(inner, functools.partial | MethodType):
        inner = inner.func if isinstance(inner, functools.partial) else inner.__func__
    if isinstance(inner, type):
        is_users = policy.is_of_user(inner)
    else:
        is_users = isinstance(inner, FunctionType) and (is_converted(inner) or policy.is_convertible(inner))
    if not is_users:
        return None
    if getattr(inner, "__name__", "") == "<lambda>" and inner.__code__.co_flags & inspect.CO_VARARGS:
        refuse("a list whose length only the run knows is spread out for a lambda with `*`")
    return list(inspect.signature(func).parameters.values())


def _taking(func: Any, before: int, kwargs: dict[str, Any]) -> tuple[FunctionType, int, tuple[str, ...]]:
    """A function that takes what `func` takes and does nothing; how much it is given before, and what by name."""
    names = dict.fromkeys(kwargs)
    while not isinstance(func, FunctionType):
        if isinstance(func, functools.partial):
            before, names = before + len(func.args), {**dict.fromkeys(func.keywords), **names}
            func = func.func
            continue
        before += 1
        makers = (lookup(func, "__init__"), lookup(func, "__new__")) if isinstance(func, type) else (func.__func__,)
        func = next((maker for maker in makers if isinstance(maker, FunctionType)), None)
        if func is None:
            refuse("a list whose length only the run knows is spread out for a class without `__init__`")
    code, kinds = func.__code__, inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    count = code.co_argcount + code.co_kwonlyargcount + (code.co_flags & kinds).bit_count()
    takes = _nothing.__code__.replace(
        co_argcount=code.co_argcount, co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount, co_nlocals=count, co_varnames=code.co_varnames[:count],
        co_flags=_nothing.__code__.co_flags | (code.co_flags & kinds))
    made = FunctionType(takes, {}, func.__name__, func.__defaults__)
    made.__kwdefaults__, made.__qualname__ = func.__kwdefaults__, func.__qualname__
    return made, before, tuple(names)


def _nothing() -> None:
    pass


def _called_later(
    tracer: Tracer, func: Any, known: tuple[Any, ...], rest: ObjectVariable, kwargs: dict[str, Any]
) -> Any:
    """A call of code that is not traced: the run does it."""
    if runs_no_code_of_user(func):
        result: Any = libraries.run_later(tracer, called, (func, known, rest, kwargs), {})
    else:
        result = libraries.call_unknown(tracer, called, (func, known, rest, kwargs), {})
    return None if func is print else _noted(tracer, result)


def called(func: Any, known: tuple[Any, ...], rest: list[Any], kwargs: dict[str, Any]) -> Any:
    """``func(*known, *rest, **kwargs)``."""
    result = func(*known, *rest, **kwargs)
    return list(result) if func in _LAZY else result
