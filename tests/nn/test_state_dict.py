"""state_dict and set_state_dict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn


def net() -> Any:
    layer = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1D(1))
    layer.register_buffer("scratch", d2s.ones([1]), persistable=False)
    return layer


NAMES = ["0.weight", "0.bias", "1.weight", "1.bias", "1._mean", "1._variance"]


def test_it_holds_the_tensors_themselves_by_place() -> None:
    layer = net()
    state = layer.state_dict()
    assert list(state) == NAMES
    assert state["0.weight"] is layer[0].weight
    assert list(layer.state_dict(structured_name_prefix="p.")) == [f"p.{name}" for name in NAMES]
    assert list(layer[0].state_dict(destination={"x": None})) == ["x", "weight", "bias"]
    assert layer.state_dict(include_sublayers=False) == {}


def test_values_go_into_the_tensors_there_are() -> None:
    source, target, seen = net(), net(), []
    weight = target[0].weight
    weight.register_hook(lambda g: seen.append(g.tolist()))
    assert target.set_state_dict(source.state_dict()) == ([], [])
    assert target[0].weight is weight
    assert weight.tolist() == source[0].weight.tolist()
    target[0](d2s.to_tensor([[3.0, 4.0]])).sum().backward()
    assert seen == [[[3.0], [4.0]]]
    source[0].weight.set_value([[9.0], [9.0]])
    assert weight.tolist() != [[9.0], [9.0]]


def test_arrays_and_other_dtypes_are_taken() -> None:
    layer = nn.Linear(2, 1)
    layer.load_dict({"weight": np.float64([[1.5], [2.5]]), "bias": d2s.to_tensor([3])})
    assert layer.weight.dtype == layer.bias.dtype == np.float32
    assert (layer.weight.tolist(), layer.bias.tolist()) == ([[1.5], [2.5]], [3.0])


def test_missing_and_unexpected_keys_are_returned_and_warned_about() -> None:
    layer = nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="Linear: missing bias; unexpected other") as caught:
        found = layer.set_state_dict({"weight": [[1.0], [2.0]], "other": [1.0]})
    assert found == (["bias"], ["other"])
    assert layer.weight.tolist() == [[1.0], [2.0]]
    assert caught[0].filename == __file__


def test_a_wrong_shape_changes_nothing() -> None:
    layer = net()
    before = layer[0].bias.tolist()
    state = {**layer.state_dict(), "0.bias": d2s.to_tensor([5.0]), "1.bias": d2s.zeros([3])}
    with pytest.raises(ValueError, match=r"1.bias has shape \[1\], but the state dict has shape \[3\]"):
        layer.set_state_dict(state)
    assert layer[0].bias.tolist() == before


def test_keys_may_be_the_names_of_the_tensors() -> None:
    source, target = nn.Linear(2, 1), nn.Linear(2, 1)
    state = {target.weight.name: source.weight, target.bias.name: source.bias}
    assert target.set_state_dict(state, use_structured_name=False) == ([], [])
    assert target.weight.tolist() == source.weight.tolist()
