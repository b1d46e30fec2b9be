"""Lengths of sequences as masks."""

from __future__ import annotations

from typing import Any

from d2s.core.arrays import need_tensors
from d2s.core.public import public
from d2s.ops.annotations import Tensor
from d2s.ops.casting import cast
from d2s.ops.creation import arange
from d2s.ops.shape import unsqueeze


@public()
def sequence_mask(x: Tensor, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """
    1 in the places below each length, 0 from it on.

    Parameters
    ----------
    x : Tensor, int
        Lengths.
    maxlen : int, optional
        Number of places; by default the greatest length.
    dtype : dtype or str
        Of the result.

    Returns
    -------
    Tensor, shape (*x.shape, maxlen)
    """
    need_tensors(x)
    places = x.max().item() if maxlen is None else maxlen
    return cast(arange(places, dtype=x.dtype) < unsqueeze(x, -1), dtype)
