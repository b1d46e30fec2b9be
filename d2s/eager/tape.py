"""The eager tape: what an op leaves behind for backward, and the walk that uses it.

A gradient belongs to an *edge*: (node, output index).  Hooks, retained gradients and `.grad` live on the node, so
every Tensor object that names the same value shares them, and a value keeps its hooks when its Tensor object goes.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core import interpreter
from d2s.core.hooks import HookList
from d2s.core.interpreter import set_grad_mode
from d2s.core.op import Op
from d2s.core.spec import TensorSpec
from d2s.errors import GradientError
from d2s.ops.reduction import unbroadcast

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor

_sequence = itertools.count()


class LeafNode:
    """End of the graph: accumulates the gradient of one leaf tensor."""

    __slots__ = ("__weakref__", "grad", "hooks", "reduce_hooks", "spec", "zero_grad")

    def __init__(self, spec: TensorSpec) -> None:
        self.spec = spec
        self.grad: Tensor | None = None
        # After `clear_grad()` the gradient is known to be zero; memory is filled only if somebody looks.
        self.zero_grad = False
        self.hooks: HookList | None = None
        self.reduce_hooks: HookList | None = None

    def hook_list(self, index: int) -> HookList:
        if self.hooks is None:
            self.hooks = HookList()
        return self.hooks

    def reduce_hook_list(self) -> HookList:
        if self.reduce_hooks is None:
            self.reduce_hooks = HookList()
        return self.reduce_hooks

    def run_reduce_hooks(self) -> None:
        """Call the reduce hooks, in order of registration; what they return is ignored."""
        last = -1
        while self.reduce_hooks is not None:
            last = next((key for key in self.reduce_hooks.hooks if key > last), -1)
            if last < 0:
                return
            self.reduce_hooks.hooks[last]()

    def grad_of(self, index: int) -> Tensor | None:
        if self.grad is None and self.zero_grad:
            self.grad = interpreter.wrap(np.zeros(self.spec.shape, self.spec.dtype))
        return self.grad

    def set_grad(self, index: int, grad: Tensor | None, zero: bool = False) -> None:
        self.grad = grad
        self.zero_grad = zero


class InteriorNode:
    """A node with inputs: one op, or one call of a compiled function.

    Attributes
    ----------
    edges : sequence of (node, index) or None
        Where the gradient of each input goes; None where it stops.
    sequence : int
        Order of creation; backward visits interior nodes in reverse.
    """

    __slots__ = ("__weakref__", "edges", "hooks", "released", "retained", "sequence", "specs")

    specs: Sequence[TensorSpec]

    def __init__(self, edges: Sequence[Edge | None], specs: Sequence[TensorSpec]) -> None:
        self.edges = edges
        self.specs = specs
        self.sequence = next(_sequence)
        self.hooks: dict[int, HookList] | None = None
        self.retained: dict[int, Tensor | None] | None = None
        self.released = False

    def hook_list(self, index: int) -> HookList:
        if self.hooks is None:
            self.hooks = {}
        found = self.hooks.get(index)
        if found is None:
            found = self.hooks[index] = HookList()
        return found

    def grad_of(self, index: int) -> Tensor | None:
        return self.retained.get(index) if self.retained else None

    def set_grad(self, index: int, grad: Tensor | None, zero: bool = False) -> None:
        if grad is None and zero and self.grad_of(index) is not None:
            spec = self.specs[index]
            grad = interpreter.wrap(np.zeros(spec.shape, spec.dtype))
        if self.retained is None:
            self.retained = {}
        self.retained[index] = grad

    def retain(self, index: int) -> None:
        """Keep the gradient of output `index`, as it is at this place among its hooks; it accumulates."""
        if self.retained is None:
            self.retained = {}
        self.retained.setdefault(index, None)

        def keep(grad: Tensor) -> None:
            assert self.retained is not None
            held = self.retained.get(index)
            total = grad.data if held is None else held.data + grad.data
            self.retained[index] = interpreter.wrap(np.asarray(total), False)

        self.hook_list(index).add(keep)

    def is_retaining(self, index: int) -> bool:
        return self.retained is not None and index in self.retained

    def check_usable(self) -> None:
        """Raise GradientError if the saved values are gone or have been changed in place."""
        if self.released:
            raise GradientError(
                "trying to backward through the graph a second time: its saved values have been freed",
                advice="Pass retain_graph=True to the first backward.",
            )

    def release(self) -> None:
        self.released = True

    def visit(self, walk: Walk, grads: list[Tensor | None]) -> None:
        """Take the complete gradients of the outputs (None: none came), run hooks, send gradients to the edges."""
        raise NotImplementedError


Node = LeafNode | InteriorNode
Edge = tuple[Node, int]


class OpNode(InteriorNode):
    """One op: keeps what its gradient rules read, and nothing else."""

    __slots__ = ("attrs", "inputs", "op", "out_data", "versions")

    def __init__(
        self,
        op: Op,
        attrs: dict[str, Any],
        inputs: tuple[Any, ...],
        versions: tuple[int, ...],
        edges: Sequence[Edge | None],
        specs: Sequence[TensorSpec],
        out_data: Any,
    ) -> None:
        super().__init__(edges, specs)
        self.op = op
        self.attrs = attrs
        self.inputs = inputs
        self.versions = versions
        self.out_data = out_data

    def check_usable(self) -> None:
        super().check_usable()
        for value, version in zip(self.inputs, self.versions, strict=True):
            if version >= 0 and value.version != version:
                raise GradientError(
                    f"a tensor that the gradient of {self.op.name} needs has been modified in place: "
                    f"shape {value.shape}, is at version {value.version}, expected version {version}",
                    advice="Write to a clone, or write before the tensor is used.",
                )

    def release(self) -> None:
        super().release()
        self.inputs = self.versions = ()
        self.out_data = None

    def output_tensors(self, walk: Walk) -> Any:
        """The saved output as Tensor (or tuple of them), joined to this node if the walk itself is recorded."""
        if self.out_data is None:
            return None
        history = (self, False) if walk.create_graph else (None, True)
        if isinstance(self.out_data, tuple):
            return tuple(interpreter.wrap(data, history[1], history[0], i) for i, data in enumerate(self.out_data))
        return interpreter.wrap(self.out_data, history[1], history[0], 0)

    def visit(self, walk: Walk, grads: list[Tensor | None]) -> None:
        self.check_usable()
        if self.hooks is not None:
            self._run_hooks(walk, grads)
        if walk.captured is not None:
            for index, grad in enumerate(grads):
                walk.capture((self, index), grad)
            if not walk.leads_to_target(self):
                return
        self._propagate(walk, grads)

    def _run_hooks(self, walk: Walk, grads: list[Tensor | None]) -> None:
        assert self.hooks is not None
        try:
            for index, hooks in sorted(self.hooks.items()):
                if not hooks.hooks:
                    continue
                grad = grads[index]
                if grad is None:
                    # The op ran and another of its outputs was used: this one has a zero gradient.
                    grad = interpreter.wrap(np.zeros(self.specs[index].shape, self.specs[index].dtype))
                grads[index] = walk.hooked(hooks, grad)
        except BaseException:
            if not walk.retain_graph:
                self.release()
            raise

    def _propagate(self, walk: Walk, grads: list[Tensor | None]) -> None:
        op, inputs, edges = self.op, self.inputs, self.edges
        out = self.output_tensors(walk)
        if len(self.specs) == 1:
            g: Any = grads[0]
        else:
            g = tuple(
                interpreter.wrap(np.zeros(spec.shape, spec.dtype)) if grad is None else grad
                for grad, spec in zip(grads, self.specs, strict=True)
            )
        needs = [edge is not None and walk.needs(edge) for edge in edges]
        attrs = self.attrs
        if not walk.retain_graph:
            self.release()
        found = op.gradients(g, out, inputs, attrs, needs)
        for value, edge, grad in zip(inputs, edges, found, strict=True):
            if grad is not None and edge is not None:
                if grad.shape != value.shape:
                    grad = unbroadcast(grad, tuple(value.shape))
                walk.accumulate(edge, grad)
        for edge in edges:
            if edge is not None and type(edge[0]) is LeafNode:
                walk.arrived(edge[0])


class Walk:
    """One backward pass.

    Interior nodes in reverse order of creation; a leaf as soon as its last contribution is in, before the next
    interior node, first argument first.  Per leaf: hooks, accumulation, reduce hooks.

    Parameters
    ----------
    retain_graph, create_graph : bool
        Keep the saved values; record the walk itself.
    targets : iterable of edges, optional
        Collect the gradients of these (`grad()`); then no `.grad` is filled and no reduce hook runs.
    blocked : iterable of edges
        No gradient passes these.
    """

    def __init__(
        self,
        retain_graph: bool = False,
        create_graph: bool = False,
        targets: Iterable[Edge] | None = None,
        blocked: Iterable[Edge] = (),
    ) -> None:
        self.retain_graph = retain_graph or create_graph
        self.create_graph = create_graph
        self.captured: dict[Edge, Tensor | None] | None = None if targets is None else dict.fromkeys(targets)
        self.blocked = frozenset(blocked)
        self._heap: list[tuple[int, InteriorNode]] = []
        self._slots: dict[InteriorNode, list[Tensor | None]] = {}
        self._leaf_slots: dict[LeafNode, Tensor] = {}
        self._leaf_counts: dict[LeafNode, int] = {}
        self._useful: set[InteriorNode] = set()

    def run(self, roots: Sequence[tuple[Edge, Tensor]]) -> None:
        """Walk from `roots`, given with the gradients of the final value with respect to each."""
        before = set_grad_mode(self.create_graph)
        try:
            self._explore([edge for edge, _ in roots])
            for edge, grad in roots:
                self.accumulate(edge, grad)
            for edge, _ in roots:
                if type(edge[0]) is LeafNode:
                    self.arrived(edge[0])
            while self._heap:
                node = heapq.heappop(self._heap)[1]
                node.visit(self, self._slots.pop(node))
        finally:
            set_grad_mode(before)

    def _explore(self, roots: Sequence[Edge]) -> None:
        """Count what each leaf will receive and, with targets, find the nodes that lead to one."""
        counts = self._leaf_counts
        for node, _ in roots:
            if type(node) is LeafNode:
                counts[node] = counts.get(node, 0) + 1
        seen: set[Node] = set()
        order: list[InteriorNode] = []
        stack: list[Node] = [node for node, _ in roots]
        while stack:
            node = stack.pop()
            if node in seen or isinstance(node, LeafNode):
                continue
            seen.add(node)
            order.append(node)
            for edge in node.edges:
                if edge is not None and edge not in self.blocked:
                    below = edge[0]
                    if type(below) is LeafNode:
                        counts[below] = counts.get(below, 0) + 1
                    else:
                        stack.append(below)
        if self.captured is not None:
            targets = self.captured
            order.sort(key=lambda node: node.sequence)
            for node in order:
                if any(e is not None and (e in targets or e[0] in self._useful) for e in node.edges):
                    self._useful.add(node)

    def needs(self, edge: Edge) -> bool:
        """True if a gradient sent to `edge` is of use to this walk."""
        if self.blocked and edge in self.blocked:
            return False
        return self.captured is None or edge in self.captured or edge[0] in self._useful

    def accumulate(self, edge: Edge, grad: Tensor) -> None:
        """Add one contribution to the gradient of `edge`."""
        node, index = edge
        if type(node) is LeafNode:
            held = self._leaf_slots.get(node)
            self._leaf_slots[node] = grad if held is None else held + grad
            return
        assert isinstance(node, InteriorNode)
        slots = self._slots.get(node)
        if slots is None:
            slots = self._slots[node] = [None] * len(node.specs)
            heapq.heappush(self._heap, (-node.sequence, node))
        held = slots[index]
        slots[index] = grad if held is None else held + grad

    def arrived(self, leaf: LeafNode) -> None:
        """Say that one of the expected contributions to `leaf` is in (or will not come); the last one finishes it."""
        self._leaf_counts[leaf] = count = self._leaf_counts[leaf] - 1
        if count == 0:
            self._finish(leaf)

    def pending(self, leaf: LeafNode) -> int:
        """How many contributions `leaf` still expects."""
        return self._leaf_counts.get(leaf, 0)

    def _finish(self, leaf: LeafNode) -> None:
        grad = self._leaf_slots.pop(leaf, None)
        if grad is None:
            return
        edge: Edge = (leaf, 0)
        if self.captured is not None:
            if edge in self.captured:
                self.captured[edge] = self.hooked(leaf.hooks, grad)
            return
        grad = self.hooked(leaf.hooks, grad)
        accumulate_into(leaf, grad, self.create_graph)
        leaf.run_reduce_hooks()

    def capture(self, edge: Edge, grad: Tensor | None) -> None:
        """Keep the gradient of `edge`, after its hooks, if it is one of the targets."""
        if self.captured is not None and edge in self.captured:
            self.captured[edge] = grad

    def leads_to_target(self, node: InteriorNode) -> bool:
        """True if the walk has to go on from `node`."""
        return self.captured is None or node in self._useful

    def hooked(self, hooks: HookList | None, grad: Tensor) -> Tensor:
        """`grad` after the hooks, which get a Tensor object of their own: what they do to it stays theirs."""
        if hooks is None or not hooks.hooks:
            return grad
        own = grad.alias() if self.create_graph else interpreter.wrap(grad.data, False)
        result: Tensor = hooks.run(own)
        return result.alias() if self.create_graph else interpreter.wrap(result.data)


def accumulate_into(leaf: LeafNode, grad: Tensor, with_history: bool) -> None:
    """Add `grad` to the `.grad` of a leaf."""
    held = leaf.grad
    if with_history:
        total = grad if held is None else held + grad
        leaf.set_grad(0, total.alias())
    else:
        data = grad.data if held is None else held.data + grad.data
        leaf.set_grad(0, interpreter.wrap(np.asarray(data), False))
