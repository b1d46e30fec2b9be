"""Ops that are one NumPy ufunc, element by element; and what is known of the results of such ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.op import Op, define_op
from d2s.core.spec import DType, TensorSpec, broadcast_shapes
from d2s.errors import DTypeError
from d2s.ops.annotations import Array


def ufunc_op(ufunc: np.ufunc, name: str | None = None, saves: Sequence[str] = (), kinds: str | None = None) -> Op:
    """Enter a ufunc of one argument (``x``) or two (``x, y``) into the op table.

    Shape and dtype of the result are those that NumPy gives; `kinds` of dtype can be less than NumPy takes.
    """
    name = name or ufunc.__name__
    if ufunc.nin == 1:

        def unary(x: Array) -> Any:
            return ufunc(x)

        forward: Callable[..., Any] = unary
    else:

        def binary(x: Array, y: Array) -> Any:
            return ufunc(x, y)

        forward = binary
    arguments = ", ".join(f"{{{index}}}" for index in range(ufunc.nin))
    enter = define_op(
        name, infer=broadcast(ufunc, name, kinds), saves=saves, kinds=kinds,
        template=f"np.{ufunc.__name__}({arguments})", out="in place")
    op = enter(forward)
    # The functions above only give names to the parameters: call the ufunc itself, it is one frame less.
    op.forward = ufunc
    return op


def broadcast(ufunc: np.ufunc, name: str, kinds: str | None = None) -> Callable[..., TensorSpec]:
    """The `infer` of a ufunc."""

    def infer(*specs: TensorSpec) -> TensorSpec:
        dtype = ufunc_dtype(ufunc, name, *specs)
        if kinds is not None and dtype.kind not in kinds:
            raise DTypeError(f"{name} is not defined for {dtype.name}")
        return TensorSpec(broadcast_shapes(*[spec.shape for spec in specs], what=f"operands of {name}"), dtype)

    return infer


def ufunc_dtype(ufunc: np.ufunc, name: str, *specs: TensorSpec) -> DType:
    """dtype of the result of a ufunc.

    Raises
    ------
    DTypeError
        If the ufunc is not defined for the dtypes of its inputs.
    """
    try:
        return ufunc.resolve_dtypes((*[spec.dtype for spec in specs], None))[-1]
    except TypeError:
        kinds = " and ".join(spec.dtype.name for spec in specs)
        raise DTypeError(f"{name} is not defined for {kinds}") from None


def require_floating(name: str, kinds: str = "fc") -> Callable[..., TensorSpec]:
    """The `infer` of a function of real (or also complex) numbers that keeps shape and dtype, whatever its attributes.

    Parameters
    ----------
    kinds : {"fc", "f"}
        Also complex numbers, or not.
    """

    def infer(x: TensorSpec, **attrs: Any) -> TensorSpec:
        if x.dtype.kind not in kinds:
            raise DTypeError(f"{name} is defined for floating point tensors, got {x.dtype.name}")
        return x

    return infer
