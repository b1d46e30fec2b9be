"""Names that Paddle has beside those of the functions themselves, most of them for programs that knew PyTorch."""

from __future__ import annotations

from typing import Any

from d2s.core.public import public
from d2s.ops.annotations import Tensor
from d2s.ops.arithmetic import divide, mod, multiply, subtract
from d2s.ops.comparison import equal, greater_equal, greater_than, less_equal, less_than, not_equal
from d2s.ops.complex_numbers import as_complex
from d2s.ops.gathering import take_along_axis
from d2s.ops.joining import concat
from d2s.ops.polar_form import as_real
from d2s.ops.products import outer
from d2s.ops.selection import clip
from d2s.ops.shape import swapaxes, transpose

mul, div, floor_mod, clamp = multiply, divide, mod, clip
eq, ne, lt, le, gt, ge = equal, not_equal, less_than, less_equal, greater_than, greater_equal
less, greater = less_than, greater_than
cat = concatenate = concat
swapdims, take_along_dim = swapaxes, take_along_axis
ger = outer


@public(x="input", y="other")
def sub(x: Any, y: Any, name: str | None = None, *, alpha: Any = 1) -> Tensor:
    """``x - alpha * y``; see `subtract`."""
    return subtract(x, y) if alpha == 1 else subtract(x, multiply(y, alpha))


@public()
def true_divide(input: Any, other: Any) -> Tensor:
    """True quotient; see `divide`."""
    return divide(input, other)


@public()
def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last axis; see `as_real`."""
    return as_real(input)


@public()
def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers from their parts along the last axis; see `as_complex`."""
    return as_complex(input)


@public()
def permute(input: Tensor, dims: Any) -> Tensor:
    """The axes in another order; see `transpose`."""
    return transpose(input, dims)


__all__ = [
    "cat", "clamp", "concatenate", "div", "eq", "floor_mod", "ge", "ger", "greater", "gt", "le", "less", "lt", "mul",
    "ne", "permute", "sub", "swapdims", "take_along_dim", "true_divide", "view_as_complex", "view_as_real",
]
