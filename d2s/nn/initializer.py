"""First values of parameters.  Random ones are drawn from the generator that `d2s.seed` seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.spec import DType
from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError, ShapeError
from d2s.ops.random import generator

__all__ = [
    "Assign",
    "Constant",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
]

Array = np.ndarray[Any, Any]


class Initializer:
    """Gives the first values of a parameter; called on a tensor, it sets the tensor's values."""

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """A new array of first values."""
        raise NotImplementedError

    def __call__(self, tensor: Tensor) -> Tensor:
        tensor.set_value(self.sample(tuple(tensor.shape), tensor.dtype))
        return tensor


class Constant(Initializer):
    """Every element is `value`."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        return np.full(shape, self.value, dtype)


class Assign(Initializer):
    """The given values.

    Raises
    ------
    ShapeError
        When a parameter of another shape is made.
    """

    def __init__(self, value: Tensor | Array | Sequence[Any]) -> None:
        self.value = as_array(value)

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        if self.value.shape != shape:
            raise ShapeError(f"Assign has values of shape {list(self.value.shape)}, the parameter {list(shape)}")
        return self.value.astype(dtype)


class Normal(Initializer):
    """Normal distribution with mean `mean` and standard deviation `std`."""

    def __init__(self, mean: float = 0.0, std: float = 1.0) -> None:
        self.mean, self.std = mean, std

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        return np.asarray(generator().normal(self.mean, self.std, shape)).astype(dtype)


class Uniform(Initializer):
    """Uniform distribution on ``[low, high)``."""

    def __init__(self, low: float = -1.0, high: float = 1.0) -> None:
        self.low, self.high = low, high

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        return np.asarray(generator().uniform(self.low, self.high, shape)).astype(dtype)


class _Xavier(Initializer):
    """What the two Xavier initializers share: the scale ``gain * sqrt(2 / (fan_in + fan_out))``."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0) -> None:
        self.fan_in, self.fan_out, self.gain = fan_in, fan_out, gain

    def std(self, shape: tuple[int, ...]) -> float:
        by_shape = fans(shape)
        fan_in = by_shape[0] if self.fan_in is None else self.fan_in
        fan_out = by_shape[1] if self.fan_out is None else self.fan_out
        return self.gain * math.sqrt(2.0 / (fan_in + fan_out)) if fan_in and fan_out else 0.0


class XavierNormal(_Xavier):
    """Normal distribution with ``std = gain * sqrt(2 / (fan_in + fan_out))`` (Glorot and Bengio, 2010)."""

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        return Normal(0.0, self.std(shape)).sample(shape, dtype)


class XavierUniform(_Xavier):
    """Uniform on ``[-limit, limit)``, ``limit = gain * sqrt(6 / (fan_in + fan_out))`` (Glorot and Bengio, 2010)."""

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        limit = math.sqrt(3.0) * self.std(shape)
        return Uniform(-limit, limit).sample(shape, dtype)


class _Kaiming(Initializer):
    """What the two Kaiming initializers share: the scale ``gain / sqrt(fan)``."""

    def __init__(
        self,
        fan_in: float | None = None,
        negative_slope: float = 0.0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ArgumentError(f"mode must be 'fan_in' or 'fan_out', got {mode!r}")
        self.fan_in, self.mode = fan_in, mode
        self.gain = calculate_gain(nonlinearity, negative_slope)

    def std(self, shape: tuple[int, ...]) -> float:
        fan_in, fan_out = fans(shape)
        if self.mode == "fan_out":
            fan: float = fan_out
        else:
            fan = fan_in if self.fan_in is None else self.fan_in
        return self.gain / math.sqrt(fan) if fan else 0.0


class KaimingNormal(_Kaiming):
    """Normal distribution with ``std = gain / sqrt(fan)`` (He et al., 2015)."""

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        return Normal(0.0, self.std(shape)).sample(shape, dtype)


class KaimingUniform(_Kaiming):
    """Uniform on ``[-limit, limit)`` with ``limit = gain * sqrt(3 / fan)`` (He et al., 2015)."""

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        limit = math.sqrt(3.0) * self.std(shape)
        return Uniform(-limit, limit).sample(shape, dtype)


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many inputs and outputs a weight of `shape` connects: ``[in, out]`` or ``[out, in, *kernel]``."""
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    if len(shape) == 2:
        return shape[0], shape[1]
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Scale that keeps the variance through `nonlinearity`; `param` is the slope of ``leaky_relu``.

    Raises
    ------
    ValueError
        If the nonlinearity is not known.
    """
    slope = 0.01 if param is None else param
    gains = {
        "sigmoid": 1.0,
        "linear": 1.0,
        "conv1d": 1.0,
        "conv2d": 1.0,
        "conv3d": 1.0,
        "tanh": 5.0 / 3.0,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1.0 + slope**2)),
        "selu": 0.75,
    }
    if nonlinearity not in gains:
        raise ArgumentError(f"no gain is known for {nonlinearity!r}; known are {', '.join(gains)}")
    return gains[nonlinearity]
