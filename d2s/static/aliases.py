"""Which values may be one of several others when the Program runs: what control flow chose or carried.

After ``y = a if c else b`` the value `y` *is* `a` or `b`.  Gradients that reach `y` belong to the one chosen, in the
order in which they come, together with those from its other uses; only what a branch or turn has made itself has a
gradient of its own in the Program.  Of several names that a region gives one value the first has its gradient.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from d2s.static.hook_points import ANOTHER_NAME
from d2s.static.program import Block, Operator, Program, Value, walk_operators

# What a run has recorded: ("branch_of", cond), ("has_turns", while), and ("is_first_turn", while) inside its turns.
Question = tuple[str, Operator]


@dataclass(frozen=True, slots=True)
class Alias:
    """A value that is `yes` if the answer to `question` is yes, else `no`; None: made in the region itself."""

    question: Question
    yes: Value | None
    no: Value | None

    @property
    def sources(self) -> tuple[Value, ...]:
        """What it may be."""
        return tuple(source for source in (self.yes, self.no) if source is not None)


class Aliases:
    """The aliases among the values of a Program, and where each value is defined.

    A source that nothing else uses has no gradient but that of the alias, so it counts as made in the region, unless
    it is one of `kept`.  What a branch has chosen is no alias if nothing behind it uses what it may be: its gradient is
    complete where the walk comes to the branch, and is handed on there.  That goes for none that may be one of `edges`,
    which are finished at their last use.

    Values of which a run notes the identity are left out.

    Attributes
    ----------
    found : dict of Value to Alias
    homes : dict of Value to Block
        Where each value is defined.
    """

    def __init__(self, program: Program, edges: set[Value], kept: set[Value]) -> None:
        self.kept = kept
        self.found: dict[Value, Alias] = {}
        self.homes: dict[Value, Block] = dict.fromkeys(program.block.inputs, program.block)
        self._names = {
            operator.outputs[0]: operator.inputs[0] for operator in program.all_operators()
            if operator.kind in ANOTHER_NAME}
        self._uses = Counter[Value]()
        if any(operator.blocks for operator in program.operators):
            # Nobody asks for them where there are no regions.
            self._count_uses(program)
        self._visit(program.block)
        if self.found:
            self._leave_out(program, edges)

    def _count_uses(self, program: Program) -> None:
        """Count how often each value is read, or given by a block; the inputs of blocks get their homes."""
        for operator in program.all_operators():
            for block in operator.blocks:
                self.homes.update(dict.fromkeys(block.inputs, block))
                self._uses.update(map(self.named, block.outputs))
            if operator.kind not in ANOTHER_NAME:
                self._uses.update(map(self.named, operator.reads()))

    def _leave_out(self, program: Program, edges: set[Value]) -> None:
        """Drop what is complete at its branch, and what has an identity."""
        relations = Relations(
            (value, source) for value, alias in self.found.items() for source in alias.sources)
        at_branches = _Complete(self, relations, {relations.class_of(edge) for edge in edges} - {None})
        at_branches.visit(program.block, ChainMap())
        for value in (*at_branches.complete, *program.identities):
            self.found.pop(value, None)

    def named(self, value: Value) -> Value:
        """The value of which `value` is another name, in every run; or itself."""
        while (source := self._names.get(value)) is not None:
            value = source
        return value

    def _visit(self, block: Block) -> None:
        for operator in block.operators:
            self.homes.update(dict.fromkeys(operator.outputs, block))
            for inner in operator.blocks:
                self._visit(inner)
            inside = set(blocks_in(operator))
            if operator.kind == "cond":
                then, orelse = (self._sources(branch.outputs, operator.outputs, inside) for branch in operator.blocks)
                for out, yes, no in zip(operator.outputs, then, orelse, strict=True):
                    self._note(out, ("branch_of", operator), yes, no)
            elif operator.kind == "while":
                body = operator.blocks[1]
                starts = [self._outer(initial, inside) for initial in operator.inputs]
                turns = self._sources(body.outputs, body.inputs, inside)
                ends = self._sources(body.outputs, operator.outputs, inside)
                places = zip(body.inputs, operator.outputs, starts, turns, ends, strict=True)
                for value, out, start, turn, end in places:
                    self._note(value, ("is_first_turn", operator), start, turn)
                    self._note(out, ("has_turns", operator), end, start)

    def _note(self, value: Value, question: Question, yes: Value | None, no: Value | None) -> None:
        if value.is_tensor and (yes is not None or no is not None):
            self.found[value] = Alias(question, yes, no)

    def _sources(
        self, given: Sequence[Value], names: Sequence[Value], inside: set[Block]
    ) -> list[Value | None]:
        """What is known outside of a region of each value that it gives: what it was there, or the first of its names.

        `names` are the values that stand for those given, in the order of these.
        """
        first: dict[Value, Value] = {}
        found = []
        for value, name in zip(map(self.named, given), names, strict=True):
            if self.homes.get(value) not in inside:
                found.append(self._outer(value, inside))
            else:
                before = first.setdefault(value, name)
                found.append(None if before is name else before)
        return found

    def _outer(self, value: Value, inside: set[Block]) -> Value | None:
        """`value`, if it comes from outside of the region and has other uses."""
        value = self.named(value)
        if value.is_constant or self.homes.get(value) in inside:
            return None
        return value if value in self.kept or self._uses[value] > 1 else None


class Relations:
    """Classes of values of which some may be one in a run, given as pairs."""

    def __init__(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        self._parents: dict[Value, Value] = {}
        for value, source in pairs:
            self._parents[self._root(value)] = self._root(source)

    def _root(self, value: Value) -> Value:
        path = []
        while (parent := self._parents.setdefault(value, value)) is not value:
            path.append(value)
            value = parent
        self._parents.update(dict.fromkeys(path, value))
        return value

    def values(self) -> list[Value]:
        """All values of the pairs."""
        return list(self._parents)

    def class_of(self, value: Value) -> Value | None:
        """What stands for the class of `value`; None for one that is nothing else in any run."""
        return self._root(value) if value in self._parents else None


class _Complete:
    """Finds the aliases of which the gradient is complete where the walk back comes to their branch.

    Those of the classes `spared` are left out.  A gradient that is handed on at a branch is one of the sources from
    there on, so this goes from the last operator to the first.

    Attributes
    ----------
    complete : list of Value
    """

    def __init__(self, aliases: Aliases, relations: Relations, spared: set[Value | None]) -> None:
        self._found, self._homes, self._named = aliases.found, aliases.homes, aliases.named
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
            inside = set(blocks_in(operator))
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
                    used[group] = frozenset(alias.sources)
            self._note(used, operator.reads())
            self._note(used, self._from_outside(reads, inside))

    def _class_of(self, value: Value) -> Value | None:
        group = self._relations.class_of(value)
        return None if group in self._spared else group

    def _note(self, used: ChainMap[Value, frozenset[Value]], values: Iterable[Value]) -> None:
        for value in values:
            value = self._named(value)
            group = self._class_of(value)
            if group is not None:
                used[group] = used.get(group, frozenset()) | {value}

    def _from_outside(self, values: Iterable[Value], inside: set[Block]) -> Iterator[Value]:
        """The values themselves, or what they may be that is there outside of the blocks `inside`."""
        stack, seen = list(values), set[Value]()
        while stack:
            value = self._named(stack.pop())
            if value in seen:
                continue
            seen.add(value)
            if self._homes.get(value) not in inside:
                yield value
            elif (alias := self._found.get(value)) is not None:
                stack += alias.sources


def _reads_in(block: Block) -> Iterator[Value]:
    """All that a block reads and gives, with those in it."""
    yield from block.outputs
    for operator in walk_operators(block):
        yield from operator.reads()
        for below in operator.blocks:
            yield from below.outputs


def blocks_in(operator: Operator) -> Iterator[Block]:
    for block in operator.blocks:
        yield block
        for inner in walk_operators(block):
            yield from inner.blocks
