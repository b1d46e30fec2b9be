"""``Tensor(...)``: of lists, arrays, tensors and sizes, in both modes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import Tensor
from d2s.errors import ArgumentError, D2SError, DTypeError, ShapeError, TracingError


def of_lists(x: Any) -> Any:
    return Tensor([1, 2]), Tensor([[1, 2.5], [True, 3]]), Tensor(()), Tensor((2, 3)), Tensor(data=[1])


def of_arrays(x: Any) -> Any:
    array = np.arange(3)
    return Tensor(array), Tensor(array / 2), Tensor(np.array(True)), Tensor(value=array), Tensor(data=array)


def of_tensors(x: Any) -> Any:
    return Tensor(x), Tensor(x.astype("int64")), Tensor(data=x.astype("int64")), Tensor([x[0], x[1] * 2]), Tensor(x * 2)


def of_values_of_the_run(x: Any) -> Any:
    return Tensor(x.numpy()), Tensor(x.tolist()), Tensor([x.sum().item(), 1]), Tensor(np.sin(x.numpy()))


def of_sizes(x: Any) -> Any:
    return Tensor(), Tensor(2), Tensor(2, 0, 3), Tensor(x.shape[0], 2), Tensor(int(x.sum()))


def of_a_list_that_grows(x: Any) -> Any:
    seen = []
    while x.sum() > 1:
        seen.append(x.sum().item())
        x = x / 2
    return [Tensor(seen)]


def with_settings(x: Any) -> Any:
    array = np.ones(2)
    return (
        Tensor(array, "cpu"), Tensor(array, place=d2s.CPUPlace(), persistable=True, zero_copy=False),
        Tensor(x, stop_gradient=False), Tensor([1], device="cpu"),
    )


PROGRAMS = [
    of_lists, of_arrays, of_tensors, of_values_of_the_run, of_sizes, of_a_list_that_grows, with_settings]


def told(results: Any) -> list[Any]:
    return [
        (type(found), found.dtype.name, found.shape, found.tolist(), found.stop_gradient, found.is_leaf)
        for found in results]


def argument() -> Any:
    return d2s.to_tensor([1.0, 2.0], stop_gradient=False) * 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_modes(program: Callable[[Any], Any]) -> None:
    assert told(program(argument())) == told(d2s.jit.to_static(program)(argument()))


def test_dtypes_and_shapes() -> None:
    """As PaddlePaddle 3.3.1."""
    kinds = {
        program.__name__: [(found.dtype.name, found.shape) for found in program(argument())] for program in PROGRAMS}
    assert kinds["of_lists"] == [
        ("float32", [2]), ("float32", [2, 2]), ("float32", [0]), ("float32", [2]), ("float32", [1])]
    assert kinds["of_arrays"] == [
        ("int64", [3]), ("float64", [3]), ("bool", []), ("int64", [3]), ("float32", [3])]
    assert kinds["of_tensors"][:3] == [("float32", [2]), ("int64", [2]), ("float32", [2])]
    assert kinds["of_sizes"] == [("float32", shape) for shape in ([0], [2], [2, 0, 3], [2, 2], [3])]
    assert Tensor((2, 3)).tolist() == [2, 3]


def test_the_data_is_copied() -> None:
    array = np.ones(2)
    made = Tensor(array)
    array[0] = 5
    other = Tensor(made)
    other[0] = 7
    assert made.tolist() == [1, 1]


def test_a_gradient_flows_into_it_and_stops_there() -> None:
    x = argument()
    y = Tensor(x, stop_gradient=False, name="mine")
    (y * y).sum().backward()
    assert y.grad.tolist() == [2, 4]
    assert x.grad is None
    assert y.name == "mine"


def test_the_name_in_a_static_function() -> None:
    assert d2s.jit.to_static(lambda: Tensor([1], name="mine").name)() == "mine"


class Own(Tensor):
    def doubled(self) -> Any:
        return self * 2


@pytest.mark.parametrize("remade", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_child_of_the_class(remade: Callable[[Any], Any]) -> None:
    made = Own([1], stop_gradient=False)
    assert isinstance(made, Own)
    assert made.doubled().tolist() == [2]
    assert remade(made).tolist() == [1]


def test_a_child_of_the_class_of_a_value_of_the_run() -> None:
    with pytest.raises(TracingError, match="NumPy array needs the values"):
        d2s.jit.to_static(lambda x: Own(x))(argument())


def of_number(x: Any) -> Any:
    return Tensor(1.5)


def of_number_of_the_run(x: Any) -> Any:
    return Tensor(x.sum().item())


def of_bool(x: Any) -> Any:
    return Tensor(True)


def of_none(x: Any) -> Any:
    return Tensor(None)


def of_text(x: Any) -> Any:
    return Tensor(["a"])


def of_two_lists(x: Any) -> Any:
    return Tensor([1], [2])


def of_nothing_known(x: Any) -> Any:
    return Tensor([1], dtype="float64")


def given_twice(x: Any) -> Any:
    return Tensor([1], data=[2])


def of_lists_that_differ(x: Any) -> Any:
    return Tensor([[1], [2, 3]])


def of_negative_size(x: Any) -> Any:
    return Tensor(2, -1)


def on_a_gpu(x: Any) -> Any:
    return Tensor([1], place="gpu:0")


def integers_with_gradients(x: Any) -> Any:
    return Tensor(np.ones(2, int), stop_gradient=False)


REFUSED: list[tuple[Callable[[Any], Any], type[D2SError], str]] = [
    (of_number, DTypeError, "got float"), (of_number_of_the_run, DTypeError, "got float"),
    (of_bool, DTypeError, "got bool"), (of_none, DTypeError, "got NoneType"), (of_text, DTypeError, "str32"),
    (of_two_lists, ArgumentError, "CPU only"), (of_nothing_known, DTypeError, "unexpected keyword argument 'dtype'"),
    (given_twice, DTypeError, "data twice"), (of_lists_that_differ, ShapeError, "equal lengths"),
    (of_negative_size, ShapeError, "from 0 on, got -1"), (on_a_gpu, ArgumentError, "CPU only"),
    (integers_with_gradients, DTypeError, "require gradients, got int64"),
]


@pytest.mark.parametrize(("program", "kind", "words"), REFUSED)
@pytest.mark.parametrize("staged", [lambda program: program, d2s.jit.to_static], ids=["eager", "static"])
def test_bad_arguments(
    program: Callable[[Any], Any], kind: type[D2SError], words: str, staged: Callable[..., Any]
) -> None:
    with pytest.raises(kind, match=words) as caught:
        staged(program)(argument())
    assert f"test_construction.py:{program.__code__.co_firstlineno + 1}" in str(caught.value)


@pytest.mark.parametrize("convert", [lambda f: f, d2s.to_static])
def test_as_tensor_and_asarray_copy(convert: Any) -> None:
    array = np.arange(3.0)
    given = d2s.to_tensor(array, stop_gradient=False)
    for made in convert(lambda x: (d2s.as_tensor(x), d2s.asarray(x, copy=False)))(given):
        assert made is not given
        assert made.stop_gradient
        made.zero_()
    for made in (d2s.as_tensor(array), d2s.asarray(array, copy=False)):
        assert made.dtype == "float64"
        made.zero_()
    assert given.tolist() == array.tolist() == [0.0, 1.0, 2.0]
    assert d2s.as_tensor([1], "float16").dtype == d2s.asarray([1], dtype="float16").dtype == "float16"
