"""Tensors set side by side, taken apart and given other shapes: all made of `concat`, `split` and `reshape`."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public, sizes_one_by_one
from d2s.core.spec import Dim, TensorSpec, broadcast_shapes
from d2s.errors import NotSupportedError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import axis_index, integers, known_count, own_axis, size_argument
from d2s.ops.creation import zeros
from d2s.ops.indexing import getitem
from d2s.ops.joining import concat, split, unbind
from d2s.ops.promotion import tensor_or_number
from d2s.ops.shape import broadcast_to, reshape, unsqueeze
from d2s.words import counted


def _each(inputs: tuple[Any, ...], function: Any) -> Any:
    if len(inputs) == 1 and isinstance(inputs[0], list | tuple):
        inputs = tuple(inputs[0])
    found = [function(tensor_or_number(one)) for one in inputs]
    return found[0] if len(found) == 1 else found


def _with_axes(x: Any, count: int, before: int) -> Any:
    """`x` with at least `count` axes: one of the new ones in front, `before` of them, the others behind."""
    missing = count - x.ndim
    if missing <= 0:
        return x
    front = min(before, missing) if x.ndim else missing
    return unsqueeze(x, [*range(front), *range(front + x.ndim, count)])


@public()
def atleast_1d(*inputs: Any, name: str | None = None) -> Any:
    """Tensors with at least one axis; a list for several."""
    return _each(inputs, lambda x: _with_axes(x, 1, 1))


@public()
def atleast_2d(*inputs: Any, name: str | None = None) -> Any:
    """Tensors with at least two axes, new ones in front; a list for several."""
    return _each(inputs, lambda x: _with_axes(x, 2, 2))


@public()
def atleast_3d(*inputs: Any, name: str | None = None) -> Any:
    """Tensors with at least three axes: a vector gets one on both sides, a matrix one behind; a list for several."""
    return _each(inputs, lambda x: _with_axes(x, 3, 1 if x.ndim == 1 else 0))


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


@public()
def hstack(x: Sequence[Any], name: str | None = None) -> Tensor:
    """Tensors one after the other along the second axis, vectors along their only one."""
    parts = _listed(atleast_1d(*x))
    return concat(parts, 0 if parts[0].ndim == 1 else 1)


@public()
def vstack(x: Sequence[Any], name: str | None = None) -> Tensor:
    """Tensors one below the other along the first axis; a vector is a row."""
    return concat(_listed(atleast_2d(*x)), 0)


row_stack = vstack


@public()
def dstack(x: Sequence[Any], name: str | None = None) -> Tensor:
    """Tensors one behind the other along the third axis."""
    return concat(_listed(atleast_3d(*x)), 2)


@public()
def column_stack(x: Sequence[Any], name: str | None = None) -> Tensor:
    """Tensors side by side along the second axis; a vector is a column."""
    return concat([reshape(one, [-1, 1]) if one.ndim < 2 else one for one in map(tensor_or_number, x)], 1)


@public(x="input", axis="dim")
def tensor_split(x: Tensor, num_or_indices: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """
    Parts along an axis, of sizes that may differ by one, or cut at places.

    Parameters
    ----------
    num_or_indices : int or sequence of int
        Number of parts (the first ones are longer), or the places where they begin.
    """
    place = own_axis(axis, x)
    size = x.shape[place]
    num_or_indices = known_count(num_or_indices)
    if isinstance(num_or_indices, int):
        if num_or_indices < 1:
            raise ShapeError(f"tensor_split needs at least one part, got {num_or_indices}")
        short, longer = divmod(size, num_or_indices)
        return split(x, [short + 1] * longer + [short] * (num_or_indices - longer), place)
    bounds = [0, *integers(num_or_indices), size]
    whole = slice(None)
    cuts = [
        slice(low, None if number == len(bounds) - 2 else high) for number, (low, high) in enumerate(pairwise(bounds))
    ]
    return [getitem(x, (*[whole] * place, cut)) for cut in cuts]


@public()
def hsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """`tensor_split` along the second axis, of a vector along its only one."""
    need_tensors(x)
    return tensor_split(x, num_or_indices, _checked(x, "hsplit", 1) - 1 if x.ndim == 1 else 1)


@public()
def vsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """`tensor_split` along the first axis, of a tensor of at least two."""
    need_tensors(x)
    return tensor_split(x, num_or_indices, _checked(x, "vsplit", 2) * 0)


@public()
def dsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """`tensor_split` along the third axis."""
    need_tensors(x)
    return tensor_split(x, num_or_indices, _checked(x, "dsplit", 3) - 1)


def _checked(x: Tensor, what: str, axes: int) -> int:
    if x.ndim < axes:
        raise ShapeError(f"{what} needs a tensor of at least {axes} axes, got shape {x.shape}")
    return axes


@public()
def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """The slices along an axis, without it; `num`, if given, is their number."""
    if num is not None and x.shape[axis_index(axis, x)] != num:
        raise ShapeError(f"unstack along axis {axis} of shape {x.shape} does not give {counted(num, 'tensor')}")
    return unbind(x, axis)


@public()
def combinations(x: Tensor, r: int = 2, with_replacement: bool = False, name: str | None = None) -> Tensor:
    """All choices of `r` elements of a vector, in order, one a row; with replacement each may come again."""
    need_tensors(x)
    if x.ndim != 1:
        raise ShapeError(f"combinations needs a vector, got shape {list(x.shape)}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(x.shape[0]), r))
    places = np.array(rows, np.int64).reshape(-1)
    return reshape(getitem(x, places), [len(rows), r])


@public()
def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """The shape to which two shapes broadcast."""
    return list(broadcast_shapes(x_shape, y_shape))  # type: ignore[arg-type]


@public()
def broadcast_tensors(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """All tensors in the shape to which they broadcast together."""
    tensors = [tensor_or_number(one) for one in input]
    count = len(broadcast_shapes(*[one.spec.shape for one in tensors], what="tensors"))
    sizes = []
    for axis in range(-count, 0):
        wide = [one for one in tensors if one.ndim >= -axis and one.spec.shape[axis] != 1]
        sizes.append(wide[0].shape[axis] if wide else 1)
    return [broadcast_to(one, sizes) for one in tensors]


@public(x="input", axis="dim", shape="sizes")
def unflatten(x: Tensor, axis: int, shape: Any, name: str | None = None) -> Tensor:
    """One axis as several; one size may be -1."""
    place = axis_index(axis, x)
    return reshape(x, [*x.shape[:place], *integers(shape), *x.shape[place + 1 :]])


@sizes_one_by_one(1)
@public()
def view(x: Tensor, shape_or_dtype: Any, name: str | None = None) -> Tensor:
    """`reshape` for a shape; another dtype of the same bits is not supported."""
    if not isinstance(shape_or_dtype, list | tuple):
        raise NotSupportedError("view with a dtype is not supported: cast() changes the dtype and keeps the values")
    return reshape(x, shape_or_dtype)


@public()
def view_as(x: Tensor, other: Tensor, name: str | None = None) -> Tensor:
    """`x` in the shape of `other`, which has as many elements."""
    need_tensors(x, other)
    return reshape(x, other.shape)


@public()
def block_diag(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """Matrices along the diagonal of a larger one, zeros elsewhere."""
    parts = [_with_axes(tensor_or_number(one), 2, 2) for one in inputs]
    widths = [one.shape[1] for one in parts]
    rows = [
        concat(
            [zeros([one.shape[0], width], one.dtype) if number != place else one for place, width in enumerate(widths)],
            1,
        )
        for number, one in enumerate(parts)
    ]
    return concat(rows, 0)


@public()
def ravel(input: Tensor) -> Tensor:
    """All elements in one axis."""
    need_tensors(input)
    return reshape(input, [-1])


@public()
def cartesian_prod(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Every combination of one element from each vector, a row for each; of a single vector, itself."""
    need_tensors(*x)
    if len(x) == 1:
        return x[0]
    if not all(one.ndim == 1 for one in x):
        raise ShapeError(f"cartesian_prod needs vectors, got shapes {' and '.join(str(one.shape) for one in x)}")
    sizes = [one.shape[0] for one in x]
    columns = []
    for place, one in enumerate(x):
        shape = [1] * len(x)
        shape[place] = sizes[place]
        columns.append(reshape(broadcast_to(reshape(one, shape), sizes), [-1, 1]))
    return concat(columns, 1)


@define_op("triangle_places", infer=lambda *, rows, columns, offset, upper: TensorSpec((2, Dim()), np.dtype("int64")))
def triangle_places_op(*, rows: int, columns: int, offset: int, upper: bool) -> Array:
    """Row and column numbers of the places on and above (or below) a diagonal of a matrix."""
    return np.stack((np.triu_indices if upper else np.tril_indices)(rows, offset, columns)).astype(np.int64)


@public()
def tril_indices(row: int, col: int, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Places on and below a diagonal of a matrix: a row of row numbers and one of column numbers."""
    return _triangle_places(row, col, offset, False).cast(dtype)


@public()
def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Places on and above a diagonal of a matrix: a row of row numbers and one of column numbers."""
    return _triangle_places(row, row if col is None else col, offset, True).cast(dtype)


def _triangle_places(row: Any, col: Any, offset: int, upper: bool) -> Tensor:
    rows, columns = size_argument(row, "row"), size_argument(col, "col")
    return bind(triangle_places_op, rows=rows, columns=columns, offset=operator.index(offset), upper=upper)
