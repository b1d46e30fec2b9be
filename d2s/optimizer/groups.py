"""Parameters that are changed in the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError, DTypeError, UnsupportedSyntaxError, user_location
from d2s.regularizer import L2Decay, WeightDecayRegularizer

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Some parameters, and how they are changed.

    Attributes
    ----------
    learning_rate : float
        Factor on the rate of the optimizer.
    options : dict
        What the optimizer's rule needs.
    """

    params: list[Any]
    weight_decay: WeightDecayRegularizer | None
    grad_clip: Callable[..., Any] | None
    learning_rate: float
    options: dict[str, Any]


# Not frozen: that would cost more than the rest of a small step.
@dataclass(slots=True)
class Update:
    """One step of one parameter.

    Attributes
    ----------
    param : Tensor
    target : ndarray
        Where its new values go; may be its own array.
    grad : ndarray
        Clipped, with the decay.
    rate : float
    slots : dict of ndarray
        What the optimizer keeps; changed in place.
    step : int
        Number of the step, from 1.
    options : dict
        Of the group.
    """

    param: Tensor
    target: Array
    grad: Array
    rate: float
    slots: dict[str, Array]
    step: int
    options: dict[str, Any]


def groups_of(parameters: Any, weight_decay: Any, grad_clip: Any, options: dict[str, Any]) -> list[Group]:
    """The groups that the arguments of an optimizer describe; errors as `Optimizer`."""
    if parameters is None or isinstance(parameters, Tensor):
        raise DTypeError("an optimizer needs the list of its parameters", advice="Pass layer.parameters().")
    entries = list(parameters)
    if not entries:
        raise ArgumentError("an optimizer needs at least one parameter, got an empty list")
    if isinstance(entries[0], dict):
        given = [dict(entry) for entry in entries]
    else:
        given = [{"params": entries}]
    defaults = {"weight_decay": weight_decay, "grad_clip": grad_clip, "learning_rate": 1.0, **options}
    groups = [_group(settings, defaults) for settings in given]
    everything = [param for group in groups for param in group.params]
    if len({id(param) for param in everything}) < len(everything):
        raise ArgumentError("a parameter is in the list of the optimizer twice")
    return groups


def _group(settings: dict[str, Any], defaults: dict[str, Any]) -> Group:
    if "params" not in settings:
        raise ArgumentError(f"a group of parameters needs the key 'params', got {', '.join(map(repr, settings))}")
    found = settings.pop("params")
    params = [_outside(param) for param in ([found] if isinstance(found, TensorBase) else found)]
    for param in params:
        if isinstance(param, TensorBase) and not isinstance(param, Tensor):
            raise UnsupportedSyntaxError(
                "an optimizer of tensors that a static function makes cannot become a graph", user_location(),
                "Make the tensors and the optimizer outside, and call step() inside.", kind="U32")
        if not isinstance(param, Tensor):
            raise DTypeError(f"an optimizer changes tensors, got {type(param).__name__}")
    unknown = settings.keys() - defaults.keys()
    if unknown:
        raise ArgumentError(
            f"a group of parameters cannot set {', '.join(map(repr, sorted(unknown)))}; "
            f"known are {', '.join(map(repr, defaults))}"
        )
    options = {**defaults, **settings}
    grad_clip, rate = options.pop("grad_clip"), options.pop("learning_rate")
    if grad_clip is not None and not callable(grad_clip):
        raise DTypeError(f"grad_clip must be a ClipGrad object or None, got {type(grad_clip).__name__}")
    return Group(params, _decay(options.pop("weight_decay")), grad_clip, float(rate), options)


def _outside(param: Any) -> Any:
    """The tensor that a parameter of a Program built by hand stands for; anything else as it is."""
    known = getattr(getattr(param, "interpreter", None), "outer_tensor", None)
    found = None if known is None else known(param)
    return param if found is None else found


def _decay(weight_decay: Any) -> WeightDecayRegularizer | None:
    if isinstance(weight_decay, int | float):
        return L2Decay(weight_decay) if weight_decay else None
    if weight_decay is not None and not isinstance(weight_decay, WeightDecayRegularizer):
        raise DTypeError(f"weight_decay must be a number or None, got {type(weight_decay).__name__}")
    return weight_decay
