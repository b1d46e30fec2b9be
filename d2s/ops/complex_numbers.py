"""Parts of complex tensors.  Gradients follow Paddle: the steepest ascent, so rules conjugate their factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors, no_tensor
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import DType, TensorSpec, broadcast_shapes
from d2s.errors import DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.elementwise import ufunc_op

conj_op = ufunc_op(np.conjugate, "conj")


def real_dtype(dtype: DType) -> DType:
    """dtype of the parts of complex numbers; any other is its own."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _real_spec(x: TensorSpec) -> TensorSpec:
    return TensorSpec(x.shape, real_dtype(x.dtype))


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


def _infer_complex(real: TensorSpec, imag: TensorSpec) -> TensorSpec:
    if real.dtype != imag.dtype or real.dtype.name not in ("float32", "float64"):
        raise DTypeError(f"complex needs two parts of float32 or float64, got {real.dtype.name} and {imag.dtype.name}")
    shape = broadcast_shapes(real.shape, imag.shape, what="the parts of complex")
    return TensorSpec(shape, np.dtype(f"c{2 * real.dtype.itemsize}"))


@define_op("complex", infer=_infer_complex, kinds="")
def complex_op(real: Array, imag: Array) -> Array:
    """Complex numbers of their parts."""
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), f"c{2 * real.dtype.itemsize}")
    result.real, result.imag = real, imag
    return result


complex_op.vjp(lambda g, out, real, imag: _real_part(g), lambda g, out, real, imag: _imaginary_part(g))


def _real_part(x: Tensor) -> Tensor:
    return bind(real_op, x)


def _imaginary_part(x: Tensor) -> Tensor:
    return bind(imag_op, x)


@public()
def complex(real: Tensor, imag: Tensor, name: str | None = None) -> Tensor:
    """Complex numbers of their real and imaginary parts, which broadcast."""
    return bind(complex_op, real, imag)


@public()
def as_complex(x: Tensor, name: str | None = None) -> Tensor:
    """The pairs of numbers along the last axis, of size 2, as complex numbers."""
    need_tensors(x)
    if not x.ndim or x.spec.shape[-1] != 2:
        raise ShapeError(f"as_complex needs a last axis of size 2, got shape {x.shape}")
    return bind(complex_op, x[..., 0], x[..., 1])


@public()
def conj(x: Any, name: str | None = None) -> Any:
    """Complex conjugate; a real tensor is returned as it is."""
    try:
        is_complex = x.dtype.kind == "c"
    except AttributeError:
        raise no_tensor(x) from None
    return bind(conj_op, x) if is_complex else x


conj_op.vjp(lambda g, out, x: conj(g))


@public()
def real(x: Tensor, name: str | None = None) -> Tensor:
    """Real part of each element; the dtype is that of the parts."""
    return bind(real_op, x)


@public()
def imag(x: Tensor, name: str | None = None) -> Tensor:
    """Imaginary part of each element; the dtype is that of the parts."""
    return bind(imag_op, x)
