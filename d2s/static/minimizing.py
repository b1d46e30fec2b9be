"""What `minimize` of an optimizer records into a Program that is built by hand: gradients, and a step in each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from d2s.static.gradients import append_backward
from d2s.static.graph import GraphInterpreter
from d2s.static.variable import Variable


def minimized(
    recorder: GraphInterpreter, optimizer: Any, loss: Variable, parameters: Sequence[Any],
    no_grad_set: Iterable[Any] | None,
) -> list[tuple[Variable, Variable]]:
    """Record the gradients of `loss`, and a step of `optimizer` with them; the parameters and their gradients."""
    chosen = [tensor for tensor in map(recorder.outer_tensor, parameters)
              if tensor is not None and id(tensor) in recorder.captured and not tensor.stop_gradient]
    variables = [recorder.lift(tensor) for tensor in chosen]
    for variable in variables:
        recorder.check_not_stepped(variable)
    pairs = append_backward(loss, variables, no_grad_set)
    given = {id(variable): gradient for variable, gradient in pairs}
    tensors = [tensor for tensor, variable in zip(chosen, variables, strict=True) if id(variable) in given]

    def step(*grads: Any) -> list[Any]:
        optimizer.apply_gradients(list(zip(tensors, grads, strict=True)))
        return tensors

    new = [recorder.new_value(variable.name, variable.spec, True) for variable, _ in pairs]
    grads = tuple(recorder.value_of(gradient) for _, gradient in pairs)
    recorder.emit(
        "py_func", grads, tuple(new), {"function": step, "backward": None, "skip": ()}, effect=True)
    for (variable, _), value in zip(pairs, new, strict=True):
        recorder.stepped.add(value)
        variable.value = value
    return pairs

