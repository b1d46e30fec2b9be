"""Which gradients are worth computing."""

from __future__ import annotations

from collections.abc import Iterable

from d2s.static.program import Block, Operator, Program, Value


def useful_values(program: Program, wanted: Iterable[Value], wanted_only: bool) -> set[Value]:
    """Values through which a gradient reaches a wanted input of `program`, a leaf of the run, or a hook.

    With `wanted_only` hooks do not count, nor do values that leave the Program.
    """
    search = _Search(wanted, wanted_only)
    search.block(program.block)
    if not wanted_only:
        search.useful.update(value for value in program.outputs if not value.stop_gradient)
    return search.useful


class _Search:
    """The values found so far; each block is gone through from the beginning."""

    def __init__(self, wanted: Iterable[Value], wanted_only: bool) -> None:
        self.useful = set(wanted)
        self._hooks_count = not wanted_only

    def block(self, block: Block) -> None:
        for operator in block.operators:
            if operator.kind == "leaf":
                self.useful.add(operator.outputs[0])
            if operator.kind == "hook_point" and self._hooks_count:
                self.useful.add(operator.inputs[0])
            if operator.kind == "while":
                self._loop(operator)
            else:
                self._operator(operator)

    def _operator(self, operator: Operator) -> None:
        for inner in operator.blocks:
            self.block(inner)
        if operator.kind in ("cond", "reversed_turns"):
            for branch in operator.blocks:
                for out, final in zip(branch.outputs, operator.outputs, strict=False):
                    if out in self.useful:
                        self.useful.add(final)
        if operator.kind != "cond" and any(
            value in self.useful and (operator.op is None or operator.op.differentiates(index))
            for index, value in enumerate(operator.inputs)
        ):
            self.useful.update(out for out in operator.outputs if not out.stop_gradient)

    def _loop(self, operator: Operator) -> None:
        """Again and again, until a turn finds nothing new: what one turn gives the next one reads."""
        useful, body, before = self.useful, operator.blocks[1], -1
        while len(useful) != before:
            before = len(useful)
            useful.update(
                value for given, value in zip(operator.inputs, body.inputs, strict=True) if given in useful)
            self.block(body)
            for value, out, final in zip(body.inputs, body.outputs, operator.outputs, strict=False):
                if out in useful or value in useful:
                    useful.update((value, final))
