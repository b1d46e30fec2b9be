"""Weight decay: what is added to the gradient of a parameter, for `weight_decay` and `ParamAttr`."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.errors import NotSupportedError

Array = np.ndarray[Any, Any]

__all__ = ["L1Decay", "L2Decay"]


class WeightDecayRegularizer:
    """Base of the kinds of weight decay, of strength `coeff`."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = float(coeff)

    def gradient(self, values: Array) -> Array:
        """Gradient of the penalty on `values`."""
        raise NotSupportedError(f"{type(self).__name__} does not define gradient(values)", kind="N02")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(coeff={self.coeff})"


class L1Decay(WeightDecayRegularizer):
    """The penalty ``coeff * sum(abs(parameter))``."""

    def gradient(self, values: Array) -> Array:
        return np.asarray(np.sign(values) * values.dtype.type(self.coeff))


class L2Decay(WeightDecayRegularizer):
    """The penalty ``coeff / 2 * sum(parameter ** 2)``."""

    def gradient(self, values: Array) -> Array:
        return np.asarray(values * values.dtype.type(self.coeff))
