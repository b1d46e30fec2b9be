"""Symbols: what stands in traced code for a value that only the run knows."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.errors import TracingError, user_location
from d2s.operators.raw_containers import held_in
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


def is_symbol(thing: Any) -> bool:
    """True for values that are known only when the Program runs."""
    return isinstance(thing, Variable | ObjectVariable)


def holds_symbols(tree: Any) -> bool:
    """True if there is a tensor or a symbolic object in nested containers."""
    return _holds(tree, (Variable, ObjectVariable, TensorBase))


def holds_objects(tree: Any) -> bool:
    """True if there is a symbolic object in nested containers."""
    return _holds(tree, (ObjectVariable,))


def holds_tensors(tree: Any) -> bool:
    """True if there is a tensor in nested containers."""
    return _holds(tree, (TensorBase,))


def _holds(tree: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(tree, kinds):
        return True
    if isinstance(tree, list | tuple | set | deque | dict):
        return any(_holds(part, kinds) for part in held_in(tree))
    if isinstance(tree, slice):
        return any(_holds(part, kinds) for part in (tree.start, tree.stop, tree.step))
    return isinstance(tree, BaseException) and _holds(tree.args, kinds)


def symbol_of(tracer: Tracer, thing: Any) -> Any:
    """`thing`, with a Variable for an eager tensor."""
    if isinstance(thing, TensorBase) and not isinstance(thing, Variable):
        return tracer.lift(thing)
    return thing


class SymbolicRange:
    """``range`` with a bound that is known only when the Program runs."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # For `isinstance` in the code of the user.
        return range

    def _refuse(self, *_: Any) -> Any:
        raise TracingError(
            "a range whose length is known only when the Program runs can be looped over, but not spread out here",
            user_location(), "Loop over it with `for`, or keep the function eager with @d2s.jit.not_to_static.",
            kind="T07",
        )

    __iter__ = __len__ = __contains__ = __getitem__ = _refuse

    def __reversed__(self) -> SymbolicRange:
        start, stop, step = self.start, self.stop, self.step
        if is_symbol(step):
            self._refuse()
        # The last number, if there is one; else one behind which nothing comes.
        last = stop - step if abs(step) == 1 else start + ((stop - start - (step > 0) + (step < 0)) // step) * step
        return SymbolicRange(last, start - step, -step)
