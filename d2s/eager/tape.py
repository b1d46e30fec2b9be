"""The eager tape: what an op leaves behind for backward.

A gradient belongs to an *edge*: (node, output index).  Hooks, retained gradients and `.grad` live on the node, so
every Tensor object that names the same value shares them, and a value keeps its hooks when its Tensor object goes.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core import interpreter
from d2s.core.hooks import HookList, watching
from d2s.core.interpreter import grad_enabled
from d2s.core.locks import new_lock
from d2s.core.op import Op
from d2s.core.spec import TensorSpec
from d2s.eager.cases import Case
from d2s.eager.quiet import quietly
from d2s.errors import GradientError, Location
from d2s.ops.reduction import unbroadcast

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor
    from d2s.eager.walk import Walk

# Two threads may run backward into the same leaf; reading and replacing a gradient that is there is one step.
accumulating = new_lock()

# With room for the operators of a call between it and the node after it.
next_in_sequence = itertools.count(0, 1 << 32).__next__


def zeros(spec: TensorSpec) -> Any:
    """A zero gradient of the given spec."""
    return interpreter.wrap(np.zeros(spec.shape, spec.dtype))


class Retain:
    """What is behind `retain_grads()`: it keeps the gradient as it is after all hooks, and accumulates."""

    __slots__ = ("grad",)

    def __init__(self, grad: Tensor | None = None) -> None:
        self.grad = grad

    def __call__(self, grad: Tensor) -> None:
        total = grad if self.grad is None else self.grad + grad
        self.grad = total.alias() if grad_enabled() else interpreter.wrap(total.data, False)


class LeafNode:
    """End of the graph: accumulates the gradient of one leaf tensor."""

    __slots__ = ("__weakref__", "_held", "hooks", "reduce_hooks", "spec", "zero_grad")

    def __init__(self, spec: TensorSpec) -> None:
        self.spec = spec
        # The gradient, if there is one: a Tensor, or an array in a tuple while nobody has looked at it.  In a dict, as
        # only one of several threads can be the first to enter something there.
        self._held: dict[None, Any] = {}
        # After `clear_grad()` the gradient is known to be zero; memory is filled only if somebody looks.
        self.zero_grad = False
        self.hooks: HookList | None = None
        self.reduce_hooks: HookList | None = None

    def hook_list(self, index: int) -> HookList:
        """The gradient hooks, made on demand."""
        if self.hooks is None:
            self.hooks = HookList()
        return self.hooks

    def reduce_hook_list(self) -> HookList:
        """The hooks that run after accumulation, made on demand."""
        if self.reduce_hooks is None:
            self.reduce_hooks = HookList()
        return self.reduce_hooks

    def run_reduce_hooks(self) -> None:
        """Call the reduce hooks, in order of registration; what they return is ignored."""
        if self.reduce_hooks is not None:
            for hook in self.reduce_hooks.live():
                hook() if watching.calls is None else watching.calls(hook)

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, None if there is none; see `grad_of`."""
        held = self._held.get(None)
        if type(held) is not tuple:
            return held
        with accumulating:
            held = self._held.get(None)
            if type(held) is tuple:
                held = self._held[None] = interpreter.wrap(held[0], False)
        return held

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is None:
            self._held.pop(None, None)
        else:
            self._held[None] = grad

    def add(self, grad: np.ndarray[Any, Any]) -> None:
        """Add an array to the accumulated gradient."""
        mine = (grad,)
        if self._held.setdefault(None, mine) is not mine:
            self._add_more(grad)
        self.zero_grad = False

    def _add_more(self, grad: np.ndarray[Any, Any]) -> None:
        """Add an array to the gradient that is there."""
        with accumulating:
            held = self._held.get(None)
            if held is not None:
                before = held[0] if type(held) is tuple else held.data
                self._held[None] = (np.asarray(quietly(np.add, before, grad)),)
                return
        # It was cleared meanwhile.
        self.add(grad)

    def add_with_history(self, grad: Tensor) -> None:
        """Add a Tensor so that the sum can be differentiated."""
        own = grad.alias()
        while self._held.setdefault(None, own) is not own:
            before = self.grad
            with accumulating:
                if before is not None and self._held.get(None) is before:
                    self._held[None] = before + grad
                    break
        self.zero_grad = False

    def clear(self, set_to_zero: bool) -> None:
        """Let the gradient be zero, or None; that of None stays None."""
        was_there = self._held.pop(None, None) is not None
        self.zero_grad = set_to_zero and (was_there or self.zero_grad)

    def grad_of(self, index: int) -> Tensor | None:
        """The accumulated gradient; a zero that was only noted is filled in."""
        if self.grad is None and self.zero_grad:
            self.grad = zeros(self.spec)
            self.grad.stop_gradient = False
        return self.grad

    def set_grad(self, index: int, grad: Tensor | None, zero: bool = False) -> None:
        """Replace the accumulated gradient; with `zero`, by a zero that takes no memory yet."""
        self.grad = grad
        self.zero_grad = zero


class InteriorNode:
    """A node with inputs: one op, or one call of a compiled function.

    Attributes
    ----------
    edges : list of (node, index) or None
        Where the gradient of each input goes; None where it stops.
    specs : sequence of TensorSpec
        One per output.
    sequence : int
        Order of creation; backward visits interior nodes in reverse.
    """

    __slots__ = ("__weakref__", "edges", "hooks", "released", "retained", "sequence", "specs")

    # True for a call of a compiled function: `resolved` may give nodes for what it has done.
    may_unfold = False
    # True if the rule is code of the user's: what that computes belongs to backward.
    has_users_rule = False

    def __init__(self, edges: list[Edge | None], specs: Sequence[TensorSpec]) -> None:
        self.edges = edges
        self.specs = specs
        self.sequence = next_in_sequence()
        self.hooks: dict[int, HookList] | None = None
        self.retained: dict[int, Retain] | None = None
        self.released = False

    @property
    def location(self) -> Location | None:
        """The user's line that this node comes from, where that is known without looking for it."""
        return None

    def hook_list(self, index: int) -> HookList:
        """The gradient hooks of output `index`, made on demand."""
        if self.hooks is None:
            self.hooks = {}
        found = self.hooks.get(index)
        if found is None:
            found = self.hooks[index] = HookList()
        return found

    def grad_of(self, index: int) -> Tensor | None:
        """The retained gradient of output `index`."""
        kept = self.retained.get(index) if self.retained else None
        return None if kept is None else kept.grad

    def set_grad(self, index: int, grad: Tensor | None, zero: bool = False) -> None:
        """Replace the retained gradient of output `index`; with `zero`, by zeros."""
        if self.retained is None:
            self.retained = {}
        self.retained.setdefault(index, Retain()).grad = zeros(self.specs[index]) if zero else grad

    def retain(self, index: int) -> None:
        """Keep the gradient of output `index` from now on, unless that is done already."""
        hooks = self.hook_list(index)
        if hooks.keep is None:
            hooks.keep = keep = Retain(self.grad_of(index))
            self.retained = {**(self.retained or {}), index: keep}

    def resolved(self, index: int, walk: Walk) -> Edge | None:
        """Where `walk` finds output `index`: here, or at the node of the operator of a call that gave it."""
        return self, index

    def leads_on(self, walk: Walk) -> bool:
        """True if a gradient that comes here is of use to `walk`."""
        return any(edge is not None and walk.needs(edge) for edge in self.edges)

    def output_leads_on(self, index: int, walk: Walk) -> bool:
        """The same for the gradient of one output, of a node that leads on."""
        return True

    def shows_order(self) -> bool:
        """True if hooks that run here may see which leaves are finished."""
        return self.hooks is not None

    def edges_below(self, outputs: Iterable[int]) -> frozenset[int]:
        """Numbers of the edges that get a gradient if these outputs do."""
        return frozenset(range(len(self.edges)))

    def show_retained(self, index: int, node: InteriorNode, at: int) -> None:
        """Let output `at` of `node`, a version written over output `index` of this one, show what is retained here."""
        kept = self.retained.get(index) if self.retained else None
        if kept is not None:
            node.retained = {**(node.retained or {}), at: kept}

    def note_write(self, tensor: Tensor, index: int) -> None:
        """Take note that `tensor`, made by this node as output `index`, is about to be written to."""

    def check_usable(self) -> None:
        """Raise GradientError if the saved values are gone or have been changed in place."""
        if self.released:
            self.already_used()

    def check_reached(self, outputs: Iterable[int]) -> None:
        """Raise what a backward that comes to these outputs would, as far as it is known before."""
        self.check_usable()

    def already_used(self) -> None:
        """Refuse a second backward."""
        raise GradientError(
            "trying to backward through the graph a second time: its saved values have been freed",
            advice="Pass retain_graph=True to the first backward.",
            kind="G01",
        )

    def release(self) -> None:
        """Free the saved values: this node has been used up."""
        self.released = True

    def visit(self, walk: Walk, grads: list[Tensor | None]) -> None:
        """Take the complete gradients of the outputs (None: none came), run hooks, send gradients to the edges.

        Once the contributions of this node are sent, ``walk.arrived(leaf)`` is due once for every edge to a leaf.
        """
        # Where the walk ends here, no rule runs that could miss what it has saved.
        goes_on = walk.captured is None or walk.leads_to_target(self)
        if goes_on:
            self.check_usable()
        if self.hooks is not None:
            self.run_hooks(walk, grads)
            # A hook may have written to what the rule is about to read.
            if goes_on:
                self.check_usable()
        if walk.captured is not None:
            for index, grad in enumerate(grads):
                walk.capture((self, index), grad)
            if not goes_on:
                return
        self.propagate(walk, grads)
        walk.all_arrived(self)

    def propagate(self, walk: Walk, grads: list[Tensor | None]) -> None:
        """Send the gradients of the inputs to the edges, first argument first."""
        raise NotImplementedError

    def run_hooks(self, walk: Walk, grads: list[Tensor | None]) -> None:
        """Replace each gradient by what the hooks of that output make of it; outputs in order of registration.

        The node was reached, so an output that received nothing has a zero gradient, and its hooks see zeros.
        """
        assert self.hooks is not None
        try:
            for index, hooks in tuple(self.hooks.items()):
                # As `bool(hooks)`, without a call.
                if hooks.hooks or hooks.keep is not None:
                    grad = grads[index]
                    grads[index] = walk.hooked(hooks, zeros(self.specs[index]) if grad is None else grad)
        except BaseException:
            if not walk.retain_graph and walk.leads_to_target(self):
                self.release()
            raise


Node = LeafNode | InteriorNode
Edge = tuple[Node, int]


class OpNode(InteriorNode):
    """One op: keeps what its gradient rules read, and nothing else.

    Attributes
    ----------
    inputs : sequence
        Per input the Tensor if the rules read its value, its TensorSpec if they do not, else the constant.
    versions : sequence of int
        Version of each saved Tensor when the op ran, -1 for other inputs.
    out_data : array, tuple of arrays or None
        The result, if the rules read it.
    results : dict of int to weak reference to Tensor
        Of a result that the rules read, the Tensor of each output: it must not be written to.
    written : TensorSpec or None
        The result that has been.
    parts : tuple of arrays
        Of an op that shares parts with its gradient; see `Op.share`.
    case : Case or None
        What is the same whenever the op runs on such inputs.
    """

    __slots__ = ("attrs", "case", "inputs", "op", "out_data", "parts", "results", "versions", "written")

    def __init__(
        self,
        op: Op,
        attrs: dict[str, Any],
        inputs: Sequence[Any],
        versions: Sequence[int],
        edges: list[Edge | None],
        specs: Sequence[TensorSpec],
        out_data: Any,
        case: Case | None = None,
    ) -> None:
        # Not by the __init__ of the class above: one call less for every op.
        self.edges = edges
        self.specs = specs
        self.sequence = next_in_sequence()
        self.hooks = None
        self.retained = None
        self.released = False
        self.op = op
        self.attrs = attrs
        self.inputs = inputs
        self.versions = versions
        self.out_data = out_data
        self.case = case
        self.results: dict[int, weakref.ref[Tensor]] | None = None
        self.written: TensorSpec | None = None

    def follow(self, tensor: Tensor, index: int) -> None:
        """Take note that `tensor` is output `index` now."""
        if self.out_data is not None:
            if self.results is None:
                self.results = {}
            self.results[index] = weakref.ref(tensor)

    def note_write(self, tensor: Tensor, index: int) -> None:
        if self.results is not None:
            followed = self.results.get(index)
            if followed is not None and followed() is tensor:
                self.written = self.specs[index]

    def check_usable(self) -> None:
        if self.released:
            self.already_used()
        if self.written is not None:
            self._refuse(self.written)
        inputs, versions = self.inputs, self.versions
        for index in range(len(inputs)) if self.case is None else self.case.saved:
            if versions[index] >= 0 and inputs[index].version != versions[index]:
                self._refuse(inputs[index])

    def _refuse(self, value: Any) -> None:
        raise GradientError(
            f"a tensor that the gradient of {self.op.name} needs has been modified in place: shape {list(value.shape)}",
            advice="Write to a clone, or write before the tensor is used.",
            kind="G02",
        )

    def release(self) -> None:
        self.released = True
        self.inputs = self.versions = ()
        self.out_data = self.results = None
        if self.op.shared is not None:
            self.parts = ()

    def saves_before(self, tensor: Tensor, before: Tensor) -> None:
        """Let an in-place op keep the value it wrote over: `before` names what `tensor` was.

        Where it is another operand as well, that one has been written to.
        """
        if self.inputs and self.inputs[0] is tensor:
            self.inputs = [before, *self.inputs[1:]]

    def propagate(self, walk: Walk, grads: list[Tensor | None]) -> None:
        op, inputs, edges, attrs = self.op, self.inputs, self.edges, self.attrs
        if len(grads) > 1:
            grads = [zeros(spec) if grad is None else grad for grad, spec in zip(grads, self.specs, strict=True)]
        case = self.case
        needs = case.wanted if case is not None and walk.needs_all else tuple([
            edge is not None and walk.needs(edge) for edge in edges])
        if case is not None and walk.is_plain:
            straight = case.straight(op, attrs, needs, grads, inputs, self.out_data)
            if straight is not None:
                arrays = self._arrays(grads, case)
                if not walk.retain_graph:
                    self.release()
                for edge, array in zip(edges, walk.quietly(straight.function, *arrays)):  # noqa: B905 - twice as fast
                    if array is not None and edge is not None:
                        walk.accumulate(edge, interpreter.wrap(array))
                return
        g: Any = grads[0] if len(grads) == 1 else tuple(grads)
        out = self._output(walk)
        if not walk.retain_graph:
            self.release()
        for value, edge, grad in zip(inputs, edges, op.gradients(g, out, inputs, attrs, needs), strict=True):
            if grad is not None and edge is not None:
                if grad.data.shape != (shape := tuple(value.shape)):
                    grad = unbroadcast(grad, shape)
                walk.accumulate(edge, grad)

    def _arrays(self, grads: Sequence[Any], case: Case) -> list[Any]:
        """What the rules as straight code read."""
        arrays = [grads[0].data] if len(grads) == 1 else [grad.data for grad in grads]
        if case.shares:
            return [*arrays, *self.parts]
        out = self.out_data
        if type(out) is tuple:
            arrays += out
        elif out is not None:
            arrays.append(out)
        for index in case.saved:
            arrays.append(self.inputs[index].data)
        return arrays

    def _output(self, walk: Walk) -> Any:
        """The saved output as Tensor (or tuple of them), joined to this node if the walk itself is recorded."""
        if self.out_data is None:
            return None
        node = self if walk.create_graph else None
        if type(self.out_data) is tuple:
            return tuple(interpreter.wrap(data, node is None, node, i) for i, data in enumerate(self.out_data))
        return interpreter.wrap(self.out_data, node is None, node, 0)
