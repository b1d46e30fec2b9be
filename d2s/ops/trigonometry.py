"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.ops.annotations import Tensor
from d2s.ops.complex_numbers import conj
from d2s.ops.elementwise import ufunc_op
from d2s.ops.exponential import rsqrt, square
from d2s.ops.promotion import float_operands, floating

sin_op, cos_op = ufunc_op(np.sin, saves=("x",)), ufunc_op(np.cos, saves=("x",))
sin_op.vjp(lambda g, out, x: g * conj(bind(cos_op, x)))
cos_op.vjp(lambda g, out, x: -(g * conj(bind(sin_op, x))))

tan_op = ufunc_op(np.tan, saves=("out",))
tan_op.vjp(lambda g, out, x: g * conj(square(out) + 1))

asin_op = ufunc_op(np.arcsin, "asin", saves=("x",))
asin_op.vjp(lambda g, out, x: g * conj(rsqrt(1 - square(x))))

acos_op = ufunc_op(np.arccos, "acos", saves=("x",))
acos_op.vjp(lambda g, out, x: -(g * conj(rsqrt(1 - square(x)))))

atan_op = ufunc_op(np.arctan, "atan", saves=("x",))
atan_op.vjp(lambda g, out, x: g / conj(square(x) + 1))

sinh_op, cosh_op = ufunc_op(np.sinh, saves=("x",)), ufunc_op(np.cosh, saves=("x",))
sinh_op.vjp(lambda g, out, x: g * conj(bind(cosh_op, x)))
cosh_op.vjp(lambda g, out, x: g * conj(bind(sinh_op, x)))

asinh_op = ufunc_op(np.arcsinh, "asinh", saves=("x",))
asinh_op.vjp(lambda g, out, x: g * conj(rsqrt(square(x) + 1)))

acosh_op = ufunc_op(np.arccosh, "acosh", saves=("x",))
acosh_op.vjp(lambda g, out, x: g * conj(rsqrt(square(x) - 1)))

atanh_op = ufunc_op(np.arctanh, "atanh", saves=("x",))
atanh_op.vjp(lambda g, out, x: g / conj(1 - square(x)))

atan2_op = ufunc_op(np.arctan2, "atan2", saves=("x", "y"))
atan2_op.vjp(
    lambda g, out, x, y: g * y / (square(x) + square(y)),
    lambda g, out, x, y: -(g * x / (square(x) + square(y))),
)


@public(x="input")
def sin(x: Tensor, name: str | None = None) -> Tensor:
    """Sine of an angle in radians."""
    return bind(sin_op, floating(x))


@public(x="input")
def cos(x: Tensor, name: str | None = None) -> Tensor:
    """Cosine of an angle in radians."""
    return bind(cos_op, floating(x))


@public()
def tan(x: Tensor, name: str | None = None) -> Tensor:
    """Tangent of an angle in radians."""
    return bind(tan_op, floating(x))


@public(x="input")
def asin(x: Tensor, name: str | None = None) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose sine is `x`; NaN outside ``[-1, 1]``."""
    return bind(asin_op, floating(x))


@public(x="input")
def acos(x: Tensor, name: str | None = None) -> Tensor:
    """Angle in ``[0, pi]`` whose cosine is `x`; NaN outside ``[-1, 1]``."""
    return bind(acos_op, floating(x))


@public()
def atan(x: Tensor, name: str | None = None) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose tangent is `x`."""
    return bind(atan_op, floating(x))


@public(x="input")
def sinh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic sine."""
    return bind(sinh_op, floating(x))


@public(x="input")
def cosh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic cosine."""
    return bind(cosh_op, floating(x))


@public()
def asinh(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse of `sinh`."""
    return bind(asinh_op, floating(x))


@public(x="input")
def acosh(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse of `cosh`, not negative; NaN below 1."""
    return bind(acosh_op, floating(x))


@public(x="input")
def atanh(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse of `tanh`; NaN outside ``[-1, 1]``."""
    return bind(atanh_op, floating(x))


@public()
def atan2(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Angle in ``[-pi, pi]`` of the point with height `x` and width `y`, element by element."""
    return bind(atan2_op, *float_operands(x, y))
