"""Which edges each output of a Program can be differentiated with respect to."""

from __future__ import annotations

from collections.abc import Sequence

from d2s.static.program import Operator, Program, Value


def dependencies_of_outputs(program: Program, edges: Sequence[Value]) -> tuple[frozenset[int], ...]:
    """Numbers of the edges to which a gradient of each output leads, in a Program without control flow."""
    found = {value: frozenset({number}) for number, value in enumerate(edges)}
    found.update({value: found[first] for value, first in program.same_edge.items() if first in found})
    none: frozenset[int] = frozenset()
    for operator in program.operators:
        depends = none.union(*(found.get(value, none) for value in differentiated(operator)))
        found.update((out, depends) for out in operator.outputs if not out.stop_gradient and out not in found)
    return tuple(found.get(value, none) for value in program.outputs)


def differentiated(operator: Operator) -> list[Value]:
    """Values to which backward may send a gradient when it visits `operator`."""
    if operator.op is not None:
        return [value for index, value in enumerate(operator.inputs) if operator.op.differentiates(index)]
    if operator.kind == "replace":
        return [operator.inputs[0]]
    return list(operator.inputs) if operator.kind in ("check_bound", "py_func", "py_layer") else []
