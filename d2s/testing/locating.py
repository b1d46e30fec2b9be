"""Find the line at fault: the first operator that computes something else, or the statement that writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase, unwrap
from d2s.errors import Location
from d2s.testing.comparing import Tolerance
from d2s.testing.variables import is_users_file
from d2s.watching.operators import Ran
from d2s.watching.places import GENERATED, is_backward, place_in_backward, source_of

Arrays = tuple[np.ndarray[Any, Any], ...]
Key = tuple[bool, str, str, int]
# A line, and what was looked at before and after it.
Writes = list[tuple[Location, Any, Any]]


@dataclass(frozen=True)
class Parting:
    """
    The first operator at which the modes part, with what it gave in each (None: it did not run) and what it read.

    `is_late`: during backward, in a hook too.  `is_guess`: no value is another one, but an operator has run in one mode
    only, or more often; passes do that too.
    """

    kind: str
    backward: bool
    location: Location
    eager: np.ndarray[Any, Any] | None
    static: np.ndarray[Any, Any] | None
    read: tuple[Arrays, Arrays] = ((), ())
    is_guess: bool = False
    is_late: bool = False


@dataclass(frozen=True, eq=False)
class Entry:
    """An operator that has run: copies of what it read and gave, and the arrays themselves, to tell who made what."""

    key: Key
    location: Location
    is_late: bool
    read: Arrays
    gave: Arrays
    own_read: Arrays
    own_gave: Arrays

    def parting(
        self, eager: np.ndarray[Any, Any] | None, static: np.ndarray[Any, Any] | None,
        read: tuple[Arrays, Arrays] = ((), ()),
    ) -> Parting:
        """This operator as the one at which the modes part."""
        return Parting(self.key[1], self.key[0], self.location, eager, static, read, is_late=self.is_late)

    def gives_what(self, others: list[Entry], tolerance: Tolerance) -> bool:
        """True if one of the others has given the same."""
        return any(
            all(tolerance.admits(a, b) for a, b in zip(self.gave, other.gave, strict=False)) for other in others)

    def guess(self, eager: np.ndarray[Any, Any] | None, static: np.ndarray[Any, Any] | None) -> Parting:
        """The same, if nothing better is known."""
        return replace(self.parting(eager, static), is_guess=True)


class Record:
    """The operators that have run in one call."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def note(self, ran: Ran) -> None:
        """To be called for each."""
        if ran.values and ran.location is not None:
            kind = "add" if ran.kind == "add_present" else ran.kind
            key = (ran.backward, kind, ran.location.file, ran.location.line)
            read = tuple(_arrays_in(ran.arguments))
            is_late = ran.backward or ran.in_hook
            self.entries.append(Entry(key, ran.location, is_late, _copies(read), _copies(ran.values), read, ran.values))

    def forward(self) -> Record:
        """What has run before backward, and in no hook."""
        found = Record()
        found.entries = [entry for entry in self.entries if not entry.is_late]
        return found

    def idle(self, kept: Iterable[Any]) -> set[Entry]:
        """
        The entries whose values neither are `kept` nor read by another operator, or that are made of constants alone.

        A Program does not run them: what nobody uses is left out, and constants are computed while it is built.
        """
        read = set(map(id, kept))
        found: set[Entry] = set()
        for entry in reversed(self.entries):
            if any(id(array) in read for array in entry.own_gave):
                read.update(map(id, entry.own_read))
            else:
                found.add(entry)
        constant: set[int] = set()
        for entry in self.entries:
            if all(id(array) in constant for array in entry.own_read):
                constant.update(map(id, entry.own_gave))
                found.add(entry)
        return found

    def by_key(self) -> dict[Key, list[Entry]]:
        """The entries by kind and line."""
        found: dict[Key, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.key, []).append(entry)
        return found


def _arrays_in(tree: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(tree, TensorBase):
        yield unwrap(tree)
    elif isinstance(tree, np.ndarray):
        yield tree
    elif isinstance(tree, tuple | list):
        for part in tree:
            yield from _arrays_in(part)


def _copies(arrays: Arrays) -> Arrays:
    return tuple(array.copy() for array in arrays)


def first_parting(
    eager: Record, static: Record, tolerance: Tolerance, is_of_values: bool = True, kept: Iterable[Any] = (),
) -> Parting | None:
    """
    The first operator that gives another value, in the order of eager mode.

    Operators are matched by kind and line, in any order: passes move them.  Of one that gives another value because
    only one mode runs an operator before it (a cast, say), that operator is the first.  If each mode has run lines that
    the other has not, they went different ways, and the first such line counts too; so it does if no value differs.
    Then comes what one mode has run more often, and last, if it is values that differ (`is_of_values`), an operator
    that only one mode has run.  What a Program leaves out is no such line; `kept` are the arrays that the function has
    returned or written in eager mode.
    """
    ours, theirs = eager.by_key(), static.by_key()
    idle = eager.idle(kept)
    went = _lines(entry for entry in eager.entries if entry not in idle) - _lines(static.entries)
    parted = bool(went) and bool(_lines(static.entries) - _lines(eager.entries))
    skipped: Parting | None = None
    pairs = _Pairs(eager, static, tolerance)
    for entry in eager.entries:
        key = entry.key
        other = pairs.that_differs(entry)
        if key[2:] in went and not key[0] and entry not in idle:
            skipped = skipped or entry.guess(entry.gave[0], None)
            if parted:
                return entry.parting(entry.gave[0], None)
        if other is not None:
            a, b = next((pair for pair in zip(entry.gave, other.gave, strict=False) if not tolerance.admits(*pair)),
                        (entry.gave[0], other.gave[0]))
            return (_only_before(entry, other, eager, static, tolerance)
                    or _turn_before(other, ours, static, tolerance)
                    or entry.parting(a, b, (entry.read, other.read)))
    if skipped is not None:
        return skipped
    for entry in static.entries:
        # What static mode has run more or less often, if it is not what eager mode has computed elsewhere.
        if entry.key in ours and len(ours[entry.key]) != len(theirs[entry.key]) and not entry.gives_what(
                eager.entries, tolerance):
            return entry.guess(ours[entry.key][-1].gave[0], entry.gave[0])
    return _last_of_one_mode(eager, static, tolerance, idle) if is_of_values else None


class _Pairs:
    """Which operator of static mode is that of eager mode, of those of one kind and line."""

    def __init__(self, eager: Record, static: Record, tolerance: Tolerance) -> None:
        self._eager, self._static, self._tolerance = eager, static, tolerance
        self._ours, self._theirs = eager.by_key(), static.by_key()
        # Of a kind and line: the entries of eager mode that no other fits, and those of static mode.
        self._left: dict[Key, tuple[list[Entry], list[Entry]]] = {}
        self._counts: dict[Key, int] = {}

    def that_differs(self, entry: Entry) -> Entry | None:
        """
        The operator of static mode that gives something else in place of `entry`; to be asked for each once, in order.

        Where one mode needs fewer steps, as in sums of gradients, one cannot say which step is which; forward each of
        them gives what some other gave (equal ones are merged), unless a loop went another way.  Forward they come in
        one order in both modes, backward perhaps not.
        """
        key = entry.key
        number = self._counts[key] = self._counts.get(key, -1) + 1
        others = self._theirs.get(key, [])
        if not others:
            return None
        if len(others) == len(self._ours[key]):
            ours_left, theirs_left = self._without_equals(key)
            if key[0]:
                return theirs_left[ours_left.index(entry)] if entry in ours_left else None
            differs = bool(ours_left) and not entry.gives_what([others[number]], self._tolerance)
        else:
            differs = not key[0] and not entry.gives_what(others, self._tolerance) and not self._is_part(entry)
        return others[min(number, len(others) - 1)] if differs else None

    def _is_part(self, entry: Entry) -> bool:
        """True if static mode computes it in one operator with what follows: all that reads the value is right."""
        readers = [other for other in self._eager.entries
                   if any(read is given for read in other.own_read for given in entry.own_gave)]
        return bool(readers) and all(other.gives_what(self._static.entries, self._tolerance) for other in readers)

    def _without_equals(self, key: Key) -> tuple[list[Entry], list[Entry]]:
        """What is left when each operator of eager mode has taken one away that has given the same."""
        found = self._left.get(key)
        if found is None:
            found = self._left[key] = [], list(self._theirs[key])
            for entry in self._ours[key]:
                other = next((other for other in found[1] if entry.gives_what([other], self._tolerance)), None)
                if other is None:
                    found[0].append(entry)
                else:
                    found[1].remove(other)
        return found


def _only_before(
    ours: Entry, theirs: Entry, eager: Record, static: Record, tolerance: Tolerance
) -> Parting | None:
    """Of an operator that gives something else in each mode: the operator of one mode only that it has a value from."""
    for mine, own, other in ((ours, eager, static), (theirs, static, eager)):
        read_there = (theirs if mine is ours else ours).read
        keys = other.by_key()
        for value, array in zip(mine.read, mine.own_read, strict=True):
            if any(tolerance.admits(value, there) for there in read_there):
                continue
            maker = next((e for e in own.entries if any(array is given for given in e.own_gave)), None)
            if maker is not None and maker.key not in keys:
                return maker.parting(*((value, None) if mine is ours else (None, value)))
    return None


def _turn_before(entry: Entry, ours: dict[Key, list[Entry]], static: Record, tolerance: Tolerance) -> Parting | None:
    """What static mode ran more often to make what `entry` reads, with a value that eager mode does not have."""
    counts = static.by_key()
    for before in static.entries[: static.entries.index(entry)]:
        others = ours.get(before.key, [])
        is_read = any(given is array for given in before.own_gave for array in entry.own_read)
        if is_read and 0 < len(others) < len(counts[before.key]) and not before.gives_what(others, tolerance):
            return before.parting(others[-1].gave[0], before.gave[0])
    return None


def _last_of_one_mode(eager: Record, static: Record, tolerance: Tolerance, idle: set[Entry]) -> Parting | None:
    """The last operator, run forward, that only one mode has run, and whose value the other mode does not have."""
    for own, other in ((eager, static), (static, eager)):
        keys = other.by_key()
        for entry in reversed(own.entries):
            value = entry.gave[0]
            if not entry.key[0] and entry not in idle and entry.key not in keys and not any(
                    tolerance.admits(value, there)
                    for found in other.entries if not found.key[0] for there in found.gave):
                return entry.guess(*((value, None) if own is eager else (None, value)))
    return None


def _lines(entries: Iterable[Entry]) -> set[tuple[str, int]]:
    """The lines of which something has run forward."""
    return {entry.key[2:] for entry in entries if not entry.key[0]}


@contextmanager
def writes_to(look: Callable[[], Any], found: Writes, in_backward: bool = True) -> Iterator[None]:
    """
    Append to `found` the user's lines after which ``look()`` gives something else, with what it gave and gives then.

    Lines of the user count, and lines of generated code, for which the user's line that they stand for is noted; not
    those of hooks and of gradients if `in_backward` is False.
    """
    last = [look()]

    def check(place: Location | None) -> None:
        if place is None:
            # A function begins: what has changed before belongs to the line that calls it.
            return
        now = look()
        if now != last[0]:
            found.append((place, last[0], now))
            last[0] = now

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        is_generated = frame.f_code.co_filename.startswith(GENERATED)
        if not is_generated and not is_users_file(frame.f_code.co_filename):
            return None
        before: list[Location | None] = [None]
        source = source_of(frame) if is_generated else None
        if is_generated and source is None:
            return None
        if not in_backward and (place_in_backward(frame) != (None, False) or (
                source is not None and is_backward(source))):
            return None

        def follow(frame: FrameType, event: str, argument: Any) -> Any:
            check(before[0])
            if source is None:
                before[0] = Location(frame.f_code.co_filename, frame.f_lineno)
            else:
                operator = source.locations.get(frame.f_lineno)
                before[0] = None if operator is None else operator.location
            return follow

        return follow

    with traced(called):
        yield


@contextmanager
def returns_of(code: Any, found: list[Location]) -> Iterator[None]:
    """Append to `found` the lines at which functions with this code return."""

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return follow if frame.f_code is code else None

    def follow(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            found.append(Location(frame.f_code.co_filename, frame.f_lineno))
        return follow

    with traced(called):
        yield


@contextmanager
def traced(called: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)
