"""Program -> Python source over NumPy: one flat function, control flow as real `if` and `while`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from d2s.core.op import Op
from d2s.static.program import Block, Operator, Value, values_in, walk_operators
from d2s.static.runtime import RUNTIME

_INDENT = "    "

__all__ = ["BUILT_IN", "FunctionWriter", "Source", "backward_source", "forward_source"]


class Source:
    """The text of one generated function and the objects its names stand for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {"np": np}
        self.locations: dict[int, Operator] = {}

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
    """

    def __init__(
        self,
        name: str,
        saved: dict[Block, tuple[Value, ...]],
        records: frozenset[Value] = frozenset(),
        outputs: Sequence[Value] = (),
        tensors: Sequence[Value] = (),
        hook_points: dict[Value, Value] | None = None,
    ) -> None:
        self.source = Source(name)
        self.saved = saved
        self.records = records
        self.output_numbers = {value: number for number, value in reversed(list(enumerate(outputs)))}
        self.tensor_numbers = {value: number for number, value in enumerate(tensors)}
        self.hook_points = hook_points or {}
        self.names: dict[Value, str] = {}
        self.counts: dict[str, int] = {}
        self.taken: set[str] = {*RUNTIME, "np", "run", "walk", "saved"}
        self.source.namespace.update(RUNTIME)
        self.constants: dict[Any, str] = {}
        # The number of the turn in which backward is, by loop.
        self.turn_numbers: dict[Operator, str] = {}
        self.depth = 1
        self.kept: list[Any] = []
        # Regions around the current line, for a `return` inside: what to write for each, innermost last.
        # What the function returns at its end.
        self.results: frozenset[Value] = frozenset()
        # Saved values by the block of the backward Program that unpacks them.
        self.given: dict[Block, tuple[Value, ...]] = {}
        self.top_saved: tuple[Value, ...] = ()
        self.runs_backward = False
        self.open_records: list[Callable[[], None]] = []

    # --- names and expressions ---------------------------------------------------------------------------------

    def name(self, value: Value) -> str:
        """The Python name of a value."""
        if value.is_constant:
            return self.literal(value.constant)
        found = self.names.get(value)
        if found is None:
            found = self.names[value] = self.fresh(value.name)
        return found

    def fresh(self, base: str) -> str:
        clean = re.sub(r"\W", "_", base) or "v"
        if clean[0].isdigit() or keyword.iskeyword(clean):
            clean = f"v_{clean}"
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
        self.source.lines.append(_INDENT * self.depth + text)
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

    def pack_defined(self, values: Iterable[Value], *first: Any) -> str:
        """A tuple of values, with None for those that are not computed yet."""
        return self.expression((*first, *(value if value in self.names else None for value in values)))

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
                _finish(self, operator)
            else:
                self.operator(operator)
            if operator.kind not in ("return", "raise"):
                self.let_go(dying.get(position, ()))

    def operator(self, operator: Operator) -> None:
        writer = _WRITERS.get(operator.kind)
        if writer is not None:
            writer(self, operator)
        else:
            assert operator.op is not None, operator.kind
            self.assign(operator, self.call(operator.op, operator))

    def last_uses(self, block: Block) -> dict[int, list[Value]]:
        """For each position: arrays made in this block, or saved for it, that nothing after that operator reads."""
        last: dict[Value, int] = {value: 0 for value in self.given.get(block, ())}
        for position, operator in enumerate(block.operators):
            for value in _all_reads(operator):
                if value in last:
                    last[value] = position
            for value in operator.outputs:
                if value.is_tensor:
                    last[value] = position
        kept = {*block.outputs, *self.results, *self.saved.get(block, ())} - set(self.given.get(block, ()))
        found: dict[int, list[Value]] = {}
        for value, position in last.items():
            if value not in kept:
                found.setdefault(position, []).append(value)
        return found

    def let_go(self, values: Iterable[Value]) -> None:
        """Delete names, on the line of the operator that was the last to read them."""
        names = [self.names[value] for value in values if value in self.names and not value.is_constant]
        if names:
            text, mark, comment = self.source.lines[-1].partition("  # ")
            if self.source.lines[-1].startswith(_INDENT * self.depth) and text[len(_INDENT) * self.depth] != " ":
                self.source.lines[-1] = f"{text}; del {', '.join(names)}{mark}{comment}"
            else:
                self.line(f"del {', '.join(names)}")

    def call(self, op: Op, operator: Operator) -> str:
        """The NumPy expression of one op."""
        inputs = [self.name(value) for value in operator.inputs]
        if op.template is not None and not operator.attrs:
            return op.template.format(*inputs)
        attrs = [f"{name}={self.expression(value)}" for name, value in operator.attrs.items()]
        return f"{self.bind(op.forward, op.name + '_op')}({', '.join(inputs + attrs)})"

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


def _cond(w: FunctionWriter, operator: Operator) -> None:
    orelse = operator.blocks[1]
    record = operator.record
    forward: Operator | None = operator.attrs.get("of")
    keep = record in w.records

    def note(block: Block, taken: bool) -> None:
        if keep:
            assert record is not None
            w.line(f"{w.name(record)} = {w.pack_defined(w.saved.get(block, ()), taken)}")

    def branch(position: int, taken: bool) -> None:
        block = operator.blocks[position]
        w.open_records.append(lambda: note(block, taken))
        start(position)
        w.nested(block, lambda: finish(block, taken))
        w.open_records.pop()

    def finish(block: Block, taken: bool) -> None:
        if not (block.operators and block.operators[-1].kind in ("return", "raise")):
            note(block, taken)
            w.bindings(operator.outputs, block.outputs)

    def start(position: int) -> None:
        if forward is not None:
            values = w.saved.get(forward.blocks[position], ())
            if values:
                w.depth += 1
                w.unpack(values, f"{w.name(operator.attrs['record'])}[1:]")
                w.depth -= 1

    w.line(f"if {w.name(operator.inputs[0])}:", operator)
    branch(0, True)
    if orelse.operators or operator.outputs or keep or (forward and w.saved.get(forward.blocks[1])):
        w.line("else:")
        branch(1, False)


def _while(w: FunctionWriter, operator: Operator) -> None:
    test, body = operator.blocks
    record = operator.record
    keep = record in w.records
    w.bindings(body.inputs, operator.inputs)
    for inner, outer in zip(test.inputs, body.inputs, strict=True):
        w.names[inner] = w.name(outer)
    if keep:
        assert record is not None
        w.line(f"{w.name(record)} = []")
    w.line("while True:", operator)
    w.depth += 1
    w.block(test)
    w.line(f"if not {w.name(test.outputs[0])}:")
    w.line(f"{_INDENT}break")
    w.block(body)
    if keep:
        assert record is not None
        w.line(f"{w.name(record)}.append({w.pack(w.saved.get(body, ()))})")
    w.bindings(body.inputs, body.outputs)
    w.depth -= 1
    w.bindings(operator.outputs, body.inputs)


def _reversed_turns(w: FunctionWriter, operator: Operator) -> None:
    block, = operator.blocks
    forward: Operator = operator.attrs["of"]
    w.bindings(block.inputs, operator.inputs)
    turn, turns = w.fresh("turn"), w.name(operator.attrs["record"])
    if any(inner.kind == "is_first_turn" and inner.attrs["loop"] is forward for inner in walk_operators(block)):
        number = w.turn_numbers[forward] = w.fresh("number")
        w.line(f"for {number} in range(len({turns}) - 1, -1, -1):", operator)
        w.line(f"{_INDENT}{turn} = {turns}[{number}]")
    else:
        w.line(f"for {turn} in reversed({turns}):", operator)
    w.depth += 1
    w.unpack(w.saved.get(forward.blocks[1], ()), turn)
    w.given[block] = ()
    w.block(block)
    w.bindings(block.inputs, block.outputs)
    if not block.operators and not block.inputs:
        w.line("pass")
    w.depth -= 1
    w.bindings(operator.outputs, block.inputs)


def _python(w: FunctionWriter, operator: Operator) -> None:
    function, args, kwargs = operator.attrs["call"]
    parts = [w.expression(arg) for arg in args]
    parts += [f"{name}={w.expression(value)}" for name, value in kwargs.items()]
    called = w.name(function) if isinstance(function, Value) else w.bind(function, getattr(function, "__name__", "f"))
    if operator.effect and not _is_own(function):
        w.assign(operator, f"outside({', '.join([called, *parts])})")
    else:
        w.assign(operator, f"{called}({', '.join(parts)})")


def _is_own(function: Any) -> bool:
    """True for functions of d2s itself, which compute without NumPy or call the user's code by `outside`."""
    return getattr(function, "__module__", "").startswith("d2s.operators.") if isinstance(function, FunctionType) else (
        isinstance(function, type))


def _py_func(w: FunctionWriter, operator: Operator) -> None:
    function = w.bind(operator.attrs["function"], "function")
    needed = operator.attrs.get("needed", (True,) * len(operator.outputs))
    results = tuple((value.name, value.spec, need) for value, need in zip(operator.outputs, needed, strict=True))
    w.assign(operator, f"py_func({function}, {w.pack(operator.inputs)}, {w.bind(results, 'results')})")


def _py_layer(w: FunctionWriter, operator: Operator) -> None:
    layer = w.bind(operator.attrs["layer"], operator.attrs["layer"].__name__)
    args, kwargs = w.expression(operator.attrs["args"]), w.expression(operator.attrs["kwargs"])
    w.assign(operator, f"py_layer({layer}, {args}, {kwargs})")


def _py_layer_backward(w: FunctionWriter, operator: Operator) -> None:
    layer = w.bind(operator.attrs["layer"], operator.attrs["layer"].__name__)
    context, *grads = map(w.name, operator.inputs)
    specs = ", ".join(w.bind(operator.attrs[name], name) for name in ("outputs", "inputs"))
    w.assign(operator, f"py_layer_backward({layer}, {context}, {specs}, [{', '.join(grads)}])")


def _save(w: FunctionWriter, condition: str = "") -> None:
    """Keep what backward needs, as far as it is computed."""
    for write in reversed(w.open_records):
        write()
    if w.top_saved:
        w.line(f"{condition}run.saved = {w.pack_defined(w.top_saved)}")


def _backward(w: FunctionWriter, operator: Operator) -> None:
    _save(w)
    tensor, *args = map(w.expression, operator.attrs["call"])
    w.line(f"{tensor}.backward({', '.join(args)})", operator)
    w.runs_backward = True


def _return(w: FunctionWriter, operator: Operator) -> None:
    _save(w, "if not run.released: " if w.runs_backward else "")
    w.line(f"return {w.expression(operator.attrs['result'])}", operator)


def _raise(w: FunctionWriter, operator: Operator) -> None:
    w.line(f"raise_again({w.bind(operator.attrs['error'], 'error')})", operator)


def _plain(pattern: str) -> Callable[[FunctionWriter, Operator], None]:
    """A writer that fills a pattern: {0} {1} the inputs, {run} nothing else."""

    def write(w: FunctionWriter, operator: Operator) -> None:
        names = [w.name(value) for value in operator.inputs]
        attrs = {name: w.expression(value) for name, value in operator.attrs.items() if name != "target"}
        w.assign(operator, pattern.format(*names, **attrs))

    return write


def _is_present(w: FunctionWriter, operator: Operator) -> None:
    w.assign(operator, " or ".join(f"{w.name(value)} is not None" for value in operator.inputs))


def _materialise(w: FunctionWriter, operator: Operator) -> None:
    value, = operator.inputs
    tensor = w.tensor_numbers.get(value)
    if tensor is not None:
        w.assign(operator, f"run.tensors[{tensor}]")
        return
    point = w.hook_points.get(value)
    hooks = "None" if point is None else w.name(point)
    w.assign(operator, f"run.tensor({w.name(value)}, {w.output_numbers.get(value)}, {value.stop_gradient}, {hooks})")


def _accumulate(w: FunctionWriter, operator: Operator) -> None:
    name = w.name(operator.inputs[0])
    guard = "" if operator.attrs["certain"] else f"if {name} is not None: "
    method = "contribute" if operator.attrs["counted"] else "accumulate"
    w.line(f"{guard}run.{method}(walk, {operator.attrs['edge']}, {name})  # {operator.attrs['name']}", operator)


def _are_one_line(accumulate: Operator, arrived: Operator) -> bool:
    """True if `arrived` says that the contribution just made was the last one to its edge."""
    return (
        accumulate.kind == "accumulate" and arrived.kind == "arrived"
        and accumulate.attrs["edge"] == arrived.attrs["edge"] and accumulate.attrs["certain"]
    )


def _finish(w: FunctionWriter, operator: Operator) -> None:
    name = w.name(operator.inputs[0])
    w.line(f"run.finish(walk, {operator.attrs['edge']}, {name})  # {operator.attrs['name']}", operator)


def _all_reads(operator: Operator) -> Iterator[Value]:
    """Values that an operator reads, blocks inside included."""
    yield from operator.reads()
    for block in operator.blocks:
        yield from block.outputs
        for inner in block.operators:
            yield from _all_reads(inner)


def _arrived(w: FunctionWriter, operator: Operator) -> None:
    w.line(f"run.arrived(walk, {operator.attrs['edge']})  # {operator.attrs['name']}", operator)


def _contributed(w: FunctionWriter, operator: Operator) -> None:
    w.line(f"run.contributed(walk, {operator.attrs['edge']})  # {operator.attrs['name']}", operator)


def _call_hooks(w: FunctionWriter, operator: Operator) -> None:
    point = w.name(operator.inputs[1]) if len(operator.inputs) > 1 else "None"
    attrs = operator.attrs
    w.assign(
        operator,
        f"run.call_hooks(walk, {w.name(operator.inputs[0])}, {point}, {attrs['output']}, {attrs['captured']})",
    )


_WRITERS: dict[str, Callable[[FunctionWriter, Operator], None]] = {
    "cond": _cond,
    "while": _while,
    "reversed_turns": _reversed_turns,
    "python": _python,
    "py_func": _py_func,
    "py_layer": _py_layer,
    "py_layer_backward": _py_layer_backward,
    "backward": _backward,
    "reload": _plain("{0}.data"),
    "return": _return,
    "raise": _raise,
    "constant": _plain("{0}"),
    "stop_gradient": _plain("{0}"),
    "replace": _plain("{1}"),
    "leaf": _plain("run.leaf({0})"),
    "size": _plain("{0}.shape[{axis}]"),
    "item": _plain("{0}.item(*{index})"),
    "array_of": _plain("np.asarray({0})"),
    "to_array": _plain("{dtype}.type({0})"),
    "check_bound": _plain("check_bound({0}, {name})"),
    "materialise": _materialise,
    "hook_point": lambda w, o: w.line(f"{w.name(o.outputs[0])} = HookPoint()", o),
    "register_hook": lambda w, o: w.assign(o, f"register_hook({w.name(o.inputs[0])}, {w.expression(o.attrs['hook'])})"),
    "is_present": _is_present,
    "modified_in_place": _plain("modified_in_place({op}, {shape})"),
    "check_input": _plain("run.check_input({number}, {op})"),
    "check_output": _plain("run.check_output({number}, {op})"),
    "branch_of": _plain("{0}[0]"),
    "has_turns": _plain("bool({0})"),
    "is_first_turn": lambda w, o: w.assign(o, f"{w.turn_numbers[o.attrs['loop']]} == 0"),
    "zeros_like": _plain("np.zeros_like({0})"),
    "or_zeros": _plain("np.zeros_like({1}) if {0} is None else {0}"),
    "add_present": _plain("add_present({0}, {1})"),
    "accumulate": _accumulate,
    "accumulate_leaf": _plain("run.accumulate_leaf(walk, {0}, {1})"),
    "arrived": _arrived,
    "contributed": _contributed,
    "call_hooks": _call_hooks,
}

BUILT_IN = frozenset(_WRITERS)


def forward_source(
    name: str, block: Block, saved: dict[Block, tuple[Value, ...]], records: frozenset[Value],
    outputs: Sequence[Value], tensors: Sequence[Value], hook_points: dict[Value, Value],
) -> Source:
    """The function ``name(run, *inputs)``: computes, keeps in `run.saved` what backward needs."""
    w = FunctionWriter(name, saved, records, outputs, tensors, hook_points)
    inputs = [w.name(value) for value in block.inputs]
    w.source.lines.append(f"def {name}({', '.join(['run', *inputs])}):")
    w.top_saved = saved.get(block, ())
    w.block(block)
    return w.source


def backward_source(
    name: str, block: Block, forward: Block, saved: dict[Block, tuple[Value, ...]], outputs: Sequence[Value],
    tensors: Sequence[Value], results: Sequence[Value] = (),
) -> Source:
    """The function ``name(run, walk, saved, *gradients)``: sends gradients to the edges of `run`."""
    w = FunctionWriter(name, saved, frozenset(), outputs, tensors)
    inputs = [w.name(value) for value in block.inputs]
    w.source.lines.append(f"def {name}({', '.join(['run', 'walk', 'saved', *inputs])}):")
    w.results = frozenset(results)
    w.given[block] = saved.get(forward, ())
    w.unpack(w.given[block], "saved")
    w.line("del saved")
    w.block(block)
    w.line(f"return {w.pack(results)}")
    return w.source
