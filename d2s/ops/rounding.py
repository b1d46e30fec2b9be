"""Sign, magnitude and rounding of one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.ops.annotations import Array, Tensor
from d2s.ops.creation import zeros_like
from d2s.ops.elementwise import ufunc_op
from d2s.ops.promotion import tensor_or_number

# Of complex numbers `sign` is a quotient, which has a gradient.
sign_op = ufunc_op(np.sign, kinds="fiu")
floor_op = ufunc_op(np.floor)
ceil_op = ufunc_op(np.ceil)
trunc_op = ufunc_op(np.trunc)


@define_op("round", infer=lambda x, *, decimals=0: x)
def round_op(x: Array, *, decimals: int = 0) -> Any:
    """Round to `decimals` digits, halves to even."""
    return np.round(x, decimals) if x.dtype.kind != "b" else x


# Constant between the jumps.  Paddle, too, counts that as a gradient of zero, not as none.
for _op in (sign_op, floor_op, ceil_op, trunc_op, round_op):
    _op.vjp(lambda g, out, x, decimals=0: zeros_like(g))

abs_op = ufunc_op(np.absolute, "abs", saves=("x",))


@public(x="input")
def sign(x: Tensor, name: str | None = None) -> Tensor:
    """-1, 0 or 1; of a complex number, the number of size 1 in its direction."""
    x = tensor_or_number(x)
    if x.dtype.kind != "c":
        return bind(sign_op, x)
    size = abs(x)
    return x / (size + (size == 0).cast(size.dtype))


abs_op.vjp(lambda g, out, x: g * sign(x))


@public(x="input")
def abs(x: Tensor, name: str | None = None) -> Tensor:
    """Magnitude; its gradient at 0 is 0."""
    return bind(abs_op, tensor_or_number(x))


@public(x="input")
def floor(x: Tensor, name: str | None = None) -> Tensor:
    """Largest whole number that is not larger."""
    return bind(floor_op, tensor_or_number(x))


@public(x="input")
def ceil(x: Tensor, name: str | None = None) -> Tensor:
    """Smallest whole number that is not smaller."""
    return bind(ceil_op, tensor_or_number(x))


@public()
def trunc(input: Tensor, name: str | None = None) -> Tensor:
    """The whole part, rounded towards zero."""
    return bind(trunc_op, tensor_or_number(input))


@public(x="input")
def round(x: Tensor, decimals: int = 0, name: str | None = None) -> Tensor:
    """Nearest number of `decimals` digits after the point; halves go to the even one."""
    return bind(round_op, tensor_or_number(x), decimals=decimals)


@public(x="input")
def frac(x: Tensor, name: str | None = None) -> Tensor:
    """The part after the point, with the sign of `x`."""
    return x - trunc(x)
