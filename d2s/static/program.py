"""The Program: what a traced function or a hand-built graph is, as plain records.

A `Value` is defined once: by an operator, as input of a block, or as a constant.  Blocks nest: an operator that is
a region (`cond`, `while`) owns blocks, whose operators may read every value of the blocks around them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType, NoneType
from typing import TYPE_CHECKING, Any

from d2s.core.op import Op
from d2s.core.spec import TensorSpec
from d2s.errors import Location
from d2s.words import counted

if TYPE_CHECKING:
    from d2s.static.picture import Picture


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """One value of a Program: a tensor (`spec` given) or any Python object (`spec` is None).

    Attributes
    ----------
    name : str
        Unique in its Program.
    spec : TensorSpec or None
    stop_gradient : bool
        True if no gradient flows through it.
    constant : object
        The value itself if it is known while the Program is built; see `is_constant`.
    is_constant : bool
    kind : type or None
        For a Python object: its type, where that is known (int, float, bool, ...).
    maybe_missing : str or None
        Name of the user's variable if some path leaves it unbound.
    """

    name: str
    spec: TensorSpec | None
    stop_gradient: bool = True
    constant: Any = None
    is_constant: bool = False
    kind: type | None = None
    maybe_missing: str | None = None

    @property
    def is_tensor(self) -> bool:
        return self.spec is not None

    def __repr__(self) -> str:
        return f"%{self.name}"


@dataclass(eq=False, slots=True)
class Block:
    """Operators in order of execution, with the values they start from and the ones they give.

    `origin` is the block that a pass has made this one from, if any: what a run keeps is noted for that one.
    """

    inputs: tuple[Value, ...] = ()
    operators: list[Operator] = field(default_factory=list)
    outputs: tuple[Value, ...] = ()
    origin: Block | None = None

    def derived(self, operators: list[Operator], outputs: tuple[Value, ...]) -> Block:
        """The block with other operators, made by a pass."""
        return Block(self.inputs, operators, outputs, self.origin or self)


@dataclass(eq=False, slots=True)
class Operator:
    """One operator of a Program.  Changed only while the Program is built.

    Attributes
    ----------
    kind : str
        Name of the op, or of a built-in operator: see `d2s.static.verify`.
    inputs, outputs : tuple of Value
    attrs : dict
        Attributes; may hold Values (run-time sizes) in nested tuples and lists.
    op : Op or None
        The record of the op table; None for built-in operators.
    effect : bool
        True if the operator does more than compute its outputs: never removed, merged or reordered.
    blocks : tuple of Block
    location : Location or None
        The user's line.
    record : Value or None
        Of a region: what a run keeps of the path it took, for backward.
    several : bool
        True if the op gives a tuple, also one of length 1.
    """

    kind: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    op: Op | None = None
    effect: bool = False
    blocks: tuple[Block, ...] = ()
    location: Location | None = None
    record: Value | None = None
    several: bool = False

    def reads(self) -> Sequence[Value]:
        """Values that the operator itself reads: inputs and run-time attributes."""
        if not self.attrs:
            return self.inputs
        found = [*self.inputs]
        _find_values(self.attrs.values(), found)
        return found


@dataclass(frozen=True, slots=True)
class Write:
    """A write in place.

    Attributes
    ----------
    value : Value
        What was there before: of the tensor itself, also if the write was made to a view of it.
    kept : Value or None
        What was there before in the tensor that was written to.
    through : Operator or None
        The operator that computed what is written; its rule goes on reading `kept`.
    """

    value: Value
    kept: Value | None = None
    through: Operator | None = None


@dataclass(eq=False, slots=True)
class Program:
    """A block with a name.

    Attributes
    ----------
    name : str
    block : Block
    backward : Program or None
        The Program that computes its gradients, if one was derived.
    recorder : GraphInterpreter or None
        What records into a Program that is built by hand; made on demand.
    same_edge : dict of Value to Value
        Later readings of an input: their gradients leave by the same edge.
    versions : dict of Value to Value
        For each of these readings what says of which version of the Tensor they are.
    writes : dict of Operator to Write
        Operators that made what came after a write in place: a gradient rule that reads what was there before is
        an error, as in eager mode.
    identities : dict of Value to Value
        Of values that may have several names in a run: what says there which tensor each one is.
    """

    name: str = "main"
    block: Block = field(default_factory=Block)
    backward: Program | None = None
    recorder: Any = None
    same_edge: dict[Value, Value] = field(default_factory=dict)
    versions: dict[Value, Value] = field(default_factory=dict)
    writes: dict[Operator, Write] = field(default_factory=dict)
    identities: dict[Value, Value] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """Values that come from outside: data, parameters and captured tensors."""
        return self.block.inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        """Values that leave the Program."""
        return self.block.outputs

    @property
    def operators(self) -> list[Operator]:
        """The operators of the outermost block, in order."""
        return self.block.operators

    def all_operators(self) -> Iterator[Operator]:
        """Every operator, those of nested blocks after the one that owns them."""
        yield from walk_operators(self.block)

    def global_block(self) -> Any:
        """Where variables are added to a Program that is built by hand."""
        from d2s.static.graph import recorder_of

        return recorder_of(self)

    current_block = global_block

    def list_vars(self) -> Iterator[Any]:
        """The variables of a Program that is built by hand: data, parameters, and what operators have given."""
        yield from self.global_block().variables()

    def __str__(self) -> str:
        from d2s.static.printer import text_of

        return text_of(self)

    def __repr__(self) -> str:
        return f"<Program {self.name}: {counted(len(self.block.operators), 'operator')}>"

    def picture(self, backward: bool = True) -> Picture:
        """The Program as a picture: ``program.picture().svg()``, and ``.html()``, ``.mermaid()``, ``.dot()``.

        Parameters
        ----------
        backward : bool
            False leaves its backward out.
        """
        from d2s.static.picture import picture_of

        return picture_of(self, backward)

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        return self.picture().svg()

    _repr_svg_ = _repr_html_


def walk_operators(block: Block) -> Iterator[Operator]:
    """Every operator of `block` and of the blocks nested in it, in order."""
    for operator in block.operators:
        yield operator
        for inner in operator.blocks:
            yield from walk_operators(inner)


def rename_reads(block: Block, names: dict[Value, Value]) -> None:
    """Let the operators of `block`, also nested ones, read other Values."""

    def change(value: Value) -> Value:
        return names.get(value, value)

    for found in walk_operators(block):
        found.inputs = tuple(map(change, found.inputs))
        found.attrs = {name: map_values(value, change) for name, value in found.attrs.items()}
        for inner in found.blocks:
            inner.outputs = tuple(map(change, inner.outputs))


def all_values(program: Program) -> Iterator[Value]:
    """Every value that is defined in a Program."""
    yield from program.inputs
    for operator in program.all_operators():
        for block in operator.blocks:
            yield from block.inputs
        yield from operator.outputs
        if operator.record is not None:
            yield operator.record


def values_in(tree: Any) -> Iterator[Value]:
    """The Values in nested lists, tuples, dicts and slices."""
    found: list[Value] = []
    _find_values((tree,), found)
    return iter(found)


# Passes and checks ask each operator time and again what it reads: most of what there is holds nothing.
_HOLD_NONE = frozenset((bool, int, float, str, NoneType, type, FunctionType))


def _find_values(parts: Iterable[Any], found: list[Value]) -> None:
    for part in parts:
        if type(part) in _HOLD_NONE:
            continue
        if isinstance(part, Value):
            found.append(part)
        elif isinstance(part, list | tuple | set | frozenset):
            _find_values(part, found)
        elif isinstance(part, dict):
            _find_values(part.values(), found)
        elif isinstance(part, slice):
            _find_values((part.start, part.stop, part.step), found)


def map_values(tree: Any, change: Any) -> Any:
    """Nested lists, tuples, dicts and slices with `change(value)` in place of each Value.

    Where nothing changes, it is the same object: a container of the user, which the Program knows by identity.
    """
    if isinstance(tree, Value):
        return change(tree)
    if isinstance(tree, slice):
        parts = tree.start, tree.stop, tree.step
        made = [map_values(part, change) for part in parts]
        return tree if _are_same(made, parts) else slice(*made)
    if type(tree) is dict:
        made = [map_values(part, change) for part in tree.values()]
        return tree if _are_same(made, tree.values()) else dict(zip(tree, made, strict=True))
    if type(tree) is not list and not isinstance(tree, tuple):
        return tree
    made = [map_values(part, change) for part in tree]
    if _are_same(made, tree):
        return tree
    return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)


def _are_same(parts: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(part is other for part, other in zip(parts, others, strict=True))


class Names:
    """Gives out names that are unique in one Program."""

    def __init__(self) -> None:
        self._taken: dict[str, Iterator[int]] = {}

    def fresh(self, base: str) -> str:
        """`base`, or `base_1`, `base_2`, ... if it is taken."""
        while True:
            counter = self._taken.get(base)
            if counter is None:
                self._taken[base] = itertools.count(1)
                return base
            name = f"{base}_{next(counter)}"
            if name not in self._taken:
                self._taken[name] = itertools.count(1)
                return name
