"""What a call of a compiled Program goes through before it runs, written out as one function.

The smallest steps take no longer than a few calls of Python functions.  So all that is known of a Program stands in one
function: its conditions, where its inputs are found, what its run begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from d2s.core.modes import error_states
from d2s.core.structure import STRUCTURE
from d2s.jit.plain_run import Run
from d2s.jit.run_program import CallNode
from d2s.jit.step_run import StepRun
from d2s.operators.guards import are_different
from d2s.operators.sources import Source
from d2s.static.executor import Compiled, StepFunction
from d2s.static.failures import in_the_users_terms
from d2s.static.numeric_errors import callers

if TYPE_CHECKING:
    from d2s.jit.concrete import ConcreteProgram

Entry = Callable[..., Any]


class Missed:
    """In place of a result: the Program is not for these arguments."""


MISSED = Missed()

# What every entry reads by name.
_NAMES = {
    "MISSED": MISSED, "StepRun": StepRun, "CallNode": CallNode, "Run": Run, "structure": STRUCTURE, "callers": callers,
    "get_errors": error_states.get, "set_errors": error_states.set, "silent": error_states.silent,
    "in_the_users_terms": in_the_users_terms,
}


def entry_of(program: ConcreteProgram, compiled: Compiled) -> Entry:
    """The function ``enter(args, is_known=False)``: the result of a run for arguments by parameter name, or MISSED.

    With `is_known` the conditions are known to hold.  `compiled` is the Program, or that which looks for NaN.
    """
    guards, traced, step = program.guards, program.traced, compiled.step

    def values(sources: tuple[Source, ...]) -> list[str]:
        return [source.expression(guards.names) for source in sources]

    tensors, objects, read = values(traced.tensors), _listed(values(traced.objects)), guards.live_reads()
    lines = [
        "def enter(args, is_known=False):",
        "    if not is_known:",
        "        try:",
        *(f"            {line}" for line in guards.names.beginning()),
        "            if not (",
        *(f"                {condition} and" for condition in guards.live_conditions(program.grad_mode)),
        "                True): return MISSED",
        "        except unreadable: return MISSED",
        "        if structure.version != program.structure_version and not program.matches(args): return MISSED",
        # What has just been looked at need not be looked up again.
        f"        tensors = ({_listed(read.get(tensor, tensor) for tensor in tensors)})",
        "    else:",
        *(f"        {line}" for line in guards.names.beginning()),
        f"        tensors = ({_listed(tensors)})",
    ]
    if not compiled.checks:
        lines.append("    if state.current.checks_nan: return program.enter_checked(args, True)")
    lines.append("    run = None")
    if step is not None:
        lines += _start_of_step(compiled, step)
    node = "CallNode(compiled, tensors)" if compiled.is_differentiable else "Run(tensors)"
    lines += [
        f"    if run is None: function, run = compiled.forward, {node}",
        # As in ``with SILENT:``, at half the cost.
        "    users, errors = callers.stack, get_errors()",
        "    users.append(errors)",
        "    set_errors(silent(errors))",
        "    try:",
        f"        return function(run, {objects})",
        "    except Exception as error:",
        "        explained = in_the_users_terms(error, function)",
        "        if explained is error: raise",
        "        raise explained.with_traceback(error.__traceback__) from error",
        "    finally:",
        "        set_errors(users.pop())",
    ]
    namespace = guards.namespace() | _NAMES | {
        "program": program, "compiled": compiled, "step": None if step is None else step.run}
    exec(compile("\n".join(lines), "<d2s entry>", "exec"), namespace)
    enter: Entry = namespace["enter"]
    return enter


def _listed(parts: Iterable[str]) -> str:
    return "".join(f"{part}, " for part in parts)


def _start_of_step(compiled: Compiled, step: StepFunction) -> Iterator[str]:
    """The lines that begin a run of `step`, unless the gradients of these tensors have to go by the walk."""
    leaves = [f"leaf_{number}" for number in range(len(compiled.edge_positions))]
    for leaf, position in zip(leaves, compiled.edge_positions, strict=True):
        yield f"    {leaf} = tensors[{position}]"
    yield f"    if {' and '.join(f'{leaf}._node is None' for leaf in leaves)}:"
    for leaf in leaves:
        yield f"        {leaf} = {leaf}._leaf or {leaf}.graph_edge()[0]"
    conditions = []
    if len(leaves) > 1:
        # Two names of one tensor: only the walk knows which contribution is the last one.
        conditions.append(are_different(leaves))
    if step.sees_no_hooks:
        conditions += [f"{leaf}.hooks is {leaf}.reduce_hooks is None" for leaf in leaves]
    yield f"        if {' and '.join(conditions) or True}:"
    edges = _listed(f"({leaf}, 0)" for leaf in leaves)
    yield f"            function, run = step, StepRun(compiled, tensors, [{edges}])"
    if step.checks_versions:
        yield "            run.versions = [tensor.version for tensor in tensors]"
