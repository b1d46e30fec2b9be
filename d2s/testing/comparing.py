"""Two observations of one call, compared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.errors import ArgumentError, Location
from d2s.testing.observing import Observation, Seen
from d2s.testing.output import Line
from d2s.watching.hooks import HookCall
from d2s.words import counted

_SHOWN = 8
_MISSING = Seen("nothing")


@dataclass(frozen=True)
class Difference:
    """
    One thing that the modes do not have in common.

    Attributes
    ----------
    sort : str
        "error", "hooks", "printed", "warnings", "order", "output", "gradient" or "state".
    what : str
        In words.
    path : str
        Of a value: under which name a reader knows it.
    eager, static : str
        What was seen in each mode.
    detail : str
        Of arrays: where they differ first, and how much.
    place : Location or None
        The user's line that the difference itself points to, if it does.
    is_refusal : bool
        True if static mode says that the function cannot become a graph.
    has_same_values : bool
        True if arrays are equal, and differ in what else is noted of them: which tensor it is, whether it requires a
        gradient.
    """

    sort: str
    what: str
    eager: str
    static: str
    path: str = ""
    detail: str = ""
    place: Location | None = None
    is_refusal: bool = False
    has_same_values: bool = False


def need_number(name: str, value: Any, least: float = 0.0, is_whole: bool = False) -> None:
    """Refuse an argument that is no finite number, or less than `least`: a comparison by it would admit anything."""
    kinds = (int, np.integer) if is_whole else (int, float, np.integer, np.floating)
    if not isinstance(value, kinds) or isinstance(value, bool) or not least <= value < math.inf:
        what = "a whole number" if is_whole else "a finite number"
        raise ArgumentError(f"{name} must be {what}, at least {least:g}, got {value!r}")


@dataclass(frozen=True)
class Tolerance:
    """How far two arrays may be apart; 0 and 0: not at all, to the bit."""

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        need_number("rtol", self.rtol)
        need_number("atol", self.atol)

    def admits(self, one: np.ndarray, other: np.ndarray) -> bool:
        """True if the arrays count as equal; nan equals nan."""
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if not self.rtol and not self.atol:
            # To the bit, except that a nan is a nan: 0.0 is not -0.0.
            same = one.tobytes() == other.tobytes()
            return same or (one.dtype.kind in "fc" and _equal_to_the_bit(one, other))
        if one.dtype.kind not in "fc":
            return bool(np.array_equal(one, other))
        return bool(np.allclose(one, other, self.rtol, self.atol, equal_nan=True))


def _equal_to_the_bit(one: np.ndarray, other: np.ndarray) -> bool:
    parts = [(one.real, other.real), (one.imag, other.imag)] if one.dtype.kind == "c" else [(one, other)]
    for a, b in parts:
        numbers = ~(np.isnan(a) & np.isnan(b))
        if not np.array_equal(a[numbers], b[numbers]) or not np.array_equal(
                np.signbit(a[numbers]), np.signbit(b[numbers])):
            return False
    return True


def differences(eager: Observation, static: Observation, tolerance: Tolerance, hooks: bool) -> Iterator[Difference]:
    """What differs, the most telling first."""
    if eager.raised != static.raised:
        raised = eager.raised or static.raised
        assert raised is not None
        what = "the error" if eager.raised and static.raised else "an error that only one mode raises"
        is_refusal = static.raised is not None and static.raised.is_refusal
        if static.raised is not None and is_refusal:
            what, raised = "static mode refuses this: it cannot become a graph", static.raised
        yield Difference(
            "error", what, str(eager.raised or "no error"), str(static.raised or "no error"), place=raised.place,
            detail=raised.advice, is_refusal=is_refusal)
    if hooks:
        yield from _hooks(eager.hooks, static.hooks, tolerance)
    yield from _texts("printed", "printed line", eager.printed, static.printed)
    yield from _texts("warnings", "warning", eager.warned, static.warned)
    yield from _order(eager, static, hooks)
    if eager.left_out != static.left_out:
        yield Difference(
            "gradient", "whether backward can be called on what is returned",
            "; ".join(eager.left_out) or "yes", "; ".join(static.left_out) or "yes")
    for sort, phrase, ours, theirs in (
        ("output", "{}", eager.outputs, static.outputs),
        ("gradient", "gradient of {}", eager.gradients, static.gradients),
        ("state", "{} after the call", eager.state, static.state),
    ):
        yield from _values(sort, phrase, ours, theirs, tolerance)


def _order(eager: Observation, static: Observation, hooks: bool) -> Iterator[Difference]:
    """Hook calls, lines and warnings that come in another order among each other."""
    ours, theirs = ([event for event in seen.order if hooks or not event.startswith("hook")]
                    for seen in (eager, static))
    if ours != theirs and sorted(ours) == sorted(theirs):
        first = next(number for number, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1])
        yield Difference(
            "order", "what comes first", f"{ours[first]}, then {', '.join(ours[first + 1:first + 4])}",
            f"{theirs[first]}, then {', '.join(theirs[first + 1:first + 4])}", place=_place_of(ours[first], eager))


def _place_of(event: str, seen: Observation) -> Location | None:
    """Where a hook was registered, a line printed or a warning given."""
    sort, _, number = event.rpartition(" ")
    if sort == "hook call":
        return seen.hooks[int(number) - 1].place
    return (seen.printed if sort == "printed line" else seen.warned)[int(number) - 1][1]


def _values(
    sort: str, phrase: str, eager: dict[str, Seen], static: dict[str, Seen], tolerance: Tolerance
) -> Iterator[Difference]:
    for path in dict.fromkeys([*eager, *static]):
        one, other = eager.get(path, _MISSING), static.get(path, _MISSING)
        if not _same(one, other, tolerance):
            what = phrase.format(path)
            if one.is_array and other.is_array:
                yield _arrays(sort, what, path, one, other, tolerance)
            else:
                yield Difference(sort, what, shown(one), shown(other), path)


def _same(one: Seen, other: Seen, tolerance: Tolerance) -> bool:
    if one.is_array and other.is_array:
        return one.note == other.note and tolerance.admits(one.value, other.value)
    return not one.is_array and not other.is_array and one == other


def _arrays(sort: str, what: str, path: str, one: Seen, other: Seen, tolerance: Tolerance) -> Difference:
    a, b = one.value, other.value
    is_same = tolerance.admits(a, b)
    detail = how_far(a, b, tolerance) if a.shape == b.shape and a.dtype == b.dtype and not is_same else ""
    return Difference(sort, what, shown(one, other), shown(other, one), path, detail, has_same_values=is_same)


def how_far(a: np.ndarray, b: np.ndarray, tolerance: Tolerance) -> str:
    """Where two arrays differ first, and how many elements do."""
    flat = [index for index in np.ndindex(a.shape)
            if not tolerance.admits(np.asarray(a[index]), np.asarray(b[index]))]
    if not flat:
        return ""
    first = flat[0]
    at = f" at {list(first)}" if first else ""
    text = f"first difference{at}: {a[first].item()!r} in eager mode, {b[first].item()!r} in static mode"
    if len(flat) > 1 or a.size > 1:
        text += f"; {len(flat)} of {counted(a.size, 'element')} {'differs' if len(flat) == 1 else 'differ'}"
    if a.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            apart = max(abs(complex(a[index]) - complex(b[index])) for index in flat)
        text += f", by {apart:.3g}" if len(flat) == 1 else f", by at most {apart:.3g}"
    return text


def shown(one: Seen, beside: Seen | None = None) -> str:
    """A value in one line."""
    if not one.is_array:
        return f"{one.value} ({one.note})" if one.note else f"{one.value}"
    text = array_text(one.value)
    if beside is None or not beside.is_array or beside.value.dtype != one.value.dtype or (
            beside.value.shape != one.value.shape):
        text += f" ({one.value.dtype.name}, shape {list(one.value.shape)})"
    return f"{text} ({one.note})" if beside is not None and beside.note != one.note and one.note else text


def array_text(array: np.ndarray) -> str:
    """An array in one line."""
    if array.size <= _SHOWN:
        return repr(array.tolist())
    return f"[{', '.join(map(repr, array.ravel()[:_SHOWN].tolist()))}, ...]"


def _hooks(eager: list[HookCall], static: list[HookCall], tolerance: Tolerance) -> Iterator[Difference]:
    """The first call in which the hooks differ."""
    for number, (one, other) in enumerate(itertools.zip_longest(eager, static), 1):
        if one is None or other is None or one.name != other.name:
            # If the missing call comes later in the other mode, the order differs there, else that one is lost.
            first = one or other
            assert first is not None
            sequences = ", ".join(call.name for call in eager), ", ".join(call.name for call in static)
            yield Difference(
                "hooks", f"hook call {number}: the hooks that were called, in their order",
                sequences[0] or "no hook", sequences[1] or "no hook", place=_odd_one(eager, static, first).place)
            return
        if _are_exchanged(one, other, eager, static):
            ours_in_order, theirs_in_order = (
                ", ".join(map(_with_what_tells, calls)) for calls in (eager, static))
            yield Difference(
                "hooks", f"hook call {number}: the hooks that were called, in their order",
                ours_in_order, theirs_in_order, place=one.place)
            return
        for what, a, b in (("was given", one.given, other.given), ("gave", one.result, other.result)):
            if (a is None) != (b is None) or (a is not None and b is not None and not tolerance.admits(a, b)):
                ours, theirs = (Seen("None") if array is None else Seen(array) for array in (a, b))
                detail = ""
                if a is not None and b is not None and a.shape == b.shape and a.dtype == b.dtype:
                    detail = how_far(a, b, tolerance)
                yield Difference(
                    "hooks", f"hook call {number}: what {_who(one)} {what}", shown(ours, theirs), shown(theirs, ours),
                    detail=detail, place=one.place if what == "gave" else None)
                return


def _are_exchanged(one: HookCall, other: HookCall, eager: list[HookCall], static: list[HookCall]) -> bool:
    """True if two calls of one name are of different functions, and both modes call both."""
    return one.function != other.function and any(call.function == other.function for call in eager) and any(
        call.function == one.function for call in static)


def _with_what_tells(call: HookCall) -> str:
    """A hook by its name, the column of its text, and what it was made with."""
    return f"{call.name}, " + (f"with {', '.join(call.captured)}" if call.captured else f"column {call.column}")


def _who(call: HookCall) -> str:
    """A hook by its function and, if that is known, where it was registered."""
    return call.name if call.registered is None else f"{call.name}, registered at {call.registered},"


def _odd_one(eager: list[HookCall], static: list[HookCall], first: HookCall) -> HookCall:
    """The call to point to: one that the other mode does not make as often, else the first that differs."""
    for ours, theirs in ((eager, static), (static, eager)):
        odd = _without(ours, theirs, lambda call: call.name)
        if odd:
            # Of several with this name: the one that was registered elsewhere, or made with something else.
            of_name = [call for call in ours if call.name == odd[0].name]
            return next(iter(_without(of_name, theirs, lambda call: (str(call.registered), call.captured))), odd[0])
    return first


def _without(calls: list[HookCall], others: list[HookCall], key: Callable[[HookCall], Any]) -> list[HookCall]:
    """The calls that are left when each of the others has taken one with its key away."""
    keys = [key(call) for call in others]
    left = []
    for call in calls:
        if key(call) in keys:
            keys.remove(key(call))
        else:
            left.append(call)
    return left


def _texts(sort: str, what: str, eager: list[Line], static: list[Line]) -> Iterator[Difference]:
    for number, (one, other) in enumerate(itertools.zip_longest(eager, static), 1):
        ours, theirs = (None if line is None else line[0] for line in (one, other))
        if ours != theirs:
            # A line that one mode leaves out shifts all that follow: the place is that of eager mode, if it has one.
            place = (one or other or ("", None))[1]
            yield Difference(
                sort, f"{what} {number}", "nothing" if ours is None else repr(ours),
                "nothing" if theirs is None else repr(theirs), place=place)
            return
