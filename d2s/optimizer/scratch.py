"""Memory that an optimizer works in, kept from step to step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.optimizer.groups import Array

# Smaller arrays come from the allocator's own free lists; larger ones may be given back to the system and mapped anew
# in each step, which costs a quarter of a step.  glibc, as `keep_freed_memory` leaves it, does that from 32 MB on (with
# less it makes no difference there), other allocators earlier.
_SMALLEST = 1 << 16


class Scratch:
    """One piece of memory, as large as the largest array asked for; steps in other threads get their own."""

    def __init__(self) -> None:
        self._free: list[Array] = []

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy of an optimizer starts without.
        return Scratch, ()

    def take(self, like: Array) -> Array | None:
        """An array of the shape and dtype of `like`, with any values; None for a small one: let NumPy make it."""
        if like.nbytes < _SMALLEST:
            return None
        try:
            memory = self._free.pop()
        except IndexError:
            memory = np.empty(0, np.uint8)
        if memory.nbytes < like.nbytes:
            memory = np.empty(like.nbytes, np.uint8)
        count = math.prod(like.shape) * like.itemsize
        return memory[:count].view(like.dtype).reshape(like.shape)

    def give(self, taken: Array | None) -> None:
        """Take the memory back."""
        if taken is not None and not self._free:
            base = taken.base
            assert isinstance(base, np.ndarray)
            self._free.append(base)
