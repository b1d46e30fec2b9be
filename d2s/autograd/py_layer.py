"""PyLayer: an op whose forward and backward are the user's own Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from d2s.core.interpreter import called_in_mode, current_interpreter, state
from d2s.core.spec import TensorSpec, is_floating
from d2s.eager.tape import Edge, InteriorNode, zeros
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.walk import Walk
from d2s.errors import DTypeError, GradientError, NotSupportedError, ShapeError
from d2s.words import counted


class PyLayerContext:
    """What `forward` hands on to `backward`: saved tensors, and any attribute the user sets."""

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._versions: tuple[int, ...] = ()
        self._not_differentiable: frozenset[int] = frozenset()
        self._materializes = True
        # Of the tensors that `forward` got and gave, in this call: a graph may not know all sizes.
        self._inputs: list[TensorSpec] = []
        self._outputs: list[TensorSpec] = []

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, where `saved_tensor()` gives them back; call it once, in `forward`."""
        self._saved = tensors
        self._versions = tuple(value.version if isinstance(value, Tensor) else -1 for value in tensors)

    def saved_tensor(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`.

        Raises
        ------
        GradientError
            If one of them has been modified in place since.
        """
        for value, version in zip(self._saved, self._versions, strict=True):
            if version >= 0 and value.version != version:
                raise GradientError(
                    f"a tensor saved for backward has been modified in place: shape {value.shape}, "
                    f"is at version {value.version}, expected version {version}",
                    kind="G02",
                )
        return self._saved

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say, in `forward`, that these outputs have no gradient."""
        self._not_differentiable = frozenset(id(tensor) for tensor in tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what `backward` gets for an output that received no gradient: zeros (True, as at first) or None."""
        self._materializes = value


class PyLayer:
    """
    Base of ops with a gradient of the user's own.

    Subclasses define two static methods, ``forward(ctx, *args, **kwargs)`` and ``backward(ctx, *grads)``.  `forward`
    runs without grad mode and returns a Tensor or a tuple; `backward` gets one gradient per output and returns one
    per Tensor among the positional and keyword arguments, in order (None where there is none).

    Examples
    --------
    >>> class Cube(PyLayer):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensor()
    ...         return g * 3 * x * x
    >>> x = to_tensor([2.0], stop_gradient=False)
    >>> Cube.apply(x).backward()
    >>> x.grad.tolist()
    [12.0]
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotSupportedError("a PyLayer needs a static method forward(ctx, *args)", kind="N02")

    @staticmethod
    def backward(ctx: PyLayerContext, *grads: Any) -> Any:
        """Compute the gradients of the inputs."""
        raise NotSupportedError("a PyLayer needs a static method backward(ctx, *grads)", kind="N02")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` as one op."""
        stage = getattr(current_interpreter(), "py_layer", None)
        if stage is not None:
            return stage(cls, args, kwargs)
        inputs = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
        edges = [value.edge() for value in inputs]
        context, result = cls.run_forward(*args, **kwargs)
        if not state.grad_enabled or all(edge is None for edge in edges):
            return result
        parts = list(result) if isinstance(result, tuple | list) else [result]
        outputs = [part for part in parts if isinstance(part, Tensor)]
        node = cls.node(context, edges, [output.spec for output in outputs])
        position = -1
        for index, part in enumerate(parts):
            if isinstance(part, Tensor):
                position += 1
                if is_floating(part.dtype) and id(part) not in context._not_differentiable:
                    parts[index] = _joined(part, node, position, inputs)
        return type(result)(parts) if isinstance(result, tuple | list) else parts[0]

    @classmethod
    def node(cls, context: PyLayerContext, edges: list[Edge | None], outputs: list[TensorSpec]) -> PyLayerNode:
        """The node of one call on the tape."""
        return PyLayerNode(cls, context, edges, outputs)

    @classmethod
    def run_forward(cls, *args: Any, **kwargs: Any) -> tuple[PyLayerContext, Any]:
        """Run `forward` without grad mode; its context and its result."""
        context = PyLayerContext()
        result = called_in_mode(False, cls.forward, context, *args, **kwargs)
        context._inputs = _specs_of((*args, *kwargs.values()))
        context._outputs = _specs_of(result if isinstance(result, tuple | list) else (result,))
        return context, result

    @classmethod
    def run_backward(cls, context: PyLayerContext, grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
        """Run `backward` on one gradient per output (None: none came); one checked gradient per input."""
        if context._materializes:
            grads = [zeros(spec) if grad is None else grad for grad, spec in zip(grads, context._outputs, strict=True)]
        returned = cls.backward(context, *grads)
        found = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
        _check(cls, context._inputs, found)
        return found


def _specs_of(values: Iterable[Any]) -> list[TensorSpec]:
    return [value.spec for value in values if isinstance(value, Tensor)]


def _joined(part: Tensor, node: PyLayerNode, position: int, inputs: Sequence[Tensor]) -> Tensor:
    """`part` as output of `node`; a tensor that existed before stays what it is and a new one stands for it."""
    if part._node is not None or not part._stop_gradient or any(part is value for value in inputs):
        return tensor_of(part.data, False, node, position)
    part._node, part._index = node, position
    part._set_stop_gradient(False)
    return part


class PyLayerNode(InteriorNode):
    """One call of a PyLayer."""

    __slots__ = ("context", "layer")

    has_users_rule = True

    def __init__(
        self,
        layer: type[PyLayer],
        context: PyLayerContext,
        edges: list[Edge | None],
        outputs: list[TensorSpec],
    ) -> None:
        super().__init__(edges, outputs)
        self.layer = layer
        self.context = context

    def release(self) -> None:
        super().release()
        self.context = PyLayerContext()

    def propagate(self, walk: Walk, grads: list[Tensor | None]) -> None:
        context = self.context
        if not walk.retain_graph:
            self.release()
        own = [None if grad is None else walk.own(grad) for grad in grads]
        found = self.layer.run_backward(context, own)
        for edge, grad in zip(self.edges, found, strict=True):
            if grad is not None and edge is not None and walk.needs(edge):
                walk.accumulate(edge, grad if walk.create_graph else tensor_of(grad.data))


def _check(layer: type[PyLayer], inputs: Sequence[TensorSpec], found: tuple[Any, ...]) -> None:
    name = f"{layer.__name__}.backward"
    if len(found) != len(inputs):
        raise GradientError(
            f"{name} returned {counted(len(found), 'gradient')}, expected {len(inputs)}: "
            "one per Tensor among the arguments of forward",
            kind="G06",
        )
    for position, (grad, spec) in enumerate(zip(found, inputs, strict=True)):
        if grad is None:
            continue
        if not isinstance(grad, Tensor):
            raise DTypeError(f"{name} returned {type(grad).__name__} as gradient {position}, expected Tensor or None")
        if grad.spec != spec:
            raise ShapeError(f"{name} returned gradient {position} as {grad.spec}, expected {spec}")
