"""Which values may be one of several others when the Program runs: what control flow chose or carried.

After ``y = a if c else b`` the value `y` *is* `a` or `b`.  Gradients that reach `y` belong to the one chosen, in the
order in which they come, together with those from its other uses; only what a branch or turn has made itself has a
gradient of its own in the Program.
"""

from __future__ import annotations

from collections import ChainMap
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
        at_branches = _Complete(self, relations, relations.classes_of(edges))
        at_branches.visit(program.block, ChainMap())
        for value in at_branches.complete:
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


class _Complete:
    """Finds the aliases of which the gradient is complete where the walk back comes to their branch.

    Those of the classes `spared` are left out.  A gradient that is handed on at a branch is one of the sources from
    there on, so this goes from the last operator to the first.

    Attributes
    ----------
    complete : list of Value
    """

    def __init__(self, aliases: Aliases, relations: Relations, spared: set[Value]) -> None:
        self._found, self._homes = aliases.found, aliases.homes
        self._relations, self._spared = relations, spared
        self.complete: list[Value] = []

    def visit(self, block: Block, behind: ChainMap[Value, frozenset[Value]]) -> None:
        """Look at the operators of a block; `behind` holds what is used behind it, by class."""
        used = behind.new_child()
        self._note(used, block.outputs)
        for operator in reversed(block.operators):
            around = used.new_child()
            for out in operator.outputs:
                group = self._class_of(out)
                if group is not None:
                    # In the region it is what the block gives.
                    around[group] = used.get(group, frozenset()) - {out}
            inside = set(_blocks_in(operator))
            reads = [value for below in operator.blocks for value in _reads_in(below)]
            if operator.kind == "while":
                # Of an earlier turn the later ones are behind it.
                self._note(around, self._from_outside(reads, inside))
            for below in operator.blocks:
                self.visit(below, around)
            for out in operator.outputs:
                alias, group = self._found.get(out), self._class_of(out)
                if alias is None or group is None or alias.question != ("branch_of", operator):
                    continue
                if used.get(group, frozenset()) <= {out}:
                    self.complete.append(out)
                    used[group] = frozenset(source for source in (alias.yes, alias.no) if source is not None)
            self._note(used, operator.reads())
            self._note(used, self._from_outside(reads, inside))

    def _class_of(self, value: Value) -> Value | None:
        group = self._relations.class_of(value)
        return None if group in self._spared else group

    def _note(self, used: ChainMap[Value, frozenset[Value]], values: Iterable[Value]) -> None:
        for value in values:
            group = self._class_of(value)
            if group is not None:
                used[group] = used.get(group, frozenset()) | {value}

    def _from_outside(self, values: Iterable[Value], inside: set[Block]) -> Iterator[Value]:
        """The values themselves, or what they may be that is there outside of the blocks `inside`."""
        stack, seen = list(values), set[Value]()
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            if self._homes.get(value) not in inside:
                yield value
            elif (alias := self._found.get(value)) is not None:
                stack += [source for source in (alias.yes, alias.no) if source is not None]


def _reads_in(block: Block) -> Iterator[Value]:
    """All that a block reads and gives, with those in it."""
    yield from block.outputs
    for operator in walk_operators(block):
        yield from operator.reads()
        for below in operator.blocks:
            yield from below.outputs


def _blocks_in(operator: Operator) -> Iterator[Block]:
    for block in operator.blocks:
        yield block
        for inner in walk_operators(block):
            yield from inner.blocks
