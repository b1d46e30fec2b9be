"""Loops while a function is traced: turns that Python can decide run at once, the rest becomes a loop of the Program.

What a loop carries is found by tracing a turn until nothing new shows.  Where the first turn makes of a value
something else (None becomes a tensor, an int a float), that turn is taken out of the loop: the trace follows both
the run without turns and the run with one, and the loop goes on behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from d2s.core.interpreter import state
from d2s.errors import Location, UnsupportedSyntaxError, user_location
from d2s.operators import carried
from d2s.operators.carried import Form, OpenForm, TensorForm, ValueOf, elements_in
from d2s.operators.control_flow import Mark, and_, not_
from d2s.operators.handed_on import HandedOn, Place, tensors_in
from d2s.operators.heap import Heap, part_of, write
from d2s.operators.held import ask_later, hold, learn_writes
from d2s.operators.native import truth
from d2s.operators.open_elements import open_up
from d2s.operators.open_items import OPENED, Elements, elements_of, is_open
from d2s.operators.outcomes import CannotMerge, Grown, OnOnePath, Outcome
from d2s.operators.region import ENDS, IteratorAdvanced, trace_branch
from d2s.operators.restarts import FOLLOWS, RECORDS, IteratorsOfTheRun, OfAnyKind, TooManyWays
from d2s.operators.sharing import is_view, note_all_sources, note_chosen
from d2s.operators.symbols import is_symbol, symbol_of
from d2s.operators.trace_state import Remembered, go_back, state_of, take_handed_out, take_loop_state
from d2s.operators.tracer import Tracer
from d2s.operators.turn_errors import TurnErrors
from d2s.operators.turn_flags import TurnFlags
from d2s.static.program import Block, Value, rename_reads, walk_operators
from d2s.static.runtime import MISSING
from d2s.static.variable import ObjectVariable, Variable

MAX_ATTEMPTS = 12
MAX_TURNS_TAKEN_OUT = 3


def while_loop(tracer: Tracer, condition: Callable[[], Any], body: Callable[[], Any]) -> None:
    """``while condition: body``."""
    place = user_location()

    def test() -> Any:
        return truth(tracer, symbol_of(tracer, condition()))

    with tracer.variables_of_any_kind(place):
        _while(tracer, test, body, place)


def _while(tracer: Tracer, test: Callable[[], Any], body: Callable[[], Any], place: Location | None) -> None:
    decided = [0]
    if tracer.merging.get(place) == RECORDS:
        try:
            _symbolic(tracer, test, body, 0)
        except UnsupportedSyntaxError as error:
            if error.id != "D2S-U21":
                raise
            raise TooManyWays(place, FOLLOWS) from None
        return
    while not _is_symbolic(tracer, test):
        if not test():
            return
        with tracer.turn_of(place, decided, is_while=True):
            body()
    _symbolic(tracer, test, body, 0)


def _is_symbolic(tracer: Tracer, test: Callable[[], Any]) -> bool:
    """True if only the run knows the answer of `test`; it is asked on trial."""
    tracer.in_test += 1
    try:
        with tracer.on_trial() as trial:
            _, outcome = trace_branch(tracer, test, Heap([test, *tracer.held()], tracer.is_outer))
            trial.is_over = True
    except CannotMerge:
        return False
    finally:
        tracer.in_test -= 1
    return outcome.error is None and is_symbol(symbol_of(tracer, outcome.result))


def _symbolic(tracer: Tracer, test: Callable[[], Any], body: Callable[[], Any], taken_out: int) -> None:
    """A loop whose test only the run knows, behind `taken_out` turns that stand before it."""
    way = _recorded(tracer, test, body, taken_out)
    if isinstance(way, _Recorded):
        # Here it can be caught as in Python.
        way.errors.raise_chosen(way.code)
    elif type(way) in OPENED:
        open_up(tracer, way)
        _symbolic(tracer, test, body, taken_out)
    elif way is _TestActs:
        _with_test_behind(tracer, test, body)
    elif _is_to_go_on(tracer, test()):
        body()
        _symbolic(tracer, test, body, taken_out + 1)


def _is_to_go_on(tracer: Tracer, answer: Any) -> bool:
    return tracer.decide(answer) if is_symbol(answer) else bool(answer)


def _recorded(tracer: Tracer, test: Callable[[], Any], body: Callable[[], Any], taken_out: int) -> Any:
    """Try to record a loop: what tells how it ends; or, with all undone, what to do instead.

    That is `_TestActs` if its test has to stand at the end of the turns, a list whose length only the run knows, or
    `CannotMerge` if a turn has to be taken out.
    """
    before, start = Heap([test, body, *tracer.held()], tracer.is_outer), state_of(tracer)
    tracer.in_loop += 1
    try:
        with tracer.trying() as undone:
            mark = Mark(tracer)
            try:
                return _Loop(tracer, test, body).run()
            except (_TestActs, CannotMerge) as reason:
                undone()
                before.restore()
                go_back(tracer, start)
                mark.undo()
                return _instead(tracer, before, reason, taken_out)
    except IteratorAdvanced:
        if IteratorsOfTheRun not in tracer.learned:
            raise IteratorsOfTheRun from None
        raise UnsupportedSyntaxError(
            "an iterator made before a loop is advanced in its turns, whose number only the run knows", user_location(),
            "Make it in the turn, or index a list.",
            kind="U16",
        ) from None
    finally:
        tracer.in_loop -= 1


def _instead(tracer: Tracer, before: Heap, reason: BaseException, taken_out: int) -> Any:
    """What to do instead of recording a loop, see `_recorded`; if there is nothing, it is refused."""
    if isinstance(reason, _TestActs):
        return _TestActs
    if isinstance(reason, Grown) and id(reason.thing) in before.nodes and not is_open(reason.thing):
        return reason.thing
    if taken_out == MAX_TURNS_TAKEN_OUT:
        place, name = user_location(), getattr(reason, "name", None)
        if place is not None and name is not None and name not in tracer.of_any_kind.get(place, ()):
            raise OfAnyKind(place, name)
        raise UnsupportedSyntaxError(
            f"this loop cannot become a graph: {reason}", user_location(),
            "Give every variable one kind of value in all turns, or keep it eager with @d2s.jit.not_to_static.",
            kind="U21",
        ) from reason.__cause__
    return CannotMerge


def _with_test_behind(tracer: Tracer, test: Callable[[], Any], body: Callable[[], Any]) -> None:
    """A loop whose test does more than answer: it becomes the end of the turn before."""
    going = test()

    def turn() -> None:
        nonlocal going
        body()
        going = test()

    while_loop(tracer, lambda: going, turn)


@dataclass
class _Recorded:
    """A loop of the Program: the exceptions of its turns, and what tells which one ended it."""

    errors: TurnErrors
    code: Any


class _TestActs(BaseException):
    """The test of a loop changes variables, has effects on them or raises."""


class _Loop:
    """Finds what a loop carries from turn to turn, and records it.

    An exception in a turn ends the loop: its number is carried in `exit`, 0 for none.
    """

    def __init__(self, tracer: Tracer, test: Callable[[], Any], body: Callable[[], Any]) -> None:
        self.tracer = tracer
        self.errors = TurnErrors(tracer)
        exit_ = 0

        def tested() -> Any:
            return and_(tracer, not_(tracer, exit_), test)

        def turn() -> None:
            nonlocal exit_
            try:
                body()
            except ENDS:
                raise
            except BaseException as error:
                exit_ = self.errors.note(error)

        self.code: Callable[[], Any] = lambda: exit_
        self.test, self.body = tested, turn
        self.before = self._heap()
        self.places: dict[Place, Form] = {}
        self.handed_on = HandedOn(tracer)
        self.rebuilt: dict[int, Any] = {}
        self.is_changing = False
        # The tensors from outside that turns write to: what they hold when a turn begins, it reads there.
        self.written: dict[int, Any] = {}
        self.flags = TurnFlags(tracer)

    def run(self) -> _Recorded:
        """Record the loop."""
        try:
            for _ in range(MAX_ATTEMPTS):
                remembered = Remembered(self.tracer)
                with self.tracer.on_trial() as trial:
                    is_recorded = self._attempt()
                    trial.is_over = not is_recorded
                if is_recorded:
                    return _Recorded(self.errors, self.code())
                remembered.forget_the_rest()
            raise UnsupportedSyntaxError("what this loop carries does not settle", user_location(), kind="U21")
        finally:
            # Whoever else holds what was carried, and which views are in use, is found by references: keep none.
            self.__dict__.clear()

    def _heap(self) -> Heap:
        return Heap([self.test, self.body, *self.tracer.held(), *self.errors.cells()], self.tracer.is_outer)

    def _attempt(self) -> bool:
        """Trace test and body with the places known so far as loop variables; False if there are more to carry."""
        tracer = self.tracer
        self.errors.forget()
        known = [(elements, elements.form) for elements in self._lists_of_the_run()]
        inputs = {place: carried.inputs_of(tracer, form, self._name(place)) for place, form in self.places.items()}
        tracer.turn_inputs.append({value for values in inputs.values() for value in values})
        written: list[Any] = []
        tracer.written_in_turns.append(written)
        self._note_flags(inputs)
        try:
            self._enter({place: iter(values) for place, values in inputs.items()})
            heap = self._heap()
            tracer.in_test += 1
            try:
                test_block, tested = trace_branch(tracer, self.test, heap)
            finally:
                tracer.in_test -= 1
            acts = self._changes_places(tested) or any(
                operator.kind in ("backward", "walk") for operator in walk_operators(test_block))
            if acts or tested.error is not None or tested.state.pending != tracer.pending:
                raise _TestActs
            take_handed_out(tracer, tested.state)
            missing: OnOnePath | None = None
            try:
                body_block, outcome = trace_branch(tracer, self.body, heap)
            except OnOnePath as reason:
                missing = reason
            if missing is not None:
                self.before.restore()
                if not hold(tracer, {missing.place: missing.entry}, tensors_only=False):
                    ask_later(tracer, missing.place, missing.entry)
                self.before = self._heap()
                return False
            if not tested.state.grad_mode is outcome.state.grad_mode is state.grad_enabled:
                raise CannotMerge("grad mode is another behind a turn than before it")
            if not outcome.state.layer_hooks.agrees(tracer.layer_hooks.known):
                raise CannotMerge("a Layer has other hooks behind a turn than before it")
            self._refuse_changes_of_rebuilt(outcome)
            self.before.restore()
            if any(elements.form is not form for elements, form in known):
                # More is known of what lists hold.
                return False
            if self._learn_written(written):
                return False
            if self.errors.settle() or hold(tracer, outcome.state.pending):
                self.before = self._heap()
                return False
            if (
                self._learn_calls(outcome) or self._learn(outcome) or learn_writes(tracer, outcome.state)
                or take_handed_out(tracer, outcome.state) or self._learn_left(inputs, outcome)
                or tracer.lowering.doubt(outcome.state.filled)
                or self._learn_flags(inputs, outcome, body_block)
            ):
                return False
            self._emit(inputs, tested.result, test_block, body_block, outcome)
        finally:
            tracer.turn_inputs.pop()
            tracer.written_in_turns.pop()
        return True

    def _learn_written(self, tensors: list[Any]) -> bool:
        """Note that turns write to these tensors from outside; True if that is new of any."""
        known = len(self.written)
        self.written.update((id(tensor), tensor) for tensor in tensors)
        return len(self.written) > known

    def _learn_calls(self, outcome: Outcome) -> bool:
        """Note that turns call what may change anything; True the first time: the next turn has to read it again."""
        if self.is_changing or outcome.state.freshness.epoch == self.tracer.epoch:
            return False
        self.is_changing, self.tracer.epoch = True, outcome.state.freshness.epoch
        return True

    def _lists_of_the_run(self) -> Iterator[Elements]:
        """What is known of the elements of each, and of those in them."""
        for node in self.before.nodes.values():
            if is_open(node):
                yield from elements_in(OpenForm(elements_of(node)))
        for form in self.places.values():
            yield from elements_in(form)

    def _note_flags(self, inputs: dict[Place, list[Value]]) -> None:
        """Note what is so of carried values, before the loop or after turns."""
        for place, form in self.places.items():
            initial = self._values(place, form, self.before.contents[place[0]], _value_now)
            self.flags.note(place, inputs[place], initial)

    def _learn_flags(self, inputs: dict[Place, list[Value]], outcome: Outcome, body: Block) -> bool:
        """Take note of what is so of them after a turn; True if there is anything new."""
        news = False
        for place, form in self.places.items():
            changed = outcome.changes.get(place[0])
            if changed is not None:
                news |= self.flags.learn(place, inputs[place], self._following(place, form, changed[1], outcome, body))
        return news

    def _learn_left(self, inputs: dict[Place, list[Value]], outcome: Outcome) -> bool:
        """Note that others have what was there before the loop, if they have what turns carry; True if that is new."""
        tracer, known = self.tracer, len(self.tracer.left)
        for place, form in self.places.items():
            initial = self._values(place, form, self.before.contents[place[0]], _value_now)
            for value, first in zip(inputs[place], initial, strict=True):
                if value in outcome.state.handed_out.left and first.is_tensor:
                    tracer.note_left(first)
        return len(tracer.left) > known

    def _name(self, place: Place) -> str:
        node, where = self.before.nodes[place[0]], place[1]
        if isinstance(node, Variable):
            return node.value.name
        found = self.before.names.get(place[0]) if where is None else where
        return found if isinstance(found, str) and found.isidentifier() else "carried"

    def _enter(self, values: dict[Place, Iterator[Value]]) -> None:
        self.tracer.read_later(self.written.values())
        self.rebuilt = {}
        self.handed_on.begin_turn()
        held: dict[Place, list[Variable]] = {}
        for place, form in self.places.items():
            node = self.before.nodes[place[0]]
            if isinstance(node, Variable):
                node.value = next(values[place])
                continue
            thing = self._begun_with(place, form, values[place])
            if isinstance(thing, list | dict | deque | set) or self.tracer.is_made(thing):
                self.rebuilt[id(thing)] = thing
            held[place] = list(tensors_in(thing))
            self.handed_on.note_begun(place, held[place])
            write(node, place[1], thing)
        # A write in a turn may be one to whatever an earlier turn has put there.
        self.held = held
        for place, variables in held.items():
            for source in () if any(map(is_view, variables)) else self.handed_on.sources(place, self._held_before):
                others = [source] if isinstance(source, Variable) else held.get(source, ())
                for variable in variables:
                    note_chosen(variable, others)

    def _begun_with(self, place: Place, form: Form, values: Iterator[Value]) -> Any:
        """What user code sees of a place at the beginning of a turn."""
        first = self._held_before(place)
        found = [*([] if first is MISSING else [first]), *self.handed_on.sources(place, self._held_before)]
        is_known = place not in self.handed_on.made_anew and all(isinstance(source, Variable) for source in found)
        return self._rebuilt(form, values, [first], found if is_known else [])

    def _rebuilt(self, form: Form, values: Iterator[Value], sources: list[Any], whole: list[Any]) -> Any:
        """What user code sees of a form, one of `sources`; if it is a tensor, one of `whole`, where that is known."""
        tensors = [source for source in whole if isinstance(source, Variable)]
        if not tensors or not isinstance(form, TensorForm):
            return carried.rebuilt(self.tracer, form, values, *sources)
        made = Variable(self.tracer, next(values))
        note_all_sources(made, tensors)
        return made

    def _refuse_changes_of_rebuilt(self, outcome: Outcome) -> None:
        for thing in self.rebuilt.values():
            if id(thing) in outcome.changes:
                raise CannotMerge(f"a {type(thing).__name__} is changed in some turns and replaced in others")

    def _learn(self, outcome: Outcome) -> bool:
        """Take note of places that the body changes and of forms that differ; True if anything is new."""
        new = False
        for key, (node, after) in outcome.changes.items():
            if key not in self.before.nodes or self._is_outer_tensor(node):
                continue
            for where, old, now in carried.differences(node, self.before.contents[key], after):
                place = (key, where)
                name = self._name(place)
                new |= self.handed_on.note(place, now, self.before)
                held = self.places.get(place) or self._form(node, old, _value_now)
                found = self._form(node, now, outcome.value_of)
                form = carried.joined(
                    held, found, name, self.tracer.in_loop > 1, self.tracer.is_of_any_kind(name))
                if place not in self.places or not carried.covers(held, form):
                    self.places[place] = form
                    new = True
        return new

    def _changes_places(self, outcome: Outcome) -> bool:
        return any(not self._is_outer_tensor(node) for node, _ in outcome.changes.values())

    def _is_outer_tensor(self, node: Any) -> bool:
        """True for the Variable of a tensor from outside: that holds itself what turns read and write."""
        return isinstance(node, Variable) and self.tracer.outer_tensor(node) is not None

    def _form(self, node: Any, thing: Any, value_of: ValueOf) -> Form:
        if isinstance(node, Variable):
            return carried.form_of_value(self.tracer, thing)
        return carried.form_of(self.tracer, thing, value_of)

    def _emit(
        self, inputs: dict[Place, list[Value]], answer: Any, test_block: Block, body_block: Block, outcome: Outcome,
    ) -> None:
        tracer = self.tracer
        initial: list[Value] = []
        following: list[Value] = []
        flat: list[Value] = []
        replaced: list[Value | None] = []
        # Tensors last: which of them there are is not the same in each replay.
        self.places = dict(sorted(
            self.places.items(), key=lambda item: isinstance(self.before.nodes[item[0][0]], Variable)))
        for place, form in self.places.items():
            held = self._held_before(place) if isinstance(form, OpenForm) else None
            if type(held) in OPENED and not tracer.is_outer(held):
                # Under its other names too.
                open_up(tracer, held)
            initial += self._values(place, form, self.before.contents[place[0]], _value_now)
            changed = outcome.changes.get(place[0])
            if changed is None:
                following += inputs[place]
            else:
                following += self._following(place, form, changed[1], outcome, body_block)
            flat += inputs[place]
            old = self.before.contents[place[0]]
            replaced += [old if isinstance(old, Value) else None] * len(inputs[place])
        renamed = {value: tracer.new_value(value.name, value.spec, value.stop_gradient, value.kind) for value in flat}
        rename_reads(test_block, renamed)
        test_block.inputs = tuple(renamed.values())
        test_block.outputs = (self._tested(answer, test_block, renamed),)
        body_block.inputs, body_block.outputs = tuple(flat), tuple(following)
        outputs = tuple(
            tracer.new_value(value.name, value.spec, value.stop_gradient, value.kind, value.maybe_missing)
            for value in flat)
        for value, out in zip(flat, outputs, strict=True):
            tracer.note_chosen(out, (value,))
        emitted = tracer.emit("while", tuple(initial), outputs, {}, effect=True, blocks=(test_block, body_block))
        if emitted.record is None:
            emitted.record = tracer.new_value("turns", None)
            tracer.definitions[emitted.record] = (emitted, tracer.block)
            # The point of one may be that of another in the turn before, so there may be more of them each time.
            done: set[int] = set()
            while more := {place for place, value in enumerate(flat) if value in tracer.hook_points} - done:
                tracer.carry_hook_point(emitted, min(more))
                done.add(min(more))
        real = tracer.real_outputs(emitted, outputs, replaced)
        values = iter([real.get(out, out) for out in outputs])
        for place, form in self.places.items():
            node = self.before.nodes[place[0]]
            if isinstance(node, Variable):
                node.value = next(values)
            else:
                changed = outcome.changes.get(place[0])
                sources = [self._held_before(place)]
                if changed is not None:
                    sources.append(part_of(node, changed[1], place[1]))
                result = self._rebuilt(form, values, sources, sources)
                write(node, place[1], result)
                # Without a turn it is the object from before, which may have other names.
                tracer.freeze(result, True)
                tracer.freeze(sources[0], True)
        take_loop_state(tracer, outcome.state, self.written.values())

    def _values(self, place: Place, form: Form, content: Any, value_of: ValueOf) -> list[Value]:
        if isinstance(content, Value):
            return [content]
        thing = part_of(self.before.nodes[place[0]], content, place[1])
        return carried.values_of(self.tracer, form, thing, value_of)

    def _following(self, place: Place, form: Form, content: Any, outcome: Outcome, body: Block) -> list[Value]:
        """What a turn leaves; what has to be made of it, the turn makes."""
        with self.tracer.recording_into(body):
            return self._values(place, form, content, outcome.value_of)

    def _held_before(self, place: Place) -> Any:
        return part_of(self.before.nodes[place[0]], self.before.contents[place[0]], place[1])

    def _tested(self, answer: Any, block: Block, renamed: dict[Value, Value]) -> Value:
        """The test of the loop as a Value of its block: a Python bool."""
        answer = symbol_of(self.tracer, answer)
        if not is_symbol(answer):
            return self.tracer.constant(bool(answer))
        value: Value = renamed.get(answer.value, answer.value)
        if isinstance(answer, ObjectVariable):
            return value
        with self.tracer.recording_into(block):
            return self.tracer.truth_of(Variable(self.tracer, value))


def _value_now(variable: Variable) -> Value:
    return variable.value
