"""Objects of the run that may be older ones, or lead to such: what is done to them shows there.

What a library takes out of a list from outside, say, only the run knows.  If it is changed then, what the trace has
read of older objects may not be so any more: it is checked where it is read from then on.
"""

from __future__ import annotations

import operator
from collections import deque
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.operators.equality import is_plain
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

# Nothing that they give can be changed.
_FIXED = (int, float, complex, str, bytes, bool, type(None), range, slice)
_HARMLESS = (FunctionType, ModuleType, TensorBase, type)
_WRITE = frozenset({setattr, delattr, operator.setitem, operator.delitem}) | frozenset(
    getattr(operator, name) for name in (
        "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift", "isub",
        "itruediv", "ixor"))


class ShownObjects:
    """Those of one trace."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._values: set[Value] = set()

    def note(self, result: ObjectVariable, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take note of a call of the run: of what it gives, and of what it may change."""
        kind = result.value.kind
        is_check = isinstance(function, FunctionType) and getattr(function, "only_looks", False)
        if is_check or (kind is not None and issubclass(kind, _FIXED)):
            return
        owner = getattr(function, "__self__", None) if isinstance(function, BuiltinMethodType | MethodType) else None
        given = (function, owner, *args, *kwargs.values())
        if self._values and self._changes(function, args):
            self._tracer.anything_may_change()
        if any(map(self._leads_outside, given[1:])) or (self._values and any(map(self.is_one, given))):
            self._values.add(result.value)

    def is_one(self, thing: Any) -> bool:
        """True for an object of the run that may be an older one."""
        return isinstance(thing, ObjectVariable) and thing.value in self._values

    def _changes(self, function: Any, args: tuple[Any, ...]) -> bool:
        """True for a call of such an object, or of a method of it, and for a function that writes to it."""
        if self.is_one(function):
            return True
        if not args or not self.is_one(args[0]):
            return False
        from d2s.operators.libraries import may_change

        return (isinstance(function, type(len)) and function in _WRITE) or may_change(function)

    def _leads_outside(self, thing: Any) -> bool:
        """True for an older object, or container of such, that can be changed."""
        if thing is None or isinstance(thing, (ObjectVariable, *_HARMLESS)) or is_plain(thing):
            return False
        is_outer = self._tracer.is_outer(thing)
        if isinstance(thing, list | tuple | deque):
            return any(map(self._can_be_changed if is_outer else self._leads_outside, thing))
        if isinstance(thing, dict):
            return any(map(self._can_be_changed if is_outer else self._leads_outside, dict.values(thing)))
        return is_outer and not callable(thing)

    def _can_be_changed(self, part: Any) -> bool:
        return part is not None and not isinstance(part, _HARMLESS) and not is_plain(part)
