"""Which tensor a value is in a run, where only the path of the run tells.

What `d2s.static.aliases` asks of a run gets long where control flow chooses among what control flow has chosen, and
does not tell all: whether two values that a branch gives are one tensor, only a branch inside of it may know.  There
each tensor gets an identity when it is made, which goes with it through branches and turns, and backward sums up
gradients by identity: in the order in which they come, whatever names the tensor had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from d2s.static.aliases import Aliases, Relations, blocks_in
from d2s.static.program import Block, Operator, Program, Value

# Beyond so many answers of a run that say one after the other what a value is, it has an identity.
MOST_ANSWERS = 4


def add_identities(program: Program, edges: Mapping[Value, int], kept: Iterable[Value]) -> None:
    """Let a run of `program` note the identities of values of which nothing less tells what they are.

    `program.identities` shows which these are.  That of an edge is the complement of its number.

    Parameters
    ----------
    program : Program
        It gets more operators, and its regions give more.
    edges : dict of Value to int
        Inputs whose gradients leave the Program, and their numbers.
    kept : iterable of Value
        Values with gradients that somebody looks at.
    """
    aliases = Aliases(program, set(edges), {*edges, *kept})
    unclear = {*_known_inside_only(program, aliases), *_chosen_often(aliases)}
    if not unclear:
        return
    relations = Relations(_one_place(program, aliases))
    classes = {relations.class_of(value) for value in unclear}
    members = {value for value in relations.values() if relations.class_of(value) in classes}
    _Adder(program, edges, members, aliases).block(program.block)


def _known_inside_only(program: Program, aliases: Aliases) -> Iterator[Value]:
    """Values of regions of which a region inside decides what they are around them."""
    for operator in program.all_operators():
        if operator.kind == "cond":
            for block in operator.blocks:
                yield from _unclear_of(operator, block, aliases)
        elif operator.kind == "while":
            yield from _unclear_of(operator, operator.blocks[1], aliases)


def _unclear_of(operator: Operator, block: Block, aliases: Aliases) -> Iterator[Value]:
    """What a block gives that may be something from outside, or one of the others, by what a region in it chose."""
    inside = set(blocks_in(operator))
    givers: dict[Value, Value] = {}
    for given in dict.fromkeys(map(aliases.named, block.outputs)):
        if given.stop_gradient or aliases.homes.get(given) not in inside:
            continue
        stack = [given]
        while stack:
            value = stack.pop()
            giver = givers.setdefault(value, given)
            if giver is not given:
                yield given
                yield giver
            elif aliases.homes.get(value) not in inside:
                yield given
            elif value in aliases.found:
                stack += (source for source in aliases.found[value].sources if givers.get(source) is not given)


def _chosen_often(aliases: Aliases) -> Iterator[Value]:
    """Values of which many answers are needed to tell what they are."""
    answers: dict[Value, int] = {}
    # What a loop carries is known before its turns, but may be what they give: noted in the second round.
    for _ in range(2):
        for value, alias in aliases.found.items():
            answers[value] = 1 + max(answers.get(source, 0) for source in alias.sources)
    return (value for value, count in answers.items() if count > MOST_ANSWERS)


def _one_place(program: Program, aliases: Aliases) -> Iterator[tuple[Value, Value]]:
    """Pairs of values of which the second stands for the first in some run, or on a part of its path."""
    for operator in program.all_operators():
        if operator.kind == "cond":
            places = [zip(operator.outputs, block.outputs, strict=True) for block in operator.blocks]
        elif operator.kind == "while":
            body = operator.blocks[1]
            places = [zip(body.inputs, given, strict=True)
                      for given in (operator.inputs, body.outputs, operator.outputs)]
        else:
            continue
        for pairs in places:
            for value, other in pairs:
                if value.is_tensor and other.is_tensor and not (value.stop_gradient or other.stop_gradient):
                    yield value, aliases.named(other)


class _Adder:
    """Adds the identities of the values `members` to a Program."""

    def __init__(self, program: Program, edges: Mapping[Value, int], members: set[Value], aliases: Aliases) -> None:
        self.found = program.identities
        self.edges, self.members, self.named = edges, members, aliases.named
        self.of_no_tensor = Value("no@ID", None, True, None, True)
        for value, number in edges.items():
            if value in members:
                self.found[value] = Value(f"{value.name}@ID", None, True, ~number, True, int)

    def block(self, block: Block) -> None:
        """Go through the operators of a block, in order."""
        operators = block.operators
        block.operators = []
        for operator in operators:
            block.operators.append(operator)
            if operator.kind == "cond":
                self.branches(operator)
            elif operator.kind == "while":
                self.turns(operator)
            else:
                made = [self.new(out) for out in operator.outputs if self.is_made(out)]
                block.operators += (
                    Operator("new_identity", (), (value,), effect=True, location=operator.location) for value in made)

    def is_made(self, value: Value) -> bool:
        """True for a tensor that is made where `value` is defined."""
        return value in self.members and value not in self.edges and self.named(value) is value

    def new(self, value: Value) -> Value:
        """What stands for the identity of `value`."""
        found = self.found[value] = Value(f"{value.name}@ID", None, True, kind=int)
        return found

    def identity(self, value: Value) -> Value:
        """The identity of a value that is defined; that of no tensor where it cannot be differentiated."""
        return self.found.get(self.named(value), self.of_no_tensor)

    def branches(self, operator: Operator) -> None:
        for branch in operator.blocks:
            self.block(branch)
        places = [place for place, out in enumerate(operator.outputs) if out in self.members]
        for branch in operator.blocks:
            branch.outputs += tuple(self.identity(branch.outputs[place]) for place in places)
        operator.outputs += tuple(self.new(operator.outputs[place]) for place in places)

    def turns(self, operator: Operator) -> None:
        test, body = operator.blocks
        places = [place for place, value in enumerate(body.inputs) if value in self.members]
        operator.inputs += tuple(self.identity(operator.inputs[place]) for place in places)
        test.inputs += tuple(
            Value(f"{test.inputs[place].name}@ID", None, True, kind=int) for place in places)
        body.inputs += tuple(self.new(body.inputs[place]) for place in places)
        self.block(body)
        body.outputs += tuple(self.identity(body.outputs[place]) for place in places)
        operator.outputs += tuple(self.new(operator.outputs[place]) for place in places)
