"""The user's line at fault for a difference between the modes: both of them run again, watched in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from d2s.eager.tensor import Tensor
from d2s.errors import Location
from d2s.testing.comparing import Difference, array_text
from d2s.testing.locating import Parting, Record, Writes, first_parting, returns_of, writes_to
from d2s.testing.names import Names, Naming, first_naming, names_of
from d2s.testing.observing import gradients_of, state_of
from d2s.testing.surroundings import SURROUNDINGS
from d2s.watching.hooks import HookCall
from d2s.watching.operators import Ran, watched

if TYPE_CHECKING:
    from d2s.testing.same import Comparison

_GENERATORS = frozenset(surrounding.name for surrounding in SURROUNDINGS if surrounding.is_random)


class Fault:
    """
    What is wrong in one call.

    Attributes
    ----------
    difference : Difference
        The one to tell about.
    parting : Parting or None
        The first operator that gives something else.
    naming : Naming or None
        The first name that has another value, if that is why.
    location : Location or None
        The user's line to look at first.
    """

    def __init__(self, comparison: Comparison, call: int, found: Sequence[Difference]) -> None:
        self._comparison = comparison
        self._call = call
        self._found = found
        self._admits = comparison.tolerance.admits
        self.difference = found[0]
        self._hooks: list[list[HookCall]] = []
        self.parting = self._first_parting()
        if self.difference.sort == "hooks" and self.difference.place is None and (
                self.parting is None or self.parting.backward):
            # A wrong result has wrong gradients behind it.
            self.difference = next((known for known in found if known.sort == "output"), self.difference)
        self.naming: Naming | None = None
        self.location = self._line() or comparison.definition()

    def _first_parting(self) -> Parting | None:
        records = Record(), Record()
        kept: list[Any] = []
        for mode, record in zip(self._comparison.modes, records, strict=True):
            seen = self._comparison.run(mode, self._call, lambda record=record: watched(record.note))[-1]  # type: ignore[misc]
            self._hooks.append(seen.hooks)
            if not mode.is_static:
                kept = [part.value for values in (seen.outputs, seen.state) for part in values.values()]
        tolerance, sort = self._comparison.tolerance, self.difference.sort
        if sort == "output":
            eager, static = records
            found = first_parting(eager.forward(), static.forward(), tolerance, kept=kept)
            if found is not None:
                return found
        return first_parting(*records, tolerance, sort in ("output", "gradient", "hooks"), kept)

    def _line(self) -> Location | None:
        """The line to look at first; sets `naming` and `difference` if something else is the reason."""
        location = self._line_that_differs()
        if self.difference.is_refusal:
            return location
        eager, static = (Names(self._comparison.code(), self._comparison.containers()) for _ in range(2))
        for mode, names in zip(self._comparison.modes, (eager, static), strict=True):
            self._comparison.run(mode, self._call, lambda names=names: names_of(names))  # type: ignore[misc]
        naming = first_naming(eager, static)
        last = None if location is None else eager.turn_of(location)
        if naming is not None and (last is None or naming.turn <= last):
            self.naming = naming
            return naming.location
        return self._write_before(location, eager, static) or location or self._line_after_which()

    def _write_before(self, location: Location | None, eager: Names, static: Names) -> Location | None:
        """The line of a write of one mode only that comes before an operator that gives something else."""
        written = [known for known in self._found if known.sort == "state"]
        if location is None or self.difference.sort != "output" or not written:
            return None
        for _, number, place in self._odd_writes(written):
            if any(_comes_before(place, location, names) for names in (eager, static)):
                self.difference = written[number]
                return place
        return None

    def _line_that_differs(self) -> Location | None:
        """The line of an operator that gives something else, of an effect, or of a write."""
        first, parting = self.difference, self.parting
        if parting is not None and not parting.is_guess and not first.is_refusal:
            if not parting.is_late:
                # What comes later is wrong because of it.
                return self._line_behind(parting) or parting.location
            if first.sort == "hooks" and not parting.backward and self._reads_the_same(parting):
                return parting.location
        if first.place is not None or first.sort != "state":
            return first.place
        written = [known for known in self._found if known.sort == "state"]
        write = self._first_write(written)
        if write is None:
            return None
        self.difference = written[write[0]]
        return write[1]

    def _line_behind(self, parting: Parting) -> Location | None:
        """The line of a write that is the reason for what the operator has read, or drawn."""
        for known in self._found:
            if known.sort == "state" and (_has_read(parting, known) or (
                    known.path in _GENERATORS and self._reads_the_same(parting))):
                write = self._first_write([known])
                return None if write is None else write[1]
        return None

    def _reads_the_same(self, parting: Parting) -> bool:
        """True if the operator, in both modes, has read the same and given something else."""
        eager, static = parting.read
        return parting.eager is not None and parting.static is not None and len(eager) == len(static) and all(
            map(self._admits, eager, static))

    def _line_after_which(self) -> Location | None:
        """If all operators, effects and names are right: the line of what is done with them."""
        first, parting = self.difference, self.parting
        if first.sort == "output" and (parting is None or (parting.backward and not first.has_same_values)):
            # Every operator before it is right.
            found: list[Location] = []
            eager, _ = self._comparison.modes
            self._comparison.run(eager, 1, lambda: returns_of(self._comparison.code(), found))
            if found:
                return found[-1]
        if parting is not None:
            return self._hook_before(parting) or parting.location
        if first.sort != "gradient":
            return None
        write = self._first_write([first])
        return write[1] if write is not None else self.first_use(first.path) or self.makers().get(first.path)

    def _hook_before(self, parting: Parting) -> Location | None:
        """Where the hook was registered that, in one mode only, has made what the operator read."""
        for mine, other, calls in zip(parting.read, reversed(parting.read), self._hooks, strict=True):
            for value in mine:
                if not any(self._admits(value, there) for there in other):
                    for call in calls:
                        if call.result is not None and self._admits(value, call.result):
                            return call.place
        return None

    def where_defined(self) -> list[str]:
        """For a value of the user's: where it comes from."""
        path, sort = self.difference.path, self.difference.sort
        if path in self._comparison.names:
            return [f"  {path} is an argument of {self._comparison.name()}"]
        made = self.makers().get(path) if sort in ("output", "gradient") else None
        if made is not None:
            return [f"  it was computed at {made}"]
        used = self.first_use(path) if sort == "gradient" else None
        return [] if used is None else [f"  {path} is read first at {used}"]

    def first_use(self, path: str) -> Location | None:
        """The user's line with the first operator, in eager mode, that reads the tensor at a path."""
        tensor = next((thing for known, thing in self._comparison.reach.objects() if known == path), None)
        if not isinstance(tensor, Tensor):
            return None
        found: list[Location | None] = []

        def note(ran: Ran) -> None:
            if not ran.backward and any(argument is tensor for argument in ran.arguments):
                found.append(ran.location)

        self._comparison.run(self._comparison.modes[0], 1, lambda: watched(note))
        return found[0] if found else None

    def makers(self) -> dict[str, Location]:
        """The lines that have computed the outputs, in eager mode."""
        places: dict[int, Location] = {}
        kept: list[Any] = []

        def note(ran: Ran) -> None:
            for value in ran.values:
                kept.append(value)
                if ran.location is not None:
                    places[id(value)] = ran.location

        seen = self._comparison.run(self._comparison.modes[0], 1, lambda: watched(note))[0]
        return {path: places[id(part.value)] for path, part in seen.outputs.items() if id(part.value) in places}

    def _first_write(self, differences: Sequence[Difference]) -> tuple[int, Location] | None:
        """Of what differs in state or gradients, by number, what was first written in one mode only, and where."""
        writes = self._odd_writes(differences)
        return writes[0][1:] if writes else None

    def _odd_writes(self, differences: Sequence[Difference]) -> list[tuple[int, int, Location]]:
        """For what differs: when it was first written in one mode only, its number, and where; in their order."""
        eager, static = (self._writes(mode, differences) for mode in self._comparison.modes)
        found = (_odd_write(number, eager, static) for number in range(len(differences)))
        return sorted((write for write in found if write is not None), key=lambda write: write[0])

    def _writes(self, mode: Any, differences: Sequence[Difference]) -> Writes:
        writes: Writes = []

        def look() -> tuple[Any, ...]:
            now = {"state": state_of(self._comparison.reach)}
            if any(difference.sort == "gradient" for difference in differences):
                now["gradient"] = gradients_of(self._comparison.reach)
            found = (now[difference.sort].get(difference.path) for difference in differences)
            return tuple(
                None if one is None else (one.value.tobytes() if one.is_array else one.value, one.note)
                for one in found)

        # Gradients come from backward: of interest is what else sets them.
        in_backward = all(difference.sort == "state" for difference in differences)
        self._comparison.run(mode, self._call, lambda: writes_to(look, writes, in_backward))
        return writes


def _odd_write(number: int, eager: Writes, static: Writes) -> tuple[int, int, Location] | None:
    """Of what is looked at with this number: when one mode has first written something else, and where."""
    ours, theirs = (_writes_of(number, writes) for writes in (eager, static))
    in_eager, in_static = ({place for place, *_ in writes} for writes in (eager, static))
    for index in range(max(len(ours), len(theirs))):
        one, other = (writes[index] if index < len(writes) else None for writes in (ours, theirs))
        if one is None or other is None or one[2] != other[2]:
            # A line that only static mode has comes before one that both have.
            is_extra = other is not None and other[1] not in in_eager and (one is None or one[1] in in_static)
            place = (other if is_extra and other is not None else one or other)[1]  # type: ignore[index]
            return max(write[0] for write in (one, other) if write is not None), number, place
    return None


def _comes_before(one: Location, other: Location, names: Names) -> bool:
    """True if a line has run before another one."""
    turn, turn_of_other = names.turn_of(one), names.turn_of(other)
    return turn is not None and turn_of_other is not None and turn < turn_of_other


def _writes_of(number: int, writes: Writes) -> list[tuple[int, Location, Any]]:
    """The writes that have changed the value with this number: when, where, and to what."""
    found = []
    for turn, (place, before, now) in enumerate(writes):
        if before[number] != now[number]:
            found.append((turn, place, now[number]))
    return found


def _has_read(parting: Parting, state: Difference) -> bool:
    """True if the operator has read, in each mode, what differs between them."""
    eager, static = (list(map(array_text, read)) for read in parting.read)
    return state.eager in eager and state.static in static
