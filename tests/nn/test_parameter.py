"""Parameter and ParamAttr."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import d2s
from d2s import nn


def test_a_parameter_is_a_leaf_that_wants_gradients() -> None:
    weight = nn.Parameter([1.0, 2.0])
    assert isinstance(weight, d2s.Tensor)
    assert (weight.is_leaf, weight.stop_gradient, weight.trainable) == (True, False, True)
    (weight * weight).sum().backward()
    assert weight.grad.tolist() == [2.0, 4.0]


def test_parameters_are_persistable_and_other_tensors_not() -> None:
    weight = nn.Parameter([1.0])

    def tell(x: d2s.Tensor) -> tuple[bool, bool, bool]:
        return weight.persistable, x.persistable, (x * weight).persistable

    for convert in (lambda function: function, d2s.jit.to_static):
        assert convert(tell)(d2s.ones([1])) == (True, False, False)


def test_trainable_is_the_opposite_of_stop_gradient() -> None:
    weight = nn.Parameter([1.0], trainable=False)
    assert weight.stop_gradient
    weight.trainable = True
    assert not weight.stop_gradient


def test_data_is_copied() -> None:
    array = np.ones(2, "float32")
    weight = nn.Parameter(array)
    array[:] = 5
    assert weight.tolist() == [1.0, 1.0]


def test_names_differ_unless_given() -> None:
    assert nn.Parameter([1.0]).name != nn.Parameter([1.0]).name
    assert nn.Parameter([1.0], name="w").name == "w"


@pytest.mark.parametrize("data", [[1, 2], [True]])
def test_integers_cannot_be_parameters(data: list[int]) -> None:
    with pytest.raises(TypeError, match=r"floating point.*(int64|bool)"):
        nn.Parameter(data)


def test_repr_says_what_it_is() -> None:
    assert repr(nn.Parameter([1.5])) == (
        "Parameter containing:\nTensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [1.5])"
    )


def test_in_place_writes_need_no_grad() -> None:
    weight = nn.Parameter([1.0])
    with pytest.raises(ValueError, match=weight.name):
        weight.add_(d2s.ones([1]))
    with d2s.no_grad():
        weight.add_(d2s.ones([1]))
    assert weight.tolist() == [2.0]
    assert isinstance(weight, nn.Parameter)


def test_cast_keeps_gradient_and_hooks_and_needs_a_floating_dtype() -> None:
    weight, seen = nn.Parameter([3.0]), []
    weight.register_hook(lambda g: seen.append(g.dtype.name))
    (weight * weight).sum().backward()
    assert weight.cast_("float64") is weight
    assert (weight.dtype, weight.grad.dtype, weight.grad.tolist()) == (np.float64, np.float64, [6.0])
    (weight * weight).sum().backward()
    assert (seen, weight.grad.tolist()) == (["float32", "float64"], [12.0])
    with pytest.raises(TypeError, match="int8"):
        weight.cast_("int8")


def test_copies_are_parameters_of_their_own() -> None:
    weight = nn.Parameter([1.0], name="w")
    weight.learning_rate = 0.5
    for other in (copy.deepcopy(weight), pickle.loads(pickle.dumps(weight))):
        assert type(other) is nn.Parameter
        assert (other.trainable, other.learning_rate) == (True, 0.5)
        other.set_value([2.0])
        assert weight.tolist() == [1.0]
    assert copy.deepcopy(weight).name != "w"


def test_create_parameter() -> None:
    make = d2s.create_parameter
    d2s.seed(5)
    weight = make([2, 3], "float64")
    assert isinstance(weight, nn.Parameter)
    assert (weight.shape, weight.dtype.name, weight.stop_gradient) == ([2, 3], "float64", False)
    assert weight.abs().max().item() > 0
    bias = make([3], "float32", is_bias=True, name="of mine")
    assert (bias.name, bias.tolist()) == ("of mine", [0, 0, 0])
    assert weight.name != make([2, 3], "float64").name
    fixed = make([2], "float32", None, d2s.ParamAttr(trainable=False), False, nn.initializer.Constant(2.0))
    assert (fixed.tolist(), fixed.trainable) == ([2, 2], False)
    assert make([2], "float32", attr=False) is None
    with pytest.raises(d2s.DTypeError, match="a parameter must be floating point or complex, got int64"):
        make([2], "int64")
