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
    closeness,
    comparison,
    complex_numbers,
    creation,
    cumulative,
    diagonals,
    error_function,
    exponential,
    gathering,
    indexing,
    inverses,
    joining,
    logical,
    products,
    rearranging,
    reduction,
    rounding,
    selection,
    shape,
    sorting,
    special,
    statistics,
    trigonometry,
)
from d2s.ops.annotations import Tensor
from d2s.ops.cast_methods import CastMethods
from d2s.ops.derived_methods import DerivedMethods
from d2s.ops.promotion import float_operands, operands

Operands = Callable[[Any, Any], tuple[Any, Any]]


def operator_method(op: Op, symbol: str, reflected: str, prepare: Operands = operands) -> Callable[[Any, Any], Any]:
    """The method of a binary operator; a right operand of an unknown kind may answer by its method `reflected`."""

    def method(self: Tensor, other: Any) -> Any:
        try:
            x, y = prepare(self, other)
        except DTypeError:
            return _left_to(other, reflected, self, symbol)
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


def _left_to(other: Any, reflected: str, tensor: Tensor, symbol: str) -> Any:
    """NotImplemented if `other` may know what to do, else Python's words as an error that names the user's line."""
    own = getattr(type(other), reflected, None)
    # Of the builtin types only sequences know something about other objects: an integer tensor may repeat them.
    may_know = type(other).__module__ != "builtins" or symbol == "*"
    if may_know and own is not None and own is not getattr(object, reflected, None):
        return NotImplemented
    names = f"'{type(tensor).__name__}' and '{type(other).__name__}'"
    if symbol in ("<", "<=", ">", ">="):
        raise DTypeError(f"'{symbol}' not supported between instances of {names}")
    raise DTypeError(f"unsupported operand type(s) for {symbol}: {names}")


def _lacks(use: str, advice: str) -> DTypeError:
    """The error for what Python asks of some objects, and no tensor answers."""
    return DTypeError(f"{use} is not there for tensors", advice=advice)


class TensorMethods(DerivedMethods, CastMethods):
    """What can be done with a tensor, in either mode.  Needs `shape`, `dtype`, `spec` and `_assign_version`."""

    __slots__ = ()

    # NumPy arrays leave `array + tensor` to the tensor.
    __array_ufunc__: Any = None
    __array_priority__ = 100
    # `==` is element by element, so tensors are told apart by identity.
    __hash__ = object.__hash__

    __add__, __radd__ = operator_method(arithmetic.add_op, "+", "__radd__"), reflected_method(arithmetic.add_op)
    __sub__ = operator_method(arithmetic.subtract_op, "-", "__rsub__")
    __rsub__ = reflected_method(arithmetic.subtract_op)
    __mul__ = operator_method(arithmetic.multiply_op, "*", "__rmul__")
    __rmul__ = reflected_method(arithmetic.multiply_op)
    __truediv__ = operator_method(arithmetic.divide_op, "/", "__rtruediv__", float_operands)
    __rtruediv__ = reflected_method(arithmetic.divide_op, float_operands)
    __floordiv__ = operator_method(arithmetic.floor_divide_op, "//", "__rfloordiv__")
    __rfloordiv__ = reflected_method(arithmetic.floor_divide_op)
    __mod__, __rmod__ = operator_method(arithmetic.mod_op, "%", "__rmod__"), reflected_method(arithmetic.mod_op)
    __matmul__ = operator_method(products.matmul_op, "@", "__rmatmul__")
    __rmatmul__ = reflected_method(products.matmul_op)
    __and__ = operator_method(logical.bitwise_and_op, "&", "__rand__")
    __rand__ = reflected_method(logical.bitwise_and_op)
    __or__ = operator_method(logical.bitwise_or_op, "|", "__ror__")
    __ror__ = reflected_method(logical.bitwise_or_op)
    __xor__ = operator_method(logical.bitwise_xor_op, "^", "__rxor__")
    __rxor__ = reflected_method(logical.bitwise_xor_op)
    __lshift__ = operator_method(logical.left_shift_op, "<<", "__rlshift__")
    __rlshift__ = reflected_method(logical.left_shift_op)
    __rshift__ = operator_method(logical.right_shift_op, ">>", "__rrshift__")
    __rrshift__ = reflected_method(logical.right_shift_op)
    __lt__ = operator_method(comparison.less_than_op, "<", "__gt__")
    __le__ = operator_method(comparison.less_equal_op, "<=", "__ge__")
    __gt__ = operator_method(comparison.greater_than_op, ">", "__lt__")
    __ge__ = operator_method(comparison.greater_equal_op, ">=", "__le__")
    # Of things that cannot be compared Python says that they are not equal.
    __eq__, __ne__ = reflected_method(comparison.equal_op), reflected_method(comparison.not_equal_op)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise _lacks("pow(x, y, z)", "Use x ** y % z.")
        try:
            return arithmetic.pow(self, other)
        except DTypeError:
            return _left_to(other, "__rpow__", self, "** or pow()")

    def __rpow__(self, other: Any) -> Any:
        try:
            return arithmetic.pow(other, self)
        except DTypeError:
            return NotImplemented

    def __divmod__(self, other: Any) -> Any:
        raise _lacks("divmod()", "Use x // y and x % y.")

    __rdivmod__ = __divmod__

    def __round__(self, digits: int | None = None) -> Any:
        raise _lacks("round()", "Use x.round(), or round(x.item()) for a Python number.")

    def __trunc__(self) -> Any:
        raise _lacks("math.trunc()", "Use x.trunc(), or int(x) for a Python number.")

    def __delitem__(self, index: Any) -> Any:
        raise _lacks("del x[...]", "Select what is to stay: x[...], masked_select, concat.")

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

    @property
    def T(self: Tensor) -> Any:
        """The axes in reverse order."""
        return bind(shape.transpose_op, self, perm=tuple(reversed(range(self.ndim))))

    # --- functions as methods ---

    add, subtract, multiply, divide = arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.divide
    floor_divide, mod, remainder, pow = arithmetic.floor_divide, arithmetic.mod, arithmetic.mod, arithmetic.pow
    maximum, minimum, neg, scale = arithmetic.maximum, arithmetic.minimum, arithmetic.neg, arithmetic.scale
    lerp, atan2, erf = arithmetic.lerp, trigonometry.atan2, error_function.erf
    erfinv, lgamma, gammaln, digamma = special.erfinv, special.lgamma, special.gammaln, special.digamma
    polygamma, multigammaln, sinc = special.polygamma, special.multigammaln, special.sinc

    equal, not_equal = comparison.equal, comparison.not_equal
    less_than, less_equal = comparison.less_than, comparison.less_equal
    greater_than, greater_equal = comparison.greater_than, comparison.greater_equal
    isnan, isinf, isfinite = comparison.isnan, comparison.isinf, comparison.isfinite
    isclose, allclose, equal_all = closeness.isclose, closeness.allclose, closeness.equal_all
    logical_and, logical_or = logical.logical_and, logical.logical_or
    logical_xor, logical_not = logical.logical_xor, logical.logical_not
    bitwise_and, bitwise_or = logical.bitwise_and, logical.bitwise_or
    bitwise_xor, bitwise_not = logical.bitwise_xor, logical.bitwise_not
    bitwise_invert = logical.bitwise_invert
    bitwise_left_shift, bitwise_right_shift = logical.bitwise_left_shift, logical.bitwise_right_shift

    exp, expm1, log, log1p = exponential.exp, exponential.expm1, exponential.log, exponential.log1p
    log2, log10, square, reciprocal = exponential.log2, exponential.log10, exponential.square, exponential.reciprocal
    sqrt, rsqrt = exponential.sqrt, exponential.rsqrt
    sin, cos, tan, asin = trigonometry.sin, trigonometry.cos, trigonometry.tan, trigonometry.asin
    acos, atan, sinh, cosh = trigonometry.acos, trigonometry.atan, trigonometry.sinh, trigonometry.cosh
    asinh, acosh, atanh = trigonometry.asinh, trigonometry.acosh, trigonometry.atanh
    tanh, sigmoid = activation.tanh, activation.sigmoid
    abs, sign, floor, ceil = rounding.abs, rounding.sign, rounding.floor, rounding.ceil
    round, trunc, frac = rounding.round, rounding.trunc, rounding.frac
    conj, real, imag = complex_numbers.conj, complex_numbers.real, complex_numbers.imag

    sum, mean, prod, logsumexp = reduction.sum, reduction.mean, cumulative.prod, reduction.logsumexp
    max, min, amax, amin = reduction.max, reduction.min, reduction.amax, reduction.amin
    any, all = reduction.any, reduction.all
    cumsum, cumprod = cumulative.cumsum, cumulative.cumprod
    var, std, norm, dist = statistics.var, statistics.std, statistics.norm, statistics.dist
    median, quantile = statistics.median, statistics.quantile
    sort, argsort, topk, kthvalue = sorting.sort, sorting.argsort, sorting.topk, sorting.kthvalue
    argmax, argmin, unique, bincount = sorting.argmax, sorting.argmin, sorting.unique, sorting.bincount

    matmul, mm, bmm, mv = products.matmul, products.mm, products.bmm, products.mv
    dot, outer, addmm = products.dot, products.outer, products.addmm
    inverse, cholesky, det = inverses.inverse, inverses.cholesky, inverses.det

    reshape, flatten, squeeze, unsqueeze = shape.reshape, shape.flatten, shape.squeeze, shape.unsqueeze
    transpose, t, moveaxis, swapaxes = shape.transpose, shape.t, shape.moveaxis, shape.swapaxes
    broadcast_to, expand, expand_as = shape.broadcast_to, shape.expand, shape.expand_as
    split, chunk, unbind = joining.split, joining.chunk, joining.unbind
    tile, flip, roll, rot90 = rearranging.tile, rearranging.flip, rearranging.roll, rearranging.rot90
    repeat_interleave, pad = rearranging.repeat_interleave, rearranging.pad
    tril, triu, diag = diagonals.tril, diagonals.triu, diagonals.diag
    diagonal, trace = diagonals.diagonal, diagonals.trace

    clip, where, nonzero = selection.clip, selection.where, selection.nonzero
    masked_fill, masked_select = selection.masked_fill, selection.masked_select
    gather, gather_nd, index_select = gathering.gather, gathering.gather_nd, gathering.index_select
    scatter, scatter_nd_add, index_add = gathering.scatter, gathering.scatter_nd_add, gathering.index_add
    take_along_axis, put_along_axis = gathering.take_along_axis, gathering.put_along_axis

    cast = astype = casting.cast
    clone = creation.clone
