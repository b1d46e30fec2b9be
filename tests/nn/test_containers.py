"""Sequential, LayerList, LayerDict, ParameterList."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import d2s
from d2s import nn
from d2s.nn.layer import STRUCTURE


class Add(nn.Layer):
    def __init__(self, n: float) -> None:
        super().__init__()
        self.n = n

    def forward(self, x: Any) -> Any:
        return 2 * x + self.n


def test_sequential_applies_layers_in_order() -> None:
    assert nn.Sequential(Add(1), Add(5))(1.0) == 2 * (2 * 1 + 1) + 5
    assert nn.Sequential()(1.0) == 1.0


def test_sequential_takes_names_lists_and_dicts() -> None:
    first, second = Add(1), Add(2)
    named = nn.Sequential(("a", first), ("b", second))
    assert [name for name, _ in named.named_children()] == ["a", "b"]
    assert named["a"] is named[0] is named[-2] is named.a is first
    assert list(nn.Sequential([first, second])) == [first, second]
    assert list(nn.Sequential(OrderedDict(a=first, b=second))) == [first, second]


def test_sequential_can_be_edited_and_sliced() -> None:
    net = nn.Sequential(Add(1), Add(2), Add(3))
    assert net[1:](0.0) == 2 * 2 + 3
    assert len(net[:2]) == 2
    net[1] = nn.Identity()
    assert net(0.0) == 2 * 1 + 3
    del net[0]
    assert (len(net), net(1.0)) == (2, 5.0)
    with pytest.raises(IndexError, match="index 2 is out of range for 2 entries"):
        net[2]
    with pytest.raises(TypeError):
        nn.Sequential(lambda x: x)


def test_a_layer_list_is_a_list() -> None:
    a, b, c = Add(1), Add(2), Add(3)
    layers = nn.LayerList([a])
    layers.append(c).extend([])
    layers.insert(1, b)
    assert list(layers) == [a, b, c]
    assert (layers[-1], list(layers[1:])) == (c, [b, c])
    assert [name for name, _ in layers.named_sublayers()] == ["0", "1", "2"]
    layers[0] = c
    del layers[1]
    assert list(layers) == [c, c]
    layers.insert(2, a)
    assert layers[2] is a
    for bad in (3, -4):
        with pytest.raises(IndexError):
            layers[bad]
    with pytest.raises(IndexError):
        layers.insert(4, a)
    with pytest.raises(TypeError, match="int"):
        layers.insert(0, 3)
    with pytest.raises(TypeError, match="int"):
        layers.append(3)
    with pytest.raises(NotImplementedError):
        layers(1.0)


def test_a_layer_dict_is_a_dict() -> None:
    a, b = Add(1), Add(2)
    layers = nn.LayerDict({"a": a})
    layers["b"] = b
    assert (layers["a"], len(layers), "b" in layers, list(layers)) == (a, 2, True, ["a", "b"])
    assert (list(layers.keys()), list(layers.values())) == (["a", "b"], [a, b])
    assert list(layers.items()) == [("a", a), ("b", b)]
    assert layers.pop("a") is a
    layers.update([("b", a)])
    assert layers["b"] is a
    del layers["b"]
    with pytest.raises(KeyError):
        layers["b"]
    layers.update({"c": b})
    layers.clear()
    assert len(layers) == 0


def test_a_parameter_list_registers_its_parameters() -> None:
    a, b = nn.Parameter([1.0]), nn.Parameter([2.0])
    net = nn.Layer()
    net.weights = nn.ParameterList([a])
    net.weights.append(b)
    assert [name for name, _ in net.named_parameters()] == ["weights.0", "weights.1"]
    assert (list(net.weights), net.weights[-1], len(net.weights)) == ([a, b], b, 2)
    net.weights[0] = b
    assert net.weights[0] is b
    with pytest.raises(TypeError, match="Tensor"):
        net.weights.append(d2s.ones([1]))
    with pytest.raises(IndexError):
        net.weights[2]


@pytest.mark.parametrize(
    "edit",
    [
        lambda layers, d, p: layers.append(Add(1)),
        lambda layers, d, p: layers.insert(0, Add(1)),
        lambda layers, d, p: layers.__setitem__(0, Add(1)),
        lambda layers, d, p: layers.__delitem__(0),
        lambda layers, d, p: layers.__delitem__(slice(0, 1)),
        lambda layers, d, p: d.__setitem__("b", Add(1)),
        lambda layers, d, p: d.__delitem__("a"),
        lambda layers, d, p: d.pop("a"),
        lambda layers, d, p: d.clear(),
        lambda layers, d, p: p.append(nn.Parameter([1.0])),
        lambda layers, d, p: p.__setitem__(0, nn.Parameter([1.0])),
    ],
)
def test_every_edit_changes_the_version_of_the_structure(edit: Any) -> None:
    containers = nn.LayerList([Add(1)]), nn.LayerDict({"a": Add(1)}), nn.ParameterList([nn.Parameter([1.0])])
    before = STRUCTURE.version
    edit(*containers)
    assert STRUCTURE.version != before


def test_a_layer_is_popped_from_a_list() -> None:
    layers = nn.LayerList([Add(1), Add(2), Add(3)])
    version = STRUCTURE.version
    assert (layers.pop().n, layers.pop(0).n, [layer.n for layer in layers]) == (3, 1, [2])
    assert STRUCTURE.version > version
    assert list(dict(layers.named_children())) == ["0"]
    with pytest.raises(IndexError, match="index 4 is out of range"):
        layers.pop(4)
