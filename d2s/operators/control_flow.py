"""What converted `if`, `while`, `for`, `and`, `or`, `not`, ternaries and `assert` mean while a function is traced.

On Python values they do what Python does.  On symbols they become regions of the Program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from types import CellType
from typing import Any



from d2s.core.interpreter import TensorBase
from d2s.core.spec import Dim, TensorSpec
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.heap import MISSING, Heap, restore
from d2s.operators.region import CannotMerge, Outcome, apply_changes, merge_outcomes, trace_branch
from d2s.operators.tracer import Tracer
from d2s.static.program import Block, Value
from d2s.static.variable import ObjectVariable, Variable

MAX_TURNS_AFTER_SYMBOLIC_STOP = 10_000
MAX_ATTEMPTS = 12


def is_symbol(thing: Any) -> bool:
    """True for values that are known only when the Program runs."""
    return isinstance(thing, Variable | ObjectVariable)


def symbol_of(tracer: Tracer, thing: Any) -> Any:
    """`thing`, with a Variable for an eager tensor."""
    if isinstance(thing, TensorBase) and not isinstance(thing, Variable):
        return tracer.lift(thing)
    return thing


def if_else(tracer: Tracer, test: Any, body: Callable[[], Any], orelse: Callable[[], Any] | None) -> Any:
    """``if test: body else: orelse``."""
    test = symbol_of(tracer, test)
    if not is_symbol(test):
        if test:
            return body()
        return None if orelse is None else orelse()
    otherwise = orelse or _nothing
    before = Heap([body, otherwise], tracer.is_outer)
    value = condition(tracer, test)
    mark = _Mark(tracer)
    try:
        outcome = merge_outcomes(
            tracer, value, trace_branch(tracer, body, before), trace_branch(tracer, otherwise, before), before)
    except CannotMerge as reason:
        mark.undo()
        return _follow_both(tracer, test, body, otherwise, reason)
    take(tracer, outcome)
    return outcome.result


def take(tracer: Tracer, outcome: Outcome) -> None:
    """Go on from the state after a region."""
    apply_changes(outcome.changes.values())
    tracer.reset_state(outcome.state)


def _follow_both(tracer: Tracer, test: Any, body: Callable[[], Any], orelse: Callable[[], Any], why: CannotMerge) -> Any:
    if tracer.in_loop:
        raise CannotMerge(*why.args) from why
    return body() if tracer.decide(test) else orelse()


def _nothing() -> None:
    return None


class _Mark:
    """A place in the current block to go back to."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.block = tracer.block
        self.length = len(self.block.operators)
        path = tracer.path
        self.path = path
        self.position = path.position if path is not None else 0

    def undo(self) -> None:
        """Forget what was recorded since (in a replay: read it again)."""
        path = self.path
        if path is not None:
            replaying = path.position < len(path.log)
            if not replaying and self.position <= len(path.log):
                emitted = path.log[self.position :]
                kept = [o for o in self.block.operators if not any(o is e for e in emitted)]
                self.block.operators[:] = kept
                del path.log[self.position :]
            path.position = self.position
        else:
            del self.block.operators[self.length :]


def condition(tracer: Tracer, test: Any) -> Value:
    """The Value of a test: a Python bool, or the truth of a tensor of one element."""
    if isinstance(test, ObjectVariable):
        return test.value
    size = 1
    for part in test.spec.shape:
        size = size * part if isinstance(part, int) else size
    if size != 1:
        from d2s.errors import ShapeError

        raise ShapeError(
            f"the truth value of a tensor needs exactly one element, got shape {test.spec.shape}", user_location())
    return tracer.item_value(test)


# --- loops ------------------------------------------------------------------------------------------------------


def while_loop(tracer: Tracer, test: Callable[[], Any], body: Callable[[], Any]) -> None:
    """``while test: body``: turns that Python can decide run while tracing, the rest becomes a loop."""
    while True:
        before = Heap([test, body], tracer.is_outer)
        state = tracer.state_now()
        mark = _Mark(tracer)
        tracer.in_test += 1
        try:
            answer = symbol_of(tracer, test())
        finally:
            tracer.in_test -= 1
        if is_symbol(answer):
            before.restore()
            tracer.reset_state(state)
            mark.undo()
            break
        if not answer:
            return
        body()
    _LoopTracer(tracer, test, body).run()


class _LoopTracer:
    """Finds what a loop carries from turn to turn, and records it."""

    def __init__(self, tracer: Tracer, test: Callable[[], Any], body: Callable[[], Any]) -> None:
        self.tracer = tracer
        self.test = test
        self.body = body
        self.before = Heap([test, body], tracer.is_outer)
        # (object, where in it) -> what it holds before the loop
        self.places: dict[tuple[int, Any], tuple[Any, Any]] = {}
        self.specs: dict[tuple[int, Any], Any] = {}
        self.names: dict[tuple[int, Any], str] = {}

    def run(self) -> None:
        self.tracer.in_loop += 1
        try:
            for _ in range(MAX_ATTEMPTS):
                if self._attempt():
                    return
        except CannotMerge as reason:
            raise UnsupportedSyntaxError(
                f"this loop cannot become a graph: {reason}", user_location(),
                "Give every variable one kind of value in all turns, or keep it eager with @d2s.jit.not_to_static.",
            ) from reason.__cause__
        finally:
            self.tracer.in_loop -= 1
        raise UnsupportedSyntaxError("what this loop carries does not settle", user_location())

    def _attempt(self) -> bool:
        """Trace test and body with the places known so far as loop variables; False if there are more to carry."""
        tracer = self.tracer
        inputs = {place: self._loop_value(place) for place in self.places}
        self._enter(inputs)
        tracer.in_test += 1
        try:
            test_block, test_outcome = trace_branch(tracer, self.test, self._heap())
        finally:
            tracer.in_test -= 1
        if test_outcome.changes:
            self._leave()
            raise CannotMerge("its test changes variables")
        self._raise_error(test_outcome)
        answer = symbol_of(tracer, test_outcome.result)
        body_block, body_outcome = trace_branch(tracer, self.body, self._heap())
        self._leave()
        self._raise_error(body_outcome)
        if self._learn(body_outcome):
            return False
        self._emit(inputs, answer, test_block, body_block, body_outcome)
        return True

    def _raise_error(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            raise UnsupportedSyntaxError(
                f"an exception in every turn of a loop: {outcome.error}", user_location()) from outcome.error

    def _heap(self) -> Heap:
        return Heap([self.test, self.body], self.tracer.is_outer)

    def _loop_value(self, place: tuple[int, Any]) -> Value:
        spec, stop_gradient, kind, missing = self.specs[place]
        return self.tracer.new_value(self.names[place], spec, stop_gradient, kind, missing)

    def _symbol(self, value: Value) -> Any:
        return Variable(self.tracer, value) if value.is_tensor else ObjectVariable(self.tracer, value)

    def _enter(self, inputs: dict[tuple[int, Any], Value]) -> None:
        for place, value in inputs.items():
            node, key = self.before.nodes[place[0]], place[1]
            _write(node, key, value if isinstance(node, Variable) else self._symbol(value))

    def _leave(self) -> None:
        self.before.restore()

    def _learn(self, outcome: Outcome) -> bool:
        """Take note of places that the body changes and of kinds of values that differ; True if anything is new."""
        new = False
        for key, (node, after) in outcome.changes.items():
            if key not in self.before.nodes:
                continue
            held = self.before.contents[key]
            for where, old, now in _differences(node, held, after):
                place = (key, where)
                found = self._kind(old, now, node, where)
                if place not in self.places:
                    self.places[place] = (node, old)
                    self.names[place] = _name_of(node, where, now)
                    self.specs[place] = found
                    new = True
                elif not _same_kind(self.specs[place], found):
                    self.specs[place] = _wider(self.specs[place], found)
                    new = True
        return new

    def _kind(self, old: Any, now: Any, node: Any, where: Any) -> tuple[Any, ...]:
        """(spec, stop_gradient, kind, name if it may be unbound) of a place that holds `old` first and `now` later."""
        old, now = symbol_of(self.tracer, old), symbol_of(self.tracer, now)
        if isinstance(node, Variable):
            return self._tensor_kind(old, now)
        if old is MISSING:
            if isinstance(now, Variable):
                return now.spec, now.stop_gradient, None, _name_of(node, where, now)
            if isinstance(now, ObjectVariable) or type(now) in (int, float, bool):
                kind = now.value.kind if isinstance(now, ObjectVariable) else type(now)
                return None, True, kind, None
            raise CannotMerge(f"a variable is bound in the loop only, to a {type(now).__name__}")
        if isinstance(old, Variable) and isinstance(now, Variable):
            return self._tensor_kind(old.value, now.value)
        kinds = [p.value.kind if isinstance(p, ObjectVariable) else type(p) for p in (old, now)]
        if kinds[0] is kinds[1] and (isinstance(old, ObjectVariable) or kinds[0] in (int, float, bool)):
            return None, True, kinds[0], None
        if set(kinds) <= {int, float, bool}:
            return None, True, None, None
        raise CannotMerge(
            f"{_name_of(node, where, now)} is {_what(old)} before it and {_what(now)} after a turn")

    def _tensor_kind(self, old: Value, now: Value) -> tuple[Any, ...]:
        assert old.spec is not None and now.spec is not None
        if old.spec.dtype != now.spec.dtype or old.spec.ndim != now.spec.ndim:
            raise CannotMerge(f"{old.name} is {old.spec} before it and {now.spec} after a turn")
        shape = tuple(
            a if a is b or (isinstance(a, int) and a == b) else Dim()
            for a, b in zip(old.spec.shape, now.spec.shape, strict=True))
        return TensorSpec(shape, old.spec.dtype), old.stop_gradient and now.stop_gradient, None, old.maybe_missing

    def _emit(
        self, inputs: dict[tuple[int, Any], Value], answer: Any, test_block: Block, body_block: Block, outcome: Outcome,
    ) -> None:
        tracer = self.tracer
        initial, following = [], []
        for place in inputs:
            node, old = self.places[place]
            initial.append(self._value(old))
            after = outcome.changes.get(place[0])
            now = _read(node, after[1], place[1]) if after is not None else inputs[place]
            following.append(self._value(now))
        test_inputs = tuple(tracer.new_value(v.name, v.spec, v.stop_gradient, v.kind) for v in inputs.values())
        _rename_reads(test_block, dict(zip(inputs.values(), test_inputs, strict=True)))
        test_block.inputs = test_inputs
        tested = self._test_value(answer, test_block, dict(zip(inputs.values(), test_inputs, strict=True)))
        test_block.outputs = (tested,)
        body_block.inputs, body_block.outputs = tuple(inputs.values()), tuple(following)
        outputs = tuple(tracer.new_value(v.name, v.spec, v.stop_gradient, v.kind, v.maybe_missing)
                        for v in inputs.values())
        record = tracer.new_value("turns", None)
        emitted = tracer.emit("while", tuple(initial), outputs, {}, effect=True, blocks=(test_block, body_block))
        if emitted.record is None:
            emitted.record = record
            tracer.definitions[record] = (emitted, tracer.block)
        for place, value in zip(inputs, emitted.outputs, strict=False):
            node = self.before.nodes[place[0]]
            _write(node, place[1], value if isinstance(node, Variable) else self._symbol(value))
        tracer.take_loop_state(outcome.state)

    def _value(self, thing: Any) -> Value:
        if isinstance(thing, Value):
            return thing
        if thing is MISSING:
            return self.tracer.constant(None)
        thing = symbol_of(self.tracer, thing)
        return thing.value if is_symbol(thing) else self.tracer.constant(thing)

    def _test_value(self, answer: Any, block: Block, renamed: dict[Value, Value]) -> Value:
        if not is_symbol(answer):
            return self.tracer.constant(bool(answer))
        value = renamed.get(answer.value, answer.value)
        if isinstance(answer, ObjectVariable):
            return value
        out = self.tracer.new_value("test", None, kind=bool)
        from d2s.static.program import Operator

        block.operators.append(Operator("item", (value,), (out,), {"index": ()}))
        return out


def _rename_reads(block: Block, names: dict[Value, Value]) -> None:
    """Let the operators of `block`, also nested ones, read other Values."""
    from d2s.static.program import map_values, walk_operators

    def change(value: Value) -> Value:
        return names.get(value, value)

    for found in walk_operators(block):
        found.inputs = tuple(map(change, found.inputs))
        found.attrs = {name: map_values(value, change) for name, value in found.attrs.items()}
        for inner in found.blocks:
            inner.outputs = tuple(map(change, inner.outputs))


def _differences(node: Any, before: Any, after: Any) -> Iterable[tuple[Any, Any, Any]]:
    """(where, before, after) for each place of a mutable object that holds something else."""
    if isinstance(node, CellType | Variable):
        yield None, before, after
        return
    if isinstance(node, dict) or not isinstance(node, list):
        if isinstance(node, set) or not hasattr(before, "keys"):
            raise CannotMerge(f"a {type(node).__name__} changes from turn to turn")
        if list(before) != list(after):
            raise CannotMerge("a dict or object gets other keys or attributes from turn to turn")
        for key in before:
            if before[key] is not after[key]:
                yield key, before[key], after[key]
        return
    if len(before) != len(after):
        raise CannotMerge("a list changes its length from turn to turn")
    for position, (old, now) in enumerate(zip(before, after, strict=True)):
        if old is not now:
            yield position, old, now


def _write(node: Any, where: Any, thing: Any) -> None:
    if isinstance(node, CellType | Variable):
        restore(node, thing)
    elif isinstance(node, dict | list):
        node[where] = thing
    else:
        node.__dict__[where] = thing


def _read(node: Any, content: Any, where: Any) -> Any:
    return content if isinstance(node, CellType | Variable) else content[where]


def _name_of(node: Any, where: Any, now: Any) -> str:
    if isinstance(where, str) and where.isidentifier():
        return where
    if isinstance(now, Variable | ObjectVariable):
        return now.value.name
    return "carried"


def _same_kind(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    return _comparable(first) == _comparable(second)


def _comparable(kind: tuple[Any, ...]) -> tuple[Any, ...]:
    spec, stop_gradient, python_kind, _ = kind
    if spec is None:
        return None, True, python_kind
    return tuple(s if isinstance(s, int) else "?" for s in spec.shape), spec.dtype, stop_gradient


def _wider(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    """The kind that covers both."""
    if first[0] is None or second[0] is None:
        return None, True, None, first[3]
    shape = tuple(
        a if isinstance(a, int) and a == b else Dim() for a, b in zip(first[0].shape, second[0].shape, strict=True))
    return TensorSpec(shape, first[0].dtype), first[1] and second[1], None, first[3]


def _what(thing: Any) -> str:
    if isinstance(thing, TensorBase):
        return f"a tensor {thing.spec}"  # type: ignore[attr-defined]
    return "None" if thing is None else f"a {type(thing).__name__}"


class SymbolicRange:
    """``range`` with a bound that is known only when the Program runs."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step


def for_loop(
    tracer: Tracer, iterable: Any, body: Callable[[Any], Any], stop: Callable[[], Any] | None,
) -> None:
    """``for item in iterable: body(item)``."""
    iterable = symbol_of(tracer, iterable)
    if isinstance(iterable, SymbolicRange):
        _count(tracer, iterable, body, stop)
        return
    turns = 0
    iterator = iter(iterable)
    for item in iterator:
        body(item)
        if stop is None:
            continue
        answer = symbol_of(tracer, stop())
        if is_symbol(answer):
            break
        if answer:
            return
    else:
        return
    # From here on the Program decides in each turn whether the loop is over.
    for item in iterator:
        turns += 1
        if turns > MAX_TURNS_AFTER_SYMBOLIC_STOP:
            raise UnsupportedSyntaxError(
                "a Python loop without end whose break is known only when the Program runs cannot become a graph",
                user_location(), "Write it as `while` with a counter.",
            )
        _guarded_turn(tracer, body, item, stop)


def _guarded_turn(tracer: Tracer, body: Callable[[Any], Any], item: Any, stop: Callable[[], Any]) -> None:
    def turn() -> None:
        body(item)

    stopped = not_(tracer, stop())
    if_else(tracer, stopped, turn, None)


def _count(tracer: Tracer, numbers: SymbolicRange, body: Callable[[Any], Any], stop: Callable[[], Any] | None) -> None:
    """A loop over a range whose length is known when the Program runs."""
    index = numbers.start
    if is_symbol(numbers.step):
        raise UnsupportedSyntaxError("range() with a symbolic step cannot become a graph", user_location())
    compare = operator.lt if numbers.step > 0 else operator.gt

    def test() -> Any:
        more = compare(index, numbers.stop)
        if stop is None:
            return more
        return and_(tracer, not_(tracer, stop()), lambda: more)

    def turn() -> None:
        nonlocal index
        body(index)
        index = index + numbers.step

    while_loop(tracer, test, turn)


# --- expressions --------------------------------------------------------------------------------------------------


def and_(tracer: Tracer, value: Any, rest: Callable[[], Any]) -> Any:
    """``value and rest``: one of the operands."""
    value = symbol_of(tracer, value)
    if not is_symbol(value):
        return value and rest()
    return if_else(tracer, value, rest, lambda: value)


def or_(tracer: Tracer, value: Any, rest: Callable[[], Any]) -> Any:
    """``value or rest``: one of the operands."""
    value = symbol_of(tracer, value)
    if not is_symbol(value):
        return value or rest()
    return if_else(tracer, value, lambda: value, rest)


def not_(tracer: Tracer, operand: Any) -> Any:
    """``not operand``."""
    operand = symbol_of(tracer, operand)
    if isinstance(operand, ObjectVariable):
        return tracer.python_call(operator.not_, (operand,), kind=bool)
    if isinstance(operand, Variable):
        return tracer.python_call(
            operator.not_, (ObjectVariable(tracer, condition(tracer, operand)),), kind=bool)
    return not operand


def assert_(tracer: Tracer, test: Any, message: Callable[[], Any] | None) -> None:
    """``assert test, message``: checked when the Program runs if the test is a symbol."""
    test = symbol_of(tracer, test)
    if not is_symbol(test):
        if not test:
            raise AssertionError() if message is None else AssertionError(message())
        return
    holds = ObjectVariable(tracer, condition(tracer, test))
    text = () if message is None else (message(),)
    tracer.python_call(_check, (holds, text), effect=True)


def _check(holds: Any, message: tuple[Any, ...]) -> None:
    if not holds:
        raise AssertionError(*message)


__all__ = ["SymbolicRange", "and_", "assert_", "for_loop", "if_else", "is_symbol", "not_", "or_",
           "symbol_of", "while_loop"]
