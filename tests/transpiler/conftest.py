"""Run a function and its converted form on the same arguments, and compare everything that can be seen."""

from __future__ import annotations

import copy
import traceback

import pytest

from d2s.transpiler import JIT_PASSES, PythonOperators, convert


class Observed:
    """What one call did: value or error, effects in their order, arguments afterwards."""

    def __init__(self, fn, args, kwargs, log):
        log.clear()
        args = copy.deepcopy(args)
        self.line = None
        try:
            self.outcome = ("value", normal(fn(*args, **kwargs)))
        except Exception as error:
            self.outcome = ("error", type(error), str(error), error_chain(error))
            file = getattr(fn, "__wrapped__", fn).__code__.co_filename
            self.line = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file][
                -1
            ]
        self.log = list(log)
        self.args = normal(args)

    def seen(self):
        return {"outcome": self.outcome, "line": self.line, "log": self.log, "args": self.args}


def error_chain(error):
    return type(error.__cause__), type(error.__context__), error.__suppress_context__


def normal(value):
    """A value in a form that compares: generators run out, functions become their results are left out."""
    if hasattr(value, "__next__"):
        return ("iterator", list(value))
    if isinstance(value, (list, tuple)):
        return type(value), [normal(item) for item in value]
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    return "function" if callable(value) else value


@pytest.fixture(params=["plain", "instrumented"])
def converted(request):
    """Convert a function under plain-Python operators, with and without the trace-only operators."""

    def convert_one(fn):
        return convert(fn, JIT_PASSES, PythonOperators, instrument=request.param == "instrumented").function

    return convert_one


@pytest.fixture
def same(converted):
    """Assert that a function and its converted form do the same for each tuple of arguments."""

    def check(fn, *calls, log=None):
        log = [] if log is None else log
        new = converted(fn)
        for args in calls or [()]:
            kwargs = {}
            if args and isinstance(args[-1], Keywords):
                *args, kwargs = args
            expected, got = Observed(fn, args, kwargs, log).seen(), Observed(new, args, kwargs, log).seen()
            assert got == expected, f"{fn.__qualname__}{tuple(args)}"

    return check


class Keywords(dict):
    """Keyword arguments of one call."""
