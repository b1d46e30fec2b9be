"""`check_grads`: gradients against differences of values."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.autograd import grad
from d2s.core.op import OP_TABLE
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import ArgumentError, DTypeError, GradientError, Location
from d2s.jit import StaticFunction, to_static
from d2s.nn.layer import Layer
from d2s.ops.random import generator
from d2s.progress import progress
from d2s.testing.arguments import Arguments
from d2s.testing.comparing import need_number
from d2s.testing.failures import Failure
from d2s.testing.observing import CALLS_BACKWARD, tensors_in, why_not_differentiated
from d2s.watching.hooks import HookCall, watched_hooks
from d2s.watching.operators import Ran, watched

Function = Callable[..., list[Tensor]]
# Slopes on both sides that differ by more than this part of them are those of a kink.
_KINK = 1e-2


class WrongGradient(Failure):
    """
    A gradient is not what differences of values say.

    Attributes
    ----------
    order : int
        1 for a gradient, 2 for a gradient of a gradient.
    op : str or None
        The op whose gradient rule is at fault, if one is.
    location : Location or None
        The user's line that calls it, else the function.
    """

    general_kind = "W01"

    def __init__(
        self, message: str, order: int, op: str | None, location: Location | None, kind: str | None = None
    ) -> None:
        super().__init__(message, kind)
        self.order = order
        self.op = op
        self.location = location


@dataclass(frozen=True)
class _Wrong:
    """One element of a gradient that is wrong; at a kink, with the slopes below and above it."""

    order: int
    name: str
    index: tuple[int, ...]
    analytic: float
    numeric: float
    kink: tuple[float, float] | None = None


@dataclass(frozen=True)
class Settings:
    """How gradients are compared: see `check_grads`."""

    rtol: float = 1e-4
    atol: float = 1e-6
    eps: float = 1e-5
    elements: int = 64

    def __post_init__(self) -> None:
        need_number("rtol", self.rtol)
        need_number("atol", self.atol)
        need_number("eps", self.eps)
        if not self.eps:
            raise ArgumentError("eps must be more than 0: it is half of the distance at which values are compared")
        need_number("elements", self.elements, 1, is_whole=True)


def check_grads(
    f: Any, *inputs: Any, order: int = 2, rtol: float = 1e-4, atol: float = 1e-6, eps: float = 1e-5,
    elements: int = 64, modes: Sequence[str] = ("eager", "static"), hooks: bool = True,
) -> None:
    """
    Assert that the gradients of a function are right, by differences of its values, in both modes.

    Everything is computed in float64, on copies: of the inputs, and of a Layer.

    Parameters
    ----------
    f : function or Layer
        Gives a tensor or several, and gives the same each time that it is called with the same.
    *inputs : object
        Differentiated are the floating point tensors among them with ``stop_gradient=False``, or all of them if there
        is none; of a Layer the parameters too.  Away from kinks: differences know nothing of subgradients.
    order : int
        2: also the gradients of the gradients.
    rtol, atol : float
        How far gradient and difference may be apart.
    eps : float
        Half of the distance at which values are compared.
    elements : int
        At most so many elements of each input are tried, spread evenly.
    modes : sequence of str
        "eager", "static".
    hooks : bool
        False: hooks are called, but what they return is not used.  So all else can be checked where hooks change
        gradients on purpose.

    Raises
    ------
    WrongGradient
        An AssertionError.  It names the input, the element, both numbers and, if it can be told, the op whose gradient
        rule is at fault, with the line that calls it, or the hooks that change the gradient.
    DTypeError
        If `f` computes in less than float64 by itself, or there is nothing to differentiate.
    ArgumentError
        If a setting is such that nothing would be compared.
    GradientError
        If `f` calls backward itself, so that what it returns cannot be differentiated.
    """
    compare_gradients(f, Arguments(inputs), Settings(rtol, atol, eps, elements), order, modes, hooks)


def compare_gradients(
    f: Any, given: Arguments, settings: Settings, order: int, modes: Sequence[str], hooks: bool
) -> list[HookCall]:
    """The same; the calls of hooks that gave another gradient, the first of each hook."""
    need_number("order", order, 1, is_whole=True)
    if not modes or isinstance(modes, str) or any(mode not in ("eager", "static") for mode in modes):
        raise ArgumentError(f"modes are 'eager' and 'static', got {modes!r}")
    original = f.dygraph_function if isinstance(f, StaticFunction) else f
    if isinstance(original, Layer):
        original = copy.deepcopy(original).astype("float64")
    leaves, arguments = _leaves(given, original)
    if isinstance(original, Layer):
        leaves |= {f"self.{name}": parameter for name, parameter in original.named_parameters()
                   if not parameter.stop_gradient}
    if not leaves:
        raise DTypeError("check_grads needs a floating point tensor among the inputs")
    changes: dict[str, HookCall] = {}

    def note(call: HookCall) -> None:
        if call.result is not None and call.given is not None and not np.array_equal(call.result, call.given):
            changes.setdefault(call.name, call)

    for mode in modes:
        call = _from_state(_call_of(original, mode, arguments))
        with watched_hooks(note, hooks):
            wrong = _first_wrong(call, leaves, order, settings)
        if wrong is None:
            continue
        with watched_hooks(note, False):
            if changes and _first_wrong(call, leaves, order, settings) is None:
                raise _changed_by_hooks(mode, wrong, list(changes.values()))
        is_of_static_mode = mode == "static" and "eager" in modes
        fault = None if is_of_static_mode else _op_at_fault(original, arguments, order, settings)
        raise _error(original, mode, wrong, fault, is_of_static_mode)
    return list(changes.values())


def _call_of(original: Any, mode: str, arguments: Arguments) -> Callable[[], Any]:
    called = _called(original, mode)
    return lambda: arguments.call(called)


def _called(original: Any, mode: str) -> Callable[..., Any]:
    if mode == "eager":
        return original  # type: ignore[no-any-return]
    static: Callable[..., Any] = to_static(original.forward if isinstance(original, Layer) else original)
    return static


def _leaves(given: Arguments, original: Any) -> tuple[dict[str, Tensor], Arguments]:
    """The tensors to differentiate with respect to, and the arguments with these in place of the inputs."""
    named = given.named(original)
    floating = {name: value for name, value in named.items() if isinstance(value, Tensor) and value.dtype.kind == "f"}
    chosen = [name for name, value in floating.items() if not value.stop_gradient] or list(floating)
    wide = {name: tensor_of(value.data.astype(np.float64), name not in chosen) for name, value in floating.items()}
    return {name: wide[name] for name in chosen}, given.changed(lambda name, value: wide.get(name, value), original)


def _from_state(call: Callable[[], Any]) -> Callable[[], list[Tensor]]:
    """`call` with the same random numbers each time; the floating point tensors that it gives."""
    state = generator().bit_generator.state

    def again() -> list[Tensor]:
        generator().bit_generator.state = state
        found = [tensor for tensor in tensors_in(call()) if tensor.dtype.kind == "f"]
        if any(why_not_differentiated(tensor) == CALLS_BACKWARD for tensor in found):
            raise GradientError(
                f"{CALLS_BACKWARD}: check_grads cannot differentiate what it returns", kind="G14",
                advice="Check the function that computes the loss, without its backward.")
        if not found:
            raise DTypeError(
                "check_grads needs a floating point tensor in what the function returns, and there is none",
                advice="Return the tensor whose gradients are to be checked.")
        narrow = [tensor.dtype.name for tensor in found if tensor.dtype != np.float64]
        if narrow:
            raise DTypeError(
                f"check_grads needs values in float64, but the function gives {narrow[0]}",
                advice="Let constants and parameters in it be float64, for example layer.astype('float64').")
        return found

    return again


def _first_wrong(
    call: Callable[[], list[Tensor]], leaves: dict[str, Tensor], order: int, settings: Settings, depth: int = 1
) -> _Wrong | None:
    """Compare the gradients of what `call` gives with differences, then in turn those of the gradients."""
    weights = [_weights(tensor.data) for tensor in call()]

    def gradients(create_graph: bool) -> list[Tensor | None]:
        pairs = [(t, tensor_of(w)) for t, w in zip(call(), weights, strict=True) if not t.stop_gradient]
        if not pairs:
            return [None] * len(leaves)
        outputs, seeds = zip(*pairs, strict=True)
        return grad(list(outputs), list(leaves.values()), list(seeds), create_graph=create_graph, allow_unused=True)

    def total() -> float:
        return sum(float((t.data * w).sum()) for t, w in zip(call(), weights, strict=True))

    for (name, leaf), analytic in zip(leaves.items(), gradients(False), strict=True):
        for index in progress(_indices(leaf.data.shape, settings.elements), f"order {depth}, {name}"):
            found = 0.0 if analytic is None else float(analytic.data[index])
            numeric = _difference(total, leaf, index, settings.eps)
            if not abs(found - numeric) <= settings.atol + settings.rtol * abs(numeric):
                return _Wrong(depth, name, index, found, numeric, _kink(total, leaf, index, settings.eps))
    if order == 1:
        return None
    return _first_wrong(
        lambda: [found for found in gradients(True) if found is not None], leaves, order - 1, settings, depth + 1)


def _weights(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What the elements of a result count for in the sum that is differentiated: no two alike."""
    weights: np.ndarray[Any, Any] = np.cos(np.arange(1.0, values.size + 1)).reshape(values.shape)
    return weights


def _indices(shape: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    size = int(np.prod(shape))
    flat = np.unique(np.linspace(0, size - 1, min(size, most)).astype(int)) if size else ()
    return [tuple(int(i) for i in np.unravel_index(number, shape)) for number in flat]


def _difference(total: Callable[[], float], leaf: Tensor, index: tuple[int, ...], eps: float) -> float:
    """The slope of `total` in one element of `leaf`."""
    below, above = _values(total, leaf, index, (-eps, eps))
    return (above - below) / (2 * eps)


def _kink(
    total: Callable[[], float], leaf: Tensor, index: tuple[int, ...], eps: float
) -> tuple[float, float] | None:
    """The slopes of `total` below and above one element of `leaf`, if they are not the same."""
    below, here, above = _values(total, leaf, index, (-eps, 0.0, eps))
    left, right = (here - below) / eps, (above - here) / eps
    # Where there is a second derivative they differ by `eps` times that.
    is_kink = abs(right - left) > _KINK * max(1.0, abs(left), abs(right))
    return (left, right) if is_kink else None


def _values(
    total: Callable[[], float], leaf: Tensor, index: tuple[int, ...], steps: tuple[float, ...]
) -> list[float]:
    """What `total` gives when one element of `leaf` is moved by each of the steps."""
    values, found = leaf.data, []
    try:
        for step in steps:
            leaf.data = values.copy()
            leaf.data[index] += step
            found.append(total())
    finally:
        leaf.data = values
    return found


def _op_at_fault(original: Any, arguments: Arguments, order: int, settings: Settings) -> Ran | None:
    """The first op of an eager run whose own gradient is wrong."""
    ran: list[Ran] = []
    with watched(ran.append):
        _from_state(lambda: arguments.call(original))()
    for entry in ran:
        op = OP_TABLE.get(entry.kind)
        if op is None or not op.is_differentiable or op.random:
            continue
        given = [tensor_of(arg.data.copy(), arg.stop_gradient) if isinstance(arg, Tensor) else arg
                 for arg in entry.arguments]
        leaves = {str(number): arg for number, arg in enumerate(given) if isinstance(arg, Tensor)
                  and not arg.stop_gradient and op.differentiates(number) and arg.dtype == np.float64}
        if not leaves:
            continue
        call = _from_state(lambda op=op, given=given, entry=entry: op(*given, **entry.attrs))  # type: ignore[misc]
        try:
            if _first_wrong(call, leaves, order, settings) is not None:
                return entry
        except Exception:
            # A rule that raises is as wrong as one that gives a wrong number.
            return entry
    return None


def _numbers(wrong: _Wrong) -> tuple[str, str, list[str]]:
    """Which gradient, of what, and what both sides give."""
    what = "gradient" if wrong.order == 1 else f"gradient of order {wrong.order}"
    at = f" at {list(wrong.index)}" if wrong.index else ""
    return what, f"{wrong.name}{at}", [
        f"  backward gives     {wrong.analytic!r}", f"  differences give   {wrong.numeric!r}"]


def _changed_by_hooks(mode: str, wrong: _Wrong, changes: list[HookCall]) -> WrongGradient:
    what, name, numbers = _numbers(wrong)
    place = changes[0].place
    lines = [f"hooks change the {what} with respect to {name}, in {mode} mode", *numbers, "",
             "without what they return the gradients are right (hooks=False checks that); the hooks are"]
    for change in changes:
        lines += [f"  {change.name}" if change.place is None else change.place.excerpt()]
    return WrongGradient("\n".join(lines), wrong.order, None, place, kind="W02")


def _error(original: Any, mode: str, wrong: _Wrong, fault: Ran | None, is_of_static_mode: bool) -> WrongGradient:
    plain = type(original).forward if isinstance(original, Layer) else inspect.unwrap(original)
    code = getattr(plain, "__code__", None)
    location = None if code is None else Location(code.co_filename, code.co_firstlineno)
    what, name, numbers = _numbers(wrong)
    lines = [f"the {what} with respect to {name} is wrong in {mode} mode", *numbers]
    op = fault if fault is not None and fault.location is not None else None
    if op is not None:
        location = op.location
    if wrong.kink is not None:
        below, above = wrong.kink
        whose = "The function is at" if op is None else f"It comes from the op {op.kind}, called at"
        reason = (f"there is a kink: the slope is {below:.4g} below and {above:.4g} above, and no gradient is both; "
                  f"move the inputs away from it. {whose}")
    elif op is not None:
        reason = f"the gradient rule of the op {op.kind} is wrong; it is called at"
    elif is_of_static_mode:
        reason = "in eager mode it is right: assert_same_in_both_modes names the operator; the function is at"
    else:
        reason = "the gradient rules of all ops are right: look at detach(), PyLayer and kinks in"
    lines += ["", reason, *([location.excerpt()] if location is not None else [])]
    return WrongGradient("\n".join(lines), wrong.order, None if fault is None else fault.kind, location)
