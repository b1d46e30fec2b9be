"""Branches and loops in a Program that is built by hand: the user's functions are recorded into blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.core.spec import Dim, TensorSpec, is_floating
from d2s.errors import ProgramError, user_location
from d2s.static.graph import GraphInterpreter
from d2s.static.program import Block, Value
from d2s.static.variable import Variable

MAX_ROUNDS = 8


def recorder_of(thing: Any) -> GraphInterpreter | None:
    """What records the Program that `thing`, a variable of it, belongs to, if that is built by hand."""
    interpreter = getattr(thing, "interpreter", None)
    return interpreter if isinstance(interpreter, GraphInterpreter) else None


def branch(recorder: GraphInterpreter, pred: Variable, true_fn: Any, false_fn: Any) -> Any:
    """Record a `cond`; what both functions return, merged.

    Raises
    ------
    ProgramError
        If the functions return different structures or dtypes, or something that is no tensor.
    """
    test = recorder.truth_of(pred)
    ends = [_recorded(recorder, function) for function in (true_fn, false_fn)]
    (then, first, first_values), (orelse, second, second_values) = ends
    if first != second:
        raise ProgramError(
            f"the branches of cond return different structures: {first} and {second}", user_location(), kind="P09"
        )
    outputs = tuple(
        _merged(recorder, a, b, "the branches of cond") for a, b in zip(first_values, second_values, strict=True)
    )
    then.outputs, orelse.outputs = tuple(first_values), tuple(second_values)
    emitted = recorder.emit("cond", (test,), outputs, {}, effect=True, blocks=(then, orelse))
    emitted.record = recorder.new_value("record", None)
    recorder.definitions[emitted.record] = (emitted, recorder.block)
    return _rebuilt(first, iter([Variable(recorder, value) for value in outputs]))


def loop(recorder: GraphInterpreter, cond: Any, body: Any, loop_vars: Sequence[Any]) -> list[Any]:
    """Record a `while`; the loop variables after it.

    Raises
    ------
    ProgramError
        If `body` returns another structure or other dtypes than it was given.
    """
    values: list[Value] = []
    form = _form(recorder, list(loop_vars), values)
    specs = [value.spec for value in values]
    stops = [value.stop_gradient for value in values]
    for _ in range(MAX_ROUNDS):
        carried = [
            recorder.new_value(value.name, spec, stop) for value, spec, stop in zip(values, specs, stops, strict=True)
        ]
        recorder.turn_inputs.append(set(carried))
        try:
            test, body_block, following = _turn(recorder, cond, body, form, carried)
        finally:
            recorder.turn_inputs.pop()
        ends = [_merged(recorder, a, b, "a turn of while_loop") for a, b in zip(carried, following, strict=True)]
        if all(_covers(one, end) for one, end in zip(carried, ends, strict=True)):
            return _emitted(recorder, form, values, test, body_block, carried)
        # Sizes that change from turn to turn are unknown; a gradient that one turn brings, all carry.
        specs, stops = [end.spec for end in ends], [end.stop_gradient for end in ends]
    raise ProgramError("while_loop carries a tensor of ever another form", user_location(), kind="P09")


def _turn(
    recorder: GraphInterpreter, cond: Any, body: Any, form: Any, carried: list[Value]
) -> tuple[Block, Block, list[Value]]:
    tested = [recorder.new_value(value.name, value.spec, value.stop_gradient) for value in carried]
    with recorder.new_block(tuple(tested)) as test:
        answer = cond(*_rebuilt(form, iter([Variable(recorder, value) for value in tested])))
        if not isinstance(answer, Variable):
            raise ProgramError(
                f"the condition of while_loop must be a tensor of the Program, got {type(answer).__name__}",
                user_location(),
                kind="P09",
            )
        test.outputs = (recorder.truth_of(answer),)
    with recorder.new_block(tuple(carried)) as block:
        result = body(*_rebuilt(form, iter([Variable(recorder, value) for value in carried])))
        following: list[Value] = []
        found = _form(recorder, list(result) if isinstance(result, list | tuple) else [result], following)
        block.outputs = tuple(following)
    if found != form:
        raise ProgramError(f"the body of while_loop returns {found}, and was given {form}", user_location(), kind="P09")
    return test, block, following


def _emitted(
    recorder: GraphInterpreter, form: Any, initial: list[Value], test: Block, body: Block, carried: list[Value]
) -> list[Any]:
    outputs = tuple(recorder.new_value(value.name, value.spec, value.stop_gradient) for value in carried)
    emitted = recorder.emit("while", tuple(initial), outputs, {}, effect=True, blocks=(test, body))
    emitted.record = recorder.new_value("turns", None)
    recorder.definitions[emitted.record] = (emitted, recorder.block)
    done: set[int] = set()
    # The point of one may be that of another in the turn before, so there may be more of them each time.
    while more := {place for place, value in enumerate(carried) if value in recorder.hook_points} - done:
        recorder.carry_hook_point(emitted, min(more))
        done.add(min(more))
    found: list[Any] = _rebuilt(form, iter([Variable(recorder, value) for value in outputs]))
    return found


def _recorded(recorder: GraphInterpreter, function: Callable[[], Any] | None) -> tuple[Block, Any, list[Value]]:
    """The block of one branch, the structure of what it returns, and the values in that."""
    with recorder.new_block() as block:
        result = None if function is None else function()
        values: list[Value] = []
        return block, _form(recorder, result, values), values


def _form(recorder: GraphInterpreter, tree: Any, values: list[Value]) -> Any:
    """The structure of nested lists, tuples and dicts of tensors; the tensors go to `values`."""
    if tree is None:
        return None
    if isinstance(tree, list | tuple):
        return type(tree)(_form(recorder, part, values) for part in tree)
    if isinstance(tree, dict):
        return {key: _form(recorder, part, values) for key, part in tree.items()}
    if not isinstance(tree, TensorBase | bool | int | float):
        raise ProgramError(
            f"control flow in a Program carries tensors, got {type(tree).__name__}", user_location(), kind="P09"
        )
    variable = tree if isinstance(tree, TensorBase) else recorder.to_tensor(tree, None, True)
    values.append(recorder.value_of(variable))
    return "Tensor"


def _rebuilt(form: Any, variables: Any) -> Any:
    if form == "Tensor":
        return next(variables)
    if isinstance(form, list | tuple):
        return type(form)(_rebuilt(part, variables) for part in form)
    if isinstance(form, dict):
        return {key: _rebuilt(part, variables) for key, part in form.items()}
    return None


def _merged(recorder: GraphInterpreter, a: Value, b: Value, what: str) -> Value:
    """A new value that may be `a` or `b`."""
    assert a.spec is not None
    assert b.spec is not None
    if a.spec.dtype != b.spec.dtype or a.spec.ndim != b.spec.ndim:
        raise ProgramError(f"{what} give {a.spec} and {b.spec} for one value", user_location(), kind="P09")
    sizes = tuple(one if one == other else Dim() for one, other in zip(a.spec.shape, b.spec.shape, strict=True))
    stops = (a.stop_gradient and b.stop_gradient) or not is_floating(a.spec.dtype)
    return recorder.new_value(a.name, TensorSpec(sizes, a.spec.dtype), stops)


def _covers(carried: Value, end: Value) -> bool:
    """True if a loop that carries `carried` may go on with `end`."""
    assert carried.spec is not None
    assert end.spec is not None
    sizes = zip(carried.spec.shape, end.spec.shape, strict=True)
    return carried.stop_gradient <= end.stop_gradient and all(isinstance(a, Dim) or a == b for a, b in sizes)


def first_recorder(tree: Any) -> GraphInterpreter | None:
    """What records the Program of the first variable in nested lists, tuples and dicts, if that is built by hand."""
    if isinstance(tree, list | tuple | dict):
        parts = tree.values() if isinstance(tree, dict) else tree
        return next((found for part in parts if (found := first_recorder(part)) is not None), None)
    return recorder_of(tree)


def numbered(functions: Any) -> list[tuple[int, Callable[[], Any]]]:
    """The functions of a `switch_case` with their numbers, in order.

    Raises
    ------
    ProgramError
        If there is none, or two have one number, or one is no function.
    """
    if isinstance(functions, dict):
        pairs = list(functions.items())
    else:
        pairs = [
            (part[0], part[1]) if isinstance(part, list | tuple) else (number, part)
            for number, part in enumerate(functions)
        ]
    numbers = [number for number, _ in pairs]
    if not pairs or len(set(numbers)) != len(numbers) or not all(callable(function) for _, function in pairs):
        raise ProgramError(
            f"switch_case needs functions with numbers of their own, got the numbers {numbers}", kind="P09"
        )
    return sorted(pairs, key=lambda pair: pair[0])
