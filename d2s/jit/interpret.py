"""The backward of a compiled call under `create_graph`: its operators are run one by one on Tensors, and recorded.

What the run has kept becomes Tensors again, joined to the call as further outputs of it: the next backward brings
their gradients back to the call, together with those of its real outputs, so every value gets its complete gradient
and its hooks once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.eager.tape import Edge, LeafNode
from d2s.eager.tensor import Tensor
from d2s.errors import GradientError
from d2s.static import runtime
from d2s.static.program import Block, Operator, Value, map_values

if TYPE_CHECKING:
    from d2s.eager.walk import Walk
    from d2s.jit.run_program import CallNode


def interpret_backward(
    node: CallNode, walk: Walk, reached: tuple[int, ...], wanted: tuple[int, ...] | None, captured: tuple[int, ...],
    grads: list[Tensor | None],
) -> None:
    """
    Send the gradients of the outputs of a call on to its edges, recorded like ops of the user.

    Parameters
    ----------
    node : CallNode
        The call.
    walk : Walk
        The backward pass.
    reached : tuple of int
        The outputs that have a gradient.
    wanted : tuple of int or None
        The edges whose gradients are wanted; None for all.
    captured : tuple of int
        The outputs whose own gradient the walk keeps.
    grads : list of Tensor or None
        The gradients, by output.

    Raises
    ------
    GradientError
        If a part of the backward cannot be differentiated.
    """
    compiled = node.compiled = node.compiled.with_kept_outputs()
    outputs = compiled.program.outputs
    node.specs = [*node.specs, *(value.spec for value in outputs[len(node.specs) :] if value.spec is not None)]
    blocked = tuple(number for blocked_node, number in walk.blocked if blocked_node is node)
    of_outputs = tuple(number for number in reached if number < len(outputs))
    brought = dict(enumerate(grads))
    of_turns = {key: grad for key, number in node.turn_outputs.items() if (grad := brought.get(number)) is not None}
    plan = compiled.backward_plan(of_outputs, wanted, captured, blocked, bool(of_turns))
    interpreter = _Interpreter(node, walk, of_turns)
    interpreter.keep(compiled.program.block, node.saved)
    if not walk.retain_graph:
        node.release()
    for value, number in zip(plan.program.inputs, of_outputs, strict=True):
        interpreter.values[value] = grads[number]
    node.left = None
    interpreter.block(plan.program.block)
    node.arrive_all(walk, plan.conditional)


class _Interpreter:
    """Runs a backward Program on Tensors."""

    def __init__(self, node: CallNode, walk: Walk, of_turns: dict[tuple[int, str], Tensor]) -> None:
        self.node = node
        self.walk = walk
        self.of_turns = of_turns
        # Identity of the record of the turn that is being gone back through; 0 outside of loops.
        self.turn = 0
        self.turn_numbers: dict[Operator, int] = {}
        self.values: dict[Value, Any] = {}
        program = node.compiled.program
        self.output_numbers = {value: number for number, value in reversed(list(enumerate(program.outputs)))}
        self.edge_numbers = {value: number for number, value in enumerate(node.compiled.edges)}
        for value, first in program.same_edge.items():
            if first in self.edge_numbers:
                self.edge_numbers[value] = self.edge_numbers[first]

    def keep(self, block: Block, kept: tuple[Any, ...]) -> None:
        """Take over what the run has kept of a block."""
        for value, thing in zip(self.node.compiled.saved.get(block, ()), kept, strict=True):
            self.values[value] = thing if not value.is_tensor or thing is None else self.tensor(value, thing)

    def tensor(self, value: Value, data: Any) -> Tensor:
        """A value of the run as Tensor, at its place in the graph."""
        array = np.asarray(data)
        if value.stop_gradient:
            return Tensor(array)
        number = self.edge_numbers.get(value)
        if number is not None:
            return _at(self.node.edges[number], array)
        if self.turn:
            return Tensor(array, False, self.node, self.number_in_turn(value))
        return Tensor(array, False, self.node, self.output_numbers[value])

    def number_in_turn(self, value: Value) -> int:
        """The output of the call that stands for what this turn has kept of `value`."""
        key = (self.turn, value.name)
        number = self.node.turn_outputs.get(key)
        if number is None:
            assert value.spec is not None
            number = self.node.turn_outputs[key] = len(self.node.specs)
            self.node.specs = [*self.node.specs, value.spec]
        return number

    def block(self, block: Block) -> None:
        for operator in block.operators:
            if operator.op is not None:
                args = [self.value(value) for value in operator.inputs]
                result = operator.op(*args, **self.template(operator.attrs))
            else:
                run = _RUN.get(operator.kind)
                if run is None:
                    raise GradientError(
                        f"{operator.kind} cannot be differentiated twice: its gradient is computed by Python code",
                        operator.location, "Compute it eagerly, or without create_graph.",
                        kind="G10",
                    )
                result = run(self, operator)
            if operator.several or operator.blocks:
                self.values.update(zip(operator.outputs, result, strict=True))
            elif operator.outputs:
                self.values[operator.outputs[0]] = result

    def value(self, value: Value) -> Any:
        return value.constant if value.is_constant else self.values[value]

    def template(self, tree: Any) -> Any:
        """Nested containers with values of the run in place of Values."""
        return map_values(tree, self.value)

    # --- built-in operators: each gives what its kind gives ------------------------------------------------------

    def cond(self, operator: Operator) -> tuple[Any, ...]:
        taken = self.value(operator.inputs[0])
        position = 0 if taken else 1
        forward: Operator | None = operator.attrs.get("of")
        if forward is not None:
            self.keep(forward.blocks[position], self.value(operator.attrs["record"])[1:])
        branch = operator.blocks[position]
        self.block(branch)
        return tuple(self.value(value) for value in branch.outputs)

    def reversed_turns(self, operator: Operator) -> tuple[Any, ...]:
        (block,), forward = operator.blocks, operator.attrs["of"]
        carried = [self.value(value) for value in operator.inputs]
        around = self.turn
        for number, turn in reversed(list(enumerate(self.value(operator.attrs["record"])))):
            # The run keeps these tuples, so their identity names the turn.
            self.turn = id(turn)
            self.turn_numbers[forward] = number
            self.values.update(zip(block.inputs, carried, strict=True))
            self.keep(forward.blocks[1], turn)
            self.block(block)
            carried = [self.value(value) for value in block.outputs]
        self.turn = around
        return tuple(carried)

    def kept_grad(self, operator: Operator) -> Tensor | None:
        return self.of_turns.get((self.turn, operator.attrs["of_value"]))

    def python(self, operator: Operator) -> Any:
        function, args, kwargs = self.template(operator.attrs["call"])
        return function(*args, **kwargs)

    def py_layer_backward(self, operator: Operator) -> tuple[Any, ...]:
        context, *grads = (self.value(value) for value in operator.inputs)
        attrs = operator.attrs
        found: tuple[Any, ...] = tuple(attrs["layer"].run_backward(context, attrs["outputs"], attrs["inputs"], grads))
        return found

    def accumulate(self, operator: Operator) -> None:
        grad = self.value(operator.inputs[0])
        edge = self.node.edges[operator.attrs["edge"]]
        if grad is not None and edge is not None and self.walk.needs(edge):
            self.walk.accumulate(edge, grad)

    def accumulate_leaf(self, operator: Operator) -> None:
        tensor, grad = (self.value(value) for value in operator.inputs)
        leaf, index = tensor.graph_edge()
        self.walk.accumulate((leaf, index), grad)
        self.walk.arrived(leaf)

    def call_hooks(self, operator: Operator) -> Any:
        grad, *point = (self.value(value) for value in operator.inputs)
        if grad is None:
            return None
        number = operator.attrs["output"]
        hooks = point[0] if point and isinstance(point[0], HookList) else (self.node.hooks or {}).get(number)
        grad = self.walk.hooked(hooks, grad)
        if operator.attrs["captured"]:
            self.walk.capture((self.node, number), grad)
        return grad

    def zeros_like(self, value: Any) -> Tensor:
        return Tensor(np.zeros_like(value.data))


def _at(edge: Edge | None, array: Any) -> Tensor:
    """A Tensor with this data whose gradients go to `edge`."""
    if edge is None:
        return Tensor(array)
    node, index = edge
    if not isinstance(node, LeafNode):
        return Tensor(array, False, node, index)
    tensor = Tensor(array, False)
    tensor._leaf = node
    return tensor


def _reads(compute: Callable[..., Any]) -> Callable[[_Interpreter, Operator], Any]:
    """An operator that is a function of its inputs."""

    def run(interpreter: _Interpreter, operator: Operator) -> Any:
        return compute(*(interpreter.value(value) for value in operator.inputs))

    return run


def _add_present(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _modified(interpreter: _Interpreter, operator: Operator) -> None:
    runtime.modified_in_place(operator.attrs["op"], operator.attrs["shape"])


def _or_zeros(interpreter: _Interpreter, operator: Operator) -> Any:
    grad, like = (interpreter.value(value) for value in operator.inputs)
    return interpreter.zeros_like(like) if grad is None else grad


_RUN: dict[str, Callable[[_Interpreter, Operator], Any]] = {
    "cond": _Interpreter.cond,
    "reversed_turns": _Interpreter.reversed_turns,
    "python": _Interpreter.python,
    "py_layer_backward": _Interpreter.py_layer_backward,
    "accumulate": _Interpreter.accumulate,
    "accumulate_leaf": _Interpreter.accumulate_leaf,
    "call_hooks": _Interpreter.call_hooks,
    "kept_grad": _Interpreter.kept_grad,
    "arrived": lambda interpreter, operator: interpreter.node.arrived(interpreter.walk, operator.attrs["edge"]),
    "contributed": lambda interpreter, operator: interpreter.node.contributed(interpreter.walk, operator.attrs["edge"]),
    "branch_of": _reads(lambda record: record[0]),
    "has_turns": _reads(bool),
    "is_first_turn": lambda interpreter, operator: interpreter.turn_numbers[operator.attrs["loop"]] == 0,
    "is_present": _reads(lambda *grads: any(grad is not None for grad in grads)),
    "add_present": _reads(_add_present),
    "or_zeros": _or_zeros,
    "zeros_like": lambda interpreter, operator: interpreter.zeros_like(interpreter.value(operator.inputs[0])),
    "modified_in_place": _modified,
    "check_input": lambda i, o: i.node.check_input(o.attrs["number"], o.attrs["op"]),
    "check_output": lambda i, o: i.node.check_output(o.attrs["number"], o.attrs["op"]),
    "size": lambda interpreter, operator: interpreter.value(operator.inputs[0]).shape[operator.attrs["axis"]],
    "item": lambda i, o: i.value(o.inputs[0]).item(*i.template(o.attrs["index"])),
    "to_array": lambda i, o: Tensor(np.asarray(i.value(o.inputs[0]), o.attrs["dtype"])),
    "array_of": _reads(lambda tensor: tensor.data),
    "constant": _reads(lambda data: Tensor(np.asarray(data))),
}

