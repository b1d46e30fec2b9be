"""What may raise when the Program runs: inside a ``try`` of the user that is refused.

An exception that the traced code itself raises is caught as in Python, by following the path on which it is raised.
One that comes up inside an operator, when the Program runs, would pass by the handler.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from types import BuiltinMethodType
from typing import Any

from d2s.core.op import Op
from d2s.core.spec import TensorSpec
from d2s.errors import note_interruption
from d2s.operators import policy
from d2s.static.program import values_in
from d2s.transpiler.interface import PythonOperators

_SAFE_FUNCTIONS = frozenset({
    print, str, repr, format, bool, float, len, setattr, getattr, dict.fromkeys,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.not_, operator.neg,
    operator.pos, operator.abs, operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor,
    operator.setitem, operator.contains, operator.iadd,
    list.append, list.extend, list.insert, list.clear, list.copy, list.reverse,
})
_SAFE_METHODS = frozenset(
    ("append", "appendleft", "extend", "insert", "clear", "add", "discard", "update", "setdefault"))
_SAFE_MODULES = frozenset({"d2s", "logging", "warnings"})
_INDEXING = frozenset({"getitem", "setitem"})


def may_not_fit(op: Op, specs: Iterable[TensorSpec]) -> bool:
    """True if an op raises for some sizes that the trace leaves open."""
    shapes = [spec.shape for spec in specs]
    if all(isinstance(size, int) for shape in shapes for size in shape):
        return False
    aligned = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return op.name in _LOOKUPS or any(len({size for size in sizes if size != 1}) > 1 for sizes in aligned)


def depends_on_integers(op: Op, specs: Sequence[TensorSpec]) -> bool:
    """True if an op raises for some integers that it is given as indices, or as exponents of integers."""
    asked = specs if op.name == "pow" else specs[1:] if op.name in _LOOKUPS else ()
    return bool(asked) and all(spec.dtype.kind in "iu" for spec in asked[-1:])


_LOOKUPS = frozenset({*_INDEXING, "take", "take_along_axis", "put_along_axis"})


def note_caught(error: BaseException | None) -> None:
    """Note that code of the user has caught `error` while it was traced: an interruption is no part of the program."""
    if isinstance(error, KeyboardInterrupt | MemoryError) and not _was_raised_by_statement(error):
        note_interruption(error)


def _was_raised_by_statement(error: BaseException) -> bool:
    """True if a ``raise`` statement of converted code has raised `error`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return True
    frame = trace.tb_frame
    held = (getattr(value, "__self__", None) for value in frame.f_locals.values())
    is_converted = any(isinstance(owner, PythonOperators) for owner in held)
    return is_converted and frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def may_raise(kind: str, op: Op | None, attrs: dict[str, Any]) -> bool:
    """True if an operator may raise for reasons that tracing does not see."""
    if op is not None:
        return op.name in _INDEXING and next(values_in(attrs), None) is not None
    if kind != "python":
        return kind in ("check_bound", "backward")
    function, args, _ = attrs["call"]
    if isinstance(function, type) and not args:
        # An empty container.
        return False
    if isinstance(function, BuiltinMethodType) and isinstance(function.__self__, list | dict | set):
        return function.__name__ not in _SAFE_METHODS
    is_hashable = getattr(type(function), "__hash__", None) is not None
    return not (is_hashable and function in _SAFE_FUNCTIONS) and policy.module_of(function) not in _SAFE_MODULES
