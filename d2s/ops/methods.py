"""The methods of tensors: one surface, inherited by the eager Tensor and the static Variable.

Most methods *are* the public functions, so ``x.exp()`` and ``exp(x)`` cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from d2s.core.interpreter import bind
from d2s.core.op import Op
from d2s.errors import DTypeError
from d2s.ops import (
    activation,
    arithmetic,
    casting,
    comparison,
    complex_numbers,
    creation,
    exponential,
    gathering,
    indexing,
    joining,
    logical,
    products,
    reduction,
    rounding,
    selection,
    shape,
)
from d2s.ops.annotations import Tensor
from d2s.ops.promotion import float_operands, operands

Operands = Callable[[Any, Any], tuple[Any, Any]]


def operator_method(op: Op, prepare: Operands = operands) -> Callable[[Any, Any], Any]:
    """The method of a binary operator; operands of unknown kinds are left to the other one."""

    def method(self: Tensor, other: Any) -> Any:
        try:
            x, y = prepare(self, other)
        except DTypeError:
            return NotImplemented
        return bind(op, x, y)

    return method


def reflected_method(op: Op, prepare: Operands = operands) -> Callable[[Any, Any], Any]:
    """The method of a binary operator whose left operand is no tensor."""

    def method(self: Tensor, other: Any) -> Any:
        try:
            x, y = prepare(other, self)
        except DTypeError:
            return NotImplemented
        return bind(op, x, y)

    return method


def inplace_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that makes the tensor name the result of `function` on it."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return self._assign_version(function(self, *args, **kwargs))

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"`{function.__name__}` in place: the tensor becomes the result, and is returned."
    return method


class TensorMethods:
    """What can be done with a tensor, in either mode.  Needs `shape`, `dtype`, `spec` and `_assign_version`."""

    __slots__ = ()

    # NumPy arrays leave `array + tensor` to the tensor.
    __array_ufunc__ = None
    __array_priority__ = 100
    # `==` is element by element, so tensors are told apart by identity.
    __hash__ = object.__hash__

    __add__, __radd__ = operator_method(arithmetic.add_op), reflected_method(arithmetic.add_op)
    __sub__, __rsub__ = operator_method(arithmetic.subtract_op), reflected_method(arithmetic.subtract_op)
    __mul__, __rmul__ = operator_method(arithmetic.multiply_op), reflected_method(arithmetic.multiply_op)
    __truediv__ = operator_method(arithmetic.divide_op, float_operands)
    __rtruediv__ = reflected_method(arithmetic.divide_op, float_operands)
    __floordiv__ = operator_method(arithmetic.floor_divide_op)
    __rfloordiv__ = reflected_method(arithmetic.floor_divide_op)
    __mod__, __rmod__ = operator_method(arithmetic.mod_op), reflected_method(arithmetic.mod_op)
    __matmul__, __rmatmul__ = operator_method(products.matmul_op), reflected_method(products.matmul_op)
    __and__, __rand__ = operator_method(logical.bitwise_and_op), reflected_method(logical.bitwise_and_op)
    __or__, __ror__ = operator_method(logical.bitwise_or_op), reflected_method(logical.bitwise_or_op)
    __xor__, __rxor__ = operator_method(logical.bitwise_xor_op), reflected_method(logical.bitwise_xor_op)
    __lt__, __le__ = operator_method(comparison.less_than_op), operator_method(comparison.less_equal_op)
    __gt__, __ge__ = operator_method(comparison.greater_than_op), operator_method(comparison.greater_equal_op)
    __eq__ = operator_method(comparison.equal_op)  # type: ignore[assignment]
    __ne__ = operator_method(comparison.not_equal_op)  # type: ignore[assignment]

    def __pow__(self, other: Any) -> Any:
        try:
            return arithmetic.pow(self, other)
        except DTypeError:
            return NotImplemented

    def __rpow__(self, other: Any) -> Any:
        try:
            return arithmetic.pow(other, self)
        except DTypeError:
            return NotImplemented

    def __neg__(self) -> Any:
        return bind(arithmetic.negative_op, self)

    def __pos__(self) -> Any:
        return self

    __abs__ = rounding.abs
    __invert__ = logical.bitwise_not
    __getitem__ = indexing.getitem

    def __setitem__(self: Tensor, index: Any, value: Any) -> None:
        self._assign_version(indexing.with_item(self, index, value))

    def __iter__(self: Tensor) -> Iterator[Any]:
        if not self.ndim:
            raise DTypeError("a 0-d tensor cannot be iterated over")
        return (self[row] for row in range(len(self)))

    # --- what it is ---

    @property
    def ndim(self: Tensor) -> int:
        """Number of axes."""
        return len(self.spec.shape)

    def dim(self) -> int:
        """Number of axes."""
        return self.ndim

    ndimension = dim

    @property
    def size(self: Tensor) -> Any:
        """Number of elements."""
        total = 1
        for size in self.shape:
            total = total * size
        return total

    def numel(self) -> Any:
        """Number of elements."""
        return self.size

    @property
    def T(self: Tensor) -> Any:  # noqa: N802 -- the field's name
        """The axes in reverse order."""
        return bind(shape.transpose_op, self, perm=tuple(reversed(range(self.ndim))))

    # --- functions as methods ---

    add, subtract, multiply, divide = arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.divide
    floor_divide, mod, remainder, pow = arithmetic.floor_divide, arithmetic.mod, arithmetic.mod, arithmetic.pow
    maximum, minimum, neg = arithmetic.maximum, arithmetic.minimum, arithmetic.neg
    equal, not_equal = comparison.equal, comparison.not_equal
    less_than, less_equal = comparison.less_than, comparison.less_equal
    greater_than, greater_equal = comparison.greater_than, comparison.greater_equal
    isnan, isinf, isfinite = comparison.isnan, comparison.isinf, comparison.isfinite
    logical_and, logical_or = logical.logical_and, logical.logical_or
    logical_xor, logical_not = logical.logical_xor, logical.logical_not
    exp, expm1, log, log1p, log2, log10 = (
        exponential.exp, exponential.expm1, exponential.log, exponential.log1p, exponential.log2, exponential.log10
    )
    sqrt, rsqrt, square, reciprocal = exponential.sqrt, exponential.rsqrt, exponential.square, exponential.reciprocal
    abs, sign, floor, ceil, round, trunc = (
        rounding.abs, rounding.sign, rounding.floor, rounding.ceil, rounding.round, rounding.trunc
    )
    tanh, sigmoid = activation.tanh, activation.sigmoid
    conj, real, imag = complex_numbers.conj, complex_numbers.real, complex_numbers.imag
    sum, mean, max, min, amax, amin = (
        reduction.sum, reduction.mean, reduction.max, reduction.min, reduction.max, reduction.min
    )
    logsumexp, any, all = reduction.logsumexp, reduction.any, reduction.all
    matmul, mm, bmm, mv, dot = products.matmul, products.mm, products.bmm, products.mv, products.dot
    reshape, flatten, squeeze, unsqueeze = shape.reshape, shape.flatten, shape.squeeze, shape.unsqueeze
    transpose, t, moveaxis = shape.transpose, shape.t, shape.moveaxis
    broadcast_to, expand, expand_as = shape.broadcast_to, shape.expand, shape.expand_as
    split, chunk, unbind = joining.split, joining.chunk, joining.unbind
    cast = astype = casting.cast
    clip, masked_fill, masked_select = selection.clip, selection.masked_fill, selection.masked_select
    nonzero, take_along_axis = selection.nonzero, gathering.take_along_axis
    clone = creation.clone

    # --- in place: the tensor becomes the result ---

    add_, subtract_ = inplace_method(arithmetic.add), inplace_method(arithmetic.subtract)
    multiply_, divide_ = inplace_method(arithmetic.multiply), inplace_method(arithmetic.divide)
    exp_, sqrt_, clip_ = (
        inplace_method(exponential.exp), inplace_method(exponential.sqrt), inplace_method(selection.clip)
    )
    tanh_, sigmoid_, relu_ = (
        inplace_method(activation.tanh), inplace_method(activation.sigmoid), inplace_method(activation.relu)
    )
    reshape_, squeeze_ = inplace_method(shape.reshape), inplace_method(shape.squeeze)
    unsqueeze_, flatten_ = inplace_method(shape.unsqueeze), inplace_method(shape.flatten)
    fill_, zero_ = inplace_method(creation.full_like), inplace_method(creation.zeros_like)
