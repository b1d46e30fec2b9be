"""What operators may raise when the Program runs, for reasons that tracing does not see."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from types import BuiltinMethodType, MethodDescriptorType
from typing import Any, TypeAlias

from d2s.core.op import Op
from d2s.core.spec import TensorSpec
from d2s.errors import IndexOutOfRangeError, ShapeError
from d2s.operators import policy
from d2s.operators.run_time import counted, taken_apart
from d2s.static.program import Value, values_in

Errors: TypeAlias = tuple[type[Exception], ...]

_SAFE_FUNCTIONS = frozenset({
    print, str, repr, format, bool, len, setattr, getattr, hasattr, isinstance, callable, type, id, dict.fromkeys,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.not_, operator.neg,
    operator.pos, operator.abs, operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor,
    operator.setitem, operator.contains, operator.iadd,
})
_SAFE_METHODS = frozenset(
    ("append", "appendleft", "extend", "insert", "clear", "add", "discard", "update", "setdefault", "copy",
     "reverse", "get", "count", "extendleft", "rotate", "keys", "values", "items"))
_SAFE_MODULES = frozenset({"d2s", "logging", "warnings", "time"})
_SAFE_IN_TEXT = frozenset(
    ("upper", "lower", "strip", "lstrip", "rstrip", "title", "capitalize", "startswith", "endswith", "isdigit",
     "isalpha", "find", "rfind", "count", "replace", "splitlines", "zfill"))
_DIVISIONS: Errors = (ZeroDivisionError,)
_LOOKED_UP: Errors = (IndexError, KeyError, TypeError)
# Of functions that can be tried before they are called: they change nothing but containers among their arguments.
_FUNCTIONS: dict[Any, Errors] = {
    operator.truediv: _DIVISIONS, operator.floordiv: _DIVISIONS, operator.mod: _DIVISIONS,
    operator.itruediv: _DIVISIONS, operator.ifloordiv: _DIVISIONS, operator.imod: _DIVISIONS, divmod: _DIVISIONS,
    operator.pow: (OverflowError, ZeroDivisionError), operator.lshift: (ValueError,), operator.rshift: (ValueError,),
    operator.delitem: (IndexError, KeyError), operator.index: (TypeError,), round: (ValueError, OverflowError),
    max: (ValueError,), min: (ValueError,), chr: (ValueError,), bytes: (ValueError,),
}
_METHODS: dict[tuple[str, str], Errors] = {
    ("list", "pop"): (IndexError,), ("list", "index"): (ValueError,), ("list", "remove"): (ValueError,),
    ("dict", "pop"): (KeyError,), ("dict", "__getitem__"): (KeyError,), ("set", "remove"): (KeyError,),
    ("str", "index"): (ValueError,), ("str", "format"): (IndexError, KeyError, ValueError),
    ("str", "join"): (TypeError,),
    ("deque", "pop"): (IndexError,), ("deque", "popleft"): (IndexError,), ("deque", "remove"): (ValueError,),
}
# What converting a value of some kind to a number may raise.
_CONVERSIONS: dict[tuple[type, type | None], Errors] = {
    (int, int): (), (int, bool): (), (int, float): (ValueError, OverflowError), (int, str): (ValueError,),
    (int, None): (TypeError, ValueError, OverflowError),
    (float, int): (OverflowError,), (float, bool): (), (float, float): (), (float, str): (ValueError,),
    (float, None): (TypeError, ValueError, OverflowError),
}
_INDEXING = frozenset({"getitem", "setitem"})
_LOOKUPS = frozenset({*_INDEXING, "take", "take_along_axis", "put_along_axis"})


def may_not_fit(op: Op, specs: Iterable[TensorSpec]) -> bool:
    """True if an op raises for some sizes that the trace leaves open."""
    shapes = [spec.shape for spec in specs]
    if all(isinstance(size, int) for shape in shapes for size in shape):
        return False
    aligned = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return op.name in _LOOKUPS or any(len({size for size in sizes if size != 1}) > 1 for sizes in aligned)


def errors_of(
    kind: str, op: Op | None, attrs: dict[str, Any], specs: Sequence[TensorSpec]
) -> Errors | None:
    """The types of the exceptions that an operator may raise; none of them, or None where that is not known."""
    if op is not None:
        return _errors_of_op(op, attrs, specs)
    if kind == "taken_all":
        return (ShapeError,)
    if kind != "python":
        return None if kind in ("check_bound", "backward", "walk") else ()
    function, args, kwargs = attrs["call"]
    return _errors_of_call(function, args, kwargs)


def _errors_of_op(op: Op, attrs: dict[str, Any], specs: Sequence[TensorSpec]) -> Errors:
    has_values = next(values_in(attrs), None) is not None
    if op.name in _LOOKUPS:
        by_tensors = bool(specs[1:]) and specs[-1].dtype.kind in "iu"
        return (IndexOutOfRangeError,) if has_values or by_tensors else ()
    if op.name == "pow":
        return (ValueError,) if all(spec.dtype.kind in "iu" for spec in specs) else ()
    return (ShapeError,) if has_values else ()


def _errors_of_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Errors | None:
    if isinstance(function, type) and not args:
        # An empty container, or nothing.
        return ()
    owner = getattr(function, "__objclass__", None) or type(getattr(function, "__self__", None))
    if isinstance(function, BuiltinMethodType | MethodDescriptorType) and owner in (list, dict, set, deque, str):
        name = function.__name__
        if name in (_SAFE_IN_TEXT if owner is str else _SAFE_METHODS):
            return ()
        return _METHODS.get((owner.__name__, name))
    is_unknown = isinstance(function, Value) or function is taken_apart or function is counted
    if is_unknown or getattr(type(function), "__hash__", None) is None:
        return None
    if function in (int, float) and len(args) == 1 and not kwargs:
        kind = _kind_of(args[0])
        return _CONVERSIONS.get((function, kind if kind in (int, bool, float, str) else None))
    if function is operator.getitem:
        kind = _kind_of(args[0])
        return (KeyError,) if kind is dict else (IndexError,) if kind in (list, tuple, str) else _LOOKED_UP
    if function in _SAFE_FUNCTIONS:
        return ()
    module = policy.module_of(function)
    if module == "math":
        return (ValueError, OverflowError, TypeError)
    return _FUNCTIONS.get(function, () if module in _SAFE_MODULES else None)


def _kind_of(arg: Any) -> type | None:
    return arg.kind if isinstance(arg, Value) else type(arg)


__all__ = ["Errors", "errors_of", "may_not_fit"]
