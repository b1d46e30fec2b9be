"""Calls that happen when the Program runs: of functions of libraries, and of objects that only the run has.

They may change what they are given, or keep it and change it later.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from d2s.operators import given_away, policy
from d2s.operators.libraries import run_later
from d2s.operators.open_elements import forget_elements, open_up
from d2s.operators.open_items import is_open
from d2s.operators.purity import PURE
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable


def library_later(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a library that runs no code of the user."""
    if getattr(func, "__name__", "") == "shuffle":
        return shuffled(tracer, func, args, kwargs)
    if policy.module_of(func) in _ONLY_LOOK:
        return run_later(tracer, func, args, kwargs)
    with given_away.watched(tracer, (*args, *kwargs.values()), with_earlier=False):
        return run_later(tracer, func, args, kwargs)


# Modules that change nothing that they are given, besides those that compute only.
_ONLY_LOOK = PURE | {"logging", "warnings", "time", "sys", "os", "pprint", "traceback", "posix"}


def shuffled(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``shuffle(things)`` of a generator of random numbers: in which order they are then, only the run knows."""
    for arg in args:
        if type(arg) is list and not tracer.is_outer(arg):
            tracer.check_not_frozen(arg)
            open_up(tracer, arg)
    if tracer.late_arrays.is_fresh(args):
        tracer.late_arrays.need()
    result = run_later(tracer, func, args, kwargs)
    for arg in args:
        if tracer.is_outer(arg):
            tracer.changed(arg)
        elif is_open(arg):
            forget_elements(arg)
    return result


def call_of_run(
    tracer: Tracer, func: ObjectVariable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of what only the run knows, a method of an object that it has made, say."""
    if given_away.name_called(tracer, func) == "shuffle":
        return shuffled(tracer, func, args, kwargs)
    if not given_away.may_change_what_it_has(tracer, func):
        return func(*args, **kwargs)
    given = (*args, *kwargs.values())
    with given_away.watched(tracer, given):
        result = func(*args, **kwargs)
    for arg in given:
        if isinstance(arg, list | dict | set | deque | bytearray) and tracer.is_outer(arg):
            tracer.changed(arg)
    return result
