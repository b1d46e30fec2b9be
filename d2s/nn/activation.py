"""Activation functions as layers."""

from __future__ import annotations

from typing import Any

from d2s.nn import functional as F
from d2s.nn.layer import Layer

__all__ = [
    "ELU",
    "GELU",
    "Hardtanh",
    "LeakyReLU",
    "LogSoftmax",
    "ReLU",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softplus",
    "Tanh",
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
    """Elementwise ``x * sigmoid(x)``."""

    def __init__(self, name: str | None = None) -> None:
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
