"""The interpreter that computes ops at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import OPERANDS, no_operand
from d2s.core.interpreter import TensorBase, register_wrapping, set_default_interpreter, state
from d2s.core.op import Op
from d2s.core.spec import default_dtype, is_floating
from d2s.eager import views
from d2s.eager.cases import case_of, known_case
from d2s.eager.quiet import is_quiet, quiet
from d2s.eager.straight import NotExact, exactly
from d2s.eager.tape import Edge, OpNode
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import ShapeError
from d2s.ops.sharing import VIEW_OPS


class EagerInterpreter:
    """Computes each op at once and, if a gradient may be wanted, leaves a node on the tape."""

    priority = 0
    checks_nan = False

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any], links: bool = True) -> Any:
        """Evaluate `op`; with `links`, a result that shows (part of) its argument is linked to it as a view."""
        # As `compute`, which would be one call more for each op.
        arrays: list[Any] = []
        is_wanted = False
        for arg in args:
            if isinstance(arg, TensorBase):
                tensor: Any = arg
                arrays.append(tensor.data)
                if not tensor._stop_gradient:
                    is_wanted = True
            elif isinstance(arg, OPERANDS):
                arrays.append(arg)
            else:
                raise no_operand(arg)
        if op.kinds is not None and arrays[0].dtype.kind not in op.kinds:
            refuse(op, arrays, attrs)
        is_wanted = is_wanted and op.is_differentiable and state.grad_enabled
        # What the gradient needs as well is kept for it.
        forward = op.shared.parts.forward if is_wanted and op.shared is not None else op.forward
        try:
            # Inside of `quiet` already: the forward function of an outer op calls ops itself.
            result = forward(*arrays, **attrs) if is_quiet.get() else quiet.run(forward, *arrays, **attrs)
        except Exception as error:
            refuse(op, arrays, attrs, error)
            raise
        made: Any
        if is_wanted:
            made = _recorded(op, args, arrays, attrs, result)
        elif type(result) is np.ndarray:
            made = tensor_of(result)
        elif type(result) is tuple:
            made = tuple([tensor_of(np.asarray(part)) for part in result])
        else:
            made = tensor_of(np.asarray(result))
        if links and op.name in VIEW_OPS:
            views.link(op, args, attrs, made)
        return made

    def evaluate(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Evaluate `op` without regard to views, and to what a subclass does beside."""
        return EagerInterpreter.process(self, op, args, attrs, False)


def compute(op: Op, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """What the forward function of `op` gives for arrays."""
    if op.kinds is not None and arrays[0].dtype.kind not in op.kinds:
        refuse(op, arrays, attrs)
    try:
        return op.forward(*arrays, **attrs) if is_quiet.get() else quiet.run(op.forward, *arrays, **attrs)
    except Exception as error:
        refuse(op, arrays, attrs, error)
        raise


def compute_of_all(op: Op, tensors: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
    """What the forward function of `op` gives for all Tensors in a list."""
    if not tensors:
        raise ShapeError(f"{op.name} needs at least one tensor")
    return compute(op, [tensor.data for tensor in tensors], attrs)


def refuse(op: Op, arrays: Sequence[Any], attrs: dict[str, Any], error: Exception | None = None) -> None:
    """Raise what `infer` says against these operands, if it does."""
    better = op.refusal(arrays, attrs, error)
    if better is not None:
        raise better from error


def _recorded(op: Op, args: tuple[Any, ...], arrays: list[Any], attrs: dict[str, Any], result: Any) -> Any:
    """Tensors for `result`, with a node that can differentiate them if there is a rule for what wants a gradient.

    Of an op that shares parts with its gradient `result` are the parts, of which the first is the result.
    """
    edges: list[Edge | None] = []
    key: list[Any] | None = [op, default_dtype()]
    try:
        for arg, array in zip(args, arrays):  # noqa: B905 - it costs a tenth
            if arg is array:
                edges.append(None)
                key.append(exactly(arg))  # type: ignore[union-attr]
            elif arg._stop_gradient:
                edges.append(None)
                key += (array.shape, array.dtype, False)  # type: ignore[operator]
            else:
                node = arg._node
                if node is None:
                    leaf = arg._leaf
                    edges.append(arg.graph_edge() if leaf is None else (leaf, 0))
                else:
                    edges.append((node, arg._index))
                key += (array.shape, array.dtype, True)  # type: ignore[operator]
        if attrs:
            key += [(name, exactly(value)) for name, value in attrs.items()]  # type: ignore[operator]
    except NotExact:
        key = None
        edges = [arg.edge() if isinstance(arg, Tensor) else None for arg in args]
    parts: tuple[Any, ...] | None = None
    if op.shared is not None:
        parts = result
        result = parts[0]
    several = type(result) is tuple
    outputs = tuple([np.asarray(part) for part in result]) if several else (
        (result,) if type(result) is np.ndarray else (np.asarray(result),))
    case = None if key is None else known_case(tuple(key))
    if case is None or case.shape != outputs[0].shape:
        case = case_of(key, op, args, edges, outputs)
    if not case.carries:
        return tuple(map(tensor_of, outputs)) if several else tensor_of(outputs[0])
    inputs, versions = case.inputs, case.unread
    if case.saved:
        inputs, versions = inputs.copy(), versions.copy()
        for index in case.saved:
            inputs[index] = arg = args[index]
            versions[index] = arg.version
    for index in case.without:
        edges[index] = None
    out = (outputs if several else outputs[0]) if case.reads_out else None
    made = OpNode(op, attrs, inputs, versions, edges, case.specs, out, case)
    if parts is not None:
        made.parts = parts
    if not several:
        return _result(made, outputs[0], 0) if case.reads_out else tensor_of(outputs[0], False, made, 0)
    return tuple([
        _result(made, part, index) if is_floating(part.dtype) else tensor_of(part)
        for index, part in enumerate(outputs)
    ])


def _result(node: OpNode, data: Any, index: int) -> Tensor:
    tensor = tensor_of(data, False, node, index)
    node.follow(tensor, index)
    return tensor


Tensor.interpreter = EagerInterpreter()
set_default_interpreter(Tensor.interpreter)
register_wrapping(tensor_of, lambda tensor: tensor.data)
