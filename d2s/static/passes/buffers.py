"""Buffer planning: which results of a run are written into arrays that an earlier run has left.

Memory for a large array is given back to the system when the array goes and is mapped anew for the next one, which
costs more than most of the work on it.  A compiled function therefore keeps a set of arrays for its next run.

What makes this safe is looked up, not proved: before a run takes the set, an array that anybody else still holds (a
Tensor, a gradient, a saved value, a view) is left to its holder.  Only where two values of *one* run share a buffer,
one after the other, does this module have to know that nobody sees the first one any more: after a value that leaves
the generated code in any way, the run uses its buffer for no other.

Results have to lie in memory as without buffers, since the order of elements decides how sums are rounded.  Values
that are contiguous because the inputs of the Program are share buffers.  Others that lie in memory the same way in
each run have a buffer to themselves, the array that the first run made.  A run with inputs that are not contiguous
uses no buffers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from d2s.core.spec import TensorSpec
from d2s.static.program import Block, Operator, Value, values_in, walk_operators
from d2s.words import counted

# Smaller arrays come from the allocator's own free lists.
SMALLEST = 1 << 16

# Built-in operators whose result is the first input, unless a hook returns something else.
HOOKED = frozenset({"hooked", "call_hooks"})
# Built-in operators that read their inputs and hand them to nobody.
_READERS = frozenset({
    "size", "item", "zeros_like", "is_present", "has_turns", "branch_of", "check_input", "check_output", "or_zeros",
})


@dataclass
class BufferPlan:
    """Which values are written into which buffers.

    Attributes
    ----------
    contiguous : set of Value
        Values that are contiguous if the inputs are that were named so.
    specs : list of (TensorSpec, bool)
        Shape and dtype of each buffer, and whether it may be made before it is needed; others keep the array that
        the first run has made.
    buffers : dict of Value to int
        The buffer of a value, by number.
    scratch : dict of Operator to tuple of int
        Buffers that an operator works in.
    """

    contiguous: set[Value]
    specs: list[tuple[TensorSpec, bool]] = field(default_factory=list)
    buffers: dict[Value, int] = field(default_factory=dict)
    scratch: dict[Operator, tuple[int, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        size = sum(size_of(spec) for spec, _ in self.specs)
        return f"{counted(len(self.buffers), 'value')} in {counted(len(self.specs), 'buffer')}, {size / 2**20:.1f} MB"


def size_of(spec: TensorSpec) -> int:
    """Bytes of an array."""
    count: int = math.prod(spec.shape)  # type: ignore[arg-type]
    return count * spec.dtype.itemsize


def plan_buffers(block: Block, contiguous: Iterable[Value], kept: Iterable[Value] = ()) -> BufferPlan:
    """Plan the buffers of a function.

    Parameters
    ----------
    block : Block
        Its outermost operators; what is inside of branches and loops uses no buffers.
    contiguous : iterable of Value
        Inputs that are contiguous when buffers are used.
    kept : iterable of Value
        Values that are needed after the function has ended.
    """
    return _Planner(block, contiguous, kept).plan


class _Planner:
    """One plan in the making."""

    def __init__(self, block: Block, contiguous: Iterable[Value], kept: Iterable[Value]) -> None:
        self.contiguous = set(contiguous)
        self.plan = BufferPlan(self.contiguous)
        # Values that lie in memory the same way in each run.
        self.regular = set(self.contiguous)
        # What shares memory with a value goes by that value's name.
        self.roots: dict[Value, Value] = {}
        self.leaving: set[Value] = set()
        self.last: dict[Value, int] = {}
        for position, operator in enumerate(block.operators):
            self.look(position, operator)
        self.leaving.update(map(self.root, (*block.outputs, *kept)))
        self.free: dict[TensorSpec, list[int]] = {}
        # Values whose buffer may be used again, by the position of their last use.
        self.ending: dict[int, list[Value]] = {}
        self.shared: set[Value] = set()
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
        """Note how the results lie in memory."""
        op = operator.op
        if op is None:
            if operator.kind in HOOKED and operator.inputs[0] in self.contiguous:
                # If a hook has returned something else, the run goes on without buffers.
                self.regular.update(operator.outputs)
                self.contiguous.update(operator.outputs)
            return
        if all(self.is_regular(value) for value in tensors) and next(values_in(operator.attrs), None) is None:
            self.regular.update(operator.outputs)
        keeps_order = op.in_order or _is_leading_part(operator)
        if (keeps_order and all(self.is_contiguous(value) for value in tensors)) or _is_in_order(operator, tensors):
            self.regular.update(operator.outputs)
            self.contiguous.update(operator.outputs)

    def is_regular(self, value: Value) -> bool:
        return value.is_constant or value in self.regular

    def is_contiguous(self, value: Value) -> bool:
        return value.constant.flags.c_contiguous if value.is_constant else value in self.contiguous

    # --- buffers -----------------------------------------------------------------------------------------------

    def operator(self, position: int, operator: Operator) -> None:
        """Choose the buffer of a result, and what to work in."""
        op = operator.op
        if op is not None and op.out is not None and self.may_have_buffer(operator.outputs[0]):
            result = operator.outputs[0]
            spec = result.spec
            assert spec is not None
            is_plain = result in self.contiguous
            if not is_plain:
                if not operator.several:
                    held = self.of_one_operand(position, operator)
                    self.plan.buffers[result] = self.new(spec, False) if held is None else held
            else:
                taken = self.of_operand(position, operator) if op.out == "in place" else None
                self.plan.buffers[result] = self.take(spec) if taken is None else taken
                if result not in self.leaving:
                    # Else this run uses the buffer for nothing else any more.
                    self.shared.add(result)
                    self.ending.setdefault(self.last[result], []).append(result)
            if op.scratch and is_plain:
                scratch = tuple(self.take(spec) for _ in range(op.scratch))
                self.plan.scratch[operator] = scratch
                self.free.setdefault(spec, []).extend(scratch)
        for value in self.ending.pop(position, ()):
            assert value.spec is not None
            if value in self.shared:
                self.free.setdefault(value.spec, []).append(self.plan.buffers[value])

    def may_have_buffer(self, value: Value) -> bool:
        spec = value.spec
        return spec is not None and spec.is_static and size_of(spec) >= SMALLEST and value in self.regular

    def new(self, spec: TensorSpec, is_plain: bool) -> int:
        self.plan.specs.append((spec, is_plain))
        return len(self.plan.specs) - 1

    def take(self, spec: TensorSpec) -> int:
        """A buffer that is free, or one more."""
        free = self.free.get(spec)
        return free.pop() if free else self.new(spec, True)

    def of_operand(self, position: int, operator: Operator) -> int | None:
        """The buffer of an operand that nothing reads after this."""
        result = operator.outputs[0]
        for value in operator.inputs:
            if value in self.shared and self.last[value] == position and value.spec == result.spec:
                self.shared.discard(value)
                return self.plan.buffers[value]
        return None

    def of_one_operand(self, position: int, operator: Operator) -> int | None:
        """The same for values that are not known to be contiguous: a result of one array and numbers lies as that does.

        So the buffer of that array will do, if it has one of its own.
        """
        result, op = operator.outputs[0], operator.op
        arrays = [value for value in operator.inputs if value.spec is None or value.spec.ndim]
        if op is None or op.out != "in place" or type(op.template) is not str or len(arrays) != 1:
            return None
        value, = arrays
        number = self.plan.buffers.get(value)
        if number is None or self.plan.specs[number][1] or value in self.leaving:
            return None
        return number if self.last[value] == position and value.spec == result.spec else None


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
