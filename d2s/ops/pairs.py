"""Functions of two numbers, and of one angle, that are made of others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.errors import DTypeError
from d2s.ops.activation import sigmoid, tanh
from d2s.ops.annotations import Tensor
from d2s.ops.arithmetic import add, maximum, minimum, multiply, subtract
from d2s.ops.axes import axis_index
from d2s.ops.casting import cast
from d2s.ops.comparison import equal, greater_equal, isinf, isnan, less_than
from d2s.ops.elementwise import ufunc_op
from d2s.ops.exponential import sqrt, square
from d2s.ops.joining import concat
from d2s.ops.logical import logical_and, logical_or
from d2s.ops.promotion import equal_operands, float_operands, floating, operands, tensor_or_number
from d2s.ops.rounding import abs, sign
from d2s.ops.selection import where
from d2s.ops.shape import reshape

gcd_op = ufunc_op(np.gcd)
lcm_op = ufunc_op(np.lcm)
signbit_op = ufunc_op(np.signbit)
logaddexp_op = ufunc_op(np.logaddexp, saves=("x", "y"))
logaddexp_op.vjp(lambda g, out, x, y: g * _part(x, y), lambda g, out, x, y: g * _part(y, x))


def _part(x: Tensor, y: Tensor) -> Tensor:
    """Which part of ``exp(x) + exp(y)`` the first is: of equal infinities half."""
    return sigmoid(where(logical_and(equal(x, y), isinf(x)), 0.0, subtract(x, y)))


@public()
def fmax(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of two elements; of NaN and a number the number.  Of equal ones the first gets the gradient."""
    x, y = equal_operands(x, y)
    return where(logical_or(x >= y, isnan(y)), x, y) if x.dtype.kind == "f" else maximum(x, y)


@public()
def fmin(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of two elements; of NaN and a number the number.  Of equal ones the first gets the gradient."""
    x, y = equal_operands(x, y)
    return where(logical_or(x <= y, isnan(y)), x, y) if x.dtype.kind == "f" else minimum(x, y)


@public()
def hypot(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Length of the hypotenuse: the root of ``x * x + y * y``."""
    x, y = float_operands(x, y)
    return sqrt(add(square(x), square(y)))


@public()
def logaddexp(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Logarithm of ``exp(x) + exp(y)``, without overflow."""
    return bind(logaddexp_op, *float_operands(x, y))


@public()
def logcumsumexp(x: Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Logarithm of the sums of the exponentials up to each element along `axis`, without overflow; see `cumsum`."""
    need_tensors(x)
    if dtype is not None:
        return logcumsumexp(cast(x, dtype), axis)
    found = floating(x if axis is not None and x.ndim else reshape(x, [-1]))
    place = axis_index(0 if axis is None else axis, x)
    before = (slice(None),) * place
    # Sums of 1, 2, 4, ... elements, two of which make one of the next.
    count = 1
    while count < found.shape[place]:
        sums = logaddexp(found[(*before, slice(count, None))], found[(*before, slice(None, -count))])
        found = concat([found[(*before, slice(None, count))], sums], place)
        count *= 2
    return found


@public()
def heaviside(x: Any, y: Any, name: str | None = None) -> Tensor:
    """0 where `x` is negative, 1 where it is positive, `y` where it is 0, NaN where it is NaN."""
    x, y = operands(x, y)
    step = where(less_than(x, 0), 0, where(equal(x, 0), y, 1)).astype(x.dtype)
    return where(isnan(x), x, step) if x.dtype.kind == "f" else step


@public()
def copysign(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The magnitude of `x` with the sign of `y`; -0.0 is negative."""
    x, y = float_operands(x, y)
    return multiply(abs(x), where(bind(signbit_op, y), -1.0, 1.0).astype(x.dtype))


@public()
def signbit(x: Any, name: str | None = None) -> Tensor:
    """True where the sign is minus, also of -0.0."""
    return bind(signbit_op, tensor_or_number(x))


def _whole(op: Any, x: Any, y: Any) -> Tensor:
    x, y = operands(x, y)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"{op.name} is defined for integers, got {x.dtype.name}")
    return bind(op, x, y)


@public(x="input", y="other")
def gcd(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Greatest common divisor of integers, not negative."""
    return _whole(gcd_op, x, y)


@public(x="input", y="other")
def lcm(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Least common multiple of integers, not negative."""
    return _whole(lcm_op, x, y)


@public()
def ldexp(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * 2 ** y``."""
    x, y = tensor_or_number(x), tensor_or_number(y)
    return multiply(floating(x), 2.0 ** floating(y))


@public()
def deg2rad(x: Any, name: str | None = None) -> Tensor:
    """Degrees as radians."""
    return multiply(floating(x), math.pi / 180)


@public()
def rad2deg(x: Any, name: str | None = None) -> Tensor:
    """Radians as degrees."""
    return multiply(floating(x), 180 / math.pi)


@public()
def stanh(x: Any, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """``scale_b * tanh(scale_a * x)``."""
    return multiply(tanh(multiply(x, scale_a)), scale_b)


@public()
def sgn(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1; of a complex number, the number of size 1 in its direction, or 0."""
    return sign(x)


@public()
def isposinf(x: Any, name: str | None = None) -> Tensor:
    """True where the element is infinite and positive."""
    return equal(x, math.inf)


@public()
def isneginf(x: Any, name: str | None = None) -> Tensor:
    """True where the element is infinite and negative."""
    return equal(x, -math.inf)


@public()
def isreal(x: Any, name: str | None = None) -> Tensor:
    """True where there is no imaginary part."""
    x = tensor_or_number(x)
    return equal(x.imag(), 0) if x.dtype.kind == "c" else greater_equal(x.cast("int8") * 0, 0)
