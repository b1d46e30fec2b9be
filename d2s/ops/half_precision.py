"""float16 is for storing numbers: functions that add many of them up compute in float32 and give float16 back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from d2s.core.interpreter import TensorBase, bind
from d2s.ops.annotations import Tensor, is_tensor
from d2s.ops.casting import cast_op

HALF, SINGLE = np.dtype("float16"), np.dtype("float32")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def wide(x: Tensor) -> Tensor:
    """A tensor of float16 as float32; any other as it is."""
    return bind(cast_op, x, dtype=SINGLE) if x.dtype == HALF else x


def in_float32(*kept: str) -> Callable[[_Function], _Function]:
    """Mark a function that computes in float32 what it is given in float16, but for the arguments `kept`.

    The result is float16 again, unless a tensor of another floating dtype is among the arguments, or one is asked for
    by `dtype`.  The casts are ops: both modes record them, and gradients are computed in float32 too.
    """

    def mark(function: _Function) -> _Function:
        names = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def entry(*args: Any, **kwargs: Any) -> Any:
            for arg in args:
                if isinstance(arg, TensorBase) and arg.dtype == HALF:  # type: ignore[attr-defined]
                    break
            else:
                if not any(is_tensor(arg) and arg.dtype == HALF for arg in kwargs.values()):
                    return function(*args, **kwargs)
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            floats = {name for name, arg in given.items() if is_tensor(arg) and arg.dtype.kind in "fc"} - {*kept}
            is_half = given.get("dtype") is None and all(given[name].dtype == HALF for name in floats)
            places = [wide(arg) if name in floats else arg for name, arg in zip(names, args, strict=False)]
            result = function(
                *places, *args[len(places) :],
                **{name: wide(arg) if name in floats else arg for name, arg in kwargs.items()})
            return _narrow(result) if is_half else result

        return cast("_Function", entry)

    return mark


def _narrow(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_narrow, result))
    return bind(cast_op, result, dtype=HALF) if is_tensor(result) and result.dtype == SINGLE else result
