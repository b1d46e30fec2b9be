"""One run of a compiled Program, and its place on the eager tape."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.spec import spec_of
from d2s.eager.tape import Edge, InteriorNode, LeafNode
from d2s.eager.tensor import Tensor
from d2s.errors import AnomalyError
from d2s.jit.turn_node import TurnNode
from d2s.static.executor import Compiled
from d2s.static.failures import in_the_users_terms
from d2s.static.numeric_errors import SILENT, outside
from d2s.static.runtime import modified_in_place

if TYPE_CHECKING:
    from d2s.jit.unfold import Tape


class Run:
    """A run that nobody will differentiate; without `grad`, no tensor that it makes requires a gradient."""

    __slots__ = ("grad", "reached", "saved", "tensors")

    def __init__(self, tensors: Sequence[Any], grad: bool = True) -> None:
        self.tensors = tensors
        self.saved: Any = ()
        self.grad = grad

    def tensor(self, data: Any, number: int | None, stop_gradient: bool, hooks: Any) -> Tensor:
        """The Tensor object of a value."""
        known = _known(hooks)
        if known is not None:
            return known
        array = np.asarray(data)
        if stop_gradient or not self.grad or (hooks is not None and hooks.stop_gradient):
            return _noted(hooks, Tensor(array))
        return _noted(hooks, Tensor(array, False, TurnNode(spec_of(array), hooks), 0))

    def leaf(self, data: Any) -> tuple[Any, Tensor]:
        """A leaf that is made in this run."""
        return data, Tensor(np.asarray(data), False)


def _known(hooks: Any) -> Tensor | None:
    """The Tensor that a value is already: one of the caller's, or one made earlier in this run."""
    return hooks if isinstance(hooks, Tensor) else None if hooks is None else hooks.tensor


def _noted(hooks: Any, tensor: Tensor) -> Tensor:
    if hooks is not None:
        hooks.tensor = tensor
    return tensor


class CallNode(InteriorNode):
    """A run that is a node of the eager tape: one stretch of the walk.

    Its state (saved values, hook lists, tensors) belongs to the run, so several runs of one Program may wait for
    backward at the same time.
    """

    __slots__ = (
        "compiled", "given", "left", "made", "of_turns", "reached", "saved", "tape", "tensors", "versions", "walks",
        "written")

    may_unfold = True

    def __init__(self, compiled: Compiled, tensors: Sequence[Any]) -> None:
        edges: list[Edge | None] = [tensors[i].edge() for i in compiled.edge_positions]
        super().__init__(edges, list(compiled.output_specs))
        self.compiled = compiled
        self.tensors = tensors
        self.saved: Any = ()
        # The `backward` inside of the Program that is running.
        self.reached: Any = None
        # How many outputs have become Tensors.
        self.given = 0
        # What backwards without retain_graph have used up: operators, and the outputs that they started from.
        self.walks: list[tuple[frozenset[Any], tuple[int, ...]]] = []
        # The run as nodes of the eager tape, once a walk has asked for it.
        self.tape: Tape | None = None
        # During a backward that counts: contributions still to come, by edge.
        self.left: dict[int, int] | None = None
        self.versions = [tensor.version for tensor in tensors]
        # Tensors of this run whose values backward reads, by number, if the caller holds them.
        self.made: dict[int, weakref.ref[Tensor]] = {}
        # Their numbers, if they have been written to.
        self.written: set[int] = set()
        # What was asked for a Tensor in turns of loops, in their order: the node made for it, if it is needed still.
        self.of_turns: list[weakref.ref[TurnNode] | None] = []

    def tensor(self, data: Any, number: int | None, stop_gradient: bool, hooks: Any) -> Tensor:
        """The Tensor object of a value, joined to this run if it can be differentiated."""
        known = _known(hooks)
        if number is None:
            self.of_turns.append(None)
        is_of_a_turn = known is not None and type(known._node) is TurnNode
        if known is not None and not (is_of_a_turn and number is not None):
            return known
        array = np.asarray(data)
        if stop_gradient or (hooks is not None and hooks.stop_gradient):
            return _noted(hooks, Tensor(array))
        if number is None:
            node = TurnNode(spec_of(array), hooks, self)
            self.of_turns[-1] = weakref.ref(node)
            return _noted(hooks, Tensor(array, False, node, 0))
        self.given += 1
        self.specs[number] = spec_of(array)  # type: ignore[index]
        if hooks is not None:
            if self.hooks is None:
                self.hooks = {}
            self.hooks[number] = hooks
            if hooks.keep is not None:
                # Retained in a turn of a loop, whose Tensor need not be there any more.
                self.retained = {**(self.retained or {}), number: hooks.keep}
        if known is None:
            tensor = _noted(hooks, Tensor(array, False, self, number))
        else:
            # The value of the last turn, which goes on after the loop.
            tensor, known._node, known._index = known, self, number
        if number in self.compiled.read_outputs:
            self.made[number] = weakref.ref(tensor)
        return tensor

    def note_write(self, tensor: Tensor, index: int) -> None:
        made = self.made.get(index)
        if made is not None and made() is tensor:
            self.written.add(index)
            if self.tape is not None:
                self.tape.note_write(index)

    def leaf(self, data: Any) -> tuple[Any, Tensor]:
        """A leaf that is made in this run: its gradient stays with it."""
        tensor = Tensor(np.asarray(data), False)
        self.edges.append(tensor.graph_edge())
        return data, tensor

    # --- the run as a tape -------------------------------------------------------------------------------------

    def edge_of(self, value: Any) -> Edge | None:
        """Where the gradient of an input, or of what was read again of it, goes."""
        number = self.compiled.edge_numbers.get(value)
        return None if number is None else self.edges[number]

    def resolved(self, index: int, walk: Any) -> Edge | None:
        # Of a run that has been used up, the path is still known if there is only one.
        if self.tape is None and (
            self.compiled.has_regions if self.released else not self._has_to_unfold(walk)
        ):
            return self, index
        return self.unfolded().edge(index)

    def unfolded(self) -> Tape:
        """The run as nodes of the tape, as far as it has come."""
        if self.tape is None:
            from d2s.jit.unfold import Tape

            self.tape = Tape()
            self.tape.follow(self)
        elif self.tape.saved is not self.saved:
            self.tape.follow(self)
        return self.tape

    def leads_on(self, walk: Any) -> bool:
        return super().leads_on(walk) or (self.released and self in walk.asked)

    def _has_to_unfold(self, walk: Any) -> bool:
        compiled = self.compiled
        if walk.create_graph or self.walks or self.written or not compiled.is_exact:
            return True
        if any(node is not None and node() is not None for node in self.of_turns):
            return True
        if walk.asked is not None and (
            compiled.has_regions or self in walk.asked or len(self.edges) > len(compiled.edge_positions)
        ):
            return True
        tensors, versions = self.tensors, self.versions
        return any(tensors[number].version != versions[number] for number in compiled.read_tensors)

    def hook_list(self, index: int) -> HookList:
        node, at = self._place(index)
        return super().hook_list(index) if node is self else node.hook_list(at)

    def grad_of(self, index: int) -> Tensor | None:
        node, at = self._place(index)
        return super().grad_of(index) if node is self else node.grad_of(at)

    def set_grad(self, index: int, grad: Tensor | None, zero: bool = False) -> None:
        node, at = self._place(index)
        if node is self:
            super().set_grad(index, grad, zero)
        else:
            node.set_grad(at, grad, zero)

    def retain(self, index: int) -> None:
        node, at = self._place(index)
        if node is self:
            super().retain(index)
        elif isinstance(node, InteriorNode):
            node.retain(at)

    def show_retained(self, index: int, node: InteriorNode, at: int) -> None:
        own, own_index = self._place(index)
        if own is self:
            super().show_retained(index, node, at)
        elif isinstance(own, InteriorNode):
            own.show_retained(own_index, node, at)

    def _place(self, index: int) -> Edge:
        """The node that holds hooks and gradients of an output."""
        edge = None if self.tape is None else self.tape.edge(index)
        return (self, index) if edge is None else edge

    def output_leads_on(self, index: int, walk: Any) -> bool:
        if self.released:
            # Which says so when it is visited.
            return True
        edges = (self.edges[number] for number in self.compiled.dependencies[index])
        return any(edge is not None and walk.needs(edge) for edge in edges)

    # --- backward: called by the walk, and by generated code ---------------------------------------------------

    def visit(self, walk: Any, grads: list[Tensor | None]) -> None:
        self.check_usable()
        compiled = self.compiled
        reached = tuple([number for number, grad in enumerate(grads) if grad is not None])
        wanted: tuple[int, ...] | None = None
        if walk.captured is not None:
            wanted = tuple(
                number for number, edge in enumerate(self.edges) if edge is not None and walk.needs(edge))
        backward = compiled.backward_function(reached, wanted)
        given = [grads[number].data for number in reached]  # type: ignore[union-attr]
        with SILENT:
            self.left = None
            if backward.count is not None and self.shows_order():
                self.left = backward.count(self.saved, *[True] * len(given))
                self.arrive_all(walk, [number for number, count in self.left.items() if not count])
            try:
                # Handed over, not kept here: each array goes with its last use.
                backward.run(self, walk, self.take_saved(walk.retain_graph, backward.visited, reached), *given)
            except AnomalyError as error:
                in_the_users_terms(error, backward.run, "in backward, ")
                raise
            # Counted contributions do not come if a PyLayer gives no gradient.
            waiting = backward.conditional if self.left is None else [n for n, count in self.left.items() if count > 0]
            self.arrive_all(walk, waiting)

    def release(self) -> None:
        super().release()
        self.saved = ()
        self.made = {}

    def take_saved(self, retain: bool, visited: frozenset[Any], reached: tuple[int, ...]) -> Any:
        """The saved values; without `retain`, if nothing can be left to visit, this run does not hold them any more."""
        saved = self.saved
        if not retain:
            compiled = self.compiled
            is_all = len(reached) == self.given and self.reached is None
            if is_all or (not compiled.has_regions and visited >= compiled.all_visited):
                self.release()
            else:
                self.walks.append((visited, reached))
        return saved

    def check_input(self, number: int, op: str) -> None:
        """Raise if a tensor of the caller has been written to since this run read it."""
        tensor = self.tensors[number]
        if tensor.version != self.versions[number]:
            modified_in_place(op, tuple(tensor.shape))

    def check_output(self, number: int, op: str) -> None:
        """Raise if the caller has written to a tensor of this run that backward reads."""
        if number in self.written:
            modified_in_place(op, tuple(self.specs[number].shape))

    def finish(self, walk: Any, number: int, grad: Any) -> None:
        """The only, or last, contribution of this run to an edge."""
        self.accumulate(walk, number, grad)
        self.arrived(walk, number)

    def accumulate(self, walk: Any, number: int, grad: Any) -> None:
        """One contribution to an edge."""
        edge = self.edges[number]
        if edge is not None and walk.needs(edge):
            walk.accumulate(edge, Tensor(np.asarray(grad)))

    def shows_order(self) -> bool:
        """True if some hook of this run, or of a leaf it leads to, may see which leaves are finished."""
        if self.compiled.registers_hooks or self.hooks:
            return True
        leaves = [edge[0] for edge in self.edges if edge is not None and type(edge[0]) is LeafNode]
        return any(leaf.hooks is not None or leaf.reduce_hooks is not None for leaf in leaves)

    def contribute(self, walk: Any, number: int, grad: Any) -> None:
        """A contribution to an edge that counts by itself."""
        self.accumulate(walk, number, grad)
        self.contributed(walk, number)

    def contributed(self, walk: Any, number: int) -> None:
        """One of the counted contributions to an edge is in."""
        if self.left is not None:
            self.left[number] -= 1
            if not self.left[number]:
                self.arrived(walk, number)

    def arrive_all(self, walk: Any, numbers: Iterable[int]) -> None:
        """Say of edges that nothing more will come."""
        for number in numbers:
            self.arrived(walk, number)

    def accumulate_leaf(self, walk: Any, tensor: Tensor, grad: Any) -> None:
        """The whole gradient of a leaf made in this run."""
        edge = tensor.graph_edge()
        walk.accumulate(edge, Tensor(np.asarray(grad)))
        walk.arrived(edge[0])

    def arrived(self, walk: Any, number: int) -> None:
        """The last contribution of this run to an edge is in."""
        edge = self.edges[number]
        if edge is None or edge in walk.blocked:
            return
        leaf = edge[0]
        if type(leaf) is LeafNode:
            if leaf.hooks is None and leaf.reduce_hooks is None:
                walk.arrived(leaf)
            else:
                outside(walk.arrived, leaf)

    def call_hooks(self, walk: Any, grad: Any, point: Any, number: int | None) -> Any:
        """The gradient of a value after its hooks."""
        if grad is None:
            return None
        hooks = point
        if not isinstance(hooks, HookList):
            hooks = self.hooks.get(number) if self.hooks is not None and number is not None else None
        return outside(walk.hooked, hooks, Tensor(np.asarray(grad))).data if hooks else grad
