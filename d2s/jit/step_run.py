"""One run of a whole step: forward, backward and what follows, in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.interpreter import called_in_mode
from d2s.eager.tape import next_in_sequence
from d2s.eager.tensor import Tensor
from d2s.eager.walk import Walk
from d2s.jit.run_program import CallNode
from d2s.static.executor import Compiled, StepFunction
from d2s.static.numeric_errors import outside


def step_run(compiled: Compiled, step: StepFunction, tensors: Sequence[Any]) -> StepRun | None:
    """A run of `step`, or None if the gradients of these tensors have to go by the walk."""
    edges = []
    for position in compiled.edge_positions:
        tensor = tensors[position]
        if tensor._node is not None:
            return None
        edges.append((tensor._leaf or tensor.graph_edge()[0], 0))
    if len({leaf for leaf, _ in edges}) != len(edges):
        # Two names of one tensor: only the walk knows which contribution is the last one.
        return None
    if step.sees_no_hooks and any(leaf.hooks is not None or leaf.reduce_hooks is not None for leaf, _ in edges):
        return None
    run = StepRun(compiled, tensors, edges)
    if step.checks_versions:
        run.versions = [tensor.version for tensor in tensors]
    return run


class StepRun(CallNode):
    """A run whose backward is part of it: for the walk it is used up from the beginning."""

    __slots__ = ("has_called_hooks",)

    may_unfold = False
    # The same for all of them, from the beginning.
    released = True
    tape = None

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
        if hooks is None and number is not None and not stop_gradient and self.compiled.sizes_are_known:
            array = data if type(data) is np.ndarray else np.asarray(data)
            return Tensor(array, False, self, number)
        self.specs = list(self.specs)
        return super().tensor(data, number, stop_gradient, hooks)

    def note_write(self, tensor: Tensor, index: int) -> None:
        """Nothing reads its values any more."""

    def finish_leaf(self, number: int, grad: Any) -> None:
        """The gradient of a leaf is complete."""
        leaf: Any = self.edges[number][0]  # type: ignore[index]
        tensor = Tensor(grad if type(grad) is np.ndarray else np.asarray(grad), False)
        if leaf.hooks is None and leaf.reduce_hooks is None:
            leaf.add(tensor)
        else:
            self._call_hooks(Walk().complete, leaf, tensor)

    def hooked(self, grad: Any, point: Any) -> Any:
        """The gradient of a value after its hooks."""
        if grad is None or not isinstance(point, HookList) or not point:
            return grad
        return self._call_hooks(Walk().hooked, point, Tensor(np.asarray(grad))).data

    def _call_hooks(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call what calls hooks, as the walk does: with grad mode off."""
        self.has_called_hooks = True
        return outside(called_in_mode, False, function, *args)
