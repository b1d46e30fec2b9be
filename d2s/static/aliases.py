"""Which values may be one of several others when the Program runs: what control flow chose or carried.

After ``y = a if c else b`` the value `y` *is* `a` or `b`.  Gradients that reach `y` belong to the one chosen, in the
order in which they come, together with those from its other uses; only what a branch or turn has made itself has a
gradient of its own in the Program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from d2s.static.program import Block, Operator, Program, Value, walk_operators

# What a run has recorded: ("branch_of", cond), ("has_turns", while), and ("is_first_turn", while) inside its turns.
Question = tuple[str, Operator]


@dataclass(frozen=True, slots=True)
class Alias:
    """A value that is `yes` if the answer to `question` is yes, else `no`; None: made in the region itself."""

    question: Question
    yes: Value | None
    no: Value | None


class Aliases:
    """The aliases among the values of a Program, and where each value is defined.

    A source that nothing else uses has no gradient but that of the alias, so it counts as made in the region, unless
    it is one of `kept`.

    Attributes
    ----------
    are_known : bool
        False if some value may be one from outside of a region by what a region inside of it chose: only the path of a
        run tells.
    """

    def __init__(self, program: Program, kept: set[Value]) -> None:
        self.kept = kept
        self.found: dict[Value, Alias] = {}
        self.homes: dict[Value, Block] = dict.fromkeys(program.block.inputs, program.block)
        self.uses: dict[Value, int] = {}
        self.are_known = True
        for operator in program.all_operators():
            for block in operator.blocks:
                self.homes.update(dict.fromkeys(block.inputs, block))
                for value in block.outputs:
                    self.uses[value] = self.uses.get(value, 0) + 1
            for value in operator.reads():
                self.uses[value] = self.uses.get(value, 0) + 1
        self._visit(program.block)

    def _visit(self, block: Block) -> None:
        for operator in block.operators:
            self.homes.update(dict.fromkeys(operator.outputs, block))
            for inner in operator.blocks:
                self._visit(inner)
            inside = set(_blocks_in(operator))
            if operator.kind == "cond":
                then, orelse = operator.blocks
                for out, yes, no in zip(operator.outputs, then.outputs, orelse.outputs, strict=True):
                    self._look_inside((yes, no), inside)
                    self._note(out, ("branch_of", operator), self._outer(yes, inside), self._outer(no, inside))
            elif operator.kind == "while":
                body = operator.blocks[1]
                places = zip(operator.inputs, body.inputs, body.outputs, operator.outputs, strict=True)
                for initial, value, following, out in places:
                    before, after = self._outer(initial, inside), self._outer(following, inside)
                    self._note(value, ("is_first_turn", operator), before, after)
                    self._note(out, ("has_turns", operator), after, before)
                    self._look_inside((following,), inside)

    def _note(self, value: Value, question: Question, yes: Value | None, no: Value | None) -> None:
        if value.is_tensor and (yes is not None or no is not None):
            self.found[value] = Alias(question, yes, no)

    def _look_inside(self, values: Iterable[Value], inside: set[Block]) -> None:
        """Find out if what a region gives, and has made by a region in it, may be something from outside."""
        stack = [value for value in values if self.homes.get(value) in inside and not value.stop_gradient]
        seen = set(stack)
        while stack and self.are_known:
            alias = self.found.get(stack.pop())
            for source in () if alias is None else (alias.yes, alias.no):
                if source is None or source in seen:
                    continue
                seen.add(source)
                if self.homes.get(source) in inside:
                    stack.append(source)
                else:
                    self.are_known = False

    def _outer(self, value: Value, inside: set[Block]) -> Value | None:
        """`value`, if it comes from outside of the region and has other uses."""
        if value.is_constant or self.homes.get(value) in inside:
            return None
        return value if value in self.kept or self.uses[value] > 1 else None


def _blocks_in(operator: Operator) -> Iterator[Block]:
    for block in operator.blocks:
        yield block
        for inner in walk_operators(block):
            yield from inner.blocks
