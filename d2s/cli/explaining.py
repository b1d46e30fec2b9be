"""What was done to a function: conversion, traces, Program, memory, time."""

from __future__ import annotations

import contextlib
import io
import math
import time
from typing import Any

from d2s.drawing.table import table
from d2s.jit import StaticFunction
from d2s.profiler import Profiler
from d2s.static.program import Program, Value
from d2s.testing.observing import differentiate
from d2s.transpiler.convert import JIT_PASSES, prepare


def explanation(static: StaticFunction, inputs: tuple[Any, ...], calls: int, top: int) -> str:
    """
    The whole account, as text; the function is called, with backward.

    Parameters
    ----------
    static : StaticFunction
    inputs : tuple
    calls : int
        How many calls are timed.
    top : int
        How many operators, and how many lines, the tables of time show.
    """
    begin = time.perf_counter()
    static.get_concrete_program(*inputs)
    traced_in = time.perf_counter() - begin
    profiler, printed = _profile(static, inputs, calls)
    program = static.main_program
    parts = [
        ("conversion", _conversion(static)),
        ("traces", [*static.explain().splitlines(), f"the first took {1e3 * traced_in:.1f} ms"]),
        ("Program", _operators(program)),
        ("memory", _memory(static)),
        ("time", [*profiler.summary(top, by="operator").splitlines(), "", *profiler.summary(top).splitlines()[2:]]),
    ]
    if printed:
        parts.append(("printed", printed.splitlines()[:10]))
    return "\n".join(f"{title}\n" + "".join(f"  {line}".rstrip() + "\n" for line in lines) for title, lines in parts)


def _profile(static: StaticFunction, inputs: tuple[Any, ...], calls: int) -> tuple[Profiler, str]:
    """Calls with backward, the first of them not timed; what they printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        differentiate(static(*inputs))
        with Profiler() as profiler:
            for _ in range(calls):
                differentiate(static(*inputs))
                profiler.step()
    return profiler, printed.getvalue()


def _conversion(static: StaticFunction) -> list[str]:
    """Which passes have changed the source."""
    function: Any = static._function
    rows, before = [], prepare(function, ()).code
    for number, transform in enumerate(JIT_PASSES, 1):
        after = prepare(function, JIT_PASSES[:number]).code
        name = transform.__module__.rpartition(".")[2]
        rows.append([str(number), name, "changed the source" if after != before else "nothing to do"])
        before = after
    return [*table(["", "pass", ""], rows).splitlines(), f"hooks moved: {_moved(static)}"]


def _moved(static: StaticFunction) -> str:
    reports = static.hook_report()
    moved = sum(report.moved_to is not None for report in reports)
    return f"{moved} of {len(reports)}" if reports else "there are none"


def _operators(program: Program) -> list[str]:
    lines = []
    for title, found in (("forward", program), ("backward", program.backward)):
        if found is not None:
            operators = list(found.all_operators())
            effects = sum(operator.effect for operator in operators)
            blocks = sum(len(operator.blocks) for operator in operators)
            lines.append(f"{title}: {len(operators)} operators, {effects} of them with effects, {blocks} inner blocks")
    return lines


def _memory(static: StaticFunction) -> list[str]:
    """Sizes of what a run reads, computes and keeps."""
    compiled = static.concrete_program.traced.compiled
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
    return f"{len(values)} tensors, {total:,} bytes{more}"

