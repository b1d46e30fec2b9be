"""Trainable tensors, and what can be said about one when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.interpreter import TensorBase, current_interpreter
from d2s.core.spec import DType, as_dtype, is_floating
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.views import write_data
from d2s.errors import DTypeError
from d2s.nn.structure import STRUCTURE, unique_name

if TYPE_CHECKING:
    from d2s.nn.initializer import Initializer
    from d2s.regularizer import WeightDecayRegularizer


def note_new_state() -> bool:
    """Say, in traced code, that something is made that belongs to this call; True if it is traced."""
    note = getattr(current_interpreter(), "serve_one_call", None)
    if note is not None:
        note()
    return note is not None


class Parameter(Tensor):
    """A tensor that a Layer registers when it is assigned to an attribute, and that optimizers change.

    Parameters
    ----------
    data : Tensor, ndarray, number or nested sequence
        The first values; copied.
    dtype : dtype or str, optional
        Floating point or complex; by default that of `data`.
    trainable : bool
        False sets ``stop_gradient=True``: no gradient, and optimizers leave it alone.
    name : str, optional
        Made from a counter if left out.

    Raises
    ------
    DTypeError
        If `data` is not floating point or complex.

    Attributes
    ----------
    learning_rate : float
        Factor on the optimizer's learning rate.
    need_clip : bool
        False keeps its gradient out of gradient clipping.
    regularizer : L1Decay or L2Decay, optional
        Used in place of the optimizer's weight decay.
    """

    learning_rate: float = 1.0
    need_clip: bool = True
    regularizer: WeightDecayRegularizer | None = None
    # Guards of compiled calls need no look at a parameter until the structure says that something has changed.
    tells_changes = True

    @property
    def persistable(self) -> bool:
        """True: it is part of the state that a Layer saves."""
        return True

    def __init__(self, data: Any, dtype: Any = None, trainable: bool = True, name: str | None = None) -> None:
        traced: Any = data if isinstance(data, TensorBase) and not isinstance(data, Tensor) else None
        array = as_array(data, dtype) if traced is None else np.zeros(traced.spec.shape, as_dtype(dtype or data.dtype))
        if not is_floating(array.dtype):
            raise DTypeError(
                f"a parameter must be floating point or complex, got {array.dtype.name}",
                advice="Register constants and counters with register_buffer.",
            )
        note_new_state()
        tensor_of(array, not trainable, into=self)
        self.name = name or unique_name("parameter")
        if traced is not None:
            # It gets its values in the run.
            self.set_value(traced.detach())

    @property
    def trainable(self) -> bool:
        """The opposite of `stop_gradient`."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.stop_gradient = not value

    @property
    def stop_gradient(self) -> bool:
        """True if no gradient flows into this parameter."""
        return self._stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self._set_stop_gradient(bool(value))
        STRUCTURE.changed()

    def cast_(self, dtype: Any) -> Parameter:
        """Change the element type in place; hooks stay, and so does the gradient, in the new type."""
        wanted: DType = as_dtype(dtype)
        if wanted == self.dtype:
            return self
        if not is_floating(wanted):
            raise DTypeError(f"a parameter must be floating point or complex, got {wanted.name}")
        grad = self.grad
        write_data(self, self.data.astype(wanted))
        STRUCTURE.changed()
        if grad is not None:
            self.grad = tensor_of(grad.data.astype(wanted))
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A copy with a name of its own; tensor and reduce hooks are not copied."""
        other = super().__deepcopy__(memo)
        other.name = f"{self.name}_{unique_name('deepcopy')}"
        return other

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


@dataclass
class ParamAttr:
    """Settings of a parameter, for the `weight_attr` and `bias_attr` arguments of layers.

    Parameters
    ----------
    name : str, optional
        Name of the parameter.
    initializer : Initializer, optional
        First values, in place of the layer's default.
    learning_rate : float
        Factor on the optimizer's learning rate.
    regularizer : L1Decay or L2Decay, optional
        Used in place of the optimizer's weight decay.
    trainable : bool
        False: no gradient.
    do_model_average : bool
        Accepted and ignored.
    need_clip : bool
        False keeps its gradient out of gradient clipping.
    """

    name: str | None = None
    initializer: Initializer | None = None
    learning_rate: float = 1.0
    regularizer: WeightDecayRegularizer | None = None
    trainable: bool = True
    do_model_average: bool = True
    need_clip: bool = True


def make_parameter(
    shape: tuple[int, ...],
    dtype: DType,
    attr: ParamAttr,
    initializer: Initializer,
    name: str,
) -> Parameter:
    """A new parameter; what `attr` says goes before `initializer` and `name`."""
    initializer = attr.initializer or initializer
    stage = getattr(current_interpreter(), "new_parameter", None)
    if stage is not None:
        found: Parameter = stage(initializer, shape, dtype, lambda values: _parameter(values, attr, name))
        return found
    return _parameter(initializer.sample(shape, dtype), attr, name)


def _parameter(values: Any, attr: ParamAttr, name: str) -> Parameter:
    parameter = Parameter(values, trainable=attr.trainable, name=attr.name or name)
    if attr.learning_rate != 1.0:
        parameter.learning_rate = attr.learning_rate
    if not attr.need_clip:
        parameter.need_clip = False
    if attr.regularizer is not None:
        parameter.regularizer = attr.regularizer
    return parameter
