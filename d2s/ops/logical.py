"""Logic on truth values (`logical_*`) and on the bits of integers (`bitwise_*`); neither carries a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.ops.annotations import Tensor
from d2s.ops.casting import cast
from d2s.ops.elementwise import ufunc_op
from d2s.ops.promotion import operands, tensor_or_number

logical_and_op = ufunc_op(np.logical_and)
logical_or_op = ufunc_op(np.logical_or)
logical_xor_op = ufunc_op(np.logical_xor)
logical_not_op = ufunc_op(np.logical_not)
bitwise_and_op = ufunc_op(np.bitwise_and)
bitwise_or_op = ufunc_op(np.bitwise_or)
bitwise_xor_op = ufunc_op(np.bitwise_xor)
bitwise_not_op = ufunc_op(np.invert, "bitwise_not")
left_shift_op = ufunc_op(np.left_shift)
right_shift_op = ufunc_op(np.right_shift)


@public(x="input", y="other")
def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where both elements are true (not zero)."""
    return bind(logical_and_op, *operands(x, y))


@public(x="input", y="other")
def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where at least one element is true (not zero)."""
    return bind(logical_or_op, *operands(x, y))


@public(x="input", y="other")
def logical_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where exactly one element is true (not zero)."""
    return bind(logical_xor_op, *operands(x, y))


@public(x="input")
def logical_not(x: Tensor, name: str | None = None) -> Tensor:
    """Where the element is false (zero)."""
    return bind(logical_not_op, tensor_or_number(x, "the input of logical_not"))


@public()
def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bits set in both integers; on bools, logical and."""
    return bind(bitwise_and_op, *operands(x, y))


@public(x="input", y="other")
def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bits set in at least one integer; on bools, logical or."""
    return bind(bitwise_or_op, *operands(x, y))


@public()
def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bits set in exactly one integer; on bools, logical xor."""
    return bind(bitwise_xor_op, *operands(x, y))


@public()
def bitwise_not(x: Tensor, name: str | None = None) -> Tensor:
    """All bits flipped; on bools, logical not."""
    return bind(bitwise_not_op, tensor_or_number(x, "the input of bitwise_not"))


bitwise_invert = bitwise_not


@public()
def bitwise_left_shift(x: Any, y: Any, is_arithmetic: bool = True, name: str | None = None) -> Tensor:
    """The bits of each integer moved up by `y` places; with or without a sign it is the same."""
    return bind(left_shift_op, *operands(x, y))


@public()
def bitwise_right_shift(x: Any, y: Any, is_arithmetic: bool = True, name: str | None = None) -> Tensor:
    """The bits of each integer moved down by `y` places; if not `is_arithmetic`, the sign moves too."""
    x, y = operands(x, y)
    if is_arithmetic or x.dtype.kind != "i":
        return bind(right_shift_op, x, y)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return cast(bind(right_shift_op, cast(x, unsigned), cast(y, unsigned)), x.dtype)
