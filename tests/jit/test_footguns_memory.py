"""Converted functions and Layers come and go; what they read and give belongs to the caller alone."""

from __future__ import annotations

import copy
import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import d2s
from tests.footguns.things import Box, x


def _function(k: float) -> Any:
    scale = [k]

    @d2s.to_static
    def f(z):
        y = z * scale[0]
        y.register_hook(lambda g: g + k)
        return y.sum()

    return f


class Net(d2s.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.weight = self.create_parameter([3])

    def forward(self, z):
        return (z * self.weight).sum()


NET = d2s.to_static(Net())


def _grown(make: Any, count: int) -> int:
    """How many blocks of memory more Python holds after `count` were made, called and dropped."""
    gc.collect()
    before = sys.getallocatedblocks()
    for number in range(count):
        make(number)(x()).backward()
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize(
    "make", [_function, lambda number: d2s.to_static(Net()), lambda number: copy.deepcopy(NET)],
    ids=["functions", "layers", "copies"])
def test_memory_stays_flat(make: Any) -> None:
    _grown(make, 20)
    # Less than one object for each; caches of the process may fill meanwhile, but not each time.
    assert min(_grown(make, 100) for _ in range(3)) < 100


def test_functions_and_layers_are_freed_without_the_collector_of_cycles_holding_them() -> None:
    function, layer = _function(2.0), d2s.to_static(Net())
    function(x())
    layer(x())
    seen = weakref.ref(function), weakref.ref(layer), weakref.ref(layer.weight)
    del function, layer
    gc.collect()
    assert [reference() for reference in seen] == [None, None, None]


def test_arguments_and_results_belong_to_the_caller() -> None:
    @d2s.to_static
    def f(z, parts, box, array):
        y = z * parts[0] * box.scale + array
        return y, [y + 1]

    z, part, box, array = x(), x(1.0, 2.0, 3.0), Box(scale=2.0), np.ones(3, "float32")
    y, more = f(z, [part], box, array)
    seen = [weakref.ref(thing) for thing in (z, part, box, array, y, more[0])]
    del z, part, box, array, y, more
    gc.collect()
    assert [reference() for reference in seen] == [None] * 6
    assert f(x(), [x()], Box(scale=2.0), np.ones(3, "float32"))[0].shape == [3]


def test_a_replaced_tensor_is_not_kept() -> None:
    box = Box(weight=x(1.0, 2.0, 3.0))

    @d2s.to_static
    def f(z):
        return z * box.weight

    f(x())
    old = weakref.ref(box.weight)
    box.weight = x()
    gc.collect()
    assert old() is None
    assert f(x()).tolist() == [0.25, 2.25, 4.0]


def test_a_replaced_parameter_is_not_kept() -> None:
    net = d2s.to_static(Net())
    net(x())
    old = weakref.ref(net.weight)
    net.weight = d2s.nn.Parameter(np.ones(3, dtype="float32"))
    gc.collect()
    assert old() is None


def test_a_replaced_parameter_of_a_layer_of_d2s_is_not_kept() -> None:
    net = d2s.nn.Linear(3, 3)
    static = d2s.to_static(lambda z: net(z))
    static(x())
    old = weakref.ref(net.weight)
    net.weight = d2s.nn.Parameter(np.eye(3, dtype="float32"))
    gc.collect()
    assert old() is None
    assert static(x()).tolist() == [0.5, -1.5, 2.0]
    assert len(static.program_cache) == 1


def test_values_saved_for_backward_go_with_the_result() -> None:
    kept: list[Any] = []

    @d2s.to_static
    def f(z):
        y = z * z
        kept.append(weakref.ref(y))
        return (y * y).sum()

    loss = f(x())
    loss.backward()
    del loss
    gc.collect()
    assert kept[0]() is None


def test_what_is_made_inside_goes_with_its_call() -> None:
    """The Program that made it serves no other call."""
    made: list[Any] = []

    @d2s.to_static
    def f(z):
        layer = Net()
        made.append(weakref.ref(layer.weight))
        return layer(z)

    for _ in range(5):
        f(x()).backward()
    gc.collect()
    assert sum(reference() is not None for reference in made) <= 1
    assert len(f.program_cache) == 1
    assert "a Layer, parameter or buffer that is made inside is one of another call" in f.explain()
