"""Find the line at fault where no operator computes something else: the first one that gives a name another value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor
from d2s.errors import Location
from d2s.static.variable import Variable
from d2s.testing.locating import traced
from d2s.testing.variables import is_users_file
from d2s.watching.places import GENERATED, place_in_backward, source_of

Place = tuple[str, int]

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_NUMBERS = (bool, int, float)
# Of longer containers, and of longer runs, nothing is said.
_MOST_PARTS, _MOST_LINES = 64, 20_000


@dataclass(frozen=True)
class Naming:
    """
    The line after which a name has another value than in the other mode, and what it has in each, as texts.

    `turn`: when, as a number, eager mode has come to that line, or else to the one at which it could be seen.
    """

    name: str
    location: Location
    turn: int
    eager: str
    static: str


class _Unknown:
    """The value of a name, where only the run knows it, or where it is nothing that can be compared."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN = _Unknown()
_MISSING = object()
_RESULT = "the result"


@dataclass(eq=False)
class Line:
    """
    A line that has run once.

    Attributes
    ----------
    place : (str, int)
        File and number; where a function returns, the number of its first line with a minus.
    scope : range
        The lines of its function.
    names : dict
        The values of its names before it.
    is_nested : bool
        True if it has run while another line of the same function did, as what branches and turns are converted to.
    changed : dict
        The names that it has changed, with their values.
    """

    place: Place
    scope: range
    names: dict[str, Any]
    is_nested: bool
    changed: dict[str, Any] = field(default_factory=dict)


@dataclass
class Names:
    """What the names of the user's functions were, line by line; in static mode while the functions were traced."""

    code: CodeType | None
    # The ids of lists and dicts that hold something else while a function is traced than when it runs.
    outside: frozenset[int] = frozenset()
    lines: list[Line] = field(default_factory=list)
    # Those of traces before the last one: a function may be traced once for each way through it.
    earlier: list[list[Line]] = field(default_factory=list)
    numbers: dict[Place, list[Any]] = field(default_factory=dict)
    running: list[Line] = field(default_factory=list)

    def begin(self, code: CodeType) -> None:
        """A function begins; if it is the one that is compared, it is traced anew."""
        ours = self.code
        is_target = ours is not None and (code.co_filename, code.co_name) == (ours.co_filename, ours.co_name)
        if is_target and not self.running and self.lines:
            self.earlier.append(self.lines)
            self.lines = []

    def note_numbers(self, place: Place, values: Iterator[Any]) -> None:
        """A line of generated code has run, for a line of the user's."""
        self.numbers.setdefault(place, []).extend(self.described(value) for value in values if type(value) in _NUMBERS)

    def described(self, value: Any, depth: int = 0) -> Any:
        """A value as something that compares, without a look at what only the run knows."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, np.generic):
            return kind.__name__, repr(value)
        if kind in (Variable, Tensor):
            grad = "no gradient" if value.stop_gradient else "a gradient"
            return "Tensor", f"a {value.dtype.name} tensor that requires {grad}"
        if kind in (list, tuple, dict) and depth < 3 and len(value) <= _MOST_PARTS and id(value) not in self.outside:
            parts = [part for item in value.items() for part in item] if kind is dict else value
            return kind.__name__, *(self.described(part, depth + 1) for part in parts)
        return UNKNOWN

    def turn_of(self, location: Location) -> int | None:
        """When a line has run first, as a number; None if it has not."""
        place = (location.file, location.line)
        return next((number for number, line in enumerate(self.lines) if line.place == place), None)


class _Follower:
    """Follows one call of a function of the user's, or of what it has been converted to."""

    def __init__(self, found: Names, code: CodeType) -> None:
        self._found = found
        self._code = code
        self._scope = range(code.co_firstlineno, 1 + max(line for *_, line in code.co_lines() if line is not None))
        self._around = found.running[-1] if found.running else None
        self._line: Line | None = None
        self._first_inner = 0
        # What both branches of an `if` on a tensor have set, differently: only the run knows.
        self._merged: dict[str, Any] = {}
        found.begin(code)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event in ("line", "return"):
            now = {name: self._found.described(value) for name, value in frame.f_locals.items()}
            if event == "return":
                now[_RESULT] = self._found.described(argument)
            self._end(now)
            number = frame.f_lineno if event == "line" else -self._code.co_firstlineno
            self._begin((self._code.co_filename, number), now)
        if event == "return":
            self._end(now)
        return self

    def _begin(self, place: Place, now: dict[str, Any]) -> None:
        names = {name: UNKNOWN if self._merged.get(name) == value else value for name, value in now.items()}
        around = self._around
        is_nested = around is not None and around.place[0] == place[0] and abs(place[1]) in around.scope
        self._line = Line(place, self._scope, names, is_nested)
        if not (is_nested and around is not None and around.place == place):
            # A part of a line is no line of its own.
            self._found.lines.append(self._line)
        self._first_inner = len(self._found.lines)
        self._found.running.append(self._line)

    def _end(self, now: dict[str, Any]) -> None:
        line = self._line
        if line is None:
            return
        self._found.running.remove(line)
        line.changed = {name: value for name, value in now.items() if line.names.get(name, _MISSING) != value}
        for inner in self._found.lines[self._first_inner:]:
            if inner.is_nested:
                self._merged.update((name, line.changed[name]) for name, value in inner.changed.items()
                                    if name in line.changed and value != line.changed[name])
        self._line = None


def _differ(one: Any, other: Any) -> bool:
    """True if two descriptions are of different values, whatever the unknown parts are."""
    if one is UNKNOWN or other is UNKNOWN:
        return False
    if isinstance(one, str) or isinstance(other, str):
        return bool(one != other)
    return len(one) != len(other) or any(map(_differ, one, other))


def _text(value: Any) -> str:
    if value is UNKNOWN or isinstance(value, str):
        return str(value)
    kind, *parts = value
    if kind not in ("list", "tuple", "dict"):
        return str(parts[0])
    return f"{kind} of {', '.join(map(_text, parts))}"


@contextmanager
def names_of(found: Names) -> Iterator[None]:
    """Note in `found` what the user's lines, and lines of generated code that stand for them, give to names."""

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if len(found.lines) > _MOST_LINES:
            return None
        if code.co_filename.startswith(GENERATED):
            return _generated(frame, found)
        # Hooks and rules of gradients run after all lines of forward, in an order of their own.
        is_forward = is_users_file(code.co_filename) and place_in_backward(frame) == (None, False)
        return _Follower(found, code) if is_forward else None

    with traced(called):
        yield


def _generated(frame: FrameType, found: Names) -> Any:
    """Follow a function that runs a Program."""
    source = source_of(frame)
    if source is None:
        return None
    last: list[Any] = [None, {}]

    def follow(frame: FrameType, event: str, argument: Any) -> Any:
        now = {name: value for name, value in frame.f_locals.items() if type(value) in _NUMBERS}
        operator = None if last[0] is None else source.locations.get(last[0])
        if operator is not None and operator.location is not None:
            before = last[1]
            found.note_numbers((operator.location.file, operator.location.line), (
                value for name, value in now.items() if name not in before or before[name] is not value))
        last[:] = frame.f_lineno, now
        return follow

    return follow


def first_naming(eager: Names, static: Names) -> Naming | None:
    """
    The first line, in the order of eager mode, that gives a name something else.

    Compared is what names are before lines that both modes run equally often; the line named is the last one that has
    changed the name, in the mode that alone has run it, if so.  A name that only the run knows is compared with the
    numbers that the Program has computed for its line.
    """
    ours = _by_place(eager.lines)
    # Which of its traces the Program that ran is of is not known: a value is another one if it is so in each of them.
    traces = [_by_place(lines) for lines in (*static.earlier, static.lines)]
    counts: dict[Place, int] = {}
    for index, line in enumerate(eager.lines):
        number = counts[line.place] = counts.get(line.place, -1) + 1
        same = [others for trace in traces if len(others := trace.get(line.place, [])) == len(ours[line.place])]
        for name in sorted(line.names) if same and same[-1] is traces[-1].get(line.place) else ():
            if all(_differs_before(name, line, others[number], len(others)) for others in same):
                at = index, static.lines.index(same[-1][number])
                return _naming(name, eager, static, at, (set(ours), set(traces[-1])))
        given = {name: value for name, value in line.changed.items() if _is_number(value)}
        computed = static.numbers.get(line.place, [])
        if len(given) == len(ours[line.place]) == 1:
            # The last of them is the value of the name, those before it are parts.
            computed = computed[-1:]
        for name, value in given.items():
            if computed and value not in computed and all(_is_open(name, line, trace) for trace in traces):
                return Naming(name, Location(*line.place), index, _text(value), _text(computed[-1]))
    return None


def _by_place(lines: list[Line]) -> dict[Place, list[Line]]:
    """The lines by file and number."""
    found: dict[Place, list[Line]] = {}
    for line in lines:
        found.setdefault(line.place, []).append(line)
    return found


def _differs_before(name: str, line: Line, other: Line, times: int) -> bool:
    """True if a name is something else before a line of eager mode than before one of static mode."""
    if name not in other.names:
        return False
    one, another = line.names[name], other.names[name]
    is_turn = other.is_nested and times > 1
    return _differ(one, another) and not (is_turn and one[0] == another[0] == "Tensor")


def _is_open(name: str, line: Line, theirs: dict[Place, list[Line]]) -> bool:
    """True if static mode knows the value that a line gives to a name only when the Program runs."""
    return all(other.changed.get(name, UNKNOWN) is UNKNOWN for other in theirs.get(line.place, []))


def _is_number(described: Any) -> bool:
    return described is not UNKNOWN and described[0] in ("bool", "int", "float")


def _naming(
    name: str, eager: Names, static: Names, seen: tuple[int, int], places: tuple[set[Place], set[Place]]
) -> Naming:
    """The line that has changed a name which is seen to differ before certain lines."""
    at = eager.lines[seen[0]]
    writers = [_writer(name, names.lines[:end], at) for names, end in zip((eager, static), seen, strict=True)]
    ours, theirs = (None if number is None else names.lines[number]
                    for number, names in zip(writers, (eager, static), strict=True))
    if theirs is not None and theirs.place not in places[0]:
        place, turn = theirs.place, seen[0]
    elif ours is not None:
        assert writers[0] is not None
        place, turn = ours.place, writers[0]
    else:
        place, turn = at.place, seen[0]
    before = static.lines[seen[1]].names[name]
    return Naming(name, Location(place[0], abs(place[1])), turn, _text(at.names[name]), _text(before))


def _writer(name: str, lines: list[Line], at: Line) -> int | None:
    """The number of the last line of the same function that has changed a name."""
    return next((number for number in reversed(range(len(lines)))
                 if name in lines[number].changed and lines[number].place[0] == at.place[0]
                 and abs(lines[number].place[1]) in at.scope), None)
