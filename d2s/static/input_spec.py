"""InputSpec: what an argument must be like, without its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.spec import DType, TensorSpec, as_dtype
from d2s.errors import DTypeError, ShapeError
from d2s.static.graph import sizes_of


class InputSpec:
    """
    Shape and dtype of an argument of a static function.

    Parameters
    ----------
    shape : sequence of int or None
        None and -1 stand for any size.
    dtype : dtype or str
    name : str, optional
    stop_gradient : bool
        True if no gradient is wanted.

    Raises
    ------
    ShapeError
        If a size is negative but not -1.

    Examples
    --------
    >>> InputSpec([None, 784], "float32", name="image")
    InputSpec(shape=(-1, 784), dtype=float32, name=image, stop_gradient=False)
    """

    def __init__(
        self, shape: Sequence[int | None], dtype: Any = "float32", name: str | None = None, stop_gradient: bool = False
    ) -> None:
        self.shape: tuple[int, ...] = tuple(size if isinstance(size, int) else -1 for size in sizes_of(shape))
        self.dtype: DType = as_dtype(dtype)
        self.name = name
        self.stop_gradient = bool(stop_gradient)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> InputSpec:
        """The spec that exactly tensors like this one fit; named after it if `name` is None."""
        own = tensor.__dict__.get("name") if hasattr(tensor, "__dict__") else None
        return cls(tensor.shape, tensor.dtype, name or own, tensor.stop_gradient)

    @classmethod
    def from_numpy(cls, ndarray: np.ndarray[Any, Any], name: str | None = None) -> InputSpec:
        """The spec that exactly arrays like this one fit."""
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size: int | None) -> InputSpec:
        """Put an axis of this size in front.  Changes this spec and returns it, as in Paddle."""
        if isinstance(batch_size, bool) or not (batch_size is None or isinstance(batch_size, int)):
            raise DTypeError(f"batch_size must be an int or None, got {type(batch_size).__name__}")
        self.shape = (*InputSpec([batch_size]).shape, *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Take the first axis away.  Changes this spec and returns it, as in Paddle."""
        if not self.shape:
            raise ShapeError("a spec without axes has none to take away")
        self.shape = self.shape[1:]
        return self

    def to_spec(self) -> TensorSpec:
        """The spec of a tensor of which nothing else is known: a new Dim for every size that is left open."""
        return TensorSpec(sizes_of(self.shape), self.dtype)

    def admits(self, value: Any) -> bool:
        """True if `value` is a tensor or array of this dtype, rank and, where they are given, these sizes."""
        if not isinstance(value, TensorBase | np.ndarray):
            return False
        shape: Sequence[Any] = value.shape  # type: ignore[union-attr]
        return (
            value.dtype == self.dtype  # type: ignore[union-attr]
            and len(shape) == len(self.shape)
            and all(known in (-1, size) for known, size in zip(self.shape, shape, strict=True))
        )

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.name, self.stop_gradient

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, InputSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype.name}, name={self.name}, "
            f"stop_gradient={self.stop_gradient})"
        )
