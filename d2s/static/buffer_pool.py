"""The arrays that a compiled function keeps for its next run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.arrays import is_in_order
from d2s.static.passes.buffers import BufferPlan

Buffers = Sequence["np.ndarray[Any, Any] | None"]

# More sets than this are not kept: so many runs of one function at the same time are rare.
_MOST_SETS = 8


def _references(buffers: Buffers) -> list[int]:
    """References to each buffer, with those that looking itself adds."""
    return [sys.getrefcount(buffer) for buffer in buffers]


# What `_references` gives for an array that only the set holds; measured, as it differs between Pythons.
_UNSHARED = _references((np.empty(1),))[0]


class BufferPool:
    """Sets of buffers of one function: a run takes one and gives it back, so that runs may overlap."""

    def __init__(self, plan: BufferPlan) -> None:
        self._specs = tuple(plan.specs)
        self._free: list[Buffers] = []
        # For a run that must not use any.
        self.none: Buffers = (None,) * len(self._specs)

    def take(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Buffers:
        """A set for a run on inputs `arrays`; None in place of a buffer that somebody else holds."""
        for array in arrays:
            if not (array.flags.c_contiguous or is_in_order(array)):
                return self.none
        try:
            found: Buffers = self._free.pop()
        except IndexError:
            found = self.none
        return [
            self._new(number) if count != _UNSHARED else buffer
            for number, (buffer, count) in enumerate(zip(found, _references(found), strict=True))
        ]

    def _new(self, number: int) -> np.ndarray[Any, Any] | None:
        spec, is_plain = self._specs[number]
        return np.empty(spec.shape, spec.dtype) if is_plain else None

    def give(self, taken: Buffers, buffers: Buffers) -> None:
        """Take back the set `taken`, with the arrays that are its buffers now."""
        if taken is not self.none and len(self._free) < _MOST_SETS:
            self._free.append(buffers)
