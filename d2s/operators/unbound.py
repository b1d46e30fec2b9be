"""Methods of `Tensor` that traced code takes from the class, or asks for by their slots: they mean the bound ones."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType, MethodWrapperType
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.eager.tensor import Tensor
from d2s.operators import access
from d2s.operators.guards import lookup
from d2s.static.variable import Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

# What Python calls these by; a tracer knows the functions.
BY_FUNCTION: dict[str, Callable[..., Any]] = {
    "__bool__": bool, "__len__": len, "__float__": float, "__int__": int, "__index__": operator.index, "__str__": str,
    "__repr__": repr, "__hash__": hash, "__format__": format, "__iter__": iter, "__complex__": complex,
}


def _members_of_the_class() -> dict[Any, tuple[str, str]]:
    found: dict[Any, tuple[str, str]] = {
        object.__getattribute__: ("reader", ""), object.__str__: ("method", "__str__")}
    for cls in reversed(Tensor.__mro__[:-1]):
        for name, held in vars(cls).items():
            if isinstance(held, FunctionType) and getattr(Tensor, name) is held:
                found[held] = ("method", name)
            elif isinstance(held, property):
                found.update({held.fget: ("getter", name), held.fset: ("setter", name)})
    found.pop(None, None)
    return found


# The functions of `Tensor`: as what they stand in the class, and under which name, before the user replaces any.
_MEMBERS = _members_of_the_class()
# The methods that symbols have of their own.
_OF_SYMBOLS = {name: held for name, held in vars(Variable).items() if isinstance(held, FunctionType)}


def is_known(func: Any) -> bool:
    """True for functions that `called` may know."""
    return func in _MEMBERS if isinstance(func, FunctionType | type(object.__getattribute__)) else (
        isinstance(func, MethodWrapperType) and func.__name__ == "__getattribute__"
        and isinstance(func.__self__, TensorBase))


def _is_replaced(func: Any, kind: str, name: str) -> bool:
    """True if the user has put something else in the place of a function of `Tensor`, which is wanted all the same."""
    now = lookup(Tensor, name)
    return name in vars(Tensor) and now is not func and not (
        kind != "method" and isinstance(now, property) and func in (now.fget, now.fset))


def called(
    tracer: Tracer, call: Callable[..., Any], func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``func(tensor, ...)`` by what `func` is to a tensor; NotImplemented if it is given none."""
    if isinstance(func, MethodWrapperType):
        return access.attr(tracer, func.__self__, *args)
    tensor, rest = (args[0], args[1:]) if args else (kwargs.get("self"), ())
    if not isinstance(tensor, TensorBase):
        return NotImplemented
    kwargs = {name: value for name, value in kwargs.items() if args or name != "self"}
    kind, name = _MEMBERS[func]
    if kind == "reader":
        return access.attr(tracer, tensor, *rest)
    if _is_replaced(func, kind, name):
        # Symbols have it from a base of both classes, or have one of their own that means the same.
        return call(_OF_SYMBOLS[name], *args, **kwargs) if name in _OF_SYMBOLS else NotImplemented
    if kind == "getter":
        return access.attr(tracer, tensor, name)
    if kind == "setter":
        return access.store_attr(tracer, tensor, name, *rest)
    if name in BY_FUNCTION:
        return call(BY_FUNCTION[name], tensor, *rest)
    return call(access.attr(tracer, tensor, name), *rest, **kwargs)
