"""What a run keeps for its backward.

If only the tape of the run can differentiate it, that is more: the compiled backward does not know all that may be
asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from d2s.static.program import Block, Operator, Program, Value


def saved_values(
    forward: Program, backward: Program, records: Iterable[Value] = ()
) -> dict[Block, tuple[Value, ...]]:
    """For each block of `forward`: the values in it that `backward` reads and its `records`, in order of definition."""
    read: set[Value] = set(records)
    for operator in backward.all_operators():
        read.update(operator.reads())
        for block in operator.blocks:
            read.update(block.outputs)
    saved: dict[Block, tuple[Value, ...]] = {}

    def visit(block: Block) -> None:
        found = [value for value in block.inputs if value in read]
        for operator in block.operators:
            for inner in operator.blocks:
                visit(inner)
            defined = operator.outputs if operator.record is None else (*operator.outputs, operator.record)
            found += [value for value in defined if value in read]
        saved[block] = tuple(found)

    visit(forward.block)
    return saved


def forget_versions(program: Program, saved: dict[Block, tuple[Value, ...]]) -> None:
    """Take out of `program` what notes versions that neither it nor a backward looks at, and their notes."""
    read = {value for values in saved.values() for value in values}
    for operator in program.all_operators():
        read.update(operator.reads())
    unread = {value for value, version in program.versions.items() if version not in read}
    if not unread:
        return
    for block in (program.block, *(block for operator in program.all_operators() for block in operator.blocks)):
        block.operators[:] = [
            operator for operator in block.operators if operator.kind != "version" or operator.inputs[1] not in unread]
    for value in unread:
        del program.versions[value]


def records_read(backward: Program) -> Iterator[Value]:
    """Records of control flow that a backward Program reads."""
    for operator in backward.all_operators():
        if "record" in operator.attrs:
            yield operator.attrs["record"]
        if operator.kind in ("branch_of", "has_turns"):
            yield operator.inputs[0]


def tensors_of_turns(program: Program) -> dict[Value, int]:
    """The Tensor objects, numbered, that turns of loops make of values that can be differentiated."""
    found = (operator.outputs[0] for operator in _in_turns(program.block) if _joins_the_tape(operator, program))
    return {value: number for number, value in enumerate(found)}


def _joins_the_tape(operator: Operator, program: Program) -> bool:
    return (
        operator.kind in ("materialise", "rewrite") and not operator.inputs[0].stop_gradient
        and operator.inputs[0] not in program.block.inputs)


def _in_turns(block: Block, is_turn: bool = False) -> Iterator[Operator]:
    for operator in block.operators:
        if is_turn:
            yield operator
        for inner in operator.blocks:
            yield from _in_turns(inner, is_turn or operator.kind == "while")


def records_of_choices(program: Program) -> Iterator[Value]:
    """Records of the regions that say which value another one is, if that one can be differentiated.

    The tape of a run finds its way by them, also where the compiled backward is the same on all ways.
    """
    for operator in program.all_operators():
        if operator.record is not None and any(out.is_tensor and not out.stop_gradient for out in operator.outputs):
            yield operator.record


def not_computed_anew(program: Program) -> Iterator[Value]:
    """What the tape of a run needs to compute a value anew, and cannot: numbers and sizes that ops are given."""
    for operator in program.all_operators():
        if operator.op is not None:
            yield from (value for value in operator.reads() if not value.is_tensor and not value.is_constant)
        elif operator.kind == "to_array":
            yield from operator.outputs


def records_of(program: Program) -> set[Value]:
    """All records of control flow."""
    return {operator.record for operator in program.all_operators() if operator.record is not None}


def needed_by_tape(program: Program) -> set[Value]:
    """All values that rules read, and the objects by which the tape of a run differs from that of another."""
    found: set[Value] = set()
    found.update(program.versions.values())
    for operator in program.all_operators():
        if operator.op is not None:
            if not all(out.stop_gradient for out in operator.outputs):
                found.update(_read_by(operator))
        elif operator.kind in ("leaf", "py_layer", "hook_point", "taken", "taken_all"):
            found.update(value for value in operator.outputs if not value.is_tensor)
        if operator.kind == "taken_all":
            found.add(operator.outputs[0])
    return {value for value in found if not value.is_constant}


def _read_by(operator: Operator) -> Iterator[Value]:
    assert operator.op is not None
    wanted = tuple(
        not value.stop_gradient and value.is_tensor and operator.op.differentiates(position)
        for position, value in enumerate(operator.inputs))
    read, reads_out = operator.op.reads_for(wanted)
    for value, is_read in zip(operator.inputs, read, strict=True):
        # Of what only the run knows the size of, rules may ask for it.
        if is_read or value.spec is None or not value.spec.is_static:
            yield value
    if reads_out:
        yield from operator.outputs
    yield from (value for value in operator.reads() if not value.is_tensor)
