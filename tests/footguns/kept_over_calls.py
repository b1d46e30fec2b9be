"""What programs keep from call to call in unusual places; copies, pickles and exchanged parts of Layers in between."""

from __future__ import annotations

import contextvars
import copy
import dataclasses
import enum
import functools
import io
import itertools
import os
import pickle
import random
import threading
import types
import weakref

import numpy as np

import d2s
from d2s import nn
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


class Scaled(nn.Layer):
    """A Layer with a parameter, a buffer, a number and a list."""

    def __init__(self, scale=2.0):
        super().__init__()
        self.weight = self.create_parameter([3], default_initializer=nn.initializer.Constant(0.5))
        self.register_buffer("seen", d2s.zeros([3]))
        self.scale, self.log = scale, []

    def forward(self, z):
        self.seen.add_(z.detach())
        self.log.append(self.scale)
        return z * self.weight * self.scale + self.seen


def calls_of(stage, net, *changes):
    """Calls of a Layer, with changes in between; what it holds is compared."""
    stage.static(net)
    for change in (lambda: None, *changes):
        change()
        stage(net, x())
        stage.note(net.seen, net.log, net.weight, net.weight.grad)


# --- copies and pickles ----------------------------------------------------------------------------------------------


@footgun
def shallow_copies_that_share_buffers(stage):
    net = Scaled()
    stage.static(net)
    stage(net, x())
    other = copy.copy(net)
    other.scale = 5.0
    for layer in (other, net, other):
        stage(layer, x())
        stage.note(net.seen, other.seen, net.log, other.log, net.scale)


@footgun
def shallow_copies_with_a_buffer_of_their_own(stage):
    net = Scaled()
    stage.static(net)
    stage(net, x())
    other = copy.copy(net)
    other.seen = d2s.ones([3])
    for layer in (other, net):
        stage(layer, x())
        stage.note(net.seen, other.seen)


@footgun
def deep_copies_between_calls(stage):
    net = Scaled()
    stage.static(net)
    stage(net, x())
    other = copy.deepcopy(net)
    other.weight.set_value(d2s.ones([3]))
    for layer in (net, other, net, copy.deepcopy(other)):
        stage(layer, x())
        stage.note(layer.seen, net.seen, layer.log)


@footgun
def pickles_between_calls(stage):
    net = Scaled()
    stage.static(net)
    stage(net, x())
    other = pickle.loads(pickle.dumps(net))
    other.scale = 7.0
    for layer in (net, other, pickle.loads(pickle.dumps(other))):
        stage(layer, x())
        stage.note(layer.seen, net.seen, layer.log)


@footgun
def state_put_back_after_a_trial(stage):
    net = Scaled()
    stage.static(net)
    kept = {name: value.clone() for name, value in net.state_dict().items()}
    stage(net, x())
    net.set_state_dict(kept)
    stage(net, x())
    stage.note(net.seen)
    kept["seen"].add_(1.0)
    stage(net, x())
    stage.note(net.seen, kept)


@footgun
def vars_exchanged_by_the_caller(stage):
    net = Scaled()
    calls_of(stage, net, lambda: vars(net).update(scale=9.0), lambda: vars(net).update(log=[1]),
             lambda: vars(net).pop("scale") and setattr(net, "scale", 1.5))


@footgun
def saved_states_read_between_calls(stage):
    net = Scaled()
    stage.static(net)
    for _ in range(3):
        stage(net, x())
        stage.note({name: value.numpy().copy() for name, value in net.state_dict().items()})


# --- forward exchanged -----------------------------------------------------------------------------------------------


@footgun
def forward_of_an_object_exchanged_between_calls(stage):
    net = Scaled()
    stage.static(net)
    stage(net, x())
    old = net.forward
    net.forward = lambda z: old(z) * 10.0
    stage(net, x())
    net.forward = types.MethodType(lambda self, z: z - self.scale, net)
    stage(net, x())
    net.forward = old
    stage(net, x())


@footgun
def forward_of_a_sublayer_exchanged():
    net = nn.Sequential(Scaled(), Scaled(3.0))

    def f(z):
        return net(z)

    yield f
    net[0].forward = lambda z: z * 100.0
    yield f
    del net[0].forward
    yield f
    net[1].forward = functools.partial(Scaled.forward, net[0])
    yield f


@footgun
def helper_methods_of_a_layer_exchanged():
    class Net(nn.Layer):
        def scale(self, z):
            return z * 2.0

        def forward(self, z):
            return self.scale(z)

    net = Net()

    def f(z):
        return net(z)

    yield f
    net.scale = lambda z: z * 3.0
    yield f
    del net.scale
    Net.scale = lambda self, z: z * 4.0
    yield f
    Net.scale = staticmethod(lambda z: z * 5.0)
    yield f


@footgun
def layers_shared_by_two_functions(stage):
    net = Scaled()

    def double(z):
        return net(z) * 2.0

    def both(z):
        return double(z) + net(z)

    double, both = stage.static(double), stage.static(both)
    for function in (double, both, double, both):
        stage(function, x())
        stage.note(net.seen, net.log)
        net.scale += 1.0
    net.seen = d2s.ones([3])
    stage(both, x())
    stage(double, x())


@refused("what a container of Layers from outside holds is changed")
def sublayers_exchanged_in_the_call(stage):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    spare = nn.Tanh()

    def f(z):
        nonlocal spare
        y = net(z)
        spare, net[1] = net[1], spare
        return y + net(z)

    stage(stage.static(f), x())


@footgun
def sublayers_added_between_calls():
    net = nn.Sequential(nn.Linear(3, 3))

    def f(z):
        return net(z)

    yield f
    net.add_sublayer("more", nn.Tanh())
    yield f
    net.more.extra = nn.ReLU()
    yield f
    del net.more
    yield f


@footgun
def dicts_of_layers_that_change():
    net = nn.LayerDict({"a": nn.Tanh(), "b": nn.ReLU()})

    def f(z):
        for name, layer in net.items():
            print(name)
            z = layer(z)
        return z

    yield f
    net["c"] = nn.Sigmoid()
    yield f
    del net["a"]
    yield f
    net["b"] = nn.Tanh()
    yield f
    net.pop("c")
    yield f
    net.clear()
    yield f


@footgun
def lists_of_parameters_that_change():
    held = nn.ParameterList([d2s.create_parameter([3], "float32") for _ in range(2)])

    def f(z):
        for parameter in held:
            z = z * parameter
        return z, len(held)

    yield f
    held.append(d2s.create_parameter([3], "float32"))
    yield f
    held[0] = d2s.create_parameter([3], "float32")
    yield f
    held[1].set_value(d2s.ones([3]))
    yield f


@footgun
def states_loaded_in_a_hook_of_a_layer(stage):
    net = Scaled()
    kept = {name: value.clone() for name, value in net.state_dict().items()}
    net.register_forward_post_hook(lambda layer, given, out: layer.set_state_dict(kept) and None)
    calls_of(stage, net, lambda: kept["weight"].add_(1.0), lambda: None)


@footgun
def buffers_of_an_average(stage):
    net, average = nn.Linear(3, 3), nn.Linear(3, 3)
    for parameter in average.parameters():
        parameter.stop_gradient = True

    def step(z):
        loss = (net(z) - average(z)).square().sum()
        loss.backward()
        with d2s.no_grad():
            for parameter, kept in zip(net.parameters(), average.parameters(), strict=True):
                parameter.set_value(parameter - 0.1 * parameter.grad)
                kept.set_value(kept * 0.9 + parameter * 0.1)
        net.clear_gradients()
        return loss.detach()

    step = stage.static(step)
    for _ in range(3):
        stage(step, constant())
        stage.note(list(net.parameters()), list(average.parameters()))


@footgun
def hidden_states_cut_off(stage):
    class Cell(nn.Layer):
        def __init__(self):
            super().__init__()
            self.h = d2s.zeros([3])
            self.weight = self.create_parameter([3], default_initializer=nn.initializer.Constant(0.5))

        def forward(self, z):
            self.h = (self.h.detach() * self.weight + z).tanh()
            return self.h * 2.0

    cell = Cell()
    stage.static(cell)
    for change in (lambda: None, lambda: None, lambda: setattr(cell, "h", d2s.ones([3])), lambda: cell.h.zero_()):
        with d2s.no_grad():
            change()
        stage(cell, x())
        stage.note(cell.h, cell.h.stop_gradient, cell.weight.grad)


# --- Python state of other kinds -------------------------------------------------------------------------------------


@footgun
def context_variables_that_are_set_in_the_call():
    depth = contextvars.ContextVar("depth", default=1)

    def f(z):
        token = depth.set(depth.get() + 1)
        y = z * depth.get()
        if depth.get() > 3:
            depth.reset(token)
        return y

    for _ in range(4):
        yield f


@footgun
def context_variables_in_a_context(stage):
    scale = contextvars.ContextVar("scale", default=1.0)
    f = stage.static(lambda z: z * scale.get())
    stage(f, x())
    context = contextvars.copy_context()
    context.run(scale.set, 5.0)
    stage(lambda z: context.run(f, z), x())
    stage(f, x())
    scale.set(3.0)
    stage(f, x())
    stage(lambda z: context.run(f, z), x())


@footgun
def locals_of_threads(stage):
    local = threading.local()
    local.scale = 2.0

    def f(z):
        return z * getattr(local, "scale", 7.0)

    f = stage.static(f)
    stage(f, x())
    found = []

    def other():
        found.append(f(x()))
        local.scale = 11.0
        found.append(f(x()))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    stage.note(found)
    stage(f, x())


@refused("what a dict with weak keys holds is known only when the Program runs")
def weak_keys_that_go(stage):
    table = weakref.WeakKeyDictionary()
    keys = [Box(), Box()]
    table[keys[0]], table[keys[1]] = 2.0, 3.0
    f = stage.static(lambda z: z * sum(table.values()) + len(table))
    stage(f, x())
    keys.pop()
    stage(f, x())
    table[keys[0]] = 5.0
    stage(f, x())


@refused("a loop over a set of weak references: the Program would keep alive what it holds")
def weak_sets_and_finalizers(stage):
    alive, log = weakref.WeakSet(), stage.log
    kept = [Box(scale=2.0), Box(scale=3.0)]
    for box in kept:
        alive.add(box)
        weakref.finalize(box, log.append, "gone")
    f = stage.static(lambda z: z * sum(sorted(box.scale for box in alive)))
    del box
    stage(f, x())
    kept.pop()
    stage(f, x())


@footgun
def proxies_of_layers(stage):
    net = Scaled()
    proxy = weakref.proxy(net)
    f = stage.static(lambda z: z * proxy.scale + proxy.weight)
    stage(f, x())
    net.scale = 4.0
    stage(f, x())
    net.weight.set_value(d2s.ones([3]))
    stage(f, x())
    del net
    stage(f, x())


@footgun
def generators_kept_and_sent_to():
    def counting():
        total = 0.0
        while True:
            total += (yield total) or 1.0

    kept = counting()
    next(kept)

    @d2s.jit.not_to_static
    def sent(value):
        return kept.send(value)

    def f(z):
        return z * sent(2.0)

    for _ in range(3):
        yield f


@footgun
def counts_of_itertools():
    numbers = itertools.count(1)

    @d2s.jit.not_to_static
    def number():
        return next(numbers)

    def f(z):
        return z * number()

    for _ in range(3):
        yield f


@footgun
def environment_that_changes():
    os.environ["D2S_FOOTGUN"] = "2"

    def f(z):
        os.environ["D2S_FOOTGUN"] = str(int(os.environ["D2S_FOOTGUN"]) + 1)
        return z * int(os.environ.get("D2S_FOOTGUN", "1"))

    yield f
    os.environ["D2S_FOOTGUN"] = "10"
    yield f
    yield f
    del os.environ["D2S_FOOTGUN"]


@footgun
def states_of_random_put_back():
    random.seed(3)

    def f(z):
        state = random.getstate()
        first = random.random()
        random.setstate(state)
        return z * first + random.random()

    for _ in range(3):
        yield f


@footgun
def states_of_numpy_put_back():
    rng = np.random.RandomState(3)

    def f(z):
        state = rng.get_state()
        first = float(rng.rand())
        rng.set_state(state)
        return z * first + float(rng.rand())

    for _ in range(3):
        yield f


@footgun
def generators_of_numpy_copied():
    rng = np.random.default_rng(3)

    def f(z):
        other = copy.deepcopy(rng)
        return z * float(other.random()) + float(rng.random())

    for _ in range(3):
        yield f


@refused("a loop over a list that is shuffled in the same call")
def shuffled_orders_of_layers(stage):
    random.seed(1)
    layers = [nn.Tanh(), nn.ReLU(), nn.Sigmoid()]

    def f(z):
        random.shuffle(layers)
        for layer in layers:
            z = layer(z) + 0.1
        return z

    stage(stage.static(f), x())


@footgun
def layers_dropped_by_chance():
    random.seed(2)
    layers = nn.LayerList([nn.Linear(3, 3) for _ in range(3)])

    def f(z):
        for layer in layers:
            if random.random() < 0.5:
                z = z + layer(z)
        return z

    for _ in range(5):
        yield f


# --- caches ----------------------------------------------------------------------------------------------------------


@footgun
def cached_properties_over_parameters():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.weight = self.create_parameter([3])

        @functools.cached_property
        def doubled(self):
            print("computed")
            return self.weight * 2.0

        def forward(self, z):
            return z * self.doubled.detach()

    net = Net()

    def f(z):
        return net(z)

    yield f
    net.weight.set_value(d2s.ones([3]))
    yield f
    del net.doubled
    yield f
    yield f


@footgun
def cached_numbers_of_a_method():
    class Plan:
        def __init__(self):
            self.base = 2.0

        @functools.lru_cache
        def scale(self, power):
            print("asked", power)
            return self.base ** power

    plan = Plan()

    def f(z):
        return z * plan.scale(2) + plan.scale(3)

    yield f
    plan.base = 5.0
    yield f
    Plan.scale.cache_clear()
    yield f


@footgun
def memos_by_shape():
    masks = {}

    def mask(z):
        key = tuple(z.shape)
        if key not in masks:
            print("made")
            masks[key] = d2s.ones(z.shape) * 0.5
        return masks[key]

    def f(z):
        return z * mask(z)

    yield f
    yield f
    masks[(3,)].add_(d2s.ones([3]))
    yield f
    masks.clear()
    yield f


@footgun
def memos_by_identity():
    seen = {}

    def f(z):
        seen[id(f)] = seen.get(id(f), 0) + 1
        return z * seen[id(f)]

    for _ in range(3):
        yield f


# --- classes that hold fields -----------------------------------------------------------------------------------------


class Mode(enum.Enum):
    SMALL = 1
    LARGE = 10

    @property
    def factor(self):
        return self.value * 0.5

    def next(self):
        return Mode.LARGE if self is Mode.SMALL else Mode.SMALL


@footgun
def enums_that_say_what_to_do():
    box = Box(mode=Mode.SMALL)

    def f(z):
        box.mode = box.mode.next()
        return z * box.mode.factor if box.mode is Mode.LARGE else z - box.mode.value

    for _ in range(4):
        yield f


@dataclasses.dataclass
class Config:
    scale: float = 2.0
    shifts: list = dataclasses.field(default_factory=lambda: [1.0])
    extra: dict = dataclasses.field(default_factory=dict, repr=False)

    def total(self):
        return sum(self.shifts) + len(self.extra)


@footgun
def factories_of_fields_are_called_in_each_call():
    kept = []

    def f(z):
        config = Config()
        config.shifts.append(float(len(kept)))
        kept.append(config)
        return z * config.scale + config.total()

    for _ in range(3):
        yield f


@footgun
def fields_that_are_replaced():
    box = Box(config=Config())

    def f(z):
        box.config = dataclasses.replace(box.config, scale=box.config.scale + 1.0)
        box.config.shifts.append(0.5)
        return z * box.config.scale + box.config.total()

    yield f
    yield f
    box.config = Config(0.5, [2.0], {"a": 1})
    yield f


@footgun
def fields_as_dicts():
    config = Config()

    def f(z):
        held = dataclasses.asdict(config)
        held["shifts"].append(100.0)
        names = [field.name for field in dataclasses.fields(config)]
        return z * held["scale"] + sum(held["shifts"]) + len(names)

    yield f
    config.shifts.append(3.0)
    yield f
    config.scale = 1.0
    yield f


@footgun
def configs_compared():
    base = Config()
    box = Box(config=Config())

    def f(z):
        return z * 2.0 if box.config == base else z * 3.0

    yield f
    box.config.shifts.append(1.0)
    yield f
    base.shifts.append(1.0)
    yield f


class Checked:
    """A descriptor that checks, counts and keeps what is set."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name, 1.0)

    def __set__(self, instance, value):
        print("set", value)
        if value > 50:
            raise ValueError(f"{value} is too much")
        setattr(instance, self.name, value)


class Holder:
    scale = Checked()

    def __init__(self):
        self.scale = 2.0


@footgun
def descriptors_that_check():
    held = Holder()

    def f(z):
        held.scale = held.scale * 4.0
        return z * held.scale

    yield f
    yield f
    held.scale = 3.0
    yield f
    yield f
    yield f


class Named:
    """A member that does something when it learns its name."""

    known = []

    def __set_name__(self, owner, name):
        self.known.append(name)

    def __get__(self, instance, owner=None):
        return 2.0 + len(self.known)


@refused("a class made inside, with a member that acts when it learns its name")
def members_of_classes_made_inside_that_learn_their_names(stage):
    stage.watch(Named.known)

    def f(z):
        class Inner:
            factor = Named()

        return z * Inner().factor

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def members_of_classes_made_inside_that_their_function_defines():
    log = []

    def f(z):
        class Inner:
            class Member:
                def __set_name__(self, owner, name):
                    log.append(name)

                def __get__(self, instance, owner=None):
                    return 2.0

            factor = Member()
            cached = functools.cached_property(lambda self: 3.0)

        return z * Inner().factor + Inner().cached + len(log)

    for _ in range(3):
        yield f


class Unit:
    __slots__ = ("_value", "count")

    def __init__(self):
        self._value, self.count = 1.0, 0

    @property
    def value(self):
        self.count += 1
        return self._value

    @value.setter
    def value(self, new):
        print("value", new)
        self._value = new

    @value.deleter
    def value(self):
        self._value = 0.5


@footgun
def properties_with_setters_and_slots():
    unit = Unit()

    def f(z):
        y = z * unit.value
        unit.value = unit.value + 1.0
        if unit.count > 5:
            del unit.value
        return y * unit._value

    for _ in range(4):
        yield f


@footgun
def attributes_of_layers_made_up_on_demand():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Scaled()

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

        def forward(self, z):
            return z * self.scale + self.weight

    net = Net()

    def f(z):
        return net(z)

    yield f
    net.inner.scale = 8.0
    yield f
    net.scale = 1.0
    yield f
    del net.scale
    yield f


@footgun
def attributes_of_layers_checked_when_set():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def __setattr__(self, name, value):
            print("set", name)
            super().__setattr__(name, value)

        def forward(self, z):
            self.calls += 1
            self.last = z.detach()
            return z * self.calls + self.last

    net = Net()

    def f(z):
        return net(z)

    yield f
    yield f
    net.calls = 10
    yield f


@footgun
def settings_that_a_setattr_of_a_layer_stores():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.mode, self.last, self.count = "a", None, 0

        def __setattr__(self, name, value):
            if name == "mode":
                print("mode", value)
            super().__setattr__(name, value)

        def __delattr__(self, name):
            print("deleted", name)
            super().__delattr__(name)

        def forward(self, z):
            self.last = z.detach() * 2.0
            self.mode = "b"
            self.count = self.count + 1
            y = z * len(self.mode) + self.last
            if hasattr(self, "extra"):
                del self.extra
            return y

    net = Net()

    def f(z):
        return net(z)

    yield f
    net.mode = "changed"
    yield f
    assert net.mode == "b"
    print(net.mode, net.last)
    yield f
    net.extra = 1
    yield f
    yield f
    assert net.count == 5


@footgun
def setattr_of_a_layer_by_its_class():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.mode = 1.0

        def __setattr__(self, name, value):
            nn.Layer.__setattr__(self, name, value)
            nn.Layer.__setattr__(self, "touched", name)

        def forward(self, z):
            self.mode = self.mode * 2.0
            return z * self.mode + len(self.touched)

    net = Net()

    def f(z):
        return net(z)

    for net.other in range(5):
        yield f
    assert net.mode == 32.0


@footgun
def methods_of_layers_by_their_classes():
    net = nn.Linear(3, 3)

    def f(z):
        return nn.Linear.forward(net, z) + len(nn.Layer.parameters(net))

    yield f
    net.weight = d2s.create_parameter([3, 3], "float32")
    yield f
    net.bias.set_value(d2s.ones([3]))
    yield f
    net.weight.stop_gradient = True
    yield f


@footgun
def buffers_and_parameters_through_a_setattr(stage):
    class Net(Scaled):
        def __setattr__(self, name, value):
            if name != "scale":
                stage.log.append(name)
            super().__setattr__(name, value)

        def forward(self, z):
            self.seen = self.seen * 0.5 + z.detach()
            return z * self.weight + self.seen

    calls_of(stage, *[Net()], lambda: None, lambda: None)


class Registered(type):
    """A metaclass that keeps its classes, and gives their settings."""

    known = []

    def __new__(mcs, name, bases, namespace):
        cls = super().__new__(mcs, name, bases, namespace)
        mcs.known.append(cls)
        return cls

    @property
    def scale(cls):
        return cls.base * len(mcs_known())


def mcs_known():
    return Registered.known


class First(metaclass=Registered):
    base = 2.0


@footgun
def settings_of_metaclasses():
    def f(z):
        return z * First.scale

    yield f
    First.base = 3.0
    yield f
    other = Registered("Other", (), {})
    yield f
    Registered.known.remove(other)
    First.base = 2.0
    yield f


@footgun
def texts_written_in_memory():
    out = io.StringIO()

    def f(z):
        out.write("ab")
        print("len", file=out)
        return z * len(out.getvalue())

    yield f
    out.truncate(0)
    out.seek(0)
    yield f
    yield f


@footgun
def views_of_numpy_written_by_the_caller():
    array = np.ones(3, "float32")
    view = array[1:]
    net = Scaled()
    net.seen.set_value(array)

    def f(z):
        return z * d2s.to_tensor(view).sum() + net.seen + d2s.to_tensor(array)

    yield f
    array[2] = 5.0
    yield f
    view *= 2.0
    yield f
    net.seen.numpy()[:] = 9.0
    yield f


@footgun
def memory_views_and_bytes():
    data = bytearray(b"\x01\x02\x03")
    view = memoryview(data)

    def f(z):
        return z * view[1] + len(data)

    yield f
    data[1] = 9
    yield f
    view[1] = 4
    yield f
