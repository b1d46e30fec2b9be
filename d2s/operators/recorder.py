"""Recording operators along paths: where Python needs a decision that falls only when the Program runs, the code is
traced once for each answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import CodeType
from typing import Any, TypeVar

from d2s.core.op import Op
from d2s.errors import Location, ProgramError, UnsupportedSyntaxError, user_location
from d2s.operators.attempts import (
    Handlers,
    done,
    is_of_program,
    refusal,
    try_first,
)
from d2s.operators.given_up import Generators
from d2s.operators.restarts import (
    MERGES,
    RECORDS,
    FollowBoth,
    TooManyWays,
)
from d2s.operators.risks import Errors, errors_of, may_not_fit
from d2s.static.builder import StaticInterpreter
from d2s.static.program import Block, Operator, Program, Value
from d2s.static.variable import ObjectVariable, Variable

MAX_PATHS = 256
# If there are more than this, it is tried whether they can be merged.
MANY_PATHS = 48
# In more turns than this the ways of an unrolled loop are merged, if they can be.
MAX_DECIDED_TURNS = 6
# Regions inside of each other; more is a recursion that no value known now will end.
MAX_NESTING = 60


_WITH_REGIONS = ("cond", "while")
# What they give is one of their inputs, or a version of it.
_OF_ONE_TENSOR = frozenset(("cond", "check_bound", "replace", "stop_gradient"))


Found = TypeVar("Found")


class Run:
    """One time of following the code of a region; `is_over` when it is followed again, from the start, or given up."""

    __slots__ = ("around", "is_over")

    def __init__(self, around: Run | None) -> None:
        self.around = around
        self.is_over = False

    @property
    def is_given_up(self) -> bool:
        """True if this, or a run around it, is over."""
        run: Run | None = self
        while run is not None and not run.is_over:
            run = run.around
        return run is not None


class Path:
    """One way through a region, and the part of it that the next way shares.

    `log` holds the operators in the order of their emission, and the test of each decision: when the region is run
    again with another decision, what comes before is replayed from it.  `trials` holds, for what was
    recorded on trial, the length of the log where it began, and whether it was undone.
    """

    def __init__(self, root: Block, around: Run | None) -> None:
        self.run = Run(around)
        self.log: list[Operator | Value] = []
        self.position = 0
        self.choices: list[bool] = []
        self.tests: list[Value] = []
        self.marks: list[int] = []
        self.blocks: list[Block] = [root]
        self.cursor = 0
        # What was found at places of the log, by objects that may be gone when the region is run again.
        self.found: dict[tuple[int, str], Any] = {}
        self.trials: list[tuple[int, bool]] = []
        self.trial = 0
        self.decided_at: Location | None = None

    def flip(self, index: int) -> None:
        """Prepare to run again with decision `index` answered False, and nothing decided after it."""
        self.choices[index:] = [False]
        del self.tests[index + 1 :], self.marks[index + 1 :]
        del self.log[self.marks[index] :]
        self.found = {place: found for place, found in self.found.items() if place[0] < len(self.log)}
        self.trials = [trial for trial in self.trials if trial[0] < len(self.log)]
        self.blocks[index + 1 :] = [Block()]

    def restart(self) -> None:
        self.run.is_over = True
        self.run = Run(self.run.around)
        self.position = self.cursor = self.trial = 0


class PathRecorder(StaticInterpreter):
    """Records operators; in a region, a decision is answered True first, and the region is traced again with False.

    Attributes
    ----------
    effects : int
        How many calls have been recorded that may do anything outside.
    in_test, in_loop, attempts : int
        How many tests of loops, bodies of loops and bodies of `try` are being traced now.
    handlers : list of Handlers or None
        Those of the ``try`` statements around, from the outside inwards; None where nothing is known of them.
    calls, risks : int
        How many calls of the user's functions have been traced, and how many operators recorded that may raise.
    misplaced : list of (code, int)
        Lines of hook registrations that should not have been moved, with the code that they are in.
    followed : set of Location
        Branches of which both paths are followed to the end.
    """

    follows_decisions = True

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._paths: list[Path | None] = []
        self.effects = 0
        self.in_test = 0
        self.in_loop = 0
        self.attempts = 0
        self.handlers: list[Handlers | None] = []
        self.calls = 0
        self.risks = 0
        self.misplaced: list[tuple[CodeType, tuple[int, ...]]] = []
        self.followed: set[Location | None] = set()
        # Loops that Python unrolls about which something is done, as `TooManyWays` says.
        self.merging: dict[Location | None, int] = {}
        # Variables of loops that are objects of any kind, by the loop; and those of the loops that are traced now.
        self.of_any_kind: dict[Location | None, frozenset[str]] = {}
        self._any_kind_here: list[frozenset[str]] = []
        self._outputs_by_key: dict[Operator, dict[tuple[Value | None, int], int]] = {}
        # Exceptions that stand for those of the run, by identity.
        self.errors_of_run: dict[int, tuple[BaseException, Value]] = {}
        self.generators = Generators()
        # How many turns are being traced of loops whose ways are merged; one more if all ways are, wherever they part.
        self.in_merged = 0
        # False if ways are followed, however many there are.
        self.may_merge = True

    # --- where the trace is --------------------------------------------------------------------------------------

    @property
    def path(self) -> Path | None:
        """The path that is being followed, unless operators go to a block without decisions."""
        return self._paths[-1] if self._paths else None

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._blocks)

    def open_blocks(self) -> Iterable[Block]:
        """The blocks around the place where the trace is."""
        return tuple(self._blocks)

    @property
    def is_outermost(self) -> bool:
        """True outside of branches and loops of the Program."""
        return len(self._paths) == 1

    def region(self, root: Block) -> AbstractContextManager[Path]:
        """Record into `root`, with decisions of its own."""
        if len(self._paths) > MAX_NESTING:
            raise UnsupportedSyntaxError(
                f"more than {MAX_NESTING} conditions inside of each other: a recursion whose end is known only when "
                "the Program runs cannot become a graph", user_location(), "Write it as a loop.",
                kind="U07",
            )
        return self._region(root)

    @contextmanager
    def _region(self, root: Block) -> Iterator[Path]:
        around = self.run
        path = Path(root, around)
        self._paths.append(path)
        depth = len(self._blocks)
        try:
            yield path
        finally:
            del self._blocks[depth:]
            self._paths.pop()
            self.run = around

    def enter_root(self, path: Path, depth: int) -> None:
        """Start (again) at the root block of a region."""
        del self._blocks[depth:]
        self._blocks.append(path.blocks[0])
        path.restart()
        self.run = path.run

    @contextmanager
    def on_trial(self) -> Iterator[Run]:
        """Trace what may be given up: whoever does so sets `is_over`, which is set if this ends in an exception."""
        around = self.run
        self.run = run = Run(around)
        try:
            yield run
        except BaseException:
            run.is_over = True
            raise
        finally:
            self.run = around

    @contextmanager
    def new_block(self, inputs: tuple[Value, ...] = ()) -> Iterator[Block]:
        # Inside, operators are recorded as they come; decisions there belong to a region of their own.
        self._paths.append(None)
        try:
            with super().new_block(inputs) as block:
                yield block
        finally:
            self._paths.pop()

    @contextmanager
    def attempt(self, handlers: Handlers | None) -> Iterator[None]:
        """Trace the body of a ``try``, or of another statement that is told of errors: its handlers are not known."""
        self.attempts += 1
        self.handlers.append(handlers)
        try:
            yield
        finally:
            self.attempts -= 1
            self.handlers.pop()

    @contextmanager
    def unguarded(self) -> Iterator[None]:
        """Record what no handler has to be told of."""
        attempts, self.attempts = self.attempts, 0
        try:
            yield
        finally:
            self.attempts = attempts

    @contextmanager
    def crossing(self, code: CodeType, lines: tuple[int, ...], is_registration: bool) -> Iterator[None]:
        """Trace a statement that stands in another order to hook registrations than the user wrote.

        That shows if it may raise, runs code of the user or acts outside: then the trace begins anew without the move.
        """
        watched = [self.effects, self.calls, self.risks]
        is_harmless = False
        try:
            yield
            now = [self.effects, self.calls, watched[2] if is_registration else self.risks]
            is_harmless = now == watched
        except BaseException as error:
            # Others than those of the user say that the trace comes to no end here.
            is_harmless = not is_of_program(self, error)
            raise
        finally:
            if not is_harmless:
                self.misplaced.append((code, lines))

    @contextmanager
    def turn_of(self, place: Location | None, decided: list[int], is_while: bool = False) -> Iterator[None]:
        """Trace a turn of a loop that Python unrolls; `decided` counts turns in which the trace followed both ways."""
        path = self.path
        before = 0 if path is None else path.cursor
        stage = self.merging.get(place, 0)
        merges = stage > 0
        with self.merged(merges):
            yield
        if path is None or path.cursor <= before or not self.may_merge:
            return
        decided[0] += 1
        if decided[0] == MAX_DECIDED_TURNS and (not merges or (is_while and stage < RECORDS)):
            raise TooManyWays(place, RECORDS if merges else MERGES)

    def watched(self, iterable: Iterable[Any]) -> Iterator[Any]:
        """What a comprehension runs over, which is a loop that Python unrolls; all of it is taken at once."""
        place, decided = user_location(), [0]
        for item in iterable:
            with self.turn_of(place, decided):
                yield item

    def merges_here(self) -> bool:
        """True if the ways of a comprehension at this place are merged at the end of each turn."""
        return self.in_merged > 0 or bool(self.merging and self.merging.get(user_location()))

    @contextmanager
    def merged(self, merges: bool = True) -> Iterator[None]:
        """Trace code whose ways are merged wherever they part, as those in turns have to be."""
        self.in_loop += merges
        self.in_merged += merges
        try:
            yield
        finally:
            self.in_loop -= merges
            self.in_merged -= merges

    @contextmanager
    def variables_of_any_kind(self, place: Location | None) -> Iterator[None]:
        """Trace a loop, with those of its variables."""
        self._any_kind_here.append(self.of_any_kind.get(place, frozenset()))
        try:
            yield
        finally:
            self._any_kind_here.pop()

    def is_of_any_kind(self, name: str) -> bool:
        """True for a variable that is an object of any kind in a loop that is traced now."""
        return any(name in names for names in self._any_kind_here)

    # --- decisions that Python needs now -------------------------------------------------------------------------

    def decide(self, symbol: Variable | ObjectVariable) -> bool:
        """Answer ``bool(symbol)``: the trace goes on with True, and is repeated from the start of the region with
        False; the Program chooses when it runs."""
        path = self.path
        if path is None:
            return super().decide(symbol)
        test = self.truth_of(symbol)
        if len(path.tests) > MAX_PATHS:
            raise _too_many_decisions()
        index = path.cursor
        path.cursor += 1
        if index < len(path.tests):
            path.position += 1
        else:
            path.decided_at = user_location()
            path.choices.append(True)
            path.tests.append(test)
            path.log.append(test)
            path.position = len(path.log)
            path.marks.append(path.position)
            path.blocks.append(Block())
        self._blocks.append(path.blocks[index + 1])
        return path.choices[index]

    @contextmanager
    def trying(self) -> Iterator[Callable[[], None]]:
        """Record what may be undone; the function given notes that it was.

        It is undone in a replay too: there the log, which does not hold it, must not be compared with it.
        """
        path = self.path
        if path is None:
            yield lambda: None
            return
        log, begin, number = path.log, path.position, len(path.trials)
        is_known, path.trial = path.trial < number, path.trial + 1
        in_vain = is_known and path.trials[path.trial - 1][1]
        found = path.found
        if in_vain:
            path.log, path.found = log[:begin], dict(found)
        elif not is_known:
            path.trials.append((begin, False))

        def note_undone() -> None:
            path.trials[number] = begin, True

        try:
            yield (lambda: None) if is_known else note_undone
        finally:
            path.log = log
            if in_vain:
                path.found = found

    def forget_trial(self, test: Value) -> None:
        """Let the last trial be no part of the log: `test` is decided in its place, also when this is replayed."""
        path = self.path
        if path is not None and not self.is_decided(test):
            path.trials.pop()
            path.trial -= 1

    def as_found(self, what: str, find: Callable[[], Found]) -> Found:
        """What `find` gives; in a replay, what it gave at this place."""
        path = self.path
        if path is None:
            return find()
        place = path.position, what
        if path.position == len(path.log) or place not in path.found:
            path.found[place] = find()
        found: Found = path.found[place]
        return found

    def is_decided(self, test: Value) -> bool:
        """True if this replay has come to a place where `test` was decided."""
        path = self.path
        return path is not None and path.position < len(path.log) and path.log[path.position] is test

    def follow_both_at(self, place: Location | None) -> bool:
        """Follow both paths at a branch from now on, without a trial; False if that is done already or cannot be."""
        if place is None or place in self.followed:
            return False
        self.followed.add(place)
        return True

    def take_apart(self, value: Value) -> None:
        """Begin the trace anew if `value` was merged behind a branch, so that each path knows which value it is."""
        stack, seen = [value], {value}
        while stack:
            definition = self.definitions.get(stack.pop())
            if definition is None:
                continue
            operator = definition[0]
            if operator.kind == "cond" and operator.location is not None and operator.location not in self.followed:
                raise FollowBoth(operator.location)
            if operator.kind in _OF_ONE_TENSOR:
                found = (*operator.inputs, *(given for block in operator.blocks for given in block.outputs))
                stack += [given for given in found if given not in seen]
                seen.update(found)

    # --- operators -----------------------------------------------------------------------------------------------

    def emit(
        self, kind: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], attrs: dict[str, Any] | None = None,
        op: Op | None = None, effect: bool = False, blocks: tuple[Block, ...] = (),
    ) -> Operator:
        self.generators.check_not_ending()
        specs = [value.spec for value in inputs if value.spec is not None]
        attrs = attrs or {}
        errors = errors_of(kind, op, attrs, specs)
        self.risks += errors != () or (op is not None and may_not_fit(op, specs))
        if self.attempts and kind == "python" and (errors is None or self.may_raise_more()):
            return done(self, outputs[0], *attrs["call"])
        if self.attempts and errors != ():
            self._try(kind, op, inputs, attrs, errors)
        path = self.path
        if path is None:
            return super().emit(kind, inputs, outputs, attrs, op, effect, blocks)
        if path.position < len(path.log):
            return self._replayed(path, Operator(kind, inputs, outputs, op=op))
        found = super().emit(kind, inputs, outputs, attrs, op, effect, blocks)
        path.log.append(found)
        path.position = len(path.log)
        return found

    def _try(
        self, kind: str, op: Op | None, inputs: tuple[Value, ...], attrs: dict[str, Any], errors: Errors | None
    ) -> None:
        """In a ``try``: take care that what an operator raises in the run comes to the handlers."""
        if errors is None or self.path is None:
            raise refusal()
        with self.unguarded():
            try_first(self, kind, op, inputs, attrs, errors)

    def may_raise_more(self) -> bool:
        """True if a call may raise more than others of that function."""
        return False

    def emit_into(self, block: Block, operator: Operator) -> Operator:
        """Append an operator to a block around the current one."""
        path = next((path for path in self._paths if path is not None and any(block is b for b in path.blocks)), None)
        if path is not None:
            if path.position < len(path.log):
                return self._replayed(path, operator)
            path.log.append(operator)
            path.position = len(path.log)
        block.operators.append(operator)
        for output in operator.outputs:
            self.definitions[output] = (operator, block)
        return operator

    def _replayed(self, path: Path, operator: Operator) -> Operator:
        recorded = path.log[path.position]
        if not isinstance(recorded, Operator) or not _may_stand_for(recorded, operator):
            raise _strayed()
        path.position += 1
        return recorded

    def real_outputs(
        self, emitted: Operator, own: Sequence[Value], replaced: Sequence[Value | None]
    ) -> dict[Value, Value]:
        """The outputs that a `cond` or `while` has for those that this replay would have given it.

        Tensors that share values are found by weak references: a replay may still find one that Python has collected
        the first time, or the other way round.  So what a Variable becomes is told by the Value that it had, all else
        by the order.

        Parameters
        ----------
        replaced : sequence of Value or None
            For each output the Value that it takes the place of; None if it is no Variable of before.
        """
        keys = list(_numbered(replaced))
        known = self._outputs_by_key.setdefault(emitted, {key: place for place, key in enumerate(keys)})
        if sum(value is None for value in replaced) != sum(key[0] is None for key in known):
            raise _strayed()
        return {value: emitted.outputs[known[key]] for value, key in zip(own, keys, strict=True) if key in known}

    def recall(self, value: Value) -> Value:
        """A value that is used again; in a replay, its operator is passed over if this is where it was emitted."""
        path = self.path
        if path is not None and path.position < len(path.log) and path.log[path.position] is self.definitions[value][0]:
            path.position += 1
        return value

    def effect(self, function: Any, *args: Any) -> ObjectVariable:
        """Do something outside on every run, at this place."""
        self.effects += 1
        return self.python_call(function, args, effect=True)


def _may_stand_for(recorded: Operator, operator: Operator) -> bool:
    """True if `recorded` can be what `operator` is in a replay: the same op on the same values."""
    if recorded.kind != operator.kind:
        return False
    if operator.kind in _WITH_REGIONS:
        # Which outputs they have is compared by `real_outputs`.
        return True
    if len(recorded.outputs) < len(operator.outputs):
        return False
    if operator.op is None:
        # What regions are made of is made anew for each trial.
        return True
    pairs = zip(recorded.inputs, operator.inputs, strict=False)
    return len(recorded.inputs) == len(operator.inputs) and all(
        old is new or (old.is_constant and new.is_constant) for old, new in pairs)


def _numbered(values: Iterable[Value | None]) -> Iterator[tuple[Value | None, int]]:
    """Each of `values`, and how many of the same came before it."""
    seen: Counter[Value | None] = Counter()
    for value in values:
        yield value, seen[value]
        seen[value] += 1


def _strayed() -> ProgramError:
    return ProgramError("the function does different things when it is traced again", kind="P01")


def _too_many_decisions() -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"more than {MAX_PATHS} decisions in a row on values that are known only when the Program runs",
        user_location(), "Use tensor operators (where, masks), or write it as a `while` on a tensor.",
        kind="U11",
    )
