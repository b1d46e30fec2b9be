"""What was done to a function: conversion, traces, Program, memory, time."""

from __future__ import annotations

import contextlib
import io
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

from d2s.jit import StaticFunction
from d2s.jit.concrete import ConcreteProgram
from d2s.profiler import Profiler
from d2s.static.program import Program, Value
from d2s.testing.arguments import Arguments
from d2s.testing.observing import differentiate
from d2s.transpiler.convert import JIT_PASSES, prepare
from d2s.words import counted


def explanation(static: StaticFunction, inputs: Sequence[Arguments], calls: int, top: int) -> str:
    """
    The whole account, as text; the function is called, with backward.

    Parameters
    ----------
    static : StaticFunction
    inputs : sequence of Arguments
        Those of one call after another: what they have not in common may need traces of its own.
    calls : int
        How many calls with each of them are timed.
    top : int
        How many operators, and how many lines, the tables of time show.
    """
    seconds: list[float] = []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        left_out = _first_calls(static, inputs, seconds)
        with Profiler() as profiler:
            for given in inputs:
                for _ in range(calls):
                    differentiate(given.call(static))
                    profiler.step()
    took = ", ".join(f"{1e3 * each:.1f}" for each in seconds)
    parts = [
        ("conversion", _conversion(static)),
        ("traces", [*static.explain().splitlines(), f"tracing took {took} ms"]),
        *_of_programs(static),
        ("time", [
            *(f"backward is not timed by itself: {reason}" for reason in left_out),
            *profiler.summary(top, by="operator").splitlines(), "", *profiler.summary(top).splitlines()[2:]]),
    ]
    if printed.getvalue():
        parts.append(("printed", printed.getvalue().splitlines()[:10]))
    return "\n".join(f"{title}\n" + "".join(f"  {line}".rstrip() + "\n" for line in lines) for title, lines in parts)


def _first_calls(static: StaticFunction, inputs: Sequence[Arguments], seconds: list[float]) -> list[str]:
    """Each call once, not profiled: why there was no backward; `seconds` gets how long each trace took."""
    left_out: dict[str, None] = {}
    for given in inputs:
        before, begin = static.program_cache.traces, time.perf_counter()
        given.call(static.get_concrete_program)
        if static.program_cache.traces > before:
            seconds.append(time.perf_counter() - begin)
        left_out |= dict.fromkeys(differentiate(given.call(static)))
    return list(left_out)


def _of_programs(static: StaticFunction) -> Iterator[tuple[str, list[str]]]:
    """Operators and memory of each Program."""
    programs = static.program_cache.numbered()
    for number, program in programs:
        which = f" of trace {number}" if len(programs) > 1 else ""
        yield f"Program{which}", _operators(program.main_program)
        yield f"memory{which}", _memory(program)


def _conversion(static: StaticFunction) -> list[str]:
    """Which passes have changed the source."""
    function: Any = static._function
    changed: list[str] = []
    idle: list[str] = []
    before = prepare(function, ()).code
    for number, transform in enumerate(JIT_PASSES, 1):
        after = prepare(function, JIT_PASSES[:number]).code
        (changed if after != before else idle).append(transform.__module__.rpartition(".")[2])
        before = after
    return [
        f"passes that changed the source: {', '.join(changed) or 'none'}",
        f"nothing to do: {', '.join(idle) or 'none'}",
        f"hooks moved: {_moved(static)}"]


def _moved(static: StaticFunction) -> str:
    reports = static.hook_report()
    moved = sum(report.moved_to is not None for report in reports)
    return f"{moved} of {len(reports)}" if reports else "there are none"


def _operators(program: Program) -> list[str]:
    lines = []
    for title, found in (("forward", program), ("backward of all results", program.backward)):
        if found is not None:
            operators = list(found.all_operators())
            effects = sum(operator.effect for operator in operators)
            blocks = sum(len(operator.blocks) for operator in operators)
            lines.append(f"{title}: {counted(len(operators), 'operator')} as traced, {effects} of them with effects, "
                         f"{counted(blocks, 'inner block')}")
    return lines


def _memory(concrete: ConcreteProgram) -> list[str]:
    """Sizes of what a run reads, computes and keeps."""
    compiled = concrete.traced.compiled
    program = compiled.program
    inputs = [value for value in program.inputs if value.is_tensor]
    made = [value for operator in program.all_operators() for value in operator.outputs if value.is_tensor]
    kept = [value for values in compiled.saved.values() for value in values if value.is_tensor]
    return [
        f"inputs, parameters among them: {_size(inputs)}",
        f"computed by one run: {_size(made)}",
        f"kept for backward: {_size(kept)}",
    ]


def _size(values: list[Value]) -> str:
    """How many values, and how many bytes those take whose size is known before the run."""
    known = [value.spec for value in values if value.spec is not None and value.spec.is_static]
    total = sum(math.prod(size for size in spec.shape if isinstance(size, int)) * spec.dtype.itemsize for spec in known)
    more = f", {len(values) - len(known)} of a size that only the run knows" if len(known) != len(values) else ""
    return f"{counted(len(values), 'tensor')}, {total:,} bytes{more}"

