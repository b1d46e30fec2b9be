"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from d2s.errors import ShapeError
from d2s.ops.joining import concat
from d2s.ops.shape import reshape


def parameters_to_vector(parameters: Iterable[Any], name: str | None = None) -> Any:
    """All elements of the parameters, in their order, as one tensor of one axis; differentiable."""
    return concat([reshape(parameter, [-1]) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any], name: str | None = None) -> None:
    """Set the values of parameters to those of a vector, as `parameters_to_vector` gives it.

    Raises
    ------
    ShapeError
        If the vector has another number of elements; then nothing is changed.
    """
    chosen = list(parameters)
    values, ends = vec.numpy(), np.cumsum([parameter.size for parameter in chosen])
    if values.shape != (ends[-1],):
        raise ShapeError(f"parameters of {ends[-1]} elements cannot be set from a vector of shape {list(values.shape)}")
    for parameter, part in zip(chosen, np.split(values, ends[:-1]), strict=True):
        parameter.set_value(part.reshape(parameter.shape))
