"""Powers, exponentials and logarithms of one tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.ops.annotations import Array, Tensor
from d2s.ops.complex_numbers import conj
from d2s.ops.elementwise import require_floating, ufunc_op
from d2s.ops.promotion import floating, tensor_or_number

exp_op = ufunc_op(np.exp, saves=("out",))
exp_op.vjp(lambda g, out, x: g * conj(out))

expm1_op = ufunc_op(np.expm1, saves=("out",))
expm1_op.vjp(lambda g, out, x: g * conj(out + 1))

log_op = ufunc_op(np.log, saves=("x",))
log_op.vjp(lambda g, out, x: g / conj(x))

log1p_op = ufunc_op(np.log1p, saves=("x",))
log1p_op.vjp(lambda g, out, x: g / conj(x + 1))

log2_op = ufunc_op(np.log2, saves=("x",))
log2_op.vjp(lambda g, out, x: g / (conj(x) * math.log(2)))

log10_op = ufunc_op(np.log10, saves=("x",))
log10_op.vjp(lambda g, out, x: g / (conj(x) * math.log(10)))

sqrt_op = ufunc_op(np.sqrt, saves=("out",))
sqrt_op.vjp(lambda g, out, x: g * 0.5 / conj(out))

square_op = ufunc_op(np.square, saves=("x",))
square_op.vjp(lambda g, out, x: g * (conj(x) * 2))

reciprocal_op = ufunc_op(np.reciprocal, saves=("out",))
reciprocal_op.vjp(lambda g, out, x: -(g * bind(square_op, conj(out))))


@define_op("rsqrt", kinds="fc", infer=require_floating("rsqrt"), saves=("out",), template="{one} / np.sqrt({0})")
def rsqrt_op(x: Array) -> Any:
    """One over the square root."""
    return 1 / np.sqrt(x)


rsqrt_op.vjp(lambda g, out, x: g * (conj(out * out * out) * -0.5))


@public(x="input")
def exp(x: Tensor, name: str | None = None) -> Tensor:
    """e to the power of each element."""
    return bind(exp_op, floating(x))


@public(x="input")
def expm1(x: Tensor, name: str | None = None) -> Tensor:
    """``exp(x) - 1``, exact for small `x`."""
    return bind(expm1_op, floating(x))


@public(x="input")
def log(x: Tensor, name: str | None = None) -> Tensor:
    """Natural logarithm: -inf at 0, NaN below."""
    return bind(log_op, floating(x))


@public(x="input")
def log1p(x: Tensor, name: str | None = None) -> Tensor:
    """``log(1 + x)``, exact for small `x`."""
    return bind(log1p_op, floating(x))


@public(x="input")
def log2(x: Tensor, name: str | None = None) -> Tensor:
    """Logarithm to base 2."""
    return bind(log2_op, floating(x))


@public(x="input")
def log10(x: Tensor, name: str | None = None) -> Tensor:
    """Logarithm to base 10."""
    return bind(log10_op, floating(x))


@public(x="input")
def sqrt(x: Tensor, name: str | None = None) -> Tensor:
    """Square root: NaN below 0.  Its gradient at 0 is infinite."""
    return bind(sqrt_op, floating(x))


@public(x="input")
def rsqrt(x: Tensor, name: str | None = None) -> Tensor:
    """One over the square root."""
    return bind(rsqrt_op, floating(x))


@public()
def square(x: Tensor, name: str | None = None) -> Tensor:
    """Each element times itself."""
    return bind(square_op, tensor_or_number(x))


@public()
def reciprocal(x: Tensor, name: str | None = None) -> Tensor:
    """One over each element."""
    return bind(reciprocal_op, floating(x))
