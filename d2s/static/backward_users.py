"""Backward through functions of the user: `py_func` and PyLayers, which have their own gradient functions; hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from d2s.static.backward_regions import Gradient, Gradients
from d2s.static.program import Operator

if TYPE_CHECKING:
    from d2s.static.backward import Backward


def through_py_func(backward: Backward, operator: Operator, found: list[Gradient | None], grads: Gradients) -> None:
    """Gradient of a `py_func`: the user's backward function, called on arrays."""
    function, record = operator.attrs["backward"], backward.record
    if function is None:
        return
    around = (*operator.inputs, *operator.outputs)
    given = [value for position, value in enumerate(around) if position not in operator.attrs["skip"]]
    given += [backward.zeros_like(out).value if g is None else backward.or_zeros(g, out).value
              for g, out in zip(found, operator.outputs, strict=True)]
    backward.reads.values.update(operator.inputs)
    stops = not backward.may_follow
    results = tuple(record.new_value(f"{value.name}@GRAD", value.spec, stops) for value in operator.inputs)
    needed = tuple(backward.needs(value) for value in operator.inputs)
    record.emit("py_func", tuple(given), results, {"function": function, "needed": needed}, effect=True)
    for value, result in zip(operator.inputs, results, strict=True):
        if backward.needs(value):
            backward.contribute(grads, value, Gradient(result))


def through_py_layer(backward: Backward, operator: Operator, found: list[Gradient | None], grads: Gradients) -> None:
    """Gradient of a PyLayer: its own backward, which may give None for an input."""
    record = backward.record
    absent = record.constant(None)
    given = [absent if g is None else g.value for g in found]
    results = tuple(record.new_value(f"{value.name}@GRAD", value.spec) for value in operator.inputs)
    attrs = {"layer": operator.attrs["layer"]}
    made = record.emit("py_layer_backward", (operator.outputs[0], *given), results, attrs, effect=True)
    made.several = True
    for value, result in zip(operator.inputs, made.outputs, strict=True):
        if backward.needs(value):
            backward.contribute(grads, value, Gradient(result, certain=False))


def through_hooks(backward: Backward, operator: Operator, found: list[Gradient | None], grads: Gradients) -> None:
    """Gradient of hooks of a Program that is built by hand: of what they were given, and of tensors from outside.

    The run tapes the hooks, and walks the tape back; that is taped in its turn if it is differentiated again.
    """
    record = backward.record
    if operator.outputs[-1].is_tensor:
        operator.outputs += (record.new_value("tape", None),)
    else:
        found = found[:-1]
    tape = operator.outputs[-1]
    # What the hooks were given, and the tensors from outside that they may have used.
    values = (operator.inputs[0], *operator.inputs[2:]) if operator.kind == "call_hooks" else operator.inputs[1:]
    count = len(operator.inputs) - 2 if operator.kind == "call_hooks" else len(operator.attrs["tensors"])
    absent = record.constant(None)
    given = tuple(absent if g is None else g.value for g in found)
    results = tuple(record.new_value(f"{value.name}@GRAD", value.spec, False) for value in values)
    attrs = {"grads": len(given), "tensors": tuple(map(record.materialise, values[len(values) - count :]))}
    made = record.emit("through_hooks", (tape, *given, *values), results, attrs, effect=True)
    made.several = True
    for value, result in zip(values, made.outputs, strict=True):
        backward.contribute(grads, value, Gradient(result, certain=False))
