"""Which values of a Program share memory, and which writes in place a gradient rule has to know of.

A tensor and its views have one *root*: the value that the views were taken of, directly or not.  A write in place
replaces the values of all of them.  Where control flow decides whether a write happens, or which of several tensors
a name is, only a run knows what has been written to: `Writes.are_certain` says that neither is the case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from d2s.ops.sharing import gives_view
from d2s.static.program import Block, Operator, Program, Value


def shares_storage(operator: Operator) -> bool:
    """True if the outputs of `operator` are views of its first input."""
    return gives_view(operator.kind, len(operator.inputs))


def shown_by(operator: Operator) -> Value | None:
    """The value of which the outputs of `operator` are views, if they are."""
    if operator.kind == "replace":
        return operator.inputs[1] if operator.attrs["is_view"] else None
    return operator.inputs[0] if shares_storage(operator) else None


class Writes:
    """The writes in place of a Program, as its gradient rules see them.

    Parameters
    ----------
    program : Program
    read : iterable of (Operator, Value, bool)
        Which values the rule of which operator reads, and whether as first operand alone: that is kept when the result
        is written over it.

    Attributes
    ----------
    are_certain : bool
        True if what has been written over what is read is the same in every run.
    """

    def __init__(self, program: Program, read: Iterable[tuple[Operator, Value, bool]]) -> None:
        self._program = program
        self._roots: dict[Value, Value] = {}
        # A value that control flow chooses, carries or hands on, with the others that it may be.
        self._same: dict[Value, Value] = {}
        self._chosen: set[Value] = set()
        self._order: dict[Operator, int] = {}
        nested = set(self._visit(program.block, False))
        self._writers: defaultdict[Value, list[Operator]] = defaultdict(list)
        for operator, write in program.writes.items():
            # A value that has got another name, because it stops gradients say, is the same memory.
            self._writers[self.root(write.value)].append(operator)
        written_inside = {self.memory(write.value) for op, write in program.writes.items() if op in nested}
        written = {self.memory(write.value) for write in program.writes.values()}
        chosen = {self._class(value) for value in self._chosen}
        self.are_certain = True
        for reader, value, is_kept in read if program.writes else ():
            found = self.memory(value)
            if found in written_inside or (found in chosen and found in written and any(
                self.memory(write.value) is found and not (is_kept and (write.through, write.kept) == (reader, value))
                for write in program.writes.values()
            )):
                self.are_certain = False
                break

    def _visit(self, block: Block, inside: bool) -> Iterable[Operator]:
        for operator in block.operators:
            self._order[operator] = len(self._order)
            if inside:
                yield operator
            shown = shown_by(operator)
            if shown is not None:
                for out in operator.outputs:
                    self._roots[out] = self.root(shown)
            elif operator.kind in ("check_bound", "constant", "stop_gradient") and operator.inputs[0].is_tensor:
                self._roots[operator.outputs[0]] = self.root(operator.inputs[0])
            for inner in operator.blocks:
                yield from self._visit(inner, True)
            if operator.kind == "cond":
                for branch in operator.blocks:
                    self._join(operator.outputs, branch.outputs)
            elif operator.kind == "while":
                body = operator.blocks[1]
                self._join(operator.blocks[0].inputs, body.inputs)
                self._join(body.inputs, operator.inputs)
                self._join(body.inputs, body.outputs)
                self._join(body.inputs, operator.outputs)

    def _join(self, names: Iterable[Value], values: Iterable[Value]) -> None:
        for name, value in zip(names, values, strict=False):
            if name.is_tensor and value.is_tensor and not value.is_constant:
                first, second = self._class(name), self._class(self.root(value))
                self._chosen.update((name, self.root(value)))
                if first is not second:
                    self._same[first] = second

    def _class(self, value: Value) -> Value:
        while (found := self._same.get(value)) is not None:
            value = found
        return value

    def root(self, value: Value) -> Value:
        """The value that `value` is a view of; a value is its own view."""
        return self._roots.get(value, value)

    def memory(self, value: Value) -> Value:
        """What stands for the memory of `value`: the same for all values that may share it in some run."""
        return self._class(self.root(value))

    def keep(self, reader: Operator, value: Value) -> bool:
        """True if the result of `reader` is written over `value`, which its rule goes on reading as it was."""
        return any(write.through is reader and write.kept is value for write in self._program.writes.values())

    def over(self, reader: Operator, value: Value) -> bool:
        """True if `value`, which the rule of `reader` reads, is written over after it, as far as that is certain."""
        # The op whose result is written is the writer itself.
        return any(self._order[writer] >= self._order[reader] for writer in self._writers.get(self.root(value), ()))
