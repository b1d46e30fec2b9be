"""Where the new values of a tensor go: into its own array, if nobody else can see that array."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor, tensor_of


def _references(tensor: Tensor) -> int:
    """References to the array of `tensor`, with those that looking itself adds."""
    return sys.getrefcount(tensor.data)


# What `_references` gives for an array that only its tensor holds; measured, as it differs between Pythons.
_UNSHARED = _references(tensor_of(np.zeros(1)))


def target_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The array to write the new values of `tensor` to.

    It is the array of `tensor` itself if that owns its memory and has no other holder (a saved value, an alias, a
    view), else a new one of the same shape and dtype.  The values before can be read from ``tensor.data`` until
    they are overwritten elementwise.
    """
    if _references(tensor) <= _UNSHARED and tensor.data.flags.owndata and tensor.data.flags.writeable:
        return tensor.data
    return np.empty_like(tensor.data)
