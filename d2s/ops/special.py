"""Functions around gamma and the error function that NumPy does not have, with what Python's library gives."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec
from d2s.errors import ArgumentError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.comparison import equal
from d2s.ops.elementwise import require_floating
from d2s.ops.exponential import exp, square
from d2s.ops.promotion import floating
from d2s.ops.selection import where
from d2s.ops.trigonometry import sin

# Bernoulli numbers B2, B4, ...
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
# From here on the series in 1 / x is good to the last digit.
_LARGE = 12.0
# The recurrence is not followed further down than so far.
_LOWEST = -1000.0


def _each(function: Any, x: Array) -> Array:
    """A function of Python floats, for each element."""
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


@define_op("lgamma", kinds="f", infer=require_floating("lgamma", "f"), saves=("x",), fresh=True)
def lgamma_op(x: Array) -> Array:
    """Logarithm of the absolute value of the gamma function; inf at its poles."""
    is_pole = (x <= 0) & (x == np.floor(x)) | np.isinf(x)
    return np.where(is_pole, np.inf, _each(math.lgamma, np.where(is_pole, 1, x))).astype(x.dtype)


def _infer_polygamma(x: TensorSpec, *, n: int) -> TensorSpec:
    return require_floating("polygamma", "f")(x)


@define_op("polygamma", kinds="f", infer=_infer_polygamma, saves=("x",), fresh=True)
def polygamma_op(x: Array, *, n: int) -> Array:
    """The derivative of order n + 1 of the logarithm of the gamma function."""
    wide = x.astype(np.float64)
    found = _digamma(wide) if n == 0 else _higher(wide, n)
    return found.astype(x.dtype)


def _digamma(x: Array) -> Array:
    # psi(1 - x) - psi(x) = pi / tan(pi x)
    is_left = x < 0.5
    z = np.where(is_left, 1 - x, x)
    total = np.zeros_like(z)
    while (small := z < _LARGE).any():
        total -= np.where(small, 1 / z, 0)
        z = np.where(small, z + 1, z)
    inverse = 1 / (z * z)
    series = np.zeros_like(z)
    for k in range(len(_BERNOULLI), 0, -1):
        series = (series + _BERNOULLI[k - 1] / (2 * k)) * inverse
    total += np.log(z) - 0.5 / z - series
    # The sine of a remainder, so that it is right far from 0.
    fraction = np.remainder(x, 1)
    reflected = total - np.pi * np.cos(np.pi * fraction) / np.sin(np.pi * fraction)
    at_pole = np.where(x == 0, np.copysign(np.inf, -x), np.nan)
    reflected = np.where((x <= 0) & (fraction == 0), at_pole, reflected)
    return np.where(is_left, reflected, total)


def _higher(x: Array, n: int) -> Array:
    """By the Hurwitz zeta function: ``(-1) ** (n + 1) * n! * zeta(n + 1, x)``; inf or nan at the poles."""
    s = n + 1
    z = np.where(x < _LOWEST, np.nan, x)
    total = np.zeros_like(z)
    low = _LARGE + n
    while (small := z < low).any():
        total += np.where(small, z ** float(-s), 0)
        z = np.where(small, z + 1, z)
    total += z ** float(1 - s) / n + z ** float(-s) / 2
    rising, factorial = float(s), 2.0
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total += bernoulli * rising / factorial * z ** float(1 - s - 2 * k)
        rising *= (s + 2 * k - 1) * (s + 2 * k)
        factorial *= (2 * k + 1) * (2 * k + 2)
    return math.factorial(n) * (total if n % 2 else -total)


@define_op("erfinv", kinds="f", infer=require_floating("erfinv", "f"), saves=("out",), fresh=True)
def erfinv_op(x: Array) -> Array:
    """The inverse of the error function: by the quantiles of the normal distribution, or a series close to 0."""
    wide = x.astype(np.float64)
    size = np.abs(wide)
    inside = (size > 0.01) & (size < 1)
    quantile = statistics.NormalDist().inv_cdf
    # From the tail, where nothing is lost by rounding.
    far = -_each(quantile, np.where(inside, (1 - size) / 2, 0.25)) / math.sqrt(2)
    power = size * size
    near = math.sqrt(math.pi) / 2 * size * (
        1 + math.pi / 12 * power * (1 + power * (7 * math.pi / 40 + power * 127 * math.pi**2 / 3360)))
    found = np.where(inside, far, np.where(size == 1, np.inf, np.where(size < 1, near, np.nan)))
    return np.copysign(found, wide).astype(x.dtype)


erfinv_op.vjp(lambda g, out, x: g * (exp(square(out)) * (math.sqrt(math.pi) / 2)))


@public()
def lgamma(x: Tensor, name: str | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function; inf at its poles."""
    return bind(lgamma_op, floating(x))


@public()
def digamma(x: Tensor, name: str | None = None) -> Tensor:
    """The derivative of `lgamma`; at 0 infinite, at negative whole numbers NaN."""
    return polygamma(x, 0)


@public()
def polygamma(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """
    The derivative of `digamma` of order `n`.

    Parameters
    ----------
    x : Tensor
        Of `n` greater than 0 not less than -1000: below it is NaN.
    n : int
        Not negative.

    Raises
    ------
    ValueError
        If `n` is negative.
    """
    if n < 0:
        raise ArgumentError(f"polygamma needs an order of 0 or more, got {n}")
    return bind(polygamma_op, floating(x), n=int(n))


polygamma_op.vjp(lambda g, out, x, *, n: g * polygamma(x, n + 1))


lgamma_op.vjp(lambda g, out, x: g * polygamma(x, 0))


@public()
def erfinv(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse of `erf`: of -1 and 1 infinite, of what lies beyond NaN."""
    return bind(erfinv_op, floating(x))


@public()
def multigammaln(x: Tensor, p: int, name: str | None = None) -> Tensor:
    """Logarithm of the gamma function of `p` dimensions: sums of `lgamma`."""
    need_tensors(x)
    total = lgamma(x - 0.0) + p * (p - 1) / 4 * math.log(math.pi)
    for k in range(1, p):
        total = total + lgamma(x - k / 2)
    return total


@public()
def sinc(x: Tensor, name: str | None = None) -> Tensor:
    """``sin(pi x) / (pi x)``, and 1 at 0."""
    x = floating(x)
    is_zero = equal(x, 0)
    angle = where(is_zero, x.dtype.type(1), x) * math.pi
    # The slope at 0 is 0: nothing else depends on x there.
    return where(is_zero, x.dtype.type(1), sin(angle) / angle)


gammaln = lgamma
