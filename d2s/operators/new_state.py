"""Parameters, buffers and copies of tensors that code of d2s makes in a traced call: each call has its own.

They are made while tracing, as the Layers that hold them are, so the Program serves this one call and the next one is
traced anew.  The first values are those of the run: an initializer draws, or looks at something, at its place among
the other effects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.spec import DType, TensorSpec, spec_of
from d2s.errors import ExecutionError, UnsupportedSyntaxError, user_location
from d2s.operators import policy
from d2s.operators.guards import NEVER, Guard
from d2s.operators.sources import Constant
from d2s.operators.tracer import Tracer
from d2s.static.variable import Variable


class Made(Constant):
    """In place of a path to what is made anew in each call."""

    def __str__(self) -> str:
        return "a Layer, parameter or buffer that is made inside"


_MADE = Made(None)


def serve_one_call(tracer: Tracer) -> None:
    """Note that something is made that belongs to this call only.

    Raises
    ------
    UnsupportedSyntaxError
        In a loop of the Program: its turns would share what is made here.
    """
    path = tracer.path
    if tracer.in_loop or (path is not None and path.position < len(path.log)):
        raise UnsupportedSyntaxError(
            "a Layer, parameter or buffer is made in code that has to be traced once for many turns, or several times "
            "for one", user_location(), "Make it outside, or before the loop or condition; or keep the function that "
            "makes it eager with @d2s.jit.not_to_static.", kind="U39")
    tracer.guards.add(Guard(_MADE, NEVER, (), "one of another call", is_live=True))


def note_layer(tracer: Tracer, layer: Any) -> None:
    """Note that traced code makes a Layer of a class of the user: from here on it is there, as one from outside is."""
    serve_one_call(tracer)
    tracer.layer_hooks.new[id(layer)] = layer
    tracer.remember(layer, Constant(layer))


def new_parameter(
    tracer: Tracer, initializer: Any, shape: tuple[int, ...], dtype: DType, make: Callable[[Any], Any]
) -> Any:
    """The parameter that `make` makes of an array; the run asks `initializer` for its first values."""
    is_users = policy.is_of_user(type(initializer))
    if is_users and not tracer.is_made(initializer) and not tracer.is_outer(initializer):
        # That of all parameters, which code of d2s has read.
        tracer.remember(initializer, Constant(initializer))
    parameter = tracer.as_found("parameter", lambda: make(np.zeros(shape, dtype)))
    spec = TensorSpec(shape, dtype)
    call: tuple[Any, ...] = first_values, (tracer.lower(initializer), shape, dtype, spec), {}
    values = tracer.emit("python", (), (tracer.new_value("values", spec),), {"call": call}, effect=True).outputs[0]
    tracer.effects += 1
    if is_users:
        tracer.anything_may_change()
    tracer.set_value(tracer.lift(parameter), Variable(tracer, values))
    return parameter


def first_values(initializer: Any, shape: tuple[int, ...], dtype: DType, spec: TensorSpec) -> Any:
    """What an initializer gives in the run, which must be as the trace takes it to be."""
    values = as_array(initializer.sample(shape, dtype))
    if not spec.admits(values):
        raise ExecutionError(
            f"an initializer gives {spec_of(values)} for a parameter that is made inside, and was asked for {spec}",
            advice="Make the parameter outside, or let sample(shape, dtype) give what it is asked for.", kind="X11")
    return values


def copied(tracer: Tracer, original: Any, copy: Any) -> None:
    """Let the run give a new copy of a tensor the values that the original has there."""
    serve_one_call(tracer)
    tracer.set_value(tracer.lift(copy), tracer.lift(original))
