"""What was made of a static function, in words."""

from __future__ import annotations

from collections.abc import Iterator

from d2s.jit.concrete import ConcreteProgram
from d2s.static.executor import Compiled

_PARTS = {"step": "one function", "backward": "backward that was asked for last"}


def explained(programs: list[tuple[int, ConcreteProgram]], last: ConcreteProgram | None) -> list[str]:
    """
    What the Programs of a function are and what was done to them before they were compiled.

    Parameters
    ----------
    programs : list of (int, ConcreteProgram)
        With the numbers of their traces, and in that order.
    last : ConcreteProgram or None
        The one used last.

    Returns
    -------
    list of str
        Lines: for each Program its inputs, whether it runs as one function with its backward or as two, and for each of
        these how many operators it has, what every pass did and what is computed in place.
    """
    lines = []
    for number, program in programs:
        lines.append(f"Program of trace {number}{', used last' if program is last and len(programs) > 1 else ''}")
        lines += [f"  {line}" for line in _of_program(program.traced.compiled)]
    return lines


def _of_program(compiled: Compiled) -> Iterator[str]:
    values = compiled.program.inputs
    inputs = ", ".join(f"{value.name}: {value.spec if value.is_tensor else 'object'}" for value in values)
    yield f"inputs {inputs}" if inputs else "no inputs"
    if compiled.step is not None:
        yield "forward and backward run as one function"
    elif any(operator.kind == "backward" for operator in compiled.program.all_operators()):
        yield "backward goes by the walk of eager mode: something could be seen between its operators"
    if not compiled.parts:
        yield "it has not been run"
    for name, part in compiled.parts.items():
        yield f"{_PARTS.get(name, name)}: {part.size}"
        changes = [report for report in part.passes if report.changed]
        yield from (f"  {report}" for report in changes)
        if not changes:
            yield "  passes: nothing to do"
        yield f"  in place: {part.in_place if part.in_place.over else 'nothing'}"
