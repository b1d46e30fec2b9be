"""The surface of methods: the same functions, properties, in-place forms, and how tensors behave among arrays."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import ops
from d2s.ops.derived_methods import DerivedMethods
from d2s.ops.methods import TensorMethods

METHODS = {name: value for name, value in {**vars(DerivedMethods), **vars(TensorMethods)}.items()
           if inspect.isfunction(value)}
IN_PLACE = sorted(name for name in METHODS if name.endswith("_") and not name.startswith("_"))


def test_methods_are_the_public_functions() -> None:
    for name, method in METHODS.items():
        # The method `permute` takes the axes one by one too.
        if name in ops.__all__ and name != "permute":
            assert method is getattr(ops, name), name


@pytest.mark.parametrize("name", ops.__all__)
def test_public_functions_say_what_they_do(name: str) -> None:
    assert (getattr(ops, name).__doc__ or "").strip()


MATRIX = d2s.to_tensor([[0.5, 2.0], [1.0, 0.25]])
MASK = d2s.to_tensor([[True, False], [False, True]])
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "reshape_": ([4],), "view_": ([4],), "unsqueeze_": (0,), "fill_": (2.0,), "clip_": (0.5, 1.0), "clamp_": (0.5, 1.0),
    "scale_": (2.0,), "lerp_": (MATRIX, 0.25), "masked_fill_": (MASK, 9.0), "masked_scatter_": (MASK, MATRIX),
    "scatter_": (d2s.to_tensor([1]), d2s.to_tensor([[7.0, 8.0]])), "addmm_": (MATRIX, MATRIX), "transpose_": ([1, 0],),
    "put_along_axis_": (d2s.to_tensor([[0, 1]]), 5.0, 0), "index_add_": (d2s.to_tensor([1]), 0, MATRIX[:1]),
    "index_fill_": (d2s.to_tensor([1]), 0, 3.0), "index_put_": ((d2s.to_tensor([1]),), d2s.to_tensor([3.0, 4.0])),
    "copy_": (MATRIX * 3,), "fill_diagonal_": (7.0,), "baddbmm_": (MATRIX.reshape([1, 2, 2]),) * 2, "cumprod_": (0,),
    **dict.fromkeys(["add_", "subtract_", "sub_", "multiply_", "mul_", "divide_", "div_", "floor_divide_", "mod_",
                     "remainder_", "floor_mod_", "pow_", "hypot_", "ldexp_", "copysign_"], (MATRIX,)),
    **dict.fromkeys(["bitwise_left_shift_", "bitwise_right_shift_"], (d2s.to_tensor([[1, 2], [0, 3]]),)),
    "multigammaln_": (2,), "polygamma_": (1,),
    **dict.fromkeys(["gcd_", "lcm_", "bitwise_and_", "bitwise_or_", "bitwise_xor_"], (MATRIX.cast("int64") + 4,)),
    **dict.fromkeys(["logical_and_", "logical_or_", "logical_xor_"], (MASK,)),
}


def given(name: str) -> Any:
    x = d2s.to_tensor([[0.25, 0.5], [0.75, 0.125]])
    if name.startswith("logical"):
        return x > 0.3
    if name in ("gcd_", "lcm_") or name.startswith("bitwise"):
        return (x * 16).cast("int64")
    if name == "multigammaln_":
        return x + 2
    return 1 / x if name == "acosh_" else x.reshape([1, 2, 2]) if name == "baddbmm_" else x


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_methods_change_the_tensor_and_return_it(name: str) -> None:
    x = given(name)
    d2s.seed(1)
    wanted = METHODS[name].__wrapped__(given(name), *ARGUMENTS.get(name, ()))
    version = x.version
    d2s.seed(1)
    assert getattr(x, name)(*ARGUMENTS.get(name, ())) is x
    assert x.version > version
    assert x.dtype == wanted.dtype
    np.testing.assert_array_equal(x.numpy(), wanted.numpy())


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_methods_in_both_modes(name: str) -> None:
    def function(x: Any) -> Any:
        y = x * 1 if x.dtype.kind == "f" else x.clone()
        getattr(y, name)(*ARGUMENTS.get(name, ()))
        return y

    seen = []
    for run in (function, d2s.jit.to_static(function)):
        d2s.seed(1)
        x = given(name)
        if x.dtype.kind == "f":
            x.stop_gradient = False
        y = run(x)
        if not y.stop_gradient:
            (y * y).sum().backward()
        seen.append([y.numpy().tobytes(), y.shape, None if x.grad is None else x.grad.numpy().tobytes()])
    assert seen[0] == seen[1]


def test_in_place_write_keeps_gradients() -> None:
    x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 3
    y.multiply_(y.clone())
    y.add_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [18, 36]


def test_an_operand_that_is_written_in_place_by_its_own_op_is_gone() -> None:
    """As in Paddle and PyTorch: the second operand has been modified; the first is kept."""
    x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 3
    y.multiply_(y)
    with pytest.raises(d2s.GradientError, match="modified in place"):
        y.sum().backward()


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


@pytest.mark.parametrize(
    ("name", "dtype"), [("half", "float16"), ("float", "float32"), ("double", "float64"), ("int", "int32"),
                        ("long", "int64"), ("bool", "bool")])
def test_methods_named_by_a_dtype(name: str, dtype: str) -> None:
    x = d2s.to_tensor([0.0, -1.75, 2.5], stop_gradient=False)
    for convert in (lambda t: getattr(t, name)(), d2s.jit.to_static(lambda t: getattr(t, name)())):
        found = convert(x)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), x.numpy().astype(dtype), strict=True)
        assert found.stop_gradient is (dtype not in ("float16", "float32", "float64"))


def test_second_names_are_the_functions() -> None:
    x, y = d2s.to_tensor([3.0, -7.0]), d2s.to_tensor([2.0, 2.0])
    assert d2s.cat is d2s.concatenate is d2s.concat
    assert (d2s.eq, d2s.gt, d2s.clamp, d2s.mul) == (d2s.equal, d2s.greater_than, d2s.clip, d2s.multiply)
    assert d2s.sub(x, y, alpha=2).tolist() == [-1, -11]
    assert d2s.sub(x, y).tolist() == [1, -9]
    assert d2s.permute(d2s.ones([2, 3]), [1, 0]).shape == [3, 2]
