"""`summary`: the table, and that the layer is as before."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s import nn
from d2s.static import InputSpec


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1D(8), nn.Dropout(0.5))
        self.head = nn.Linear(8, 2)
        self.unused = nn.Linear(2, 2)
        self.tied = self.head

    def forward(self, x):
        return self.head(self.body(x))


def test_table(capsys):
    net = Net()
    net.head.weight.trainable = False
    mean, training = net.body[1]._mean.numpy().tolist(), net.body[2].training
    found = d2s.summary(net, InputSpec([None, 4], "float32"))
    assert found == {"total_params": 40 + 16 + 18 + 6, "trainable_params": 40 + 16 + 2 + 6}
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines()]
    assert ["body", "Sequential", "float32[1,", "8]", "0"] in rows
    assert ["0", "Linear", "float32[1,", "8]", "40"] in rows
    assert ["head", "Linear", "float32[1,", "2]", "18"] in rows
    assert ["unused", "Linear", "not", "called", "6"] in rows
    assert "parameters: 80" in text
    assert "64 of them trainable" in text
    assert net.body[1]._mean.numpy().tolist() == mean
    assert net.body[2].training is training
    assert not any(layer._forward_post_hooks for layer in net.sublayers(include_self=True))


def test_inside_a_static_function_it_is_the_same(capsys):
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    d2s.summary(net, (1, 3))
    expected = capsys.readouterr().out

    def f(x):
        d2s.summary(net, (1, 3))
        return x

    d2s.jit.to_static(f)(d2s.to_tensor([1.0]))
    assert capsys.readouterr().out == expected
    assert "float32[1, 2]" in expected


def test_of_a_static_layer_it_is_the_same(capsys):
    net = Net()
    d2s.summary(net, (3, 4))
    eager = capsys.readouterr().out
    static = d2s.jit.to_static(net)
    static(d2s.zeros([2, 4]))
    programs = len(static.forward.program_cache)
    d2s.summary(static, (3, 4))
    assert capsys.readouterr().out == eager
    assert "float32[3, 8]" in eager
    assert len(static.forward.program_cache) == programs


@pytest.mark.parametrize("spec", [(None, 4), [3, 4], [(3, 4)], [InputSpec([-1, 4])]])
def test_forms_of_the_spec(spec, capsys):
    d2s.summary(Net(), spec)
    assert "Linear" in capsys.readouterr().out


def test_inputs_in_place_of_a_spec(capsys):
    d2s.summary(Net(), input=d2s.zeros([5, 4]))
    assert "float32[5, 2]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spec", "error", "words"), [
        (None, d2s.ArgumentError, "needs an input_size"), ("x", TypeError, "must be an InputSpec"),
        (["x"], TypeError, "got 'x'")])
def test_wrong_specs(spec, error, words):
    with pytest.raises(error, match=words):
        d2s.summary(Net(), spec)


def test_the_layer_is_put_back_after_an_error():
    net = Net()
    with pytest.raises(d2s.ShapeError):
        d2s.summary(net, (3, 5))
    assert net.training
    assert not any(layer._forward_post_hooks for layer in net.sublayers(include_self=True))


def test_a_forward_that_registers_hooks():
    class Hooked(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)

        def forward(self, x):
            h = self.fc(x)
            h.register_hook(lambda g: g + 1)
            return h

    assert d2s.summary(Hooked(), (8, 4))["total_params"] == 10


@pytest.mark.parametrize("what", [d2s.to_static(lambda x: x), lambda x: x, 5], ids=["static", "function", "number"])
def test_what_is_no_layer_is_refused(what: Any) -> None:
    with pytest.raises(d2s.ArgumentError, match="summary is of a Layer"):
        d2s.summary(what, (3, 4))


@pytest.mark.parametrize("size", [(3, -4), [(2, 4), (3, -7)]], ids=str)
def test_a_negative_size_is_refused(size: Any) -> None:
    with pytest.raises(d2s.ArgumentError, match="whole numbers from 0"):
        d2s.summary(Net(), size)
