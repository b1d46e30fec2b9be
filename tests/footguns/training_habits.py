"""Habits of training code: state outside of Layers, averages, clips and schedules by hand, parts that are swapped."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import logging
import math
import types
import warnings

import numpy as np

import d2s
from d2s import nn
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x

logger = logging.getLogger("footguns")


def line(size=3):
    return nn.Linear(size, size)


# --- gradients and steps by hand -------------------------------------------------------------------------------------


@footgun
def momentum_by_hand(stage):
    weight = d2s.create_parameter([3], "float32", default_initializer=nn.initializer.Constant(0.5))
    velocity = {"w": d2s.zeros([3])}

    def step(z):
        loss = (weight * z).square().sum()
        loss.backward()
        with d2s.no_grad():
            velocity["w"] = velocity["w"] * 0.9 + weight.grad
            weight.set_value(weight - 0.1 * velocity["w"])
        weight.clear_grad()
        return loss.detach()

    step = stage.static(step)
    for change in (None, None, lambda: velocity.update(w=d2s.ones([3])), lambda: velocity["w"].zero_()):
        if change:
            change()
        stage(step, constant())
        stage.note(weight, velocity["w"])


@footgun
def gradients_kept_and_scaled(stage):
    weight = d2s.create_parameter([3], "float32", default_initializer=nn.initializer.Constant(0.5))
    kept = []

    def step(z):
        (weight * z).square().sum().backward()
        kept.append(weight.grad.clone())
        norm = math.sqrt(float((weight.grad * weight.grad).sum()))
        weight.grad = weight.grad * (1.0 / max(norm, 1.0))
        return weight.grad.sum(), norm

    step = stage.static(step)
    for _ in range(3):
        stage(step, constant())
        stage.note(kept, weight.grad)


@footgun
def gradients_are_tensors_with_gradients(stage):
    weight = d2s.create_parameter([3], "float32", default_initializer=nn.initializer.Constant(0.5))

    def step(z):
        (weight * z).square().sum().backward()
        return weight.grad * z, (weight.grad * 2.0).stop_gradient

    step = stage.static(step)
    for _ in range(3):
        stage(step, x())
        weight.clear_grad()


@footgun
def gradients_accumulated_over_calls(stage):
    net = line()
    optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())
    box = Box(step=0)

    def step(z):
        box.step += 1
        loss = net(z).square().mean() / 2.0
        loss.backward()
        if box.step % 2 == 0:
            optimizer.step()
            optimizer.clear_grad()
        return loss.detach()

    step = stage.static(step)
    for _ in range(5):
        stage(step, constant())
        stage.note(list(net.parameters()), [p.grad for p in net.parameters()])


@footgun
def losses_logged_lazily(stage):
    net = line()

    def step(z):
        loss = net(z).square().mean()
        logger.warning("loss %.3f of %s", loss.item(), type(net).__name__)
        logger.warning("lazy %s", Box.__name__)
        return loss

    step = stage.static(step)
    for _ in range(3):
        stage(step, x())
        net.weight.set_value(net.weight * 0.5)


@footgun
def running_means_in_plain_lists(stage):
    means = [0.0, 0]

    def f(z):
        means[0] = means[0] * 0.9 + float(z.mean()) * 0.1
        means[1] += 1
        return z - means[0] / (1 - 0.9 ** means[1])

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())
        stage.note(means)


@footgun
def the_best_so_far(stage):
    best = Box(loss=math.inf, state=None)
    net = line()

    def f(z):
        loss = net(z).square().mean()
        if loss.item() < best.loss:
            best.loss = loss.item()
            best.state = net.weight.clone()
        return loss

    f = stage.static(f)
    for factor in (1.0, 0.5, 2.0, 0.1):
        net.weight.set_value(net.weight * factor)
        stage(f, x())
        stage.note(best.loss, best.state)


@footgun
def early_stops(stage):
    state = {"bad": 0, "best": 1e9}

    def f(z, loss):
        if loss < state["best"]:
            state["best"], state["bad"] = loss, 0
        else:
            state["bad"] += 1
        if state["bad"] >= 2:
            raise StopIteration("no more")
        return z * state["best"]

    f = stage.static(f)
    for loss in (3.0, 2.0, 2.5, 2.5, 1.0):
        stage(f, x(), loss)
        stage.note(state)


@footgun
def warm_ups_by_number(stage):
    def f(z, step):
        scale = min(1.0, (step + 1) / 4)
        return z * scale

    f = stage.static(f)
    for step in range(7):
        stage(f, x(), step)


@footgun
def annealed_by_cosines(stage):
    box = Box(step=0)

    def f(z):
        box.step += 1
        return z * (0.5 * (1 + math.cos(math.pi * box.step / 10)))

    f = stage.static(f)
    for _ in range(6):
        stage(f, x())


# --- structure -------------------------------------------------------------------------------------------------------


@footgun
def layers_frozen_one_after_another(stage):
    net = nn.Sequential(line(), line())
    f = stage.static(lambda z: net(z).sum())
    for frozen in ([], [0], [0, 1], [1]):
        for number, layer in enumerate(net):
            for parameter in layer.parameters():
                parameter.stop_gradient = number in frozen
        stage(f, x())
        stage.note([p.grad for p in net.parameters()])
        net.clear_gradients()


@footgun
def heads_exchanged(stage):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body, self.heads, self.task = line(), nn.LayerDict({"a": line(), "b": nn.Tanh()}), "a"

        def forward(self, z):
            return self.heads[self.task](self.body(z))

    net = Net()
    stage.static(net)
    for task in ("a", "b", "a"):
        net.task = task
        stage(net, x())
    net.heads["c"] = nn.Sequential(line(), nn.ReLU())
    net.task = "c"
    stage(net, x())
    net.task = "missing"
    stage(net, x())


@footgun
def weights_tied_and_untied(stage):
    first, second = line(), line()
    f = stage.static(lambda z: second(first(z)))
    stage(f, x())
    second.weight = first.weight
    stage(f, x())
    stage.note(first.weight.grad)
    second.weight = d2s.create_parameter([3, 3], "float32")
    stage(f, x())


@footgun
def layers_called_by_their_names(stage):
    net = nn.Sequential(("lin", line()), ("act", nn.Tanh()))

    def f(z):
        for name, layer in net.named_children():
            z = layer(z) if name != "act" else layer(z) * 2.0
        return z

    f = stage.static(f)
    stage(f, x())
    net.act = nn.ReLU()
    stage(f, x())


@footgun
def outputs_caught_by_hooks(stage):
    net = nn.Sequential(line(), nn.Tanh())
    features = {}

    def keep(layer, given, out):
        features["lin"] = out

    handle = net[0].register_forward_post_hook(keep)

    def f(z):
        out = net(z)
        return out + features["lin"].detach() * 0.1

    f = stage.static(f)
    stage(f, x())
    stage.note(features["lin"], features["lin"].stop_gradient)
    features["lin"] = None
    stage(f, x())
    handle.remove()
    stage(f, x())


@footgun
def entries_updated_by_name(stage):
    features = {"last": None, "calls": 0}

    def f(z):
        y = z * 2.0
        features.update(last=y.detach(), calls=features["calls"] + 1)
        return y + features["last"] * features["calls"]

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())
        stage.note(features)


@footgun
def entries_updated_by_hooks_of_layers(stage):
    net, features = line(), {}

    def keep(layer, given, out):
        features.update(out=out, given=given[0])

    net.register_forward_post_hook(keep)

    def f(z):
        out = net(z)
        return out + features["out"].detach() * 0.1 + features["given"]

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        stage.note(features)
        features.clear()


@refused("what a hook of a Layer returns is known only when the Program runs")
def activations_counted_by_class(stage):
    counts = collections.Counter()
    net = nn.Sequential(line(), nn.ReLU(), line(), nn.ReLU())
    for layer in net:
        layer.register_forward_pre_hook(lambda layer, given: counts.update([type(layer).__name__]))

    stage(stage.static(lambda z: net(z) * counts["ReLU"]), x())


@footgun
def modes_left_by_a_context():
    net = nn.Sequential(line(), nn.Dropout(0.5))

    @contextlib.contextmanager
    def evaluating(layer):
        was = layer.training
        layer.eval()
        try:
            yield layer
        finally:
            layer.train() if was else layer.eval()

    def f(z):
        return net(z)

    yield f
    with evaluating(net):
        yield f
    yield f


@footgun
def layers_with_a_size_of_their_own(stage):
    class Padded(nn.Layer):
        def __init__(self):
            super().__init__()
            self.longest = 0

        def forward(self, z):
            self.longest = max(self.longest, z.shape[0])
            return d2s.concat([z, d2s.zeros([self.longest - z.shape[0]])]) if z.shape[0] < self.longest else z

    net = Padded()
    stage.static(net)
    for size in (3, 5, 2, 5, 7, 3):
        stage(net, x(*[0.5 * i for i in range(size)]))
        stage.note(net.longest)


@footgun
def positions_made_on_demand(stage):
    class Positions(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", None)

        def forward(self, z):
            if self.table is None or self.table.shape[0] < z.shape[0]:
                self.table = d2s.arange(z.shape[0]).astype("float32")
            return z + self.table[: z.shape[0]]

    net = Positions()
    stage.static(net)
    for size in (3, 5, 2, 6, 4):
        stage(net, x(*[0.5 * i for i in range(size)]))
        stage.note(net.table)


@footgun
def queues_of_keys(stage):
    class Queue(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", d2s.zeros([4, 3]))
            self.at = 0

        def forward(self, z):
            out = (self.keys @ z).sum()
            self.keys[self.at] = z.detach()
            self.at = (self.at + 1) % 4
            return out + z.sum()

    net = Queue()
    stage.static(net)
    for number in range(6):
        stage(net, x(number, 1.0, 2.0))
        stage.note(net.keys, net.at)


@footgun
def codebooks_updated_under_no_grad(stage):
    codes = d2s.create_parameter([2, 3], "float32", default_initializer=nn.initializer.Constant(0.5))
    counts = d2s.zeros([2])

    def f(z):
        distances = ((codes - z) ** 2).sum(axis=1)
        found = distances.argmin()
        with d2s.no_grad():
            counts[found] = counts[found] + 1.0
            codes[found] = codes[found] * 0.9 + z * 0.1
        return z + (codes[found] - z).detach()

    f = stage.static(f)
    for number in range(4):
        stage(f, x(number - 1.5, 0.5, 1.0))
        stage.note(codes, counts)


@footgun
def scales_that_grow_and_shrink(stage):
    scaler = Box(scale=4.0, good=0)

    def f(z):
        scaled = z * scaler.scale
        if bool((scaled.abs() > 20.0).any()):
            scaler.scale, scaler.good = scaler.scale / 2, 0
        else:
            scaler.good += 1
            if scaler.good == 2:
                scaler.scale, scaler.good = scaler.scale * 2, 0
        return scaled

    f = stage.static(f)
    for _ in range(6):
        stage(f, x())
        stage.note(scaler.scale, scaler.good)


@refused("a tensor of an array that a generator of NumPy gives in each run")
def tokens_sampled_with_a_seed(stage):
    rng = np.random.default_rng(0)

    def f(z):
        noise = rng.normal(size=3).astype("float32")
        return z + d2s.to_tensor(noise)

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def noise_that_is_reused(stage):
    box = Box(noise=None)

    def f(z):
        if box.noise is None:
            box.noise = d2s.randn([3])
        return z + box.noise

    f = stage.static(f)
    stage(f, x())
    stage(f, x())
    box.noise = None
    stage(f, x())
    stage(f, x())
    stage.note(box.noise)


@footgun
def seeds_set_by_the_caller(stage):
    f = stage.static(lambda z: z + d2s.randn([3]))
    for seed in (1, 2, 1):
        d2s.seed(seed)
        stage(f, x())
        stage(f, x())


@footgun
def default_dtypes_changed(stage):
    f = stage.static(lambda z: d2s.ones([3]) + z.astype(d2s.get_default_dtype()))
    stage(f, x())
    d2s.set_default_dtype("float64")
    try:
        stage(f, x())
    finally:
        d2s.set_default_dtype("float32")
    stage(f, x())


@footgun
def warnings_once_and_always(stage):
    def f(z):
        warnings.warn("once more", stacklevel=1)
        return z * 2.0

    f = stage.static(f)
    stage(f, x())
    stage(f, x())

    def quiet(z):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(z)

    stage(quiet, x())
    stage(f, x())


@footgun
def losses_chosen_by_text(stage):
    losses = {"l1": lambda a, b: (a - b).abs().mean(), "l2": lambda a, b: (a - b).square().mean()}
    config = types.SimpleNamespace(loss="l1", weight=1.0)
    f = stage.static(lambda z: losses[config.loss](z, constant()) * config.weight)
    stage(f, x())
    config.loss = "l2"
    stage(f, x())
    losses["l2"] = lambda a, b: (a * b).sum()
    stage(f, x())
    config.weight = 0.0
    stage(f, x())
    config.loss = "l3"
    stage(f, x())


@footgun
def partials_of_losses_that_change(stage):
    def loss(z, margin, reduce="mean"):
        y = nn.functional.relu(z - margin)
        return y.mean() if reduce == "mean" else y.sum()

    box = Box(loss=functools.partial(loss, margin=0.1))
    f = stage.static(lambda z: box.loss(z))
    stage(f, x())
    box.loss = functools.partial(loss, margin=0.7)
    stage(f, x())
    box.loss = functools.partial(box.loss, reduce="sum")
    stage(f, x())
    box.loss.keywords["margin"] = 0.0
    stage(f, x())


@footgun
def histories_with_a_limit(stage):
    history = collections.deque(maxlen=2)

    def f(z):
        history.append(z.detach())
        total = z * 0
        for entry in list(history):
            total = total + entry
        return total + z

    f = stage.static(f)
    for number in range(4):
        stage(f, x(number, 1.0, 2.0))
        stage.note(list(history))


@footgun
def results_kept_until_the_next_call(stage):
    box = Box(before=None)

    def f(z):
        y = z * 2.0
        out = y if box.before is None else y - box.before
        box.before = y.detach()
        return out

    f = stage.static(f)
    for number in range(4):
        result = stage(f, x(number, 1.0, 2.0))
        if number == 1:
            box.before.add_(d2s.ones([3]))
        if number == 2:
            result.detach().zero_()


@footgun
def tensors_written_by_the_caller_through_views(stage):
    weight = d2s.create_parameter([4], "float32", default_initializer=nn.initializer.Constant(1.0))
    table = d2s.zeros([2, 2])
    part = table[0]

    def f(z):
        return (table + weight.reshape([2, 2])) * z[:2]

    f = stage.static(f)
    stage(f, x())
    part.add_(d2s.ones([2]))
    stage(f, x())
    with d2s.no_grad():
        weight[1:3] = 5.0
    stage(f, x())
    table.T[1].multiply_(d2s.ones([2]) * 3.0)
    stage(f, x())
    stage.note(table, part, weight.grad)


@footgun
def models_copied_for_a_target(stage):
    net = line()
    box = Box(target=copy.deepcopy(net), step=0)

    def f(z):
        box.step += 1
        loss = (net(z) - box.target(z).detach()).square().sum()
        if box.step % 2 == 0:
            box.target.weight.set_value(net.weight)
        return loss

    f = stage.static(f)
    for number in range(4):
        stage(f, x())
        with d2s.no_grad():
            net.weight.add_(0.1)
        if number == 2:
            box.target = copy.deepcopy(net)
        stage.note(box.target.weight, net.weight.grad)


@footgun
def shapes_asked_of_the_last_batch(stage):
    box = Box(shape=None)

    def f(z):
        same = box.shape == z.shape
        box.shape = z.shape
        return z * 2.0 if same else z * 3.0

    f = stage.static(f)
    for size in (3, 3, 2, 3, 2, 2):
        stage(f, x(*[0.5 * i for i in range(size)]))


@footgun
def devices_and_dtypes_asked(stage):
    f = stage.static(lambda z: z * 2.0 if "cpu" in str(z.place).lower() and z.dtype == d2s.float32 else z)
    stage(f, x())
    stage(f, d2s.to_tensor([1.0, 2.0], dtype="float64"))


@footgun
def masks_kept_for_each_length(stage):
    class Masked(nn.Layer):
        def __init__(self):
            super().__init__()
            self.masks = {}

        def mask(self, size):
            if size not in self.masks:
                self.masks[size] = d2s.tril(d2s.ones([size, size]))
            return self.masks[size]

        def forward(self, z):
            return self.mask(z.shape[0]) @ z

    net = Masked()
    stage.static(net)
    for size in (3, 2, 3, 4, 2):
        stage(net, x(*[0.5 * i for i in range(size)]))
        stage.note(sorted(net.masks))
    net.masks[3].multiply_(d2s.ones([3, 3]) * 2.0)
    stage(net, x())


@footgun
def running_statistics_in_turns(stage):
    norm = nn.BatchNorm1D(3, momentum=0.5)

    def f(z, n):
        rows = d2s.stack([z, z * 2.0, z + 1.0])
        for _ in range(n):
            rows = norm(rows) + z
        return rows.sum()

    f = stage.static(f)
    for turns in (2, 0, 3):
        stage(f, x(), d2s.to_tensor(turns))
        stage.note(norm._mean, norm._variance)
    norm.eval()
    stage(f, x(), d2s.to_tensor(2))


@footgun
def counters_in_turns(stage):
    class Solver(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", d2s.zeros([1]))
            self.step = self.create_parameter([3], default_initializer=nn.initializer.Constant(0.3))

        def forward(self, z):
            while (z * z).sum() > 0.5:
                z = z - z * self.step
                self.steps.add_(d2s.ones([1]))
            return z

    net = Solver()
    stage.static(net)
    for data in ((0.5, -1.5, 2.0), (0.1, 0.1, 0.1), (4.0, 0.0, 0.0)):
        stage(net, x(*data))
        stage.note(net.steps, net.step.grad)
    net.steps.zero_()
    stage(net, x())
    stage.note(net.steps)
