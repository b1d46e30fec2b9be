"""A Program without gradient hooks and without what only they needed: what `save` stores."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import Any

from d2s.eager.views import share, share_unknown
from d2s.operators import closures
from d2s.static.program import Block, Operator, Program, Value, Write, values_in

# Calls that only make objects: not needed if nobody reads the object.
MAKERS: tuple[Callable[..., Any], ...] = (
    list, dict, set, bytearray, MethodType, closures._new_cell, closures._make_function, closures._make_partial,
    closures._copy_of, object.__new__, share, share_unknown,
)
# Kinds whose only effect is on what they give.
LOCAL_EFFECTS = frozenset(("hook_point", "register_hook", "leaf", "check_bound"))


def without_hooks(program: Program) -> None:
    """Take the registrations of hooks out of `program`, in place, and everything that is of no use then."""
    marks = _Marks(program)
    marks.sweep(program.block)
    # The rule of an operator that is not needed reads nothing.
    program.writes = {
        operator: write if write.through in marks.needed else Write(write.value)
        for operator, write in program.writes.items() if operator in marks.needed}
    program.versions = {value: version for value, version in program.versions.items() if value in marks.live}


class _Marks:
    """Which operators and values are of use: found by marking until nothing new shows, as loops carry values round."""

    def __init__(self, program: Program) -> None:
        self.needed: set[Operator] = set()
        self.live: set[Value] = set()
        operators = list(program.all_operators())[::-1]
        before = -1
        while before != len(self.needed) + len(self.live):
            before = len(self.needed) + len(self.live)
            for operator in operators:
                self.mark(operator)

    def mark(self, operator: Operator) -> None:
        if operator.kind == "cond":
            self.cond(operator)
        elif operator.kind == "while":
            self.loop(operator)
        elif operator in self.needed or self.is_needed(operator):
            self.needed.add(operator)
            self.live.update(operator.reads())

    def cond(self, operator: Operator) -> None:
        for position, out in enumerate(operator.outputs):
            if out in self.live:
                # A block that returns or raises gives nothing.
                self.live.update(block.outputs[position] for block in operator.blocks if block.outputs)
        inside = any(inner in self.needed for block in operator.blocks for inner in block.operators)
        if inside or not self.live.isdisjoint(operator.outputs):
            self.needed.add(operator)
            self.live.update(operator.inputs)

    def loop(self, operator: Operator) -> None:
        test, body = operator.blocks
        # A loop that gives nothing may still be endless, or raise: it stays.
        self.needed.add(operator)
        self.live.update(test.outputs)
        for carried in zip(operator.inputs, operator.outputs, test.inputs, body.inputs, body.outputs, strict=True):
            if not self.live.isdisjoint(carried[1:4]):
                self.live.update(carried)

    def is_needed(self, operator: Operator) -> bool:
        if not self.live.isdisjoint(operator.outputs):
            return True
        if operator.kind == "version":
            return operator.inputs[1] in self.live
        if not operator.effect or operator.kind in LOCAL_EFFECTS:
            return False
        if operator.kind == "python":
            function, args, _ = operator.attrs["call"]
            if function is closures._fill:
                # What an object is filled with matters if the object does.
                return not self.live.isdisjoint(values_in(args[0]))
            maker = function.func if isinstance(function, functools.partial) else function
            return not any(maker is known for known in MAKERS)
        return True

    def sweep(self, block: Block) -> None:
        """Drop what is not marked."""
        block.operators[:] = [operator for operator in block.operators if operator in self.needed]
        for operator in block.operators:
            if operator.kind in ("cond", "while"):
                positions = [i for i, value in enumerate(operator.outputs) if value in self.live]
                operator.outputs = _chosen(operator.outputs, positions)
                if operator.kind == "while":
                    operator.inputs = _chosen(operator.inputs, positions)
                for inner in operator.blocks:
                    inner.inputs = _chosen(inner.inputs, positions) if inner.inputs else ()
                    if inner.outputs and not (operator.kind == "while" and inner is operator.blocks[0]):
                        inner.outputs = _chosen(inner.outputs, positions)
            for inner in operator.blocks:
                self.sweep(inner)


def _chosen(values: Sequence[Value], positions: Iterable[int]) -> tuple[Value, ...]:
    return tuple(values[position] for position in positions)
