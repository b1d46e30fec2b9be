"""Layers: parameters, buffers, hooks, modes, replacement, copies."""


from __future__ import annotations

import copy
import pickle

import numpy as np

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, constant, x

nn = d2s.nn


def linear(scale=1.0):
    layer = nn.Linear(3, 3)
    layer.weight.set_value(np.arange(9).reshape(3, 3) * scale / 4)
    layer.bias.set_value(np.ones(3) * scale)
    return layer


class Net(nn.Layer):
    def __init__(self, scale=1.0):
        super().__init__()
        self.first = linear(scale)
        self.second = linear(-scale)
        self.scale = 2.0
        self.register_buffer("steps", constant(0.0))

    def forward(self, z):
        self.steps = self.steps + 1
        return self.second(nn.functional.relu(self.first(z))) * self.scale


@footgun
def parameter_values_set(stage):
    net = linear()
    f = stage.static(net)
    stage.watch(net.weight)
    stage(f, x())
    net.weight.set_value(np.ones((3, 3)))
    stage(f, x())
    net.set_state_dict({"weight": np.eye(3), "bias": np.zeros(3)})
    stage(f, x())
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    for _ in range(2):
        f(x()).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    stage(f, x())


@footgun
def parameter_replaced_and_tied(stage):
    net = Net()
    f = stage.static(net)
    stage(f, x())
    net.first.weight = nn.Parameter(np.eye(3, dtype="float32"))
    stage(f, x())
    net.second.weight = net.first.weight
    stage(f, x())
    stage.note(net.first.weight.grad)
    net.second.weight = nn.Parameter(np.eye(3, dtype="float32"))
    stage(f, x())
    stage.note(net.first.weight.grad, net.second.weight.grad)


@footgun
def parameters_cast(stage):
    net = linear()
    f = stage.static(net)
    stage(f, x())
    net.astype("float64")
    stage(f, x().astype("float64"))
    net.astype("float32")
    stage(f, x())


@footgun
def parameter_frozen(stage):
    net = linear()
    f = stage.static(net)
    stage.watch(net.weight)
    stage(f, x())
    net.weight.stop_gradient = True
    net.weight.clear_grad()
    stage(f, x())
    net.weight.stop_gradient = False
    stage(f, x())


@footgun
def parameter_deleted(stage):
    net = linear()
    f = stage.static(net)
    stage(f, x())
    net.bias = None
    stage(f, x())


@footgun
def buffers(stage):
    net = Net()
    f = stage.static(net)
    stage.watch(net._buffers)
    stage(f, x())
    stage(f, x())
    net.steps = constant(10.0)
    stage(f, x())
    net.steps.set_value(np.array([3.0]))
    stage(f, x())
    net.register_buffer("other", constant(1.0))
    stage(f, x())


@footgun
def sublayer_replaced(stage):
    net = Net()
    f = stage.static(net)
    stage(f, x())
    net.first = linear(3.0)
    stage(f, x())
    net.second = nn.ReLU()
    stage(f, x())


@footgun
def layers_in_containers(stage):
    net = nn.Sequential(linear(), nn.ReLU(), linear(2.0))
    f = stage.static(net)
    stage(f, x())
    net[1] = nn.Tanh()
    stage(f, x())
    net.add_sublayer("3", nn.Sigmoid())
    stage(f, x())


@footgun
def layers_in_a_plain_list(stage):
    parts = [linear(), linear(2.0)]

    def f(z):
        for part in parts:
            z = part(z)
        return z

    f = stage.static(f)
    stage(f, x())
    parts.append(linear(3.0))
    stage(f, x())
    parts[0].weight.set_value(np.eye(3))
    stage(f, x())
    parts[0], parts[1] = parts[1], parts[0]
    stage(f, x())


@footgun
def layer_attribute_nested(stage):
    class Inner(nn.Layer):
        def __init__(self):
            super().__init__()
            self.options = Box(scale=2.0)
            self.scales = [1.0, 2.0]

        def forward(self, z):
            return z * self.options.scale * self.scales[1]

    class Outer(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, z):
            return self.inner(z) + 1

    net = Outer()
    f = stage.static(net)
    stage(f, x())
    net.inner.options.scale = 3.0
    stage(f, x())
    net.inner.scales[1] = 7.0
    stage(f, x())
    net.inner.__dict__["options"] = Box(scale=5.0)
    stage(f, x())
    vars(net.inner)["scales"] = [0.0, 0.5]
    stage(f, x())


@footgun
def class_attribute_of_a_layer(stage):
    class Scaled(nn.Layer):
        scale = 2.0

        def forward(self, z):
            return z * self.scale

    net = Scaled()
    f = stage.static(net)
    stage(f, x())
    Scaled.scale = 3.0
    stage(f, x())


@footgun
def forward_of_a_class_replaced(stage):
    class Scaled(nn.Layer):
        def forward(self, z):
            return z * 2

    net = Scaled()
    outer = nn.Sequential(net, nn.ReLU())
    f = stage.static(outer)
    stage(f, x())
    Scaled.forward = lambda self, z: z * 5
    stage(f, x())
    net.forward = lambda z: z * 7
    stage(f, x())


@footgun
def forward_of_a_class_of_d2s_replaced(stage):
    net = nn.Sequential(nn.ReLU())
    f = stage.static(net)
    stage(f, x())
    forward = nn.ReLU.forward
    nn.ReLU.forward = lambda self, z: z * 10
    try:
        stage(f, x())
    finally:
        nn.ReLU.forward = forward
    stage(f, x())


@footgun
def layer_hooks_added_and_removed(stage):
    net = Net()
    f = stage.static(net)
    stage(f, x())
    first = net.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2,))
    stage(f, x())
    second = net.first.register_forward_post_hook(lambda layer, inputs, outputs: stage.log.append("post"))
    stage(f, x())
    first.remove()
    stage(f, x())
    second.remove()
    stage(f, x())


@footgun
def layer_hook_with_state(stage):
    net = linear()
    box = stage.watch(Box(n=0))

    def hook(layer, inputs, outputs):
        box.n += 1
        return outputs * box.n

    net.register_forward_post_hook(hook)

    def f(z):
        return net(z)

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def train_and_eval(stage):
    net = nn.Sequential(linear(), nn.Dropout(0.5), nn.BatchNorm1D(3))

    def f(z):
        return net(z.reshape([3, 1]) * d2s.ones([3, 3]))

    f = stage.static(f)
    for mode in (True, False, True, False):
        net.train(mode)
        stage(f, x())
    net[1].eval()
    net[2].train()
    stage(f, x())
    stage.note([buffer for buffer in net.buffers()])


@footgun
def dropout_rate_changed(stage):
    net = nn.Dropout(0.5)
    f = stage.static(net)
    stage(f, x())
    net.p = 0.0
    stage(f, x())


@footgun
def settings_of_layers_changed(stage):
    norm, relu = nn.LayerNorm(3), nn.LeakyReLU(0.1)
    net = nn.Sequential(norm, relu)
    f = stage.static(net)
    stage(f, x())
    for layer in (norm, relu):
        for name, value in list(vars(layer).items()):
            if type(value) is float:
                setattr(layer, name, value + 1.0)
    stage(f, x())


@footgun
def training_flag_of_the_user(stage):
    class Noted(nn.Layer):
        def forward(self, z):
            return z * 2 if self.training else z

    net = Noted()
    f = stage.static(net)
    for mode in (True, False, True):
        net.train(mode)
        stage(f, x())
    net.training = False
    stage(f, x())


@footgun
def two_layers_of_one_class(stage):
    first, second = Net(1.0), Net(2.0)
    f, g = stage.static(first), stage.static(second)
    stage(f, x())
    stage(g, x())
    second.scale = 5.0
    stage(f, x())
    stage(g, x())
    stage.note(first.steps, second.steps)


@footgun
def method_of_two_objects(stage):
    class Thing:
        def __init__(self, scale):
            self.scale = scale

        @stage.static
        def scaled(self, z):
            return z * self.scale

    first, second = Thing(2.0), Thing(3.0)
    for thing in (first, second, first, second):
        stage(thing.scaled, x())
    first.scale = 10.0
    stage(first.scaled, x())
    stage(second.scaled, x())


@footgun
def deep_copy(stage):
    net = Net()
    f = stage.static(net)
    stage(f, x())
    other = copy.deepcopy(net)
    other.first.weight.set_value(np.eye(3))
    other.scale = 9.0
    stage(other, x())
    stage(net, x())
    net.scale = 4.0
    stage(net, x())
    stage(other, x())
    stage.note(net.steps, other.steps)


@footgun
def pickled(stage):
    net = Net()
    f = stage.static(net)
    stage(f, x())
    other = pickle.loads(pickle.dumps(net))
    other.scale = 9.0
    stage(other, x())
    stage(net, x())
    stage.note(net.steps, other.steps)


@footgun
def layer_replaced_as_a_whole(stage):
    box = Box(net=linear())

    def f(z):
        return box.net(z)

    f = stage.static(f)
    stage(f, x())
    box.net = linear(3.0)
    stage(f, x())
    box.net = nn.Tanh()
    stage(f, x())


@footgun
def plain_tensor_attribute_of_a_layer(stage):
    class Held(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = {"w": constant()}
            self.state = constant()

        def forward(self, z):
            self.state = self.state * 0.5 + z.detach()
            return z * self.table["w"] + self.state

    net = Held()
    f = stage.static(net)
    stage.watch(net.table)
    for _ in range(3):
        stage(f, x())
    net.table["w"] = constant(5.0, 5.0, 5.0)
    stage(f, x())
    net.state = constant()
    stage(f, x())


@footgun
def counter_in_a_layer(stage):
    class Counted(nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.losses = []

        def forward(self, z):
            self.calls += 1
            self.losses.append(z.sum().item())
            return z * self.calls

    net = Counted()
    f = stage.static(net)
    stage.watch(net.losses)
    for _ in range(5):
        stage(f, x())
    net.calls = 100
    stage(f, x())
    stage.note(net.calls)


@footgun
def hidden_state_carried_between_calls(stage):
    class Recurrent(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cell = linear(0.1)
            self.h = None

        def forward(self, z):
            self.h = z if self.h is None else d2s.tanh(self.cell(self.h.detach()) + z)
            return self.h

    net = Recurrent()
    f = stage.static(net)
    for _ in range(4):
        stage(f, x())
    net.h = None
    stage(f, x())


@footgun
def step_inside(stage):
    net = linear()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    stage.watch(net.weight)

    def f(z):
        loss = (net(z) ** 2).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss.detach(), net(z).detach()

    f = stage.static(f)
    for _ in range(3):
        stage(f, constant())
    optimizer.set_lr(0.01)
    stage(f, constant())


@footgun
def parameter_shared_with_an_outer_tensor(stage):
    net = linear()

    def f(z):
        return net(z) + (net.weight * net.weight).sum()

    f = stage.static(f)
    stage.watch(net.weight)
    stage(f, x())
    net.weight = nn.Parameter(np.eye(3, dtype="float32"))
    stage(f, x())


@footgun
def values_of_a_parameter_read_by_python(stage):
    net = linear()
    net.gain = nn.Parameter(np.array([2.0], dtype="float32"))

    def f(z):
        if float(net.gain) > 2.5:
            return net(z)
        return z * net.gain.item()

    f = stage.static(f)
    stage(f, x())
    net.gain.set_value(np.array([3.0]))
    stage(f, x())
    net.gain.set_value(np.array([1.0]))
    stage(f, x())


@footgun
def state_dict_read_inside(stage):
    net = linear()

    def f(z):
        return z * net.state_dict()["bias"], len(net.parameters())

    f = stage.static(f)
    stage(f, x())
    net.bias.set_value(np.zeros(3))
    stage(f, x())
    net.bias = nn.Parameter(np.ones(3, dtype="float32"))
    stage(f, x())
    net.add_parameter("extra", nn.Parameter(np.ones(1, dtype="float32")))
    stage(f, x())


@footgun
def weight_norm_by_a_pre_hook(stage):
    net = linear()
    net.g = nn.Parameter(np.array([2.0], dtype="float32"))

    def scaled(layer, inputs):
        return (inputs[0] * layer.g,)

    net.register_forward_pre_hook(scaled)
    f = stage.static(net)
    stage(f, x())
    net.g.set_value(np.array([3.0]))
    stage(f, x())
