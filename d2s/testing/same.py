"""`assert_same_in_both_modes`."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

from d2s.eager.tensor import Tensor
from d2s.errors import Location
from d2s.jit import StaticFunction, to_static
from d2s.jit.cache import ProgramCache
from d2s.jit.function import static_mode
from d2s.nn.layer import Layer
from d2s.testing.arguments import Arguments
from d2s.testing.comparing import Difference, Tolerance, array_text, differences, need_number, shown
from d2s.testing.failures import Failure
from d2s.testing.locating import Parting, Record, first_parting, returns_of, writes_to
from d2s.testing.names import Names, Naming, first_naming, names_of
from d2s.testing.observing import Observation, Seen, observe, state_of
from d2s.testing.reach import Reach, Snapshot
from d2s.watching.hooks import HookCall
from d2s.watching.operators import Ran, watched


class ModesDiffer(Failure):
    """
    Eager and static mode do not do the same.

    Attributes
    ----------
    call : int
        In which call, counted from 1.
    difference : Difference
        The most telling difference: `what`, `eager`, `static`, `place`.
    location : Location or None
        The user's line to look at first.
    parting : Parting or None
        The first operator that gives something else: `kind`, `backward`, `location`, `eager`, `static`.
    """

    general_kind = "B01"

    def __init__(
        self, message: str, call: int, difference: Difference, location: Location | None, parting: Parting | None
    ) -> None:
        super().__init__(message)
        self.call = call
        self.difference = difference
        self.location = location
        self.parting = parting


def assert_same_in_both_modes(
    fn_or_layer: Any, *inputs: Any, rtol: float = 0.0, atol: float = 0.0, grads: bool = True, hooks: bool = True,
    calls: int = 3,
) -> None:
    """
    Assert that a function or Layer does the same in eager and in static mode.

    Compared are, call by call: outputs (values, dtypes, which of them are one tensor or an argument), the gradients of
    all inputs, parameters and other tensors in reach, calls of hooks in their order with what they got and gave, what
    is printed, warnings, exceptions, and everything that the function can reach and change.  Between the modes all of
    that is put back as it was before.

    Parameters
    ----------
    fn_or_layer : function, method, Layer or StaticFunction
    *inputs : object
        Arguments of each call.  Arrays of NumPy stay arrays.
    rtol, atol : float
        How far values may be apart; by default not at all, to the bit.
    grads : bool
        Call backward from what is returned, each time.
    hooks : bool
        Compare calls of hooks.
    calls : int
        How often the function is called in each mode.

    Raises
    ------
    ModesDiffer
        An AssertionError.  It says which value differs, where that was defined, what it is in both modes, and the
        first operator that gives something else.
    """
    compare(fn_or_layer, Arguments(inputs), Tolerance(rtol, atol), grads, hooks, calls)


def compare(
    fn_or_layer: Any, arguments: Arguments, tolerance: Tolerance, grads: bool = True, hooks: bool = True,
    calls: int = 3,
) -> list[Observation]:
    """The same; what eager mode has shown, call by call."""
    need_number("calls", calls, 1, is_whole=True)
    comparison = _Comparison(fn_or_layer, arguments, tolerance, grads, hooks)
    try:
        both = comparison.both(calls)
        for call, (eager, static) in enumerate(zip(*both, strict=True), 1):
            found = list(differences(eager, static, comparison.tolerance, hooks))
            if found:
                raise comparison.report(call, calls, found)
        return both[0]
    finally:
        comparison.before.restore()


@dataclass
class _Mode:
    """How a mode is entered: a function that gives what to call, and whether static mode is on."""

    make: Callable[[], Callable[..., Any]]
    is_static: bool


class _Comparison:
    """One comparison: what is called, with what, and the state before."""

    def __init__(
        self, target: Any, arguments: Arguments, tolerance: Tolerance, grads: bool, hooks: bool
    ) -> None:
        self.arguments = arguments
        self.tolerance = tolerance
        self.grads = grads
        self.hooks = hooks
        original: Any = target.dygraph_function if isinstance(target, StaticFunction) else target
        self.original = original
        named = arguments.named(original)
        self.names = list(named)
        self.reach = Reach(original, named)
        self.before = Snapshot(self.reach)
        self.eager = _Mode(lambda: original, False)
        self.static = _Mode(lambda: _static(target), True)

    def both(self, calls: int) -> tuple[list[Observation], list[Observation]]:
        """What is seen in each mode."""
        # What can never become static is refused before anything runs.
        self.static.make()
        return self.run(self.eager, calls), self.run(self.static, calls)

    def run(
        self, mode: _Mode, calls: int,
        around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> list[Observation]:
        """The calls in one mode, from the state before; the last of them inside `around`."""
        self.before.restore()
        seen = []
        with static_mode(mode.is_static):
            function = mode.make()
            for call in range(calls):
                last = around if call == calls - 1 else contextlib.nullcontext
                seen.append(observe(function, self.arguments, self.reach, self.grads, last))
        return seen

    # --- the report --------------------------------------------------------------------------------------------

    def report(self, call: int, calls: int, found: list[Difference]) -> ModesDiffer:
        """The error for what was found in a call."""
        first = found[0]
        again = self.run(self.eager, call)
        before = self.run(self.eager, call)
        unstable = list(differences(again[-1], before[-1], self.tolerance, self.hooks))
        records = Record(), Record()
        hooks: list[list[HookCall]] = []
        kept: list[Any] = []
        for mode, record in zip((self.eager, self.static), records, strict=True):
            seen = self.run(mode, call, lambda record=record: watched(record.note))  # type: ignore[misc]
            hooks.append(seen[-1].hooks)
            if mode is self.eager:
                kept = [part.value for values in (seen[-1].outputs, seen[-1].state) for part in values.values()]
        parting = first_parting(*records, self.tolerance, first.sort in ("output", "gradient", "hooks"), kept)
        if first.sort == "hooks" and first.place is None and (parting is None or parting.backward):
            # A wrong result has wrong gradients behind it.
            first = next((difference for difference in found if difference.sort == "output"), first)
        naming, location = self._line_at_fault(call, found, first, parting, hooks)
        begin = (f"{self._name()} cannot be compiled" if first.is_refusal else
                 f"eager and static mode differ in call {call} of {calls} of {self._name()}")
        lines = [begin, "", first.what]
        if location is not None:
            lines += [location.excerpt()]
        lines += [f"  eager:  {first.eager}", f"  static: {first.static}"]
        lines += [f"  {first.detail}"] if first.detail else []
        lines += self._where_defined(first)
        if not first.is_refusal:
            lines += ["", *_about(parting, naming)]
        if len(found) > 1:
            lines += ["", "also different: " + "; ".join(dict.fromkeys(difference.what for difference in found[1:7]))
                      + (f" and {len(found) - 7} more" if len(found) > 7 else "")]
        if unstable:
            lines += ["", f"But two runs in eager mode differ too, in {unstable[0].what}: the function is not the same "
                          "from run to run (time, an unseeded generator, a cache?), so the modes cannot be compared."]
        return ModesDiffer("\n".join(lines), call, first, location, parting)

    def _line_at_fault(
        self, call: int, found: list[Difference], first: Difference, parting: Parting | None,
        hooks: list[list[HookCall]],
    ) -> tuple[Naming | None, Location | None]:
        """The user's line to look at first, and what it gives to a name, if that is why."""
        location = self._line_that_differs(call, found, first, parting)
        if first.is_refusal:
            return None, location or self._definition()
        eager, static = Names(self._code()), Names(self._code())
        for mode, names in ((self.eager, eager), (self.static, static)):
            self.run(mode, call, lambda names=names: names_of(names))  # type: ignore[misc]
        naming = first_naming(eager, static)
        last = None if location is None else eager.turn_of(location)
        if naming is not None and (last is None or naming.turn <= last):
            return naming, naming.location
        return None, location or self._line_after_which(first, parting, hooks) or self._definition()

    def _line_that_differs(
        self, call: int, found: list[Difference], first: Difference, parting: Parting | None,
    ) -> Location | None:
        """The line of an operator that gives something else, of an effect, or of a write."""
        if parting is not None and not parting.is_late and not parting.is_guess and not first.is_refusal:
            # What comes later is wrong because of it.
            stale = next((known for known in found if known.sort == "state" and _has_read(parting, known)), None)
            return (None if stale is None else self._writer(call, stale)) or parting.location
        return self._writer(call, first) if first.place is None and first.sort == "state" else first.place

    def _line_after_which(
        self, first: Difference, parting: Parting | None, hooks: list[list[HookCall]]
    ) -> Location | None:
        """If all operators, effects and names are right: the line of what is done with them."""
        if first.sort == "output" and (parting is None or (parting.backward and not first.has_same_values)):
            # Every operator before it is right.
            location = self._return()
            if location is not None:
                return location
        if parting is not None:
            return self._hook_before(parting, hooks) or parting.location
        return self._first_use(first.path) if first.sort == "gradient" else None

    def _hook_before(self, parting: Parting, hooks: list[list[HookCall]]) -> Location | None:
        """Where the hook was registered that, in one mode only, has made what the operator read."""
        for mine, other, calls in zip(parting.read, reversed(parting.read), hooks, strict=True):
            for value in mine:
                if not any(self.tolerance.admits(value, there) for there in other):
                    for call in calls:
                        if call.result is not None and self.tolerance.admits(value, call.result):
                            return call.place
        return None

    def _return(self) -> Location | None:
        """The line at which the function returns, in eager mode."""
        found: list[Location] = []
        self.run(self.eager, 1, lambda: returns_of(self._code(), found))
        return found[-1] if found else None

    def _name(self) -> str:
        name = getattr(self.original, "__qualname__", None) or type(self.original).__qualname__
        place = self._definition()
        return f"{name} ({place})" if place else name

    def _definition(self) -> Location | None:
        """Where the function is defined."""
        code = self._code()
        return None if code is None else Location(code.co_filename, code.co_firstlineno)

    def _code(self) -> Any:
        plain: Any = self.original
        if isinstance(plain, Layer):
            plain = type(plain).forward
        return getattr(getattr(plain, "__func__", plain), "__code__", None)

    def _where_defined(self, difference: Difference) -> list[str]:
        """For a value of the user's: where it comes from."""
        path = difference.path
        if path in self.names:
            return [f"  {path} is an argument of {self._name()}"]
        if difference.sort == "output":
            made = self._makers().get(path)
            return [] if made is None else [f"  it was computed at {made}"]
        used = self._first_use(path) if difference.sort == "gradient" else None
        return [] if used is None else [f"  {path} is read first at {used}"]

    def _first_use(self, path: str) -> Location | None:
        """The user's line with the first operator, in eager mode, that reads the tensor at a path."""
        tensor = next((thing for known, thing in self.reach.objects() if known == path), None)
        if not isinstance(tensor, Tensor):
            return None
        found: list[Location | None] = []

        def note(ran: Ran) -> None:
            if not ran.backward and any(argument is tensor for argument in ran.arguments):
                found.append(ran.location)

        self.run(self.eager, 1, lambda: watched(note))
        return found[0] if found else None

    def _makers(self) -> dict[str, Location]:
        """The lines that have computed the outputs, in eager mode."""
        places: dict[int, Location] = {}
        kept: list[Any] = []

        def note(ran: Ran) -> None:
            for value in ran.values:
                kept.append(value)
                if ran.location is not None:
                    places[id(value)] = ran.location

        seen = self.run(self.eager, 1, lambda: watched(note))[0]
        return {path: places[id(part.value)] for path, part in seen.outputs.items() if id(part.value) in places}

    def _writer(self, call: int, difference: Difference) -> Location | None:
        """The user's line whose write one mode has and the other has not."""
        writes: list[list[tuple[Location, Any]]] = []
        for mode in (self.eager, self.static):
            found: list[tuple[Location, Any]] = []
            self.run(mode, call, lambda found=found: writes_to(lambda: self._look(difference.path), found))  # type: ignore[misc]
            writes.append(found)
        eager, static = writes
        for number, (place, value) in enumerate(eager):
            if number >= len(static) or static[number][1] != value:
                return place
        return static[len(eager)][0] if len(static) > len(eager) else None

    def _look(self, path: str) -> Any:
        """The value at a path, as something that compares."""
        found = state_of(self.reach).get(path)
        if found is None:
            return None
        return (found.value.tobytes(), found.note) if found.is_array else (found.value, found.note)


def _has_read(parting: Parting, state: Difference) -> bool:
    """True if the operator has read, in each mode, what differs between them."""
    eager, static = (list(map(array_text, read)) for read in parting.read)
    return state.eager in eager and state.static in static


def _about(parting: Parting | None, naming: Naming | None) -> list[str]:
    if naming is not None:
        about = [f"first name with another value: {naming.name}, by {naming.location}",
                 f"  eager:  {naming.eager}", f"  static: {naming.static}"]
        return about if parting is None else [*about, *_about(parting, None)]
    if parting is None:
        return ["every operator gives the same in both modes: look at effects, hooks and what is not an operator"]
    where = f"the gradient of {parting.location}" if parting.backward else f"{parting.location}"
    lines = [f"first operator at which the modes part: {parting.kind}, in {where}"]
    if parting.static is None or parting.eager is None:
        return [*lines, f"  it ran in {'eager' if parting.static is None else 'static'} mode only"]
    eager, static = Seen(parting.eager), Seen(parting.static)
    return [*lines, f"  eager:  {shown(eager, static)}", f"  static: {shown(static, eager)}"]


def _static(target: Any) -> Callable[..., Any]:
    """A static form of `target` that has not been traced yet."""
    if isinstance(target, StaticFunction):
        return copy.deepcopy(target) if target.class_instance is None else _untraced(
            MethodType(target._function, target.class_instance))
    return _StaticLayer(target) if isinstance(target, Layer) else _untraced(target)


def _untraced(function: Any) -> Callable[..., Any]:
    """A static form without the Programs that an object keeps for its methods."""
    made: Callable[..., Any] = to_static(function)
    if isinstance(made, StaticFunction):
        made._own_cache = ProgramCache()
    return made


class _StaticLayer:
    """Calls a Layer whose forward is static during the call."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        forward = layer.forward
        self._forward: Any = forward if isinstance(forward, StaticFunction) else _untraced(forward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        layer, given = self._layer, self._layer.__dict__.get("forward")
        layer.__dict__["forward"] = self._forward
        try:
            return layer(*args, **kwargs)
        finally:
            if given is None:
                del layer.__dict__["forward"]
            else:
                layer.__dict__["forward"] = given
