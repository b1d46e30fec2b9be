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
    it is one of `kept`.  What a branch has chosen is no alias if nothing behind it uses what it may be: its gradient is
    complete where the walk comes to the branch, and is handed on there.  That goes for none that may be one of `edges`,
    which are finished at their last use.

    Attributes
    ----------
    are_known : bool
        False if some value may be one from outside of a region by what a region inside of it chose: only the path of a
        run tells.
    """

    def __init__(self, program: Program, edges: set[Value], kept: set[Value]) -> None:
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
        relations = Relations(self.found)
        for value in list(complete_at_branches(program.block, self.found, relations, relations.classes_of(edges))):
            del self.found[value]

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


class Relations:
    """Classes of values of which some may be one in a run."""

    def __init__(self, found: dict[Value, Alias]) -> None:
        self._parents: dict[Value, Value] = {}
        for value, alias in found.items():
            for source in (alias.yes, alias.no):
                if source is not None:
                    self._parents[self._root(value)] = self._root(source)

    def _root(self, value: Value) -> Value:
        path = []
        while (parent := self._parents.setdefault(value, value)) is not value:
            path.append(value)
            value = parent
        self._parents.update(dict.fromkeys(path, value))
        return value

    def class_of(self, value: Value) -> Value | None:
        """What stands for the class of `value`; None for one that is nothing else in any run."""
        return self._root(value) if value in self._parents else None

    def classes_of(self, values: Iterable[Value]) -> set[Value]:
        """Those of several values."""
        return {found for found in map(self.class_of, values) if found is not None}


def complete_at_branches(
    block: Block, found: dict[Value, Alias], relations: Relations, spared: set[Value]
) -> Iterator[Value]:
    """The aliases of which the gradient is complete where a walk back through `block` comes to their branch.

    Those of the classes `spared` are left out.  A gradient that is handed on at a branch is one of the sources from
    there on, so this goes from the last operator to the first.
    """
    used: dict[Value, set[Value]] = {}

    def note(values: Iterable[Value]) -> None:
        for value in values:
            group = relations.class_of(value)
            if group is not None:
                used.setdefault(group, set()).add(value)

    note(block.outputs)
    for operator in reversed(block.operators):
        for below in operator.blocks:
            yield from complete_at_branches(below, found, relations, spared)
        for out in operator.outputs:
            alias, group = found.get(out), relations.class_of(out)
            if alias is None or group in spared or alias.question != ("branch_of", operator):
                continue
            if group is not None and used.get(group, set()) <= {out}:
                yield out
                if group in used:
                    used[group] = {source for source in (alias.yes, alias.no) if source is not None}
        note(operator.reads())
        for below in operator.blocks:
            for inner in walk_operators(below):
                note(inner.reads())
        for below in _blocks_in(operator):
            note(below.outputs)


def _blocks_in(operator: Operator) -> Iterator[Block]:
    for block in operator.blocks:
        yield block
        for inner in walk_operators(block):
            yield from inner.blocks
