"""Large arrays, gone through piece by piece: what is computed on the way stays in the cache, and takes no memory."""

from __future__ import annotations

from d2s.optimizer.groups import Array

# Bytes: pieces of several arrays lie in a cache of 2 MiB together, and are worth the calls that they cost.
_PIECE = 1 << 18


def are_large(*arrays: Array) -> bool:
    """True if arrays of one shape and dtype are worth going through in pieces, and can be."""
    first = arrays[0]
    return first.nbytes > _PIECE and all(array.flags.c_contiguous and array.dtype == first.dtype for array in arrays)


def pieces(*arrays: Array) -> list[list[Array]]:
    """The same pieces of each of these arrays, flat, as views."""
    step = _PIECE // arrays[0].itemsize
    return [
        [flat[start : start + step] for start in range(0, flat.size, step)]
        for flat in (array.reshape(-1) for array in arrays)
    ]
