"""Reading and writing ``x[...]``, against NumPy."""

from __future__ import annotations

import enum
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import d2s
from d2s.errors import DTypeError, IndexOutOfRangeError, ShapeError
from d2s.ops.indices import IndexInput
from tests.ops.strategies import shapes, templates


def leaf(array: Any) -> Any:
    return d2s.to_tensor(array, stop_gradient=False)


@st.composite
def indices(draw: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """An index as a user may write it, and the same for NumPy."""
    template, tensors = draw(templates(shape))
    mine: list[Any] = []
    numpy_index: list[Any] = []
    for part in template:
        if not isinstance(part, IndexInput):
            mine.append(part)
            numpy_index.append(part)
            continue
        array = tensors[part.position]
        numpy_index.append(array)
        as_user = draw(st.sampled_from(["array", "tensor", "list"]))
        mine.append({"array": array, "tensor": d2s.to_tensor(array), "list": array.tolist()}[as_user])
        if as_user == "list" and not (array.ndim and array.size):
            mine[-1] = d2s.to_tensor(array)
    if len(mine) == 1 and draw(st.booleans()):
        return mine[0], numpy_index[0]
    return tuple(mine), tuple(numpy_index)


def numpy_steps(index: Any) -> list[Any]:
    """For NumPy: ints (and 0-d arrays) first where there are index arrays, as Paddle and PyTorch do."""
    parts = list(index) if isinstance(index, tuple) else [index]

    def is_single(part: Any) -> bool:
        return isinstance(part, int) or (isinstance(part, np.ndarray) and part.ndim == 0)

    if not any(isinstance(part, np.ndarray) and part.ndim for part in parts) or not any(map(is_single, parts)):
        return [tuple(parts)]
    first: list[Any] = []
    for part in parts:
        if is_single(part) or part is Ellipsis:
            first.append(part)
        elif part is not None:
            is_mask = isinstance(part, np.ndarray) and part.dtype == bool
            first += [slice(None)] * (part.ndim if is_mask else 1)
    return [tuple(first), tuple(part for part in parts if not is_single(part))]


def read(array: Any, index: Any) -> Any:
    for step in numpy_steps(index):
        array = array[step]
    return array


@given(data=st.data())
def test_reading(data: Any) -> None:
    shape = data.draw(shapes(min_side=1))
    index, numpy_index = data.draw(indices(shape))
    array = np.arange(float(np.prod(shape))).reshape(shape)
    x = leaf(array)
    result = x[index]
    np.testing.assert_array_equal(result.numpy(), read(array, numpy_index))
    assert result.shape == list(read(array, numpy_index).shape)
    # Each element gets the sum of the weights of all places that read it.
    weights = np.arange(1.0, 1.0 + result.size).reshape(result.shape)
    (result * weights).sum().backward()
    places = read(np.arange(array.size).reshape(shape), numpy_index)
    expected = np.zeros(array.size)
    np.add.at(expected, np.asarray(places).reshape(-1), weights.reshape(-1))
    np.testing.assert_array_equal(x.grad.numpy(), expected.reshape(shape))


@given(data=st.data())
def test_writing(data: Any) -> None:
    shape = data.draw(shapes(min_side=1))
    index, numpy_index = data.draw(indices(shape))
    array = np.arange(float(np.prod(shape))).reshape(shape)
    places = np.asarray(read(np.arange(array.size).reshape(shape), numpy_index))
    value = np.arange(100.0, 100.0 + places.size).reshape(places.shape)
    if data.draw(st.booleans()):
        value = value[(None,) * data.draw(st.integers(1, 2))]
    source, v = leaf(array), leaf(value)
    x = source * 1
    x[index] = v
    # The last of several writes to one place stays.
    writer = np.full(array.size, -1)
    writer[places.reshape(-1)] = np.arange(places.size)
    written = writer >= 0
    expected = np.where(written, value.reshape(-1)[writer] if value.size else 0, array.reshape(-1))
    np.testing.assert_array_equal(x.numpy(), expected.reshape(shape))
    weights = np.arange(1.0, 1.0 + array.size).reshape(shape)
    (x * weights).sum().backward()
    np.testing.assert_array_equal(source.grad.numpy().reshape(-1), np.where(written, 0, weights.reshape(-1)))
    to_value = np.zeros(value.size)
    to_value[writer[written]] = weights.reshape(-1)[written]
    np.testing.assert_array_equal(v.grad.numpy(), to_value.reshape(value.shape))


def test_number_and_broadcast_values() -> None:
    x = d2s.zeros([2, 3])
    x[0] = 1
    x[:, 1] = d2s.to_tensor([5.0, 6.0])
    x[1, ::2] = np.float64(2.5)
    assert x.tolist() == [[1, 5, 1], [2.5, 6, 2.5]]
    assert x.dtype == "float32"


def test_value_is_cast_to_the_dtype_of_the_tensor() -> None:
    x = d2s.zeros([3], "int64")
    x[1] = 2.9
    x[0] = d2s.to_tensor([7.5])
    assert x.tolist() == [7, 2, 0]
    assert x.dtype == "int64"


def test_int_beside_a_list_picks_first() -> None:
    x = d2s.arange(24).reshape([2, 3, 4])
    assert x[0, :, [0, 1]].shape == [3, 2]
    assert x[d2s.to_tensor(0), :, [0, 1]].shape == [3, 2]
    y = x * 1
    y[0, :, [0, 1]] = d2s.full([3, 2], -1, "int64")
    assert y.numpy()[0, :, :2].tolist() == [[-1, -1]] * 3
    assert y.numpy()[1].tolist() == x.numpy()[1].tolist()


def test_scalar_bool_adds_an_axis() -> None:
    x = d2s.ones([2])
    assert x[True].shape == [1, 2]
    assert x[False].shape == [0, 2]


def test_slice_bounds_may_be_tensors() -> None:
    x = d2s.arange(6)
    assert x[d2s.to_tensor(1) : d2s.to_tensor(4)].tolist() == [1, 2, 3]
    assert x[np.int32(1) : np.int64(5) : np.int8(2)].tolist() == [1, 3]


class _Column(enum.IntEnum):
    FIRST = 0
    THIRD = 2


class _Last:
    def __index__(self) -> int:
        return -1


@pytest.mark.parametrize("convert", [lambda f: f, d2s.to_static], ids=["eager", "static"])
@pytest.mark.parametrize("column", [_Column.THIRD, _Last(), np.int8(2), True])
def test_what_has_an_index_is_one(column: Any, convert: Any) -> None:
    array = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    x = d2s.to_tensor(array)
    np.testing.assert_array_equal(convert(lambda x: x[column])(x).numpy(), array[column])
    np.testing.assert_array_equal(convert(lambda x: x[_Column.FIRST, column])(x).numpy(), array[0, column])
    np.testing.assert_array_equal(convert(lambda x: x[_Column.FIRST : column])(x).numpy(), array[0:column])


def test_list_with_tensors_in_it() -> None:
    x = d2s.arange(6)
    assert x[[d2s.to_tensor(1), 3]].tolist() == [1, 3]


def test_iteration_and_unpacking() -> None:
    x = d2s.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    first, second = x
    assert first.tolist() == [1, 2]
    assert second.tolist() == [3, 4]
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="0-d"):
        iter(d2s.to_tensor(1.0))


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (5, IndexOutOfRangeError, "index 5 is out of range for an axis of size 2 (shape [2, 3])"),
        ((0, -4), IndexOutOfRangeError, "index -4 is out of range for an axis of size 3"),
        ((0, 0, 0), IndexOutOfRangeError, "too many indices: 3 for a tensor of shape [2, 3]"),
        ((..., 0, ...), IndexOutOfRangeError, "one ellipsis"),
        ([0, 7], IndexOutOfRangeError, "index 7 is out of bounds for axis 0 with size 2 (shape [2, 3])"),
        (np.ones((3, 3), bool), IndexOutOfRangeError, "mask of shape [3, 3] does not fit"),
        (([0, 1], [0, 1, 2]), ShapeError, "index tensors of shapes [2] and [3]"),
        (slice(None, None, 0), ShapeError, "step of a slice cannot be 0"),
        (1.5, DTypeError, "got float"),
        ("name", DTypeError, "got str"),
        ([0.5], DTypeError, "got float64"),
    ],
)
def test_wrong_index(index: Any, error: type[Exception], message: str) -> None:
    x = d2s.ones([2, 3])
    with pytest.raises(error, match=re.escape(message)):
        x[index]
    before = x.numpy()
    with pytest.raises(error, match=re.escape(message)):
        x[index] = 0.0
    np.testing.assert_array_equal(x.numpy(), before)


def test_value_that_does_not_fit() -> None:
    x = d2s.ones([2, 3])
    with pytest.raises(ShapeError, match=re.escape("value of shape [2] into a part of shape [3]")):
        x[0] = d2s.ones([2])
    assert x.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_second_gradient_through_repeated_indices() -> None:
    x = leaf(np.array([1.0, 2.0, 3.0]))
    y = (x[[0, 0, 2]] ** 3).sum()
    (first,) = d2s.grad([y], [x], create_graph=True)
    assert first.tolist() == [6, 0, 27]
    (second,) = d2s.grad([first.sum()], [x])
    assert second.tolist() == [12, 0, 18]
