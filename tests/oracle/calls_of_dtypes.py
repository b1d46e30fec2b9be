"""Dtypes: integers, bools, complex numbers, and numbers of Python."""

from __future__ import annotations

from .calls import Call, Draw, call

WHOLE = ("int32", "int64", "uint8", "bool")


def _whole_unary(name: str, low: int = 1) -> None:
    call(f"{name}|whole")(lambda d: Call([d.array(d.shape(1, smallest=1), low, 5, d.one(*WHOLE))]))


for _name in (
    "exp",
    "sqrt",
    "log",
    "sin",
    "tanh",
    "sigmoid",
    "abs",
    "square",
    "sign",
    "floor",
    "round",
    "isnan",
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "any",
    "all",
    "cumsum",
    "argmax",
    "sort",
    "argsort",
    "unique",
    "nonzero",
    "zeros_like",
    "neg",
    "var",
    "count_nonzero",
    "median",
    "logical_not",
    "reciprocal",
    "clone",
):
    _whole_unary(_name)


@call(
    "add|whole",
    "subtract|whole",
    "multiply|whole",
    "maximum|whole",
    "equal|whole",
    "less_than|whole",
    "floor_divide|whole",
    "mod|whole",
    "divide|whole",
    "pow|whole",
)
def _whole_binary(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("int32", "int64")
    return Call([d.array(first, -5, 5, dtype), d.array(second, 1, 5, dtype)])


@call(
    "Tensor.__add__|number",
    "Tensor.__sub__|number",
    "Tensor.__rsub__|number",
    "Tensor.__mul__|number",
    "Tensor.__truediv__|number",
    "Tensor.__rtruediv__|number",
    "Tensor.__pow__|number",
    "Tensor.__floordiv__|number",
    "Tensor.__mod__|number",
    "Tensor.__lt__|number",
    "Tensor.__eq__|number",
)
def _with_a_number(d: Draw) -> Call:
    return Call([d.array(d.shape(), 1, 5, d.one("int32", "int64", "float32", "float64")), d.one(2, 3.0, 0.5)])


@call("dot|whole", "linalg.vecdot|whole")
def _dot(d: Draw) -> Call:
    dtype, shape = d.one("int32", "int64"), d.shape(1, 2, 1)
    return Call([d.array(shape, -9, 9, dtype), d.array(shape, -9, 9, dtype)])


@call("trace|whole")
def _trace(d: Draw) -> Call:
    return Call([d.array(d.shape(2, 3, 1), -9, 9, d.one("int32", "int64"))], {"offset": d.one(0, 1, -1)})


@call("scale|whole")
def _scale(d: Draw) -> Call:
    return Call([d.array(d.shape(), -9, 9, d.one("int32", "int64")), d.one(2, 1.5, -1.5, 0.9)],
                {"bias": d.one(0.0, 1, 1.7, -1.7), "bias_after_scale": d.one(True, False)})


@call("add|complex", "subtract|complex", "multiply|complex", "divide|complex")
def _complex_binary(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("complex64", "complex128")
    return Call([d.array(first, dtype=dtype), d.array(second, 0.5, 2, dtype)])


@call(
    "exp|complex",
    "abs|complex",
    "angle|complex",
    "conj|complex",
    "square|complex",
    "sum|complex",
    "mean|complex",
    "sin|complex",
    "cos|complex",
    "tanh|complex",
    "sigmoid|complex",
    "prod|complex",
    "nn.functional.silu|complex",
    "sqrt|complex",
    "log|complex",
    "sgn|complex",
    "reciprocal|complex",
)
def _complex_unary(d: Draw) -> Call:
    return Call([d.array(d.shape(1, smallest=1), 0.3, 2, d.one("complex64", "complex128"))])


@call("matmul|complex")
def _complex_matmul(d: Draw) -> Call:
    return Call([d.array((2, 3), dtype="complex128"), d.array((3, 2), dtype="complex128")])
