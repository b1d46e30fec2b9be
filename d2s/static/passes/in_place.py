"""Which results of a run are written over an operand that nothing reads any more.

Memory is taken and left as the run goes: an array goes with its last use, and a result that may have the array of a
dying operand takes no memory at all.  Nothing is kept from one run to the next.

A value is written over only if nobody else can see its array: the run has made it, it is no view and has none that is
read later, and it does not leave the generated code in any way.

Results have to lie in memory as they would in an array of their own, since the order of elements decides how sums are
rounded.  What is computed from one array and numbers lies as that array does.  Of several arrays it is known if all of
them are contiguous because the inputs of the Program are, which is looked up in each run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from d2s.core.spec import TensorSpec
from d2s.static import passes
from d2s.static.program import Block, Operator, Value, walk_operators
from d2s.words import counted

# Smaller arrays come from the allocator's own free lists, at less than it costs to say where to write.
SMALLEST = 1 << 13

# Built-in operators whose result is the first input, unless a hook returns something else.
HOOKED = frozenset({"hooked", "call_hooks"})
# Built-in operators that read their inputs and hand them to nobody.
_READERS = frozenset({
    "size", "item", "zeros_like", "is_present", "has_turns", "branch_of", "check_input", "check_output", "or_zeros",
    "version", "check_version", "check_chosen",
})


@dataclass
class InPlacePlan:
    """What is written over what.

    Attributes
    ----------
    contiguous : set of Value
        Values that are contiguous if the inputs are that were named so.
    over : dict of Value to Value
        For a result, the operand whose array it gets.
    in_any_order : set of Value
        Those of the results for which that holds also if the inputs are not contiguous.
    """

    contiguous: set[Value]
    over: dict[Value, Value] = field(default_factory=dict)
    in_any_order: set[Value] = field(default_factory=set)

    def __str__(self) -> str:
        size = sum(size_of(value.spec) for value in self.over if value.spec is not None)
        return f"{counted(len(self.over), 'result')} of {size / 2**20:.1f} MB together"


def size_of(spec: TensorSpec) -> int:
    """Bytes of an array."""
    count: int = math.prod(spec.shape)  # type: ignore[arg-type]
    return count * spec.dtype.itemsize


def plan_in_place(block: Block, contiguous: Iterable[Value], kept: Iterable[Value] = ()) -> InPlacePlan:
    """Plan what a function computes in place.

    Parameters
    ----------
    block : Block
        Its outermost operators; inside of branches and loops nothing is planned.
    contiguous : iterable of Value
        Inputs that are looked at in each run.
    kept : iterable of Value
        Values that are needed after the function has ended.
    """
    if "in_place" in passes.disabled:
        return InPlacePlan(set())
    return _Planner(block, contiguous, kept).plan


class _Planner:
    """One plan in the making."""

    def __init__(self, block: Block, contiguous: Iterable[Value], kept: Iterable[Value]) -> None:
        self.contiguous = set(contiguous)
        self.plan = InPlacePlan(self.contiguous)
        # What shares memory with a value goes by that value's name.
        self.roots: dict[Value, Value] = {}
        self.leaving: set[Value] = set()
        self.last: dict[Value, int] = {}
        # Values whose arrays the run makes, and writes to nowhere else.
        self.made: set[Value] = set()
        for position, operator in enumerate(block.operators):
            self.look(position, operator)
        self.leaving.update(map(self.root, (*block.outputs, *kept)))
        for position, operator in enumerate(block.operators):
            self.operator(position, operator)

    def root(self, value: Value) -> Value:
        return self.roots.get(value, value)

    # --- which values leave, and when each is used last --------------------------------------------------------

    def look(self, position: int, operator: Operator) -> None:
        """Note what an operator does with the memory of its inputs."""
        read = [value for value in operator.reads() if value.is_tensor]
        tensors = [value for value in read if not value.is_constant]
        for value in tensors:
            self.last[self.root(value)] = position
        for output in operator.outputs:
            self.last[output] = position
        op = operator.op
        if op is None:
            if operator.kind not in _READERS:
                self.leaving.update(map(self.root, tensors))
            for inner in operator.blocks:
                self.leaving.update(map(self.root, _read_inside(inner)))
        elif not op.is_fresh:
            self.join(tensors, operator.outputs)
        elif op.out is not None:
            self.made.add(operator.outputs[0])
        self.layout(operator, read)

    def join(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        """The outputs may be views of the inputs: of one it is that one, of several all of them leave."""
        owners = {self.root(value) for value in inputs}
        if len(owners) == 1:
            owner, = owners
            for output in outputs:
                self.roots[output] = owner
                self.last[owner] = max(self.last[owner], self.last[output])
        else:
            self.leaving.update(owners)

    def layout(self, operator: Operator, tensors: Sequence[Value]) -> None:
        """Note which results are contiguous."""
        op = operator.op
        if op is None:
            if operator.kind in HOOKED and operator.inputs[0] in self.contiguous:
                # If a hook has returned something else, the run takes it that nothing is any more.
                self.contiguous.update(operator.outputs)
            return
        keeps_order = op.in_order or _is_leading_part(operator)
        if (keeps_order and all(self.is_contiguous(value) for value in tensors)) or _is_in_order(operator, tensors):
            self.contiguous.update(operator.outputs)

    def is_contiguous(self, value: Value) -> bool:
        return value.constant.flags.c_contiguous if value.is_constant else value in self.contiguous

    # --- what is written over what -----------------------------------------------------------------------------

    def operator(self, position: int, operator: Operator) -> None:
        """Choose the operand that a result is written over."""
        op = operator.op
        if op is None or op.out != "in place":
            return
        result = operator.outputs[0]
        spec = result.spec
        if spec is None or not spec.is_static or size_of(spec) < SMALLEST:
            return
        arrays = [value for value in operator.inputs if value.spec is None or value.spec.ndim]
        is_of_one = len(arrays) == 1 and type(op.template) is str
        for value in dict.fromkeys(arrays):
            if self.is_dying(value, position) and value.spec == spec and (
                is_of_one or (result in self.contiguous and value in self.contiguous)
            ):
                self.plan.over[result] = value
                if is_of_one:
                    self.plan.in_any_order.add(result)
                return

    def is_dying(self, value: Value, position: int) -> bool:
        return value in self.made and value not in self.leaving and self.last[value] == position


def _is_leading_part(operator: Operator) -> bool:
    """True for ``x[1, 2]``: what it shows lies together, if `x` is contiguous."""
    return operator.kind == "getitem" and len(operator.inputs) == 1 and all(
        type(part) is int for part in operator.attrs["index"])


def _is_in_order(operator: Operator, tensors: Sequence[Value]) -> bool:
    """True for results that look contiguous however the inputs lie in memory."""
    dimensions = [value.spec.ndim for value in tensors if value.spec is not None]
    if operator.kind == "spread":
        # One number everywhere: it leaves the order to the other operand.
        return dimensions == [0]
    if operator.kind != "matmul" or len(dimensions) != 2:
        return False
    # The product of two matrices; of more rows than a matrix has, it is computed as one.
    left, right = dimensions
    return max(left, right) <= 2 or (right == 2 and not operator.attrs.get("transpose_x"))


def _read_inside(block: Block) -> set[Value]:
    found = set(block.outputs)
    for operator in walk_operators(block):
        found.update(operator.reads())
        for inner in operator.blocks:
            found.update(inner.outputs)
    return found
