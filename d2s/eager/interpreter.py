"""The interpreter that computes ops at once."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import register_wrapping, set_default_interpreter, state
from d2s.core.op import Op
from d2s.core.spec import TensorSpec, is_floating, spec_of
from d2s.eager import views
from d2s.eager.tape import Edge, OpNode
from d2s.eager.tensor import Tensor
from d2s.ops.sharing import VIEW_OPS

_computing: contextvars.ContextVar[bool] = contextvars.ContextVar("d2s_computing", default=False)


class _Quiet(threading.local):
    """A context in which NumPy computes inf and nan without warning, as tensor libraries do."""

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        context.run(_computing.set, True)
        self.run = context.run


_quiet = _Quiet()


class EagerInterpreter:
    """Computes each op at once and, if a gradient may be wanted, leaves a node on the tape."""

    priority = 0
    checks_nan = False

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Evaluate `op`; a result that shows (part of) its argument is linked to it as a view."""
        result = self.evaluate(op, args, attrs)
        if op.name in VIEW_OPS:
            views.link(op, args, attrs, result)
        return result

    def evaluate(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Evaluate `op` without regard to views."""
        result = compute(op, args, attrs)
        if state.grad_enabled and op.is_differentiable:
            edges = [arg.edge() if isinstance(arg, Tensor) else None for arg in args]
            for index, edge in enumerate(edges):
                if edge is not None and op.differentiates(index):
                    return _recorded(op, args, attrs, edges, result)
        if type(result) is np.ndarray:
            return Tensor(result)
        if type(result) is tuple:
            return tuple([Tensor(np.asarray(part)) for part in result])
        return Tensor(np.asarray(result))


def compute(op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """What the forward function of `op` gives for the arrays of `args`."""
    arrays = [arg.data if isinstance(arg, Tensor) else arg for arg in args]
    if op.kinds is not None and arrays[0].dtype.kind not in op.kinds:
        refusal = op.refusal(arrays, attrs)
        if refusal is not None:
            raise refusal
    try:
        if _computing.get():
            # The forward function of an outer op calls ops itself.
            return op.forward(*arrays, **attrs)
        return _quiet.run(op.forward, *arrays, **attrs)
    except Exception as error:
        better = op.refusal(arrays, attrs)
        if better is None:
            raise
        raise better from error


def _recorded(op: Op, args: tuple[Any, ...], attrs: dict[str, Any], edges: list[Edge | None], result: Any) -> Any:
    """Tensors for `result`, with a node that can differentiate them."""
    for index, edge in enumerate(edges):
        if edge is not None and not op.differentiates(index):
            edges[index] = None
    read, reads_out = op.reads_for(tuple([edge is not None for edge in edges]))
    inputs: list[Any] = []
    versions: list[int] = []
    for arg, is_read in zip(args, read, strict=True):
        version = -1
        if isinstance(arg, Tensor):
            if is_read:
                version = arg.version
            else:
                arg = TensorSpec(arg.data.shape, arg.data.dtype)
        inputs.append(arg)
        versions.append(version)
    if type(result) is tuple:
        parts = tuple([np.asarray(part) for part in result])
        node = OpNode(op, attrs, tuple(inputs), tuple(versions), edges, [spec_of(part) for part in parts],
                      parts if reads_out else None)
        return tuple([
            _result(node, part, index) if is_floating(part.dtype) else Tensor(part)
            for index, part in enumerate(parts)
        ])
    data = result if type(result) is np.ndarray else np.asarray(result)
    if not is_floating(data.dtype):
        return Tensor(data)
    node = OpNode(op, attrs, tuple(inputs), tuple(versions), edges, (TensorSpec(data.shape, data.dtype),),
                  data if reads_out else None)
    return _result(node, data, 0) if reads_out else Tensor(data, False, node, 0)


def _result(node: OpNode, data: Any, index: int) -> Tensor:
    tensor = Tensor(data, False, node, index)
    node.follow(tensor, index)
    return tensor


Tensor.interpreter = EagerInterpreter()
set_default_interpreter(Tensor.interpreter)
register_wrapping(Tensor, lambda tensor: tensor.data)
