"""What converted `if`, `while`, `for`, `and`, `or`, `not`, ternaries and `assert` mean while a function is traced.

On Python values they do what Python does.  On symbols they become regions of the Program.
"""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from d2s.errors import Location, UnsupportedSyntaxError, user_location
from d2s.operators.heap import Heap
from d2s.operators.iterators import gives_only, reached_by, watches_its_end
from d2s.operators.merging import merge_outcomes
from d2s.operators.native import truth
from d2s.operators.open_items import is_open
from d2s.operators.outcomes import CannotMerge, Grown, Outcome
from d2s.operators.region import IteratorAdvanced, apply_changes, trace_branch
from d2s.operators.restarts import FollowBoth
from d2s.operators.symbols import SymbolicRange, is_symbol, symbol_of
from d2s.operators.trace_state import go_back
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
from d2s.static.program import Operator, Value
from d2s.static.runtime import is_bound
from d2s.static.variable import ObjectVariable, Variable
from d2s.transpiler.interface import PythonOperators

MAX_TURNS_AFTER_SYMBOLIC_STOP = 2_000
# And if what it runs over does not tell how much it is, like a generator.
MAX_TURNS_WITHOUT_END = 500


def if_else(tracer: Tracer, test: Any, body: Callable[[], Any], orelse: Callable[[], Any] | None) -> Any:
    """``if test: body else: orelse``."""
    test = truth(tracer, symbol_of(tracer, test))
    if not is_symbol(test):
        if test:
            return body()
        return None if orelse is None else orelse()
    otherwise = orelse or _nothing
    value = tracer.truth_of(test)
    place = user_location()
    if tracer.is_decided(value) or place in tracer.followed:
        return body() if tracer.decide(ObjectVariable(tracer, value)) else otherwise()
    outcome = _opened_and_merged(tracer, value, body, otherwise, place) if tracer.in_merged else (
        _merged(tracer, value, body, otherwise, place)[0])
    if outcome is None:
        # The region around follows both paths to its end.
        return body() if tracer.decide(ObjectVariable(tracer, value)) else otherwise()
    take(tracer, outcome)
    return outcome.result


def _merged(
    tracer: Tracer, test: Value, body: Callable[[], Any], orelse: Callable[[], Any], place: Location | None
) -> tuple[Outcome | None, Any]:
    """How a branch ends, and None; or None if its ways cannot be merged, and the container that has grown on one."""
    before = Heap([body, orelse, *tracer.held()], tracer.is_outer)
    mark = Mark(tracer)
    try:
        with tracer.on_trial():
            return merge_outcomes(
                tracer, test, trace_branch(tracer, body, before), trace_branch(tracer, orelse, before), before), None
    except IteratorAdvanced:
        raise IteratorAdvanced(None if tracer.in_loop else place) from None
    except CannotMerge as reason:
        # Left before the user's code runs again: its errors would have this one as context.
        grown = reason.thing if isinstance(reason, Grown) and id(reason.thing) in before.nodes else None
    mark.undo()
    return None, grown


def _opened_and_merged(
    tracer: Tracer, test: Value, body: Callable[[], Any], orelse: Callable[[], Any], place: Location | None
) -> Outcome | None:
    """The same where containers that grow on one way are made those of the run."""
    from d2s.operators.open_elements import open_up

    while not tracer.is_decided(test):
        with tracer.trying() as undone:
            outcome, grown = _merged(tracer, test, body, orelse, place)
            if outcome is None:
                undone()
        if outcome is not None:
            return outcome
        if grown is None or is_open(grown):
            break
        try:
            open_up(tracer, grown)
        except CannotMerge:
            break
    tracer.forget_trial(test)
    return None


def take(tracer: Tracer, outcome: Outcome) -> None:
    """Go on from the state after a region."""
    apply_changes(outcome.changes.values())
    go_back(tracer, outcome.state)


def _nothing() -> None:
    return None


class Mark:
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
        path, operators = self.path, self.block.operators
        if path is None:
            dropped = operators[self.length :]
        elif path.position < len(path.log) or self.position > len(path.log):
            dropped = []
        else:
            dropped = [entry for entry in path.log[self.position :] if isinstance(entry, Operator)]
            del path.log[self.position :]
        if path is not None:
            path.position = self.position
        self.block.operators[:] = [found for found in operators if not any(found is other for other in dropped)]
        for found in dropped:
            for output in found.outputs:
                self.tracer.definitions.pop(output, None)


# --- loops over things --------------------------------------------------------------------------------------------


def for_loop(
    tracer: Tracer, iterable: Any, body: Callable[[Any], Any], stop: Callable[[], Any] | None,
) -> None:
    """``for item in iterable: body(item)``."""
    iterable = symbol_of(tracer, iterable)
    if isinstance(iterable, SymbolicRange):
        _count(tracer, iterable, body, stop)
        return
    if isinstance(iterable, Turns):
        body = iterable.around(body)
        _turns(
            tracer, 0, 1, iterable.has, lambda index: body(iterable.part(index)), stop)
        return
    iterator = iter(iterable)
    place, decided = user_location(), [0]
    for item in iterator:
        with tracer.turn_of(place, decided):
            body(item)
        if stop is None:
            continue
        answer = symbol_of(tracer, stop())
        if is_symbol(answer) and place in tracer.followed:
            answer = tracer.decide(answer)
        elif is_symbol(answer):
            # How far it comes, only the run knows.
            tracer.spent[id(iterator)] = iterator
            break
        if answer:
            return
    else:
        return
    if type(iterator) is itertools.count:
        _count(tracer, _rest_of(tracer, iterator), body, stop)
        return
    # From here on the Program decides in each turn whether the loop is over.
    tells_length = operator.length_hint(iterator, -1) >= 0
    most = MAX_TURNS_AFTER_SYMBOLIC_STOP if tells_length else MAX_TURNS_WITHOUT_END
    for turns, item in enumerate(_items_on_trial(tracer, iterator, place)):
        if turns == most:
            raise UnsupportedSyntaxError(
                "a Python loop without end whose break is known only when the Program runs cannot become a graph",
                user_location(), "Write it with `itertools.count()`, or as `while`.",
                kind="U17",
            )
        with tracer.turn_of(place, decided):
            goes_on = _guarded_turn(tracer, body, item, stop)
        if goes_on is False:
            return


def _items_on_trial(tracer: Tracer, iterator: Iterator[Any], place: Location | None) -> Iterator[Any]:
    """The items for turns that the run may not come to: fetching one must do nothing else.

    Raises
    ------
    FollowBoth
        If it does more than that: then the trace has to follow both ways at the end of each turn.
    """
    if gives_only(iterator):
        yield from iterator
        return
    while True:
        before = Heap(reached_by(iterator), tracer.is_outer)
        acts = tracer.effects, tracer.risks
        try:
            item = next(iterator)
        except StopIteration:
            item = _END
        except Exception:
            raise FollowBoth(place) from None
        if watches_its_end(iterator) or before.changes() or acts != (tracer.effects, tracer.risks):
            raise FollowBoth(place)
        if item is _END:
            return
        yield item


_END = object()


def _guarded_turn(tracer: Tracer, body: Callable[[Any], Any], item: Any, stop: Callable[[], Any]) -> Any:
    """A turn, unless the loop is over; False if it is on the path that is followed (else only the run may know)."""

    def turn() -> bool:
        body(item)
        return True

    return if_else(tracer, not_(tracer, stop()), turn, lambda: False)


def _count(tracer: Tracer, numbers: SymbolicRange, body: Callable[[Any], Any], stop: Callable[[], Any] | None) -> None:
    """A loop over a range whose length is known when the Program runs."""
    if is_symbol(numbers.step):
        length = tracer.python_call(length_of_range, (numbers.start, numbers.stop, numbers.step), kind=int, effect=True)
        _turns(tracer, 0, 1, lambda index: index < length,
               lambda index: body(numbers.start + index * numbers.step), stop)
        return
    compare = operator.lt if numbers.step > 0 else operator.gt
    end = numbers.stop
    _turns(tracer, numbers.start, numbers.step, lambda index: end is None or compare(index, end), body, stop)


def number_of_range(start: int, stop: int, step: int, index: int) -> int:
    return range(start, stop, step)[index]


def length_of_range(start: int, stop: int, step: int) -> int:
    return len(range(start, stop, step))


def _turns(
    tracer: Tracer, index: Any, step: int, has: Callable[[Any], Any], body: Callable[[Any], Any],
    stop: Callable[[], Any] | None,
) -> None:
    """``while has(index): body(index); index += step``."""

    def test() -> Any:
        if stop is None:
            return has(index)
        return and_(tracer, not_(tracer, stop()), lambda: has(index))

    def turn() -> None:
        nonlocal index
        body(index)
        index = index + step

    from d2s.operators.loops import while_loop

    while_loop(tracer, test, turn)


def _rest_of(tracer: Tracer, counter: itertools.count[Any]) -> SymbolicRange:
    """The numbers that an endless counter has not given yet; only the run knows how far it comes."""
    tracer.spent[id(counter)] = counter
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iterators may not be pickled in later versions of Python
        state: Any = counter.__reduce__()
    first, *step = state[1]
    return SymbolicRange(first, None, step[0] if step else 1)


# --- expressions --------------------------------------------------------------------------------------------------


def and_(tracer: Tracer, value: Any, rest: Callable[[], Any]) -> Any:
    """``value and rest``: one of the operands."""
    value = symbol_of(tracer, value)
    # Asked once: what an object of the user answers may have effects.
    test = truth(tracer, value)
    if not is_symbol(test):
        return rest() if test else value
    return if_else(tracer, test, rest, lambda: value)


def or_(tracer: Tracer, value: Any, rest: Callable[[], Any]) -> Any:
    """``value or rest``: one of the operands."""
    value = symbol_of(tracer, value)
    test = truth(tracer, value)
    if not is_symbol(test):
        return value if test else rest()
    return if_else(tracer, test, lambda: value, rest)


def both(tracer: Tracer, value: Any, rest: Callable[[], Any]) -> Any:
    """``value and rest`` where only its truth is asked: tensors and Python values may stand for it by turns."""
    value = truth(tracer, symbol_of(tracer, value))
    if not is_symbol(value):
        return value and rest()
    return if_else(tracer, value, lambda: _bool_of(tracer, rest()), lambda: False)


def either(tracer: Tracer, value: Any, rest: Callable[[], Any]) -> Any:
    """``value or rest`` where only its truth is asked."""
    value = truth(tracer, symbol_of(tracer, value))
    if not is_symbol(value):
        return value or rest()
    return if_else(tracer, value, lambda: True, lambda: _bool_of(tracer, rest()))


def _bool_of(tracer: Tracer, value: Any) -> Any:
    """``bool(value)``, of the run if `value` is."""
    value = truth(tracer, symbol_of(tracer, value))
    return ObjectVariable(tracer, tracer.truth_of(value)) if is_symbol(value) else bool(value)


def not_(tracer: Tracer, operand: Any) -> Any:
    """``not operand``."""
    operand = truth(tracer, symbol_of(tracer, operand))
    if isinstance(operand, ObjectVariable):
        return tracer.python_call(operator.not_, (operand,), kind=bool)
    if isinstance(operand, Variable):
        return tracer.python_call(
            operator.not_, (ObjectVariable(tracer, tracer.truth_of(operand)),), kind=bool)
    return not operand


def bound(name: str, found: Any) -> Any:
    """What a name holds that some path of the Program leaves unbound: checked when the Program runs this read."""
    if isinstance(found, tuple) and any(is_symbol(part) and part.value.maybe_missing is not None for part in found):
        parts = [bound(name, part) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    if not is_symbol(found) or found.value.maybe_missing is None:
        return found
    value, interpreter = found.value, found.interpreter
    if getattr(interpreter, "attempts", 0):
        return _bound_or_raised(interpreter, name, found)
    checked = interpreter.new_value(name, value.spec, value.stop_gradient, value.kind)
    checked = interpreter.emit("check_bound", (value,), (checked,), {"name": name}, effect=True).outputs[0]
    interpreter.note_chosen(checked, (value,))
    if isinstance(found, ObjectVariable):
        return ObjectVariable(interpreter, checked)
    # From here on it is bound, under all its names.
    found.value = checked
    return found


def _bound_or_raised(tracer: Tracer, name: str, found: Any) -> Any:
    """The same inside of a ``try``: the trace follows the path on which the error is raised, and caught."""
    answer = tracer.new_value("bound", None, kind=bool)
    attrs: dict[str, Any] = {"call": (is_bound, (found.value, found.value.is_tensor), {})}
    answer = tracer.emit("python", (), (answer,), attrs).outputs[0]
    if not tracer.decide(ObjectVariable(tracer, answer)):
        PythonOperators.bound(name, _unbound)
    with tracer.unguarded():
        return bound(name, found)


def _unbound() -> Any:
    raise NameError


def assert_(tracer: Tracer, test: Any, message: Callable[[], Any] | None) -> None:
    """``assert test, message``: checked when the Program runs if the test is a symbol."""
    test = truth(tracer, symbol_of(tracer, test))
    if not is_symbol(test):
        if not test:
            raise AssertionError() if message is None else AssertionError(message())
        return
    holds = ObjectVariable(tracer, tracer.truth_of(test))
    if message is None and not tracer.attempts:
        tracer.python_call(_check, (holds,), effect=True)
    elif not tracer.decide(holds):
        raise AssertionError() if message is None else AssertionError(message())


def _check(holds: Any) -> None:
    if not holds:
        raise AssertionError


__all__ = [
    "Mark", "and_", "assert_", "both", "bound", "either", "for_loop", "if_else", "not_", "or_",
]
