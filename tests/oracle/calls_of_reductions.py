"""Reductions, orders and searches."""

from __future__ import annotations

import numpy as np

from .calls import Array, Call, Draw, call


@call("sum", "mean", "logsumexp", "nansum", "nanmean")
def _sum(d: Draw) -> Call:
    shape = d.shape(smallest=d.one(0, 1, 1))
    return Call([d.array(shape)], {"axis": d.axes(len(shape)), "keepdim": d.one(True, False)})


@call("max", "min", "amax", "amin")
def _extremum(d: Draw) -> Call:
    shape = d.shape(smallest=1)
    return Call([d.distinct(shape)], {"axis": d.axes(len(shape)), "keepdim": d.one(True, False)})


@call("prod")
def _prod(d: Draw) -> Call:
    shape = d.shape()
    return Call([d.array(shape, 0.5, 2)], {"axis": d.axes(len(shape)), "keepdim": d.one(True, False)})


@call("any", "all")
def _any(d: Draw) -> Call:
    shape = d.shape()
    return Call([d.array(shape, dtype="bool")], {"axis": d.axes(len(shape)), "keepdim": d.one(True, False)})


@call("var", "std")
def _var(d: Draw) -> Call:
    shape = d.shape(1, smallest=2)
    return Call(
        [d.array(shape)], {"axis": d.axes(len(shape)), "unbiased": d.one(True, False), "keepdim": d.one(True, False)}
    )


@call("norm")
def _norm(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call(
        [d.array(shape, 0.2, 2)],
        {"p": d.one(1, 2, 3, float("inf")), "axis": d.axis(len(shape)), "keepdim": d.one(True, False)},
    )


@call("logcumsumexp")
def _logcumsumexp(d: Draw) -> Call:
    shape = d.shape(1)
    return Call([d.array(shape, -50, 50)], {"axis": d.one(None, d.axis(len(shape)))})


@call("cumsum")
def _cumsum(d: Draw) -> Call:
    shape = d.shape(1)
    return Call([d.array(shape)], {"axis": d.one(None, d.axis(len(shape)))})


@call("cumprod")
def _cumprod(d: Draw) -> Call:
    shape = d.shape(1)
    return Call([d.array(shape, 0.3, 2)], {"dim": d.axis(len(shape))})


@call("cummax", "cummin")
def _cummax(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.distinct(shape)], {"axis": d.one(None, d.axis(len(shape)))})


@call("argmax", "argmin")
def _argmax(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.distinct(shape)], {"axis": d.one(None, d.axis(len(shape))), "keepdim": d.one(True, False)})


@call("median", "nanmedian")
def _median(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    attrs = {"axis": d.one(None, d.axis(len(shape))), "keepdim": d.one(True, False), "mode": d.one("avg", "min")}
    return Call([d.distinct(shape)], attrs)


@call("quantile", "nanquantile")
def _quantile(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call(
        [d.distinct(shape, "float64"), d.one(0.3, [0.1, 0.75])],
        {"axis": d.one(None, d.axis(len(shape))), "keepdim": d.one(True, False)},
    )


@call("sort", "argsort")
def _sort(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.distinct(shape)], {"axis": d.axis(len(shape)), "descending": d.one(True, False)})


@call("topk")
def _topk(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    axis = d.axis(len(shape))
    return Call([d.distinct(shape), d.int(1, shape[axis])], {"axis": axis, "largest": d.one(True, False)})


@call("kthvalue")
def _kthvalue(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    axis = d.axis(len(shape))
    return Call([d.distinct(shape), d.int(1, shape[axis])], {"axis": axis, "keepdim": d.one(True, False)})


@call("mode")
def _mode(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    x = d.array(shape, 0, 2, "int64").data.astype(d.one("float32", "float64", "int64"))
    return Call([Array(x)], {"axis": d.axis(len(shape)), "keepdim": d.one(True, False)})


@call("unique")
def _unique(d: Draw) -> Call:
    return Call(
        [d.array(d.shape(1, 1, 1), 0, 3, "int64")],
        {"return_index": d.one(True, False), "return_inverse": d.one(True, False), "return_counts": d.one(True, False)},
    )


@call("unique_consecutive")
def _unique_consecutive(d: Draw) -> Call:
    return Call(
        [d.array((d.int(1, 6),), 0, 1, "int64")],
        {"return_inverse": d.one(True, False), "return_counts": d.one(True, False)},
    )


@call("nonzero", "argwhere")
def _nonzero(d: Draw) -> Call:
    return Call([d.array(d.shape(1, smallest=1), 0, 1, "int64")])


@call("masked_select")
def _masked_select(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape), d.array(shape, dtype="bool")])


@call("masked_fill")
def _masked_fill(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape), d.array(shape, dtype="bool"), 1.5])


@call("masked_scatter")
def _masked_scatter(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call(
        [
            d.array(shape, dtype="float32"),
            d.array(shape, dtype="bool"),
            d.array((int(np.prod(shape)) + 1,), dtype="float32"),
        ]
    )


@call("searchsorted")
def _searchsorted(d: Draw) -> Call:
    return Call([Array(np.sort(d.rng.random(5))), d.array(d.shape(1), 0, 1, "float64")], {"right": d.one(True, False)})


@call("bucketize")
def _bucketize(d: Draw) -> Call:
    return Call([d.array(d.shape(1), 0, 1, "float64"), Array(np.sort(d.rng.random(5)))], {"right": d.one(True, False)})


@call("bincount")
def _bincount(d: Draw) -> Call:
    count = d.int(1, 6)
    return Call(
        [d.array((count,), 0, 5, "int64")],
        {"weights": d.one(None, d.array((count,), dtype="float32")), "minlength": d.one(0, 8)},
    )


@call("histogram")
def _histogram(d: Draw) -> Call:
    return Call(
        [d.array(d.shape(1, smallest=1), dtype="float32")],
        {"bins": d.int(1, 5), "min": d.one(0, -1), "max": d.one(1, 2)},
    )


@call("isin")
def _isin(d: Draw) -> Call:
    return Call(
        [d.array(d.shape(1, smallest=1), 0, 5, "int64"), d.array((d.int(1, 3),), 0, 5, "int64")],
        {"invert": d.one(True, False)},
    )
