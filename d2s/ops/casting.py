"""Copies, and change of dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import no_tensor
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import DType, TensorSpec, as_dtype, check_fits, check_same_shape, spec_of
from d2s.ops.annotations import Array, Tensor


@define_op("assign", infer=lambda x: x)
def assign_op(x: Array) -> Array:
    """A copy."""
    return np.array(x)


assign_op.vjp(lambda g, out, x: g)


@define_op("cast", infer=lambda x, *, dtype: TensorSpec(x.shape, dtype))
def cast_op(x: Array, *, dtype: DType) -> Array:
    """The same values in another dtype."""
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype, copy=False)


cast_op.vjp(lambda g, out, x, *, dtype: g.cast(x.dtype) if x.dtype.kind in "fc" and dtype.kind in "fc" else None)


@public()
def cast(x: Tensor, dtype: Any) -> Tensor:
    """
    The values of `x` in another dtype.

    Floats are cut towards zero when they become integers; a complex number loses its imaginary part.

    Parameters
    ----------
    x : Tensor
    dtype : dtype, str or type

    Returns
    -------
    Tensor, of the shape of `x`
        `x` itself if it has that dtype already.

    Raises
    ------
    DTypeError
        If `dtype` names no dtype that tensors can have.
    """
    wanted = as_dtype(dtype)
    try:
        is_other = isinstance(x, np.ndarray | np.generic) or x.dtype != wanted
    except AttributeError:
        raise no_tensor(x) from None
    if is_other:
        return bind(cast_op, x, dtype=wanted)
    return x


def _infer_fit(value: TensorSpec, into: TensorSpec, *, whole: bool) -> TensorSpec:
    if not whole:
        check_fits(into, value)
        return value
    check_same_shape(into, value)
    return TensorSpec(tuple(
        new if isinstance(new, int) else old for new, old in zip(value.shape, into.shape, strict=True)), value.dtype)


@define_op("fit", infer=_infer_fit)
def fit_op(value: Array, into: Array, *, whole: bool) -> Array:
    """What is written in place to `into`, where only the run knows whether it fits."""
    (check_same_shape if whole else check_fits)(spec_of(into), spec_of(value))
    return value


fit_op.vjp(lambda g, out, value, into, *, whole: g, None)
