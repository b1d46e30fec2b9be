"""The methods of tensors that are made of others, and the writes in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from d2s.core.arrays import no_tensor
from d2s.core.interpreter import TensorBase, bind
from d2s.core.public import acts_for, public, sizes_one_by_one
from d2s.core.spec import as_dtype
from d2s.device import check_device
from d2s.errors import DTypeError
from d2s.ops import (
    activation,
    arithmetic,
    arranging,
    casting,
    complex_numbers,
    creation,
    cumulative,
    decompositions,
    diagonals,
    error_function,
    exponential,
    gathering,
    indexing,
    inverses,
    joining,
    logical,
    logits,
    matrices,
    nan_reductions,
    other_names,
    pairs,
    picking,
    polar_form,
    products,
    queries,
    random,
    rearranging,
    rounding,
    selection,
    shape,
    sorting,
    special,
    statistics,
    trigonometry,
)
from d2s.ops.annotations import Tensor
from d2s.ops.comparison import equal, greater_equal, greater_than, less_equal, less_than, not_equal
from d2s.ops.promotion import value_in


def in_place(function: Callable[..., Any], of_a_copy: bool = False) -> Callable[..., Any]:
    """A method that makes the tensor name the result of `function` on it.

    `of_a_copy` is for functions of which several ops read the tensor in their gradients: a write is allowed behind the
    last op only.
    """

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, TensorBase):
            tensor: Any = self
            return tensor._assign_version(function(creation.assign(self) if of_a_copy else self, *args, **kwargs))
        raise no_tensor(self)

    method.__name__ = method.__qualname__ = in_place_name(function)
    method.__doc__ = f"`{function.__name__}` in place: the tensor becomes the result, and is returned."
    method.__wrapped__ = function  # type: ignore[attr-defined]
    acts_for(method, _in_place_call)
    return method


def in_place_name(function: Callable[..., Any]) -> str:
    """What `function` is called as a method that writes in place."""
    return f"{function.__name__.removesuffix('_like')}_"


def _in_place_call(names: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    """What a method of `in_place` does, from its variables."""
    return in_place_name(names["function"]), (names["self"], *names["args"], *names["kwargs"].values())


@public()
def _fill_diagonal(x: Tensor, value: Any, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """`x` with `value` on a diagonal."""
    ones = creation.ones_like(diagonals.diagonal(x, offset))
    mask = bind(diagonals.onto_diagonal_op, ones, shape=tuple(x.shape), offset=offset)
    return selection.where(not_equal(mask, 0), value_in(value, x.dtype), x)


@public()
def _copy(x: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """`other` in the shape and dtype of `x`."""
    return indexing.with_item(x, ..., other)


@public()
def _fill(x: Tensor, value: Any) -> Tensor:
    """A number everywhere."""
    return creation.full_like(x, value)


@public()
def _zero(x: Tensor) -> Tensor:
    """Zeros."""
    return creation.zeros_like(x)


_copy.__name__, _fill.__name__, _zero.__name__ = "copy", "fill", "zero"
_fill_diagonal.__name__ = "fill_diagonal"


class DerivedMethods:
    """Part of `TensorMethods`."""

    __slots__ = ()

    @property
    def mT(self: Tensor) -> Any:
        """The last two axes exchanged."""
        return matrices.matrix_transpose(self)

    @property
    def itemsize(self: Tensor) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def persistable(self) -> bool:
        """False; True of a Parameter."""
        return False

    def element_size(self: Tensor) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    def is_contiguous(self) -> bool:
        """True: what the memory looks like cannot be seen."""
        return True

    def contiguous(self) -> Any:
        """The tensor itself."""
        return self

    @public()
    def permute(self: Tensor, *dims: Any) -> Any:
        """The axes in another order: ``x.permute(1, 0)`` or ``x.permute([1, 0])``."""
        return shape.transpose(self, dims[0] if len(dims) == 1 else dims)

    true_divide = other_names.true_divide

    def cpu(self) -> Any:
        """The tensor itself: it is on the CPU."""
        return self

    def cuda(self, device_id: Any = None, blocking: bool = True) -> Any:
        """Always an error: there is only the CPU."""
        return check_device("gpu")

    @public()
    def type_as(self: Tensor, other: Tensor) -> Any:
        """The elements as those of `other`."""
        if not queries.is_tensor(other):
            raise DTypeError(f"type_as, a cast, needs a tensor, got {type(other).__name__}")
        return casting.cast(self, other.dtype)

    @public()
    def to(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        """The tensor with another dtype: ``x.to("float64")``, ``x.to(other)``; a device must be the CPU."""
        for value in (*args, *kwargs.values()):
            if value is None or isinstance(value, bool):
                continue
            if queries.is_tensor(value):
                return casting.cast(self, value.dtype)
            if "cpu" in str(value) or "gpu" in str(value) or "Place" in str(value):
                check_device(value)
            else:
                return casting.cast(self, as_dtype(value))
        return self

    @public()
    def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        """A tensor of this dtype, filled with a number."""
        return creation.full(size, fill_value, self.dtype if dtype is None else dtype)

    @sizes_one_by_one(1)
    @public()
    def new_zeros(self: Tensor, size: Any, *, dtype: Any = None) -> Any:
        """Zeros of this dtype."""
        return creation.zeros(size, self.dtype if dtype is None else dtype)

    @sizes_one_by_one(1)
    @public()
    def new_ones(self: Tensor, size: Any, *, dtype: Any = None) -> Any:
        """Ones of this dtype."""
        return creation.ones(size, self.dtype if dtype is None else dtype)

    @sizes_one_by_one(1)
    @public()
    def new_empty(self: Tensor, size: Any, *, dtype: Any = None) -> Any:
        """A tensor of this dtype whose values will be written later."""
        return creation.empty(size, self.dtype if dtype is None else dtype)

    # --- functions as methods ---

    sub, mul, div = other_names.sub, arithmetic.multiply, arithmetic.divide
    ger = other_names.ger
    view_as_real, view_as_complex = other_names.view_as_real, other_names.view_as_complex
    floor_mod, negative = arithmetic.mod, arithmetic.negative
    eq, ne, lt, le, gt, ge = equal, not_equal, less_than, less_equal, greater_than, greater_equal
    less, greater, bitwise_invert = less_than, greater_than, logical.bitwise_not
    fmax, fmin, hypot = pairs.fmax, pairs.fmin, pairs.hypot
    logaddexp, logcumsumexp, mode = pairs.logaddexp, pairs.logcumsumexp, sorting.mode
    heaviside, copysign, signbit, sgn = pairs.heaviside, pairs.copysign, pairs.signbit, pairs.sgn
    gcd, lcm, ldexp, stanh = pairs.gcd, pairs.lcm, pairs.ldexp, pairs.stanh
    deg2rad, rad2deg, isreal = pairs.deg2rad, pairs.rad2deg, pairs.isreal
    isposinf, isneginf = pairs.isposinf, pairs.isneginf
    angle, as_real, as_complex = polar_form.angle, polar_form.as_real, complex_numbers.as_complex
    clamp, nan_to_num, logit = selection.clip, selection.nan_to_num, activation.logit
    softmax, multinomial, add_n = logits.softmax, random.multinomial, arithmetic.add_n

    nansum, nanmean, count_nonzero = nan_reductions.nansum, nan_reductions.nanmean, nan_reductions.count_nonzero
    nanmedian, nanquantile = statistics.nanmedian, statistics.nanquantile
    cummax, cummin, diff = nan_reductions.cummax, nan_reductions.cummin, rearranging.diff

    ravel, view, view_as, unflatten = arranging.ravel, arranging.view, arranging.view_as, arranging.unflatten
    swapdims, concat, stack = shape.swapaxes, joining.concat, joining.stack
    tensor_split, hsplit = arranging.tensor_split, arranging.hsplit
    vsplit, dsplit, unstack = arranging.vsplit, arranging.dsplit, arranging.unstack
    atleast_1d, atleast_2d, atleast_3d = arranging.atleast_1d, arranging.atleast_2d, arranging.atleast_3d
    broadcast_tensors, broadcast_shape = arranging.broadcast_tensors, arranging.broadcast_shape
    diagflat, diag_embed, strided_slice = diagonals.diagflat, diagonals.diag_embed, indexing.strided_slice
    slice, narrow, increment = picking.slice_, picking.narrow, arithmetic.increment

    argwhere, msort, take, isin = picking.argwhere, picking.msort, picking.take, picking.isin
    index_sample, index_fill, index_put = picking.index_sample, picking.index_fill, picking.index_put
    masked_scatter, select_scatter = picking.masked_scatter, picking.select_scatter
    unique_consecutive, multiplex = picking.unique_consecutive, picking.multiplex
    histogram, bucketize, scatter_nd = picking.histogram, sorting.bucketize, gathering.scatter_nd
    take_along_dim = gathering.take_along_axis

    inner, kron, tensordot, cross = matrices.inner, matrices.kron, matrices.tensordot, matrices.cross
    vecdot, matrix_transpose, multi_dot = matrices.vecdot, matrices.matrix_transpose, matrices.multi_dot
    baddbmm, cdist, cov, corrcoef = matrices.baddbmm, matrices.cdist, matrices.cov, matrices.corrcoef
    vander, trapezoid, pinv, cond = matrices.vander, matrices.trapezoid, matrices.pinv, matrices.cond
    cholesky_solve, eigvalsh, rank = matrices.cholesky_solve, matrices.eigvalsh, queries.rank
    matrix_power, slogdet, solve, qr = inverses.matrix_power, inverses.slogdet, inverses.solve, decompositions.qr
    is_complex, is_floating_point, is_integer = queries.is_complex, queries.is_floating_point, queries.is_integer
    is_tensor, is_empty, numel = queries.is_tensor, queries.is_empty, queries.numel

    # --- in place: the tensor becomes the result ---

    add_, subtract_, sub_ = in_place(arithmetic.add), in_place(arithmetic.subtract), in_place(arithmetic.subtract)
    multiply_, mul_ = in_place(arithmetic.multiply), in_place(arithmetic.multiply)
    divide_, div_ = in_place(arithmetic.divide), in_place(arithmetic.divide)
    floor_divide_, mod_ = in_place(arithmetic.floor_divide), in_place(arithmetic.mod)
    remainder_, floor_mod_ = in_place(arithmetic.mod), in_place(arithmetic.mod)
    pow_, scale_, neg_ = in_place(arithmetic.pow), in_place(arithmetic.scale), in_place(arithmetic.neg)
    lerp_, clip_, clamp_ = in_place(arithmetic.lerp), in_place(selection.clip), in_place(selection.clip)
    nan_to_num_, logit_ = in_place(selection.nan_to_num), in_place(activation.logit, True)
    exp_, expm1_, log_ = in_place(exponential.exp), in_place(exponential.expm1), in_place(exponential.log)
    log2_, log10_, log1p_ = in_place(exponential.log2), in_place(exponential.log10), in_place(exponential.log1p)
    sqrt_, rsqrt_ = in_place(exponential.sqrt), in_place(exponential.rsqrt)
    reciprocal_, square_ = in_place(exponential.reciprocal), in_place(exponential.square)
    abs_, round_, floor_ = in_place(rounding.abs), in_place(rounding.round), in_place(rounding.floor)
    ceil_, trunc_, frac_ = in_place(rounding.ceil), in_place(rounding.trunc), in_place(rounding.frac)
    sin_, cos_, tan_ = in_place(trigonometry.sin), in_place(trigonometry.cos), in_place(trigonometry.tan)
    asin_, acos_, atan_ = in_place(trigonometry.asin), in_place(trigonometry.acos), in_place(trigonometry.atan)
    sinh_, cosh_, asinh_ = in_place(trigonometry.sinh), in_place(trigonometry.cosh), in_place(trigonometry.asinh)
    acosh_, atanh_, erf_ = in_place(trigonometry.acosh), in_place(trigonometry.atanh), in_place(error_function.erf)
    tanh_, sigmoid_, relu_ = in_place(activation.tanh), in_place(activation.sigmoid), in_place(activation.relu)
    erfinv_, lgamma_, gammaln_ = in_place(special.erfinv), in_place(special.lgamma), in_place(special.gammaln)
    digamma_, polygamma_ = in_place(special.digamma), in_place(special.polygamma)
    multigammaln_, sinc_ = in_place(special.multigammaln), in_place(special.sinc)
    hypot_, ldexp_ = in_place(pairs.hypot, True), in_place(pairs.ldexp)
    copysign_ = in_place(pairs.copysign, True)
    gcd_, lcm_ = in_place(pairs.gcd), in_place(pairs.lcm)
    bitwise_and_, bitwise_or_ = in_place(logical.bitwise_and), in_place(logical.bitwise_or)
    bitwise_invert_ = in_place(logical.bitwise_invert)
    bitwise_left_shift_, bitwise_right_shift_ = (
        in_place(logical.bitwise_left_shift), in_place(logical.bitwise_right_shift))
    bitwise_xor_, bitwise_not_ = in_place(logical.bitwise_xor), in_place(logical.bitwise_not)
    logical_and_, logical_or_ = in_place(logical.logical_and), in_place(logical.logical_or)
    logical_xor_, logical_not_ = in_place(logical.logical_xor), in_place(logical.logical_not)
    cumsum_, cumprod_ = in_place(cumulative.cumsum), in_place(cumulative.cumprod)
    addmm_, baddbmm_ = in_place(products.addmm), in_place(matrices.baddbmm)
    reshape_, flatten_, view_ = in_place(shape.reshape), in_place(shape.flatten), in_place(shape.reshape)
    squeeze_, unsqueeze_ = in_place(shape.squeeze), in_place(shape.unsqueeze)
    transpose_, t_ = in_place(shape.transpose), in_place(shape.t)
    tril_, triu_, fill_diagonal_ = in_place(diagonals.tril), in_place(diagonals.triu), in_place(_fill_diagonal)
    fill_, zero_, copy_ = in_place(_fill), in_place(_zero), in_place(_copy)
    masked_fill_, masked_scatter_ = in_place(selection.masked_fill), in_place(picking.masked_scatter)
    scatter_, put_along_axis_ = in_place(gathering.scatter), in_place(gathering.put_along_axis)
    index_add_, index_fill_ = in_place(gathering.index_add), in_place(picking.index_fill)
    index_put_ = in_place(picking.index_put)
    normal_, uniform_ = in_place(random.normal_like), in_place(random.uniform_like)
    bernoulli_, exponential_ = in_place(random.bernoulli_like), in_place(random.exponential_like)
