"""The surface of methods: the same functions, properties, in-place forms, and how tensors behave among arrays."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import ops
from d2s.ops.methods import TensorMethods

METHODS = {name: value for name, value in vars(TensorMethods).items() if inspect.isfunction(value)}


def test_methods_are_the_public_functions() -> None:
    for name, method in METHODS.items():
        if name in ops.__all__:
            assert method is getattr(ops, name), name


@pytest.mark.parametrize("name", ops.__all__)
def test_public_functions_say_what_they_do(name: str) -> None:
    assert (getattr(ops, name).__doc__ or "").strip()


@pytest.mark.parametrize("name", sorted(name for name in METHODS if name.endswith("_") and not name.startswith("_")))
def test_in_place_methods_change_the_tensor_and_return_it(name: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "reshape_": ([4],), "unsqueeze_": (0,), "fill_": (2.0,), "clip_": (0.5, 1.0),
        "scale_": (2.0,), "add_": (1.0,), "subtract_": (1.0,), "multiply_": (2.0,), "divide_": (2.0,),
        "remainder_": (2.0,), "pow_": (2.0,), "masked_fill_": (np.eye(2, dtype=bool), 9.0),
        "scatter_": (d2s.to_tensor([1]), d2s.to_tensor([[7.0, 8.0]])),
    }
    x = d2s.to_tensor([[0.25, 0.5], [0.75, 1.5]])
    expected = getattr(x.clone(), name[:-1], None)
    if name in ("relu_", "fill_", "zero_"):
        function = {"relu_": ops.relu, "fill_": ops.full_like, "zero_": ops.zeros_like}[name]
        wanted = function(x, *arguments.get(name, ()))
    else:
        assert expected is not None
        wanted = expected(*arguments.get(name, ()))
    version = x.version
    assert getattr(x, name)(*arguments.get(name, ())) is x
    assert x.version > version
    assert x.dtype == wanted.dtype
    np.testing.assert_array_equal(x.numpy(), wanted.numpy())


def test_in_place_write_keeps_gradients() -> None:
    x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 3
    y.multiply_(y)
    y.add_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [18, 36]


def test_augmented_assignment_makes_a_new_tensor() -> None:
    x = d2s.to_tensor([1.0])
    before = x
    x += 1
    assert x is not before
    assert before.tolist() == [1]


def test_properties() -> None:
    x = d2s.zeros([2, 3, 4])
    assert (x.ndim, x.dim(), x.size, x.T.shape) == (3, 3, 24, [4, 3, 2])
    assert +x is x


def test_operators_with_arrays_give_tensors() -> None:
    x, a = d2s.to_tensor([1.0, 2.0], "float64"), np.array([3.0, 4.0])
    for result, expected in (
        (a + x, [4, 6]), (a - x, [2, 2]), (a * x, [3, 8]), (a / x, [3, 2]), (a // x, [3, 2]), (a % x, [0, 0]),
        (a**x, [3, 16]), (a @ x, 11), (a > x, [True, True]), (a == x, [False, False]),
    ):
        assert isinstance(result, d2s.Tensor)
        assert result.tolist() == expected


def test_reflected_operators_with_numbers() -> None:
    x = d2s.to_tensor([1.0, 4.0])
    for result, expected in (
        (2 + x, [3, 6]), (2 - x, [1, -2]), (2 * x, [2, 8]), (2 / x, [2, 0.5]), (9 // x, [9, 2]), (9 % x, [0, 1]),
        (2**x, [2, 16]), (x < 2, [True, False]), (x >= 2, [False, True]), (-x, [-1, -4]), (abs(-x), [1, 4]),
    ):
        assert result.tolist() == expected
    flags = d2s.to_tensor([True, False])
    assert (flags & True).tolist() == [True, False]
    assert (True ^ flags).tolist() == [False, True]
    assert (~flags | flags).tolist() == [True, True]


def test_comparison_is_element_by_element_and_hash_by_identity() -> None:
    x, y = d2s.to_tensor([1.0, 2.0]), d2s.to_tensor([1.0, 3.0])
    assert (x == y).tolist() == [True, False]
    assert (x != y).tolist() == [False, True]
    assert len({x, y, x}) == 2
    assert {x: "first"}[x] == "first"


def test_comparisons_carry_no_gradient() -> None:
    x = d2s.to_tensor([1.0], stop_gradient=False)
    for result in (x > 0, x == x, x.isnan(), x.argmax(), x.nonzero(), x.astype("int64")):
        assert result.stop_gradient


def test_rounding_has_a_gradient_of_zero() -> None:
    x = d2s.to_tensor([1.5], stop_gradient=False)
    (x.floor() + x.sign() + x.round()).backward()
    assert x.grad.tolist() == [0]


def test_cast_to_the_same_dtype_is_the_tensor_itself() -> None:
    x = d2s.to_tensor([1.0])
    assert x.astype("float32") is x
    assert x.astype("int64").dtype == "int64"
    assert x.astype(bool).tolist() == [True]
