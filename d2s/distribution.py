"""Probability distributions under the names of `paddle.distribution`.

All that they give is made of functions on tensors: it works in both modes and can be differentiated.  Samples come from
the generator that `seed` sets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import GradModeBlock, TensorBase
from d2s.core.spec import default_dtype
from d2s.errors import DTypeError, NotSupportedError
from d2s.ops.activation import sigmoid, softplus
from d2s.ops.annotations import Tensor
from d2s.ops.arranging import broadcast_tensors
from d2s.ops.exponential import exp, log, log1p
from d2s.ops.gathering import gather, take_along_axis
from d2s.ops.logits import log_softmax, softmax
from d2s.ops.loss import binary_cross_entropy_with_logits
from d2s.ops.promotion import as_dtype_of, tensor_or_number
from d2s.ops.random import bernoulli, gaussian, multinomial, uniform
from d2s.ops.reduction import sum as sum_of
from d2s.ops.selection import clip, where
from d2s.ops.shape import broadcast_to, moveaxis, reshape

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence"]


def _tensor(given: Any) -> Any:
    """A parameter as tensor; numbers and lists in the default dtype, float64 arrays as they are."""
    if isinstance(given, TensorBase) or hasattr(type(given), "__d2s_operand__"):
        return tensor_or_number(given)
    array = np.asarray(given)
    is_wide = isinstance(given, np.ndarray) and array.dtype == np.float64
    if array.dtype.kind not in "biuf":
        raise DTypeError(f"parameters and values of a distribution are tensors or real numbers, got {given!r}")
    return tensor_or_number(array if is_wide else array.astype(default_dtype()))


def _value(given: Any, like: Any) -> Any:
    """What a density is asked for, in the dtype of the parameters."""
    return as_dtype_of(_tensor(given), like.dtype)


class Distribution:
    """What the distributions share.

    Attributes
    ----------
    batch_shape : list
        Shape of the parameters: a sample of shape s has the shape ``s + batch_shape``.
    event_shape : list
        Shape of one outcome: ``[]``.
    """

    def __init__(self, batch_shape: Any = (), event_shape: Any = ()) -> None:
        self.batch_shape, self.event_shape = list(batch_shape), list(event_shape)

    def sample(self, shape: Sequence[int] = ()) -> Tensor:
        """Random outcomes of shape ``shape + batch_shape``."""
        raise self._lacks("sample")

    def rsample(self, shape: Sequence[int] = ()) -> Tensor:
        """The same as a function of the parameters, through which gradients reach them."""
        raise self._lacks("rsample")

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise self._lacks("entropy")

    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the density, or of the probability, of outcomes; broadcast against the parameters."""
        raise self._lacks("log_prob")

    def prob(self, value: Tensor) -> Tensor:
        """Density, or probability, of outcomes."""
        return exp(self.log_prob(value))

    def kl_divergence(self, other: Distribution) -> Tensor:
        """Kullback-Leibler divergence of this from `other`, a distribution of the same kind, in nats."""
        raise self._lacks("kl_divergence")

    def _lacks(self, name: str) -> NotSupportedError:
        return NotSupportedError(f"{type(self).__name__} does not define {name}()", kind="N02")

    def _of_same_kind(self, other: Any) -> None:
        if type(other) is not type(self):
            raise DTypeError(
                f"the divergence of a {type(self).__name__} is defined from another one, got {type(other).__name__}")


class Normal(Distribution):
    """The normal distribution.

    Parameters
    ----------
    loc, scale : Tensor, array or number
        Mean and standard deviation; broadcast against each other.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> distribution.Normal(0.0, 1.0).log_prob(to_tensor([0.0])).numpy().round(4)
    array([-0.9189], dtype=float32)
    """

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.loc, self.scale = broadcast_tensors([_tensor(loc), _tensor(scale)])
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Square of `scale`."""
        return self.scale * self.scale

    @property
    def stddev(self) -> Tensor:
        """`scale`."""
        return self.scale

    def sample(self, shape: Sequence[int] = (), seed: int = 0) -> Tensor:
        """As `rsample`: gradients reach the parameters, as in PaddlePaddle; `seed` is not used."""
        return self.rsample(shape)

    def rsample(self, shape: Sequence[int] = ()) -> Tensor:
        """``loc + scale * noise``, of shape ``shape + batch_shape``."""
        return self.loc + gaussian([*shape, *self.batch_shape], dtype=self.loc.dtype) * self.scale

    def entropy(self) -> Tensor:
        """``0.5 + 0.5 * log(2 * pi) + log(scale)``."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + log(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the density."""
        away = (_value(value, self.loc) - self.loc) / self.scale
        return -0.5 * away * away - log(self.scale) - 0.5 * math.log(2 * math.pi)

    def probs(self, value: Tensor) -> Tensor:
        """The density."""
        return self.prob(value)

    def kl_divergence(self, other: Distribution) -> Tensor:
        """Divergence from another Normal."""
        self._of_same_kind(other)
        assert isinstance(other, Normal)
        ratio, away = self.scale / other.scale, (self.loc - other.loc) / other.scale
        return 0.5 * (ratio * ratio + away * away - 1.0) - log(ratio)


class Uniform(Distribution):
    """The uniform distribution between two bounds.

    Parameters
    ----------
    low, high : Tensor, array or number
        The bounds; broadcast against each other.
    name : str, optional
        Ignored.
    """

    def __init__(self, low: Any, high: Any, name: str | None = None) -> None:
        self.low, self.high = broadcast_tensors([_tensor(low), _tensor(high)])
        super().__init__(self.low.shape)

    def sample(self, shape: Sequence[int] = (), seed: int = 0) -> Tensor:
        """As `rsample`: gradients reach the parameters, as in PaddlePaddle; `seed` is not used."""
        return self.rsample(shape)

    def rsample(self, shape: Sequence[int] = ()) -> Tensor:
        """``low + (high - low) * noise``, of shape ``shape + batch_shape``."""
        noise = uniform([*shape, *self.batch_shape], dtype=self.low.dtype, min=0.0, max=1.0)
        return self.low + noise * (self.high - self.low)

    def entropy(self) -> Tensor:
        """``log(high - low)``."""
        return log(self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the density: minus infinity outside, and at the bounds."""
        return log(self._inside(value)) - log(self.high - self.low)

    def probs(self, value: Tensor) -> Tensor:
        """The density."""
        return self._inside(value) / (self.high - self.low)

    prob = probs

    def _inside(self, value: Tensor) -> Any:
        value = _value(value, self.low)
        return ((self.low < value) & (value < self.high)).cast(self.low.dtype)


class Bernoulli(Distribution):
    """True with some probability: outcomes are 1.0 and 0.0.

    Parameters
    ----------
    probs : Tensor, array or number
        Probabilities of 1; taken as at least the smallest step of the dtype away from 0 and 1.
    name : str, optional
        Ignored.
    """

    def __init__(self, probs: Any, name: str | None = None) -> None:
        probs = _tensor(probs)
        step = float(np.finfo(probs.dtype).eps)
        self.probs = clip(probs, step, 1 - step)
        self.logits = log(self.probs) - log1p(-self.probs)
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Tensor:
        """`probs`."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """``probs * (1 - probs)``."""
        return self.probs * (1 - self.probs)

    def sample(self, shape: Sequence[int] = ()) -> Tensor:
        """Zeros and ones of shape ``shape + batch_shape``; no gradient reaches the parameters."""
        with GradModeBlock(False):
            return bernoulli(broadcast_to(self.probs, [*shape, *self.batch_shape]))

    def rsample(self, shape: Sequence[int] = (), temperature: float = 1.0) -> Tensor:
        """Logits whose sigmoid is near 0 or 1, the nearer the lower the `temperature`."""
        noise = uniform([*shape, *self.batch_shape], dtype=self.probs.dtype, min=0.0, max=1.0)
        return (log(noise) - log1p(-noise) + self.logits) / temperature

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of an outcome up to `value`."""
        probs, value = broadcast_tensors([self.probs, _value(value, self.probs)])
        return where(value < 0, 0.0, where(value < 1, 1 - probs, 1.0))

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the probability."""
        logits, value = broadcast_tensors([self.logits, _value(value, self.probs)])
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def kl_divergence(self, other: Distribution) -> Tensor:
        """Divergence from another Bernoulli."""
        self._of_same_kind(other)
        assert isinstance(other, Bernoulli)
        of_one = sigmoid(self.logits) * (softplus(-other.logits) - softplus(-self.logits))
        return of_one + sigmoid(-self.logits) * (softplus(other.logits) - softplus(self.logits))


class Categorical(Distribution):
    """One of several classes.

    Parameters
    ----------
    logits : Tensor, array or list, shape (..., classes)
        `sample`, `entropy` and `kl_divergence` take them for logarithms of weights; `probs` and `log_prob` for the
        weights themselves, as in PaddlePaddle.  To have one meaning of both give probabilities, or use `log_softmax`.
    name : str, optional
        Ignored.
    """

    def __init__(self, logits: Any, name: str | None = None) -> None:
        self.logits = _tensor(logits)
        super().__init__(self.logits.shape[:-1])

    def sample(self, shape: Sequence[int] = ()) -> Tensor:
        """Numbers of classes (int64), of shape ``shape + batch_shape``; no gradient reaches the parameters."""
        count = math.prod(shape)
        with GradModeBlock(False):
            rows = reshape(softmax(self.logits), [-1, self.logits.shape[-1]])
            drawn = moveaxis(multinomial(rows, count, True), -1, 0)
        return reshape(drawn, [*shape, *self.batch_shape])

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        return -sum_of(softmax(self.logits) * log_softmax(self.logits), -1)

    def probs(self, value: Tensor) -> Tensor:
        """
        Probabilities of classes.

        Parameters
        ----------
        value : Tensor, int
            Of one distribution any shape.  Of several: a vector of classes, asked of each of them, or shape
            (..., number of classes asked for).
        """
        weights = self.logits / sum_of(self.logits, -1, keepdim=True)
        if weights.ndim == 1:
            return reshape(gather(weights, reshape(value, [-1])), value.shape)
        if value.ndim == 1:
            value = broadcast_to(value, [*weights.shape[:-1], value.shape[0]])
        return take_along_axis(weights, value, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of `probs`."""
        return log(self.probs(value))

    def kl_divergence(self, other: Distribution) -> Tensor:
        """Divergence from another Categorical, of shape (..., 1)."""
        self._of_same_kind(other)
        assert isinstance(other, Categorical)
        difference = log_softmax(self.logits) - log_softmax(other.logits)
        return sum_of(softmax(self.logits) * difference, -1, keepdim=True)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Kullback-Leibler divergence of `p` from `q`, two distributions of one kind, in nats."""
    return p.kl_divergence(q)
