"""Compiling a Program: generated source becomes a function, registered in linecache."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import linecache
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.spec import TensorSpec
from d2s.errors import GENERATED
from d2s.static.arrivals import count_source, probe_source
from d2s.static.backward import BackwardPlan, append_backward
from d2s.static.build_strategy import BuildStrategy
from d2s.static.codegen import SOURCE, Source, backward_source, forward_source
from d2s.static.dependencies import dependencies_of_outputs
from d2s.static.identities import add_identities
from d2s.static.keeping import forget_versions, needed_by_tape, records_of, saved_values, tensors_of_turns
from d2s.static.passes import PassReport, optimized
from d2s.static.passes.in_place import InPlacePlan, plan_in_place
from d2s.static.program import Block, Operator, Program, Value
from d2s.static.skeleton import Skeletons, leaves_one
from d2s.static.whole_step import WholeStep, inner_backwards, whole_step
from d2s.words import counted

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
        ``run(node, walk, [saved, *gradients])``; it empties the list.
    conditional : tuple of int
        Edges to which the number of contributions depends on the path taken.
    certain : set of int
        Edges to which there are contributions on every path.
    visited : set of Operator
        Operators of the forward Program that it uses up.
    count : callable or None
        ``count(saved, *gradients)``: that number for each of them, if the gradients are there.
    """

    run: Callable[..., Any]
    visited: frozenset[Operator]
    conditional: tuple[int, ...] = ()
    certain: frozenset[int] = frozenset()
    count: Callable[..., dict[int, int]] | None = None


@dataclasses.dataclass(frozen=True)
class Part:
    """What was done to one part of a Program before it was compiled."""

    passes: list[PassReport]
    in_place: InPlacePlan

    @property
    def size(self) -> str:
        """How many operators it has, in words."""
        if not self.passes:
            return "no passes"
        before, after = self.passes[0].before, self.passes[-1].after
        return counted(before, "operator") + (f", {after} after all passes" if after != before else "")


@dataclasses.dataclass(frozen=True)
class StepFunction:
    """A compiled whole step.

    Attributes
    ----------
    run : callable
        ``run(node, *objects)``.
    source : Source
    sees_no_hooks : bool
        True if it may run only while no leaf has hooks.
    checks_versions : bool
        True if it looks whether tensors of the caller have been written to since it began.
    """

    run: Callable[..., Any]
    source: Source
    sees_no_hooks: bool
    checks_versions: bool


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
        self.edge_numbers = {value: number for number, value in enumerate(self.edges)}
        self.edge_numbers.update(
            (value, self.edge_numbers[first]) for value, first in program.same_edge.items() if first in self.edges)
        self.reachable = tuple(i for i, value in enumerate(program.outputs) if not value.stop_gradient)
        # Of outputs whose size is not known yet a run notes the spec itself.
        unknown = TensorSpec((), np.dtype("float32"))
        self.output_specs = tuple(
            value.spec if value.spec is not None and value.spec.is_static else unknown for value in program.outputs)
        self.strategy = BuildStrategy()
        # What has been compiled so far, by name: "forward", "backward" (the last one) and "step".
        self.parts: dict[str, Part] = {}
        self._plans: dict[Any, BackwardFunction] = {}
        # The backward of all outputs, which says what a run keeps; compiled when it is asked for.
        self._whole_plan: BackwardPlan | None = None
        self.registers_hooks = any(operator.kind == "register_hook" for operator in program.all_operators())
        self.checks = False
        self.saved: dict[Block, tuple[Value, ...]] = {}
        self._records: frozenset[Value] = frozenset()
        # What a backward of all outputs uses up.
        self.all_visited: frozenset[Operator] = frozenset()
        # Outputs whose values backward reads: the caller may write to them.
        self.read_outputs: frozenset[int] = frozenset()
        # The same of the caller's tensors.
        self.read_tensors: tuple[int, ...] = ()
        # False: what a backward does depends on the path of the run in ways that only its tape shows.
        self.is_exact = True
        self.has_regions = any(operator.blocks for operator in program.operators)
        self.has_py_layers = any(operator.kind == "py_layer" for operator in program.all_operators())
        # Which Tensor objects that turns of loops make can be differentiated: by the tape of the run only.
        self.turn_tensors = tensors_of_turns(program)
        # True if some result of a run can be differentiated.
        self.is_differentiable = bool(self.reachable or self.turn_tensors)
        # True if the history of values is known to the run only.
        takes = any(operator.kind in ("taken", "taken_all") for operator in program.all_operators())
        if self.is_differentiable:
            add_identities(program, self.edge_numbers, hook_points)
            plan = append_backward(program, self.edges, () if takes else self.reachable, tensors=self.tensors)
            if self.turn_tensors or takes:
                records = plan.records | records_of(program)
                values = (*needed_by_tape(program), *(value for kept in plan.saved.values() for value in kept))
                plan = dataclasses.replace(
                    plan, saved=saved_values(program, plan.program, (*records, *values)), records=records)
            self.saved = plan.saved
            program.backward = None if takes else plan.program
            self.all_visited = plan.visited
            self._whole_plan = plan
            if not takes:
                _check_backward(plan, program)
            self._records = plan.records
            self.read_outputs, self.read_tensors = plan.outputs_read, plan.tensors_read
            self.is_exact = plan.knows_writes and not takes
        forget_versions(program, self.saved)
        # What stays of a run that has been used up; None: nothing.
        self.skeletons = Skeletons(program.block, self.saved) if leaves_one(program) else None
        for check in FORWARD_CHECKS:
            check(program)

    @functools.cached_property
    def forward_source(self) -> Source:
        """The text of `forward`."""
        program, in_place = self._forward_plan
        return forward_source(
            "forward", program.block, self.saved, self._records, program.outputs, self.tensors, self.hook_points,
            in_place, self.checks, self.turn_tensors)

    @functools.cached_property
    def _forward_plan(self) -> tuple[Program, InPlacePlan]:
        """The Program as it is compiled, and what it does in place."""
        if self.checks:
            # Every op that the user has written is looked at.
            return self.program, InPlacePlan(set())
        kept = [value for values in self.saved.values() for value in values]
        program, reports = optimized(self.program, kept)
        in_place = plan_in_place(program.block, self.tensors, self.saved.get(self.program.block, ()))
        self.parts["forward"] = Part(reports, in_place)
        return program, in_place

    @functools.cached_property
    def forward(self) -> Callable[..., Any]:
        """``forward(run, *objects)``: computes, and leaves in `run` what backward needs."""
        return load(self.forward_source, self.program.name)

    @functools.cached_property
    def step(self) -> StepFunction | None:
        """The Program with the backward that it asks for in place, if it is a training step in which that is right."""
        is_plain = self.reachable and self.is_exact and not (self.turn_tensors or self.program.identities)
        backwards = inner_backwards(self.program) if is_plain and not self.checks else []
        losses = {backward.loss for backward in backwards}
        if not backwards or (self.has_regions and not losses.issuperset(self.reachable)):
            # What another result leads to beside the losses depends on the path of the run.
            return None
        plans, used_up = [], set[Operator]()
        for backward in backwards:
            plan = self._whole_plan if self.reachable == (backward.loss,) else append_backward(
                self.program, self.edges, (backward.loss,), tensors=self.tensors)
            assert plan is not None
            if not (plan.knows_writes and used_up.isdisjoint(plan.visited)):
                return None
            if any(operator.kind == "modified_in_place" for operator in plan.program.all_operators()):
                # Whether the write comes before the backward or after it, the tape knows.
                return None
            plans.append(plan)
            if not backward.keeps_graph:
                used_up |= plan.visited
        if not used_up >= self.all_visited:
            # Another backward of the run has to find everything used up.
            return None
        whole = whole_step(self.program, self.edges, list(zip(backwards, plans, strict=True)))
        return None if whole is None else self._step_function(whole)

    def _step_function(self, whole: WholeStep) -> StepFunction:
        for check in FORWARD_CHECKS:
            check(whole.program)
        saved = whole.saved
        # What turns and branches keep goes by records; all else is a value of the function.
        kept = [value for block, values in saved.items() if block is not self.program.block for value in values]
        program, reports = optimized(whole.program, kept, batch_products=self.strategy.batch_products)
        in_place = plan_in_place(program.block, self.tensors)
        self.parts["step"] = Part(reports, in_place)
        source = forward_source(
            "step", program.block, saved, whole.records, self.program.outputs, self.tensors,
            self.hook_points, in_place)
        checks = any(operator.kind in ("check_input", "check_chosen") for operator in whole.program.all_operators())
        return StepFunction(load(source, self.program.name), source, whole.sees_no_hooks, checks)

    @functools.cached_property
    def checked(self) -> Compiled:
        """The same, but a NaN in the result of an op is an error: see `detect_anomaly`."""
        other = copy.copy(self)
        for name in ("forward_source", "forward", "_forward_plan", "step"):
            other.__dict__.pop(name, None)
        other.checks = True
        other._plans, other.parts = {}, {}
        return other

    @functools.cached_property
    def dependencies(self) -> tuple[frozenset[int], ...]:
        """The edges that each output can be differentiated with respect to."""
        return dependencies_of_outputs(self.program, self.edges)

    def backward_function(self, reached: tuple[int, ...], wanted: tuple[int, ...] | None = None) -> BackwardFunction:
        """The backward function for gradients of the outputs `reached`, leading to the edges `wanted`."""
        key = (reached, wanted)
        found = self._plans.get(key)
        if found is None:
            plan = self._whole_plan
            if plan is None or key != (self.reachable, None):
                plan = append_backward(self.program, self.edges, reached, wanted, self.tensors)
                _check_backward(plan, self.program)
                for block, values in plan.saved.items():
                    missing = set(values).difference(self.saved.get(block, ()))
                    assert not missing, f"a run of {self.program.name} does not keep {missing}"
            found = self._plans[key] = self._backward_function(plan)
        return found

    def probe(self, reached: tuple[int, ...]) -> Callable[..., Any]:
        """``probe(run, saved, *gradients)`` raises what the backward would because of a write in place."""
        plan = append_backward(self.program, self.edges, reached, None, self.tensors)
        source = probe_source(plan.program.block, self.program.block, self.saved or plan.saved, len(self.edges))
        return load(source, f"{plan.program.name} probe")

    def _backward_function(self, plan: BackwardPlan) -> BackwardFunction:
        # The run keeps what the largest backward needs; a smaller one unpacks the same.
        block, forward, saved = plan.program.block, self.program.block, self.saved or plan.saved
        program, reports = plan.program, list[PassReport]()
        if not self.checks:
            program, reports = optimized(plan.program, forward=self.program)
        source, in_place = backward_source(
            "backward", program.block, forward, saved, self.program.outputs, self.tensors,
            self._forward_plan[1].contiguous, self.checks)
        self.parts["backward"] = Part(reports, in_place)
        run = load(source, plan.program.name)
        if not plan.conditional:
            return BackwardFunction(run, plan.visited, certain=plan.certain)
        count = load(count_source(block, forward, saved, plan.conditional), f"{plan.program.name} count")
        return BackwardFunction(run, plan.visited, plan.conditional, plan.certain, count)


def _check_backward(plan: BackwardPlan, forward: Program) -> None:
    for check in BACKWARD_CHECKS:
        check(plan.program, forward)


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

