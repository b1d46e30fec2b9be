"""Taking the state of a Layer out, and putting it back."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.eager.tensor import Tensor
from d2s.errors import ShapeError, StateError

if TYPE_CHECKING:
    from d2s.nn.layer import Layer


def collect(layer: Layer, destination: dict[str, Tensor], include_sublayers: bool, prefix: str) -> dict[str, Tensor]:
    """Enter the parameters and persistable buffers of `layer` into `destination`, under every name they have."""
    for name, parameter in layer._parameters.items():
        if parameter is not None:
            destination[prefix + name] = parameter
    for name, buffer in layer._buffers.items():
        if buffer is not None and name not in layer._non_persistable_buffers:
            destination[prefix + name] = buffer
    if include_sublayers:
        for name, sublayer in layer._sub_layers.items():
            if sublayer is not None:
                collect(sublayer, destination, True, f"{prefix}{name}.")
    return destination


def assign(
    layer: Layer, state_dict: dict[str, Any], use_structured_name: bool, on_misfit: str = "warn"
) -> tuple[list[str], list[str]]:
    """Set the values of the tensors of `layer`; all of them, or none if one does not fit.

    `on_misfit` says what names without a value, or without a tensor, are: "warn", "error" or "ignore".
    """
    tensors = layer.state_dict()
    if not use_structured_name:
        tensors = {tensor.name: tensor for tensor in tensors.values()}
    missing = [name for name in tensors if name not in state_dict]
    unexpected = [key for key in state_dict if key not in tensors]
    for name, tensor in tensors.items():
        if name in state_dict:
            shape = list(np.shape(_array(state_dict[name])))
            if shape != tensor.shape:
                raise ShapeError(f"{name} has shape {tensor.shape}, but the state dict has shape {shape}")
    if (missing or unexpected) and on_misfit != "ignore":
        parts = [f"missing {', '.join(missing)}"] if missing else []
        parts += [f"unexpected {', '.join(map(str, unexpected))}"] if unexpected else []
        message = f"the state dict does not fit {type(layer).__name__}: {'; '.join(parts)}"
        if on_misfit == "error":
            raise StateError(message, kind="R01", advice="With strict=False what fits is taken over.")
        warnings.warn(message, stacklevel=3)
    for name, tensor in tensors.items():
        if name in state_dict:
            tensor.set_value(state_dict[name])
    return missing, unexpected


def _array(value: Any) -> Any:
    return value.data if isinstance(value, Tensor) else value
