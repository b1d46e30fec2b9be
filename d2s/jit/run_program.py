"""One run of a compiled Program, and its place on the eager tape."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.op import Op
from d2s.core.spec import TensorSpec, spec_of
from d2s.eager.interpreter import compute_of_all
from d2s.eager.tape import Edge, InteriorNode, LeafNode
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.views import become, become_data
from d2s.errors import AnomalyError, GradientError
from d2s.jit.path_nodes import next_place
from d2s.jit.plain_run import checked, known_tensor, name, noted, other_history
from d2s.static.executor import Compiled
from d2s.static.failures import in_the_users_terms
from d2s.static.numeric_errors import SILENT, outside
from d2s.static.runtime import MISSING, modified_in_place

if TYPE_CHECKING:
    from d2s.jit.unfold import Tape


@dataclass(frozen=True)
class Visited:
    """What a backward without retain_graph has used up of a run.

    Attributes
    ----------
    operators : set of Operator
        Those that it visits.
    reached : tuple of int
        The outputs that it started from.
    failed_at : object
        It came only so far: a HookList or LeafNode whose hooks raised, or the context of a PyLayer that did; or None.
    """

    operators: frozenset[Any]
    reached: tuple[int, ...]
    failed_at: Any = None


class CallNode(InteriorNode):
    """A run that is a node of the eager tape: one stretch of the walk.

    Its state (saved values, hook lists, tensors) belongs to the run, so several runs of one Program may wait for
    backward at the same time.
    """

    __slots__ = (
        "compiled", "failed_at", "given", "is_hooked_in_turns", "left", "made", "met", "reached", "read_again", "saved",
        "tape", "tensors", "turns", "versions", "walks", "written")

    may_unfold = True

    def __init__(self, compiled: Compiled, tensors: Sequence[Any]) -> None:
        # Written out: a call takes no longer than it must.
        edges: list[Edge | None] = []
        for position in compiled.edge_positions:
            tensor = tensors[position]
            leaf = tensor._leaf
            if leaf is not None and tensor._node is None and not tensor._stop_gradient:
                edges.append((leaf, 0))
            else:
                edges.append(tensor.edge())
        super().__init__(edges, list(compiled.output_specs))
        self.compiled = compiled
        self.tensors = tensors
        self.saved: Any = ()
        # The `backward` inside of the Program that is running.
        self.reached: Any = None
        # How many outputs have become Tensors.
        self.given = 0
        # What backwards without retain_graph have used up: operators, and the outputs that they started from.
        self.walks: list[Visited] = []
        # What raised in the backward that is running, as in `Visited`.
        self.failed_at: Any = None
        # The run as nodes of the eager tape, once a walk has asked for it.
        self.tape: Tape | None = None
        # During a backward that counts: contributions still to come, by edge.
        self.left: dict[int, int] | None = None
        self.versions = [tensor.version for tensor in tensors]
        # Tensors of the caller that the run has read anew, or written to, with their versions then.
        self.read_again: list[tuple[Tensor, int]] = []
        # Tensors of this run whose values backward reads, by number, if the caller holds them.
        self.made: dict[int, weakref.ref[Tensor]] = {}
        # Their numbers, if they have been written to.
        self.written: set[int] = set()
        # How often the run has come to each place where a turn makes a Tensor, and the outputs that these are: they
        # follow those of the Program.
        self.met: dict[int, int] = {}
        self.turns: dict[tuple[int, int], int] = {}
        # True once the caller has put a hook on one.
        self.is_hooked_in_turns = False

    def tensor(self, data: Any, number: int | None, stop_gradient: bool, hooks: Any) -> Tensor:
        """The Tensor object of a value, joined to this run if it can be differentiated."""
        known = known_tensor(hooks)
        if known is not None and (number is None or known is hooks or not self._is_of_a_turn(known)):
            return known
        array = np.asarray(data)
        if number is None or stop_gradient or (hooks is not None and hooks.stop_gradient):
            return noted(hooks, tensor_of(array))
        self._old_output(number, array, hooks)
        if known is None:
            tensor = noted(hooks, tensor_of(array, False, self, number))
        else:
            # The value of the last turn, which goes on after the loop.
            tensor, known._node, known._index = known, self, number
        if number in self.compiled.read_outputs:
            self.made[number] = weakref.ref(tensor)
        return tensor

    def output(self, data: Any, number: int) -> Tensor:
        """The same of a value of known size that has no hooks, and can be differentiated."""
        self.given += 1
        tensor = tensor_of(np.asarray(data), False, self, number)
        if number in self.compiled.read_outputs:
            self.made[number] = weakref.ref(tensor)
        return tensor

    def _is_of_a_turn(self, tensor: Tensor) -> bool:
        return tensor._node is self and tensor._index >= len(self.compiled.output_specs)

    def _take_hooks(self, index: int, hooks: Any) -> None:
        if hooks is not None and not isinstance(hooks, Tensor):
            if self.hooks is None:
                self.hooks = {}
            self.hooks[index] = hooks
            if hooks.keep is not None:
                # Retained in a turn of a loop, whose Tensor need not be there any more.
                self.retained = {**(self.retained or {}), index: hooks.keep}

    def turn_tensor(self, data: Any, number: int, hooks: Any) -> Any:
        """The Tensor object of a value of a turn, which may be unbound: one more output of the run."""
        place = next_place(self.met, number)
        if data is None:
            return MISSING
        known = known_tensor(hooks)
        if known is not None:
            return known
        array = np.asarray(data)
        if hooks is not None and hooks.stop_gradient:
            return noted(hooks, tensor_of(array))
        index = self._new_output(place, array, hooks)
        tensor = noted(hooks, tensor_of(array, False, self, index))
        self.made[index] = weakref.ref(tensor)
        return tensor

    def _old_output(self, number: int, array: Any, hooks: Any) -> int:
        """An output that the Program has become a Tensor."""
        self.given += 1
        self.specs[number] = spec_of(array)  # type: ignore[index]
        self._take_hooks(number, hooks)
        return number

    def _new_output(self, place: tuple[int, int], array: Any, hooks: Any) -> int:
        """One more output: of a turn."""
        index = self.turns[place] = len(self.specs)
        self.specs.append(spec_of(array))  # type: ignore[attr-defined]
        self._take_hooks(index, hooks)
        return index

    def rewrite(
        self, data: Any, old: Any, new: Any, number: int | None, turn: int | None, stop_gradient: bool, data_only: bool,
    ) -> None:
        """Let the Tensor of a value, if there is one, be a version written in place, with the history of that."""
        place = None if turn is None else next_place(self.met, turn)
        tensor = known_tensor(old)
        if tensor is None:
            return
        array = np.asarray(data)
        if data_only and tensor._node is None:
            # A leaf stays one.
            become_data(tensor, array)
        elif stop_gradient or (isinstance(new, HookList) and new.stop_gradient):  # type: ignore[attr-defined]
            # What only stops gradients because somebody has said so goes on with its history.
            node = tensor._node if data_only and tensor._stop_gradient else None
            if node is not None:
                node.note_write(tensor, tensor._index)
            become(tensor, array, node, tensor._index if node is not None else 0, True, data_only)
        else:
            if place is not None:
                index = self._new_output(place, array, new)
            else:
                assert number is not None
                index = self._old_output(number, array, new)
            if tensor._node is not None:
                # `.grad` goes on showing what is kept of the version that is replaced.
                tensor._node.show_retained(tensor._index, self, index)
            become(tensor, array, self, index, False, data_only)
            self.made[index] = weakref.ref(tensor)
        name(new, tensor)

    def note_write(self, tensor: Tensor, index: int) -> None:
        made = self.made.get(index)
        if made is not None and made() is tensor:
            self.written.add(index)
            if self.tape is not None:
                self.tape.note_write(index)

    def version(self, tensor: Tensor) -> tuple[Tensor, int]:
        """A tensor of the caller with its version now, which the run reads."""
        self.read_again.append((tensor, tensor.version))
        return self.read_again[-1]

    def reload(self, tensor: Tensor, stops: bool, name: str) -> Any:
        """The values that a Tensor has now, if its history is older than this run, or of this run."""
        if tensor._stop_gradient is not stops or (
                tensor._node is not None and tensor._node.sequence > self.sequence):
            raise other_history(name)
        return tensor.data

    def leaf(self, data: Any) -> tuple[Any, Tensor]:
        """A leaf that is made in this run: its gradient stays with it."""
        tensor = tensor_of(np.asarray(data), False)
        self.edges.append(tensor.graph_edge())
        return data, tensor

    def take(self, thing: Any, spec: TensorSpec) -> tuple[Any, Any]:
        """The values of a Tensor that was kept in a container, and what it is in the run."""
        return checked(thing, spec).data, self._reference(thing)

    def take_all(self, op: Op, things: list[Any], attrs: dict[str, Any]) -> tuple[Any, Any]:
        """What `op` makes of several, and what these are."""
        return compute_of_all(op, things, attrs), [(self._reference(thing), thing.spec) for thing in things]

    def _reference(self, tensor: Tensor) -> Any:
        """What stands for a Tensor in what the run keeps: its number, if it belongs to the run, or what it is now."""
        return tensor._index if tensor._node is self else (tensor, tensor.version, tensor.edge())

    # --- the run as a tape -------------------------------------------------------------------------------------

    def edge_of(self, value: Any) -> Edge | None:
        """Where the gradient of an input, or of what was read again of it, goes."""
        number = self.compiled.edge_numbers.get(value)
        return None if number is None else self.edges[number]

    def resolved(self, index: int, walk: Any) -> Edge | None:
        is_of_a_turn = index >= len(self.compiled.output_specs)
        if self.tape is None:
            if not (is_of_a_turn or self.released or self._has_to_unfold(walk)):
                return self, index
            from d2s.jit.unfold import Tape

            self.tape = Tape(self)
            # What the walk has found of this run before this tensor was found as the run itself.
            walk.begins_anew |= is_of_a_turn
        elif self.tape.saved is not self.saved:
            self.tape.follow(self)
        edge = self.tape.edge(index)
        if edge is None and is_of_a_turn:
            raise GradientError(
                "a tensor made in a turn of a tensor loop cannot be differentiated in the test of the loop",
                advice="Call backward in the turns, or keep the function eager.",
                kind="G09",
            )
        return edge

    def _has_to_unfold(self, walk: Any) -> bool:
        compiled = self.compiled
        if walk.create_graph or self.walks or self.written or self.is_hooked_in_turns or not compiled.is_exact:
            return True
        if len(self.edges) > len(compiled.edge_positions):
            # Which contribution to a leaf of its own is the last one depends on what else is reached.
            return True
        if self.reached is not None and (compiled.has_regions or compiled.program.writes):
            # It has not come to all of them yet.
            return True
        if walk.asked is not None and (compiled.has_regions or self in walk.asked):
            return True
        tensors, versions = self.tensors, self.versions
        return any(tensors[number].version != versions[number] for number in compiled.read_tensors) or any(
            tensor.version != version for tensor, version in self.read_again)

    def hook_list(self, index: int) -> HookList:
        node, at = self._place(index)
        self._note_hook(index)
        return super().hook_list(index) if node is self else node.hook_list(at)

    def _note_hook(self, index: int) -> None:
        if index >= len(self.compiled.output_specs):
            self.is_hooked_in_turns = True

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
        self._note_hook(index)
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
        edges = (self.edges[number] for number in self.compiled.dependencies[index])
        return any(edge is not None and walk.needs(edge) for edge in edges)

    def edges_below(self, outputs: Iterable[int]) -> frozenset[int]:
        compiled, reached = self.compiled, tuple(sorted(outputs))
        if not compiled.has_regions:
            return frozenset().union(*(compiled.dependencies[index] for index in reached))
        if self.released:
            # It is going to be refused.
            return super().edges_below(outputs)
        backward = compiled.backward_function(reached, None)
        counts = {} if backward.count is None else backward.count(self.saved, *[True] * len(reached))
        return backward.certain.union(number for number, count in counts.items() if count)

    def check_reached(self, outputs: Iterable[int]) -> None:
        super().check_reached(outputs)
        reached = tuple(sorted(outputs))
        self.compiled.probe(reached)(self, self.saved, *[True] * len(reached))

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
        # Handed over, not kept here: each array goes with its last use.
        grads.clear()
        # A hook or PyLayer that raises leaves what comes after it for another backward.
        may_fail = self.compiled.has_py_layers or self.shows_order()
        kept = self.saved if not walk.retain_graph and may_fail else None
        earlier = len(self.walks)
        self.failed_at = None
        with SILENT:
            self.left = None
            if backward.count is not None and self.shows_order():
                self.left = backward.count(self.saved, *[True] * len(given))
                self.arrive_all(walk, [number for number, count in self.left.items() if not count])
            try:
                given.insert(0, self.take_saved(walk.retain_graph, backward.visited, reached))
                backward.run(self, walk, given)
            except AnomalyError as error:
                in_the_users_terms(error, backward.run, "in backward, ")
                raise
            except BaseException:
                if kept is not None and self.failed_at is not None:
                    self.released, self.saved = False, kept
                    self.walks[earlier:] = [Visited(backward.visited, reached, self.failed_at)]
                raise
            # Counted contributions do not come if a PyLayer gives no gradient.
            waiting = backward.conditional if self.left is None else [n for n, count in self.left.items() if count > 0]
            self.arrive_all(walk, waiting)

    def _outside(self, what: HookList | LeafNode, function: Any, *args: Any) -> Any:
        """Let hooks run, and take note of those that raise."""
        try:
            return outside(function, *args)
        except BaseException:
            self.failed_at = what
            raise

    def release(self) -> None:
        super().release()
        skeletons = self.compiled.skeletons
        self.saved = () if skeletons is None else skeletons.of(self.saved)

    def take_saved(self, retain: bool, visited: frozenset[Any], reached: tuple[int, ...]) -> Any:
        """The saved values; without `retain`, if nothing can be left to visit, this run does not hold them any more."""
        saved = self.saved
        if not retain:
            compiled = self.compiled
            is_all = len(reached) == self.given and self.reached is None
            if is_all or (not compiled.has_regions and visited >= compiled.all_visited):
                self.release()
            else:
                self.walks.append(Visited(visited, reached))
        return saved

    def check_input(self, number: int, op: str) -> None:
        """Raise if a tensor of the caller has been written to since this run read it."""
        tensor = self.tensors[number]
        if tensor.version != self.versions[number]:
            modified_in_place(op, tuple(tensor.shape))

    def check_chosen(self, numbers: Sequence[int], outputs: Sequence[int], op: str) -> None:
        """Raise if one of several tensors has been written to, of which the run has read one."""
        written = [self.tensors[number] for number in numbers if self.tensors[number].version != self.versions[number]]
        written += [tensor for tensor, version in self.read_again if tensor.version != version]
        if written or not self.written.isdisjoint(outputs):
            raise GradientError(
                f"a hook has written to one of several tensors of which the gradient of {op} may need one",
                advice="Write to it when backward has ended, or keep the function eager.",
                kind="G16",
            )

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
            walk.accumulate(edge, tensor_of(np.asarray(grad)))

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

    def add_by_identity(
        self, walk: Any, sums: dict[int, Any], identity: int | None, grad: Any, counted: bool
    ) -> None:
        """One contribution to the tensor that a value is in this run; it may be an edge, or stop gradients."""
        if identity is None:
            return
        if identity >= 0:
            held = sums.get(identity)
            sums[identity] = grad if held is None else np.add(held, grad)
        elif counted:
            self.contribute(walk, ~identity, grad)
        else:
            self.accumulate(walk, ~identity, grad)

    def contributed_by_identity(self, walk: Any, identity: int | None) -> None:
        """A contribution by `add_by_identity` is in, if that was one to an edge."""
        if identity is not None and identity < 0:
            self.contributed(walk, ~identity)

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

    def arrived(self, walk: Any, number: int) -> None:
        """The last contribution of this run to an edge is in."""
        edge = self.edges[number]
        if edge is None or edge in walk.blocked:
            return
        used = walk.used_edges.get(self)
        if used is not None and number not in used:
            # The walk does not wait for it.
            return
        leaf = edge[0]
        if type(leaf) is LeafNode:
            if leaf.hooks is None and leaf.reduce_hooks is None:
                walk.arrived(leaf)
            else:
                self._outside(leaf, walk.arrived, leaf)

    def call_hooks(self, walk: Any, grad: Any, point: Any, number: int | None) -> Any:
        """The gradient of a value after its hooks."""
        if grad is None:
            return None
        hooks = point
        if not isinstance(hooks, HookList):
            hooks = self.hooks.get(number) if self.hooks is not None and number is not None else None
        return self._outside(hooks, walk.hooked, hooks, tensor_of(np.asarray(grad))).data if hooks else grad
