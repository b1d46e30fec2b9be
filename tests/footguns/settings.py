"""Layers of d2s whose settings are written past their attributes, and classes that get another `forward`."""

from __future__ import annotations

import copy
from collections import OrderedDict

import numpy as np

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import x


def image():
    return d2s.to_tensor(np.arange(72, dtype="float32").reshape(1, 2, 6, 6) / 10)


class Around(d2s.nn.Layer):
    """A Layer of the user with one of d2s in it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, z):
        return self.inner(z) * 2


def _written(layer, make, *changes):
    """A scenario: `layer()` alone and inside of another Layer, called after each of `changes` to its `__dict__`."""

    def play(stage):
        for wrap in (lambda inner: inner, Around):
            d2s.seed(0)
            inner = layer()
            stage.watch(list(inner.buffers()))
            function = stage.static(wrap(inner))
            held = vars(inner)
            for name, value in ((None, None), *changes):
                if name is not None:
                    held[name] = value
                for _ in range(2):
                    d2s.seed(3)
                    stage(function, make())
            for name, value in reversed(changes):
                object.__setattr__(inner, name, value)
                d2s.seed(3)
                stage(function, make())

    return play


_LAYERS = {
    "dropout": (lambda: d2s.nn.Dropout(0.5), x, ("p", 0.1), ("training", False), ("mode", "downscale_in_infer")),
    "batch_norm": (
        lambda: d2s.nn.BatchNorm2D(2), image, ("_momentum", 0.1), ("_epsilon", 0.5), ("_use_global_stats", True),
        ("_use_global_stats", None), ("training", False)),
    "conv": (lambda: d2s.nn.Conv2D(2, 3, 3), image, ("_stride", (2, 2)), ("_padding", 1), ("_stride", [1, 3])),
    "layer_norm": (lambda: d2s.nn.LayerNorm(6), image, ("_epsilon", 0.5)),
    "group_norm": (lambda: d2s.nn.GroupNorm(1, 2), image, ("_epsilon", 0.5), ("_num_groups", 2)),
    "leaky_relu": (lambda: d2s.nn.LeakyReLU(0.1), x, ("_negative_slope", 0.9)),
    "softmax": (lambda: d2s.nn.Softmax(), image, ("_axis", 1)),
    "flatten": (lambda: d2s.nn.Flatten(), image, ("start_axis", 0)),
    "forward_of_a_layer": (lambda: d2s.nn.ReLU(), x, ("forward", lambda z: z * 5)),
}
for _name, _case in _LAYERS.items():
    _play = _written(*_case)
    _play.__name__ = f"settings_of_{_name}"
    footgun(_play)


@footgun
def list_of_a_setting(stage):
    layer = d2s.nn.Conv2D(2, 3, 3, stride=[1, 1])
    function = stage.static(Around(layer))
    stage(function, image())
    layer._stride[0] = 2
    stage(function, image())


@footgun
def tables_replaced(stage):
    """As by ``self.__dict__.update(copy.deepcopy(earlier))``."""
    d2s.seed(0)
    net = Around(d2s.nn.Sequential(d2s.nn.Linear(3, 3), d2s.nn.ReLU()))
    net.inner.register_forward_post_hook(lambda layer, inputs, output: output + 1)
    earlier = copy.deepcopy(vars(net))
    earlier["_sub_layers"]["inner"][1] = d2s.nn.Tanh()
    held = vars(net)
    function = stage.static(net)
    stage(function, x())
    held["_sub_layers"] = earlier["_sub_layers"]
    stage(function, x())
    vars(net.inner)["_forward_post_hooks"] = OrderedDict()
    stage(function, x())
    vars(net.inner[0])["_parameters"] = {"weight": net.inner[0].weight, "bias": None}
    stage(function, x())
    dict.__setitem__(net.inner[0]._parameters, "bias", d2s.ones([1]))
    stage(function, x())


@footgun
def parameter_hidden_by_the_class(stage):
    net = d2s.nn.Linear(3, 3)

    class Mine(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = d2s.nn.Linear(3, 3).weight

        def forward(self, z):
            return z * self.w.sum()

    d2s.seed(0)
    net = Mine()
    function = stage.static(net)
    stage(function, x())
    Mine.w = d2s.ones([2])
    stage(function, x())
    del Mine.w
    stage(function, x())
    vars(net)["w"] = d2s.ones([3, 1])
    stage(function, x())


@footgun
def entries_of_tables_hidden(stage):
    d2s.seed(0)
    inner, ones, relu = d2s.nn.Linear(3, 3), d2s.ones([3, 3]), d2s.nn.ReLU()
    net = Around(inner)
    forward = inner.forward
    functions = [stage.static(net), stage.static(lambda z: forward(z))]
    for held, name, value in ((None, "", None), (inner, "weight", ones), (net, "inner", relu)):
        if held is not None:
            vars(held)[name] = value
        for function in functions:
            stage(function, x())
            stage(function, x())


@footgun
def forward_of_the_class(stage):

    class Net(d2s.nn.Layer):
        def forward(self, z):
            return z * 2

    class Other(d2s.nn.Layer):
        def forward(self, z):
            return z - 1

    def with_default(self, z, k=4):
        return z * k

    net = Net()
    function = stage.static(net)
    stage(function, x())
    Net.forward = lambda self, z: z * 3
    stage(function, x())
    Net.forward = with_default
    stage(function, x())
    stage(function, x(), 5)
    stage(function, x(), k=6)
    Net.forward = staticmethod(lambda z: z * 7)
    stage(function, x())
    del Net.forward
    stage(function, x())
    Net.forward = stage.static(lambda self, z: z * 8)
    stage(function, x())
    net.__class__ = Other
    stage(function, x())
    stage(copy.deepcopy(function), x())
    Other.forward = lambda self, z: z * 9
    stage(copy.copy(function), x())
    function.forward = lambda z: z * 10
    stage(function, x())


@footgun
def forward_of_the_class_of_a_sublayer(stage):

    class Inner(d2s.nn.Layer):
        def forward(self, z):
            return z * 2

    net = Around(stage.static(Inner()))
    function = stage.static(net)
    stage(function, x())
    Inner.forward = lambda self, z: z * 3
    stage(function, x())
    Around_forward = Around.forward
    try:
        Around.forward = lambda self, z: self.inner(z) - 1
        stage(function, x())
    finally:
        Around.forward = Around_forward
    stage(function, x())


@footgun
def call_of_the_class(stage):

    class Scale:
        def __call__(self, z):
            return z * 2

    class Shift(Scale):
        def __call__(self, z, k=2):
            return z - k

    scale = Scale()
    function = stage.static(scale)
    stage(function, x())
    Scale.__call__ = lambda self, z: z * 3
    stage(function, x())
    # Python does not look there.
    scale.__call__ = lambda z: z * 9
    stage(function, x())
    scale.__class__ = Shift
    stage(function, x(), k=3)
    outer = stage.static(lambda z: function(z) + 1)
    stage(outer, x())
    Shift.__call__ = lambda self, z: z * 4
    stage(outer, x())


_HOLDS_ITSELF = "what holds itself has no end"


@refused(_HOLDS_ITSELF)
def list_that_holds_itself(stage):
    nodes = [1.0]
    nodes.append(nodes)

    def f(z):
        stage.log.append("called")
        return z * nodes[0]

    stage(stage.static(f), x())


@refused(_HOLDS_ITSELF)
def argument_that_holds_itself(stage):
    table = {"scale": 2.0}
    table["all"] = [(table,)]

    def f(z, table=table):
        stage.log.append("called")
        return z * table["scale"]

    stage(stage.static(f), x())


@refused("other code gets a list that holds itself")
def list_made_inside_that_holds_itself(stage):

    def f(z):
        nodes = [z]
        nodes.append(nodes)
        stage.log.append("called")
        print(nodes)
        return z

    stage(stage.static(f), x())


@footgun
def objects_that_lead_to_themselves(stage):

    class Node:
        pass

    node = Node()
    node.me, node.scale = node, 2.0
    function = stage.static(lambda z: z * node.me.me.scale)
    stage(function, x())
    node.scale = 3.0
    stage(function, x())
