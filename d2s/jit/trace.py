"""Tracing one call of a function into a compiled Program."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from d2s.core.interpreter import GradModeBlock, state, use_interpreter
from d2s.errors import Location, TracingError, UnsupportedSyntaxError, user_location
from d2s.operators import conversion
from d2s.operators.foreign_results import ForeignResults
from d2s.operators.guards import GuardSet, function_guards
from d2s.operators.heap import Heap
from d2s.operators.inner_gradients import leads_back_to
from d2s.operators.outcomes import Outcome
from d2s.operators.region import REFUSALS, explore, refuse_endless_walk
from d2s.operators.restarts import (
    ArraysOfTheRun,
    FollowBoth,
    Learned,
    OfAnyKind,
    TooManyPaths,
    TooManyWays,
    UsedUpGraphs,
)
from d2s.operators.sizes import OpenSizes, Place
from d2s.operators.sources import Argument, Source, fetcher
from d2s.operators.trace_state import state_of
from d2s.operators.tracer import Tracer
from d2s.static.executor import Compiled
from d2s.static.program import Block, Program, Value
from d2s.transpiler.convert import keep_hooks_in_place


@dataclass(frozen=True)
class Traced:
    """A compiled Program with what it takes to use it again.

    Attributes
    ----------
    compiled : Compiled
    guards : GuardSet
        When it may be used.
    tensors : tuple of Source
        Where the tensors among the inputs are found in each call.
    objects : tuple of Source
        The same for all other inputs.
    fetch_captured : callable
        The tensors from elsewhere that the Program reads: parameters and buffers.  Not kept: they may be replaced.
    """

    compiled: Compiled
    guards: GuardSet
    tensors: tuple[Source, ...]
    objects: tuple[Source, ...]
    fetch_captured: Callable[[dict[str, Any]], tuple[Any, ...]]


def trace(
    function: Callable[..., Any], signature: inspect.Signature, bound: dict[str, Any], name: str,
    numbers: frozenset[tuple[Any, ...]] = frozenset(), sizes: frozenset[Place] = frozenset(),
    steering: frozenset[Place] = frozenset(), guards: GuardSet | None = None,
) -> Traced:
    """Trace `function` for the arguments `bound` (by parameter name).

    `numbers` holds the identities of paths at which Python numbers are inputs of the Program, `sizes` those of tensors
    with axes along which it serves other sizes too, `steering` those of them that may steer Python; `guards`, if given,
    is filled with what the trace reads, also if it comes to no end.

    Raises
    ------
    SizeNeeded
        If Python needs some of these sizes.
    """
    tracer = record(function, signature, bound, name, numbers, sizes, steering, guards)
    # Code of the user may have caught what it has raised.
    tracer.sizes.need(frozenset(tracer.sizes.needed))
    return _compiled(tracer)


def record(
    function: Callable[..., Any], signature: inspect.Signature, bound: dict[str, Any], name: str,
    numbers: frozenset[tuple[Any, ...]] = frozenset(), sizes: frozenset[Place] = frozenset(),
    steering: frozenset[Place] = frozenset(), guards: GuardSet | None = None,
) -> Tracer:
    """The tracer that has recorded a call: it holds the Program, not compiled, and where its inputs are found."""
    merging: dict[Location | None, int] = {}
    followed: set[Location | None] = set()
    of_any_kind: dict[Location | None, frozenset[str]] = {}
    learned = set[type[Learned]]()
    are_numbers = merges_all = False
    refused: Exception | None = None
    while True:
        tracer = Tracer(Program(name), numbers, OpenSizes(sizes, steering), frozenset(learned))
        tracer.foreign_results = ForeignResults(are_numbers)
        tracer.merging, tracer.of_any_kind = merging, of_any_kind
        tracer.followed.update(followed)
        tracer.may_merge = refused is None
        if guards is not None:
            guards.clear()
            tracer.guards = guards
        try:
            with tracer.merged(merges_all and tracer.may_merge):
                _record(tracer, function, signature, bound)
        except TooManyWays as found:
            merging = {**merging, found.place: found.stage}
            continue
        except TooManyPaths:
            merges_all = True
            continue
        except Learned as found:
            if ArraysOfTheRun in learned and type(found) is ArraysOfTheRun:
                raise TracingError(
                    "an array that only the run makes is written while tracing", user_location(),
                    "Make it by a function of NumPy.", kind="T02") from None
            assert type(found) not in learned, "nothing is found out twice"
            learned.add(type(found))
            continue
        except OfAnyKind as found:
            known = of_any_kind.get(found.place, frozenset())
            of_any_kind = {**of_any_kind, found.place: known | {found.name}}
            continue
        except FollowBoth as found:
            followed.add(found.place)
            continue
        except Exception as error:
            refuse_endless_walk(error)
            if isinstance(error, REFUSALS) and tracer.foreign_results.are_used and not are_numbers:
                are_numbers = True
                continue
            if isinstance(error, REFUSALS) and refused is None and (merges_all or merging):
                # Perhaps there are not too many ways to be followed.
                refused, merging = error, {}
                continue
            if not tracer.misplaced:
                if isinstance(error, REFUSALS) and error.id == "D2S-U11" and refused is not None:
                    raise refused from None
                raise
        if not tracer.misplaced:
            return tracer
        # Nothing has been changed outside: the trace begins anew, with these hooks where the user has registered them.
        for code, lines in tracer.misplaced:
            keep_hooks_in_place(code, lines)


def _record(
    tracer: Tracer, function: Callable[..., Any], signature: inspect.Signature, bound: dict[str, Any]
) -> None:
    program = tracer.program
    assert isinstance(function, FunctionType)
    converted = conversion.converted_for_tracing(function)
    assert converted is not None
    for guard in function_guards(function):
        tracer.guards.add(guard)
    # What the code makes of the grad mode is that of the trace.
    with use_interpreter(tracer), GradModeBlock(tracer.grad_mode):
        positional, named = _read_arguments(tracer, signature, bound)
        try:
            _follow(tracer, lambda: converted(*positional, **named), program.block, function.__code__)
        finally:
            tracer.generators.end()
    inputs = [value for _, value in tracer.captured.values()]
    objects = [value for value in tracer.sources if not value.is_tensor]
    program.block.inputs = (*inputs, *objects)
    program.block.outputs = leaving(program)
    # Paths that were followed and given up have left writes behind.
    existing = set(program.all_operators())
    program.writes = {operator: write for operator, write in program.writes.items() if operator in existing}
    if tracer.used_up and leads_back_to(tracer.used_up, program):
        raise UsedUpGraphs


def _read_arguments(
    tracer: Tracer, signature: inspect.Signature, bound: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as the trace sees them."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        value = tracer.read(Argument(parameter.name), bound[parameter.name])
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += tracer.snapshot(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(tracer.snapshot(value))
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def _follow(tracer: Tracer, run: Callable[[], Any], root: Block, code: CodeType) -> None:
    """Trace every path through the function of `code`; each ends with its own `return` or `raise`."""

    def finish(result: Any, error: BaseException | None) -> Outcome:
        path = tracer.path
        assert path is not None
        if error is not None:
            # What may raise when the Program runs does so first.
            acts = tracer.risks or state.grad_enabled is not tracer.grad_mode
            acts = acts or bool(path.choices) or any(operator.effect for operator in root.operators)
            tracer.sizes.need_for_words(error)
            lowered = tracer.lowering.raised(error)
            if lowered is error and not acts:
                raise error
            tracer.leave_grad_mode()
            tracer.emit("raise", (), (), {"error": lowered}, effect=True)
        else:
            tracer.lowering.is_last = True
            template = _lowered_result(tracer, result, code)
            tracer.lowering.is_last = False
            tracer.lowering.settle(path.blocks)
            tracer.leave_grad_mode()
            tracer.emit("return", (), (), {"result": template}, effect=True)
        return ended

    def join(test: Value, first: tuple[Block, Outcome], second: tuple[Block, Outcome], into: Block) -> Outcome:
        emitted = tracer.emit("cond", (test,), (), {}, effect=True, blocks=(first[0], second[0]))
        emitted.record = tracer.new_value("record", None)
        tracer.definitions[emitted.record] = (emitted, into)
        return ended

    # The function makes all its objects anew on each path; there is nothing to put back, nor to go on with.
    tracer._blocks.clear()
    ended = Outcome(None, {}, None, state_of(tracer))
    explore(tracer, run, root, Heap([], tracer.is_outer), finish, join)


def _lowered_result(tracer: Tracer, result: Any, code: CodeType) -> Any:
    """What the function returns, lowered; a result that cannot leave is refused where the function returns."""
    try:
        return tracer.lower(result)
    except UnsupportedSyntaxError as error:
        if error.location in (None, user_location()):
            error.place_at(_end_of(code))
        raise


def _end_of(code: CodeType) -> Location:
    """The line of the only `return` with a value or of the first `yield`, else where the function begins."""
    found: dict[str, list[int]] = {"RETURN_VALUE": [], "YIELD_VALUE": []}
    before = None
    for instruction in dis.get_instructions(code):
        line = None if instruction.positions is None else instruction.positions.lineno
        if instruction.opname in found and line is not None and before != "LOAD_CONST":
            found[instruction.opname].append(line)
        before = instruction.opname
    lines = found["YIELD_VALUE"][:1] or sorted(set(found["RETURN_VALUE"]))
    return Location(code.co_filename, lines[0] if len(lines) == 1 else code.co_firstlineno)


def _compiled(tracer: Tracer) -> Traced:
    program = tracer.program
    noted = {operator.outputs[0] for operator in program.all_operators() if operator.kind == "version"}
    program.versions = {value: version for value, version in program.versions.items() if version in noted}
    inputs = [value for _, value in tracer.captured.values()]
    edges = [value for value in inputs if not value.stop_gradient]
    compiled = Compiled(program, inputs, edges, tracer.points_by_every_name())
    sources = tuple([tracer.sources[value] for value in program.block.inputs])
    # Tensors that come with the arguments belong to the caller.
    captured = fetcher([source for source in map(tracer.sources.__getitem__, inputs) if not source.by_type])
    return Traced(compiled, tracer.guards, sources[: len(inputs)], sources[len(inputs) :], captured)


def leaving(program: Program) -> tuple[Value, ...]:
    """The values that become Tensors of a run and can be differentiated: the outputs of a traced Program."""
    return tuple(_leaving(program.block, set(program.inputs)))


def _leaving(block: Block, inputs: set[Value]) -> dict[Value, None]:
    """Values that become Tensors and can be differentiated, except those made in a turn of a loop."""
    found: dict[Value, None] = {}
    for operator in block.operators:
        if operator.kind in ("materialise", "rewrite"):
            value = operator.inputs[0]
            if not value.stop_gradient and value not in inputs:
                found[value] = None
        if operator.kind != "while":
            for inner in operator.blocks:
                found.update(_leaving(inner, inputs))
    return found
