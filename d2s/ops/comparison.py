"""Comparisons and tests: results are bool tensors and carry no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.public import public
from d2s.ops.annotations import Tensor
from d2s.ops.elementwise import ufunc_op
from d2s.ops.promotion import operands, tensor_or_number

equal_op = ufunc_op(np.equal)
not_equal_op = ufunc_op(np.not_equal)
less_than_op = ufunc_op(np.less, "less_than")
less_equal_op = ufunc_op(np.less_equal)
greater_than_op = ufunc_op(np.greater, "greater_than")
greater_equal_op = ufunc_op(np.greater_equal)
isnan_op = ufunc_op(np.isnan)
isinf_op = ufunc_op(np.isinf)
isfinite_op = ufunc_op(np.isfinite)


@public(x="input", y="other")
def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where ``x == y``, element by element."""
    return bind(equal_op, *operands(x, y))


@public(x="input", y="other")
def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where ``x != y``, element by element."""
    return bind(not_equal_op, *operands(x, y))


@public(x="input", y="other")
def less_than(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where ``x < y``, element by element."""
    return bind(less_than_op, *operands(x, y))


@public(x="input", y="other")
def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where ``x <= y``, element by element."""
    return bind(less_equal_op, *operands(x, y))


@public(x="input", y="other")
def greater_than(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where ``x > y``, element by element."""
    return bind(greater_than_op, *operands(x, y))


@public(x="input", y="other")
def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Where ``x >= y``, element by element."""
    return bind(greater_equal_op, *operands(x, y))


@public(x="input")
def isnan(x: Tensor, name: str | None = None) -> Tensor:
    """Where `x` is not a number."""
    return bind(isnan_op, tensor_or_number(x, "the input of isnan"))


@public(x="input")
def isinf(x: Tensor, name: str | None = None) -> Tensor:
    """Where `x` is infinite."""
    return bind(isinf_op, tensor_or_number(x, "the input of isinf"))


@public(x="input")
def isfinite(x: Tensor, name: str | None = None) -> Tensor:
    """Where `x` is neither infinite nor NaN."""
    return bind(isfinite_op, tensor_or_number(x, "the input of isfinite"))
