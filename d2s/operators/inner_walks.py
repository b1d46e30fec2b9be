"""Walks over the tape in the middle of a Program: `backward` and `grad` that traced code calls."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.hook_effects import Watch
from d2s.operators.open_items import is_open
from d2s.operators.tracer import Tracer
from d2s.static.program import Operator
from d2s.static.variable import ObjectVariable, Variable


def backward_from(tracer: Tracer, variable: Variable, args: tuple[Any, ...]) -> None:
    """``variable.backward(*args)``."""
    _walk(tracer, "backward", lambda: tracer.emit(
        "backward", (), (), {"call": (tracer.lower(variable), *map(tracer.lower, args))}, effect=True))


def walk_from(tracer: Tracer, function: Any, tensors: list[Any], options: dict[str, Any]) -> ObjectVariable:
    """Call `function` of d2s, which walks back from tensors, when the Program runs; what it gives."""
    tracer.effects += 1

    def lowered(given: Any) -> Any:
        if isinstance(given, list | tuple) and not is_open(given):
            return [lowered(part) for part in given]
        # Tensors of both modes.
        return tracer.lower(tracer.symbol(given) if isinstance(given, TensorBase) else given)

    def emit() -> Operator:
        call = (function, lowered(tensors), {name: lowered(value) for name, value in options.items()})
        return tracer.emit("walk", (), (tracer.new_value(function.__name__, None),), {"call": call}, effect=True)

    return ObjectVariable(tracer, _walk(tracer, f"{function.__name__}()", emit).outputs[0])


def gradients_of(
    tracer: Tracer, function: Any, outputs: list[Any], inputs: list[Any], options: dict[str, Any]
) -> list[Any]:
    """``function(outputs, inputs, **options)``, which is `grad`, when the Program runs: a tensor for each input."""
    symbols = [tracer.symbol(tensor) for tensor in inputs]
    found = walk_from(tracer, function, outputs, {"inputs": symbols, **options})
    result: list[Any] = []
    for position, symbol in enumerate(symbols):
        part = tracer.python_call(operator.getitem, (found, position))
        if options["allow_unused"]:
            is_used = tracer.python_call(operator.is_not, (part, None), kind=bool)
            if not tracer.decide(is_used):
                result.append(None)
                continue
        gradient = tracer.taken(part, symbol.spec, not options["create_graph"])
        if options["create_graph"]:
            # Only the run knows whether it depends on anything.
            tracer.may_stop.add(gradient.value)
        result.append(gradient)
    return result


def _walk(tracer: Tracer, what: str, emit: Callable[[], Operator]) -> Operator:
    """Emit a walk: it runs hooks, which may do anything."""
    if tracer.in_loop:
        raise UnsupportedSyntaxError(
            f"{what} inside a loop whose turns are known only when the Program runs cannot become a graph",
            user_location(), "Call it after the loop, or loop outside the static function.",
            kind="U02",
        )
    tracer.lowering.refresh()
    watch = Watch(tracer, list(tracer.hooks.values()))
    emitted = emit()
    watch.finish()
    tracer.anything_may_change()
    return emitted
