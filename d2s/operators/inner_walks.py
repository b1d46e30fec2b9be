"""Walks over the tape in the middle of a Program: `backward` and `grad` that traced code calls."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.eager.backward import grad
from d2s.operators.attempts import check_known, done_or_raised, tried
from d2s.operators.hook_effects import Watch, exceptions_named_in
from d2s.operators.inner_gradients import recorded_gradients
from d2s.operators.open_items import is_open
from d2s.operators.restarts import WalksInRegions
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable


def backward_from(tracer: Tracer, variable: Variable, args: tuple[Any, ...]) -> None:
    """``variable.backward(*args)``."""
    if tracer.attempts:
        _walk_to(tracer, _backward, [variable, *args], {})
        return
    with _watched(tracer):
        tracer.emit("backward", (), (), {"call": (tracer.lower(variable), *map(tracer.lower, args))}, effect=True)


def _backward(parts: list[Any]) -> None:
    """The same in the run, for a call that may be caught."""
    tensor, *args = parts
    tensor.backward(*args)


def walk_from(tracer: Tracer, function: Any, tensors: list[Any], options: dict[str, Any]) -> ObjectVariable:
    """Call `function` of d2s, which walks back from tensors, when the Program runs; what it gives."""
    tracer.effects += 1
    return _walk_to(tracer, function, tensors, options)


def _walk_to(tracer: Tracer, function: Any, tensors: list[Any], options: dict[str, Any]) -> ObjectVariable:
    """Emit the call; if a ``try`` is around it, the trace follows the paths on which it raises, too."""

    def lowered(given: Any) -> Any:
        if isinstance(given, list | tuple) and not is_open(given):
            return [lowered(part) for part in given]
        # Tensors of both modes.
        return tracer.lower(tracer.symbol(given) if isinstance(given, TensorBase) else given)

    if tracer.attempts:
        check_known(tracer)
        with tracer.unguarded():
            done = _walk_to(tracer, wraps(function)(partial(tried, function)), tensors, options)
            return done_or_raised(tracer, done, exceptions_named_in(tracer.hooks.values()))
    with _watched(tracer):
        call = (function, lowered(tensors), {name: lowered(value) for name, value in options.items()})
        out = tracer.new_value(function.__name__, None)
        emitted = tracer.emit("walk", (), (out,), {"call": call}, effect=True)
    return ObjectVariable(tracer, emitted.outputs[0])


def gradients_of(
    tracer: Tracer, function: Any, outputs: list[Any], inputs: list[Any], options: dict[str, Any]
) -> list[Any]:
    """``function(outputs, inputs, **options)``, which is `grad`, when the Program runs: a tensor for each input."""
    recorded = recorded_gradients(tracer, outputs, inputs, options, function is grad and options["allow_unused"])
    if recorded is not None:
        return recorded
    symbols = [tracer.symbol(tensor) for tensor in inputs]
    found = walk_from(tracer, function, outputs, {"inputs": symbols, **options})
    with tracer.unguarded():
        return [
            _gradient(tracer, tracer.python_call(operator.getitem, (found, position)), symbol, options)
            for position, symbol in enumerate(symbols)
        ]


def _gradient(tracer: Tracer, part: ObjectVariable, symbol: Variable, options: dict[str, Any]) -> Variable | None:
    """One of the gradients that `grad` has given in the run, as a tensor."""
    if options["allow_unused"] and not tracer.decide(tracer.python_call(operator.is_not, (part, None), kind=bool)):
        return None
    gradient = tracer.taken(part, symbol.spec, not options["create_graph"])
    if options["create_graph"]:
        # Only the run knows whether it depends on anything.
        tracer.may_stop.add(gradient.value)
    return gradient


@contextmanager
def _watched(tracer: Tracer) -> Iterator[None]:
    """Around a walk that is emitted: it runs hooks, which may do anything."""
    if tracer.hooks and tracer.is_nested and WalksInRegions not in tracer.learned:
        raise WalksInRegions
    tracer.lowering.refresh()
    watch = Watch(tracer)
    yield
    watch.finish()
    tracer.anything_may_change()
