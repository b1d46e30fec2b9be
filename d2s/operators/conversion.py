"""Converted forms of functions: prepared once for each code object, loaded for each function."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from types import FunctionType

from d2s.errors import SourceError
from d2s.operators.converted import mark_loaded
from d2s.operators.interface import TraceOperators
from d2s.transpiler.convert import JIT_PASSES, Prepared, prepare

logger = logging.getLogger("d2s.jit")

# Code objects (by id) whose source cannot be found: it is looked for once.
_without_source: set[int] = set()
_logged: weakref.WeakSet[Prepared] = weakref.WeakSet()
# Called with each function that is traced for the first time since it was set.
_show: Callable[[FunctionType], None] | None = None
_shown: weakref.WeakSet[FunctionType] = weakref.WeakSet()


def show_converted(show: Callable[[FunctionType], None] | None) -> None:
    """Call `show` with each function that is converted and traced from now on, once."""
    global _show
    _show = show
    _shown.clear()


def prepared_for_tracing(fn: FunctionType) -> Prepared | None:
    """The instrumented conversion of the code of `fn`; None if its source cannot be found."""
    code = fn.__code__
    if id(code) in _without_source:
        return None
    try:
        found = prepare(fn, JIT_PASSES, instrument=True)
    except SourceError:
        _without_source.add(id(code))
        weakref.finalize(code, _without_source.discard, id(code))
        return None
    if found not in _logged:
        _logged.add(found)
        _log(fn, found)
    return found


def converted_for_tracing(fn: FunctionType) -> FunctionType | None:
    """The instrumented form of `fn`, with its own cells and globals; None if its source cannot be found."""
    prepared = prepared_for_tracing(fn)
    if prepared is None:
        return None
    if _show is not None and fn not in _shown:
        _shown.add(fn)
        _show(fn)
    operators = TraceOperators(fn, prepared.nested)
    function = prepared.load(fn, operators).function
    mark_loaded(function)
    return function


def _log(fn: FunctionType, prepared: Prepared) -> None:
    file, name = fn.__code__.co_filename, fn.__qualname__
    logger.debug("%s (%s:%d) is converted", name, file, fn.__code__.co_firstlineno)
    for report in prepared.hook_report:
        what = "stays" if report.moved_to is None else f"moves behind line {report.moved_to}"
        logger.debug("%s: the hook on %s in line %d %s (%s)", name, report.target, report.line, what, report.reason)
