"""One run of a whole step: forward, backward and what follows, in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import asarray, ndarray

from d2s.core.hooks import HookList
from d2s.core.interpreter import called_in_mode
from d2s.eager.tape import next_in_sequence
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.walk import Walk
from d2s.jit.run_program import CallNode
from d2s.static.executor import Compiled
from d2s.static.numeric_errors import outside


class StepRun(CallNode):
    """A run whose backward is part of it: for the walk it is used up from the beginning."""

    __slots__ = ("has_called_hooks",)

    may_unfold = False
    # The same for all of them, from the beginning.
    released = True
    tape = None
    # Nobody has what a caller could write to, and what is read again is checked where it is read.
    written: frozenset[int] = frozenset()  # type: ignore[assignment]
    read_again = ()  # type: ignore[assignment]

    def __init__(self, compiled: Compiled, tensors: Sequence[Any], edges: list[Any]) -> None:
        # Written out: the smallest steps take no longer than a few calls.
        self.edges = edges
        self.specs = compiled.output_specs
        self.sequence = next_in_sequence()
        self.hooks = self.retained = None
        self.compiled = compiled
        self.tensors = tensors
        self.given = 0
        self.made = {}
        # True once code of the user has run in backward.
        self.has_called_hooks = False

    def tensor(self, data: Any, number: int | None, stop_gradient: bool, hooks: Any) -> Tensor:
        """The Tensor object of a value, joined to this run if it can be differentiated."""
        self.specs = list(self.specs)
        return super().tensor(data, number, stop_gradient, hooks)

    def output(self, data: Any, number: int) -> Tensor:
        """The same of a value of known size that has no hooks, and can be differentiated."""
        return tensor_of(asarray(data), False, self, number)

    def note_write(self, tensor: Tensor, index: int) -> None:
        """Nothing reads its values any more."""

    def version(self, tensor: Tensor) -> tuple[Tensor, int]:
        """A tensor of the caller with its version now."""
        return tensor, tensor.version

    def finish_leaf(self, number: int, grad: Any) -> None:
        """The gradient of a leaf is complete."""
        leaf: Any = self.edges[number][0]  # type: ignore[index]
        array = grad if type(grad) is ndarray else asarray(grad)
        if leaf.hooks is None and leaf.reduce_hooks is None:
            leaf.add(array)
        else:
            self._call_hooks(Walk().complete, leaf, tensor_of(array, False))

    def hooked(self, grad: Any, point: Any) -> Any:
        """The gradient of a value after its hooks."""
        if grad is None or not isinstance(point, HookList) or not point:
            return grad
        return self._call_hooks(Walk().hooked, point, tensor_of(asarray(grad))).data

    def _call_hooks(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call what calls hooks, as the walk does: with grad mode off."""
        self.has_called_hooks = True
        return outside(called_in_mode, False, function, *args)
