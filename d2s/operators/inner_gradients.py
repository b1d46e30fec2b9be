"""`grad` in traced code, recorded as the operators that compute the gradients.

That is right where everything on the way is known while tracing: ops only, no hooks, no writes in place, and tensors
from outside that nothing has computed.  Elsewhere, `d2s.operators.inner_walks` leaves it to a walk in the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from d2s.core.interpreter import GradModeBlock, TensorBase
from d2s.operators.restarts import UsedUpGraphs
from d2s.operators.tracer import Tracer
from d2s.ops.creation import ones_like
from d2s.static.inner_gradients import InnerGradients
from d2s.static.program import Block, Operator, Program, Value, walk_operators
from d2s.static.storage import shown_by
from d2s.static.variable import Variable


def recorded_gradients(
    tracer: Tracer, outputs: Sequence[Any], inputs: Sequence[Any], options: dict[str, Any], may_miss: bool
) -> list[Variable | None] | None:
    """
    What `grad` gives for `inputs`; None if only a walk in the run can tell.

    With `may_miss`, None stands for the gradient of an input that is not used.
    """
    with_history = bool(options.get("create_graph"))
    keeps_graph = with_history or bool(options.get("retain_graph"))
    if options.get("no_grad_vars") or (UsedUpGraphs in tracer.learned and not keeps_graph):
        return None
    targets, wanted = [tracer.symbol(given) for given in outputs], [tracer.symbol(given) for given in inputs]
    seeds = _given(tracer, targets, options.get("grad_outputs"))
    if seeds is None:
        return None
    path = tracer.as_found("gradients", lambda: _path(tracer, targets, wanted))
    if path is None:
        return None
    if not keeps_graph:
        tracer.used_up.update(path)
    with GradModeBlock(False):
        started = [ones_like(target) if seed is None else seed for target, seed in zip(targets, seeds, strict=True)]
    values = [variable.value for variable in wanted]
    found = InnerGradients(tracer, path, values).derive(targets, started, with_history)
    gradients = [found.get(value) for value in values]
    if (None in gradients and not may_miss) or not _are_apart(tracer, gradients, path, started):
        # What was recorded is of no use, and goes with the dead code.
        return None
    return [None if value is None else Variable(tracer, value) for value in gradients]


def _may_act(operator: Operator) -> bool:
    """True for what may have written to a tensor that a gradient reads, or used up a graph."""
    return operator.op is None and operator.effect and operator.kind not in _HARMLESS


_HARMLESS = frozenset({"cond", "while", "check_bound", "hook_point", "leaf"})


def _given(tracer: Tracer, targets: Sequence[Variable], given: Any) -> list[Variable | None] | None:
    """The gradients to start with, None for ones; None for all if they do not fit, which the run says."""
    given = [None] * len(targets) if given is None else [given] if isinstance(given, TensorBase) else given
    if not isinstance(given, list | tuple) or len(given) != len(targets):
        return None
    if not all(seed is None or isinstance(seed, TensorBase) for seed in given):
        return None
    seeds = [None if seed is None else tracer.symbol(seed) for seed in given]
    fit = (seed is None or seed.spec == target.spec for seed, target in zip(seeds, targets, strict=True))
    return seeds if all(fit) else None


def _path(tracer: Tracer, targets: Sequence[Variable], wanted: Sequence[Variable]) -> list[Operator] | None:
    """The operators through which gradients go, in the order of the Program; None if some are not ops that are known.

    The Program is used only where what was found of tensors from outside is so again.
    """
    program, asked = tracer.program, {variable.value for variable in wanted}
    values = [variable.value for variable in (*targets, *wanted)]
    if tracer.is_nested or tracer.attempts or program.writes or program.same_edge or not (
        len(asked) == len(wanted) and targets and wanted
    ):
        return None
    if any(value.stop_gradient for value in values) or any(map(_may_act, program.all_operators())):
        return None
    outer: list[Value] = []
    path, seen = set[Operator](), set[Value]()
    while values:
        value = values.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in tracer.tensors:
            outer.append(value)
            continue
        defined = tracer.definitions.get(value)
        if defined is None or value.maybe_missing is not None or _may_be_hooked(tracer, value):
            return None
        maker, _ = defined
        if maker.op is not None:
            path.add(maker)
            values += (
                source for index, source in enumerate(maker.inputs)
                if not source.stop_gradient and maker.op.differentiates(index))
        elif maker.kind != "leaf":
            return None
    if not all(_has_no_history(tracer, value, value in asked) for value in outer):
        return None
    if not path.isdisjoint(tracer.used_up):
        raise UsedUpGraphs
    return [operator for operator in program.operators if operator in path]


def _may_be_hooked(tracer: Tracer, value: Value) -> bool:
    """True if a hook may be on a value, or if only the run knows whether it has a gradient."""
    return (
        value in tracer.hook_points or value in tracer.retaining or value in tracer.may_stop
        or (value in tracer.left and not tracer.is_made_leaf(value)))


def _has_no_history(tracer: Tracer, value: Value, is_asked: bool) -> bool:
    """True if nothing has computed a tensor from outside, and no hook waits for a gradient that is asked for."""
    tensor = tracer.tensors[value]
    if not tracer.is_outer_leaf(tensor):
        return False
    return not is_asked or not tracer.is_outer_hooked(tensor)


def _are_apart(
    tracer: Tracer, gradients: Sequence[Value | None], path: Sequence[Operator], seeds: Sequence[Variable]
) -> bool:
    """True if each gradient is computed anew, and shows no memory of another: a write to it changes nothing else."""
    older = {seed.value for seed in seeds}
    for operator in path:
        older.update((*operator.inputs, *operator.outputs))
    roots = []
    for value in gradients:
        root = value
        while root is not None and root in tracer.definitions and (
            shown := shown_by(tracer.definitions[root][0])
        ) is not None:
            root = shown
        roots += [] if root is None else [root]
    return len(set(roots)) == len(roots) and older.isdisjoint(roots)


def leads_back_to(used_up: set[Operator], program: Program) -> bool:
    """True if something of a Program that may be differentiated later depends on operators that are used up."""
    if any(operator.kind == "while" and _makes_tensors(operator.blocks[1]) for operator in program.all_operators()):
        return True
    makers = {out: operator for operator in program.all_operators() for out in operator.outputs}
    stack, seen = list(program.outputs), set[Value]()
    while stack:
        value = stack.pop()
        maker = makers.get(value)
        if value in seen or value.stop_gradient or maker is None:
            continue
        if maker in used_up:
            return True
        seen.add(value)
        stack += maker.inputs
        stack += (given for block in maker.blocks for given in block.outputs)
    return False


def _makes_tensors(block: Block) -> bool:
    return any(operator.kind in ("materialise", "rewrite") for operator in walk_operators(block))
