"""Training code that changes between calls: optimizers, schedules, clips, hooks, modes, tied and replaced parts."""

from __future__ import annotations

import collections
import copy
import pickle

import numpy as np

import d2s
from d2s import nn
from tests.footguns.stage import footgun
from tests.footguns.things import Box, constant, x


def rows(n=2):
    return d2s.to_tensor(np.linspace(-1, 1, 3 * n).reshape(n, 3).astype("float32"))


class Net(nn.Layer):
    """Two linear maps and a counter."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.calls = 0

    def forward(self, z):
        self.calls += 1
        return self.b(nn.functional.relu(self.a(z)))


def trained(stage, net, optimizer, *changes, inside=True):
    """Steps of training in one static function, with `changes` in between."""
    box = Box(optimizer=optimizer)

    def step(z):
        loss = (net(z) ** 2).mean()
        loss.backward()
        box.optimizer.step()
        box.optimizer.clear_grad()
        return loss.detach()

    step = stage.static(step)
    for change in (lambda: None, *changes):
        found = change()
        if isinstance(found, d2s.optimizer.Optimizer):
            box.optimizer = found
        for _ in range(2):
            stage(step, rows())
        stage.note([p.numpy() for p in net.parameters()], net.calls)


@footgun
def learning_rates_that_are_set(stage):
    net = Net()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    trained(stage, net, optimizer, lambda: optimizer.set_lr(0.5), lambda: optimizer.set_lr(0.0))


@footgun
def schedules_that_are_exchanged(stage):
    net = Net()
    schedule = d2s.optimizer.lr.StepDecay(0.1, 1, 0.5)
    optimizer = d2s.optimizer.Momentum(schedule, parameters=net.parameters())
    trained(
        stage, net, optimizer, schedule.step, schedule.step,
        lambda: optimizer.set_lr_scheduler(d2s.optimizer.lr.ExponentialDecay(0.2, 0.5)))


@footgun
def optimizers_that_are_exchanged(stage):
    net = Net()
    trained(
        stage, net, d2s.optimizer.SGD(0.1, parameters=net.parameters()),
        lambda: d2s.optimizer.Adam(0.1, parameters=net.parameters()),
        lambda: d2s.optimizer.Momentum(0.1, parameters=net.a.parameters()))


@footgun
def clips_that_are_exchanged(stage):
    net = Net()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.1))

    def clip(made):
        optimizer._grad_clip = made

    trained(
        stage, net, optimizer, lambda: clip(nn.ClipGradByValue(0.01)), lambda: clip(None),
        lambda: clip(nn.ClipGradByNorm(0.05)))


@footgun
def groups_of_parameters(stage):
    net = Net()
    groups = [
        {"params": net.a.parameters(), "learning_rate": 0.1}, {"params": net.b.parameters(), "weight_decay": 0.1}]
    optimizer = d2s.optimizer.Momentum(0.5, parameters=groups)
    trained(stage, net, optimizer, lambda: optimizer.set_lr(0.1), lambda: net.b.weight.set_value(net.a.weight))


@footgun
def states_of_optimizers_that_are_loaded(stage):
    net = Net()
    optimizer = d2s.optimizer.Adam(0.1, parameters=net.parameters())
    saved = {}

    def save():
        saved["net"] = {name: value.numpy() for name, value in net.state_dict().items()}
        saved["optimizer"] = copy.deepcopy(optimizer.state_dict())

    def load():
        net.set_state_dict(saved["net"])
        optimizer.set_state_dict(saved["optimizer"])

    trained(stage, net, optimizer, save, lambda: None, load)


@footgun
def frozen_and_thawed_parameters(stage):
    net = Net()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())

    def freeze(stops):
        net.a.weight.stop_gradient = stops

    trained(stage, net, optimizer, lambda: freeze(True), lambda: freeze(False), lambda: net.requires_grad_(False))


@footgun
def hooks_that_come_and_go_in_training(stage):
    net = Net()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    handles = []

    def hook():
        handles.append(net.a.weight.register_hook(lambda g: g + 1))
        handles.append(net.register_forward_post_hook(lambda layer, args, out: out * 2))
        handles.append(net.b.register_forward_pre_hook(lambda layer, args: (args[0] + 1,)))

    trained(
        stage, net, optimizer, hook, lambda: handles.pop().remove(), lambda: handles.pop(0).remove(),
        lambda: handles.pop().remove())


@footgun
def ties_that_are_made_and_cut(stage):
    net = Net()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())

    def tie():
        net.b.weight = net.a.weight

    def cut():
        net.b.weight = net.create_parameter([3, 3], default_initializer=nn.initializer.Constant(0.5))

    trained(stage, net, optimizer, tie, cut, tie)


@footgun
def whole_layers_that_are_exchanged(stage):
    net = Net()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())

    def sequence():
        net.a = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3, bias_attr=False))

    def same():
        net.a = net.b

    def identity():
        net.a = nn.Identity()

    trained(stage, net, optimizer, sequence, same, identity)


@footgun
def accumulated_gradients(stage):
    net = Net()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    box = Box(every=2, count=0)

    def step(z):
        loss = net(z).sum()
        loss.backward()
        box.count += 1
        if box.count % box.every == 0:
            optimizer.step()
            optimizer.clear_grad(set_to_zero=box.count % 4 == 0)
        return loss

    step = stage.static(step)
    for every in (2, 2, 2, 3, 3, 1, 1):
        box.every = every
        loss = step(rows())
        stage.note(loss, [p.grad for p in net.parameters()], [p.numpy() for p in net.parameters()])


@footgun
def buffers_that_are_registered_again(stage):
    class Mean(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", constant(0.0, 0.0, 0.0))

        def forward(self, z):
            with d2s.no_grad():
                self.mean = self.mean * 0.5 + z.detach() * 0.5
            return z - self.mean

    net = Mean()
    f = stage.static(net)
    stage(f, x())
    stage(f, x())
    net.register_buffer("mean", constant(1.0, 1.0, 1.0))
    stage(f, x())
    net.register_buffer("mean", constant(2.0, 2.0, 2.0), persistable=False)
    stage(f, x())
    stage.note(sorted(net.state_dict()))
    net.mean = constant(9.0, 9.0, 9.0)
    stage(f, x())
    del net.mean
    net.mean = d2s.to_tensor([3.0, 3.0, 3.0])
    stage(f, x())
    stage.note(net.mean, sorted(net.state_dict()))


@footgun
def modes_of_parts(stage):
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1D(3), nn.Dropout(0.5))
    f = stage.static(net)
    for part, training in ((net, True), (net[1], False), (net[2], False), (net, True), (net, False), (net[1], True)):
        part.train(training)
        d2s.seed(1)
        stage(f, rows(4))
        stage.note(list(net.buffers()))


@footgun
def statistics_that_are_frozen_by_momentum(stage):
    net = nn.BatchNorm1D(3, momentum=0.9)
    f = stage.static(net)
    stage(f, rows(4))
    net._momentum = 1.0
    stage(f, rows(4))
    net._mean.set_value(np.array([5.0, 5.0, 5.0], "float32"))
    net.eval()
    stage(f, rows(4))
    stage.note(net._mean, net._variance)


@footgun
def copies_that_go_on_by_themselves(stage):
    net = Net()
    static = stage.static(net)
    stage(static, rows())
    other = copy.deepcopy(static)
    third = copy.copy(static)
    other.a.weight.set_value(np.ones((3, 3), "float32"))
    other.calls = 100
    for one in (static, other, third):
        stage(one, rows())
    third.b = nn.Linear(3, 3, bias_attr=False)
    third.calls = 7
    for one in (static, other, third):
        stage(one, rows())
        stage.note(one.calls)


@footgun
def layers_that_are_pickled(stage):
    static = stage.static(Net())
    stage(static, rows())
    other = pickle.loads(pickle.dumps(static))
    other.a.bias.set_value(np.ones(3, "float32"))
    stage(other, rows())
    stage(static, rows())
    stage.note(other.calls, static.calls)


@footgun
def moving_averages_of_parameters(stage):
    net = Net()
    average = copy.deepcopy(net)

    def step(z):
        loss = net(z).sum()
        with d2s.no_grad():
            for mine, other in zip(average.parameters(), net.parameters(), strict=True):
                mine.set_value(mine * 0.9 + other * 0.1)
        return loss + average(z).sum()

    step = stage.static(step)
    for value in (1.0, 2.0, 3.0):
        net.a.weight.set_value(np.full((3, 3), value, "float32"))
        stage(step, rows())
        stage.note([p.numpy() for p in average.parameters()])


@footgun
def gradients_that_are_looked_at_and_set(stage):
    net = Net()

    def step(z):
        net(z).sum().backward()
        total = sum((p.grad ** 2).sum() for p in net.parameters() if p.grad is not None)
        return total

    step = stage.static(step)
    stage(step, rows())
    stage(step, rows())
    net.clear_gradients()
    stage(step, rows())
    net.a.weight.grad = d2s.ones([3, 3])
    net.a.weight.stop_gradient = True
    stage(step, rows())


@footgun
def dtypes_of_layers_that_change(stage):
    net = Net()
    f = stage.static(net)
    stage(f, rows())
    net.astype("float64")
    stage(f, rows().astype("float64"))
    net.float()
    stage(f, rows())
    net.a.double()
    stage(f, rows())


@footgun
def lists_of_layers_that_grow_and_shrink(stage):
    class Deep(nn.Layer):
        def __init__(self):
            super().__init__()
            self.layers = nn.LayerList([nn.Linear(3, 3), nn.Linear(3, 3)])
            self.skip = set()

        def forward(self, z):
            for number, layer in enumerate(self.layers):
                if number in self.skip:
                    continue
                z = layer(z) + z
            return z

    net = Deep()
    f = stage.static(net)
    stage(f, rows())
    net.layers.append(nn.Linear(3, 3))
    stage(f, rows())
    net.skip.add(1)
    stage(f, rows())
    net.layers[0] = nn.Tanh()
    stage(f, rows())
    net.layers.insert(0, net.layers[1])
    stage(f, rows())
    del net.layers[-1]
    stage(f, rows())
    net.layers = nn.LayerList([])
    stage(f, rows())


@footgun
def weights_shared_with_a_plain_tensor(stage):
    net = nn.Linear(3, 3)
    box = Box(weight=net.weight)

    def f(z):
        return net(z) + z.matmul(box.weight)

    f = stage.static(f)
    stage(f, rows())
    net.weight.set_value(np.eye(3, dtype="float32"))
    stage(f, rows())
    net.weight = nn.Linear(3, 3).weight
    stage(f, rows())
    box.weight = net.weight
    stage(f, rows())
    box.weight = d2s.ones([3, 3])
    stage(f, rows())


@footgun
def norms_that_are_put_on_and_taken_off(stage):
    net = nn.Linear(3, 3)
    f = stage.static(lambda z: net(z))
    stage(f, rows())
    nn.utils.weight_norm(net)
    stage(f, rows())
    net.weight_g.set_value(net.weight_g.numpy() * 2)
    stage(f, rows())
    nn.utils.remove_weight_norm(net)
    stage(f, rows())


@footgun
def forward_methods_that_are_given_to_objects(stage):
    net = Net()
    f = stage.static(lambda z: net(z))
    stage(f, rows())
    net.a.forward = lambda z: z * 2
    stage(f, rows())
    del net.a.forward
    stage(f, rows())
    net.forward = lambda z: net.b(z)
    stage(f, rows())
    del net.forward
    Net.forward, kept = (lambda self, z: z * 3), Net.forward
    try:
        stage(f, rows())
    finally:
        Net.forward = kept
    stage(f, rows())


@footgun
def rolling_windows(stage):
    recent, tensors = collections.deque(maxlen=3), collections.deque(maxlen=2)

    def f(z):
        recent.append(z.mean().item())
        tensors.appendleft(z.detach() * 1)
        recent.rotate(1)
        mean = sum(recent) / len(recent)
        spread = max(recent) - min(recent)
        return (z - mean) * (spread + 1) + d2s.stack(list(tensors)).mean(0) + recent[-1]

    f = stage.static(f)
    stage.watch(recent)
    stage.watch(tensors)
    for value in (1.0, 2.0, 5.0, 3.0, 4.0):
        stage(f, x(value, 2.0))
    recent.clear()
    tensors.clear()
    stage(f, x(7.0, 2.0))


@footgun
def windows_that_lose_what_is_old(stage):
    recent = collections.deque([1.0, 2.0, 3.0])

    def f(z):
        recent.append(z.sum().item())
        recent.popleft()
        for value in recent:
            z = z * value
        return z + sorted(recent)[-1] + (2.0 if 3.0 in recent else 0.0)

    f = stage.static(f)
    stage.watch(recent)
    for value in (1.0, 2.0, 5.0):
        stage(f, x(value, 2.0))
    recent.extend([9.0, 8.0])
    stage(f, x(1.0, 2.0))
