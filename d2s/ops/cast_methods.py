"""Methods that give a tensor of another dtype; their names are those of Python's types, hence a class of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.core.public import public
from d2s.ops.annotations import Tensor
from d2s.ops.casting import cast


def _to(dtype: str, name: str) -> Callable[..., Any]:
    def method(self: Tensor) -> Any:
        return cast(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The elements as {dtype}."
    # Code of its own, by which it is known as public.
    method.__code__ = method.__code__.replace(co_name=name)
    return public()(method)


class CastMethods:
    """Part of `TensorMethods`."""

    __slots__ = ()

    half, float, double = _to("float16", "half"), _to("float32", "float"), _to("float64", "double")
    int, long, bool = _to("int32", "int"), _to("int64", "long"), _to("bool", "bool")
