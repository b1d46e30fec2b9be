"""The node of a Tensor that was made in one turn of a loop: not an output of the run, but a place on its tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from d2s.core.hooks import HookList
from d2s.core.spec import TensorSpec
from d2s.eager.tape import Edge, InteriorNode, LeafNode
from d2s.errors import GradientError

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor
    from d2s.jit.run_program import CallNode


class TurnNode(InteriorNode):
    """Stands for a value of one turn of a loop that left the Program as a Tensor.

    Attributes
    ----------
    place : (node, index) or None
        Where its gradient goes on the tape of the run, once that was followed.
    """

    __slots__ = ("place", "run")

    may_unfold = True

    def __init__(self, spec: TensorSpec, hooks: Any, run: CallNode | None = None) -> None:
        super().__init__([], (spec,))
        self.run = run
        self.place: Edge | None = None
        if hooks is not None:
            self.hooks = {0: hooks}

    def resolved(self, index: int, walk: Any) -> Edge | None:
        run = self.run
        if self.place is None and run is not None and (run.saved or run.tape is not None) and not run.released:
            run.unfolded()
        return self.place or (self, index)

    def take_place(self, place: Edge) -> None:
        """From now on hooks and gradients are those of this place on the tape of the run."""
        self.place = place
        node, at = place
        if isinstance(node, LeafNode):
            return
        for name in ("hooks", "retained"):
            own = getattr(self, name)
            if own:
                setattr(node, name, {at: own[0], **(getattr(node, name) or {})})
                setattr(self, name, None)

    def hook_list(self, index: int) -> HookList:
        node, at = self.place or (self, index)
        return super().hook_list(index) if node is self else node.hook_list(at)

    def grad_of(self, index: int) -> Tensor | None:
        node, at = self.place or (self, index)
        return super().grad_of(index) if node is self else node.grad_of(at)

    def set_grad(self, index: int, grad: Tensor | None, zero: bool = False) -> None:
        node, at = self.place or (self, index)
        if node is self:
            super().set_grad(index, grad, zero)
        else:
            node.set_grad(at, grad, zero)

    def retain(self, index: int) -> None:
        node, at = self.place or (self, index)
        if node is self:
            super().retain(index)
        elif isinstance(node, InteriorNode):
            node.retain(at)

    def visit(self, walk: Any, grads: list[Tensor | None]) -> None:
        if self.run is not None:
            self.run.check_usable()
        raise GradientError(
            "a tensor made in one turn of a tensor loop cannot be differentiated while its function runs",
            advice="Call backward() behind the function, or keep the function eager.",
            kind="G09",
        )
