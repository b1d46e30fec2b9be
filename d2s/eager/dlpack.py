"""DLPack: tensors shared with other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import DTypeError


def from_dlpack(dlpack: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """
    A Tensor of what another library offers by the DLPack protocol.

    Parameters
    ----------
    dlpack : object with ``__dlpack__`` and ``__dlpack_device__``, or capsule
        An array or tensor on the CPU.
    device : None
        The CPU.
    copy : bool, optional
        True or None: the values are copied, so that what the other library writes later is not seen.

    Raises
    ------
    DTypeError
        If it does not speak the protocol (also a TypeError).
    BufferError
        If `copy` is False.
    """
    if isinstance(dlpack, Tensor):
        return tensor_of(dlpack.data.copy())
    if type(dlpack).__name__ == "PyCapsule":
        dlpack = _Holder(dlpack)
    if not hasattr(dlpack, "__dlpack__"):
        raise DTypeError(f"from_dlpack needs an object with __dlpack__, got {type(dlpack).__name__}")
    if copy is False:
        raise BufferError("from_dlpack always copies: the arrays of a Tensor are never written to")
    return tensor_of(np.array(np.from_dlpack(dlpack)))


class _Holder:
    """Hands out a capsule that exists already."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def to_dlpack(x: Tensor) -> Any:
    """A DLPack capsule with a copy of the values of `x`."""
    return x.__dlpack__()
