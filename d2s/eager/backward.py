"""`backward` and `grad`: where a walk over the tape starts and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.spec import DType
from d2s.eager.tape import Edge, LeafNode
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.walk import Walk
from d2s.errors import DTypeError, GradientError, ShapeError
from d2s.words import counted


def backward(tensors: Sequence[Tensor], grad_tensors: Sequence[Any] | None = None, retain_graph: bool = False) -> None:
    """Compute gradients of several tensors at once, and add them to `.grad` of the leaves.

    Parameters
    ----------
    tensors : sequence of Tensor
        The roots.
    grad_tensors : sequence of Tensor or None, optional
        Gradient of the final value with respect to each root.
    retain_graph : bool
        Keep what is needed to call backward again.

    Raises
    ------
    GradientError
        If a root stops gradients, or has several elements and no gradient is given, or its graph was used up.
    """
    owner = _owner(tensors)
    if owner is not None:
        owner.walk_from(backward, list(tensors), grad_tensors=grad_tensors, retain_graph=retain_graph)
        return
    Walk(retain_graph=retain_graph).run(_roots(tensors, grad_tensors))


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """Gradients of `outputs` with respect to `inputs`; fills no `.grad`.

    Tensor hooks on the way run, on inputs, intermediates and outputs; reduce hooks do not.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
    grad_outputs : Tensor, sequence of Tensor or None
        Gradient of the final value with respect to each output; ones if left out.
    retain_graph : bool, optional
        Keep the graph; by default as `create_graph`.
    create_graph : bool
        Record the computation of the gradients, so that they can be differentiated.
    only_inputs : bool
        Must be True.
    allow_unused : bool
        Give None for an input that the outputs do not depend on, instead of raising.
    no_grad_vars : Tensor or sequence of Tensor, optional
        Tensors that no gradient passes.

    Raises
    ------
    GradientError
        If an input is not part of the graph and `allow_unused` is False.
    """
    if not only_inputs:
        raise GradientError("grad() supports only_inputs=True only", kind="G07")
    outputs, inputs = _listed(outputs), _listed(inputs)
    owner = _owner((*outputs, *inputs))
    if owner is not None:
        found: list[Tensor | None] = owner.gradients_of(
            grad, outputs, inputs, grad_outputs=grad_outputs, retain_graph=retain_graph, create_graph=create_graph,
            allow_unused=allow_unused, no_grad_vars=no_grad_vars)
        return found
    blocked = [tensor.graph_edge() for tensor in _listed(no_grad_vars)]
    for tensor in inputs:
        if tensor.stop_gradient:
            raise GradientError(
                "an input of grad() stops gradients", advice="Set stop_gradient=False before its use.",
                kind="G03",
            )
    edges = [tensor.graph_edge() for tensor in inputs]
    keep = create_graph if retain_graph is None else retain_graph
    grads = [None] * len(outputs) if grad_outputs is None else _listed(grad_outputs)
    grads = [
        tensor_of(np.ones(out.data.shape, out.data.dtype)) if given is None else given
        for out, given in zip(outputs, grads, strict=True)
    ]
    walk = Walk(keep, create_graph, edges, blocked)
    walk.run(_roots(outputs, grads))
    assert walk.captured is not None
    result: list[Tensor | None] = []
    for position, edge in enumerate(edges):
        gradient = walk.captured[walk.resolved(edge)]
        if gradient is None and not allow_unused:
            raise GradientError(
                f"input {position} of grad() is not used to compute the outputs",
                advice="Pass allow_unused=True to get None for it.",
                kind="G04",
            )
        if gradient is not None:
            gradient = gradient.alias() if create_graph else tensor_of(gradient.data)
        result.append(gradient)
    return result


def grad_or_zeros(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool = True, allow_unused: bool = False
) -> list[Tensor]:
    """
    As `grad`, with zeros for an input that the outputs do not depend on.

    Whether there is a gradient is looked at here, in the run: traced code that looks goes two ways from there.
    """
    owner = _owner((*outputs, *inputs))
    if owner is not None:
        named: list[Tensor] = owner.gradients_of(
            grad_or_zeros, list(outputs), list(inputs), create_graph=create_graph, allow_unused=allow_unused)
        return named
    found = grad(outputs, inputs, create_graph=create_graph, allow_unused=True)
    return [
        tensor_of(np.zeros_like(tensor.data)) if gradient is None else gradient
        for gradient, tensor in zip(found, inputs, strict=True)]


class _Contributions(Walk):
    """A walk to targets of which the hooks wait for what comes from elsewhere, too."""

    def _finish(self, leaf: LeafNode) -> None:
        grad = self._leaf_slots.pop(leaf, None)
        if grad is not None:
            self.capture((leaf, 0), grad)


def contributions(
    outputs: Sequence[Tensor | None], grads: Sequence[Tensor | None], inputs: Sequence[Tensor], create_graph: bool
) -> list[Tensor | None]:
    """What `outputs` contribute to the gradients of leaves; the graph is kept, and hooks of these are not called.

    Outputs that there are not, or that stop gradients, and those without a gradient contribute nothing.
    """
    walk = _Contributions(True, create_graph, [tensor.graph_edge() for tensor in inputs])
    walk.run([
        (output.graph_edge(), grad) for output, grad in zip(outputs, grads, strict=True)
        if output is not None and grad is not None and not output.stop_gradient])
    assert walk.captured is not None
    return [walk.captured[tensor.graph_edge()] for tensor in inputs]


def _backward_from(tensor: Tensor, grad_tensor: Any, retain_graph: bool) -> None:
    """`backward` of one tensor."""
    Walk(retain_graph).run([_root(tensor, grad_tensor)])


Tensor._backward = _backward_from
Tensor._contributions = staticmethod(contributions)


def _owner(tensors: Sequence[Any]) -> Any:
    """Who owns tensors that stand for values of a Program that is being made; None if all are eager."""
    symbol = next(
        (tensor for tensor in tensors if isinstance(tensor, TensorBase) and not isinstance(tensor, Tensor)), None)
    return None if symbol is None else symbol.interpreter


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


@cache
def _one(dtype: DType) -> np.ndarray[Any, Any]:
    """Where most walks start; arrays are never written to."""
    return np.ones((), dtype)


def _roots(tensors: Sequence[Tensor], grads: Sequence[Any] | None) -> list[tuple[Edge, Tensor]]:
    given = [None] * len(tensors) if grads is None else grads
    if len(given) != len(tensors):
        raise GradientError(f"got {counted(len(tensors), 'tensor')} but {counted(len(given), 'gradient')}", kind="G06")
    return list(map(_root, tensors, given))


def _root(tensor: Tensor, grad_tensor: Any) -> tuple[Edge, Tensor]:
    edge = tensor.edge()
    if edge is None:
        raise GradientError("backward() on a tensor that stops gradients: nothing to differentiate", kind="G03")
    if grad_tensor is None:
        data = tensor.data
        if not data.ndim:
            return edge, tensor_of(_one(data.dtype))
        if data.size != 1:
            raise GradientError(
                f"backward() without grad_tensor needs a tensor of one element, got shape {tensor.shape}",
                advice="Reduce it first (loss.sum()), or pass grad_tensor.",
                kind="G05",
            )
        return edge, tensor_of(np.ones_like(data))
    if not isinstance(grad_tensor, Tensor):
        raise DTypeError(f"grad_tensor must be a Tensor or None, got {type(grad_tensor).__name__}", kind="D04")
    if grad_tensor.shape != tensor.shape:
        raise ShapeError(f"grad_tensor has shape {grad_tensor.shape}, expected {tensor.shape}", kind="S04")
    if grad_tensor.dtype != tensor.dtype:
        raise DTypeError(
            f"grad_tensor has dtype {grad_tensor.dtype.name}, expected {tensor.dtype.name}",
            kind="D04",
        )
    return edge, grad_tensor
