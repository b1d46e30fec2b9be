"""Shapes, parts and places."""

from __future__ import annotations

import numpy as np

from .calls import Array, Call, Draw, call


@call("reshape", "view")
def _reshape(d: Draw) -> Call:
    shape = d.shape(smallest=1)
    target = [int(size) for size in d.rng.permutation(shape)] + [1] * d.int(0, 2)
    if target and d.int(0, 1):
        target[d.int(0, len(target) - 1)] = -1
    return Call([d.array(shape), target])


@call("flatten")
def _flatten(d: Draw) -> Call:
    shape = d.shape(1)
    start = d.int(0, len(shape) - 1)
    return Call([d.array(shape), start, d.int(start, len(shape) - 1) - len(shape) * d.int(0, 1)])


@call("squeeze")
def _squeeze(d: Draw) -> Call:
    shape = d.shape(1)
    return Call([d.array(shape)], {"axis": d.axes(len(shape))})


@call("unsqueeze")
def _unsqueeze(d: Draw) -> Call:
    shape = d.shape()
    return Call([d.array(shape), d.one(d.axis(len(shape) + 1), [0, 1] if shape else [0])])


@call("transpose")
def _transpose(d: Draw) -> Call:
    shape = d.shape()
    return Call([d.array(shape), [int(a) - len(shape) * d.int(0, 1) for a in d.rng.permutation(len(shape))]])


@call("moveaxis")
def _moveaxis(d: Draw) -> Call:
    shape = d.shape(1)
    return Call([d.array(shape), d.axis(len(shape)), d.axis(len(shape))])


@call("t")
def _t(d: Draw) -> Call:
    return Call([d.array(d.shape(0, 2))])


@call("concat")
def _concat(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    axis = d.axis(len(shape))
    parts = [
        tuple(d.int(1, 3) if place == axis % len(shape) else size for place, size in enumerate(shape))
        for _ in range(d.int(1, 3))
    ]
    return Call([[d.array(part, dtype="float32") for part in parts]], {"axis": axis})


@call("stack")
def _stack(d: Draw) -> Call:
    shape = d.shape()
    return Call([[d.array(shape, dtype="float64") for _ in range(d.int(1, 3))]], {"axis": d.axis(len(shape) + 1)})


@call("hstack", "vstack", "dstack", "column_stack", "row_stack")
def _stacks(d: Draw) -> Call:
    shape = d.shape(0, 2, 1)
    return Call([[d.array(shape, dtype="float64") for _ in range(d.int(1, 3))]])


@call("atleast_1d", "atleast_2d", "atleast_3d")
def _atleast(d: Draw) -> Call:
    return Call([d.array(d.shape(0, 3, 1)) for _ in range(d.int(1, 2))])


@call("split", "chunk")
def _split(d: Draw) -> Call:
    shape = list(d.shape(1, smallest=1))
    axis, parts = d.axis(len(shape)), d.int(1, 3)
    shape[axis] = parts * d.int(1, 2)
    return Call([d.array(tuple(shape)), parts], {"axis": axis})


@call("tensor_split")
def _tensor_split(d: Draw) -> Call:
    shape = d.shape(1, smallest=2)
    return Call([d.array(shape), d.one(2, 3, [1])], {"axis": d.axis(len(shape))})


@call("unbind", "unstack")
def _unbind(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape)], {"axis": d.axis(len(shape))})


@call("tile")
def _tile(d: Draw) -> Call:
    return Call([d.array(d.shape(smallest=1)), [d.int(1, 2) for _ in range(d.int(1, 3))]])


@call("expand", "broadcast_to")
def _expand(d: Draw) -> Call:
    shape = d.shape(smallest=1)
    return Call([d.array(shape), [*[2] * d.int(0, 1), *(3 if size == 1 else size for size in shape)]])


@call("expand_as")
def _expand_as(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape), d.array((2, *shape))])


@call("broadcast_tensors")
def _broadcast_tensors(d: Draw) -> Call:
    return Call([[d.array(shape, dtype="float32") for shape in d.pair()]])


@call("flip")
def _flip(d: Draw) -> Call:
    shape = d.shape(1)
    return Call([d.array(shape), d.axis(len(shape))])


@call("roll")
def _roll(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape), d.int(-3, 3)], {"axis": d.one(None, d.axis(len(shape)))})


@call("rot90")
def _rot90(d: Draw) -> Call:
    return Call([d.array(d.shape(2, smallest=1)), d.int(-2, 3)])


@call("repeat_interleave")
def _repeat(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape), d.int(1, 3)], {"axis": d.one(None, d.axis(len(shape)))})


@call("unflatten")
def _unflatten(d: Draw) -> Call:
    return Call([d.array((2, 6)), 1, d.one([2, 3], [-1, 2])])


@call("gather", "index_select")
def _gather(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    axis = d.int(0, len(shape) - 1)
    return Call([d.array(shape), Array(d.rng.integers(0, shape[axis], (d.int(1, 4),)))], {"axis": axis})


@call("gather_nd")
def _gather_nd(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    depth = d.int(1, len(shape))
    index = np.stack([d.rng.integers(0, size, (3,)) for size in shape[:depth]], -1)
    return Call([d.array(shape), Array(index)])


@call("take_along_axis")
def _take_along_axis(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    axis = d.axis(len(shape))
    return Call([d.array(shape), Array(d.rng.integers(0, shape[axis], shape)), axis])


@call("put_along_axis")
def _put_along_axis(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    axis = d.axis(len(shape))
    index = np.argsort(d.rng.random(shape), axis)
    return Call(
        [d.array(shape, dtype="float32"), Array(index), d.array(shape, dtype="float32"), axis],
        {"reduce": d.one("assign", "add")},
    )


@call("index_sample")
def _index_sample(d: Draw) -> Call:
    return Call([d.array((3, 4)), Array(d.rng.integers(0, 4, (3, 2)))])


@call("index_add")
def _index_add(d: Draw) -> Call:
    return Call([d.array((3, 4), dtype="float32"), Array(d.rng.integers(0, 3, 2)), 0, d.array((2, 4), dtype="float32")])


@call("index_fill")
def _index_fill(d: Draw) -> Call:
    return Call([d.array((3, 4)), Array(np.array([0, 2])), d.one(0, 1, -1), 1.5])


@call("index_put")
def _index_put(d: Draw) -> Call:
    return Call(
        [d.array((3, 4), dtype="float32"), [Array(np.array([0, 2, 0]))], d.array((3, 4), dtype="float32")],
        {"accumulate": True},
    )


@call("scatter")
def _scatter(d: Draw) -> Call:
    return Call(
        [d.array((4, 2), dtype="float32"), Array(d.rng.permutation(4)[:2]), d.array((2, 2), dtype="float32")],
        {"overwrite": d.one(True, False)},
    )


@call("scatter_nd_add")
def _scatter_nd_add(d: Draw) -> Call:
    return Call(
        [d.array((4, 2), dtype="float32"), Array(d.rng.integers(0, 4, (3, 1))), d.array((3, 2), dtype="float32")]
    )


@call("take")
def _take(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    count = int(np.prod(shape))
    return Call(
        [d.array(shape), Array(d.rng.integers(-count, count, (2, 2)))], {"mode": d.one("raise", "wrap", "clip")}
    )


@call("slice")
def _slice(d: Draw) -> Call:
    return Call([d.array((4, 5)), [0, 1], [1, -3], [d.int(2, 9), 4]])


@call("strided_slice")
def _strided_slice(d: Draw) -> Call:
    return Call([d.array((4, 5)), [0, 1], [0, 1], [d.int(2, 4), 5], [d.int(1, 2), 2]])


@call("multiplex")
def _multiplex(d: Draw) -> Call:
    return Call(
        [[d.array((3, 2), dtype="float32") for _ in range(2)], Array(d.rng.integers(0, 2, (3, 1)).astype("int32"))]
    )


@call("diff")
def _diff(d: Draw) -> Call:
    shape = d.shape(1, smallest=2)
    return Call([d.array(shape)], {"n": 1, "axis": d.axis(len(shape))})


@call("trapezoid", "cumulative_trapezoid")
def _trapezoid(d: Draw) -> Call:
    shape = d.shape(1, smallest=2)
    return Call([d.array(shape, dtype="float64")], {"dx": d.one(None, 0.5), "axis": d.axis(len(shape))})


@call("combinations")
def _combinations(d: Draw) -> Call:
    return Call([d.array((d.int(2, 4),), dtype="float64"), d.int(1, 2)], {"with_replacement": d.one(True, False)})


@call("fft.fftshift", "fft.ifftshift")
def _shifted(d: Draw) -> Call:
    # Over several axes: along one, Paddle hands its own `roll` what this does not take.
    return Call([d.array(d.shape(2, smallest=1), dtype="float64")])


def _transform(d: Draw, dtype: str) -> Call:
    shape = d.shape(1, smallest=2)
    attrs = {"n": d.one(None, 3, 5), "axis": d.axis(len(shape)), "norm": d.one("backward", "ortho", "forward")}
    return Call([d.array(shape, dtype=dtype)], attrs)


@call("fft.fft", "fft.ifft")
def _fft(d: Draw) -> Call:
    return _transform(d, d.one("float32", "float64", "complex64", "complex128"))


@call("fft.rfft", "fft.ihfft")
def _rfft(d: Draw) -> Call:
    return _transform(d, d.one("float32", "float64"))


@call("fft.irfft", "fft.hfft")
def _irfft(d: Draw) -> Call:
    return _transform(d, d.one("complex64", "complex128"))


def _several(d: Draw, dtype: str) -> Call:
    shape = d.shape(2, smallest=2)
    attrs = {"s": d.one(None, [3, 4]), "norm": d.one("backward", "ortho", "forward")}
    return Call([d.array(shape, dtype=dtype)], attrs)


@call("fft.fft2", "fft.ifft2", "fft.fftn", "fft.ifftn", "fft.irfft2", "fft.irfftn")
def _fft2(d: Draw) -> Call:
    return _several(d, d.one("complex64", "complex128"))


@call("fft.rfft2", "fft.rfftn")
def _rfft2(d: Draw) -> Call:
    return _several(d, d.one("float32", "float64"))


@call("cartesian_prod")
def _cartesian(d: Draw) -> Call:
    return Call([[d.array((d.int(1, 3),), dtype="float32") for _ in range(d.int(1, 3))]])


@call("block_diag")
def _block_diag(d: Draw) -> Call:
    return Call([[d.array(d.shape(1, 2, 1), dtype="float32") for _ in range(d.int(1, 3))]])
