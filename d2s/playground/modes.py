"""One run of the function in one mode: outputs, gradients, calls of hooks, what was printed; and the comparison."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import d2s
from d2s.eager.tensor import Tensor
from d2s.errors import Location
from d2s.jit import enable_to_static
from d2s.nn.layer import Layer
from d2s.playground.failures import failure_of
from d2s.playground.inputs import Inputs
from d2s.playground.target import Target
from d2s.testing.observing import why_not_differentiated
from d2s.watching.hooks import HookCall, watched_hooks

_MAX_TEXT = 20_000
# The place of this call is what a Program notes as the user's line.
_CALL = compile("function(**arguments)", "<call>", "eval")


@dataclass
class Run:
    """What one run gives: entries of name and value, calls of hooks, printed text, and the error that ended it.

    `was_differentiated` says whether backward was called on what the function returned.
    """

    called: Any = None
    outputs: list[tuple[str, Any]] = field(default_factory=list)
    gradients: list[tuple[str, Any]] = field(default_factory=list)
    hooks: list[HookCall] = field(default_factory=list)
    printed: str = ""
    was_differentiated: bool = False
    error: BaseException | None = None

    def shown(self, file: str) -> dict[str, Any]:
        """The run as the page gets it."""
        return {
            "outputs": [[name, _text(value)] for name, value in self.outputs],
            "gradients": [[name, _text(value)] for name, value in self.gradients],
            "hooks": [_hook_text(call) for call in self.hooks],
            "differentiated": self.was_differentiated,
            "printed": self.printed[:_MAX_TEXT],
            "error": None if self.error is None else failure_of(self.error, file),
        }


def run_in(mode: str, target: Target, inputs: Inputs) -> Run:
    """Run the program and call the function in a mode, then backward from all that it gives."""
    run = Run()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), watched_hooks(run.hooks.append):
        enable_to_static(mode == "static")
        try:
            d2s.seed(0)
            names = target.namespace()
            arguments = inputs.made(names)
            run.called = target.in_mode(mode, names)
            d2s.seed(0)
            result = eval(_CALL, {"function": run.called, "arguments": arguments})
            run.outputs = list(_parts("result", result))
            roots = [value for _, value in run.outputs if _is_differentiable(value)]
            run.was_differentiated = bool(roots)
            _backward(roots)
            run.gradients = list(_gradients(arguments, run.called, names))
        except Exception as error:
            run.error = error
        finally:
            enable_to_static(True)
    run.printed = printed.getvalue()
    return run


def compared(eager: Run, static: Run) -> list[str]:
    """What differs between the modes, in words; empty if nothing does."""
    found = []
    if _kind_of(eager.error) != _kind_of(static.error):
        found.append(f"error: {_kind_of(eager.error)} in eager mode, {_kind_of(static.error)} in static mode")
    if eager.printed != static.printed:
        found.append("what is printed")
    if [_facts(call) for call in eager.hooks] != [_facts(call) for call in static.hooks]:
        found.append(f"calls of hooks: {len(eager.hooks)} in eager mode, {len(static.hooks)} in static mode")
    if found:
        return found
    for one, other in ((eager.outputs, static.outputs), (eager.gradients, static.gradients)):
        names = [name for name, _ in one]
        if names != [name for name, _ in other]:
            others = ", ".join(name for name, _ in other)
            found.append(f"{', '.join(names) or 'nothing'} in eager mode, {others or 'nothing'} in static mode")
        else:
            found += [name for (name, a), (_, b) in zip(one, other, strict=True) if not _same(a, b)]
    return found


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of what a function returns."""
    if isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _parts(f"{name}[{number}]", part)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(f"{name}[{key!r}]", part)
    else:
        yield name, value


def _is_differentiable(value: Any) -> bool:
    """True for a tensor with a history that no backward inside of the function has used up."""
    return isinstance(value, Tensor) and not value.stop_gradient and why_not_differentiated(value) is None


def _backward(tensors: list[Tensor]) -> None:
    if tensors:
        d2s.autograd.backward(tensors, [d2s.ones_like(tensor) for tensor in tensors])


def _gradients(arguments: dict[str, Any], called: Any, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Gradients of the inputs, of parameters, and of other tensors of the program."""
    held = {name: value for name, value in names.items() if not name.startswith("__")}
    for name, value in {**arguments, **held}.items():
        if isinstance(value, Tensor) and not value.stop_gradient:
            yield f"{name}.grad", value.grad
        elif isinstance(value, Layer):
            for path, parameter in value.named_parameters():
                yield f"{name}.{path}.grad", parameter.grad


def _text(value: Any) -> str:
    if not isinstance(value, Tensor):
        return repr(value)[:_MAX_TEXT]
    array = np.array2string(value.numpy(), precision=8, separator=", ", threshold=60, max_line_width=120)
    return f"{value.dtype.name}{value.shape}\n{array}" if value.ndim > 1 else f"{value.dtype.name}{value.shape} {array}"


def _hook_text(call: HookCall) -> dict[str, Any]:
    place = call.place
    return {
        "name": call.name.rpartition(" (")[0].strip("'").rpartition("<locals>.")[2] or call.name,
        "line": place.line if isinstance(place, Location) else None,
        "given": _array_text(call.given), "result": _array_text(call.result),
    }


def _array_text(array: Any) -> str:
    return "" if array is None else np.array2string(
        array, precision=6, separator=", ", threshold=20, max_line_width=120)


def _facts(call: HookCall) -> tuple[Any, ...]:
    return call.name, _bytes(call.given), _bytes(call.result)


def _bytes(array: Any) -> Any:
    return None if array is None else (array.dtype, array.shape, array.tobytes())


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return bool(_bytes(a.numpy()) == _bytes(b.numpy()))
    return type(a) is type(b) and _without_addresses(a) == _without_addresses(b)


def _without_addresses(value: Any) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def _kind_of(error: BaseException | None) -> str:
    return "none" if error is None else type(error).__name__
