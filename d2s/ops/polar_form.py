"""Complex numbers by length and direction."""

from __future__ import annotations

from typing import Any

from d2s.core.public import public
from d2s.ops.annotations import Tensor
from d2s.ops.arithmetic import multiply
from d2s.ops.complex_numbers import complex, imag, real
from d2s.ops.creation import zeros_like
from d2s.ops.joining import stack
from d2s.ops.promotion import floating, tensor_or_number
from d2s.ops.trigonometry import atan2, cos, sin


@public()
def angle(x: Any, name: str | None = None) -> Tensor:
    """Direction of each number in the complex plane, between -pi and pi."""
    x = floating(tensor_or_number(x))
    return atan2(imag(x), real(x)) if x.dtype.kind == "c" else atan2(zeros_like(x), x)


@public()
def polar(abs: Tensor, angle: Tensor, name: str | None = None) -> Tensor:
    """Complex numbers of their lengths and directions."""
    return complex(multiply(abs, cos(angle)), multiply(abs, sin(angle)))


@public()
def as_real(x: Tensor, name: str | None = None) -> Tensor:
    """Real and imaginary parts along a new last axis."""
    return stack([real(x), imag(x)], -1)
