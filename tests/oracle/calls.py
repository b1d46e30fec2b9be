"""Calls of public functions, as random programs for d2s and for Paddle: one table, drawn by a seeded generator.

A `Call` is the name of a function and its arguments; `Array` stands for a tensor.  What the arguments of a function
may be is said once, in `CALLS`, by a function of a `Draw`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Array:
    """Data of a tensor; `stops`: it requires no gradient, although it could."""

    data: Any
    stops: bool = False


@dataclass
class Call:
    """One call: positional and keyword arguments with `Array` in place of tensors."""

    args: list[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)


class Draw:
    """Random shapes, axes and arrays."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def int(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def one(self, *options: Any) -> Any:
        return options[self.int(0, len(options) - 1)]

    def shape(self, low: int = 0, high: int = 3, smallest: int = 0) -> tuple[int, ...]:
        """Axes of size 0 are rare, 1 and more are common."""
        sizes = [self.one(1, 2, 3, 4, 2, 3, smallest) for _ in range(self.int(low, high))]
        return tuple(max(size, smallest) for size in sizes)

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that broadcast."""
        full = self.shape()
        cut = [
            tuple(1 if self.int(0, 3) == 0 else size for size in full)[self.one(0, 0, self.int(0, len(full))) :]
            for _ in range(2)
        ]
        return cut[0], cut[1]

    def axis(self, ndim: int) -> int:
        return self.int(-ndim, ndim - 1)

    def axes(self, ndim: int) -> Any:
        """None, one axis or several, also negative."""
        if not ndim or self.int(0, 3) == 0:
            return None
        chosen = self.rng.permutation(ndim)[: self.int(1, ndim)]
        found = [int(axis) - ndim * self.int(0, 1) for axis in chosen]
        return found[0] if len(found) == 1 and self.int(0, 1) else found

    def array(self, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0, dtype: str | None = None) -> Array:
        dtype = dtype or self.one("float32", "float64")
        if np.dtype(dtype).kind in "iu":
            return Array(self.rng.integers(int(low), int(high) + 1, shape).astype(dtype))
        if dtype == "bool":
            return Array(self.rng.random(shape) < 0.5)
        if np.dtype(dtype).kind == "c":
            parts = self.rng.uniform(low, high, (2, *shape))
            return Array((parts[0] + 1j * parts[1]).astype(dtype))
        return Array(self.rng.uniform(low, high, shape).astype(dtype))

    def distinct(self, shape: tuple[int, ...], dtype: str = "float32") -> Array:
        """Numbers that all differ, so that it is clear which one is the largest."""
        count = int(np.prod(shape))
        return Array((self.rng.permutation(count) - count // 2 + 0.25).reshape(shape).astype(dtype))


CALLS: dict[str, Callable[[Draw], Call]] = {}


def call(*names: str) -> Callable[[Callable[[Draw], Call]], Callable[[Draw], Call]]:
    def enter(function: Callable[[Draw], Call]) -> Callable[[Draw], Call]:
        for name in names:
            assert name not in CALLS, name
            CALLS[name] = function
        return function

    return enter
