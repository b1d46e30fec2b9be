"""What a run that has been used up still knows: which way it went, without any value.

Eager mode's nodes stay when their saved values are freed: a later walk finds its way through them, and refuses only
where it comes to one.  So do the records of branches and turns here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from d2s.static.program import Block, Operator, Program, Value

_KINDS = ("cond", "while", "leaf", "py_layer", "taken", "taken_all")

# What becomes of something that a run has kept.
_Rule = Callable[[Any], Any]


def leaves_one(program: Program) -> bool:
    """True if there is more than one way that a run can go, or if nodes depend on what a run has made."""
    return any(operator.kind in _KINDS for operator in program.all_operators())


class Skeletons:
    """
    Makes skeletons of runs of one Program.

    Parameters
    ----------
    block : Block
        That of the Program.
    saved : dict of Block to tuple of Value
        What runs keep of each block.
    """

    def __init__(self, block: Block, saved: Mapping[Block, tuple[Value, ...]]) -> None:
        self._block = block
        self._saved = saved
        self._rules: dict[Block, list[tuple[int, _Rule]]] = {}

    def of(self, kept: Sequence[Any]) -> tuple[Any, ...]:
        """What stays of `kept`, which a run has saved."""
        return self._reduce(self._block, kept)

    def _reduce(self, block: Block, kept: Sequence[Any]) -> tuple[Any, ...]:
        rules = self._rules.get(block)
        if rules is None:
            rules = self._rules[block] = self._rules_of(block)
        if not rules or not kept:
            return ()
        found = [None] * len(kept)
        for position, rule in rules:
            if kept[position] is not None:
                found[position] = rule(kept[position])
        return tuple(found)

    def _rules_of(self, block: Block) -> list[tuple[int, _Rule]]:
        positions = {value: position for position, value in enumerate(self._saved.get(block, ()))}
        rules: list[tuple[int, _Rule]] = []
        for operator in block.operators:
            value, rule = self._rule(operator)
            if rule is not None and value in positions:
                rules.append((positions[value], rule))
        return rules

    def _rule(self, operator: Operator) -> tuple[Value | None, _Rule | None]:
        if operator.kind == "cond":
            then, orelse = operator.blocks
            return operator.record, lambda way: (way[0], *self._reduce(then if way[0] else orelse, way[1:]))
        if operator.kind == "while":
            body = operator.blocks[1]
            return operator.record, lambda turns: [self._reduce(body, turn) for turn in turns]
        if operator.kind in ("taken", "taken_all"):
            return operator.outputs[1], lambda reference: reference
        if operator.kind == "leaf":
            # Its gradient stays with it.
            return operator.outputs[1], lambda tensor: tensor
        if operator.kind == "py_layer":
            # Whether there is a node; what the user has saved goes.
            return operator.outputs[0], lambda context: type(context)()
        return None, None
