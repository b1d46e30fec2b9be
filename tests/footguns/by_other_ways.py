"""What is reached by other ways than usual: methods by their classes, `super()`, `vars()`, gradients, flags."""

from __future__ import annotations

import collections
import copyreg
import functools
import inspect
import operator
import sys
import types

import d2s
from d2s import nn
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


class Base:
    scale = 2.0

    def __init__(self):
        self.log = []

    def scaled(self, z):
        self.log.append("base")
        return z * self.scale


class Child(Base):
    def scaled(self, z):
        self.log.append("child")
        return super().scaled(z) + 1.0


# --- methods by their classes ----------------------------------------------------------------------------------------


@footgun
def methods_of_the_user_by_their_class():
    child = Child()

    def f(z):
        return Base.scaled(child, z) + Child.scaled(child, z) * len(child.log)

    yield f
    child.scale = 3.0
    yield f
    Base.scale = 5.0
    del child.scale
    yield f
    Base.scale = 2.0


@footgun
def methods_found_by_super_of_two_arguments():
    child = Child()

    def f(z):
        return super(Child, child).scaled(z) * len(child.log)

    yield f
    yield f
    child.log.clear()
    yield f


@footgun
def object_setattr_on_a_layer():
    net = nn.Linear(3, 3)
    net.scale = 1.0

    def f(z):
        object.__setattr__(net, "scale", net.scale + 1.0)
        return net(z) * net.scale

    yield f
    yield f
    net.scale = 0.5
    yield f
    assert net.scale == 1.5


@footgun
def vars_of_a_layer_read():
    net = nn.Linear(3, 3)
    net.scale = 2.0

    def f(z):
        return z * vars(net)["scale"] * net.__dict__["scale"]

    yield f
    net.scale = 3.0
    yield f
    vars(net)["scale"] = 4.0
    yield f


@footgun
def setters_called_by_hand():
    class Thing:
        def __init__(self):
            self._value = 1.0

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, new):
            print("set", new)
            self._value = new

    thing = Thing()

    def f(z):
        Thing.value.fset(thing, Thing.value.fget(thing) * 2.0)
        return z * thing.value

    for _ in range(3):
        yield f


@footgun
def dunder_calls_by_hand():
    class Adder:
        def __init__(self):
            self.calls = 0

        def __call__(self, z):
            self.calls += 1
            return z + self.calls

        def __getitem__(self, key):
            return self.calls * key

    adder = Adder()

    def f(z):
        return Adder.__call__(adder, z) * adder.__getitem__(2) + type(adder).__getitem__(adder, 1)

    for _ in range(3):
        yield f


@footgun
def forward_of_a_parent_layer():
    class Net(nn.Linear):
        def __init__(self):
            super().__init__(3, 3)
            self.calls = 0

        def forward(self, z):
            self.calls += 1
            return super().forward(z) * self.calls + nn.Linear.forward(self, z)

    net = Net()

    def f(z):
        return net(z)

    yield f
    net.weight.set_value(net.weight * 2.0)
    yield f
    net.bias = None
    yield f


@footgun
def call_of_a_layer_by_its_class():
    net = nn.Linear(3, 3)
    seen = []
    net.register_forward_post_hook(lambda layer, given, out: seen.append(out.shape))

    def f(z):
        return nn.Layer.__call__(net, z) + net.__call__(z) * len(seen)

    for _ in range(3):
        yield f


@footgun
def mixins_around_a_layer():
    class Counting:
        def __call__(self, *args):
            self.count = getattr(self, "count", 0) + 1
            return super().__call__(*args) * self.count

    class Net(Counting, nn.Linear):
        pass

    net = Net(3, 3)

    def f(z):
        return net(z)

    yield f
    yield f
    net.count = 10
    yield f


@footgun
def deleters_of_a_layer():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cache = None

        def __delattr__(self, name):
            print("del", name)
            super().__delattr__(name)

        def forward(self, z):
            if self.cache is not None:
                y = z * self.cache
                del self.cache
                self.cache = None
                return y
            self.cache = 3.0
            return z

    net = Net()

    def f(z):
        return net(z)

    for _ in range(4):
        yield f


@footgun
def state_dict_of_a_child_class():
    class Net(nn.Linear):
        def state_dict(self, *args, **kwargs):
            found = super().state_dict(*args, **kwargs)
            print(sorted(found))
            return found

    net = Net(3, 3)

    def f(z):
        held = net.state_dict()
        return z @ held["weight"] + held["bias"]

    yield f
    net.weight.set_value(net.weight * 2.0)
    yield f


@footgun
def registration_by_super(stage):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.made = []

        def register_buffer(self, name, tensor, persistable=True):
            self.made.append(name)
            super().register_buffer(name, tensor, persistable)

        def forward(self, z):
            if "kept" not in self.made:
                self.register_buffer("kept", z.detach() * 2.0)
            return z + self.kept

    net = Net()
    stage.static(net)
    for _ in range(3):
        stage(net, x())
        stage.note(net.made, net.kept, list(net.state_dict()))


# --- flags, gradients and attributes of tensors ----------------------------------------------------------------------


@footgun
def gradients_with_flags(stage):
    weight = d2s.create_parameter([3], "float32", default_initializer=nn.initializer.Constant(0.5))

    def f(z):
        (weight * z).sum().backward()
        total = weight.grad + 0.0
        with d2s.no_grad():
            frozen = weight.grad + 0.0
        return total, total.stop_gradient, frozen.stop_gradient, weight.grad.stop_gradient

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def gradients_of_gradients_that_were_stopped(stage):
    weight = d2s.create_parameter([3], "float32", default_initializer=nn.initializer.Constant(0.5))

    def f(z):
        (weight * z).square().sum().backward()
        y = weight.grad * z
        weight.clear_grad()
        return y

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        stage.note(weight.grad)


@footgun
def results_whose_flag_is_set_back(stage):
    def f(z):
        y = z * z
        y.stop_gradient = True
        return y

    f = stage.static(f)
    for number in range(3):
        y = stage(f, x(number, 1.0, 2.0))
        stage.note(y.is_leaf, y.stop_gradient)
        y.stop_gradient = False
        z = stage(lambda given: given * 3.0, y)
        stage.note(z.is_leaf, y.is_leaf)


@footgun
def flags_of_a_stored_tensor(stage):
    box = Box(y=None)

    def f(z):
        box.y = z * 2.0
        box.y.stop_gradient = True
        return z + box.y

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        stage.note(box.y, box.y.is_leaf, box.y.stop_gradient)


@footgun
def names_and_attributes_of_tensors(stage):
    weight = constant()
    weight.tag = 2.0

    def f(z):
        weight.tag = weight.tag + 1.0
        y = z * weight.tag
        y.tag = "made"
        return y

    f = stage.static(f)
    for _ in range(3):
        y = stage(f, x())
        stage.note(weight.tag, y.tag)
    weight.tag = 0.0
    stage(f, x())
    del weight.tag
    stage(f, x())


@footgun
def gradients_replaced_by_the_caller(stage):
    weight = d2s.create_parameter([3], "float32", default_initializer=nn.initializer.Constant(0.5))

    def f(z):
        return z * (weight.grad if weight.grad is not None else 1.0)

    f = stage.static(f)
    stage(f, x())
    weight.grad = constant()
    stage(f, x())
    weight.grad = None
    stage(f, x())


@footgun
def parameters_with_settings_of_their_own(stage):
    net = nn.Linear(3, 3)
    net.weight.rate = 0.5

    def f(z):
        return net(z) * net.weight.rate * (2.0 if net.weight.trainable else 3.0)

    f = stage.static(f)
    stage(f, x())
    net.weight.rate = 2.0
    stage(f, x())
    net.weight.trainable = False
    stage(f, x())


# --- dicts, defaults and modules by other ways -----------------------------------------------------------------------


@refused("a loop over a dict that pairs have been put into in the same call")
def updates_of_dicts_of_all_kinds(stage):
    table = {"a": 1.0}

    def f(z):
        table.update(a=table["a"] + 1.0)
        table.update({"b": 2.0}, c=3.0)
        table.update([("d", 4.0)])
        table.update()
        return z * sum(table.values())

    stage(stage.static(f), x())


@footgun
def dicts_joined_in_place():
    table = {"a": 1.0}

    def f(z):
        nonlocal table
        before = table["a"]
        table |= {"a": before * 2.0, "b": 0.5}
        return z * table["a"] + table["b"]

    for _ in range(3):
        yield f


@footgun
def updates_of_dicts_of_the_user():
    class Loud(dict):
        def update(self, *args, **kwargs):
            print("update", sorted(kwargs))
            super().update(*args, **kwargs)

        def __setitem__(self, key, value):
            print("item", key)
            super().__setitem__(key, value)

    table = Loud(a=1.0)

    def f(z):
        table.update(a=table["a"] + 1.0)
        table["b"] = 2.0
        return z * table["a"]

    for _ in range(3):
        yield f


@footgun
def updates_of_ordered_dicts_and_counters():
    ordered, counts = collections.OrderedDict(a=1), collections.Counter(a=1)

    def f(z):
        ordered.update(b=ordered["a"] + 1, a=5)
        counts.update(a=2, b=1)
        return z * counts["a"] + len(ordered)

    for _ in range(3):
        yield f


@footgun
def defaults_changed_between_calls():
    def helper(z, scale=2.0, *, shift=1.0):
        return z * scale + shift

    def f(z):
        return helper(z)

    yield f
    helper.__defaults__ = (5.0,)
    yield f
    helper.__kwdefaults__ = {"shift": 0.0}
    yield f
    helper.__kwdefaults__["shift"] = 7.0
    yield f


@footgun
def code_exchanged_between_calls():
    def helper(z):
        return z * 2.0

    def other(z):
        return z - 1.0

    def f(z):
        return helper(z)

    yield f
    helper.__code__ = other.__code__
    yield f


@footgun
def attributes_of_functions():
    def f(z):
        f.calls = getattr(f, "calls", 0) + 1
        return z * f.calls

    yield f
    yield f
    f.calls = 10
    yield f


@footgun
def modules_put_in_the_place_of_others():
    name = "footgun_settings"
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].scale = 2.0

    def f(z):
        import footgun_settings

        return z * footgun_settings.scale

    yield f
    sys.modules[name].scale = 3.0
    yield f
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].scale = 5.0
    yield f
    del sys.modules[name]


@footgun
def names_looked_up_in_globals():
    globals()["_FACTOR"] = 2.0

    def f(z):
        globals()["_FACTOR"] = globals()["_FACTOR"] + 1.0
        return z * _FACTOR

    yield f
    yield f
    globals()["_FACTOR"] = 0.5
    yield f
    del globals()["_FACTOR"]


@footgun
def methods_got_by_name():
    box = Box(method="tanh", scale=2.0)

    def f(z):
        return getattr(z, box.method)() * operator.attrgetter("scale")(box)

    yield f
    box.method = "exp"
    yield f
    box.scale = 3.0
    yield f


@footgun
def signatures_and_sources_asked():
    def helper(z, scale=2.0):
        return z * scale

    def f(z):
        default = inspect.signature(helper).parameters["scale"].default
        return helper(z) * default

    yield f
    helper.__defaults__ = (4.0,)
    yield f


@footgun
def reductions_registered_for_copies():
    import copy

    class Thing:
        def __init__(self, value):
            self.value = value

    copyreg.pickle(Thing, lambda thing: (Thing, (thing.value * 2.0,)))
    thing = Thing(1.0)

    def f(z):
        return z * copy.copy(thing).value

    yield f
    thing.value = 3.0
    yield f
    copyreg.dispatch_table.pop(Thing)
    yield f


@footgun
def wrappers_and_what_they_wrap():
    def inner(z):
        return z * 2.0

    @functools.wraps(inner)
    def outer(z):
        outer.count += 1
        return outer.__wrapped__(z) + outer.count

    outer.count = 0

    def f(z):
        return outer(z)

    yield f
    yield f
    outer.__wrapped__ = lambda z: z * 5.0
    yield f


@footgun
def slices_and_keys_kept_in_objects():
    box = Box(cut=slice(0, 2), at=1, mask=d2s.to_tensor([True, False, True]))

    def f(z):
        return z[box.cut].sum() + z[box.at] + z[box.mask].sum()

    yield f
    box.cut = slice(1, 3)
    yield f
    box.at = -1
    yield f
    box.mask[1] = True
    yield f


@footgun
def classes_as_settings():
    class Small:
        factor = 2.0

    class Large(Small):
        factor = 5.0

    box = Box(kind=Small)

    def f(z):
        return z * box.kind.factor * (2.0 if issubclass(box.kind, Large) else 1.0)

    yield f
    box.kind = Large
    yield f
    Small.factor = 7.0
    yield f
    del Large.factor
    yield f


@footgun
def annotations_and_documents_read():
    def helper(z: scaled) -> 3:
        """7"""
        return z

    def f(z):
        return helper(z) * int(helper.__doc__) + helper.__annotations__["return"]

    yield f
    helper.__doc__ = "9"
    yield f
    helper.__annotations__["return"] = 1
    yield f


# --- writes in turns -------------------------------------------------------------------------------------------------


@footgun
def globals_of_tensors_written_in_turns(stage):
    total = d2s.zeros([3])

    def f(z, n):
        for _ in range(n):
            total.add_(z.detach())
            z = z + total * 0.5
        return z

    f = stage.static(f)
    for turns in (2, 0, 3, 1):
        stage(f, x(), d2s.to_tensor(turns))
        stage.note(total)
        total[0] = 1.0


@footgun
def items_of_tensors_written_in_turns(stage):
    table = d2s.zeros([4])

    def f(z, n):
        i = d2s.to_tensor(0)
        while i < n:
            table[i] = table[i] + z.detach().sum()
            i = i + 1
        return z * table.sum()

    f = stage.static(f)
    for turns in (2, 0, 4, 1):
        stage(f, x(), d2s.to_tensor(turns))
        stage.note(table)


@footgun
def averages_in_turns(stage):
    net, average = nn.Linear(3, 3), nn.Linear(3, 3)

    def f(z, n):
        for _ in range(n):
            with d2s.no_grad():
                for parameter, kept in zip(net.parameters(), average.parameters(), strict=True):
                    kept.multiply_(d2s.to_tensor(0.9))
                    kept.add_(parameter * 0.1)
            z = average(z).detach() + z
        return z

    f = stage.static(f)
    for turns in (2, 0, 3):
        stage(f, x(), d2s.to_tensor(turns))
        stage.note(list(average.parameters()))


@footgun
def statistics_shown_in_turns(stage):
    net = nn.BatchNorm1D(3)
    log = stage.log

    def f(z, n):
        rows = d2s.stack([z, z + 1.0])
        while n > 0:
            rows = net(rows) * 1.5
            log.append(net._mean.numpy().tolist())
            n = n - 1
        return rows

    f = stage.static(f)
    for turns in (2, 0, 1):
        stage(f, x(), d2s.to_tensor(turns))
        net._mean.set_value(d2s.ones([3]) * turns)


@footgun
def caches_filled_in_turns(stage):
    class Cache(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", d2s.zeros([4, 3]))
            self.register_buffer("length", d2s.to_tensor([0]))

        def forward(self, z, n):
            out = z * 0
            for i in range(n):
                self.keys[i] = z.detach() + i
                self.length.add_(d2s.to_tensor([1]))
                out = out + self.keys.sum(0) * z
            return out

    net = Cache()
    stage.static(net)
    for turns in (2, 0, 4, 1):
        stage(net, x(), d2s.to_tensor(turns))
        stage.note(net.keys, net.length)
    net.keys.zero_()
    stage(net, x(), d2s.to_tensor(3))
