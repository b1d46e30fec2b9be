"""Calls that ask from which line they are made: warnings, logging, debuggers.  They are told the user's lines."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from d2s.errors import user_frame
from d2s.operators import policy
from d2s.operators.frames import user_frames
from d2s.operators.guards import Guard
from d2s.operators.sources import Constant
from d2s.operators.tracer import Tracer


def warn(tracer: Tracer, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None,
         **more: Any) -> None:
    """``warnings.warn`` in traced code: given on each run, for the user's line."""
    inside = [(f.f_code.co_filename, f.f_lineno, f.f_globals) for f in user_frames()[: -tracer.outer_frames or None]]
    tracer.effects += 1
    tracer.python_call(_warn, (message, category, max(stacklevel, 1) - 1, _Places(inside), source), more, effect=True)


class _Places:
    """Lines of the user, with the globals there; one constant of a Program."""

    def __init__(self, found: list[tuple[str, int, dict[str, Any]]]) -> None:
        self.found = found


def _warn(message: Any, category: Any, level: int, places: _Places, source: Any, **more: Any) -> None:
    if isinstance(message, Warning):
        category = type(message)
    if more or (category is not None and not (isinstance(category, type) and issubclass(category, Warning))):
        # Rare options, and errors in Python's words.
        warnings.warn(message, category, source=source, **more)
        return
    if level < len(places.found):
        file, line, scope = places.found[level]
    else:
        callers = user_frames()
        frame = callers[min(level - len(places.found), len(callers) - 1)]
        file, line, scope = frame.f_code.co_filename, frame.f_lineno, frame.f_globals
    warnings.warn_explicit(
        message, category or UserWarning, file, line, scope.get("__name__", "<string>"),
        scope.setdefault("__warningregistry__", {}), source=source)


def from_user_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, called when the Program runs from a frame that looks like the user's line that is traced now."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return function

    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    code = called.__code__.replace(
        # What runs is the second line of it.
        co_filename=frame.f_code.co_filename, co_firstlineno=frame.f_lineno - 1,
        co_name=frame.f_code.co_name, co_qualname=frame.f_code.co_qualname)
    made = FunctionType(code, frame.f_globals, closure=called.__closure__)
    made.__module__ = policy.module_of(function)
    return made


def stop_in_debugger(tracer: Tracer, *args: Any, **kwargs: Any) -> None:
    """``breakpoint()`` and ``pdb.set_trace()``: stop while tracing, in the user's line, on every call."""
    tracer.guards.add(Guard(Constant(None), "False", (), "no breakpoint"))
    if args or kwargs or sys.breakpointhook is not sys.__breakpointhook__ or os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook(*args, **kwargs)
    elif os.environ.get("PYTHONBREAKPOINT") != "0":
        import pdb

        pdb.Pdb(skip=["d2s", "d2s.*"]).set_trace(user_frame(sys._getframe(1)))
