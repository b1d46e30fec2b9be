"""Objects of the user's classes that functions of d2s take for numbers or arrays: they ask them untraced."""

from __future__ import annotations

from collections import deque
from types import FunctionType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import policy
from d2s.operators.equality import NUMBERS_AND_TEXTS
from d2s.operators.guards import is_layer, lookup
from d2s.operators.late_call import late_call
from d2s.operators.special_methods import users
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable

_KNOWN = (TensorBase, ObjectVariable, list, tuple, dict, set, frozenset, deque, type, FunctionType, *NUMBERS_AND_TEXTS)
_ARRAY = ("__array__", "__array_interface__", "__array_struct__")


def as_operand(tracer: Tracer, thing: Any) -> Any:
    """An argument for a function of d2s: what stands for an index or size is asked for that, as the trace does it.

    Raises
    ------
    UnsupportedSyntaxError
        If NumPy would ask it for an array or a number.
    """
    if type(thing) in (list, tuple) and any(map(_is_asked, thing)):
        return type(thing)(as_operand(tracer, part) for part in thing)
    if not _is_asked(thing):
        return thing
    index = users(tracer, thing, "__index__")
    if index is not None:
        return late_call(index)
    raise UnsupportedSyntaxError(
        f"a {type(thing).__name__} is given to a function of d2s, which would ask it for an array or a number while "
        "this function is traced", user_location(), "Give a tensor, a NumPy array, or float(...) of it.", kind="U37")


def _is_asked(thing: Any) -> bool:
    """True for an object of a class of the user that says it is an array, a sequence or a number."""
    cls = type(thing)
    if isinstance(thing, _KNOWN) or is_layer(thing) or not policy.is_of_user(cls):
        return False
    defined = {name for name in (*_ARRAY, "__index__", "__float__", "__len__", "__getitem__")
               if isinstance(lookup(cls, name), FunctionType | property)}
    return defined >= {"__len__", "__getitem__"} or not defined.isdisjoint((*_ARRAY, "__index__", "__float__"))
