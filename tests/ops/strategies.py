"""For every op of the table: random arguments that it accepts, away from the places where it has no derivative.

`inputs_of(name)` draws a `Case`.  An op that is missing here fails `test_table.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from d2s.ops.indices import IndexInput
from d2s.ops.windows import Window

F64 = np.dtype("float64")
INT64 = np.dtype("int64")
Draw = Callable[..., Any]


@dataclass
class Case:
    """Arguments of an op: arrays and attributes."""

    args: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)


REGISTRY: dict[str, Callable[[Draw], Case]] = {}


def inputs_of(name: str) -> st.SearchStrategy[Case]:
    """Strategy for the arguments of the op called `name`."""
    return st.composite(REGISTRY[name])()


def case_of(*names: str) -> Callable[[Callable[[Draw], Case]], Callable[[Draw], Case]]:
    """Register the decorated function as the way to draw arguments for some ops."""

    def enter(function: Callable[[Draw], Case]) -> Callable[[Draw], Case]:
        for name in names:
            assert name not in REGISTRY, name
            REGISTRY[name] = function
        return function

    return enter


# --- building blocks -----------------------------------------------------------------------------------------------


def random_generator(draw: Draw) -> np.random.Generator:
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def shapes(min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4) -> st.SearchStrategy[Any]:
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def reals(draw: Draw, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Any:
    return random_generator(draw).uniform(low, high, shape)


def spaced(draw: Draw, shape: tuple[int, ...], step: float = 0.25, offset: float = 0.1) -> Any:
    """Numbers on both sides of 0, no two nearer than `step`, none nearer to a multiple of it than `offset`."""
    count = int(np.prod(shape))
    numbers = (np.arange(count) - count // 2) * step + offset
    return random_generator(draw).permutation(numbers).reshape(shape)


def broadcastable(draw: Draw, max_dims: int = 3) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast against each other."""
    full = draw(shapes(max_dims=max_dims))
    found = []
    for _ in range(2):
        own = tuple(1 if draw(st.booleans()) and draw(st.booleans()) else size for size in full)
        found.append(own[draw(st.integers(0, len(own))) if draw(st.booleans()) else 0 :])
    return found[0], found[1]


def axes_of(draw: Draw, ndim: int) -> tuple[int, ...] | None:
    """Axes of a reduction in the form that ops take them."""
    if not ndim:
        return None
    chosen = draw(st.none() | st.sets(st.integers(0, ndim - 1), min_size=1))
    return None if chosen is None else tuple(sorted(chosen))


def integers_below(draw: Draw, high: int, shape: tuple[int, ...]) -> Any:
    return random_generator(draw).integers(0, high, shape)


# --- element by element --------------------------------------------------------------------------------------------

DOMAINS = {
    "exp": (-2, 2), "expm1": (-2, 2), "log": (0.3, 3), "log1p": (-0.6, 3), "log2": (0.3, 3), "log10": (0.3, 3),
    "sqrt": (0.3, 3), "rsqrt": (0.5, 3), "square": (-2, 2), "reciprocal": (0.5, 3), "negative": (-2, 2),
    "tanh": (-2, 2), "sigmoid": (-4, 4), "sin": (-3, 3), "cos": (-3, 3), "tan": (-1.2, 1.2), "asin": (-0.8, 0.8),
    "acos": (-0.8, 0.8), "atan": (-3, 3), "sinh": (-2, 2), "cosh": (-2, 2), "asinh": (-3, 3), "acosh": (1.3, 4),
    "atanh": (-0.8, 0.8), "erf": (-2, 2), "lgamma": (0.4, 9),
    "erfinv": (-0.9, 0.9), "poisson": (0, 9), "conj": (-2, 2), "real": (-2, 2), "imag": (-2, 2), "assign": (-2, 2),
    "detach": (-2, 2), "isnan": (-2, 2), "isinf": (-2, 2), "isfinite": (-2, 2), "logical_not": (-2, 2),
}


def _register_unary(name: str, low: float, high: float) -> None:
    case_of(name)(lambda draw: Case([reals(draw, draw(shapes()), low, high)]))


for _name, (_low, _high) in DOMAINS.items():
    _register_unary(_name, _low, _high)


@case_of("abs", "sign", "floor", "ceil", "trunc", "relu")
def _with_kinks(draw: Draw) -> Case:
    return Case([spaced(draw, draw(shapes()))])


@case_of("round")
def _round(draw: Draw) -> Case:
    return Case([spaced(draw, draw(shapes()), offset=0.13)], {"decimals": draw(st.integers(-1, 1))})


@case_of("gelu", "gelu_parts")
def _gelu(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes()), -3, 3)], {"approximate": draw(st.booleans())})


@case_of("gelu_gradient")
def _gelu_gradient(draw: Draw) -> Case:
    shape = draw(shapes())
    return Case([reals(draw, shape), reals(draw, shape, -3, 3)], {"approximate": draw(st.booleans())})


@case_of("gelu_rest")
def _gelu_rest(draw: Draw) -> Case:
    shape = draw(shapes())
    return Case([reals(draw, shape), reals(draw, shape), reals(draw, shape)], {"approximate": draw(st.booleans())})


@case_of("cast")
def _cast(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes()))], {"dtype": F64})


def _bounds(draw: Draw) -> dict[str, Any]:
    return {"min": draw(st.sampled_from([None, -0.5])), "max": draw(st.sampled_from([None, 0.5]))}


@case_of("clip")
def _clip(draw: Draw) -> Case:
    return Case([spaced(draw, draw(shapes()))], {**_bounds(draw), "is_flat_there": draw(st.booleans())})


@case_of("inside")
def _inside(draw: Draw) -> Case:
    return Case([spaced(draw, draw(shapes()))], {**_bounds(draw), "is_open": draw(st.booleans())})


@case_of("full_like")
def _full_like(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes()))], {"value": 1.5, "dtype": F64})


@case_of("add", "subtract", "multiply", "logical_and", "logical_or", "logical_xor", "equal", "not_equal", "less_than",
         "less_equal", "greater_than", "greater_equal", "logaddexp")
def _binary(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([reals(draw, first), reals(draw, second)])


@case_of("add_relu", "add_tanh", "add_sigmoid")
def _add_and_activation(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([spaced(draw, first), reals(draw, second)])


@case_of("divide", "atan2")
def _divide(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([reals(draw, first), reals(draw, second, 0.5, 2)])


@case_of("floor_divide", "mod")
def _mod(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    # Quotients between 0.1 and 0.9 above a whole number.
    y = np.full(second, 1.5)
    x = (random_generator(draw).integers(-3, 3, first) + reals(draw, first, 0.1, 0.9)) * 1.5
    return Case([x, y])


@case_of("maximum", "minimum")
def _extrema(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([spaced(draw, first), spaced(draw, second, offset=0.0)])


@case_of("pow")
def _pow(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([reals(draw, first, 0.3, 2), reals(draw, second, 0.1, 3)])


@case_of("gate")
def _gate(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([reals(draw, first), spaced(draw, second)])


@case_of("isclose")
def _isclose(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([reals(draw, first), reals(draw, second)], {"rtol": 0.5, "atol": 0.1, "equal_nan": False})


@case_of("bitwise_and", "bitwise_or", "bitwise_xor")
def _bits(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([integers_below(draw, 9, first), integers_below(draw, 9, second)])


@case_of("bitwise_not")
def _bitwise_not(draw: Draw) -> Case:
    return Case([integers_below(draw, 9, draw(shapes()))])


@case_of("where")
def _where(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    condition = random_generator(draw).random(np.broadcast_shapes(first, second)) < 0.5
    return Case([condition, reals(draw, first), reals(draw, second)])


# --- reductions ----------------------------------------------------------------------------------------------------


@case_of("sum", "mean", "any", "all", "logsumexp", "euclidean_norm")
def _reduction(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    return Case([reals(draw, shape)], {"axis": axes_of(draw, len(shape)), "keepdim": draw(st.booleans())})


@case_of("max", "min")
def _extremum(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    return Case([spaced(draw, shape)], {"axis": axes_of(draw, len(shape)), "keepdim": draw(st.booleans())})


@case_of("prod")
def _prod(draw: Draw) -> Case:
    shape = draw(shapes())
    x = reals(draw, shape)
    if x.size and draw(st.booleans()):
        x.flat[0] = 0.0
    return Case([x], {"axis": axes_of(draw, len(shape)), "keepdim": draw(st.booleans())})


@case_of("product_of_others")
def _product_of_others(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes(min_dims=1)))])


@case_of("spread")
def _spread(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    axis, keepdim = axes_of(draw, len(shape)), draw(st.booleans())
    reduced = np.sum(np.zeros(shape), axis=axis, keepdims=keepdim).shape
    attrs = {"shape": shape, "axis": axis, "keepdim": keepdim, "average": draw(st.booleans())}
    return Case([reals(draw, reduced)], attrs)


@case_of("unbroadcast")
def _unbroadcast(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    dropped = draw(st.integers(0, len(shape)))
    axes = tuple(axis for axis in range(dropped, len(shape)) if draw(st.booleans()))
    return Case([reals(draw, shape)], {"dropped": dropped, "axes": axes})


@case_of("unbroadcast_like")
def _unbroadcast_like(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    kept = shape[draw(st.integers(0, len(shape))) :]
    return Case([reals(draw, shape), reals(draw, tuple(1 if draw(st.booleans()) else size for size in kept))])


@case_of("cumsum")
def _cumsum(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    attrs = {"axis": draw(st.integers(0, len(shape) - 1)), "reverse": draw(st.booleans())}
    return Case([reals(draw, shape)], attrs)


@case_of("cumprod")
def _cumprod(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    x = reals(draw, shape)
    if x.size and draw(st.booleans()):
        x.flat[0] = 0.0
    return Case([x], {"axis": draw(st.integers(0, len(shape) - 1))})


@case_of("softmax", "log_softmax")
def _softmax(draw: Draw) -> Case:
    shape = draw(shapes())
    return Case([reals(draw, shape)], {"axis": draw(st.integers(0, max(len(shape) - 1, 0)))})


@case_of("softmax_gradient")
def _softmax_gradient(draw: Draw) -> Case:
    shape = draw(shapes())
    return Case([reals(draw, shape), reals(draw, shape)], {"axis": draw(st.integers(0, max(len(shape) - 1, 0)))})


# --- shape ---------------------------------------------------------------------------------------------------------


@case_of("reshape")
def _reshape(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    target = [*draw(st.permutations(shape)), *[1] * draw(st.integers(0, 2))]
    if target and draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    return Case([reals(draw, shape)], {"shape": tuple(target)})


@case_of("transpose")
def _transpose(draw: Draw) -> Case:
    shape = draw(shapes())
    return Case([reals(draw, shape)], {"perm": tuple(draw(st.permutations(range(len(shape)))))})


@case_of("transposed_copy")
def _transposed_copy(draw: Draw) -> Case:
    return Case([reals(draw, (draw(st.integers(0, 35)), draw(st.integers(0, 3))))])


@case_of("broadcast_to")
def _broadcast_to(draw: Draw) -> Case:
    shape = draw(shapes())
    target = [draw(st.integers(0, 3)) if size == 1 else size for size in shape]
    new = draw(st.lists(st.integers(0, 3), max_size=2))
    return Case([reals(draw, shape)], {"shape": (*new, *target)})


@case_of("concat")
def _concat(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    axis = draw(st.integers(0, len(shape) - 1))
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    return Case([reals(draw, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes], {"axis": axis})


@case_of("stack")
def _stack(draw: Draw) -> Case:
    shape = draw(shapes(max_dims=2))
    count = draw(st.integers(1, 3))
    return Case([reals(draw, shape) for _ in range(count)], {"axis": draw(st.integers(0, len(shape)))})


@case_of("split")
def _split(draw: Draw) -> Case:
    sizes = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))
    shape = list(draw(shapes(max_dims=2)))
    axis = draw(st.integers(0, len(shape)))
    shape.insert(axis, sum(sizes))
    return Case([reals(draw, tuple(shape))], {"sizes": sizes, "axis": axis})


@case_of("unbind")
def _unbind(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    return Case([reals(draw, shape)], {"axis": draw(st.integers(0, len(shape) - 1))})


@case_of("row")
def _row(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.integers(0, len(shape) - 1))
    return Case([reals(draw, shape), _place(draw, shape[axis])], {"axis": axis})


@case_of("row_alone")
def _row_alone(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.integers(0, len(shape) - 1))
    row = reals(draw, (*shape[:axis], *shape[axis + 1 :]))
    return Case([row, _place(draw, shape[axis])], {"axis": axis, "shape": shape})


@case_of("add_row")
def _add_row(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.integers(0, len(shape) - 1))
    row = reals(draw, (*shape[:axis], *shape[axis + 1 :]))
    return Case([reals(draw, shape), row, _place(draw, shape[axis])], {"axis": axis})


def _place(draw: Draw, size: int) -> Any:
    return np.array(draw(st.integers(0, size - 1)), INT64)


@case_of("flip")
def _flip(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    return Case([reals(draw, shape)], {"axis": axes_of(draw, len(shape)) or (0,)})


@case_of("roll")
def _roll(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    axis = axes_of(draw, len(shape)) or (0,)
    return Case([reals(draw, shape)], {"shifts": tuple(draw(st.integers(-3, 3)) for _ in axis), "axis": axis})


@case_of("tril", "triu")
def _triangle(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes(min_dims=2)))], {"diagonal": draw(st.integers(-2, 2))})


@case_of("pad")
def _pad(draw: Draw) -> Case:
    shape = draw(shapes())
    widths = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape)
    return Case([reals(draw, shape)], {"widths": widths, "value": 0.5})


# --- indexing ------------------------------------------------------------------------------------------------------


@st.composite
def templates(draw: Draw, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """An index template for `shape`, all axes at least 1, and its index tensors."""
    parts: list[Any] = []
    tensors: list[Any] = []
    common = draw(shapes(max_dims=2, max_side=3))
    axis, uses_mask = 0, False
    stop = draw(st.integers(0, len(shape)))
    while axis < stop:
        size = shape[axis]
        kind = draw(st.sampled_from(["int", "slice", "tensor", "mask", "new"]))
        if kind == "new":
            parts.append(None)
            continue
        if kind == "mask" and (uses_mask or tensors):
            kind = "slice"
        if kind == "tensor" and uses_mask:
            kind = "int"
        if kind == "int":
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            parts.append(draw(st.slices(size)))
        elif kind == "tensor":
            own = common if draw(st.booleans()) else common[len(common) // 2 :]
            tensors.append(random_generator(draw).integers(-size, size, own))
            parts.append(IndexInput(len(tensors) - 1))
        else:
            count = draw(st.integers(1, min(2, stop - axis)))
            tensors.append(random_generator(draw).random(shape[axis : axis + count]) < 0.6)
            parts.append(IndexInput(len(tensors) - 1))
            uses_mask = True
            axis += count - 1
        axis += 1
    if draw(st.booleans()):
        parts.append(Ellipsis)
    return tuple(parts), tensors


def as_numpy_index(index: tuple[Any, ...], tensors: list[Any]) -> tuple[Any, ...]:
    return tuple(tensors[part.position] if isinstance(part, IndexInput) else part for part in index)


@case_of("getitem")
def _getitem(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    index, tensors = draw(templates(shape))
    return Case([reals(draw, shape), *tensors], {"index": index})


@case_of("put")
def _put(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    index, tensors = draw(templates(shape))
    target = np.zeros(shape)[as_numpy_index(index, tensors)].shape
    return Case([reals(draw, target), *tensors], {"index": index, "shape": shape})


@case_of("setitem")
def _setitem(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    index, tensors = draw(templates(shape))
    target = np.zeros(shape)[as_numpy_index(index, tensors)].shape
    value = tuple(1 if draw(st.booleans()) else size for size in target)[draw(st.integers(0, len(target))) :]
    return Case([reals(draw, shape), reals(draw, value), *tensors], {"index": index})


@case_of("written_last")
def _written_last(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    return Case([integers_below(draw, shape[0], (3,))], {"index": (IndexInput(0),), "shape": shape})


@case_of("nonzero")
def _nonzero(draw: Draw) -> Case:
    return Case([integers_below(draw, 2, draw(shapes(min_dims=1))).astype(float)])


@case_of("take")
def _take(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.integers(0, len(shape) - 1))
    return Case([reals(draw, shape), integers_below(draw, shape[axis], draw(shapes(max_dims=2)))], {"axis": axis})


@case_of("put_slices")
def _put_slices(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.integers(0, len(shape) - 1))
    indices = integers_below(draw, shape[axis], draw(shapes(max_dims=2)))
    g = reals(draw, (*shape[:axis], *indices.shape, *shape[axis + 1 :]))
    return Case([g, indices], {"axis": axis, "shape": shape})


def _along(draw: Draw) -> tuple[tuple[int, ...], int, Any, tuple[int, ...]]:
    """A shape, an axis, indices along it and the shape of what they read; other axes may broadcast."""
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.integers(0, len(shape) - 1))
    own = [draw(st.sampled_from([1, size])) if size != 1 else draw(st.integers(1, 3)) for size in shape]
    own[axis] = draw(st.integers(1, 3))
    indices = integers_below(draw, shape[axis], tuple(own))
    result = [max(a, b) for a, b in zip(shape, own, strict=True)]
    result[axis] = own[axis]
    return shape, axis, indices, tuple(result)


@case_of("take_along_axis")
def _take_along_axis(draw: Draw) -> Case:
    shape, axis, indices, _ = _along(draw)
    return Case([reals(draw, shape), indices], {"axis": axis})


@case_of("put_along_axis")
def _put_along_axis(draw: Draw) -> Case:
    shape, axis, indices, result = _along(draw)
    return Case([reals(draw, result), indices], {"axis": axis, "shape": shape})


@case_of("one_hot")
def _one_hot(draw: Draw) -> Case:
    return Case([integers_below(draw, 4, draw(shapes(max_dims=2)))], {"classes": 4, "dtype": F64})


@case_of("class_index")
def _class_index(draw: Draw) -> Case:
    return Case([integers_below(draw, 4, draw(shapes(max_dims=2)))], {"classes": 4})


# --- order ---------------------------------------------------------------------------------------------------------


@case_of("argsort")
def _argsort(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    attrs = {"axis": draw(st.integers(0, len(shape) - 1)), "descending": draw(st.booleans())}
    return Case([spaced(draw, shape)], attrs)


@case_of("top_indices")
def _top_indices(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.integers(0, len(shape) - 1))
    attrs = {"k": draw(st.integers(1, shape[axis])), "axis": axis, "largest": draw(st.booleans())}
    return Case([spaced(draw, shape)], attrs)


@case_of("mode_index")
def _mode_index(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    attrs = {"axis": draw(st.integers(0, len(shape) - 1)), "keepdim": draw(st.booleans()), "dtype": INT64}
    return Case([integers_below(draw, 3, shape).astype(float)], attrs)


@case_of("argmax", "argmin")
def _arg_extremum(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.none() | st.integers(0, len(shape) - 1))
    return Case([spaced(draw, shape)], {"axis": axis, "keepdim": draw(st.booleans()), "dtype": INT64})


@case_of("unique")
def _unique(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.none() | st.integers(0, len(shape) - 1))
    return Case([integers_below(draw, 3, shape).astype(float)], {"axis": axis})


@case_of("searchsorted")
def _searchsorted(draw: Draw) -> Case:
    rows = draw(shapes(max_dims=1, min_side=1))
    sequence = np.sort(reals(draw, (*rows, 4)), -1)
    return Case([sequence, reals(draw, (*rows, 3))], {"right": draw(st.booleans()), "dtype": INT64})


@case_of("bincount")
def _bincount(draw: Draw) -> Case:
    x = integers_below(draw, 4, (draw(st.integers(0, 5)),))
    weights = [reals(draw, x.shape)] if draw(st.booleans()) else []
    return Case([x, *weights], {"minlength": draw(st.integers(0, 6))})


# --- linear algebra ------------------------------------------------------------------------------------------------


@case_of("matmul")
def _matmul(draw: Draw) -> Case:
    rows, inner, columns = (draw(st.integers(0, 3)) for _ in range(3))
    transpose_x, transpose_y = draw(st.booleans()), draw(st.booleans())
    first, second = broadcastable(draw, max_dims=2)
    x = (*first, *((inner, rows) if transpose_x else (rows, inner)))
    y = (*second, *((columns, inner) if transpose_y else (inner, columns)))
    if draw(st.integers(0, 3)) == 0:
        x = (inner,)
    if draw(st.integers(0, 3)) == 0:
        y = (inner,)
    return Case([reals(draw, x), reals(draw, y)], {"transpose_x": transpose_x, "transpose_y": transpose_y})


def _well_conditioned(draw: Draw, batch: tuple[int, ...], size: int) -> Any:
    return reals(draw, (*batch, size, size), -0.5, 0.5) + 2 * np.eye(size)


@case_of("inverse", "det", "slogdet")
def _square(draw: Draw) -> Case:
    return Case([_well_conditioned(draw, draw(shapes(max_dims=1)), draw(st.integers(1, 3)))])


@case_of("solve")
def _solve(draw: Draw) -> Case:
    first, second = broadcastable(draw, max_dims=1)
    size = draw(st.integers(1, 3))
    return Case([_well_conditioned(draw, first, size), reals(draw, (*second, size, draw(st.integers(1, 2))))])


@case_of("cholesky")
def _cholesky(draw: Draw) -> Case:
    # The op reads the lower triangle; the rule gives a symmetric gradient.  Both agree on symmetric directions.
    x = _well_conditioned(draw, draw(shapes(max_dims=1)), draw(st.integers(1, 3)))
    return Case([x @ np.swapaxes(x, -1, -2)])


@case_of("eigh")
def _eigh(draw: Draw) -> Case:
    size = draw(st.integers(1, 3))
    x = reals(draw, (size, size), -0.1, 0.1) + np.diag(np.arange(size) * 1.0 + 1)
    return Case([(x + x.T) / 2])


@case_of("qr")
def _tall_or_wide(draw: Draw) -> Case:
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    base = np.zeros((rows, columns))
    np.fill_diagonal(base, [3.0, 2.0, 1.0])
    # The columns that a tall q has more could be others: there is no gradient.
    attrs = {"is_complete": True} if rows <= columns and draw(st.booleans()) else {}
    return Case([base + reals(draw, base.shape, -0.2, 0.2)], attrs)


@case_of("svd")
def _tall(draw: Draw) -> Case:
    columns = draw(st.integers(1, 2))
    rows = columns + draw(st.integers(0, 2))
    base = np.zeros((rows, columns))
    np.fill_diagonal(base, [2.0, 1.0])
    return Case([base + reals(draw, base.shape, -0.2, 0.2)])


# --- windows -------------------------------------------------------------------------------------------------------


def _window(draw: Draw, dilated: bool = True) -> Window:
    def pair(low: int, high: int) -> tuple[int, int]:
        return draw(st.integers(low, high)), draw(st.integers(low, high))

    kernel = pair(1, 2)
    padding = (*pair(0, 1), *pair(0, 1)) if min(kernel) > 1 else (0, 0, 0, 0)
    return Window(kernel, pair(1, 2), padding, pair(1, 2) if dilated else (1, 1))


def _convolution(draw: Draw) -> tuple[Window, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    window, groups = _window(draw), draw(st.integers(1, 2))
    channels, filters = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    image = (draw(st.integers(1, 2)), channels, draw(st.integers(3, 4)), draw(st.integers(3, 4)))
    output = (image[0], filters, *window.output_sizes(*image[2:]))
    return window, groups, image, (filters, channels // groups, *window.kernel), output


@case_of("conv2d")
def _conv2d(draw: Draw) -> Case:
    window, groups, image, weight, _ = _convolution(draw)
    return Case([reals(draw, image), reals(draw, weight)], {"window": window, "groups": groups})


@case_of("conv2d_image")
def _conv2d_image(draw: Draw) -> Case:
    window, groups, image, weight, output = _convolution(draw)
    attrs = {"window": window, "groups": groups, "size": image[2:]}
    return Case([reals(draw, output), reals(draw, weight)], attrs)


@case_of("conv2d_weight")
def _conv2d_weight(draw: Draw) -> Case:
    window, groups, image, _, output = _convolution(draw)
    return Case([reals(draw, image), reals(draw, output)], {"window": window, "groups": groups})


@case_of("max_pool2d", "window_sum")
def _pool(draw: Draw) -> Case:
    return Case([spaced(draw, (2, 1, 3, 4))], {"window": _window(draw, dilated=False)})


@case_of("window_spread")
def _window_spread(draw: Draw) -> Case:
    window = _window(draw, dilated=False)
    shape = (2, 1, 3, 4)
    g = reals(draw, (2, 1, *window.output_sizes(3, 4)))
    return Case([g], {"window": window, "shape": shape})


def _pooled(x: Any, window: Window) -> Any:
    from d2s.core.op import OP_TABLE

    return OP_TABLE["max_pool2d"].forward(x, window=window)


@case_of("unpool2d")
def _unpool(draw: Draw) -> Case:
    window, x = _window(draw, dilated=False), spaced(draw, (2, 1, 3, 4))
    out = _pooled(x, window)
    return Case([reals(draw, out.shape), x, out], {"window": window})


@case_of("pick2d")
def _pick(draw: Draw) -> Case:
    window, x = _window(draw, dilated=False), spaced(draw, (2, 1, 3, 4))
    return Case([reals(draw, x.shape), x, _pooled(x, window)], {"window": window})


# --- normalisation and losses --------------------------------------------------------------------------------------


def _standardized(draw: Draw) -> tuple[tuple[int, ...], dict[str, Any]]:
    shape = draw(shapes(min_dims=1, min_side=2))
    return shape, {"axis": axes_of(draw, len(shape)) or (len(shape) - 1,), "epsilon": 0.1}


@case_of("standardize")
def _standardize(draw: Draw) -> Case:
    shape, attrs = _standardized(draw)
    return Case([reals(draw, shape)], attrs)


@case_of("standardize_gradient")
def _standardize_gradient(draw: Draw) -> Case:
    shape, attrs = _standardized(draw)
    return Case([reals(draw, shape), reals(draw, shape)], attrs)


@case_of("standardize_parts")
def _standardize_parts(draw: Draw) -> Case:
    return _standardize(draw)


@case_of("standardize_rest")
def _standardize_rest(draw: Draw) -> Case:
    shape, attrs = _standardized(draw)
    scale = tuple(1 if axis in attrs["axis"] else size for axis, size in enumerate(shape))
    return Case([reals(draw, shape), reals(draw, shape), reals(draw, scale)], attrs)


def _labels(draw: Draw, rows: tuple[int, ...]) -> Any:
    labels = integers_below(draw, 3, rows)
    if labels.size and draw(st.booleans()):
        labels.flat[0] = -100
    return labels


@case_of("binary_cross_entropy")
def _binary_cross_entropy(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([reals(draw, first, 0.1, 0.9), reals(draw, second, 0.1, 0.9)])


@case_of("softmax_cross_entropy")
def _cross_entropy(draw: Draw) -> Case:
    rows = draw(shapes(max_dims=2))
    return Case([reals(draw, (*rows, 3)), _labels(draw, rows)], {"ignore_index": -100})


@case_of("softmax_minus_label")
def _softmax_minus_label(draw: Draw) -> Case:
    rows = draw(shapes(max_dims=2))
    return Case([reals(draw, rows), reals(draw, (*rows, 3)), _labels(draw, rows)], {"ignore_index": -100})


@case_of("cross_entropy_parts")
def _cross_entropy_parts(draw: Draw) -> Case:
    return _cross_entropy(draw)


@case_of("cross_entropy_rest")
def _cross_entropy_rest(draw: Draw) -> Case:
    rows = draw(shapes(max_dims=2))
    label = integers_below(draw, 3, rows)
    total = reals(draw, rows, 1.0, 3.0)
    return Case([reals(draw, rows), total, reals(draw, (*rows, 3)), total, label, label > 0], {"ignore_index": -100})


# --- creation and chance -------------------------------------------------------------------------------------------


@case_of("full")
def _full(draw: Draw) -> Case:
    return Case([], {"shape": draw(shapes()), "value": 2, "dtype": F64})


@case_of("empty")
def _empty(draw: Draw) -> Case:
    return Case([], {"shape": draw(shapes()), "dtype": F64})


@case_of("arange")
def _arange(draw: Draw) -> Case:
    step = draw(st.sampled_from([1, 2, -1, 0.5]))
    return Case([], {"start": draw(st.integers(-3, 3)), "end": draw(st.integers(-3, 6)), "step": step, "dtype": F64})


@case_of("linspace")
def _linspace(draw: Draw) -> Case:
    return Case([], {"start": 0.0, "stop": 1.0, "num": draw(st.integers(0, 5)), "dtype": F64})


@case_of("eye")
def _eye(draw: Draw) -> Case:
    return Case([], {"rows": draw(st.integers(0, 4)), "columns": draw(st.integers(0, 4)), "dtype": F64})


@case_of("uniform")
def _uniform(draw: Draw) -> Case:
    return Case([], {"shape": draw(shapes()), "dtype": F64, "min": -1.0, "max": 1.0})


@case_of("gaussian")
def _gaussian(draw: Draw) -> Case:
    return Case([], {"shape": draw(shapes()), "dtype": F64, "mean": 1.0, "std": 2.0})


@case_of("randint")
def _randint(draw: Draw) -> Case:
    return Case([], {"shape": draw(shapes()), "dtype": INT64, "low": -2, "high": 5})


@case_of("randperm")
def _randperm(draw: Draw) -> Case:
    return Case([], {"n": draw(st.integers(0, 5)), "dtype": INT64})


@case_of("bernoulli")
def _bernoulli(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes()), 0, 1)])


@case_of("multinomial")
def _multinomial(draw: Draw) -> Case:
    rows = draw(shapes(max_dims=1, min_side=1))
    return Case([reals(draw, (*rows, 4), 0.1, 1)], {"num_samples": draw(st.integers(1, 4)), "replacement": False})


@case_of("dropout_mask")
def _dropout_mask(draw: Draw) -> Case:
    return Case([], {"shape": draw(shapes()), "p": 0.3, "kept": 1.5, "dtype": F64})


# --- diagonals, runs, pairs ----------------------------------------------------------------------------------------


@case_of("diagonal")
def _diagonal(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes(min_dims=2)))], {"offset": draw(st.integers(-2, 2))})


@case_of("onto_diagonal")
def _onto_diagonal(draw: Draw) -> Case:
    shape, offset = draw(shapes(min_dims=1, max_dims=2)), draw(st.integers(-2, 2))
    size = shape[-1] + abs(offset)
    rows, columns = (size, size + (draw(st.integers(0, 1)) if offset <= 0 and shape[-1] else 0))
    return Case([reals(draw, shape)], {"shape": (*shape[:-1], rows, columns), "offset": offset})


@case_of("running_extremum")
def _running_extremum(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1))
    attrs = {"axis": draw(st.integers(0, len(shape) - 1)), "smallest": draw(st.booleans())}
    return Case([reals(draw, shape).round(1)], attrs)


@case_of("unique_consecutive")
def _unique_consecutive(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    axis = draw(st.none() | st.integers(0, len(shape) - 1))
    return Case([reals(draw, shape).round(0)], {"axis": axis})


@case_of("histogram")
def _histogram(draw: Draw) -> Case:
    shape = draw(shapes(min_side=1))
    args = [reals(draw, shape), *([reals(draw, shape)] if draw(st.booleans()) else [])]
    bounds = draw(st.sampled_from([(0, 0), (-1.0, 1.0)]))
    attrs = {"bins": draw(st.integers(1, 4)), "low": bounds[0], "high": bounds[1], "density": False}
    return Case(args, attrs)


@case_of("gcd", "lcm")
def _whole(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([integers_below(draw, 20, first) - 9, integers_below(draw, 20, second)])


@case_of("signbit")
def _signbit(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes()))])


@case_of("polygamma")
def _polygamma(draw: Draw) -> Case:
    return Case([reals(draw, draw(shapes()), 0.4, 9)], {"n": draw(st.integers(0, 3))})


@case_of("left_shift", "right_shift")
def _shifts(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([integers_below(draw, 200, first) - 100, integers_below(draw, 8, second)])


@case_of("fft")
def _fft(draw: Draw) -> Case:
    shape = draw(shapes(min_dims=1, min_side=1))
    attrs = {
        "axis": draw(st.integers(0, len(shape) - 1)), "inverse": draw(st.booleans()),
        "norm": draw(st.sampled_from(["backward", "ortho", "forward"])),
    }
    return Case([reals(draw, shape)], attrs)


@case_of("logspace")
def _logspace(draw: Draw) -> Case:
    return Case([], {"start": -1.0, "stop": 2.0, "num": draw(st.integers(0, 5)), "base": 3.0, "dtype": F64})


@case_of("complex")
def _complex(draw: Draw) -> Case:
    first, second = broadcastable(draw)
    return Case([reals(draw, first), reals(draw, second)])


@case_of("averaging")
def _averaging(draw: Draw) -> Case:
    return Case([], {"size": draw(st.integers(1, 6)), "count": draw(st.integers(1, 6)), "dtype": F64})


@case_of("nearest_places")
def _nearest_places(draw: Draw) -> Case:
    factor = draw(st.sampled_from([None, 1.5]))
    return Case([], {"old": draw(st.integers(1, 5)), "new": draw(st.integers(1, 6)), "factor": factor})


@case_of("interpolation")
def _interpolation(draw: Draw) -> Case:
    flags = {name: draw(st.booleans()) for name in ("cubic", "align_corners", "starts_at_edge")}
    sizes = {"old": draw(st.integers(1, 5)), "new": draw(st.integers(1, 6))}
    return Case([], {**sizes, "factor": draw(st.sampled_from([None, 1.5])), **flags, "dtype": F64})


@case_of("triangle_places")
def _triangle_places(draw: Draw) -> Case:
    sizes = {"rows": draw(st.integers(0, 4)), "columns": draw(st.integers(0, 4))}
    return Case([], {**sizes, "offset": draw(st.integers(-2, 2)), "upper": draw(st.booleans())})


@case_of("fit")
def _fit(draw: Draw) -> Case:
    shape, is_whole = draw(shapes()), draw(st.booleans())
    return Case([reals(draw, shape), reals(draw, shape if is_whole else (*shape, 1))], {"whole": is_whole})
