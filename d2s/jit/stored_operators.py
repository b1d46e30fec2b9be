"""What an operator of a saved Program may be, besides what every Program must be: the file may hold anything.

Of attributes code is generated.  So each has a name that is known, and a value of the type that it has in Programs that
were traced.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from d2s.errors import ProgramError
from d2s.static.program import Operator, Value


def check(operator: Operator) -> None:
    """Raise ProgramError if there is no such operator in the Program of a static function."""
    if operator.op is not None:
        _check_op(operator)
        return
    known = _ATTRS.get(operator.kind)
    if known is None:
        raise ProgramError(f"a saved Program cannot hold {operator.kind}", kind="P01")
    for name, value in operator.attrs.items():
        if name not in known or not known[name](value):
            raise ProgramError(f"{operator.kind}: the attribute {name} is {value!r}", kind="P01")
    if operator.kind == "size" and not 0 <= operator.attrs["axis"] < operator.inputs[0].spec.ndim:  # type: ignore[union-attr]
        raise ProgramError(f"size: there is no axis {operator.attrs['axis']}", kind="P01")


def _check_op(operator: Operator) -> None:
    op = operator.op
    assert op is not None
    parameters = inspect.signature(op.forward).parameters.values()
    names = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    unknown = operator.attrs.keys() - (names - _OF_GENERATED_CODE)
    if unknown:
        raise ProgramError(f"{op.name} has no attribute {', '.join(map(repr, unknown))}", kind="P01")


# Where `forward` writes its result, and works.
_OF_GENERATED_CODE = {"out", "scratch"}


def _is_call(call: Any) -> bool:
    """True for a function, positional arguments, and others by name."""
    if type(call) is not tuple or len(call) != 3:
        return False
    function, args, kwargs = call
    if not isinstance(function, FunctionType | BuiltinFunctionType | type):
        return False
    return type(args) is tuple and type(kwargs) is dict and all(map(is_name, kwargs)) and _takes(function, args, kwargs)


def _takes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """False if `function` says that it cannot be called so."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        # It says nothing.
        return True
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def is_name(name: Any) -> bool:
    """True for what can stand before ``=`` in a call."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in types


_ATTRS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "cond": {}, "while": {}, "constant": {}, "array_of": {}, "materialise": {},
    "version": {}, "leaf": {}, "stop_gradient": {}, "hook_point": {},
    "return": {"result": lambda value: True},
    "raise": {"error": lambda value: isinstance(value, BaseException | Value)},
    "check_bound": {"name": _is(str)},
    "python": {"call": _is_call, "grad_mode": _is(bool)},
    "size": {"axis": _is(int)},
    "item": {"index": lambda value: type(value) is tuple and all(map(_is(int), value)), "use": _is(str)},
    "to_array": {"dtype": lambda value: isinstance(value, np.dtype) and value.kind in "biufc"},
    "rewrite": {"data_only": _is(bool)},
    "replace": {"is_view": _is(bool)},
    "reload": {"stops": _is(bool)},
}
