"""Creation and conversion."""

from __future__ import annotations

import numpy as np

from .calls import Call, Draw, call


@call("zeros", "ones")
def _filled(d: Draw) -> Call:
    return Call([list(d.shape())], {"dtype": d.one(None, "float64", "int64", "bool")})


@call("full")
def _full(d: Draw) -> Call:
    return Call([list(d.shape()), d.one(1.5, 2, True)], {"dtype": d.one(None, "float64", "int32")})


@call("full_like")
def _full_like(d: Draw) -> Call:
    return Call([d.array(d.shape()), d.one(1.5, 2)], {"dtype": d.one(None, "float64", "int32")})


@call("arange")
def _arange(d: Draw) -> Call:
    return Call(d.one([5], [1, 5], [1, 7, 2], [5, 0, -2], [0.5, 3.0], [0, 1, 0.25]), {"dtype": d.one(None, "float64")})


@call("linspace")
def _linspace(d: Draw) -> Call:
    return Call([d.one(0, -1.5), d.one(1, 3.5), d.int(1, 6)], {"dtype": d.one(None, "float64")})


@call("logspace")
def _logspace(d: Draw) -> Call:
    attrs = {"base": d.one(10.0, 2.0), "dtype": d.one(None, "float64")}
    return Call([d.one(0, -1.5), d.one(1, 2.5), d.int(1, 6)], attrs)


@call("fft.fftfreq", "fft.rfftfreq")
def _frequencies(d: Draw) -> Call:
    return Call([d.int(1, 7), d.one(1.0, 0.5)])


@call("eye")
def _eye(d: Draw) -> Call:
    return Call([d.int(1, 3), d.one(None, 4)], {"dtype": d.one(None, "int64")})


@call("tril_indices", "triu_indices")
def _tril_indices(d: Draw) -> Call:
    return Call([d.int(1, 4), d.int(1, 4), d.int(-1, 1)])


@call("meshgrid")
def _meshgrid(d: Draw) -> Call:
    vectors = [d.array((d.int(1, 3),), dtype="float32") for _ in range(d.int(1, 3))]
    return Call(vectors, {"indexing": d.one("ij", "xy")})


@call("cast")
def _cast(d: Draw) -> Call:
    return Call([d.array(d.shape(), -3, 3), d.one("float64", "float32", "int64", "bool", "float16", "complex64")])


@call("complex")
def _complex(d: Draw) -> Call:
    first, second = d.pair()
    return Call([d.array(first, dtype="float32"), d.array(second, dtype="float32")])


@call("polar")
def _polar(d: Draw) -> Call:
    shape = d.shape()
    return Call([d.array(shape, 0.5, 2, "float32"), d.array(shape, dtype="float32")])


@call("as_complex", "view_as_complex", "Tensor.view_as_complex")
def _as_complex(d: Draw) -> Call:
    return Call([d.array((*d.shape(0, 2), 2))])


@call("as_real", "view_as_real", "Tensor.view_as_real", "real", "imag")
def _of_complex(d: Draw) -> Call:
    return Call([d.array(d.shape(), dtype="complex64")])


@call("add_n")
def _add_n(d: Draw) -> Call:
    shape = d.shape()
    return Call([[d.array(shape, dtype="float32") for _ in range(d.int(1, 3))]])


@call("Tensor")
def _tensor(d: Draw) -> Call:
    whole = d.array(d.shape(0, 3), -4, 4, d.one("float32", "float64", "int64", "bool", "complex64"))
    data = d.one(whole, whole.data, whole.data.real.tolist() if whole.data.ndim else [1, True, 2.5], ())
    given = {"data": data} if d.int(0, 3) == 0 and not np.iscomplexobj(whole.data) else None
    return Call([], given) if given else Call([data])
