"""Layers, parameters, optimizers and the like that the function makes: each call has its own."""

from __future__ import annotations

import copy

import numpy as np

import d2s
from d2s import nn
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x

MINUS = (-1.0, -2.0, -3.0)


class Filled(nn.initializer.Initializer):
    """What a list holds now."""

    def __init__(self, values):
        self.values = values

    def sample(self, shape, dtype):
        return np.full(shape, self.values[0], dtype)


class Scaled(nn.Layer):
    """A parameter, a buffer, a sublayer and a count."""

    def __init__(self, scale):
        super().__init__()
        self.register_buffer("shift", d2s.ones([3]) * scale)
        self.weight = self.create_parameter([3])
        self.inner = nn.Linear(3, 3)
        self.calls = 0

    def forward(self, z):
        self.calls += 1
        self.shift = self.shift + 1
        return self.inner(z) * self.weight + self.shift * self.calls


class Lazy(nn.Layer):
    """Its layer is made by its first call."""

    def __init__(self):
        super().__init__()
        self.inner = None

    def forward(self, z):
        z = nn.functional.dropout(z, 0.5)
        if self.inner is None:
            self.inner = nn.Linear(3, 1)
        return self.inner(z)


def calls(stage, function, *changes):
    """Call it, and again after each change."""
    function = stage.static(function)
    for change in (lambda: None, *changes):
        change()
        stage(function, x())


@footgun
def new_weights_in_each_call(stage):
    calls(stage, lambda z: nn.Linear(3, 3)(nn.functional.dropout(z, 0.5)) + d2s.rand([3]), *[lambda: None] * 2)


@footgun
def parameters_by_themselves(stage):
    def f(z):
        weight, bias = d2s.create_parameter([3], "float32"), nn.Parameter(np.ones(3, "float32"))
        (z * weight + bias).sum().backward()
        return z * weight, weight.grad, bias.grad, nn.Parameter(z * 2)

    calls(stage, f, lambda: None)


@footgun
def layers_that_are_kept(stage):
    kept = []

    @stage.static
    def f(z):
        kept.append(nn.Linear(3, 1))
        return kept[-1](z)

    for _ in range(3):
        stage(f, x())
    stage.note(kept[0] is kept[1], [layer.weight for layer in kept], [layer.weight.grad for layer in kept])


@footgun
def layers_of_the_user(stage):
    kept = []

    @stage.static
    def f(z):
        layer = Scaled(z.sum())
        layer(z)
        kept.append(layer)
        return layer(z), layer.shift

    for _ in range(2):
        stage(f, x())
    stage.note(kept[0] is kept[1], [layer.calls for layer in kept], [layer.shift for layer in kept])
    stage.note([sorted(layer.state_dict()) for layer in kept], kept[0](constant()))


@footgun
def layers_of_the_user_with_settings(stage):
    scales = [1.0]

    class Times(nn.Layer):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale
            self.rectify = nn.ReLU()

        def forward(self, z):
            return self.rectify(z) * self.scale

    calls(stage, lambda z: Times(scales[0])(z), lambda: scales.__setitem__(0, 2.0))


@footgun
def layers_made_by_the_first_call(stage):
    net = Lazy()
    static = stage.static(net)
    stage(static, x())
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    for _ in range(3):
        stage(static, x())
        optimizer.step()
        optimizer.clear_grad()
    stage.note(net.inner.weight)
    net.inner = None
    for _ in range(2):
        stage(static, x())


@footgun
def layers_entered_by_the_first_call(stage):
    class Entering(nn.Layer):
        def forward(self, z):
            if "inner" not in self._sub_layers:
                self.add_sublayer("inner", nn.Linear(3, 3))
                self.register_buffer("count", d2s.zeros([1]))
            self.count = self.count + 1
            return self.inner(z) * self.count

    net = Entering()
    static = stage.static(net)
    for _ in range(2):
        stage(static, x())
    del net._sub_layers["inner"], net._buffers["count"]
    stage(static, x())
    stage.note(net.count)


@footgun
def layers_of_branches(stage):
    @stage.static
    def f(z):
        first = nn.Linear(3, 3)
        if z.sum() > 0:
            return nn.Linear(3, 3)(first(z))
        if z.sum() > -5:
            z = nn.Linear(3, 3)(z) * 2
        return first(z), nn.Linear(3, 3)(z)

    for _ in range(2):
        stage(f, x())
        stage(f, x(*MINUS))


@footgun
def layers_of_unrolled_turns(stage):
    def f(z):
        for _ in range(3):
            z = nn.Sequential(nn.Linear(3, 3), nn.Tanh())(z)
        return z

    calls(stage, f, lambda: None)


@refused("a Layer with parameters is made in a loop whose turns are known only when the Program runs")
def layers_of_turns(stage):
    def f(z):
        while z.sum() < 100:
            z = nn.Linear(3, 3)(z) * 0 + 40
        return z

    calls(stage, f)


@refused("a buffer is made before the function is followed both ways of a condition")
def buffers_before_decisions(stage):
    def f(z):
        norm = nn.BatchNorm1D(3)
        if z.sum() > 0:
            return norm(z.reshape([1, 3]) * d2s.ones([2, 1]))
        return norm._mean, z

    calls(stage, f)


@footgun
def buffers_and_statistics(stage):
    def f(z):
        norm = nn.BatchNorm1D(3, weight_attr=False, bias_attr=False)
        return norm(z.reshape([1, 3]) * d2s.to_tensor([[1.0], [2.0]])), norm._mean * 1.0

    calls(stage, f, lambda: None)


@footgun
def initializers_of_the_user(stage):
    values, given = [1.0], Filled([1.0])

    @stage.static
    def f(z):
        values[0] += 1
        first = nn.Linear(3, 3, weight_attr=Filled(values))
        return first(z) + d2s.create_parameter([3], "float32", default_initializer=given)

    for given.values[0] in (1.0, 2.0, 3.0):
        stage(f, x())


@footgun
def initializers_that_act(stage):
    class Counting(nn.initializer.Normal):
        made = 0

        def sample(self, shape, dtype):
            self.made += 1
            stage.log.append((shape, self.made))
            print("first values")
            return super().sample(shape, dtype) * self.made

    counting = Counting()
    calls(stage, lambda z: nn.Linear(3, 3, weight_attr=counting, bias_attr=counting)(z), *[lambda: None] * 2)
    stage.note(counting.made)


@footgun
def initializers_of_all(stage):
    values = [1.0]
    nn.initializer.set_global_initializer(Filled(values))
    try:
        calls(
            stage, lambda z: nn.Linear(3, 3)(z), lambda: values.__setitem__(0, 2.0),
            lambda: nn.initializer.set_global_initializer(nn.initializer.Constant(5.0)))
    finally:
        nn.initializer.set_global_initializer(None)


@footgun
def settings_of_initializers(stage):
    array = np.ones((3, 3), "float32")
    setting = d2s.ParamAttr(initializer=nn.initializer.Constant(1.0))
    calls(
        stage,
        lambda z: nn.Linear(3, 3, setting)(z) + nn.Linear(3, 3, nn.initializer.Assign(array))(z),
        lambda: setattr(setting.initializer, "value", 2.0), lambda: array.fill(3.0),
        lambda: setattr(setting, "initializer", nn.initializer.Constant(4.0)),
        lambda: setattr(setting, "trainable", False))


@footgun
def arrays_that_objects_copy(stage):
    array = np.ones(3, "float32")
    calls(stage, lambda z: nn.initializer.Assign(array).value * z, lambda: array.fill(2.0))


@refused("an array from outside that the function has changed is copied by an object of d2s")
def arrays_that_objects_copy_after_a_change(stage):
    array = np.ones((3, 3), "float32")

    def f(z):
        array[0, 0] += 1
        return nn.Linear(3, 3, nn.initializer.Assign(array))(z)

    calls(stage, f)


@footgun
def copies_of_layers(stage):
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1D(3))
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    kept = []

    @stage.static
    def f(z):
        data = z.reshape([1, 3]) * d2s.to_tensor([[1.0], [2.0]])
        net(data).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        kept.append(copy.deepcopy(net))
        return kept[-1](data), kept[-1][1]._mean * 1.0

    for _ in range(2):
        stage(f, x())
        stage.note(net[0].weight, kept[-1][0].weight, net[1]._mean, kept[-1][1]._mean)
    stage.note(kept[0] is kept[1])


@footgun
def hooks_on_their_parameters(stage):
    def f(z):
        layer = nn.Linear(3, 1)
        layer.weight.register_hook(lambda g: stage.log.append(g.sum().item()) or g + 1)
        layer.register_forward_post_hook(lambda layer, inputs, out: out * 2)
        layer(z).sum().backward()
        with d2s.no_grad():
            layer.weight.set_value(layer.weight - 0.1 * layer.weight.grad)
        return layer(z)

    calls(stage, f, lambda: None)


@footgun
def optimizers(stage):
    net = nn.Linear(3, 1)
    stage.watch(net.weight)
    kept = []

    @stage.static
    def f(z):
        schedule = d2s.optimizer.lr.StepDecay(0.5, 1)
        optimizer = d2s.optimizer.Adam(
            schedule, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.5))
        kept.append(optimizer)
        for _ in range(2):
            net(z).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
            schedule.step()
        return net(z)

    for _ in range(2):
        stage(f, x())
    stage.note(kept[0] is kept[1])


@footgun
def optimizers_of_their_parameters(stage):
    def f(z):
        net = nn.Linear(3, 1)
        optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
        net(z).sum().backward()
        optimizer.step()
        return net(z)

    calls(stage, f, lambda: None)


@refused("an optimizer of a class of the user is made inside")
def optimizers_of_the_user(stage):
    class Fast(d2s.optimizer.SGD):
        def __init__(self, parameters):
            super().__init__(0.5, parameters=parameters)

    net = nn.Linear(3, 1)

    def f(z):
        optimizer = Fast(net.parameters())
        net(z).sum().backward()
        optimizer.step()
        return net(z)

    calls(stage, f)


@footgun
def schedules(stage):
    box = Box(factor=1.0)

    def f(z):
        schedule = d2s.optimizer.lr.LambdaDecay(0.5, lambda epoch: box.factor * epoch)
        schedule.step()
        schedule.step()
        return z * schedule.get_lr()

    calls(stage, f, lambda: setattr(box, "factor", 2.0))


@footgun
def metrics(stage):
    def f(z):
        metric = d2s.metric.Accuracy()
        metric.update(metric.compute(z.reshape([1, 3]), d2s.to_tensor([[2]])))
        return z, metric.accumulate()

    calls(stage, f, lambda: None)


@footgun
def loaders(stage):
    data = d2s.io.TensorDataset([d2s.to_tensor([1.0, 2.0, 3.0])])

    def f(z):
        for number, (batch,) in enumerate(d2s.io.DataLoader(data, batch_size=1, shuffle=True)):
            z = z + batch * number
        return z

    calls(stage, f)


@refused("an object made inside has a __del__, which Python calls when it goes")
def objects_that_act_when_they_go(stage):
    gone = [1]

    class Going:
        def __del__(self):
            gone[0] += 1

    def f(z):
        thing = Going()
        del thing
        return z * gone[0]

    calls(stage, f)
