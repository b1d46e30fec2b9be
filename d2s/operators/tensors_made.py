"""``Tensor(...)`` in traced code."""

from __future__ import annotations

from typing import Any

from d2s.eager.construction import data_and_dtype
from d2s.eager.creation import to_tensor
from d2s.operators import access
from d2s.operators.late_call import late_call
from d2s.operators.tracer import Tracer
from d2s.ops.creation import empty
from d2s.static.variable import ObjectVariable


def tensor_made(
    tracer: Tracer, *value: Any, name: str | None = None, stop_gradient: bool = True, **named: Any
) -> Any:
    """A tensor by the rules of the class: of data, or of sizes alone."""
    data, dtype, shape = data_and_dtype(
        tuple(map(_as_array, value)), {key: _as_array(part) for key, part in named.items()})
    if shape is not None:
        data = late_call(empty, shape, dtype)
    made = late_call(to_tensor, data, dtype, None, stop_gradient)
    if name is not None:
        access.store_attr(tracer, made, "name", name)
    return made


def _as_array(thing: Any) -> Any:
    """A tensor in place of what is known to be an array of the run."""
    return thing.__d2s_array__() if isinstance(thing, ObjectVariable) else thing
