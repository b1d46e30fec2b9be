"""A run that nobody will differentiate, and what all runs do with the Tensors of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.op import Op
from d2s.core.spec import TensorSpec
from d2s.eager.interpreter import compute_of_all
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.views import become, become_data
from d2s.errors import ExecutionError
from d2s.static.runtime import MISSING


class Run:
    """A run that nobody will differentiate: no tensor that it computes requires a gradient."""

    __slots__ = ("reached", "saved", "tensors")

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = tensors
        self.saved: Any = ()

    def tensor(self, data: Any, number: int | None, stop_gradient: bool, hooks: Any) -> Tensor:
        """The Tensor object of a value."""
        known = known_tensor(hooks)
        return noted(hooks, tensor_of(np.asarray(data))) if known is None else known

    def output(self, data: Any, number: int) -> Tensor:
        """The same of a value that another run could differentiate."""
        return tensor_of(np.asarray(data))

    def turn_tensor(self, data: Any, number: int, hooks: Any) -> Any:
        """The same of a value of a turn, which may be unbound."""
        return MISSING if data is None else self.tensor(data, None, True, hooks)

    def rewrite(
        self, data: Any, old: Any, new: Any, number: int | None, turn: int | None, stop_gradient: bool, data_only: bool,
    ) -> None:
        """Let the Tensor of a value, if there is one, be a version written in place."""
        tensor = known_tensor(old)
        if tensor is not None:
            if data_only:
                become_data(tensor, np.asarray(data))
            else:
                become(tensor, np.asarray(data), None, 0, True)
            name(new, tensor)

    def version(self, tensor: Tensor) -> tuple[Tensor, int]:
        """A tensor of the caller with its version now."""
        return tensor, tensor.version

    def reload(self, tensor: Tensor, stops: bool, name: str) -> Any:
        """The values that a Tensor has now, which the run knows to stop gradients or not."""
        if stops and not tensor._stop_gradient:
            raise other_history(name)
        return tensor.data

    def leaf(self, data: Any) -> tuple[Any, Tensor]:
        """A leaf that is made in this run."""
        return data, tensor_of(np.asarray(data), False)

    def take(self, thing: Any, spec: TensorSpec) -> tuple[Any, Any]:
        """The values of a Tensor that was kept in a container, and what it is in the run."""
        return checked(thing, spec).data, None

    def take_all(self, op: Op, things: list[Any], attrs: dict[str, Any]) -> tuple[Any, Any]:
        """What `op` makes of several, and what these are."""
        return compute_of_all(op, things, attrs), None


def other_history(name: str) -> ExecutionError:
    """What is raised for a Tensor to which code that is not traced has given another history than the run knows."""
    return ExecutionError(
        f"{name} was written to, or made to stop gradients or not to, by a call that is not traced, and has "
        "another history than the run goes on with",
        advice="Let the call return what it computes, or keep the whole function eager with @d2s.jit.not_to_static.",
        kind="X12",
    )


def checked(thing: Any, spec: TensorSpec) -> Tensor:
    """`thing`, which was kept in a container, if it is a tensor of this kind."""
    if not isinstance(thing, Tensor) or not spec.admits(thing.data):
        raise ExecutionError(
            f"a list, or an attribute, holds {_said(thing)} where the traced code has met tensors {spec}",
            advice="Put the same kind of tensor there everywhere, or keep the function eager.",
            kind="X11",
        )
    return thing


def _said(thing: Any) -> str:
    return f"a tensor {thing.spec}" if isinstance(thing, Tensor) else f"a {type(thing).__name__}"


def known_tensor(hooks: Any) -> Tensor | None:
    """The Tensor that a value is already: one of the caller's, or one made earlier in this run."""
    return None if hooks is None else hooks if isinstance(hooks, Tensor) else hooks.tensor


def name(hooks: Any, tensor: Tensor) -> None:
    """Let the Tensor of a value be `tensor`."""
    if isinstance(hooks, HookList):
        hooks.tensor = tensor  # type: ignore[attr-defined]


def noted(hooks: Any, tensor: Tensor) -> Tensor:
    """The same; `tensor` itself."""
    if hooks is not None:
        hooks.tensor = tensor
    return tensor
