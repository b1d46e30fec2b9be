"""A Python number that a tensor's dtype cannot hold is an error with the user's line, in both modes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import NumberError
from d2s.nn import functional as F


def write(x: Any, value: Any) -> Any:
    x = x.clone()
    x[0] = value
    return x


def set_value(x: Any, values: Any) -> Any:
    x = x.clone()
    x.set_value(values)
    return x


CALLS = {
    "to_tensor": lambda x, n: d2s.to_tensor(n, dtype="int8"),
    "to_tensor of a list": lambda x, n: d2s.to_tensor([[1], [n]], dtype="int8"),
    "item": write,
    "set_value": lambda x, n: set_value(x, [1, n, 2]),
    "set_value of a number": lambda x, n: set_value(x.sum().cast("int8"), n),
    "full": lambda x, n: d2s.full([2], n, dtype="int8"),
    "full_like": lambda x, n: d2s.full_like(x, n),
    "fill_": lambda x, n: x.clone().fill_(n),
    "fill_diagonal_": lambda x, n: d2s.stack([x, x]).fill_diagonal_(n),
    "masked_fill": lambda x, n: d2s.masked_fill(x, x > 1, n),
    "index_fill": lambda x, n: d2s.index_fill(x, d2s.to_tensor([0]), 0, n),
    "put_along_axis": lambda x, n: d2s.put_along_axis(x, d2s.to_tensor([0]), n, 0),
    "put_along_axis that adds": lambda x, n: d2s.put_along_axis(x, d2s.to_tensor([0]), n, 0, reduce="add"),
    "pad": lambda x, n: F.pad(x.reshape([1, 1, 3]), [1, 1], value=n),
    "where": lambda x, n: d2s.where(x > 1, x, int(n)),
    "maximum": lambda x, n: d2s.maximum(x, int(n)),
    "clip": lambda x, n: d2s.clip(x, int(n) - 1, int(n)),
    "linspace": lambda x, n: d2s.linspace(0, n, 3, dtype="int8"),
    "logspace": lambda x, n: d2s.logspace(0, n, 2, base=1.5, dtype="int8"),
    "arange": lambda x, n: d2s.arange(0, n + 1, n, dtype="int8"),
    "randint": lambda x, n: d2s.randint(0, int(n) + 1, [2], dtype="int8"),
    "randint_like": lambda x, n: d2s.randint_like(x, 0, int(n) + 1),
}


@pytest.mark.parametrize("is_static", [False, True], ids=["eager", "static"])
@pytest.mark.parametrize("name", CALLS)
def test_numbers(name: str, is_static: bool) -> None:
    x = d2s.to_tensor([1, 2, 3], dtype="int8")

    def fits(x: Any) -> Any:
        return CALLS[name](x, 11)

    def too_large(x: Any) -> Any:
        return CALLS[name](x, 300)

    def too_large_a_fraction(x: Any) -> Any:
        return CALLS[name](x, 300.5)

    functions = (d2s.jit.to_static(f) if is_static else f for f in (fits, too_large, too_large_a_fraction))
    found = next(functions)(x)
    assert found.dtype == np.int8
    for function in functions:
        with pytest.raises(NumberError, match="is out of range for int8") as caught:
            function(x)
        assert "test_numbers_that_do_not_fit.py" in str(caught.value)


@pytest.mark.parametrize("number", [-1, 256, 10**400, float("nan"), float("inf")])
def test_numbers_of_all_sorts(number: Any) -> None:
    for make in (lambda: d2s.to_tensor([number], dtype="uint8"), lambda: d2s.full([1], number, dtype="uint8"),
                 lambda: d2s.zeros([1], dtype="uint8").set_value([number])):
        with pytest.raises(NumberError):
            make()


def test_arrays_and_tensors_are_cast() -> None:
    with np.errstate(all="ignore"):
        expected = np.array([300]).astype("int8").tolist()
    assert d2s.to_tensor(np.array([300]), dtype="int8").tolist() == expected
    assert d2s.to_tensor([300]).cast("int8").tolist() == expected
    assert write(d2s.to_tensor([1], dtype="int8"), d2s.to_tensor(300)).tolist() == expected


@pytest.mark.parametrize("is_static", [False, True], ids=["eager", "static"])
@pytest.mark.parametrize(("dtype", "number"), [("float16", 70000), ("float16", -1e10), ("float32", 1e300)])
def test_floating_point_numbers_that_are_too_large_are_infinite(dtype: str, number: float, is_static: bool) -> None:
    # Warnings are errors in these tests.
    def f(x: Any) -> Any:
        return [
            x * number, number + x, d2s.maximum(-x * math.inf, number), write(x, number), set_value(x, [number, 1]),
            d2s.to_tensor(number, dtype=dtype), d2s.to_tensor([number], dtype=dtype), d2s.full([1], number, dtype),
            d2s.masked_fill(x, x > 0, number), d2s.where(x > 0, number, x), d2s.put_along_axis(
                x, d2s.to_tensor([0]), number, 0), x.cast("float64").multiply(d2s.to_tensor(number)).cast(dtype)]

    for found in (d2s.to_static(f) if is_static else f)(d2s.ones([2], dtype)):
        assert found.dtype == dtype
        assert found.flatten()[0].item() == math.copysign(math.inf, number)


def test_a_number_that_does_not_fit_is_found_after_the_shape() -> None:
    for f in (lambda x: set_value(x, [300]), d2s.to_static(lambda x: set_value(x, [300]))):
        with pytest.raises(d2s.ShapeError, match=r"set_value needs shape \[2\], got \[1\]"):
            f(d2s.zeros([2], "int8"))
