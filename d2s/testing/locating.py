"""Find the line at fault: the first operator that computes something else, or the statement that writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from d2s.errors import Location
from d2s.testing.comparing import Tolerance
from d2s.testing.reach import is_users_file
from d2s.watching.operators import Ran
from d2s.watching.places import GENERATED, source_of

Key = tuple[bool, str, str, int]


@dataclass(frozen=True)
class Parting:
    """The first operator at which the modes part, with what it gave in each (None: it did not run)."""

    kind: str
    backward: bool
    location: Location
    eager: np.ndarray[Any, Any] | None
    static: np.ndarray[Any, Any] | None


class Record:
    """The operators that have run in one call, with copies of what they gave."""

    def __init__(self) -> None:
        self.entries: list[tuple[Key, Location, tuple[np.ndarray[Any, Any], ...]]] = []

    def note(self, ran: Ran) -> None:
        """To be called for each."""
        if ran.values and ran.location is not None:
            kind = "add" if ran.kind == "add_present" else ran.kind
            key = (ran.backward, kind, ran.location.file, ran.location.line)
            self.entries.append((key, ran.location, tuple(value.copy() for value in ran.values)))

    def by_key(self) -> dict[Key, list[tuple[np.ndarray[Any, Any], ...]]]:
        found: dict[Key, list[tuple[np.ndarray[Any, Any], ...]]] = {}
        for key, _, values in self.entries:
            found.setdefault(key, []).append(values)
        return found


def first_parting(eager: Record, static: Record, tolerance: Tolerance) -> Parting | None:
    """
    The first operator that gives another value, in the order of eager mode.

    Operators are matched by kind, line and how often they have run.  If each mode has run lines that the other has
    not, they went different ways, and the first such line counts too; so it does if no value differs.  Last comes what
    one mode has run more often.
    """
    ours, theirs = eager.by_key(), static.by_key()
    went = _lines(eager) - _lines(static)
    parted = bool(went) and bool(_lines(static) - _lines(eager))
    skipped: Parting | None = None
    counts: dict[Key, int] = {}
    for key, location, values in eager.entries:
        number = counts.get(key, 0)
        counts[key] = number + 1
        if key[2:] in went and not key[0]:
            skipped = skipped or Parting(key[1], key[0], location, values[0], None)
            if parted:
                return skipped
        # Where one mode needs fewer steps, as in sums of gradients, one cannot say which step is which.
        if len(ours[key]) == len(theirs.get(key, ())):
            for one, other in zip(values, theirs[key][number], strict=False):
                if not tolerance.admits(one, other):
                    return Parting(key[1], key[0], location, one, other)
    if skipped is not None:
        return skipped
    for key, location, _ in static.entries:
        # What static mode has run more or less often.
        if key in ours and len(ours[key]) != len(theirs[key]):
            return Parting(key[1], key[0], location, ours[key][-1][0], theirs[key][-1][0])
    return None


def _lines(record: Record) -> set[tuple[str, int]]:
    """The lines of which something has run forward."""
    return {key[2:] for key, _, _ in record.entries if not key[0]}


@contextmanager
def writes_to(look: Callable[[], Any], found: list[tuple[Location, Any]]) -> Iterator[None]:
    """
    Append to `found` the user's lines after which ``look()`` gives something else, with what it gives then.

    Lines of the user count, and lines of generated code, for which the user's line that they stand for is noted.
    """
    last = [look()]

    def check(place: Location | None) -> None:
        now = look()
        if now != last[0]:
            last[0] = now
            if place is not None:
                found.append((place, now))

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        is_generated = frame.f_code.co_filename.startswith(GENERATED)
        if not is_generated and not is_users_file(frame.f_code.co_filename):
            return None
        before: list[Location | None] = [None]
        source = source_of(frame) if is_generated else None

        def follow(frame: FrameType, event: str, argument: Any) -> Any:
            check(before[0])
            if source is None:
                before[0] = Location(frame.f_code.co_filename, frame.f_lineno)
            else:
                operator = source.locations.get(frame.f_lineno)
                before[0] = None if operator is None else operator.location
            return follow

        return follow

    tracing = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(tracing)
