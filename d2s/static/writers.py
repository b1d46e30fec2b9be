"""How each built-in operator of a Program is written in generated code."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.interpreter import called_in_mode
from d2s.static.program import Block, Operator, Value, walk_operators

if TYPE_CHECKING:
    from d2s.static.codegen import FunctionWriter

INDENT = "    "

def _cond(w: FunctionWriter, operator: Operator) -> None:
    orelse = operator.blocks[1]
    record = operator.record
    forward: Operator | None = operator.attrs.get("of")
    keep = record in w.records

    def note(block: Block, taken: bool) -> None:
        if keep:
            assert record is not None
            w.line(f"{w.name(record)} = {w.pack_defined(w.kept_of(block), taken)}")

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
            values = w.kept_of(forward.blocks[position])
            if values:
                w.depth += 1
                w.unpack(values, f"{w.name(operator.attrs['record'])}[1:]")
                w.depth -= 1

    w.line(f"if {w.name(operator.inputs[0])}:", operator)
    w.to_come.update(operator.outputs)
    branch(0, True)
    if orelse.operators or operator.outputs or keep or (forward and w.kept_of(forward.blocks[1])):
        w.line("else:")
        branch(1, False)
    w.to_come.difference_update(operator.outputs)


def _while(w: FunctionWriter, operator: Operator) -> None:
    test, body = operator.blocks
    record = operator.record
    keep = record in w.records
    if any(_may_ask(w, inner) for inner in walk_operators(test)):
        # A turn is known when its test is.
        _stop_here(w, operator)
    # How many turns have ended, if somebody may ask for gradients in the middle of one.
    ended = w.fresh("ended") if keep and any(_stops(w, inner) for inner in walk_operators(body)) else ""

    def note(kept: str) -> None:
        assert record is not None
        w.line(f"{w.name(record)}[{ended}:] = [{kept}]" if ended else f"{w.name(record)}.append({kept})")

    w.bindings(body.inputs, operator.inputs)
    for inner, outer in zip(test.inputs, body.inputs, strict=True):
        w.names[inner] = w.name(outer)
    if keep:
        assert record is not None
        w.line(f"{w.name(record)} = []")
    if ended:
        w.line(f"{ended} = 0")
        w.open_records.append(lambda: note(w.pack_defined(w.kept_of(body))))
    w.line("while True:", operator)
    w.depth += 1
    with w.unasked():
        w.block(test)
    w.line(f"if not {w.name(test.outputs[0])}:")
    w.line(f"{INDENT}break")
    w.block(body)
    if keep:
        note(w.pack(w.kept_of(body)))
    if ended:
        w.line(f"{ended} += 1")
        w.open_records.pop()
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
        w.line(f"{INDENT}{turn} = {turns}[{number}]")
    else:
        w.line(f"for {turn} in reversed({turns}):", operator)
    w.depth += 1
    before = len(w.source.lines)
    w.unpack(w.kept_of(forward.blocks[1]), turn)
    w.given[block] = ()
    w.block(block)
    w.bindings(block.inputs, block.outputs)
    if len(w.source.lines) == before:
        w.line("pass")
    w.depth -= 1
    w.bindings(operator.outputs, block.inputs)


# Functions of Python objects that are written as what they are.
_SIGNS: dict[Any, str] = {
    python_operator.add: "+", python_operator.sub: "-", python_operator.mul: "*",
    python_operator.lt: "<", python_operator.le: "<=", python_operator.gt: ">", python_operator.ge: ">=",
    python_operator.eq: "==", python_operator.ne: "!=",
}


def _python(w: FunctionWriter, operator: Operator) -> None:
    function, args, kwargs = operator.attrs["call"]
    parts = [w.expression(arg) for arg in args]
    sign = _SIGNS.get(function) if isinstance(function, BuiltinFunctionType) else None
    told = any(map(_may_be_of_numpy, args))
    if sign is not None and len(parts) == 2 and not operator.effect and not told:
        w.assign(operator, f"{parts[0]} {sign} {parts[1]}")
        return
    parts += [f"{name}={w.expression(value)}" for name, value in kwargs.items()]
    called = w.name(function) if isinstance(function, Value) else w.bind(function, getattr(function, "__name__", "f"))
    if _may_ask(w, operator):
        _stop_here(w, operator)
    if "behind_hooks" in operator.attrs:
        if w.behind_hooks != len(w.source.lines):
            w.line("if run.has_called_hooks:")
        w.line(f"{INDENT}{called}({', '.join(parts)})", operator)
        w.behind_hooks = len(w.source.lines)
    elif "grad_mode" in operator.attrs:
        in_mode = w.bind(called_in_mode, "called_in_mode")
        w.assign(operator, f"outside({in_mode}, {', '.join([str(bool(operator.attrs['grad_mode'])), called, *parts])})")
    elif (operator.effect or told) and not _is_own(function):
        w.assign(operator, f"outside({', '.join([called, *parts])})")
    else:
        w.assign(operator, f"{called}({', '.join(parts)})")


def _may_be_of_numpy(arg: Any) -> bool:
    """True for what NumPy may compute with: it warns, or raises, as the user has set it to."""
    if isinstance(arg, Value):
        return not arg.is_tensor and arg.kind not in _OF_PYTHON
    return isinstance(arg, np.generic | np.ndarray)


_OF_PYTHON = (int, float, bool, complex, str, bytes, tuple, list, dict, type(None))


def _may_ask(w: FunctionWriter, operator: Operator) -> bool:
    """True for a call of the user's code that is not traced: it may call backward."""
    if operator.kind != "python" or not operator.effect or not w.may_be_asked:
        return False
    function = operator.attrs["call"][0]
    return isinstance(function, Value | MethodType) or (isinstance(function, FunctionType) and not _is_own(function))


def _stops(w: FunctionWriter, operator: Operator) -> bool:
    """True for what may differentiate a part of this run before it has ended."""
    return operator.kind in ("backward", "walk") or _may_ask(w, operator)


def _is_own(function: Any) -> bool:
    """True for functions of d2s itself, which compute without NumPy or call the user's code by `outside`."""
    if isinstance(function, FunctionType):
        return str(function.__globals__.get("__name__")).startswith("d2s.operators.")
    return isinstance(function, type) or getattr(function, "computes_nothing", False) is True


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
    w.assign(operator, f"py_layer_backward(run, {layer}, {context}, [{', '.join(grads)}])")


def _save(w: FunctionWriter, condition: str = "") -> None:
    """Keep what backward needs, as far as it is computed."""
    for write in reversed(w.open_records):
        write()
    if w.top_saved:
        w.line(f"{condition}run.saved = {w.pack_defined(w.top_saved)}")
    if w.runs_backward:
        w.line("run.reached = None")


def _stop_here(w: FunctionWriter, operator: Operator) -> None:
    """Let the run know how far it has come, for a backward in the middle of it."""
    _save(w)
    w.line(f"run.reached = {w.bind(operator, 'here')}")
    w.runs_backward = True


def _backward(w: FunctionWriter, operator: Operator) -> None:
    _stop_here(w, operator)
    tensor, *args = map(w.expression, operator.attrs["call"])
    w.line(f"{tensor}.backward({', '.join(args)})", operator)


def _walk(w: FunctionWriter, operator: Operator) -> None:
    _stop_here(w, operator)
    function, tensors, options = operator.attrs["call"]
    named = [f"{name}={w.expression(value)}" for name, value in options.items()]
    called = w.bind(function, function.__name__)
    w.assign(operator, f"outside({called}, {', '.join([w.expression(tensors), *named])})")


def _return(w: FunctionWriter, operator: Operator) -> None:
    _save(w, "if not run.released: " if w.runs_backward else "")
    w.line(f"return {w.expression(operator.attrs['result'])}", operator)


def _raise(w: FunctionWriter, operator: Operator) -> None:
    error = operator.attrs["error"]
    # Of the run, it is made there; of the trace, each run raises another one.
    w.line(f"raise {w.name(error)}" if isinstance(error, Value) else f"raise_again({w.bind(error, 'error')})", operator)


def _plain(pattern: str) -> Callable[[FunctionWriter, Operator], None]:
    """A writer that fills a pattern: {0} {1} the inputs, {run} nothing else."""

    def write(w: FunctionWriter, operator: Operator) -> None:
        names = [w.name(value) for value in operator.inputs]
        attrs = {name: w.expression(value) for name, value in operator.attrs.items() if name != "target"}
        w.assign(operator, pattern.format(*names, **attrs))

    return write


def _check_bound(w: FunctionWriter, operator: Operator) -> None:
    value, = operator.inputs
    function = "check_bound" if value.is_tensor else "check_bound_object"
    w.assign(operator, f"{function}({w.name(value)}, {operator.attrs['name']!r})")


def _is_present(w: FunctionWriter, operator: Operator) -> None:
    w.assign(operator, " or ".join(f"{w.name(value)} is not None" for value in operator.inputs))


def _take(w: FunctionWriter, operator: Operator) -> None:
    w.assign(operator, f"run.take({w.name(operator.inputs[0])}, {w.bind(operator.attrs['spec'], 'spec')})")


def _take_all(w: FunctionWriter, operator: Operator) -> None:
    op, attrs = operator.attrs["op"], w.bind(operator.attrs["attrs"], "attrs")
    w.assign(operator, f"run.take_all({w.bind(op, op.name)}, {w.name(operator.inputs[0])}, {attrs})")


def _materialise(w: FunctionWriter, operator: Operator) -> None:
    value, = operator.inputs
    tensor = w.tensor_numbers.get(value)
    if tensor is not None:
        w.assign(operator, f"run.tensors[{tensor}]")
        return
    point = w.hook_points.get(value)
    hooks = "None" if point is None else w.name(point)
    turn, number, spec = w.turn_tensors.get(operator.outputs[0]), w.output_numbers.get(value), value.spec
    if turn is not None:
        w.assign(operator, f"run.turn_tensor({w.name(value)}, {turn}, {hooks})")
    else:
        if point is None and number is not None and not value.stop_gradient and spec is not None and spec.is_static:
            made = f"run.output({w.name(value)}, {number})"
        else:
            made = f"run.tensor({w.name(value)}, {number}, {value.stop_gradient}, {hooks})"
        w.assign(operator, f"MISSING if {w.name(value)} is None else {made}" if value.maybe_missing else made)
    if w.keeps_tensors and w.depth > 1:
        w.line(f"alive.append({w.name(operator.outputs[0])})")


def _reload(w: FunctionWriter, operator: Operator) -> None:
    tensor, stops = w.name(operator.inputs[0]), operator.attrs.get("stops")
    name = operator.inputs[0].name.partition("@")[0]
    w.assign(operator, f"{tensor}.data" if stops is None else f"run.reload({tensor}, {stops}, {name!r})")


def _rewrite(w: FunctionWriter, operator: Operator) -> None:
    value = operator.inputs[0]
    number, turn = w.output_numbers.get(value), w.turn_tensors.get(operator.outputs[0])
    names = ", ".join(map(w.name, operator.inputs))
    flags = f"{value.stop_gradient}, {bool(operator.attrs['data_only'])}"
    w.assign(operator, f"run.rewrite({names}, {number}, {turn}, {flags})")


def _accumulate(w: FunctionWriter, operator: Operator) -> None:
    name = w.name(operator.inputs[0])
    guard = "" if operator.attrs["certain"] else f"if {name} is not None: "
    method = "contribute" if operator.attrs["counted"] else "accumulate"
    w.line(f"{guard}run.{method}(walk, {operator.attrs['edge']}, {name})  # {operator.attrs['name']}", operator)


def _add_by_identity(w: FunctionWriter, operator: Operator) -> None:
    sums, identity, name = map(w.name, operator.inputs)
    guard = "" if operator.attrs["certain"] else f"if {name} is not None: "
    arguments = f"walk, {sums}, {identity}, {name}, {operator.attrs['counted']}"
    w.line(f"{guard}run.add_by_identity({arguments})  # {operator.attrs['name']}", operator)


def _arrived(w: FunctionWriter, operator: Operator) -> None:
    w.line(f"run.arrived(walk, {operator.attrs['edge']})  # {operator.attrs['name']}", operator)


def _contributed(w: FunctionWriter, operator: Operator) -> None:
    w.line(f"run.contributed(walk, {operator.attrs['edge']})  # {operator.attrs['name']}", operator)


def _call_hooks(w: FunctionWriter, operator: Operator) -> None:
    if len(operator.outputs) > 1:
        grad, point = map(w.name, operator.inputs[:2])
        w.assign(operator, f"run.taped_hooks({grad}, {point})")
        return
    point = w.name(operator.inputs[1]) if len(operator.inputs) > 1 else "None"
    attrs = operator.attrs
    w.assign(
        operator,
        f"run.call_hooks(walk, {w.name(operator.inputs[0])}, {point}, {attrs['output']})",
    )
    w.check_order(w.name(operator.outputs[0]))


def _through_hooks(w: FunctionWriter, operator: Operator) -> None:
    tape, *values = map(w.name, operator.inputs)
    count, is_taped = operator.attrs["grads"], operator.outputs[-1].spec is None
    tensors = w.expression(operator.attrs["tensors"])
    w.assign(operator, f"{tape}.back([{', '.join(values[:count])}], {tensors}, {is_taped})")


def _hooked(w: FunctionWriter, operator: Operator) -> None:
    gradient, point = map(w.name, operator.inputs)
    w.assign(operator, f"run.hooked({gradient}, {point})")
    w.check_order(w.name(operator.outputs[0]))


def _start_sum(w: FunctionWriter, operator: Operator) -> None:
    edge = operator.attrs["edge"]
    w.sums[edge] = w.fresh(f"sum_{edge}")
    w.line(f"{w.sums[edge]} = None", operator)


def _add_to_sum(w: FunctionWriter, operator: Operator) -> None:
    total, name = w.sums[operator.attrs["edge"]], w.name(operator.inputs[0])
    guard = "" if operator.attrs["certain"] else f"if {name} is not None: "
    # In place, where the sum lies in memory as a new one would.
    more = f", out={total} if {total}.flags.c_contiguous else None" if operator.attrs["edge"] in w.own_sums else ""
    w.line(f"{guard}{total} = {name} if {total} is None else np.add({total}, {name}{more})", operator)


def _start_rows(w: FunctionWriter, operator: Operator) -> None:
    rows = operator.attrs["rows"]
    left, right = w.rows[rows] = w.fresh(f"left_{rows}"), w.fresh(f"right_{rows}")
    w.line(f"{left}, {right} = [], []", operator)


def _add_rows(w: FunctionWriter, operator: Operator) -> None:
    left, right = w.rows[operator.attrs["rows"]]
    first, second = map(w.name, operator.inputs)
    w.line(f"{left}.append({first}); {right}.append({second})", operator)


def _product_of_rows(w: FunctionWriter, operator: Operator) -> None:
    left, right = w.rows[operator.attrs["rows"]]
    w.assign(operator, f"product_of_rows({left}, {right})")
    w.line(f"del {left}, {right}")


def _finish(w: FunctionWriter, operator: Operator) -> None:
    edge, name = operator.attrs["edge"], operator.attrs["name"]
    if operator.inputs:
        w.line(f"run.finish_leaf({edge}, {w.name(operator.inputs[0])})  # {name}", operator)
    else:
        total = w.sums[edge]
        w.line(f"if {total} is not None: run.finish_leaf({edge}, {total})  # {name}", operator)
        w.line(f"del {total}")


def _hook_point(w: FunctionWriter, operator: Operator) -> None:
    value, *sources = operator.inputs
    stops = "True" if value.stop_gradient else " and ".join(f"{w.name(point)}.stop_gradient" for point in sources)
    w.line(f"{w.name(operator.outputs[0])} = HookPoint({stops})", operator)


WRITERS: dict[str, Callable[[FunctionWriter, Operator], None]] = {
    "cond": _cond,
    "while": _while,
    "reversed_turns": _reversed_turns,
    "python": _python,
    "py_func": _py_func,
    "py_layer": _py_layer,
    "py_layer_backward": _py_layer_backward,
    "backward": _backward,
    "walk": _walk,
    "reload": _reload,
    "version": _plain("run.version({0})"),
    "rewrite": _rewrite,
    "taken": _take,
    "taken_all": _take_all,
    "return": _return,
    "raise": _raise,
    "constant": _plain("{0}"),
    "stop_gradient": _plain("{0}"),
    "replace": _plain("{1}"),
    "leaf": _plain("run.leaf({0})"),
    "size": _plain("{0}.shape[{axis}]"),
    "item": lambda w, o: w.assign(o, f"{w.name(o.inputs[0])}.item({', '.join(map(w.expression, o.attrs['index']))})"),
    "array_of": _plain("np.asarray({0})"),
    "to_array": _plain("{dtype}.type({0})"),
    "check_bound": _check_bound,
    "materialise": _materialise,
    "hook_point": _hook_point,
    "register_hook": lambda w, o: w.assign(o, f"register_hook({w.name(o.inputs[0])}, {w.expression(o.attrs['hook'])})"),
    "is_present": _is_present,
    "modified_in_place": _plain("modified_in_place({op}, {shape})"),
    "check_input": _plain("run.check_input({number}, {op})"),
    "check_version": _plain("check_version({0}, {op})"),
    "check_chosen": _plain("run.check_chosen({numbers}, {outputs}, {op})"),
    "check_output": _plain("run.check_output({number}, {op})"),
    "branch_of": _plain("{0}[0]"),
    "has_turns": _plain("bool({0})"),
    "is_first_turn": lambda w, o: w.assign(o, f"{w.turn_numbers[o.attrs['loop']]} == 0"),
    "zeros_like": _plain("np.zeros_like({0})"),
    "or_zeros": _plain("np.zeros_like({1}) if {0} is None else {0}"),
    "add_present": _plain("add_present({0}, {1})"),
    "new_identity": _plain("new_identity()"),
    "sums_by_identity": _plain("{{}}"),
    "add_by_identity": _add_by_identity,
    "take_by_identity": _plain("{0}.pop({1}, None)"),
    "contributed_by_identity": _plain("run.contributed_by_identity(walk, {0})"),
    "accumulate": _accumulate,
    "arrived": _arrived,
    "contributed": _contributed,
    "call_hooks": _call_hooks,
    "through_hooks": _through_hooks,
    "start_sum": _start_sum,
    "add_to_sum": _add_to_sum,
    "start_rows": _start_rows,
    "add_rows": _add_rows,
    "product_of_rows": _product_of_rows,
    "finish": _finish,
    "hooked": _hooked,
}
