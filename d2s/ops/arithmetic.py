"""Arithmetic of two tensors, which broadcast against each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.errors import ArgumentError, NotSupportedError
from d2s.ops.annotations import Tensor, is_tensor
from d2s.ops.casting import cast
from d2s.ops.comparison import equal, greater_than
from d2s.ops.complex_numbers import conj
from d2s.ops.elementwise import ufunc_op
from d2s.ops.exponential import log, sqrt, square
from d2s.ops.promotion import equal_operands, float_operands, operands, tensor_or_number

add_op = ufunc_op(np.add)
add_op.vjp(lambda g, out, x, y: g, lambda g, out, x, y: g)

subtract_op = ufunc_op(np.subtract)
subtract_op.vjp(lambda g, out, x, y: g, lambda g, out, x, y: -g)

multiply_op = ufunc_op(np.multiply, saves=("x", "y"))
multiply_op.vjp(lambda g, out, x, y: g * conj(y), lambda g, out, x, y: g * conj(x))

divide_op = ufunc_op(np.divide, saves=("y", "out"))
divide_op.vjp(lambda g, out, x, y: g / conj(y), lambda g, out, x, y: -(g * conj(out / y)))

# The floor is flat where it has a derivative.
floor_divide_op = ufunc_op(np.floor_divide)

mod_op = ufunc_op(np.remainder, "mod", saves=("x", "y"))
mod_op.vjp(lambda g, out, x, y: g, lambda g, out, x, y: -(g * bind(floor_divide_op, x, y)))

maximum_op = ufunc_op(np.maximum, saves=("x", "y"))
maximum_op.vjp(lambda g, out, x, y: g * _share(x, y, g), lambda g, out, x, y: g * _share(y, x, g))

minimum_op = ufunc_op(np.minimum, saves=("x", "y"))
minimum_op.vjp(lambda g, out, x, y: g * _share(y, x, g), lambda g, out, x, y: g * _share(x, y, g))

power_op = ufunc_op(np.power, "pow", saves=("x", "y", "out"))
power_op.vjp(
    lambda g, out, x, y: _pow_gradient_of_base(g, x, y),
    lambda g, out, x, y: g * (conj(out) * log(conj(_one_for_zero(x)))),
)

negative_op = ufunc_op(np.negative)
negative_op.vjp(lambda g, out, x: -g)


def _share(larger: Any, smaller: Any, g: Tensor) -> Tensor:
    """1 where the first is larger, 0 where it is smaller, 1/2 where both are equal."""
    return cast(greater_than(larger, smaller), g.dtype) + cast(equal(larger, smaller), g.dtype) * 0.5


def _pow_gradient_of_base(g: Tensor, x: Any, y: Any) -> Tensor:
    if isinstance(y, np.number) and y != 0:
        return g * (conj(pow(x, y - 1)) * conj(y))
    # x ** 0 has slope 0 everywhere: keep 0 * x ** -1 from being NaN at x = 0.
    return g * (conj(pow(x, subtract(_one_for_zero(y), 1))) * conj(y))


def _one_for_zero(x: Any) -> Tensor:
    """`x` with 1 in place of 0, where a factor that is 0 will hide it."""
    return add(x, cast(equal(x, 0), x.dtype))


@public(x="input", y="other")
def add(x: Any, y: Any, name: str | None = None, *, alpha: Any = 1) -> Tensor:
    """
    Sum of two tensors, element by element.

    Parameters
    ----------
    x, y : Tensor, array or number
        Broadcast against each other; dtypes by the table in `d2s.ops.promotion`.
    alpha : number
        Multiplies `y` first.

    Returns
    -------
    Tensor, of the broadcast shape

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    DTypeError
        If an operand is neither a tensor, an array nor a number.
    """
    return bind(add_op, *operands(x, y if alpha == 1 else multiply(y, alpha)))


@public(x="input", y="other")
def subtract(x: Any, y: Any, name: str | None = None, *, alpha: Any = 1) -> Tensor:
    """Difference of two tensors, element by element; see `add`.  Not defined for two bools."""
    return bind(subtract_op, *operands(x, y if alpha == 1 else multiply(y, alpha)))


@public(x="input", y="other")
def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Product of two tensors, element by element; see `add`."""
    return bind(multiply_op, *operands(x, y))


@public(x="input", y="other")
def divide(x: Any, y: Any, name: str | None = None, *, rounding_mode: str | None = None) -> Tensor:
    """
    Quotient of two tensors, element by element; see `add`.

    Parameters
    ----------
    rounding_mode : {None, "trunc", "floor"}
        None: the true quotient; integers give the default dtype.  Else rounded towards zero, or down; integers stay.
    """
    if rounding_mode is None:
        return bind(divide_op, *float_operands(x, y))
    if rounding_mode == "floor":
        return floor_divide(x, y)
    if rounding_mode != "trunc":
        raise ArgumentError(f"rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}")
    x, y = operands(x, y)
    if x.dtype.kind in "fc":
        return bind(divide_op, x, y).trunc()
    # Rounded down, it is one too small where the quotient is negative and there is a remainder.
    down = floor_divide(x, y)
    return add(down, cast(greater_than(0, down) & (mod(x, y) != 0), x.dtype))


@public(x="input", y="other")
def floor_divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Quotient rounded down, as Python's ``//``; see `add`.  Carries no gradient."""
    return bind(floor_divide_op, *operands(x, y))


@public(x="input", y="other")
def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Remainder with the sign of `y`, as Python's ``%``; see `add`."""
    return bind(mod_op, *operands(x, y))


remainder = mod


@public(x="input", y="other")
def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of two elements, NaN if one is NaN; see `add`.  Where both are equal each gets half the gradient."""
    return bind(maximum_op, *equal_operands(x, y))


@public(x="input", y="other")
def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of two elements, NaN if one is NaN; see `add`.  Where both are equal each gets half the gradient."""
    return bind(minimum_op, *equal_operands(x, y))


@public(x="input", y="exponent")
def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """
    `x` to the power of `y`, element by element; see `add`.

    The gradient of ``x ** 0`` is 0, also at 0; that of ``0 ** y`` with respect to `y` is 0.
    """
    x, y = operands(x, y)
    if isinstance(y, np.generic) and x.dtype.kind in "fc":
        # NumPy's own `**` does the same: these are many times faster than power.
        if y == 2:
            return square(x)
        if y == 0.5:
            return sqrt(x)
    return bind(power_op, x, y)


@public()
def negative(x: Tensor, name: str | None = None) -> Tensor:
    """Each element with the other sign."""
    return bind(negative_op, tensor_or_number(x))


neg = negative


@public()
def scale(
    x: Tensor,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """``scale * x + bias``, or ``scale * (x + bias)``, in the dtype of `x`; `act` must be None.

    Of integers the numbers count without what is behind the point: ``scale(x, 1.5, 0.7)`` is `x`.
    """
    if act is not None:
        raise NotSupportedError(f"scale with act={act!r} is not supported: apply it to the result")
    if is_tensor(x) and x.dtype.kind in "iu":
        scale, bias = _whole(scale, x.dtype), _whole(bias, x.dtype)
    if bias == 0:
        result = multiply(x, scale)
    else:
        result = add(multiply(x, scale), bias) if bias_after_scale else multiply(add(x, bias), scale)
    return cast(result, x.dtype)


def _whole(number: Any, dtype: Any) -> Any:
    """A number, or a tensor of one, as integers of `dtype` are multiplied with it."""
    if isinstance(number, float | np.floating):
        return int(number)
    if hasattr(type(number), "__d2s_operand__"):
        number = number.__d2s_operand__("float64")
    return cast(number, dtype) if is_tensor(number) else number


@public()
def lerp(x: Tensor, y: Tensor, weight: Any, name: str | None = None) -> Tensor:
    """``x + weight * (y - x)``: from `x` at weight 0 to `y` at weight 1."""
    return add(x, multiply(weight, subtract(y, x)))


@public()
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """Sum of several tensors of one shape."""
    first, *rest = inputs if isinstance(inputs, list | tuple) else [inputs]
    for other in rest:
        first = add(first, other)
    return first


@public()
def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Add `value` to `x` in place, in its dtype, and return it."""
    return x._assign_version(scale(x, 1, value))
