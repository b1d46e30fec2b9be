"""The dtypes of results, as the table in `d2s.ops.promotion` says; checked against Paddle 3 where it has an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s.errors import DTypeError
from d2s.ops.promotion import promote


def tensor(dtype: str) -> Any:
    return d2s.to_tensor(np.array([1, 2], dtype))


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        ("float32", 2.5, "float32"),
        ("float32", 2, "float32"),
        ("float32", True, "float32"),
        ("float16", 2.5, "float16"),
        ("float64", 2.5, "float64"),
        ("int64", 2, "int64"),
        ("int64", 2.5, "float32"),
        ("int32", 2, "int32"),
        ("int32", True, "int32"),
        ("uint8", 1, "uint8"),
        ("bool", True, "bool"),
        ("bool", 1, "int64"),
        ("bool", 1.0, "float32"),
        ("float32", 1 + 2j, "complex64"),
        ("float64", 1 + 2j, "complex128"),
        ("int64", 1 + 2j, "complex64"),
        ("complex64", 2.5, "complex64"),
        ("float32", np.float64(2.5), "float32"),
        ("float16", np.float64(2.5), "float16"),
        ("int64", np.float64(2.5), "float32"),
        ("int32", np.int64(2), "int32"),
        ("bool", np.bool_(True), "bool"),
    ],
)
def test_tensor_with_number(dtype: str, number: Any, expected: str) -> None:
    assert (tensor(dtype) + number).dtype == expected
    assert (number + tensor(dtype)).dtype == expected
    assert (tensor(dtype) == number).dtype == "bool"


FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("first", ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("second", ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"])
def test_tensor_with_tensor(first: str, second: str) -> None:
    """NumPy's promotion, except that an integer never changes the width of a float."""
    expected = np.promote_types(first, second)
    for one, other in ((first, second), (second, first)):
        if one in ("bool", *INTEGERS) and other not in ("bool", *INTEGERS):
            expected = np.dtype(other)
    assert promote(np.dtype(first), np.dtype(second)) == expected
    assert (tensor(first) * tensor(second)).dtype == expected


def test_unsigned_and_signed_64_bits_stay_whole() -> None:
    assert promote(np.dtype("uint64"), np.dtype("int64")) == "int64"


@pytest.mark.parametrize(
    ("function", "dtype", "expected"),
    [
        (lambda x: x / 2, "int64", "float32"),
        (lambda x: x / x, "int32", "float32"),
        (lambda x: 1 / x, "bool", "float32"),
        (lambda x: x // 2, "int64", "int64"),
        (lambda x: x // 2.0, "int64", "float32"),
        (lambda x: x % 2, "int32", "int32"),
        (lambda x: x**2, "int64", "int64"),
        (lambda x: x**2.0, "int64", "float32"),
        (lambda x: 2**x, "int64", "int64"),
        (lambda x: 1 - x, "bool", "int64"),
        (lambda x: x.exp(), "int64", "float32"),
        (lambda x: x.sqrt(), "bool", "float32"),
        (lambda x: x.mean(), "int64", "float32"),
        (lambda x: x.std(), "int32", "float32"),
        (lambda x: x.sum(), "bool", "int64"),
        (lambda x: x.sum(), "int32", "int64"),
        (lambda x: x.cumsum(), "int32", "int64"),
        (lambda x: x.prod(), "int32", "int32"),
        (lambda x: x.abs(), "int8", "int8"),
        (lambda x: x.floor(), "int64", "int64"),
        (lambda x: x.clip(0, 1), "int64", "int64"),
        (lambda x: x.clip(0.5, 1), "int64", "float32"),
        (lambda x: x.argmax(), "float32", "int64"),
        (lambda x: d2s.concat([x, x.astype("int64")]), "int32", "int64"),
        (lambda x: d2s.stack([x, x.astype("float64")]), "float32", "float64"),
        (lambda x: d2s.where(x > 1, x, 0.5), "int64", "float32"),
        (lambda x: d2s.matmul(x, x.astype("float64")), "float32", "float64"),
    ],
)
def test_results_of_functions(function: Any, dtype: str, expected: str) -> None:
    assert function(tensor(dtype)).dtype == expected


def test_arrays_count_as_tensors() -> None:
    x = tensor("float32")
    assert (x + np.array([1.0, 2.0])).dtype == "float64"
    result = np.array([1.0, 2.0]) * x
    assert isinstance(result, d2s.Tensor)
    assert result.dtype == "float64"


def test_default_dtype_decides_what_integers_become() -> None:
    d2s.set_default_dtype("float64")
    try:
        assert (tensor("int64") / 2).dtype == "float64"
        assert tensor("int64").exp().dtype == "float64"
    finally:
        d2s.set_default_dtype("float32")


def test_gradients_come_back_in_the_dtype_of_each_tensor() -> None:
    x = d2s.to_tensor(np.array([3.0], "float32"), stop_gradient=False)
    w = d2s.to_tensor(np.array([2.0], "float64"), stop_gradient=False)
    seen: list[str] = []
    x.register_hook(lambda g: seen.append(g.dtype.name))
    w.register_hook(lambda g: seen.append(g.dtype.name))
    (x * w).backward()
    assert sorted(seen) == ["float32", "float64"]
    assert x.grad.dtype == "float32"
    assert float(x.grad) == 2.0
    assert float(w.grad) == 3.0


@pytest.mark.parametrize("other", ["text", None, [1.0, 2.0], object()])
def test_other_kinds_are_refused(other: Any) -> None:
    x = tensor("float32")
    with pytest.raises(TypeError, match="unsupported operand"):
        x + other
    with pytest.raises(TypeError, match="unsupported operand"):
        other - x
    with pytest.raises(DTypeError, match=f"got {type(other).__name__}"):
        d2s.add(x, other)
    assert (x == other) is False
    assert (x != other) is True


def test_an_operand_that_knows_tensors_is_asked() -> None:
    class Meters:
        def __radd__(self, other: Any) -> str:
            return "asked"

    assert tensor("float32") + Meters() == "asked"


def test_number_out_of_range_of_an_integer_dtype() -> None:
    with pytest.raises(OverflowError):
        tensor("int8") + 1000


@pytest.mark.parametrize(
    ("first", "second"),
    [("float32", "float64"), ("float16", "float64"), ("int32", "int64"), ("uint8", "int64")],
)
def test_a_tensor_without_axes_of_the_same_kind_takes_the_dtype_of_the_other(first: str, second: str) -> None:
    scalar = d2s.to_tensor(np.array(2, second))
    for function in (lambda x, s: (x + s, s * x, x - s), d2s.jit.to_static(lambda x, s: (x + s, s * x, x - s))):
        assert {result.dtype.name for result in function(tensor(first), scalar)} == {first}
    assert (tensor("int64") + d2s.to_tensor(2.5)).dtype == d2s.float32
    assert (scalar + scalar.cast(first)).dtype == promote(np.dtype(first), np.dtype(second))
    assert d2s.where(d2s.to_tensor(True), tensor(first), scalar).dtype == promote(np.dtype(first), np.dtype(second))
    assert d2s.maximum(scalar, tensor(first)).dtype == promote(np.dtype(first), np.dtype(second))
