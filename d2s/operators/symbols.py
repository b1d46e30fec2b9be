"""Symbols: what stands in traced code for a value that only the run knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


def is_symbol(thing: Any) -> bool:
    """True for values that are known only when the Program runs."""
    return isinstance(thing, Variable | ObjectVariable)


def symbol_of(tracer: Tracer, thing: Any) -> Any:
    """`thing`, with a Variable for an eager tensor."""
    if isinstance(thing, TensorBase) and not isinstance(thing, Variable):
        return tracer.lift(thing)
    return thing
