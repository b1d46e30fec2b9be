"""Strategies for hypothesis, which has to be installed: shapes, tensors, small programs.

>>> from hypothesis import given, settings
>>> @settings(max_examples=5, derandomize=True)
... @given(program=programs())
... def test(program):
...     assert_same_in_both_modes(program.function, *program.inputs())
>>> from d2s.testing import assert_same_in_both_modes
>>> test()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from d2s.eager.creation import to_tensor
from d2s.eager.tensor import Tensor, tensor_of
from d2s.testing.generated import load, program_texts

__all__ = ["GeneratedProgram", "broadcastable_shapes", "programs", "shapes", "tensors"]

Shape = tuple[int, ...]


def shapes(min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4) -> st.SearchStrategy[Shape]:
    """Shapes with so many axes, of such sizes."""
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def broadcastable_shapes(draw: st.DrawFn, max_dims: int = 3, max_side: int = 4) -> tuple[Shape, Shape]:
    """Two shapes that broadcast with each other."""
    whole = draw(shapes(max_dims=max_dims, max_side=max_side))
    pair = []
    for _ in range(2):
        start = draw(st.integers(0, len(whole)))
        pair.append(tuple(draw(st.sampled_from([size, 1])) for size in whole[start:]))
    return pair[0], pair[1]


@st.composite
def tensors(
    draw: st.DrawFn, shape: Shape | st.SearchStrategy[Shape] | None = None, dtype: str = "float32",
    low: float = -4.0, high: float = 4.0, stop_gradient: bool | None = None,
) -> Tensor:
    """
    Tensors of plain numbers: for arithmetic that does not overflow; the first example is all zeros.

    Parameters
    ----------
    shape : tuple of int or strategy, optional
        By default that of `shapes`.
    dtype : str
    low, high : float
        Between which the elements lie; of bool tensors not used.
    stop_gradient : bool, optional
        By default either, for floating point; True for others.
    """
    chosen = draw(shape if isinstance(shape, st.SearchStrategy) else shapes() if shape is None else st.just(shape))
    kind = np.dtype(dtype).kind
    elements: st.SearchStrategy[Any] = st.booleans()
    if kind == "f":
        # Sixteenths: sums and products of a few are exact, also in float32.
        elements = st.integers(int(low * 16), int(high * 16)).map(lambda number: number / 16)
    elif kind in "iu":
        elements = st.integers(max(int(low), 0) if kind == "u" else int(low), int(high))
    size = int(np.prod(chosen))
    values = draw(st.lists(elements, min_size=size, max_size=size))
    stops = kind != "f" or (draw(st.booleans()) if stop_gradient is None else stop_gradient)
    return tensor_of(np.array(values, dtype=dtype).reshape(chosen), stops)


@dataclass(frozen=True)
class GeneratedProgram:
    """
    A program: a function of two tensors and two numbers.

    Attributes
    ----------
    text : str
        The module that defines it.
    function : callable
        ``f(x, y, c, n)``: `x` and `y` tensors of three elements, `c` a number, `n` an int that bounds loops.
    """

    text: str
    function: Callable[..., Any] = field(repr=False)
    numbers: tuple[float, ...] = field(repr=False)
    are_tensors: bool = field(repr=False)

    def inputs(self) -> tuple[Any, ...]:
        """Arguments, made anew."""
        *values, c, n = self.numbers
        x, y = (to_tensor(part, dtype="float32", stop_gradient=False) for part in (values[:3], values[3:]))
        if self.are_tensors:
            return x, y, to_tensor(c, dtype="float32"), to_tensor(int(n), dtype="int64")
        return x, y, c, int(n)


@st.composite
def programs(draw: st.DrawFn, *options: str, depth: int = 2) -> GeneratedProgram:
    """
    Small programs with tensors, branches, loops, early returns, hooks and effects.

    Parameters
    ----------
    *options : str
        "try": with exceptions too.
    depth : int
        How deep statements are nested; 0: straight code.
    """
    text = draw(program_texts(*options, depth=depth))
    numbers = [draw(st.integers(-30, 30)) / 16 for _ in range(7)]
    return GeneratedProgram(text, load(text), (*numbers, draw(st.integers(0, 3))), draw(st.booleans()))
