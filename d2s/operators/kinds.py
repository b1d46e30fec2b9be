"""Kinds of tensors, by which guards know a tensor again at the cost of two comparisons."""

from __future__ import annotations

import weakref
from typing import Any

from d2s.core.locks import new_lock
from d2s.core.spec import DType


class TensorKind:
    """Exact class, sizes, element type and flag of a tensor; one object for each such combination.

    A tensor keeps the kind that it was found to have until it changes, so most often a guard need not look further.

    Attributes
    ----------
    cls : type
    shape : tuple of (int or None)
        None for a size that may be any but 0 and 1.
    dtype : dtype
    stop_gradient : bool
    """

    __slots__ = ("__weakref__", "cls", "dtype", "is_open", "shape", "stop_gradient")

    def __init__(self, cls: type[Any], shape: tuple[int | None, ...], dtype: DType, stop_gradient: bool) -> None:
        self.cls, self.shape, self.dtype, self.stop_gradient = cls, shape, dtype, stop_gradient
        self.is_open = None in shape

    def fits(self, tensor: Any) -> bool:
        """True if `tensor` is of this kind; then it keeps that.

        Raises
        ------
        AttributeError
            If it may be no tensor.
        """
        data = tensor.data
        if type(tensor) is not self.cls or tensor._stop_gradient is not self.stop_gradient or data.dtype != self.dtype:
            return False
        if data.shape != self.shape and not (self.is_open and self._admits(data.shape)):
            return False
        tensor._kind = self
        if tensor.data is not data or tensor._stop_gradient is not self.stop_gradient:
            # Another thread has changed it meanwhile.
            tensor._kind = None
        return True

    def _admits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == len(self.shape) and all(
            size > 1 if known is None else size == known for size, known in zip(shape, self.shape, strict=True))


_kinds: weakref.WeakValueDictionary[tuple[Any, ...], TensorKind] = weakref.WeakValueDictionary()
_entering = new_lock()


def kind_of(tensor: Any, open_axes: tuple[int, ...] = ()) -> TensorKind:
    """The kind of `tensor`; along `open_axes` any size but 0 and 1 will do."""
    shape = tuple(None if axis in open_axes else size for axis, size in enumerate(tensor.spec.shape))
    key = (type(tensor), shape, tensor.dtype, tensor.stop_gradient)
    with _entering:
        found = _kinds.get(key)
        if found is None:
            found = _kinds[key] = TensorKind(*key)
        return found
