"""Parts of complex tensors.  Gradients follow Paddle: the steepest ascent, so rules conjugate their factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.spec import DType, TensorSpec
from d2s.ops.annotations import Array, Tensor
from d2s.ops.elementwise import ufunc_op

conj_op = ufunc_op(np.conjugate, "conj")
conj_op.vjp(lambda g, out, x: conj(g))


def _real_dtype(dtype: DType) -> DType:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _real_spec(x: TensorSpec) -> TensorSpec:
    return TensorSpec(x.shape, _real_dtype(x.dtype))


@define_op("real", infer=_real_spec)
def real_op(x: Array) -> Array:
    """Real part."""
    return np.real(x)


real_op.vjp(lambda g, out, x: g.cast(x.dtype))


@define_op("imag", infer=_real_spec)
def imag_op(x: Array) -> Array:
    """Imaginary part; zero for real tensors."""
    return np.imag(x)


imag_op.vjp(lambda g, out, x: g * 1j if x.dtype.kind == "c" else None)


def conj(x: Any, name: str | None = None) -> Any:
    """Complex conjugate; a real tensor is returned as it is."""
    return bind(conj_op, x) if x.dtype.kind == "c" else x


def real(x: Tensor, name: str | None = None) -> Tensor:
    """Real part of each element; the dtype is that of the parts."""
    return bind(real_op, x)


def imag(x: Tensor, name: str | None = None) -> Tensor:
    """Imaginary part of each element; the dtype is that of the parts."""
    return bind(imag_op, x)
