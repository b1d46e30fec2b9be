"""Layers from outside of which a static function changes what they consist of."""

from __future__ import annotations

import pytest

import d2s
from d2s import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.listed = nn.LayerList([nn.ReLU()])
        self.named = nn.LayerDict({"a": nn.ReLU()})
        self.chained = nn.Sequential(nn.ReLU())
        self.weights = nn.ParameterList([self.create_parameter([3])])
        self.register_buffer("count", d2s.zeros([1]))


def registers_a_buffer(net, x):
    net.register_buffer("seen", x.detach() * 2)
    net.seen = net.seen + 1
    return net.seen + x, hasattr(net, "seen")


def adds_a_sublayer(net, x):
    added = net.add_sublayer("act", nn.Tanh())
    return net.act(x) + added(x)


def adds_a_parameter(net, x):
    made = net.create_parameter([3], default_initializer=nn.initializer.Constant(2.0))
    net.add_parameter("extra", made)
    return net.extra * x


def makes_a_layer_at_first(net, x):
    if not hasattr(net, "late"):
        net.late = nn.Linear(3, 2, weight_attr=nn.initializer.Constant(0.5))
    return net.late(x)


def counts_and_lists_parameters(net, x):
    net.count = net.count + 1
    net.last = x
    return x * net.count + sum(parameter.sum() for parameter in net.linear.parameters()), len(net.parameters())


def seen(function):
    d2s.seed(3)
    net, found = Net(), []
    for turn in range(3):
        x = d2s.to_tensor([1.0, -2.0, 0.5 * turn], stop_gradient=False)
        result, *rest = found_in = [*_parts(function(net, x))]
        result.sum().backward()
        tables = net.named_sublayers(), net.named_parameters(), net.named_buffers()
        names = [[name for name, _ in table] for table in tables]
        found.append((result.tolist(), rest, len(found_in), x.grad.tolist(), names, net.count.tolist()))
    return found


def _parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(
    "function", [
        registers_a_buffer, adds_a_sublayer, adds_a_parameter, makes_a_layer_at_first, counts_and_lists_parameters],
    ids=lambda function: function.__name__)
def test_what_is_registered_is_there_in_each_run(function):
    assert seen(d2s.to_static(function)) == seen(function)


def set_and_listed(net, x):
    net.late = nn.Linear(3, 2)
    return net.late(x), [name for name, _ in net.named_parameters()]


def replaced_and_listed(net, x):
    net.count = net.count + 1
    return x, net.buffers()


def taken_away_and_listed(net, x):
    net.linear = None
    return x, net.state_dict()


def deleted_and_listed(net, x):
    del net.linear
    return x, net.sublayers()


def added_and_called(net, x):
    net.chained.add_sublayer("1", nn.Tanh())
    return net.chained(x)


def appended(net, x):
    net.listed.append(nn.Tanh())
    return x, len(net.listed)


def set_by_place(net, x):
    net.listed[0] = nn.Tanh()
    return net.listed[0](x)


def deleted_by_place(net, x):
    del net.listed[0]
    return x


def set_by_name(net, x):
    net.named["b"] = nn.Tanh()
    return x


def parameter_appended(net, x):
    net.weights.append(net.create_parameter([3]))
    return x


@pytest.mark.parametrize(("function", "kind"), [
    (set_and_listed, "U04"), (replaced_and_listed, "U04"), (taken_away_and_listed, "U04"), (deleted_and_listed, "U04"),
    (added_and_called, "U04"), (appended, "U38"), (set_by_place, "U38"), (deleted_by_place, "U38"),
    (set_by_name, "U38"), (parameter_appended, "U38"),
], ids=lambda part: getattr(part, "__name__", part))
def test_what_would_not_be_seen_is_refused_and_changes_nothing(function, kind):
    net = Net()
    names = [name for name, _ in net.named_sublayers()]
    with pytest.raises(d2s.UnsupportedSyntaxError) as raised:
        d2s.to_static(function)(net, d2s.ones([3]))
    assert raised.value.kind == kind
    assert raised.value.location.file == __file__
    assert [name for name, _ in net.named_sublayers()] == names
    assert len(net.weights) == 1
