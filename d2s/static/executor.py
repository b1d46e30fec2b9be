"""Compiling a Program: generated source becomes a function, registered in linecache."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import linecache
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from d2s.core.spec import TensorSpec
from d2s.errors import GENERATED, ProgramError
from d2s.static.arrivals import count_source
from d2s.static.backward import BackwardPlan, append_backward, saved_values
from d2s.static.codegen import SOURCE, Source, backward_source, forward_source
from d2s.static.dependencies import Dependencies, dependencies_of_outputs
from d2s.static.program import Block, Operator, Program, Value

_numbers = itertools.count()

# Called with every Program before it is compiled, and with every backward of it; the test suite puts `verify` here.
FORWARD_CHECKS: list[Callable[[Program], None]] = []
BACKWARD_CHECKS: list[Callable[[Program, Program], None]] = []


@dataclasses.dataclass(frozen=True)
class BackwardFunction:
    """A compiled backward.

    Attributes
    ----------
    run : callable
        ``run(node, walk, saved, *gradients)``.
    conditional : tuple of int
        Edges to which the number of contributions depends on the path taken.
    visited : set of Operator
        Operators of the forward Program that it uses up.
    count : callable or None
        ``count(saved, *gradients)``: that number for each of them, if the gradients are there.
    """

    run: Callable[..., Any]
    visited: frozenset[Operator]
    conditional: tuple[int, ...] = ()
    count: Callable[..., dict[int, int]] | None = None


class Compiled:
    """A Program as functions: forward at once, backward on demand for what is reached and wanted.

    Parameters
    ----------
    program : Program
        Its outputs are the values whose gradients may be asked for from outside.
    tensors : sequence of Value
        Inputs that are Tensor objects of the caller.
    edges : sequence of Value
        Inputs whose gradients leave the Program.
    hook_points : dict of Value to Value
    """

    def __init__(
        self, program: Program, tensors: Sequence[Value], edges: Sequence[Value],
        hook_points: dict[Value, Value],
    ) -> None:
        self.program = program
        self.tensors = tuple(tensors)
        self.edges = tuple(edges)
        self.hook_points = hook_points
        position = {value: number for number, value in enumerate(self.tensors)}
        self.edge_positions = tuple(position[value] for value in self.edges)
        self.reachable = tuple(i for i, value in enumerate(program.outputs) if not value.stop_gradient)
        # Of outputs whose size is not known yet a run notes the spec itself.
        unknown = TensorSpec((), np.dtype("float32"))
        self.output_specs = tuple(
            value.spec if value.spec is not None and value.spec.is_static else unknown for value in program.outputs)
        self._plans: dict[Any, BackwardFunction] = {}
        self.registers_hooks = any(operator.kind == "register_hook" for operator in program.all_operators())
        self._interpreted: dict[Any, BackwardPlan] = {}
        self._with_kept_outputs: Compiled | None = None
        self.saved: dict[Block, tuple[Value, ...]] = {}
        records: frozenset[Value] = frozenset()
        # What a backward of all outputs uses up.
        self.all_visited: frozenset[Operator] = frozenset()
        # Outputs whose values backward reads: the caller may write to them.
        self.read_outputs: frozenset[int] = frozenset()
        if self.reachable:
            plan = append_backward(program, self.edges, self.reachable, tensors=self.tensors)
            self.saved = plan.saved
            program.backward = plan.program
            self.all_visited = plan.visited
            self._plans[(self.reachable, None, (), (), frozenset())] = self._backward_function(plan)
            records = _records(plan.program)
            self.read_outputs = frozenset(i for i, value in enumerate(program.outputs) if value in plan.values_read)
        for check in FORWARD_CHECKS:
            check(program)
        source = forward_source(
            "forward", program.block, self.saved, records, program.outputs, self.tensors, hook_points)
        self.forward_source = source
        self.forward = load(source, program.name)

    @functools.cached_property
    def dependencies(self) -> tuple[Dependencies, ...]:
        """What each output can be differentiated with respect to."""
        return dependencies_of_outputs(self.program, self.edges)

    def backward_function(
        self, reached: tuple[int, ...], wanted: tuple[int, ...] | None, captured: tuple[int, ...],
        blocked: tuple[int, ...] = (), used: frozenset[Operator] = frozenset(),
    ) -> BackwardFunction:
        """The backward function for gradients of the outputs `reached`, leading to the edges `wanted`.

        `used` holds the operators that earlier backwards of the run have used up.
        """
        key = (reached, wanted, captured, blocked, used)
        found = self._plans.get(key)
        if found is None:
            plan = append_backward(
                self.program, self.edges, reached, wanted, captured, blocked, self.tensors, used=used)
            self._check_kept(plan)
            found = self._plans[key] = self._backward_function(plan)
        return found

    def backward_plan(
        self, reached: tuple[int, ...], wanted: tuple[int, ...] | None, captured: tuple[int, ...],
        blocked: tuple[int, ...] = (), in_turns: bool = False,
    ) -> BackwardPlan:
        """The backward Program for the same, to be interpreted; `in_turns`: also for what turns of loops have kept."""
        key = (reached, wanted, captured, blocked, in_turns)
        found = self._interpreted.get(key)
        if found is None:
            found = self._interpreted[key] = append_backward(
                self.program, self.edges, reached, wanted, captured, blocked, self.tensors,
                _kept_in_turns(self.program, self.saved) if in_turns else None)
            for check in BACKWARD_CHECKS:
                check(found.program, self.program)
            self._check_kept(found)
        return found

    def with_kept_outputs(self) -> Compiled:
        """The same with more outputs: all that a run keeps and that can be differentiated.

        Under `create_graph` backward reads these values, so the next backward brings gradients for them.
        """
        if self._with_kept_outputs is None:
            program, other = self.program, copy.copy(self)
            known = {*program.outputs, *self.edges, *program.same_edge}
            kept = [value for value in _kept(program.block, self.saved) if value not in known]
            block = Block(program.inputs, program.operators, (*program.outputs, *kept))
            other.program = dataclasses.replace(program, block=block)
            other.saved = {**self.saved, block: self.saved.get(program.block, ())}
            other._plans, other._interpreted = {}, {}
            self._with_kept_outputs = other._with_kept_outputs = other
        return self._with_kept_outputs

    def _check_kept(self, plan: BackwardPlan) -> None:
        for block, values in plan.saved.items():
            missing = set(values).difference(self.saved.get(block, ()))
            if missing:
                names = ", ".join(sorted(value.name for value in missing))
                raise ProgramError(
                    f"a run of {self.program.name} has not kept {names}, which this gradient needs",
                    kind="P01",
                )

    def _backward_function(self, plan: BackwardPlan) -> BackwardFunction:
        for check in BACKWARD_CHECKS:
            check(plan.program, self.program)
        # The run keeps what the largest backward needs; a smaller one unpacks the same.
        block, forward, saved = plan.program.block, self.program.block, self.saved or plan.saved
        run = load(
            backward_source("backward", block, forward, saved, self.program.outputs, self.tensors), plan.program.name)
        if not plan.conditional:
            return BackwardFunction(run, plan.visited)
        count = load(count_source(block, forward, saved, plan.conditional), f"{plan.program.name} count")
        return BackwardFunction(run, plan.visited, plan.conditional, count)


def _kept(block: Block, saved: dict[Block, tuple[Value, ...]]) -> Iterator[Value]:
    """What a run keeps once, in this block or a branch in it, and can be differentiated."""
    yield from (value for value in saved.get(block, ()) if value.is_tensor and not value.stop_gradient)
    for operator in block.operators:
        if operator.kind == "cond":
            for branch in operator.blocks:
                yield from _kept(branch, saved)


def _kept_in_turns(program: Program, saved: dict[Block, tuple[Value, ...]]) -> dict[Block, tuple[Value, ...]]:
    """The same for each turn of the loops."""
    bodies = [operator.blocks[1] for operator in program.all_operators() if operator.kind == "while"]
    return {body: tuple(_kept(body, saved)) for body in bodies}


def _records(backward: Program) -> frozenset[Value]:
    """Records of control flow that a backward Program reads."""
    found = set()
    for operator in backward.all_operators():
        record = operator.attrs.get("record")
        if record is not None:
            found.add(record)
        if operator.kind in ("branch_of", "has_turns"):
            found.add(operator.inputs[0])
    return frozenset(found)


def load(source: Source, name: str) -> Callable[..., Any]:
    """The function that `source` defines, shown by debuggers and tracebacks as ``<d2s program NAME>``."""
    file = f"<d2s program {name} {next(_numbers)}>"
    text = source.text
    code = compile(text, file, "exec")
    # No modification time: linecache does not drop the entry; it goes with the function and its tracebacks.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = dict(source.namespace)
    exec(code, namespace)
    function = namespace[source.name]
    function.__dict__[SOURCE] = source
    GENERATED[file] = {
        line: operator.location for line, operator in source.locations.items()
        # An error of the user's own `raise` brings its traceback along.
        if operator.location is not None and operator.kind != "raise"
    }
    weakref.finalize(function.__code__, _forget, file).atexit = False
    result: Callable[..., Any] = function
    return result


def _forget(file: str) -> None:
    linecache.cache.pop(file, None)
    GENERATED.pop(file, None)


__all__ = ["Compiled", "load", "saved_values"]
