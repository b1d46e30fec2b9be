"""Converted forms of functions: prepared once for each code object, loaded for each function."""

from __future__ import annotations

import weakref
from types import FunctionType

from d2s.errors import SourceError
from d2s.operators.interface import TraceOperators
from d2s.transpiler.convert import JIT_PASSES, Prepared, prepare

_prepared: dict[int, Prepared | SourceError] = {}


def prepared_for_tracing(fn: FunctionType) -> Prepared | None:
    """The instrumented conversion of the code of `fn`, made once; None if its source cannot be found."""
    code = fn.__code__
    # By identity: equal code objects may come from different places.
    found = _prepared.get(id(code))
    if found is None:
        try:
            found = prepare(fn, JIT_PASSES, instrument=True)
        except SourceError as error:
            found = error
        _prepared[id(code)] = found
        weakref.finalize(code, _prepared.pop, id(code), None)
    return found if isinstance(found, Prepared) else None


def converted_for_tracing(fn: FunctionType) -> FunctionType | None:
    """The instrumented form of `fn`, with its own cells and globals; None if its source cannot be found."""
    prepared = prepared_for_tracing(fn)
    if prepared is None:
        return None
    operators = TraceOperators(fn, prepared.nested)
    function = prepared.load(fn, operators).function
    function.__dict__["__d2s_converted__"] = True
    return function
