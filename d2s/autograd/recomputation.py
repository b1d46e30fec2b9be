"""Recompute: a part of the graph that keeps its inputs only, and is run again for its gradients."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from d2s.core.interpreter import TensorBase, called_in_mode, current_interpreter, state
from d2s.eager.interpreter import EagerInterpreter
from d2s.eager.tape import Edge, InteriorNode, OpNode
from d2s.eager.tensor import Tensor
from d2s.eager.walk import Walk
from d2s.errors import GradientError
from d2s.ops import random


def computed_again(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], keep_rng: bool) -> Any:
    """Call `function`; what it kept for backward is dropped, and a node that runs it again stands in its place."""
    numbers = random.get_rng_state() if keep_rng else None
    start = InteriorNode([], []).sequence
    result = function(*args, **kwargs)
    outputs = [tensor for tensor in _tensors_in(result) if tensor._node is not None and tensor._node.sequence > start]
    if not outputs:
        return result
    graph = _Graph(outputs, start)
    node = RecomputeNode(function, args, kwargs, numbers, graph, outputs)
    for position, tensor in enumerate(outputs):
        inner = tensor._node
        assert inner is not None
        # Hooks registered inside stay the first of their value.
        hooks = inner.hooks.get(tensor._index) if inner.hooks else None
        if hooks is not None:
            node.hooks = {**(node.hooks or {}), position: hooks}
        tensor._node, tensor._index = node, position
    return result


def runs_now(args: Any) -> bool:
    """True if ops on `args` are computed at once and recorded on the tape."""
    symbolic = any(isinstance(arg, TensorBase) and not isinstance(arg, Tensor) for arg in args)
    return state.grad_enabled and isinstance(current_interpreter(), EagerInterpreter) and not symbolic


def _tensors_in(tree: Any) -> Iterator[Tensor]:
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, list | tuple | dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _tensors_in(part)


class _Graph:
    """What a run has recorded after the node number `start`.

    Attributes
    ----------
    edges : list
        Edges that lead out of it, in the order of a walk over it.
    saved : list of (weak reference to Tensor, int)
        Tensors that its gradients read, and the versions that they read.
    has_hooks : bool
        True if a value inside has gradient hooks.
    """

    def __init__(self, outputs: list[Tensor], start: int) -> None:
        self.edges: list[Edge] = []
        self.saved: list[tuple[weakref.ref[Tensor], int]] = []
        self.has_hooks = False
        seen: set[Any] = set()
        stack = [tensor.graph_edge() for tensor in outputs]
        while stack:
            edge = stack.pop()
            node = edge[0]
            if not isinstance(node, InteriorNode) or node.sequence < start:
                if edge not in seen:
                    seen.add(edge)
                    self.edges.append(edge)
            elif node not in seen:
                seen.add(node)
                self.has_hooks = self.has_hooks or any((node.hooks or {}).values())
                stack += [inner for inner in node.edges if inner is not None]
                if isinstance(node, OpNode):
                    self.saved += [
                        (weakref.ref(value), version)
                        for value, version in zip(node.inputs, node.versions, strict=True)
                        if version >= 0
                    ]


class RecomputeNode(InteriorNode):
    """One call of `recompute`."""

    __slots__ = ("args", "function", "kwargs", "numbers", "saved")

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        numbers: Any,
        graph: _Graph,
        outputs: list[Tensor],
    ) -> None:
        super().__init__(list(graph.edges), [tensor.spec for tensor in outputs])
        self.function: Any = function
        self.args, self.kwargs = args, kwargs
        self.numbers = numbers
        self.saved = graph.saved

    def check_usable(self) -> None:
        super().check_usable()
        for reference, version in self.saved:
            tensor = reference()
            if tensor is not None and tensor.version != version:
                raise GradientError(
                    f"a tensor that recompute() reads again has been modified in place: shape {tensor.shape}",
                    advice="Write to a clone, or write before the tensor is used.",
                    kind="G02",
                )

    def release(self) -> None:
        super().release()
        self.function, self.args, self.kwargs, self.saved = None, (), {}, []

    def propagate(self, walk: Walk, grads: list[Tensor | None]) -> None:
        roots = []
        outputs, start = self._run()
        for tensor, grad in zip(outputs, grads, strict=True):
            edge = tensor.graph_edge()
            if edge[0].hooks is not None and isinstance(edge[0], InteriorNode):
                # They have run: see `computed_again`.
                edge[0].hooks.pop(edge[1], None)
            if grad is not None:
                roots.append((edge, grad))
        graph = _Graph(outputs, start)
        if not {*graph.edges} <= {*self.edges}:
            raise GradientError(
                "the function given to recompute() has computed something else than the first time", kind="G12"
            )
        if walk.create_graph and graph.has_hooks:
            # In the next backward each run would call them, with its own part of the gradient.
            raise GradientError(
                "hooks inside of recompute() see no complete gradient under create_graph=True",
                advice="Call the function without recompute().",
                kind="G13",
            )
        if not walk.retain_graph:
            self.release()
        inside = _Inside(walk, graph.edges)
        inside.run(roots)
        # Leaves behind are complete in the order in which their last contributions have come.
        place: dict[Edge | None, int] = {edge: number for number, edge in enumerate(inside.left)}
        self.edges.sort(key=lambda edge: place.get(edge, len(place)))

    def _run(self) -> tuple[list[Tensor], int]:
        """The outputs of another run, and the number that its nodes begin after."""
        start = InteriorNode([], []).sequence
        now = random.get_rng_state()
        try:
            if self.numbers is not None:
                random.set_rng_state(self.numbers)
            result = called_in_mode(True, self.function, *self.args, **self.kwargs)
        finally:
            if self.numbers is not None:
                random.set_rng_state(now)
        outputs = [
            tensor for tensor in _tensors_in(result) if tensor._node is not None and tensor._node.sequence > start
        ]
        if [tensor.spec for tensor in outputs] != list(self.specs):
            raise GradientError(
                "the function given to recompute() has returned something else than the first time", kind="G12"
            )
        return outputs, start


class _Inside(Walk):
    """The walk over what was computed again: gradients that leave it are contributions to the walk around."""

    def __init__(self, around: Walk, edges: list[Edge]) -> None:
        super().__init__(create_graph=around.create_graph, blocked=edges)
        self.around = around
        self.left: dict[Edge, None] = {}

    def needs(self, edge: Edge) -> bool:
        return self.around.needs(edge) if edge in self.blocked else super().needs(edge)

    def accumulate(self, edge: Edge, grad: Tensor) -> None:
        if edge in self.blocked:
            self.left.pop(edge, None)
            self.left[edge] = None
            self.around.accumulate(edge, grad)
        else:
            super().accumulate(edge, grad)
