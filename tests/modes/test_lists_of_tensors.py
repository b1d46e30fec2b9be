"""`array_write`, `array_read`, `array_length` and parts of lists at places that only the run knows, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s.errors import IndexOutOfRangeError
from d2s.tensor import array_length, array_read, array_write, create_array


def filled(x: Any) -> Any:
    array, i = create_array("float32"), d2s.to_tensor(0)
    while i < 3:
        array_write(x * i, i, array)
        i = i + 1
    return array_read(array, d2s.to_tensor(1)) + array_length(array)


def read_back(x: Any) -> Any:
    array, i = array_write(x, d2s.to_tensor([0])), d2s.to_tensor(0)
    while i < 3:
        array_write(array_read(array, i) * x, i + 1, array)
        i = i + 1
    total, j = array_read(array, 0), d2s.to_tensor(1)
    while j < array_length(array):
        total = total + array_read(array, j)
        j += 1
    return total


def written_over(x: Any) -> Any:
    array, i = create_array("float32"), d2s.to_tensor(0)
    while i < 3:
        array_write(x * i, i, array)
        i = i + 1
    i = d2s.to_tensor(0)
    while i < 2:
        array_write(array_read(array, i + 1) * x * 3, i, array)
        i = i + 1
    return d2s.stack(array).sum(0) * array_length(array)


def grown_in_branches(x: Any) -> Any:
    array, zero = create_array("float32"), 0 * x.sum().cast("int64")
    if x.sum() > 2:
        array_write(x * x, zero, array)
        array_write(x * x * x, zero + 1, array)
    else:
        array_write(x * x, zero, array)
    return array[-1] * array_length(array)


def short_list(x: Any) -> Any:
    array = [x, x * 2, x * 3]
    array_write(x * x, x.sum().cast("int64") - 1, array)
    return array[0] + 10 * array[1] + 100 * array[2]


def part_of_a_list(x: Any) -> Any:
    array, place = [x, x * 2, x * 3], int(x.sum())
    array[place - 3 : place - 1] = [x * x, x * x * x, x]
    return array[0] + 10 * array[1] + 100 * array[2] + len(array)


def results(function: Any, numbers: list[float]) -> tuple[list[float], list[float], list[float]]:
    """Values, and what hooks saw and left as gradient."""
    x, seen = d2s.to_tensor(numbers, stop_gradient=False), list[float]()
    x.register_hook(lambda g: seen.extend(g.tolist()) or g * g)
    y = function(x)
    y.sum().backward()
    return y.tolist(), seen, x.grad.tolist()


@pytest.mark.parametrize("numbers", [[1.0, 2.0], [0.5, 1.0], [-1.0, 4.0]])
@pytest.mark.parametrize(
    "function", [filled, read_back, written_over, grown_in_branches, short_list, part_of_a_list],
    ids=lambda function: function.__name__)
def test_both_modes(function: Any, numbers: list[float]) -> None:
    try:
        expected: Any = results(function, numbers)
    except IndexOutOfRangeError as error:
        expected = error
    static = d2s.jit.to_static(function)
    for _ in range(2):
        if isinstance(expected, IndexOutOfRangeError):
            with pytest.raises(IndexOutOfRangeError) as caught:
                static(d2s.to_tensor(numbers))
            assert caught.value.message == expected.message
            assert caught.value.location.line == expected.location.line  # type: ignore[union-attr]
        else:
            assert results(static, numbers) == expected


def test_against_numpy() -> None:
    values, seen, gradient = results(d2s.jit.to_static(read_back), [1.0, 2.0])
    x = np.array([1.0, 2.0])
    slope = 1 + 2 * x + 3 * x**2 + 4 * x**3
    assert values == (x + x**2 + x**3 + x**4).tolist()
    assert (seen, gradient) == (slope.tolist(), (slope * slope).tolist())


def test_place_after_the_end() -> None:
    def outside(x: Any) -> Any:
        array, i = create_array("float32"), d2s.to_tensor(0)
        while i < 3:
            array_write(x, i + 1, array)
            i = i + 1
        return array[0]

    for function in (outside, d2s.jit.to_static(outside)):
        with pytest.raises(IndexOutOfRangeError, match="after the end") as caught:
            function(d2s.to_tensor([1.0]))
        assert "array_write(x, i + 1, array)" in str(caught.value)
