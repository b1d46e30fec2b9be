"""`verify`: what a legal Program is.

Every value is defined once and before its use, in a block around the use.  Operators are of the op table or of
`d2s.static.kinds.KINDS`; they take tensors where they need tensors, and the specs of their outputs are what `infer`
says.  Regions give as many values as their blocks, of the same sort.  What has effects says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from d2s.core.op import OP_TABLE
from d2s.core.spec import Dim, TensorSpec, is_floating
from d2s.errors import Location, ProgramError
from d2s.static.kinds import KINDS, Kind
from d2s.static.program import Block, Operator, Program, Value, map_values, values_in, walk_operators
from d2s.static.variable import dim_of
from d2s.words import counted


def verify(program: Program, after: str | None = None) -> None:
    """
    Check a Program, and its backward if it has one.

    Parameters
    ----------
    program : Program
    after : str, optional
        Name of the pass that made it.

    Raises
    ------
    ProgramError
        If it is not legal.  The message names the operator, the user's line and the pass.
    """
    forward = _Verifier(program, after)
    forward.run(set(program.inputs))
    missing = [value for value in program.outputs if value not in forward.defined and not value.is_constant]
    if missing:
        raise forward.fault(f"its output {missing[0].name} is not defined")
    if program.backward is not None:
        verify_backward(program.backward, program, after)


def verify_backward(backward: Program, program: Program, after: str | None = None) -> None:
    """Check one backward of `program`: it may read the values that a run keeps; errors as `verify`."""
    verifier = _Verifier(backward, after)
    verifier.run({*backward.inputs, *_kept(program.block)})


def verify_pass(after: Program, before: Program, name: str, forward: Program | None = None) -> None:
    """
    Check what a pass has made of a Program (or of a backward of `forward`): legal, and with the same effects in the
    same order in each block.

    Raises
    ------
    ProgramError
        If it is not.  The message names the pass, and the first operator that is missing or out of place.
    """
    if forward is None:
        verify(after, name)
    else:
        verify_backward(after, forward, name)
    _same_effects(after, after.block, before.block, name)
    if _contributions(after) != _contributions(before):
        raise ProgramError(f"{after.name}: other contributions to a gradient (after the pass {name})", kind="P01")


# Between the operators of a whole step nobody sees how a gradient is summed.
_OF_SUMS = frozenset({"add_to_sum", "start_rows", "add_rows", "product_of_rows"})


def _contributions(program: Program) -> list[str]:
    """What is added to the gradients of leaves, and lists of rows that are not used once each."""
    found = [f"to {o.attrs['edge']}" for o in program.all_operators() if o.kind == "add_to_sum"]
    rows = {o.attrs["rows"]: list[str]() for o in program.all_operators() if o.kind == "start_rows"}
    for operator in program.all_operators():
        if operator.kind in ("add_rows", "product_of_rows"):
            rows.setdefault(operator.attrs["rows"], []).append(operator.kind)
    return sorted(found) + [f"rows {n}" for n, kinds in rows.items() if kinds != ["add_rows", "product_of_rows"]]


def _same_effects(program: Program, after: Block, before: Block, name: str) -> None:
    def effects(block: Block) -> list[Operator]:
        return [operator for operator in block.operators if operator.effect and operator.kind not in _OF_SUMS]

    expected, found = effects(before), effects(after)
    for position, old in enumerate(expected):
        new = found[position] if position < len(found) else None
        if new is None or not _is_same_effect(old, new):
            shown = "the end" if new is None else new.kind
            raise ProgramError(
                f"{program.name}: {old.kind} is expected where {shown} is (after the pass {name})", old.location,
                kind="P01")
        for inner, other in zip(new.blocks, old.blocks, strict=True):
            _same_effects(program, inner, other, name)
    if len(found) > len(expected):
        more = found[len(expected)]
        raise ProgramError(
            f"{program.name}: {more.kind} is one effect more (after the pass {name})", more.location, kind="P01")


def _is_same_effect(old: Operator, new: Operator) -> bool:
    """True if only the values that an operator reads may be others."""
    return (
        old.kind == new.kind and old.outputs == new.outputs and old.record is new.record
        and old.op is new.op and old.attrs.keys() == new.attrs.keys() and len(old.blocks) == len(new.blocks)
        and all(new.attrs[key] is value or next(values_in(value), None) is not None
                for key, value in old.attrs.items())
    )


def _kept(block: Block) -> Iterator[Value]:
    """What a run of `block` can keep for backward."""
    yield from block.inputs
    for operator in block.operators:
        yield from operator.outputs
        if operator.record is not None:
            yield operator.record


class _Verifier:
    """One walk over a Program."""

    def __init__(self, program: Program, after: str | None) -> None:
        self.program = program
        self.after = after
        self.defined: set[Value] = set()
        self.names: set[str] = set()

    def fault(self, what: str, operator: Operator | None = None) -> ProgramError:
        where = self.program.name
        location: Location | None = None
        if operator is not None:
            results = ", ".join(value.name for value in operator.outputs)
            where += f": {results} = {operator.kind}" if results else f": {operator.kind}"
            location = operator.location
        passed = f" (after the pass {self.after})" if self.after else ""
        return ProgramError(f"{where}: {what}{passed}", location, kind="P01")

    def run(self, scope: set[Value]) -> None:
        for value in self.program.block.inputs:
            self.define(value, None)
        self.block(self.program.block, scope)

    def define(self, value: Value, operator: Operator | None) -> None:
        if value in self.defined or value.is_constant:
            raise self.fault(f"{value.name} is defined a second time", operator)
        if value.name in self.names:
            raise self.fault(f"another value is called {value.name} too", operator)
        self.defined.add(value)
        self.names.add(value.name)

    # --- blocks ------------------------------------------------------------------------------------------------

    def block(self, block: Block, around: set[Value]) -> None:
        """Check the operators of a block, in a scope of its own."""
        scope = set(around)
        for position, operator in enumerate(block.operators):
            self.reads(operator, scope)
            for output in operator.outputs:
                self.define(output, operator)
            self.operator(operator)
            self.regions(operator, scope)
            scope.update(operator.outputs)
            if operator.record is not None:
                self.define(operator.record, operator)
                scope.add(operator.record)
            if _ends(operator) and position != len(block.operators) - 1:
                raise self.fault(f"{block.operators[position + 1].kind} can never run behind it", operator)
        if not (block.operators and _ends(block.operators[-1])):
            for value in block.outputs:
                if value not in scope and not value.is_constant and block is not self.program.block:
                    raise self.fault(f"a block gives {value.name}, which is not defined in it or around it")

    def reads(self, operator: Operator, scope: set[Value]) -> None:
        for value in operator.reads():
            if value not in scope and not value.is_constant:
                raise self.fault(f"{value.name} is used before it is defined", operator)

    def regions(self, operator: Operator, scope: set[Value]) -> None:
        forward: Operator | None = operator.attrs.get("of")
        kept = [set[Value]() for _ in operator.blocks]
        if forward is not None:
            # The backward of a branch or a turn reads what that branch or turn has kept.
            blocks = forward.blocks if operator.kind == "cond" else forward.blocks[1:]
            kept = [set(_kept(block)) for block in blocks]
        for block, more in zip(operator.blocks, kept, strict=True):
            for value in block.inputs:
                self.define(value, operator)
            self.block(block, {*scope, *more, *block.inputs})
        if operator.kind == "cond":
            for block in operator.blocks:
                if not (block.operators and _ends(block.operators[-1])):
                    self.aligned(operator, block.outputs, operator.outputs, "a block gives", "the region")
        elif operator.kind == "while":
            test, body = operator.blocks
            self.carried(operator, body)
            self.aligned(operator, operator.inputs, test.inputs, "the loop starts from", "its test")
            if len(test.outputs) != 1:
                raise self.fault(f"its test gives {counted(len(test.outputs), 'value')}, expected 1", operator)
        elif operator.kind == "reversed_turns":
            self.carried(operator, operator.blocks[0])

    def carried(self, operator: Operator, body: Block) -> None:
        self.aligned(operator, operator.inputs, body.inputs, "the loop starts from", "a turn")
        self.aligned(operator, body.outputs, body.inputs, "a turn gives", "the next")
        self.aligned(operator, body.outputs, operator.outputs, "a turn gives", "the region")

    def aligned(
        self, operator: Operator, given: Sequence[Value], taken: Sequence[Value], giver: str, taker: str
    ) -> None:
        """Check that values can stand for each other, one by one; None stands for a gradient that is absent."""
        if len(given) != len(taken):
            raise self.fault(f"{giver} {counted(len(given), 'value')}, {taker} takes {len(taken)}", operator)
        for one, other in zip(given, taken, strict=True):
            if one.is_constant and one.constant is None:
                continue
            if one.is_tensor != other.is_tensor or not _agree(one.spec, other.spec):
                raise self.fault(
                    f"{giver} {one.name} ({_shown(one)}), {taker} takes {other.name} ({_shown(other)})", operator)

    # --- one operator ------------------------------------------------------------------------------------------

    def operator(self, operator: Operator) -> None:
        if operator.op is not None:
            self.op(operator)
            return
        kind = KINDS.get(operator.kind)
        if kind is None:
            known = ", but its operator carries no Op" if operator.kind in OP_TABLE else ""
            raise self.fault(f"{operator.kind} is no built-in operator{known}", operator)
        self.built_in(operator, kind)

    def op(self, operator: Operator) -> None:
        op = operator.op
        assert op is not None
        if OP_TABLE.get(operator.kind) is not op:
            raise self.fault(f"its op is {op.name}, which is not the op {operator.kind} of the op table", operator)
        if op.random and not operator.effect:
            raise self.fault("it draws random numbers, but carries no effect flag", operator)
        for value in (*operator.inputs, *operator.outputs):
            if not value.is_tensor:
                raise self.fault(f"{value.name} is no tensor", operator)
        attrs = {name: map_values(value, dim_of) for name, value in operator.attrs.items()}
        try:
            specs = op.infer(*[value.spec for value in operator.inputs], **attrs)
        except Exception as error:
            raise self.fault(f"its inputs do not fit: {error}", operator) from error
        expected = specs if isinstance(specs, tuple) else (specs,)
        if isinstance(specs, tuple) is not operator.several or len(expected) != len(operator.outputs):
            raise self.fault(f"it has {counted(len(operator.outputs), 'output')}, expected {len(expected)}", operator)
        for value, spec in zip(operator.outputs, expected, strict=True):
            if not _agree(value.spec, spec):
                raise self.fault(f"{value.name} is {value.spec}, but infer says {spec}", operator)
            self.flows(operator, value)

    def flows(self, operator: Operator, value: Value) -> None:
        """Check that an output which passes gradients on has somewhere to pass them."""
        if value.stop_gradient:
            return
        op, spec = operator.op, value.spec
        assert op is not None
        assert spec is not None
        if op.has_gradient_already:
            return
        if not is_floating(spec.dtype):
            raise self.fault(f"{value.name} is {spec}, which cannot carry a gradient", operator)
        if not any(op.differentiates(i) and not given.stop_gradient for i, given in enumerate(operator.inputs)):
            raise self.fault(f"{value.name} carries a gradient, but no input can take it", operator)

    def built_in(self, operator: Operator, kind: Kind) -> None:
        sides = ("takes", kind.inputs, operator.inputs), ("gives", kind.outputs, operator.outputs)
        for what, pattern, values in sides:
            if not re.fullmatch(pattern, "".join("t" if value.is_tensor else "o" for value in values)):
                sorts = ", ".join(f"{value.name} ({_shown(value)})" for value in values) or "nothing"
                raise self.fault(f"it {what} {sorts}; expected {pattern or 'nothing'} (t tensor, o object)", operator)
        for name in kind.attrs:
            if name not in operator.attrs:
                raise self.fault(f"the attribute {name} is missing", operator)
        if len(operator.blocks) != kind.blocks:
            raise self.fault(f"it has {counted(len(operator.blocks), 'block')}, expected {kind.blocks}", operator)
        inside = any(inner.effect for block in operator.blocks for inner in walk_operators(block))
        if (kind.effect or inside) and not operator.effect:
            raise self.fault("it has effects, but carries no effect flag", operator)
        if kind.alike is not None:
            source, result = operator.inputs[kind.alike], operator.outputs[0]
            if source.is_tensor and not _agree(source.spec, result.spec):
                raise self.fault(f"{result.name} is {result.spec}, expected {source.spec}", operator)


def _ends(operator: Operator) -> bool:
    """True if nothing runs behind this operator."""
    if operator.kind in KINDS and KINDS[operator.kind].ends:
        return True
    return operator.kind == "cond" and all(
        block.operators and _ends(block.operators[-1]) for block in operator.blocks)


def _agree(first: TensorSpec | None, second: TensorSpec | None) -> bool:
    """True if two specs are the same as far as sizes are known."""
    if first is None or second is None:
        return first is second
    return first.dtype == second.dtype and first.ndim == second.ndim and all(
        a == b or isinstance(a, Dim) or isinstance(b, Dim) for a, b in zip(first.shape, second.shape, strict=True))


def _shown(value: Value) -> Any:
    if value.spec is not None:
        return value.spec
    return value.kind.__name__ if value.kind is not None else "object"
