"""Activation functions as layers."""

from __future__ import annotations

from typing import Any

from d2s.core.arrays import ndim_of
from d2s.errors import ShapeError
from d2s.nn import functional as F
from d2s.nn.initializer import Constant
from d2s.nn.layer import Layer

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Maxout",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softmax2D",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Swish",
    "Tanh",
    "Tanhshrink",
    "ThresholdedReLU",
]


class ReLU(Layer):
    """Elementwise ``max(x, 0)``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.relu(x)


class Tanh(Layer):
    """Elementwise hyperbolic tangent."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.tanh(x)


class Sigmoid(Layer):
    """Elementwise ``1 / (1 + exp(-x))``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.sigmoid(x)


class Silu(Layer):
    """Elementwise ``x * sigmoid(x)``; `inplace` is ignored."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.silu(x)


class GELU(Layer):
    """Elementwise ``x * P(X <= x)`` for a standard normal X; with ``approximate=True`` by the tanh formula."""

    def __init__(self, approximate: bool = False, name: str | None = None) -> None:
        super().__init__()
        self._approximate = approximate

    def forward(self, x: Any) -> Any:
        return F.gelu(x, approximate=self._approximate)

    def extra_repr(self) -> str:
        return f"approximate={self._approximate}"


class LeakyReLU(Layer):
    """Elementwise ``x`` where positive, else ``negative_slope * x``."""

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__()
        self._negative_slope = negative_slope

    def forward(self, x: Any) -> Any:
        return F.leaky_relu(x, negative_slope=self._negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self._negative_slope}"


class ELU(Layer):
    """Elementwise ``x`` where positive, else ``alpha * (exp(x) - 1)``."""

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__()
        self._alpha = alpha

    def forward(self, x: Any) -> Any:
        return F.elu(x, alpha=self._alpha)

    def extra_repr(self) -> str:
        return f"alpha={self._alpha}"


class Softplus(Layer):
    """Elementwise ``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x > threshold``."""

    def __init__(self, beta: float = 1, threshold: float = 20, name: str | None = None) -> None:
        super().__init__()
        self._beta, self._threshold = beta, threshold

    def forward(self, x: Any) -> Any:
        return F.softplus(x, beta=self._beta, threshold=self._threshold)

    def extra_repr(self) -> str:
        return f"beta={self._beta}, threshold={self._threshold}"


class Hardtanh(Layer):
    """Elementwise `x`, clipped to ``[min, max]``."""

    def __init__(self, min: float = -1.0, max: float = 1.0, name: str | None = None) -> None:
        super().__init__()
        self._min, self._max = min, max

    def forward(self, x: Any) -> Any:
        return F.hardtanh(x, min=self._min, max=self._max)

    def extra_repr(self) -> str:
        return f"min={self._min}, max={self._max}"


class Softmax(Layer):
    """``exp(x) / sum(exp(x))`` along `axis`."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self._axis = axis

    def forward(self, x: Any) -> Any:
        return F.softmax(x, axis=self._axis)

    def extra_repr(self) -> str:
        return f"axis={self._axis}"


class LogSoftmax(Layer):
    """Logarithm of the softmax along `axis`, computed without overflow."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self._axis = axis

    def forward(self, x: Any) -> Any:
        return F.log_softmax(x, axis=self._axis)

    def extra_repr(self) -> str:
        return f"axis={self._axis}"


class ReLU6(Layer):
    """Elementwise `x`, clipped to ``[0, 6]``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.relu6(x)


class Swish(Layer):
    """Elementwise ``x * sigmoid(x)``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.swish(x)


class Mish(Layer):
    """Elementwise ``x * tanh(softplus(x))``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.mish(x)


class Hardsigmoid(Layer):
    """Elementwise ``x / 6 + 0.5``, clipped to ``[0, 1]``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.hardsigmoid(x)


class Hardswish(Layer):
    """Elementwise ``x * clip(x + 3, 0, 6) / 6``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.hardswish(x)


class LogSigmoid(Layer):
    """Elementwise logarithm of the sigmoid, computed without overflow."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.log_sigmoid(x)


class Softsign(Layer):
    """Elementwise ``x / (1 + abs(x))``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.softsign(x)


class Tanhshrink(Layer):
    """Elementwise ``x - tanh(x)``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return F.tanhshrink(x)


class CELU(Layer):
    """Elementwise `x` where positive, else ``alpha * (exp(x / alpha) - 1)``."""

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__()
        self._alpha = alpha

    def forward(self, x: Any) -> Any:
        return F.celu(x, alpha=self._alpha)

    def extra_repr(self) -> str:
        return f"alpha={self._alpha}"


class SELU(Layer):
    """``scale`` times the ELU of `alpha`, with which the activations keep mean 0 and variance 1."""

    def __init__(
        self, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, name: str | None = None
    ) -> None:
        super().__init__()
        self._scale, self._alpha = scale, alpha

    def forward(self, x: Any) -> Any:
        return F.selu(x, self._scale, self._alpha)

    def extra_repr(self) -> str:
        return f"scale={self._scale}, alpha={self._alpha}"


class Hardshrink(Layer):
    """Elementwise `x` where its size is above `threshold`, else 0."""

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self._threshold = threshold

    def forward(self, x: Any) -> Any:
        return F.hardshrink(x, threshold=self._threshold)

    def extra_repr(self) -> str:
        return f"threshold={self._threshold}"


class Softshrink(Layer):
    """Elementwise `x`, moved towards 0 by `threshold`, and 0 where it is smaller."""

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self._threshold = threshold

    def forward(self, x: Any) -> Any:
        return F.softshrink(x, threshold=self._threshold)

    def extra_repr(self) -> str:
        return f"threshold={self._threshold}"


class ThresholdedReLU(Layer):
    """Elementwise `x` where above `threshold`, else `value`."""

    def __init__(self, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> None:
        super().__init__()
        self._threshold, self._value = threshold, value

    def forward(self, x: Any) -> Any:
        return F.thresholded_relu(x, threshold=self._threshold, value=self._value)

    def extra_repr(self) -> str:
        return f"threshold={self._threshold}, value={self._value}"


class GLU(Layer):
    """One half of the channels times the sigmoid of the other half, along `axis`."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self._axis = axis

    def forward(self, x: Any) -> Any:
        return F.glu(x, axis=self._axis)

    def extra_repr(self) -> str:
        return f"axis={self._axis}"


class Maxout(Layer):
    """Largest of each `groups` neighbouring channels along `axis`."""

    def __init__(self, groups: int, axis: int = 1, name: str | None = None) -> None:
        super().__init__()
        self._groups, self._axis = groups, axis

    def forward(self, x: Any) -> Any:
        return F.maxout(x, groups=self._groups, axis=self._axis)

    def extra_repr(self) -> str:
        return f"groups={self._groups}, axis={self._axis}"


class RReLU(Layer):
    """Elementwise `x` where positive, else times a slope: random on ``[lower, upper)``, in evaluation their mean."""

    def __init__(self, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, name: str | None = None) -> None:
        super().__init__()
        self._lower, self._upper = lower, upper

    def forward(self, x: Any) -> Any:
        return F.rrelu(x, self._lower, self._upper, training=self.training)

    def extra_repr(self) -> str:
        return f"lower={self._lower}, upper={self._upper}"


class PReLU(Layer):
    """Elementwise `x` where positive, else `x` times a learned slope.

    Parameters
    ----------
    num_parameters : int
        1, or the number of channels: then each has a slope of its own.
    init : float
        First value of the slopes.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the slopes, shape ``[num_parameters]``.
    data_format : str
        Says which axis the channels are: the second one, or the last one.
    name : str, optional
        Ignored.
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_parameters, self._data_format = num_parameters, data_format
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: Any) -> Any:
        return F.prelu(x, self._weight, data_format=self._data_format)

    def extra_repr(self) -> str:
        return f"num_parameters={self._num_parameters}, data_format={self._data_format}"


class Softmax2D(Layer):
    """Softmax over the channels of ``[N, C, H, W]`` or ``[C, H, W]``.

    Raises
    ------
    ShapeError
        When called on a tensor with another number of axes.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        if ndim_of(x) not in (3, 4):
            raise ShapeError(f"Softmax2D needs a tensor of 3 or 4 axes, got shape {list(x.shape)}")
        return F.softmax(x, axis=-3)
