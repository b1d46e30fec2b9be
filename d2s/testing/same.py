"""`assert_same_in_both_modes`."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

from d2s.errors import Location
from d2s.jit import StaticFunction, to_static
from d2s.jit.cache import ProgramCache
from d2s.jit.function import static_mode
from d2s.nn.layer import Layer
from d2s.testing.arguments import Arguments
from d2s.testing.comparing import Difference, Tolerance, differences, need_number, shown
from d2s.testing.failures import Failure
from d2s.testing.fault import Fault
from d2s.testing.locating import Parting
from d2s.testing.names import Naming
from d2s.testing.observing import Observation, Seen, observe
from d2s.testing.reach import Reach
from d2s.testing.snapshot import Snapshot


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
    all inputs, outputs, parameters and other tensors in reach, calls of hooks in their order with what they got and
    gave, what is printed and logged, warnings, exceptions, and everything that the function can reach and change: in
    its arguments, variables, modules and classes, and generators of random numbers.  Between the modes all of that is
    put back as it was before.

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
    comparison = Comparison(fn_or_layer, arguments, tolerance, grads, hooks)
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
class Mode:
    """How a mode is entered: a function that gives what to call, and whether static mode is on."""

    make: Callable[[], Callable[..., Any]]
    is_static: bool


class Comparison:
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
        self.eager = Mode(lambda: original, False)
        self.static = Mode(lambda: _static(target), True)
        self.modes = self.eager, self.static

    def both(self, calls: int) -> tuple[list[Observation], list[Observation]]:
        """What is seen in each mode."""
        # What can never become static is refused before anything runs.
        self.static.make()
        return self.run(self.eager, calls), self.run(self.static, calls)

    def run(
        self, mode: Mode, calls: int,
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
        again = self.run(self.eager, call)
        before = self.run(self.eager, call)
        unstable = list(differences(again[-1], before[-1], self.tolerance, self.hooks))
        fault = Fault(self, call, found)
        first = fault.difference
        begin = (f"{self.name()} cannot be compiled" if first.is_refusal else
                 f"eager and static mode differ in call {call} of {calls} of {self.name()}")
        lines = [begin, "", first.what]
        if fault.location is not None:
            lines += [fault.location.excerpt()]
        lines += [f"  eager:  {first.eager}", f"  static: {first.static}"]
        lines += [f"  {first.detail}"] if first.detail else []
        lines += fault.where_defined()
        if not first.is_refusal:
            lines += ["", *_about(fault.parting, fault.naming)]
        others = list(dict.fromkeys(known.what for known in found if known is not first))
        if others:
            lines += ["", "also different: " + "; ".join(others[:6])
                      + (f" and {len(others) - 6} more" if len(others) > 6 else "")]
        if unstable:
            lines += ["", f"But two runs in eager mode differ too, in {unstable[0].what}: the function is not the same "
                          "from run to run (time, an unseeded generator, a cache?), so the modes cannot be compared."]
        return ModesDiffer("\n".join(lines), call, first, fault.location, fault.parting)

    def name(self) -> str:
        """The function with its place."""
        name = getattr(self.original, "__qualname__", None) or type(self.original).__qualname__
        place = self.definition()
        return f"{name} ({place})" if place else name

    def definition(self) -> Location | None:
        """Where the function is defined."""
        code = self.code()
        return None if code is None else Location(code.co_filename, code.co_firstlineno)

    def code(self) -> Any:
        """The code of the function, if it has any."""
        plain: Any = self.original
        if isinstance(plain, Layer):
            plain = type(plain).forward
        return getattr(getattr(plain, "__func__", plain), "__code__", None)

    def containers(self) -> frozenset[int]:
        """The ids of lists and dicts from outside: while static mode traces, they are as before the call."""
        return frozenset(id(thing) for _, thing in self.reach.objects() if isinstance(thing, list | dict))


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
