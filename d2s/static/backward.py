"""`append_backward`: the gradient of a Program as another Program, recorded from the rules of the op table.

The order is that of the eager walk: operators in reverse, at each one the hooks of its outputs on their complete
gradients, then the rules of all its inputs, then the contributions, first argument first.  Contributions to edges
that leave the Program go to the walk one by one (`accumulate`), so that sums are made in the order of eager mode;
`arrived` says that the last one is in.

A gradient that may be absent at run time (only some path of control flow contributes) is None then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from d2s.core.interpreter import GradModeBlock, use_interpreter
from d2s.ops.creation import zeros
from d2s.ops.reduction import unbroadcast, unbroadcast_like
from d2s.static.aliases import Alias, Aliases, Question
from d2s.static.backward_regions import Gradient, Gradients, Loop, choose, cond, merge
from d2s.static.backward_users import through_hooks, through_py_func, through_py_layer
from d2s.static.builder import StaticInterpreter
from d2s.static.keeping import not_computed_anew, records_of_choices, records_read, saved_values
from d2s.static.program import Block, Operator, Program, Value, map_values
from d2s.static.rule_reads import RuleReads
from d2s.static.useful import useful_values
from d2s.static.variable import ObjectVariable, Variable


@dataclass
class BackwardPlan:
    """A backward Program and how it joins the walk.

    Attributes
    ----------
    program : Program
        Its inputs are the gradients of the outputs in `reached`, in order.
    reached : tuple of int
        Outputs of the forward Program that have a gradient.
    saved : dict of Block to tuple of Value
        What a run has to keep for it.
    records : set of Value
        Records of control flow that a run has to keep for it.
    tensors_read : tuple of int
        Tensors of the caller whose values a rule may read.
    outputs_read : set of int
        Outputs whose values a rule may read: a write to such a tensor before backward is an error.
    conditional : tuple of int
        Edges to which the number of contributions depends on the path taken.
    certain : set of int
        Edges to which there are contributions on every path.
    visited : set of Operator
        Operators of the forward Program that this backward uses up.
    knows_writes : bool
        True if in every run the same writes in place stand between the reading of a value and backward.
    """

    program: Program
    reached: tuple[int, ...]
    saved: dict[Block, tuple[Value, ...]] = field(default_factory=dict)
    records: frozenset[Value] = frozenset()
    tensors_read: tuple[int, ...] = ()
    outputs_read: frozenset[int] = frozenset()
    conditional: tuple[int, ...] = ()
    certain: frozenset[int] = frozenset()
    visited: frozenset[Operator] = frozenset()
    knows_writes: bool = True


def append_backward(
    program: Program,
    edges: Sequence[Value],
    reached: Iterable[int],
    wanted: Iterable[int] | None = None,
    tensors: Sequence[Value] = (),
) -> BackwardPlan:
    """Derive the backward Program of `program`.

    Parameters
    ----------
    program : Program
        The forward Program.
    edges : sequence of Value
        Inputs of the Program whose gradients leave it, by edge number.
    reached : iterable of int
        Outputs of the Program for which a gradient will be given.
    wanted : iterable of int, optional
        Numbers of the edges that are wanted; all by default.  Gradients that lead to none are not computed.
    tensors : sequence of Value
        Inputs that are Tensor objects of the caller, by number: what the caller writes to them is noticed.
    """
    reached = tuple(sorted(reached))
    # What is one of several tensors in a run may be any of these.
    conditional = frozenset(number for number, value in enumerate(edges) if value in program.identities)
    while True:
        result = Program(f"{program.name}@BACKWARD")
        builder = Backward(program, result, edges, wanted, conditional, tensors)
        builder.run(reached)
        if builder.met_in_regions <= conditional:
            break
        # Now that it is known which edges have to be counted.
        conditional |= builder.met_in_regions
    reads = builder.reads
    records = frozenset((*records_read(result), *records_of_choices(program), *reads.records_of_writes()))
    return BackwardPlan(
        result, reached, saved_values(
            program, result, (
                *records, *builder.sized, *builder.leaves, *reads.versions_read(),
                *not_computed_anew(program))), records,
        reads.sharing_with_read(reads.tensors), frozenset(reads.sharing_with_read(builder.output_numbers)),
        tuple(sorted(conditional)), builder.certain, frozenset(builder.visited), reads.writes.are_certain)


class _Unsaved:
    """Shape and dtype of a value of which some size is known only at run time."""

    def __init__(self, variable: Variable) -> None:
        self._variable = variable
        self.dtype = variable.dtype
        self.ndim = variable.spec.ndim

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self._variable.shape)


class Backward:
    """State of one derivation.

    Attributes
    ----------
    may_follow : bool
        True if another derivation may follow, of what is recorded now.
    """

    may_follow = False

    def __init__(
        self, program: Program, result: Program, edges: Sequence[Value],
        wanted: Iterable[int] | None, conditional: frozenset[int] = frozenset(), tensors: Sequence[Value] = (),
    ) -> None:
        self.forward = program
        # Edges whose contributions are counted when the Program runs, and those met on a path that may not be taken.
        self.conditional = conditional
        self.met_in_regions: set[int] = set()
        # What the operator being visited has contributed to; None while gradients are only handed on.
        self.contributed: list[Value] | None = None
        self.record = StaticInterpreter(result)
        self.edges = {value: number for number, value in enumerate(edges)}
        self.edge_names = [value.name for value in edges]
        again = {value: self.edges[first] for value, first in program.same_edge.items() if first in self.edges}
        self.edges.update(again)
        chosen = None if wanted is None else set(wanted)
        self.wanted = {value for value, number in self.edges.items() if chosen is None or number in chosen}
        # Values through which no gradient passes.
        self.blocked: set[Value] = set()
        self.output_numbers: dict[Value, int] = {}
        for number, value in enumerate(program.outputs):
            self.output_numbers.setdefault(value, number)
        # Values that a run keeps for their size.
        self.sized: set[Value] = set()
        # Tensors of the leaves made in the run: a run with any is walked on the nodes that its ops would have made.
        self.leaves: list[Value] = []
        self.visited: set[Operator] = set()
        self.hook_points: dict[Value, Value] = {}
        # Hook points in the order in which something is registered on them.
        self.registered: dict[Value | None, int] = {}
        for operator in program.all_operators():
            if operator.kind == "hook_point":
                self.hook_points[operator.inputs[0]] = operator.outputs[0]
            elif operator.kind == "register_hook":
                self.registered.setdefault(operator.inputs[0], len(self.registered))
        aliases = Aliases(program, set(self.edges), {*self.edges, *self.hook_points})
        self.aliases, self.homes, self.named = aliases.found, aliases.homes, aliases.named
        self.identities = program.identities
        self.sums: Value | None = None
        # The outputs, under the value that a tensor had before writes that have left its history: there its hooks are
        # run.
        self.hooked_outputs = dict(self.output_numbers)
        for value, number in self.output_numbers.items():
            self.hooked_outputs.setdefault(self.named(value), number)
        # Gradients that are given, by the block in which their values are defined.
        self.seeds: dict[Block, list[tuple[Value, Gradient]]] = {}
        self._answers: dict[Question, Value] = {}
        self.useful = useful_values(program, self.wanted, wanted is not None)
        self.reads = RuleReads(
            program, self.needs, self.has_history, self.output_numbers,
            {value: number for number, value in enumerate(tensors)})
        # For each edge, where it is said that its last contribution is in.
        self.arrivals: dict[int, Operator] = {}
        # Where it was said too early: dropped at the end, as each one would be looked for among all operators.
        self.superseded: set[Operator] = set()
        self.certain: frozenset[int] = frozenset()

    # --- the derivation ----------------------------------------------------------------------------------------

    def needs(self, value: Value) -> bool:
        return value in self.useful and self.has_history(value)

    def has_history(self, value: Value) -> bool:
        return not (value.stop_gradient or value.is_constant or value in self.blocked)

    def run(self, reached: Sequence[int]) -> None:
        grads: Gradients = {}
        with GradModeBlock(False), use_interpreter(self.record):
            seeds = []
            for number in reached:
                output = self.forward.outputs[number]
                seed = self.record.new_value(f"{output.name}@GRAD", output.spec)
                seeds.append(seed)
            self.record.program.block.inputs = tuple(seeds)
            if self.identities:
                self.sums = self.record.new_value("sums", None, kind=dict)
                self.record.emit("sums_by_identity", (), (self.sums,), effect=True)
            for number, seed in zip(reached, seeds, strict=True):
                value = self.forward.outputs[number]
                self.seeds.setdefault(self.homes[value], []).append((value, Gradient(seed)))
            self.block(self.forward.block, grads)
            self.finish_unused()

    def finish_unused(self) -> None:
        """Edges to which nothing here contributes are finished before all others."""
        self.certain = frozenset(self.arrivals)
        unused = dict.fromkeys(self.edges.values()).keys() - self.certain - self.conditional
        operators = self.record.program.block.operators
        count = len(operators)
        for number in sorted(unused):
            self.finish(number)
        operators[:] = [*operators[count:], *(one for one in operators[:count] if one not in self.superseded)]

    def block(self, forward: Block, grads: Gradients) -> None:
        """Visit the operators of a block in reverse."""
        for value, seed in self.seeds.get(forward, ()):
            self.accumulate(grads, value, seed)
        for operator in reversed(forward.operators):
            with self.record.at(operator.location):
                self.operator(operator, grads)

    def finish(self, number: int) -> None:
        """Say that the last contribution to an edge is in, as far as is known now."""
        if number in self.arrivals:
            self.superseded.add(self.arrivals[number])
        attrs = {"edge": number, "name": self.edge_names[number]}
        self.arrivals[number] = self.record.emit("arrived", (), (), attrs, effect=True)

    def operator(self, operator: Operator, grads: Gradients) -> None:
        if operator.kind == "cond":
            cond(self, operator, grads)
            return
        if operator.kind == "while":
            Loop(self, operator, grads).run(grads)
            return
        self.take_sums(operator, grads)
        if any(out in grads for out in operator.outputs):
            certain = any(out in grads and grads[out].certain for out in operator.outputs)
            if certain:
                self.propagate(operator, grads)
            else:
                self.if_present(operator, grads)

    def take_sums(self, operator: Operator, grads: Gradients) -> None:
        """Take what has been summed up, by identity, for the tensors that an operator has made."""
        for out in operator.outputs:
            identity = self.identities.get(out)
            if identity is not None and out not in self.edges and self.needs(out):
                assert self.sums is not None
                g = self.record.new_value(f"{out.name}@GRAD", out.spec)
                self.record.emit("take_by_identity", (self.sums, identity), (g,), effect=True)
                grads[out] = Gradient(g, False)

    def if_present(self, operator: Operator, grads: Gradients) -> None:
        """Propagate through `operator` only if a gradient of its outputs is there."""
        present = self.record.new_value("present", None, kind=bool)
        given = tuple(grads[out].value for out in operator.outputs if out in grads)
        self.record.emit("is_present", given, (present,))
        inner = dict(grads)
        if len(operator.outputs) == 1:
            inner[operator.outputs[0]] = Gradient(given[0], True)
        with self.record.new_block() as then:
            self.propagate(operator, inner)
        orelse = Block()
        for out in operator.outputs:
            grads.pop(out, None)
        merge(self, lambda: present, [(then, inner), (orelse, dict(grads))], grads)

    def propagate(self, operator: Operator, grads: Gradients) -> None:
        """Hooks of the outputs, rules, contributions; then those edges are told that one more is in."""
        self.contributed = []
        self.contributions(operator, grads)
        contributed, self.contributed = self.contributed, None
        for value in contributed:
            self.arrive(value)

    def arrive(self, value: Value) -> None:
        """Say that a contribution to `value` is in, if that is an edge in this run."""
        number, alias, identity = self.edges.get(value), self.aliases.get(value), self.identities.get(value)
        if number is not None:
            if self.record.is_nested:
                self.met_in_regions.add(number)
            if number in self.conditional:
                attrs = {"edge": number, "name": value.name}
                self.record.emit("contributed", (), (), attrs, effect=True)
            elif not self.record.is_nested:
                self.finish(number)
        elif identity is not None:
            self.record.emit("contributed_by_identity", (identity,), (), {"name": value.name}, effect=True)
        elif alias is not None and self.may_be_edge(value):

            def on(source: Value | None) -> Callable[[Gradients], None]:
                return lambda inner: None if source is None else self.arrive(source)

            choose(self, alias.question, on(alias.yes), on(alias.no), {})

    def may_be_edge(self, value: Value) -> bool:
        """True if `value` is an edge in some runs."""
        alias = self.aliases.get(value)
        sources = () if alias is None else (alias.yes, alias.no)
        return value in self.edges or any(source is not None and self.may_be_edge(source) for source in sources)

    def contributions(self, operator: Operator, grads: Gradients) -> None:
        """Hooks of the outputs of an operator, its rules, and what they give to its inputs."""
        self.visited.add(operator)
        self.reads.check_unwritten(self.record, operator)
        found = self.all_hooked(operator, grads)
        if any(out in self.hook_points or out in self.hooked_outputs for out in operator.outputs):
            # A hook may have written to what the rule is about to read.
            self.reads.check_unwritten(self.record, operator)
        op = operator.op
        if op is None:
            if operator.kind == "leaf":
                self.leaves.append(operator.outputs[1])
            elif operator.kind in ("add_present", "or_zeros"):
                # What is not there goes on to nobody.
                for value in operator.inputs[: 2 if operator.kind == "add_present" else 1]:
                    self.contribute(grads, value, found[0])
            elif operator.kind == "py_func":
                through_py_func(self, operator, found, grads)
            elif operator.kind == "py_layer":
                through_py_layer(self, operator, found[1:], grads)
            elif operator.kind in ("call_hooks", "through_hooks"):
                through_hooks(self, operator, found, grads)
            return
        needs = [self.needs(value) and op.differentiates(index) for index, value in enumerate(operator.inputs)]
        if not any(needs):
            return
        read, reads_out = self.reads.flags(operator)
        self.reads.values.update(value for value, is_read in zip(operator.inputs, read, strict=True) if is_read)
        self.reads.values.update(operator.outputs if reads_out else ())
        inputs = [
            self.variable(value) if is_read or value.is_constant else self.unsaved(value)
            for value, is_read in zip(operator.inputs, read, strict=True)
        ]
        several = operator.several
        outs = tuple(self.variable(out) for out in operator.outputs) if reads_out else None
        if several:
            # Another backward may reach only some of the outputs: the others are zeros of their size.
            self.sized.update(out for out in operator.outputs if out.spec is not None and not out.spec.is_static)
            gs = tuple(
                self.zeros_like(out) if g is None else self.or_zeros(g, out)
                for g, out in zip(found, operator.outputs, strict=True)
            )
            contributions = op.gradients(gs, outs, inputs, self.attrs_of(operator), needs)
        else:
            assert found[0] is not None
            out = outs[0] if outs is not None else None
            contributions = op.gradients(
                self.variable(found[0].value), out, inputs, self.attrs_of(operator), needs)
        for value, contribution in zip(operator.inputs, contributions, strict=True):
            if contribution is not None:
                self.contribute(grads, value, Gradient(self.record.value_of(contribution)))

    def all_hooked(self, operator: Operator, grads: Gradients) -> list[Gradient | None]:
        """Gradients of the outputs after their hooks; outputs in the order in which hooks were registered first."""
        last = len(self.registered)
        positions = sorted(
            range(len(operator.outputs)),
            key=lambda i: self.registered.get(self.hook_points.get(operator.outputs[i]), last))
        found: dict[int, Gradient | None] = {}
        for position in positions:
            out = operator.outputs[position]
            found[position] = self.hooked(out, grads.pop(out, None), operator)
        return [found[position] for position in range(len(operator.outputs))]

    def attrs_of(self, operator: Operator) -> dict[str, Any]:
        """Attributes for the rules: run-time numbers as symbolic objects."""
        return {name: map_values(value, lambda v: ObjectVariable(self.record, v))
                for name, value in operator.attrs.items()}

    # --- gradients ---------------------------------------------------------------------------------------------

    def variable(self, value: Value) -> Variable:
        return Variable(self.record, value)

    def unsaved(self, value: Value) -> Any:
        """What a rule gets for an input whose values it does not read: shape and dtype."""
        assert value.spec is not None
        return value.spec if value.spec.is_static else _Unsaved(self.variable(value))

    def zeros_like(self, value: Value) -> Variable:
        """Zeros in the shape of `value`, which need not be kept for that if its shape is known."""
        assert value.spec is not None
        if value.spec.is_static:
            found: Variable = zeros(value.spec.shape, value.spec.dtype)
            return found
        out = self.record.new_value("zeros", value.spec)
        self.record.emit("zeros_like", (value,), (out,))
        return self.variable(out)

    def or_zeros(self, g: Gradient, like: Value) -> Variable:
        if g.certain:
            return self.variable(g.value)
        out = self.record.new_value(g.value.name, like.spec, g.value.stop_gradient)
        # A value is kept for its size only where that is not known.
        assert like.spec is not None
        sized = self.record.value_of(self.zeros_like(like)) if like.spec.is_static else like
        self.record.emit("or_zeros", (g.value, sized), (out,))
        return self.variable(out)

    def hooked(self, value: Value, g: Gradient | None, operator: Operator) -> Gradient | None:
        """The gradient of `value` after its hooks."""
        point, number = self.hook_points.get(value), self.hooked_outputs.get(value)
        if point is None and number is None:
            return g
        if g is None:
            # Another output of the same op was used: this one has a zero gradient, and its hooks see it.
            if len(operator.outputs) == 1 or value.stop_gradient:
                return None
            g = Gradient(self.zeros_like(value).value)
        elif sum(out.is_tensor for out in operator.outputs) > 1 and not value.stop_gradient:
            assert value.spec is not None
            if not value.spec.is_static:
                self.sized.add(value)
            if not g.certain:
                # The same, if that is so in this run.
                g = Gradient(self.or_zeros(g, value).value)
        out = self.record.new_value(g.value.name, value.spec)
        inputs = (g.value,) if point is None else (g.value, point)
        attrs = {"output": number, "name": value.name}
        self.record.emit("call_hooks", inputs, (out,), attrs, effect=True)
        return Gradient(out, g.certain)

    def contribute(self, grads: Gradients, value: Value, g: Gradient | None) -> None:
        """Un-broadcast one contribution and add it to the gradient of `value`."""
        if g is None or not self.needs(value) or not self.needs(value := self.named(value)):
            return
        if self.contributed is not None:
            self.contributed.append(value)
        assert value.spec is not None and g.value.spec is not None
        if g.value.spec.shape != value.spec.shape:
            given = self.variable(g.value)
            if value.spec.is_static:
                reduced = unbroadcast(given, value.spec.shape)
            else:
                # Whether a size that only the run knows was broadcast, only the run knows.
                reduced = unbroadcast_like(given, self.variable(value))
            g = Gradient(self.record.value_of(reduced), g.certain)
        self.accumulate(grads, value, g)

    def accumulate(self, grads: Gradients, value: Value, g: Gradient) -> None:
        """Add one contribution to the gradient of `value`, or of the value that it is in this run."""
        if not self.needs(value) or not self.needs(value := self.named(value)):
            return
        alias, identity = self.aliases.get(value), self.identities.get(value)
        if identity is not None and value not in self.edges:
            assert self.sums is not None
            attrs = {"name": value.name, "certain": g.certain, "counted": self.contributed is None}
            self.record.emit("add_by_identity", (self.sums, identity, g.value), (), attrs, effect=True)
            return
        if alias is None:
            self.add(grads, value, g)
            return

        def into(source: Value | None) -> Callable[[Gradients], None]:
            if source is None:
                return lambda inner: self.add(inner, value, g)
            other = self.aliases.get(source)
            if other is not None and other.question == alias.question:
                # Another name of what this region has made: that is known here.
                return lambda inner: self.add(inner, source, g)
            return lambda inner: self.accumulate(inner, source, g)

        choose(self, alias.question, into(alias.yes), into(alias.no), grads)

    def add(self, grads: Gradients, value: Value, g: Gradient) -> None:
        """Add to the gradient that `value` has itself."""
        number = self.edges.get(value)
        if number is not None:
            attrs = {"edge": number, "name": value.name, "certain": g.certain, "counted": self.contributed is None}
            if self.contributed is None:
                self.met_in_regions.add(number)
            self.record.emit("accumulate", (g.value,), (), attrs, effect=True)
            return
        held = grads.get(value)
        if held is None:
            grads[value] = g
            return
        if held.certain and g.certain:
            total = self.record.value_of(self.variable(held.value) + self.variable(g.value))
        else:
            stops = held.value.stop_gradient and g.value.stop_gradient
            total = self.record.new_value(f"{value.name}@GRAD", value.spec, stops)
            self.record.emit("add_present", (held.value, g.value), (total,))
        grads[value] = Gradient(total, held.certain or g.certain)

    def is_alias(self, value: Value, answer: bool) -> bool:
        """True if `value` is a value from elsewhere in runs with this answer."""
        alias: Alias | None = self.aliases.get(value)
        return alias is not None and (alias.yes if answer else alias.no) is not None

    def answer(self, question: Question) -> Value:
        """What the run has recorded on a question."""
        kind, operator = question
        found = self._answers.get(question)
        if found is None or not self.record.in_scope(found):
            found = self.record.new_value(kind.removesuffix("_of"), None, kind=bool)
            self._answers[question] = found
            if kind == "is_first_turn":
                self.record.emit(kind, (), (found,), {"loop": operator})
            else:
                assert operator.record is not None
                self.record.emit(kind, (operator.record,), (found,))
        return found
