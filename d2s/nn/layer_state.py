"""Taking the state of a Layer out, and putting it back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from d2s.core.arrays import as_array
from d2s.eager.tensor import Tensor
from d2s.errors import DTypeError, ShapeError, StateError

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
    check_is_mapping(state_dict)
    tensors = layer.state_dict()
    if not use_structured_name:
        tensors = {tensor.name: tensor for tensor in tensors.values()}
    missing = [name for name in tensors if name not in state_dict]
    unexpected = [key for key in state_dict if key not in tensors]
    arrays = {name: _array(name, state_dict[name], tensor) for name, tensor in tensors.items() if name in state_dict}
    if (missing or unexpected) and on_misfit != "ignore":
        parts = [f"missing {', '.join(missing)}"] if missing else []
        parts += [f"unexpected {', '.join(map(str, unexpected))}"] if unexpected else []
        message = f"the state dict does not fit {type(layer).__name__}: {'; '.join(parts)}"
        if on_misfit == "error":
            raise StateError(message, kind="R01", advice="With strict=False what fits is taken over.")
        warnings.warn(message, stacklevel=3)
    for name, array in arrays.items():
        tensors[name].set_value(array)
    return missing, unexpected


def check_is_mapping(state_dict: Any) -> None:
    """Raise DTypeError for what is no state dict."""
    if not isinstance(state_dict, Mapping):
        raise DTypeError(f"a state dict must be a dict, got {type(state_dict).__name__}")


def _array(name: str, value: Any, tensor: Tensor) -> Any:
    """The values for a tensor."""
    try:
        array = as_array(value)
    except DTypeError as error:
        raise DTypeError(f"{name}: the state dict has {type(value).__name__}, which is no array of numbers") from error
    if list(array.shape) != tensor.shape:
        raise ShapeError(f"{name} has shape {tensor.shape}, but the state dict has shape {list(array.shape)}")
    return array
