"""What gradient rules read of a run, and whether it has been written over before they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from d2s.static.builder import StaticInterpreter
from d2s.static.program import Operator, Program, Value
from d2s.static.storage import Writes


class RuleReads:
    """
    What the rules of a Program read in one derivation of its backward.

    Parameters
    ----------
    program : Program
    needs : callable
        ``needs(value)``: True if its gradient is computed.
    has_history : callable
        ``has_history(value)``: True if it is computed where all gradients are.  Eager mode refuses to go on from what
        was written to also where only gradients are wanted that do not read it.
    outputs, tensors : dict of Value to int
        Values of which the caller gets a Tensor, and inputs that are one of his, by number: he may write to these.

    Attributes
    ----------
    values : set of Value
        What has been read so far.
    writes : Writes
    """

    def __init__(
        self, program: Program, needs: Callable[[Value], bool], has_history: Callable[[Value], bool],
        outputs: Mapping[Value, int], tensors: Mapping[Value, int],
    ) -> None:
        self._program = program
        self._needs = needs
        self._has_history = has_history
        self.values: set[Value] = set()
        self.tensors = tensors
        self.versions = program.versions
        self.writes = Writes(program, self._all())
        # Outputs by the root of their memory.
        self._outputs_sharing: dict[Value, list[int]] = {}
        for value, number in outputs.items():
            self._outputs_sharing.setdefault(self.writes.root(value), []).append(number)
        # What may be written to from outside of the run, by what stands for its memory.
        self._exposed: dict[Value, list[Value]] = {}
        for value in (*tensors, *self._outputs_sharing, *self.versions):
            self._exposed.setdefault(self.writes.memory(value), []).append(value)

    def flags(self, operator: Operator) -> tuple[tuple[bool, ...], bool]:
        """Of which inputs, and whether of its outputs, the rules of this op read the values."""
        return _flags(operator, self._needs)

    def _all(self) -> Iterator[tuple[Operator, Value, bool]]:
        """Every operator with the values that its rule reads, and whether as first operand alone."""
        for operator in self._program.all_operators():
            if operator.op is not None and not all(out.stop_gradient for out in operator.outputs):
                for value in self.read_by(operator):
                    yield operator, value, self._is_first_alone(operator, value)

    def _is_first_alone(self, operator: Operator, value: Value) -> bool:
        if value not in operator.inputs[1:]:
            return True
        read, _ = _flags(operator, self._has_history)
        return not any(other is value and read[index] for index, other in enumerate(operator.inputs) if index)

    def read_by(self, operator: Operator) -> list[Value]:
        """The values that the rule of an operator reads where all gradients are computed."""
        read, reads_out = _flags(operator, self._has_history)
        values = [value for value, is_read in zip(operator.inputs, read, strict=True) if is_read]
        return [*values, *(operator.outputs if reads_out else ())]

    def sharing_with_read(self, numbers: Mapping[Value, int]) -> tuple[int, ...]:
        """The numbers of the values that may share memory with what a rule reads."""
        read = set(map(self.writes.memory, self.values))
        return tuple(number for value, number in numbers.items() if self.writes.memory(value) in read)

    def records_of_writes(self) -> set[Value]:
        """Records that say which writes to what the rules read have happened, or what has been read."""
        if self.writes.are_certain and not any(map(self._others, self.values)):
            return set()
        regions = (operator for operator in self._program.all_operators() if operator.blocks)
        return {operator.record for operator in regions if operator.record is not None}

    def versions_read(self) -> list[Value]:
        """What says in which version tensors of the caller are of which the rules read something."""
        read = set(map(self.writes.memory, self.values))
        return [version for value, version in self.versions.items() if self.writes.memory(value) in read]

    def _others(self, value: Value) -> list[Value]:
        """What else may be written to from outside that control flow may have chosen to be `value`."""
        root = self.writes.root(value)
        return [other for other in self._exposed.get(self.writes.memory(value), ()) if other is not root]

    def check_unwritten(self, record: StaticInterpreter, operator: Operator) -> None:
        """Let the run raise, before any hook, if a rule reads a value that has been written over since."""
        if operator.op is None:
            return
        for value in dict.fromkeys(self.read_by(operator)):
            if self._is_first_alone(operator, value) and self.writes.keep(operator, value):
                continue
            if self.writes.over(operator, value):
                assert value.spec is not None
                shape = tuple(map(str, value.spec.shape))
                record.emit("modified_in_place", (), (), {"op": operator.kind, "shape": shape}, effect=True)
                return
            root = self.writes.root(value)
            if root in self.tensors:
                attrs = {"number": self.tensors[root], "op": operator.kind}
                record.emit("check_input", (), (), attrs, effect=True)
            if root in self.versions:
                record.emit("check_version", (self.versions[root],), (), {"op": operator.kind}, effect=True)
            for number in self._outputs_sharing.get(root, ()):
                record.emit("check_output", (), (), {"number": number, "op": operator.kind}, effect=True)
            self._check_chosen(record, operator, value)

    def _check_chosen(self, record: StaticInterpreter, operator: Operator, value: Value) -> None:
        """Let the run raise if a hook may have written over a value that control flow has chosen."""
        others = self._others(value)
        numbers = tuple(self.tensors[other] for other in others if other in self.tensors)
        outputs = tuple(number for other in others for number in self._outputs_sharing.get(other, ()))
        if others:
            attrs = {"numbers": numbers, "outputs": outputs, "op": operator.kind}
            record.emit("check_chosen", (), (), attrs, effect=True)


def _flags(operator: Operator, needs: Callable[[Value], bool]) -> tuple[tuple[bool, ...], bool]:
    op = operator.op
    assert op is not None
    return op.reads_for(tuple(needs(v) and op.differentiates(i) for i, v in enumerate(operator.inputs)))
