"""Functions of elements."""

from __future__ import annotations

import numpy as np

from .calls import Call, Draw, call


def _unary(name: str, low: float, high: float) -> None:
    call(name)(lambda d: Call([d.array(d.shape(), low, high)]))


for _name, _low, _high in (
    ("exp", -2, 2),
    ("expm1", -2, 2),
    ("log", 0.3, 3),
    ("log1p", -0.6, 3),
    ("log2", 0.3, 3),
    ("log10", 0.3, 3),
    ("sqrt", 0.3, 3),
    ("rsqrt", 0.5, 3),
    ("square", -2, 2),
    ("reciprocal", 0.5, 3),
    ("neg", -2, 2),
    ("abs", 0.1, 2),
    ("tanh", -2, 2),
    ("sigmoid", -4, 4),
    ("sin", -3, 3),
    ("cos", -3, 3),
    ("tan", -1.2, 1.2),
    ("asin", -0.8, 0.8),
    ("acos", -0.8, 0.8),
    ("atan", -3, 3),
    ("sinh", -2, 2),
    ("cosh", -2, 2),
    ("asinh", -3, 3),
    ("acosh", 1.3, 4),
    ("atanh", -0.8, 0.8),
    ("erf", -2, 2),
    ("floor", -3, 3),
    ("ceil", -3, 3),
    ("round", -3, 3),
    ("trunc", -3, 3),
    ("frac", -3, 3),
    ("sign", 0.1, 2),
    ("isnan", -2, 2),
    ("isinf", -2, 2),
    ("isfinite", -2, 2),
    ("deg2rad", -90, 90),
    ("rad2deg", -3, 3),
    ("stanh", -2, 2),
    ("sgn", -2, 2),
    ("angle", -2, 2),
    ("conj", -2, 2),
    ("assign", -2, 2),
    ("zeros_like", -2, 2),
    ("ones_like", -2, 2),
    ("numel", -2, 2),
    ("rank", -2, 2),
    ("shape", -2, 2),
    ("is_empty", -2, 2),
    ("isposinf", -2, 2),
    ("isneginf", -2, 2),
    ("signbit", -2, 2),
    ("logit", 0.2, 0.8),
    ("nan_to_num", -2, 2),
    ("tolist", -2, 2),
    ("lgamma", 0.3, 6),
    ("gammaln", 0.3, 6),
    ("digamma", 0.3, 6),
    ("erfinv", -0.9, 0.9),
    ("sinc", -2, 2),
):
    _unary(_name, _low, _high)


@call(
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "logaddexp",
    "equal",
    "not_equal",
    "less_than",
    "less_equal",
    "greater_than",
    "greater_equal",
    "isclose",
    "heaviside",
)
def _binary(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("float32", "float64")
    return Call([d.array(first, dtype=dtype), d.array(second, dtype=dtype)])


@call("divide", "atan2", "floor_divide", "mod", "remainder", "copysign")
def _quotient(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("float32", "float64")
    return Call([d.array(first, dtype=dtype), d.array(second, 0.5, 2, dtype)])


@call("pow")
def _pow(d: Draw) -> Call:
    first, second = d.pair()
    x = d.array(first, 0.3, 2, "float64")
    return Call([x, d.one(2, 0.5, 3.0, -1, d.array(second, 0.2, 2, "float64"))])


@call("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm")
def _integers(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("int32", "int64")
    return Call([d.array(first, 0, 9, dtype), d.array(second, 1, 9, dtype)])


@call("logical_and", "logical_or", "logical_xor")
def _bools(d: Draw) -> Call:
    first, second = d.pair()
    return Call([d.array(first, dtype="bool"), d.array(second, dtype="bool")])


@call("logical_not", "bitwise_not", "count_nonzero")
def _bool(d: Draw) -> Call:
    return Call([d.array(d.shape(), dtype="bool")])


@call("bitwise_left_shift", "bitwise_right_shift")
def _shifts(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("int32", "int64", "uint8")
    low = 0 if dtype == "uint8" else -90
    return Call([d.array(first, low, 90, dtype), d.array(second, 0, 6, dtype)], {"is_arithmetic": d.one(True, False)})


@call("polygamma")
def _polygamma(d: Draw) -> Call:
    return Call([d.array(d.shape(), 0.3, 6), d.int(0, 3)])


@call("multigammaln")
def _multigammaln(d: Draw) -> Call:
    return Call([d.array(d.shape(), 2, 6), d.int(1, 3)])


@call("lerp")
def _lerp(d: Draw) -> Call:
    first, second = d.pair()
    return Call([d.array(first, dtype="float64"), d.array(second, dtype="float64"), d.one(0.25, 0.9)])


@call("clip")
def _clip(d: Draw) -> Call:
    return Call([d.array(d.shape())], {"min": d.one(None, -0.5), "max": d.one(None, 0.7)})


@call("scale")
def _scale(d: Draw) -> Call:
    return Call(
        [d.array(d.shape()), d.one(2.0, -0.5)], {"bias": d.one(0.0, 1.5), "bias_after_scale": d.one(True, False)}
    )


@call("ldexp")
def _ldexp(d: Draw) -> Call:
    shape = d.shape()
    return Call([d.array(shape, dtype="float32"), d.array(shape, -3, 3, "int32")])


@call("where")
def _where(d: Draw) -> Call:
    first, second = d.pair()
    full = np.broadcast_shapes(first, second)
    return Call([d.array(full, dtype="bool"), d.array(first, dtype="float32"), d.array(second, dtype="float32")])
