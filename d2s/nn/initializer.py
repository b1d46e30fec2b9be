"""First values of parameters.  Random ones are drawn from the generator that `d2s.seed` seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.public import public_classes
from d2s.core.spec import DType
from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError, DTypeError, NotSupportedError, ShapeError
from d2s.ops.random import generator

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "set_global_initializer",
]

Array = np.ndarray[Any, Any]


class Initializer:
    """Gives the first values of a parameter; called on a tensor, it sets the tensor's values."""

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """A new array of first values."""
        raise NotSupportedError(f"{type(self).__name__} does not define sample(shape, dtype)", kind="N02")

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

    def __init__(self, value: Tensor | Array | Sequence[Any], name: str | None = None) -> None:
        self.value = as_array(value)

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        if self.value.shape != shape:
            raise ShapeError(f"Assign has values of shape {list(self.value.shape)}, the parameter {list(shape)}")
        return self.value.astype(dtype)


class Normal(Initializer):
    """Normal distribution with mean `mean` and standard deviation `std`."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self.mean, self.std = mean, std

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        return np.asarray(generator().normal(self.mean, self.std, shape)).astype(dtype)


class Uniform(Initializer):
    """Uniform distribution on ``[low, high)``."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        self.low, self.high = low, high

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        return np.asarray(generator().uniform(self.low, self.high, shape)).astype(dtype)


class _Xavier(Initializer):
    """What the two Xavier initializers share: the scale ``gain * sqrt(2 / (fan_in + fan_out))``."""

    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: str | None = None
    ) -> None:
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


class TruncatedNormal(Initializer):
    """Normal distribution without what lies outside of ``[a, b]``.

    Raises
    ------
    ValueError
        If `a` is not below `b`, or both are more than 4 `std` away on one side of `mean`.
    """

    def __init__(
        self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
    ) -> None:
        if not a < b:
            raise ArgumentError(f"a must be below b, got {a} and {b}")
        self.mean, self.std = mean, std
        self.low, self.high = (a - mean) / std, (b - mean) / std
        if self.low > 4 or self.high < -4:
            raise ArgumentError(
                f"[{a}, {b}] holds next to nothing of a normal distribution around {mean} with std={std}"
            )

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        values = np.empty(math.prod(shape))
        missing = np.arange(values.size)
        while missing.size:
            values[missing] = generator().standard_normal(missing.size)
            missing = missing[(values[missing] < self.low) | (values[missing] > self.high)]
        return (values.reshape(shape) * self.std + self.mean).astype(dtype)


class Orthogonal(Initializer):
    """Rows (or columns, if there are more rows) that are orthogonal and of length `gain` (Saxe et al., 2014).

    A parameter of more than two axes is taken as a matrix with its first axis as rows.

    Raises
    ------
    ShapeError
        When a parameter of fewer than two axes is made.
    """

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        self.gain = gain

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        if len(shape) < 2:
            raise ShapeError(f"Orthogonal needs a parameter of at least two axes, got shape {list(shape)}")
        rows, columns = shape[0], math.prod(shape[1:])
        drawn = generator().standard_normal((max(rows, columns), min(rows, columns)))
        q, r = np.linalg.qr(drawn)
        q *= np.sign(np.diagonal(r))
        return (self.gain * (q if rows >= columns else q.T)).reshape(shape).astype(dtype)


class Dirac(Initializer):
    """The weight of a convolution that passes each channel on unchanged: 1 in the middle, else 0.

    With `groups`, that of each group of output channels.

    Raises
    ------
    ShapeError
        When a parameter is made that is no weight of a convolution, or whose channels the groups do not divide.
    """

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        if groups < 1:
            raise ArgumentError(f"groups must be positive, got {groups}")
        self.groups = groups

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        if len(shape) not in (3, 4, 5) or shape[0] % self.groups:
            raise ShapeError(f"Dirac of {self.groups} groups cannot make a parameter of shape {list(shape)}")
        values = np.zeros(shape, dtype)
        per_group = shape[0] // self.groups
        middle = tuple(size // 2 for size in shape[2:])
        for group in range(self.groups):
            for channel in range(min(per_group, shape[1])):
                values[(group * per_group + channel, channel, *middle)] = 1
        return values


class Bilinear(Initializer):
    """The weight of a transposed convolution that enlarges images by linear interpolation.

    Raises
    ------
    ShapeError
        When a parameter is made whose shape is not ``[C, D, k, k]``.
    """

    def sample(self, shape: tuple[int, ...], dtype: DType) -> Array:
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ShapeError(f"Bilinear makes parameters of shape [C, D, k, k], got {list(shape)}")
        factor = math.ceil(shape[3] / 2)
        centre = (2 * factor - 1 - factor % 2) / (2 * factor)
        line = 1 - np.abs(np.arange(shape[3]) / factor - centre)
        return np.broadcast_to(np.outer(line, line), shape).astype(dtype)


# What parameters without an initializer of their own begin with, in place of the layers' defaults: weights, biases.
_global: list[Initializer | None] = [None, None]


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Set the first values of all parameters made from now on that no ParamAttr gives; None: the layers' defaults.

    Raises
    ------
    DTypeError
        If an argument is neither an Initializer nor None.
    """
    for given in (weight_init, bias_init):
        if given is not None and not isinstance(given, Initializer):
            raise DTypeError(f"a global initializer must be an Initializer or None, got {type(given).__name__}")
    _global[:] = [weight_init, bias_init]


def global_initializer(is_bias: bool) -> Initializer | None:
    """What `set_global_initializer` has set."""
    return _global[is_bias]


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


public_classes(globals(), "d2s.nn.initializer")
