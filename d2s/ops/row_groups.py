"""Large arrays, gone through by groups of rows: what several passes read lies in the cache from the first one on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from d2s.ops.annotations import Array

# Bytes of a group: it fits a cache of 2 MiB together with its result and what is computed on the way.
_GROUP = 1 << 19


def has_groups(axis: tuple[int, ...], *arrays: Array | None) -> bool:
    """True if what is reduced over `axis` can be computed by groups of rows, to the bit, and is large enough for it.

    Parameters
    ----------
    axis : tuple of int
        Ascending, counted from the front.
    *arrays : array or None
        Inputs and results of one shape.
    """
    first = arrays[0]
    assert first is not None
    if first.nbytes < 2 * _GROUP or axis[0] == 0 or axis != tuple(range(axis[0], first.ndim)):
        return False
    # The order of elements decides how sums are rounded.
    return all(array is None or array.flags.c_contiguous for array in arrays)


def groups(axis: tuple[int, ...], *arrays: Array) -> Iterator[tuple[Any, ...]]:
    """The same rows of all arrays, group by group, as views with `axis` behind one axis of rows.

    Parameters
    ----------
    axis : tuple of int
        As for `has_groups`.
    *arrays : array, of one shape but for sizes of 1 along `axis`
        In C order.
    """
    rows = [array.reshape(-1, *array.shape[axis[0] :]) for array in arrays]
    step = max(_GROUP // (math.prod(rows[0].shape[1:]) * arrays[0].itemsize), 1)
    for start in range(0, len(rows[0]), step):
        yield tuple([each[start : start + step] for each in rows])


def behind_rows(rows: Array) -> tuple[int, ...]:
    """The axes of a group that are not that of the rows."""
    return tuple(range(1, rows.ndim))
