"""What runs as the user's own Python in each run and has gradients: PyLayer, and `recompute` of what has effects."""

from __future__ import annotations

from typing import Any

from d2s.core.interpreter import TensorBase, state
from d2s.core.spec import is_floating
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.carried import form_of
from d2s.operators.heap import Heap
from d2s.operators.open_elements import element
from d2s.operators.open_items import Elements
from d2s.operators.region import trace_branch
from d2s.operators.symbols import symbol_of
from d2s.operators.tracer import Tracer
from d2s.static.program import Value
from d2s.static.variable import Variable


def apply_py_layer(tracer: Tracer, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record the call of a PyLayer as one operator with a gradient of its own."""
    args = tuple(symbol_of(tracer, arg) for arg in args)
    kwargs = {name: symbol_of(tracer, arg) for name, arg in kwargs.items()}
    inputs = tuple(tracer.bound(arg) for arg in (*args, *kwargs.values()) if isinstance(arg, Variable))
    parts, several, differentiable = _outputs(tracer, layer, args, kwargs)
    wanted = state.grad_enabled and any(not value.stop_gradient for value in inputs)
    outputs: list[Value] = [tracer.new_value("context", None)]
    for part, flag in zip(parts, differentiable, strict=True):
        stops = not (wanted and flag and is_floating(part.dtype))
        outputs.append(tracer.new_value(layer.__name__.lower(), part.spec, stops))
    attrs = {
        "layer": layer, "args": tuple(map(tracer.lower, args)),
        "kwargs": {name: tracer.lower(arg) for name, arg in kwargs.items()},
    }
    made = tracer.emit("py_layer", inputs, tuple(outputs), attrs, effect=True).outputs[1:]
    results = [Variable(tracer, value) for value in made]
    return tuple(results) if several else results[0]


def recompute(
    tracer: Tracer, again: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], keep_rng: bool
) -> Any:
    """``autograd.recompute(...)``: what only computes becomes part of the Program, with the same gradients.

    `again` does it in eager mode.
    """
    from d2s.operators.calls import call

    def run() -> Any:
        return call(function, *args, **kwargs)

    effects, older = tracer.effects, set(tracer.definitions)
    outcome = trace_branch(tracer, run, Heap([run], tracer.is_outer))[1]
    if outcome.error is not None or not (outcome.changes or tracer.effects != effects or _registers(tracer, older)):
        return run()
    # In backward it is run again, with all that it does.
    tracer.lowering.refresh()
    tracer.note_hook(function)
    found = tracer.python_call(again, (function, args, kwargs, keep_rng), effect=True)
    form = form_of(tracer, outcome.result, outcome.value_of)
    result = element(tracer, found, form, Elements())
    tracer.anything_may_change()
    return result


def _registers(tracer: Tracer, older: set[Value]) -> bool:
    """True if hooks were registered on a value that is among `older`, or comes from outside."""
    points = {point for value, point in tracer.hook_points.items() if value in older or value in tracer.tensors}
    new = {operator for value, (operator, _) in tracer.definitions.items() if value not in older}
    return any(operator.kind == "register_hook" and operator.inputs[0] in points for operator in new)


def _outputs(
    tracer: Tracer, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], bool, list[bool]]:
    """What `forward` returns, by shape and dtype: found by tracing it once for nothing but that."""
    def forward() -> Any:
        from d2s.operators.calls import call

        context = layer.run_forward.__func__.__globals__["PyLayerContext"]()
        before, state.grad_enabled = state.grad_enabled, False
        try:
            return context, call(layer.forward, context, *args, **kwargs)
        finally:
            state.grad_enabled = before

    outcome = trace_branch(tracer, forward, Heap([forward], tracer.is_outer))[1]
    if outcome.error is not None:
        raise outcome.error
    context, result = outcome.result
    several = isinstance(result, tuple | list)
    parts = list(result) if several else [result]
    if not all(isinstance(part, TensorBase) for part in parts):
        raise UnsupportedSyntaxError(
            f"{layer.__name__}.forward returns something that is no Tensor", user_location(),
            "Return Tensors only, or keep the function eager with @d2s.jit.not_to_static.",
            kind="U14",
        )
    flags = [id(part) not in context._not_differentiable for part in parts]
    return [symbol_of(tracer, part) for part in parts], several, flags
