"""Whether tensors are equal, or nearly so: bool tensors without gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import TensorSpec, broadcast_shapes
from d2s.ops.annotations import Array, Tensor
from d2s.ops.comparison import equal
from d2s.ops.creation import full
from d2s.ops.promotion import operands
from d2s.ops.reduction import all


def _infer_isclose(x: TensorSpec, y: TensorSpec, *, rtol: float, atol: float, equal_nan: bool) -> TensorSpec:
    return TensorSpec(broadcast_shapes(x.shape, y.shape, what="operands of isclose"), np.dtype(bool))


@define_op("isclose", infer=_infer_isclose)
def isclose_op(x: Array, y: Array, *, rtol: float, atol: float, equal_nan: bool) -> Any:
    """Where x and y differ by at most atol + rtol * abs(y)."""
    return np.isclose(x, y, rtol, atol, equal_nan)


@public()
def isclose(
    x: Tensor, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Where `x` and `y` differ by at most ``atol + rtol * abs(y)``; NaN equals NaN only with `equal_nan`."""
    return bind(isclose_op, *operands(x, y), rtol=rtol, atol=atol, equal_nan=equal_nan)


@public()
def allclose(
    x: Tensor, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Whether all elements are close, as a 0-d bool tensor; see `isclose`."""
    return all(isclose(x, y, rtol, atol, equal_nan))


@public()
def equal_all(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Whether shapes and all elements are equal, as a 0-d bool tensor."""
    need_tensors(x, y)
    if x.spec.shape != y.spec.shape:
        return full([], False)
    return all(equal(x, y))
