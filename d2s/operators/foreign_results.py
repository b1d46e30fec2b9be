"""What functions of the user give that are not traced: it may be a tensor of any shape, a number or anything else.

So the run does what is done with it, on the Tensors themselves, with the tape of eager mode: operators, functions of
d2s, calls of Layers.  Where the trace needs to know more of it, it begins anew and takes it for a number.
"""

from __future__ import annotations

import operator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.eager.tensor import Tensor
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

# What these give of a tensor is no tensor.
_OF_NO_TENSOR = frozenset({"shape", "ndim", "size", "dtype", "name", "item", "numpy", "tolist", "stop_gradient"})


class ForeignResults:
    """Those of one trace.

    Attributes
    ----------
    are_numbers : bool
        Nothing is taken for a tensor.
    are_used : bool
        The trace has gone another way because of one.
    are_computed_with : bool
        A call is recorded that may raise because they do not fit each other.
    """

    def __init__(self, are_numbers: bool) -> None:
        self.are_numbers = are_numbers
        self.are_used = self.are_computed_with = False
        self._values: set[Value] = set()

    def add(self, result: ObjectVariable) -> None:
        """Note what an untraced function of the user has given."""
        if not self.are_numbers and result.value.kind in (None, tuple):
            self._values.add(result.value)

    def note(self, result: ObjectVariable, function: Any, args: tuple[Any, ...]) -> None:
        """Note what the run makes of one: it may be a tensor again."""
        if not self._values or result.value.kind is not None:
            return
        if (self.is_one(function) or any(map(self.is_one, args))) and not (
                function is getattr and args[1] in _OF_NO_TENSOR):
            self._values.add(result.value)

    def is_one(self, thing: Any) -> bool:
        """True for what may be a tensor of which nothing is known."""
        return isinstance(thing, ObjectVariable) and thing.value in self._values

    def are_given(self, *trees: Any) -> bool:
        """True if there is one in nested lists, tuples and dicts."""
        return bool(self._values) and any(map(self._holds, trees))

    def _holds(self, tree: Any) -> bool:
        if isinstance(tree, list | tuple):
            return any(map(self._holds, tree))
        return any(map(self._holds, tree.values())) if isinstance(tree, dict) else self.is_one(tree)


def binary(tracer: Tracer, name: str, left: Any, right: Any) -> ObjectVariable:
    """``left + right`` and its like, done by the run."""
    return _computed(tracer, getattr(operator, name), (left, right), {})


def call_own(tracer: Tracer, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObjectVariable:
    """A function of d2s, or a method of tensors, called by the run."""
    if args and isinstance(args[0], TensorBase) and getattr(Variable, func.__name__, None) is func:
        func = getattr(Tensor, func.__name__)
    return _computed(tracer, func, args, kwargs)


def _computed(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObjectVariable:
    found = tracer.foreign_results
    found.are_used = found.are_computed_with = True
    try:
        result = tracer.python_call(func, args, kwargs, effect=True)
    finally:
        found.are_computed_with = False
    found.add(result)
    return result


def may_be_called(func: FunctionType) -> bool:
    """True for a function of d2s that writes to none of its arguments."""
    return not func.__name__.endswith("_") and func.__name__ not in ("set_value", "backward", "register_hook")
