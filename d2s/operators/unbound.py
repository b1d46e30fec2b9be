"""Methods of `Tensor` that traced code takes from the class, or asks for by their slots: they mean the bound ones."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import FunctionType, MethodWrapperType
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.eager.tensor import Tensor
from d2s.operators import access

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

# What Python calls these by; a tracer knows the functions.
BY_FUNCTION: dict[str, Callable[..., Any]] = {
    "__bool__": bool, "__len__": len, "__float__": float, "__int__": int, "__index__": operator.index, "__str__": str,
    "__repr__": repr, "__hash__": hash, "__format__": format, "__iter__": iter, "__complex__": complex,
}


@functools.cache
def _members() -> dict[Any, tuple[str, str]]:
    """The functions of `Tensor`: as what they stand in the class, and under which name."""
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


def is_known(func: Any) -> bool:
    """True for functions that `called` may know."""
    return func in _members() if isinstance(func, FunctionType | type(object.__getattribute__)) else (
        isinstance(func, MethodWrapperType) and func.__name__ == "__getattribute__"
        and isinstance(func.__self__, TensorBase))


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
    kind, name = _members()[func]
    if kind == "reader":
        return access.attr(tracer, tensor, *rest)
    if kind == "getter":
        return access.attr(tracer, tensor, name)
    if kind == "setter":
        return access.store_attr(tracer, tensor, name, *rest)
    if name in BY_FUNCTION:
        return call(BY_FUNCTION[name], tensor, *rest)
    return call(access.attr(tracer, tensor, name), *rest, **kwargs)
