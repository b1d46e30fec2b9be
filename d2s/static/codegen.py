"""Program -> Python source over NumPy: one flat function, control flow as real `if` and `while`."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from d2s.core.op import Op, filled, is_one_call
from d2s.core.plain_numpy import PLAIN_NUMPY
from d2s.static.passes.in_place import InPlacePlan, plan_in_place, size_of
from d2s.static.program import Block, Operator, Value, values_in, walk_operators
from d2s.static.runtime import RUNTIME
from d2s.static.writers import INDENT, WRITERS

# What generated code calls by these names.
_BUILTINS = ("bool", "dict", "len", "range", "slice")

# Attribute of a generated function that holds its Source.
SOURCE = "__d2s_source__"


class Source:
    """The text of one generated function and the objects its names stand for.

    Attributes
    ----------
    locations : dict of int to Operator
        What stands on each line.
    operands : dict of int to str
        For lines that compute: an expression for the inputs and attributes, to explain a failure.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {"np": PLAIN_NUMPY}
        self.locations: dict[int, Operator] = {}
        self.operands: dict[int, str] = {}

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


class FunctionWriter:
    """Writes one Program as one function.

    Parameters
    ----------
    saved : dict of Block to tuple of Value
        Which values of each forward block a run keeps for backward.
    records : set of Value
        The records of control flow that backward reads.
    outputs : sequence of Value
        Values whose gradients may be asked for from outside, by number.
    tensors : sequence of Value
        Inputs that are Tensor objects of the caller, by number.
    hook_points : dict of Value to Value
        Where hooks of a value are kept in a run.
    checks : bool
        Raise AnomalyError at the first NaN.
    """

    def __init__(
        self,
        name: str,
        saved: dict[Block, tuple[Value, ...]],
        records: frozenset[Value] = frozenset(),
        outputs: Sequence[Value] = (),
        tensors: Sequence[Value] = (),
        hook_points: dict[Value, Value] | None = None,
        checks: bool = False,
    ) -> None:
        self.source = Source(name)
        self.saved = saved
        self.records = records
        self.output_numbers = {value: number for number, value in reversed(list(enumerate(outputs)))}
        self.tensor_numbers = {value: number for number, value in enumerate(tensors)}
        self.hook_points = hook_points or {}
        self.checks = checks
        self.names: dict[Value, str] = {}
        self.counts: dict[str, int] = {}
        self.taken: set[str] = {
            *RUNTIME, *_BUILTINS, name, "np", "run", "tensors", "walk", "saved", "given", "alive"}
        # Inputs that nobody around the function holds for it, to be let go like what it makes.
        self.own_inputs: tuple[Value, ...] = ()
        self.source.namespace.update(RUNTIME)
        self.constants: dict[Any, str] = {}
        # The number of the turn in which backward is, by loop.
        self.turn_numbers: dict[Operator, str] = {}
        self.depth = 1
        self.kept: list[Any] = []
        # Regions around the current line, for a `return` inside: what to write for each, innermost last.
        # What the function returns at its end.
        self.results: frozenset[Value] = frozenset()
        # The Tensor objects of turns that can be differentiated, by number.
        self.turn_tensors: dict[Value, int] = {}
        # True if Tensors that turns and branches make are looked at later: the list `alive` holds them until the end.
        self.keeps_tensors = False
        # True if somebody may ask for gradients while the function runs, in the middle of it.
        self.may_be_asked = False
        # Saved values by the block of the backward Program that unpacks them.
        self.given: dict[Block, tuple[Value, ...]] = {}
        self.top_saved: tuple[Value, ...] = ()
        self.runs_backward = False
        # Which results are written over which operands; and the name that says whether the arrays of this run lie in
        # memory so that all of them may be, if some may not without that.
        self.plan = InPlacePlan(set())
        self.order = ""
        # Names of the sums of a whole step, by edge.
        self.sums: dict[int, str] = {}
        # Names of the two lists of rows of a product, by number.
        self.rows: dict[int, tuple[str, str]] = {}
        # Sums of arrays that nobody else sees, so that they may be added up in place.
        self.own_sums: frozenset[int] = frozenset()
        self.open_records: list[Callable[[], None]] = []
        # How many lines there were when the last one that is for runs with hooks was written.
        self.behind_hooks = 0
        # What the branches around give when they end: named by the first, not there in the second.
        self.to_come: set[Value] = set()

    # --- names and expressions ---------------------------------------------------------------------------------

    def name(self, value: Value) -> str:
        """The Python name of a value."""
        if value.is_constant:
            constant = value.constant
            # NumPy computes faster with arrays than with scalars.
            return self.literal(np.asarray(constant) if isinstance(constant, np.generic) else constant)
        found = self.names.get(value)
        if found is None:
            found = self.names[value] = self.fresh(value.name)
        return found

    def fresh(self, base: str) -> str:
        # As Python reads it: two texts may be one name.
        clean = unicodedata.normalize("NFKC", re.sub(r"\W", "_", base)) or "v"
        if not clean.isidentifier() or keyword.iskeyword(clean):
            clean = "v_" + re.sub(r"\W", "_", clean, flags=re.ASCII)
        name, count = clean, self.counts.get(clean, 0)
        while name in self.taken:
            count += 1
            name = f"{clean}_{count}"
        self.counts[clean] = count
        self.taken.add(name)
        return name

    def literal(self, constant: Any) -> str:
        """An expression for a constant: its text where that is exact, else a name in the namespace."""
        if constant is None or constant is True or constant is False or type(constant) in (int, str):
            return repr(constant)
        if type(constant) is float and constant == constant and abs(constant) != float("inf"):
            return repr(constant)
        if type(constant) is tuple and all(type(part) in (int, str, bool, type(None)) for part in constant):
            return repr(constant)
        if isinstance(constant, np.generic) or (type(constant) is np.ndarray and constant.ndim == 0):
            # Equal numbers share a name; equal to the bit, so that 0.0 is not -0.0.
            return self.bind(constant, "k", (constant.dtype, constant.tobytes()))
        return self.bind(constant, "k")

    def bind(self, thing: Any, base: str, key: Any = None) -> str:
        """A name under which generated code sees `thing`; `key` tells things apart, by default their identity."""
        key = id(thing) if key is None else key
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = self.fresh(base)
            self.source.namespace[found] = thing
            self.kept.append(thing)
        return found

    def expression(self, tree: Any) -> str:
        """An expression that rebuilds nested containers with Values in them."""
        if isinstance(tree, Value):
            return self.name(tree)
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return f"{self.bind(type(tree), type(tree).__name__)}({', '.join(map(self.expression, tree))})"
        if type(tree) is tuple:
            parts = ", ".join(map(self.expression, tree))
            return f"({parts},)" if len(tree) == 1 else f"({parts})"
        if type(tree) in (list, dict) and next(values_in(tree), None) is None:
            # An object of the caller, or an attribute: handed over as it is.
            return self.bind(tree, type(tree).__name__)
        if type(tree) is list:
            return f"[{', '.join(map(self.expression, tree))}]"
        if type(tree) is dict:
            return "{" + ", ".join(f"{self.expression(k)}: {self.expression(v)}" for k, v in tree.items()) + "}"
        if type(tree) is slice:
            return f"slice({', '.join(map(self.expression, (tree.start, tree.stop, tree.step)))})"
        return self.literal(tree)

    # --- lines -------------------------------------------------------------------------------------------------

    def line(self, text: str, operator: Operator | None = None) -> None:
        # One line, whatever a name or a file is called: line breaks in literals are escaped.
        self.source.lines.append(INDENT * self.depth + " ".join(text.splitlines()))
        if operator is not None:
            self.source.locations[len(self.source.lines)] = operator

    def assign(self, operator: Operator, expression: str) -> None:
        """`outputs = expression`, with the user's line as comment."""
        names = ", ".join(map(self.name, operator.outputs))
        if operator.several and len(operator.outputs) == 1:
            names += ","
        where = f"  # {operator.location.file.rpartition('/')[2]}:{operator.location.line}" if operator.location else ""
        self.line(f"{names} = {expression}{where}" if names else f"{expression}{where}", operator)

    def unpack(self, values: Iterable[Value], expression: str) -> None:
        names = [self.name(value) for value in values]
        if names:
            self.line(f"{', '.join(names)}, = {expression}")

    def pack(self, values: Iterable[Value]) -> str:
        return self.expression(tuple(values))

    @contextmanager
    def unasked(self) -> Iterator[None]:
        """Write lines that take no note of how far the run has come."""
        before, self.may_be_asked = self.may_be_asked, False
        try:
            yield
        finally:
            self.may_be_asked = before

    def pack_defined(self, values: Iterable[Value], *first: Any) -> str:
        """A tuple of values, with None for those that are not computed yet."""
        known = self.names.keys() - self.to_come
        return self.expression((*first, *(value if value in known else None for value in values)))

    # --- operators ---------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """The lines of a block; each array is let go after its last use."""
        dying = self.last_uses(block)
        operators = block.operators
        for position, operator in enumerate(operators):
            following = operators[position + 1] if position + 1 < len(operators) else None
            if operator.kind == "arrived" and position and _are_one_line(operators[position - 1], operator):
                continue
            if operator.kind == "accumulate" and following is not None and _are_one_line(operator, following):
                self.finish(operator)
            else:
                self.operator(operator)
            if operator.kind not in ("return", "raise"):
                self.let_go(dying.get(position, ()))

    def operator(self, operator: Operator) -> None:
        writer = WRITERS.get(operator.kind)
        if writer is not None:
            writer(self, operator)
        else:
            assert operator.op is not None, operator.kind
            self.assign(operator, self.call(operator.op, operator))
            if self.checks:
                operands = map(self.name, operator.inputs)
                for value in operator.outputs:
                    self.line(f"check_nan({', '.join([repr(operator.kind), self.name(value), *operands])})", operator)
        if operator.op is not None or operator.kind in ("item", "to_array"):
            inputs = f"[{', '.join(map(self.name, operator.inputs))}]"
            self.source.operands[len(self.source.lines)] = f"{inputs}, {self.expression(dict(operator.attrs))}"

    def last_uses(self, block: Block) -> dict[int, list[Value]]:
        """For each position: arrays made in this block, or saved for it, that nothing after that operator reads."""
        last: dict[Value, int] = dict.fromkeys(self.given.get(block, ()), 0)
        if self.depth == 1:
            last |= dict.fromkeys(self.own_inputs, 0)
        for position, operator in enumerate(block.operators):
            for value in _all_reads(operator):
                if value in last:
                    last[value] = position
            for value in operator.outputs:
                if value.is_tensor:
                    last[value] = position
        kept = {*block.outputs, *self.results, *self.kept_of(block)} - set(self.given.get(block, ()))
        found: dict[int, list[Value]] = {}
        for value, position in last.items():
            if value not in kept:
                found.setdefault(position, []).append(value)
        return found

    def kept_of(self, block: Block) -> tuple[Value, ...]:
        """What a run keeps of a block for backward."""
        return self.saved.get(block.origin or block, ())

    def let_go(self, values: Iterable[Value]) -> None:
        """Delete names, on the line of the operator that was the last to read them."""
        names = [self.names[value] for value in values if value in self.names and not value.is_constant]
        if names:
            text, mark, comment = self.source.lines[-1].partition("  # ")
            if self.source.lines[-1].startswith(INDENT * self.depth) and text[len(INDENT) * self.depth] != " ":
                self.source.lines[-1] = f"{text}; del {', '.join(names)}{mark}{comment}"
            else:
                self.line(f"del {', '.join(names)}")

    def finish(self, operator: Operator) -> None:
        """The contribution to an edge that is also the last."""
        edge, name = operator.attrs["edge"], self.name(operator.inputs[0])
        self.line(f"run.finish(walk, {edge}, {name})  # {operator.attrs['name']}", operator)

    def call(self, op: Op, operator: Operator) -> str:
        """The NumPy expression of one op."""
        inputs = [self.name(value) for value in operator.inputs]
        out = self.out(operator.outputs[0])
        pattern = _pattern(op, operator)
        if pattern is not None and (not out or is_one_call(pattern)):
            text = filled(pattern, inputs, lambda number: self.typed(number, operator))
            return f"{text[:-1]}, {out})" if out else text
        arguments = [*inputs, *(f"{name}={self.expression(value)}" for name, value in operator.attrs.items())]
        return f"{self.bind(op.forward, op.name + '_op')}({', '.join([*arguments, *filter(None, [out])])})"

    def out(self, result: Value) -> str:
        """The argument that says where a result is written; nothing for a new array."""
        over = self.plan.over.get(result)
        if over is None:
            return ""
        return f"out={self.name(over)}" + ("" if result in self.plan.in_any_order else f" if {self.order} else None")

    def typed(self, number: int, operator: Operator) -> str:
        """The name of a number in the dtype of the first input, with which NumPy computes faster than with an int."""
        spec = operator.inputs[0].spec
        assert spec is not None
        return self.literal(np.asarray(number, spec.dtype))

    def use_plan(self, plan: InPlacePlan, inputs: Iterable[Value]) -> None:
        """Compute in place what `plan` says, in a run on `inputs`."""
        self.plan = plan
        if plan.over.keys() - plan.in_any_order:
            self.order = self.fresh("in_order")
            self.line(f"{self.order} = are_in_order({', '.join(map(self.name, inputs))})")

    def check_order(self, name: str) -> None:
        """A line behind a hook: what it gave may lie in memory in another order."""
        if self.order and self.depth == 1:
            self.line(f"{self.order} = {self.order} and are_in_order({name})")

    def bindings(self, targets: Iterable[Value], sources: Iterable[Value]) -> None:
        """`targets = sources`, all at once."""
        pairs = [(self.name(t), self.name(s)) for t, s in zip(targets, sources, strict=True)]
        pairs = [(t, s) for t, s in pairs if t != s]
        if pairs:
            self.line(f"{', '.join(t for t, _ in pairs)} = {', '.join(s for _, s in pairs)}")

    def nested(self, block: Block, after: Callable[[], None] | None = None) -> None:
        """The lines of a block, one level deeper; `pass` if there are none."""
        self.depth += 1
        before = len(self.source.lines)
        self.block(block)
        if after is not None:
            after()
        if len(self.source.lines) == before:
            self.line("pass")
        self.depth -= 1


def _pattern(op: Op, operator: Operator) -> str | None:
    """The expression to write for an operator, if its op has one for these inputs."""
    if op.template is None or next(values_in(operator.attrs), None) is not None or _has_text(operator.attrs):
        return None
    specs = [value.spec for value in operator.inputs]
    return op.expression(specs, operator.attrs) if None not in specs else None  # type: ignore[arg-type]


def _has_text(tree: Any) -> bool:
    """True if there is a text in an attribute: it must not become a part of an expression."""
    if isinstance(tree, list | tuple):
        return any(map(_has_text, tree))
    return any(map(_has_text, tree.values())) if isinstance(tree, dict) else isinstance(tree, str)


def _own_sums(block: Block) -> frozenset[int]:
    """Edges of a whole step all of whose contributions are new arrays that nothing else reads."""
    edges, shared = set[int](), set[int]()
    uses = Counter[Value](value for operator in block.operators for value in _all_reads(operator))
    uses.update(value for operator in walk_operators(block) for inner in operator.blocks for value in inner.outputs)
    made = {value: operator for operator in walk_operators(block) for value in operator.outputs}
    for operator in walk_operators(block):
        if operator.kind == "add_to_sum":
            value, edge = operator.inputs[0], operator.attrs["edge"]
            maker = made.get(value)
            edges.add(edge)
            if uses[value] != 1 or maker is None or maker.op is None or not maker.op.is_fresh or not _is_large(value):
                shared.add(edge)
    return frozenset(edges - shared)


def _is_large(value: Value) -> bool:
    """True for arrays on which memory costs more than a look at it."""
    return value.spec is not None and value.spec.is_static and size_of(value.spec) >= 1 << 12


def _are_one_line(accumulate: Operator, arrived: Operator) -> bool:
    """True if `arrived` says that the contribution just made was the last one to its edge."""
    return (
        accumulate.kind == "accumulate" and arrived.kind == "arrived"
        and accumulate.attrs["edge"] == arrived.attrs["edge"] and accumulate.attrs["certain"]
    )


def _looks_at_tensors(operator: Operator) -> bool:
    return operator.kind == "python" and getattr(operator.attrs["call"][0], "looks_at_tensors", False) is True


def _all_reads(operator: Operator) -> Iterator[Value]:
    """Values that an operator reads, blocks inside included."""
    yield from operator.reads()
    for block in operator.blocks:
        yield from block.outputs
        for inner in block.operators:
            yield from _all_reads(inner)


def forward_source(
    name: str, block: Block, saved: dict[Block, tuple[Value, ...]], records: frozenset[Value],
    outputs: Sequence[Value], tensors: Sequence[Value], hook_points: dict[Value, Value], plan: InPlacePlan,
    checks: bool = False, turn_tensors: dict[Value, int] | None = None,
) -> Source:
    """The function ``name(run, *objects)``: computes, keeps in `run.saved` what backward needs."""
    w = FunctionWriter(name, saved, records, outputs, tensors, hook_points, checks)
    w.top_saved = w.kept_of(block)
    if turn_tensors is not None:
        w.turn_tensors, w.may_be_asked = turn_tensors, bool(w.top_saved)
    w.own_sums = _own_sums(block)
    _begin(w, block, tensors)
    w.use_plan(plan, w.own_inputs)
    w.block(block)
    return w.source


def _begin(w: FunctionWriter, block: Block, tensors: Sequence[Value]) -> None:
    """The first lines: arrays are taken from the tensors here, so that nobody around the function holds them."""
    of_tensors = set(tensors)
    objects = [w.name(value) for value in block.inputs if value not in of_tensors]
    w.source.lines.append(f"def {w.source.name}({', '.join(['run', *objects])}):")
    read = {value for operator in block.operators for value in _all_reads(operator)}
    read.update(w.top_saved)
    arrays = [(number, value) for number, value in enumerate(tensors) if value in read]
    if arrays:
        w.line("tensors = run.tensors")
    for number, value in arrays:
        w.line(f"{w.name(value)} = tensors[{number}].data")
    w.keeps_tensors = any(map(_looks_at_tensors, walk_operators(block)))
    if w.keeps_tensors:
        w.line("alive = []")
    w.own_inputs = tuple(value for _, value in arrays)


def backward_source(
    name: str, block: Block, forward: Block, saved: dict[Block, tuple[Value, ...]], outputs: Sequence[Value],
    tensors: Sequence[Value], contiguous: set[Value], checks: bool = False,
) -> tuple[Source, InPlacePlan]:
    """The function ``name(run, walk, given)``, and what it computes in place.

    It sends gradients to the edges of `run`.  `given` holds the saved values and the gradients of the outputs; it is
    emptied, so that each array goes with its last use.
    """
    w = FunctionWriter(name, saved, frozenset(), outputs, tensors, checks=checks)
    w.source.lines.append(f"def {name}(run, walk, given):")
    w.line(f"{', '.join(['saved', *map(w.name, block.inputs)])}, = given; given.clear()")
    w.given[block] = saved.get(forward, ())
    w.own_inputs = tuple(block.inputs)
    w.unpack(w.given[block], "saved")
    w.line("del saved")
    plain = [*block.inputs, *(value for value in w.given[block] if value in contiguous)]
    plan = plan_in_place(block, plain)
    w.use_plan(plan, plain)
    w.block(block)
    w.line("return ()")
    return w.source, plan
