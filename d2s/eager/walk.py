"""The walk of a backward pass over the tape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core import interpreter
from d2s.core.hooks import HookList
from d2s.core.interpreter import state
from d2s.core.modes import modes_now, put_back
from d2s.eager import plans
from d2s.eager.lines import explain_in_backward
from d2s.eager.quiet import is_quiet, quiet
from d2s.eager.tape import Edge, InteriorNode, LeafNode, Node
from d2s.errors import AnomalyError, GradientError

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor


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

    # Most walks are without targets: what these change is found in the class.
    captured: dict[Edge, Tensor | None] | None = None
    blocked: frozenset[Edge] = frozenset()
    # Nodes of which a gradient is asked for, or stopped, at an output; None if nothing of that kind is asked.
    asked: set[Node] | None = None
    # Every gradient is of use.
    needs_all = True
    # Set if a call that was found as one node has become several.
    begins_anew = False
    # Of a call that hands gradients to only some of its edges: the numbers of those.
    used_edges: Mapping[InteriorNode, frozenset[int]] = {}

    def __init__(
        self,
        retain_graph: bool = False,
        create_graph: bool = False,
        targets: Iterable[Edge] | None = None,
        blocked: Iterable[Edge] = (),
    ) -> None:
        self.retain_graph = retain_graph or create_graph
        self.create_graph = create_graph
        if targets is not None or blocked:
            self._ask(targets, list(blocked))
        # Ops are computed at once, and nobody watches: gradient rules may run as straight code.
        self.is_plain = not create_graph and state.current is interpreter.default_interpreter()
        # Calls a function of arrays without warnings of inf and nan.
        self.quietly: Callable[..., Any] = _at_once if is_quiet.get() else quiet.run
        self._slots: dict[InteriorNode, list[Tensor | None]] = {}
        self._leaf_slots: dict[LeafNode, Tensor] = {}
        self._leaf_counts: dict[LeafNode, int] = {}
        self._useful: set[Node] = set()

    def _ask(self, targets: Iterable[Edge] | None, blocked: Sequence[Edge]) -> None:
        targets = None if targets is None else list(targets)
        self.asked = {node for node, _ in (*(targets or ()), *blocked)}
        if targets is not None:
            self.captured = dict.fromkeys(map(self.resolved, targets))
        self.blocked = frozenset(map(self.resolved, blocked))
        self.needs_all = self.captured is None and not self.blocked

    def resolved(self, edge: Edge) -> Edge:
        """Where this walk finds a value that has a gradient."""
        node, index = edge
        if type(node) is not LeafNode and node.may_unfold:  # type: ignore[union-attr]
            edge = node.resolved(index, self) or edge  # type: ignore[union-attr]
        return edge

    def run(self, roots: Sequence[tuple[Edge, Tensor]]) -> None:
        """Walk from `roots`, given with the gradients of the final value with respect to each."""
        modes = modes_now()
        try:
            state.grad_enabled = self.create_graph
            if self.is_plain and self.needs_all and len(roots) == 1 and plans.run(self, roots[0][0][0], roots[0][1]):
                return
            nodes, roots = self._begin(roots)
            for edge, grad in roots:
                if self.needs(edge):
                    self.accumulate(edge, grad)
            for (node, _), _ in roots:
                if type(node) is LeafNode:
                    self.arrived(node)
            while nodes:
                reached = nodes.pop()
                grads = self._slots.pop(reached, None)
                if grads is None:
                    self.all_arrived(reached)
                else:
                    try:
                        reached.visit(self, grads)
                    except AnomalyError as error:
                        explain_in_backward(error, reached)
                        raise
        except BaseException as error:
            put_back(modes, error)
            raise
        finally:
            # Without a call: an interrupt may come at each.
            state.grad_enabled = modes[1]

    def _begin(self, roots: Sequence[tuple[Edge, Tensor]]) -> tuple[list[InteriorNode], list[tuple[Edge, Tensor]]]:
        """What is below `roots`, and these as the walk finds them."""
        while True:
            self.begins_anew = False
            found = [(self.resolved(edge), grad) for edge, grad in roots]
            nodes = self._explore([edge for edge, _ in found])
            if not self.begins_anew:
                return nodes, found
            self._leaf_counts.clear()
            self._useful.clear()

    def _explore(self, roots: Sequence[Edge]) -> list[InteriorNode]:
        """Interior nodes below `roots`, oldest first.

        Counts what each leaf will receive and, with targets, notes the nodes that lead to one.
        """
        counts, blocked = self._leaf_counts, self.blocked
        seen: set[InteriorNode] = set()
        stack: list[InteriorNode] = []
        for node, _ in roots:
            if type(node) is LeafNode:
                counts[node] = counts.get(node, 0) + 1
            elif node not in seen:
                assert isinstance(node, InteriorNode)
                seen.add(node)
                stack.append(node)
        while stack:
            edges = stack.pop().edges
            for position, edge in enumerate(edges):
                if edge is None:
                    continue
                node = edge[0]
                if type(node) is not LeafNode and node.may_unfold:  # type: ignore[union-attr]
                    edge = edges[position] = node.resolved(edge[1], self)  # type: ignore[union-attr]
                    if edge is None:
                        continue
                    node = edge[0]
                if blocked and edge in blocked:
                    continue
                if type(node) is LeafNode:
                    counts[node] = counts.get(node, 0) + 1
                elif node not in seen:
                    seen.add(node)  # type: ignore[arg-type]
                    stack.append(node)  # type: ignore[arg-type]
        nodes = sorted(seen, key=_age)
        has_calls = len(nodes) > 1 and any(map(_may_unfold, nodes))
        if has_calls and not self.begins_anew and self._shows_order(nodes):
            reached = self._reached(nodes, roots)
            nodes = [node for node in nodes if node in reached]
        if self.captured is not None:
            for interior in nodes:
                if interior.leads_on(self):
                    self._useful.add(interior)
        return nodes

    def _shows_order(self, nodes: Sequence[InteriorNode]) -> bool:
        """True if somebody may see which leaf is finished when."""
        return any(node.shows_order() for node in nodes) or any(
            leaf.hooks is not None or leaf.reduce_hooks is not None for leaf in self._leaf_counts)

    def _reached(self, nodes: Sequence[InteriorNode], roots: Sequence[Edge]) -> dict[InteriorNode, set[int]]:
        """The outputs of `nodes` to which a gradient comes, if every call is the many ops that it stands for.

        An op that is reached sends a gradient to all of its edges, a call of a compiled function only to those that
        lie below the outputs reached.  Leaves are counted anew.
        """
        counts: dict[LeafNode, int] = {}
        outputs: dict[InteriorNode, set[int]] = {}
        used: dict[InteriorNode, frozenset[int]] = {}

        def reach(edge: Edge) -> None:
            node, index = edge
            if type(node) is LeafNode:
                counts[node] = counts.get(node, 0) + 1
            else:
                outputs.setdefault(node, set()).add(index)  # type: ignore[arg-type]

        for edge in roots:
            reach(edge)
        for node in reversed(nodes):
            if node not in outputs:
                continue
            edges = node.edges
            if node.may_unfold:
                used[node] = chosen = node.edges_below(outputs[node])
                edges = [edges[number] for number in chosen]
            for target in edges:
                if target is not None and target not in self.blocked:
                    reach(target)
        self._leaf_counts, self.used_edges = counts, used
        return outputs

    def needs(self, edge: Edge) -> bool:
        """True if a gradient sent to `edge` is of use to this walk."""
        if self.captured is None:
            return not self.blocked or edge not in self.blocked
        if edge in self.blocked:
            return False
        node, index = edge
        return edge in self.captured or (
            isinstance(node, InteriorNode) and node in self._useful and node.output_leads_on(index, self))

    def accumulate(self, edge: Edge, grad: Tensor) -> None:
        """Add one contribution to the gradient of `edge`."""
        node, index = edge
        if type(node) is LeafNode:
            sum_so_far = self._leaf_slots.get(node)
            self._leaf_slots[node] = grad if sum_so_far is None else self._sum(sum_so_far, grad)
            return
        slots = self._slots.get(node)  # type: ignore[arg-type]
        if slots is None:
            slots = self._slots[node] = [None] * len(node.specs)  # type: ignore[index, union-attr]
        held = slots[index]
        slots[index] = grad if held is None else self._sum(held, grad)

    def _sum(self, first: Tensor, second: Tensor) -> Tensor:
        """Two contributions to one gradient, added by the op `add`."""
        if self.is_plain and first.data.shape == second.data.shape and first.data.dtype == second.data.dtype:
            found: Tensor = interpreter.wrap(np.asarray(self.quietly(np.add, first.data, second.data)))
            return found
        total: Tensor = first + second
        return total

    def arrived(self, leaf: LeafNode) -> None:
        """Say that one of the expected contributions to `leaf` is in, or will not come; the last one finishes it."""
        self._leaf_counts[leaf] = count = self._leaf_counts[leaf] - 1
        if count == 0:
            self._finish(leaf)

    def all_arrived(self, node: InteriorNode) -> None:
        """Say it for every leaf that `node` leads to directly."""
        counts, edges = self._leaf_counts, node.edges
        if self.used_edges and (used := self.used_edges.get(node)) is not None:
            edges = [edges[number] for number in sorted(used)]
        for edge in edges:
            if edge is not None and type(leaf := edge[0]) is LeafNode and (
                not self.blocked or edge not in self.blocked
            ):
                counts[leaf] = count = counts[leaf] - 1
                if count == 0:
                    self._finish(leaf)

    def _finish(self, leaf: LeafNode) -> None:
        grad = self._leaf_slots.pop(leaf, None)
        if grad is None:
            return
        if self.captured is not None:
            if (leaf, 0) in self.captured:
                self.capture((leaf, 0), self.hooked(leaf.hooks, grad))
            return
        self.complete(leaf, grad)

    def complete(self, leaf: LeafNode, grad: Tensor) -> None:
        """The whole gradient of `leaf` is there: hooks, accumulation, reduce hooks."""
        accumulate_into(leaf, self.hooked(leaf.hooks, grad), self.create_graph)
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
        if hooks is None or not (hooks.hooks or hooks.keep is not None):
            return grad
        if self.create_graph:
            return self.own(hooks.run(self.own(grad), self.own))
        wrap = interpreter.wrap
        result: Tensor = wrap(hooks.run(wrap(grad.data, False), self.own).data)
        return result

    def own(self, grad: Tensor) -> Tensor:
        """A Tensor object of the user's own for a gradient: with its history if the walk is recorded, else a leaf."""
        if self.create_graph:
            return grad.alias()
        own: Tensor = interpreter.wrap(grad.data, False)
        return own


def _at_once(function: Callable[..., Any], *arrays: Any) -> Any:
    return function(*arrays)


def obstacle(tensor: Tensor) -> GradientError | None:
    """What backward from `tensor` would raise because its graph was used up, or written to; nothing is run."""
    walk, edge = Walk(), tensor.edge()
    if edge is None:
        return None
    nodes, roots = walk._begin([(edge, tensor)])
    reached = walk._reached(nodes, [found for found, _ in roots])
    try:
        for node in reversed(nodes):
            if node in reached:
                node.check_reached(reached[node])
    except GradientError as error:
        return error
    return None


_age = attrgetter("sequence")
_may_unfold = attrgetter("may_unfold")


def accumulate_into(leaf: LeafNode, grad: Tensor, with_history: bool) -> None:
    """Add `grad` to the `.grad` of a leaf."""
    if with_history:
        leaf.add_with_history(grad)
    else:
        leaf.add(grad.data)
