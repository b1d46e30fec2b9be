"""Which edges and which other outputs each output of a Program can be differentiated with respect to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from d2s.static.program import Block, Operator, Program, Value


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Numbers of the edges, and of the outputs (its own among them), to which a gradient of an output may lead."""

    edges: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()


def dependencies_of_outputs(program: Program, edges: Sequence[Value]) -> tuple[Dependencies, ...]:
    """What each output of `program` depends on through operators that have gradients."""
    numbers = {value: frozenset({("edge", number)}) for number, value in enumerate(edges)}
    numbers.update({value: numbers[first] for value, first in program.same_edge.items() if first in numbers})
    outputs = {value: ("output", number) for number, value in enumerate(program.outputs)}
    found: dict[Value, frozenset[tuple[str, int]]] = dict(numbers)

    def join(values: Iterable[Value]) -> frozenset[tuple[str, int]]:
        return frozenset().union(*(found.get(value, frozenset()) for value in values))

    def note(value: Value, depends: frozenset[tuple[str, int]]) -> bool:
        """Add to what is known of `value`; True if that is new."""
        if value in outputs:
            depends |= {outputs[value]}
        if value.stop_gradient or depends <= found.get(value, frozenset()):
            return False
        found[value] = found.get(value, frozenset()) | depends
        return True

    def loop(operator: Operator) -> None:
        body = operator.blocks[1]
        changed = True
        while changed:
            changed = False
            for carried, initial, following in zip(body.inputs, operator.inputs, body.outputs, strict=True):
                changed |= note(carried, join((initial, following)))
            visit(body)
        for final, initial, following in zip(operator.outputs, operator.inputs, body.outputs, strict=False):
            note(final, join((initial, following)))

    def visit(block: Block) -> None:
        for operator in block.operators:
            if operator.kind == "while":
                loop(operator)
            elif operator.kind == "cond":
                for inner in operator.blocks:
                    visit(inner)
                for position, final in enumerate(operator.outputs):
                    ends = [inner.outputs[position] for inner in operator.blocks if position < len(inner.outputs)]
                    note(final, join(ends))
            else:
                depends = join(differentiated(operator))
                for out in operator.outputs:
                    note(out, depends)

    visit(program.block)
    result = []
    for value in program.outputs:
        depends = found.get(value, frozenset())
        result.append(Dependencies(
            frozenset(number for kind, number in depends if kind == "edge"),
            frozenset(number for kind, number in depends if kind == "output")))
    return tuple(result)


def differentiated(operator: Operator) -> Iterator[Value]:
    """Values to which backward may send a gradient when it visits `operator` itself."""
    if operator.op is not None:
        if not all(out.stop_gradient for out in operator.outputs):
            for index, value in enumerate(operator.inputs):
                if operator.op.differentiates(index):
                    yield value
    elif operator.kind == "while":
        yield from operator.inputs
        yield from operator.blocks[1].outputs
    elif operator.kind == "cond":
        for block in operator.blocks:
            yield from block.outputs
    elif operator.kind == "replace":
        yield operator.inputs[0]
    elif operator.kind in ("check_bound", "py_func", "py_layer"):
        yield from operator.inputs
