"""Layers, and classes of Layers, that are changed in ways of their own between calls or by the call itself."""

from __future__ import annotations

import copy
import io
import pickle

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


class Scaled(d2s.nn.Layer):
    """A Layer with a setting and a parameter."""

    def __init__(self, scale=2.0):
        super().__init__()
        self.scale = scale
        self.weight = d2s.nn.Parameter([1.0, 2.0, 3.0])

    def forward(self, z):
        return z * self.weight * self.scale


class Lenient(d2s.nn.Layer):
    """A Layer of which a class of the user says what it has in place of a missing attribute."""

    def __init__(self):
        super().__init__()
        self.weight = d2s.nn.Parameter([1.0, 2.0, 3.0])

    def __getattr__(self, name):
        if name.startswith("times_"):
            return float(name.partition("_")[2])
        return super().__getattr__(name)

    def forward(self, z):
        return z * self.weight * self.times_3


@footgun
def attributes_made_up_by_a_layer(stage):
    net = Lenient()
    static = stage.static(net)
    stage.watch(net.weight)
    stage(static, x())
    net.times_3 = 5.0
    stage(static, x())
    del net.times_3
    stage(static, x())
    net.weight = d2s.nn.Parameter([2.0, 2.0, 2.0])
    stage(static, x())


@footgun
def properties_that_come_to_classes_of_d2s(stage):
    net = d2s.nn.Sequential(d2s.nn.Dropout(0.0), d2s.nn.LeakyReLU(0.5))
    f = stage.static(lambda z: net(z))
    stage(f, x())
    d2s.nn.LeakyReLU.negative_slope = property(lambda self: 0.25, lambda self, value: None)
    stage(f, x())
    del d2s.nn.LeakyReLU.negative_slope
    stage(f, x())


@footgun
def hooks_of_a_class_of_d2s_hidden(stage):
    net = d2s.nn.ReLU()
    f = stage.static(lambda z: net(z) * 2)
    stage(f, x())
    hook = {0: d2s.nn.layer_hooks.ForwardHook(lambda layer, inputs, outputs: outputs + 1)}
    d2s.nn.ReLU._forward_post_hooks = property(lambda self: hook)
    try:
        stage(f, x())
    finally:
        del d2s.nn.ReLU._forward_post_hooks
    stage(f, x())


@footgun
def all_attributes_of_a_layer_exchanged(stage):
    net, other = Scaled(2.0), Scaled(5.0)
    f = stage.static(lambda z: net(z))
    stage(f, x())
    before = net.__dict__
    net.__dict__ = dict(other.__dict__)
    stage(f, x())
    net.__dict__ = before
    stage(f, x())


@footgun
def all_attributes_of_a_layer_of_d2s_exchanged(stage):
    net, other = d2s.nn.LeakyReLU(0.5), d2s.nn.LeakyReLU(0.1)
    f = stage.static(lambda z: net(z))
    stage(f, x())
    object.__setattr__(net, "__dict__", dict(other.__dict__))
    stage(f, x())
    vars(net)["negative_slope"] = 0.25
    stage(f, x())


@footgun
def class_of_a_layer_exchanged(stage):
    class Halved(Scaled):
        def forward(self, z):
            return super().forward(z) / 2

    net = Scaled()
    f = stage.static(lambda z: net(z))
    stage(f, x())
    net.__class__ = Halved
    stage(f, x())
    object.__setattr__(net, "__class__", Scaled)
    stage(f, x())


@footgun
def class_of_a_layer_of_d2s_exchanged(stage):
    class Shifted(d2s.nn.ReLU):
        def forward(self, z):
            return super().forward(z) + 1

    net = d2s.nn.Sequential(d2s.nn.ReLU())
    f = stage.static(lambda z: net(z))
    stage(f, x())
    net[0].__class__ = Shifted
    stage(f, x())
    object.__setattr__(net[0], "__class__", d2s.nn.ReLU)
    stage(f, x())


@footgun
def hooks_added_by_forward(stage):
    class Net(Scaled):
        def forward(self, z):
            y = super().forward(z)
            if self.hooks < 3:
                self.hooks += 1
                number = self.hooks
                self.register_forward_post_hook(lambda layer, inputs, outputs: outputs + number)
            return y

    net = Net()
    net.hooks = 0
    f = stage.static(net.forward)
    for _ in range(4):
        stage(f, x())
    stage.note(net.hooks, net(x()))


@footgun
def hooks_removed_by_hooks(stage):
    net = Scaled()
    handles = []

    def once(layer, inputs, outputs):
        handles[-1].remove()
        return outputs * 10

    f = stage.static(lambda z: net(z) + net(z))
    stage(f, x())
    handles.append(net.register_forward_post_hook(once))
    stage(f, x())
    stage(f, x())


@footgun
def parameters_replaced_by_forward(stage):
    class Net(Scaled):
        def forward(self, z):
            y = z * self.weight
            self.scale = self.scale + 1
            with d2s.no_grad():
                self.weight.set_value(self.weight * 0.5)
            return y * self.scale

    net = Net()
    stage.watch(net.weight)
    f = stage.static(net)
    for _ in range(3):
        stage(f, x())
    net.weight.set_value(constant(4.0, 4.0, 4.0))
    stage(f, x())


@footgun
def ties_through_lists(stage):
    first, second = Scaled(), Scaled()
    both = [first.weight, second.weight]
    f = stage.static(lambda z: first(z) + second(z) * both[0])
    stage.watch(first.weight)
    stage(f, x())
    second.weight = first.weight
    stage(f, x())
    both[0] = second.weight
    stage(f, x())
    second.weight = d2s.nn.Parameter([9.0, 9.0, 9.0])
    stage(f, x())


@footgun
def states_that_are_loaded(stage):
    net, other = Scaled(), Scaled(5.0)
    with d2s.no_grad():
        other.weight.set_value(constant(7.0, 8.0, 9.0))
    f = stage.static(net)
    stage(f, x())
    net.set_state_dict(other.state_dict())
    stage(f, x())
    net.set_state_dict({"weight": constant(0.0, -1.0, 1.0)})
    stage(f, x())
    stage(stage.static(lambda z: z * sum(float(v.sum()) for v in net.state_dict().values())), x())


@footgun
def copies_of_converted_layers(stage):
    net = stage.static(Scaled())
    stage(net, x())
    copied = copy.deepcopy(net)
    copied.scale = 7.0
    shallow = copy.copy(net)
    shallow.scale = 11.0
    for layer in (net, copied, shallow):
        stage(layer, x())
    with d2s.no_grad():
        net.weight.set_value(constant(0.5, 0.5, 0.5))
    for layer in (net, copied, shallow):
        stage(layer, x())


@footgun
def pickles_of_layers_that_change(stage):
    net = Scaled()
    f = stage.static(net)
    stage(f, x())
    file = io.BytesIO()
    pickle.dump(net.__dict__["scale"], file)
    again = pickle.loads(pickle.dumps(Scaled(4.0)))
    again.scale += net.scale
    stage(stage.static(again), x())
    again.weight.stop_gradient = True
    stage(stage.static(again), x())
    stage(f, x())


@footgun
def buffers_that_are_kept_out_of_the_state(stage):
    class Counting(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", d2s.zeros([1]), persistable=False)
            self.register_buffer("total", d2s.zeros([3]))

        def forward(self, z):
            self.seen = self.seen + 1
            self.total = self.total + z.detach()
            return z * self.seen + self.total

    net = Counting()
    f = stage.static(net)
    stage(f, x())
    stage(f, x())
    stage.note(sorted(net.state_dict()), net.seen, net.total)
    net.set_state_dict({"total": constant(5.0, 5.0, 5.0)})
    stage(f, x())
    net.seen = d2s.to_tensor([100.0])
    stage(f, x())
    del net.total
    stage(f, x())


@footgun
def layers_in_dicts_that_change(stage):
    parts = d2s.nn.LayerDict({"a": Scaled(2.0), "b": Scaled(3.0)})
    box = Box(use="a")

    def f(z):
        for name, layer in parts.items():
            z = layer(z) if name == box.use else z + 1
        return z

    f = stage.static(f)
    stage(f, x())
    box.use = "b"
    stage(f, x())
    parts["c"] = Scaled(0.5)
    stage(f, x())
    parts["b"] = Scaled(9.0)
    stage(f, x())
    del parts["a"]
    stage(f, x())


@footgun
def parameters_in_lists_that_change(stage):
    class Net(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.parts = d2s.nn.ParameterList([d2s.nn.Parameter([1.0, 2.0, 3.0])])

        def forward(self, z):
            for number, part in enumerate(self.parts):
                z = z * part + number
            return z

    net = Net()
    f = stage.static(net)
    stage(f, x())
    net.parts.append(d2s.nn.Parameter([2.0, 2.0, 2.0]))
    stage(f, x())
    net.parts[0] = d2s.nn.Parameter([5.0, 5.0, 5.0])
    stage(f, x())


@footgun
def layers_that_swap_their_places(stage):
    net = d2s.nn.Sequential(Scaled(2.0), d2s.nn.ReLU(), Scaled(3.0))
    f = stage.static(net)
    stage(f, x())
    net[0], net[1] = net[1], net[0]
    stage(f, x())
    net[2].scale = 5.0
    stage(f, x())
    stage(stage.static(lambda z: net[1:](z)), x())


@footgun
def forward_chosen_by_a_setting(stage):
    class Net(Scaled):
        mode = "plain"

        def forward(self, z):
            return getattr(self, f"_{self.mode}")(z)

        def _plain(self, z):
            return z * self.weight

        def _loud(self, z):
            print("loud")
            return z * self.weight * 100

    net, other = Net(), Net()
    f = stage.static(lambda z: net(z) + other(z))
    stage(f, x())
    net.mode = "loud"
    stage(f, x())
    Net.mode = "loud"
    stage(f, x())
    net.mode = "plain"
    Net._plain = lambda self, z: z - self.weight
    stage(f, x())


@footgun
def settings_computed_by_properties_of_layers(stage):
    class Net(Scaled):
        @property
        def doubled(self):
            return self.scale * 2

        @doubled.setter
        def doubled(self, value):
            self.__dict__["scale"] = value / 2

        def forward(self, z):
            return z * self.doubled

    net = Net()
    f = stage.static(net)
    stage(f, x())
    net.doubled = 10.0
    stage(f, x())
    net.scale = 1.0
    stage(f, x())
    Net.doubled = property(lambda self: self.scale * 100)
    stage(f, x())


@footgun
def settings_in_nested_containers_of_layers(stage):
    class Net(Scaled):
        def __init__(self):
            super().__init__()
            self.config = {"inner": {"scales": [2.0, 3.0]}, "names": ("a", "b")}

        def forward(self, z):
            for name, scale in zip(self.config["names"], self.config["inner"]["scales"], strict=False):
                z = z * scale + len(name)
            return z * self.weight

    net = Net()
    f = stage.static(net)
    stage(f, x())
    net.config["inner"]["scales"].append(4.0)
    net.config["names"] = ("a", "bb", "ccc")
    stage(f, x())
    net.config["inner"] = {"scales": [1.0]}
    stage(f, x())
    net.config = {"inner": {"scales": []}, "names": ()}
    stage(f, x())


@footgun
def layers_that_share_a_setting_of_their_class(stage):
    class Net(Scaled):
        shared = {"k": 2.0}

        def forward(self, z):
            self.shared["calls"] = self.shared.get("calls", 0) + 1
            return z * self.shared["k"] + self.shared["calls"]

    first, second = Net(), Net()
    f, g = stage.static(first), stage.static(second)
    stage(f, x())
    stage(g, x())
    Net.shared["k"] = 5.0
    stage(f, x())
    second.shared = {"k": 7.0}
    stage(g, x())
    stage(f, x())


@footgun
def reduce_hooks_and_flags_of_parameters(stage):
    net = Scaled()
    stage.watch(net.weight)
    log = stage.log
    f = stage.static(lambda z: net(z).sum() * 2)
    stage(f, x())
    handle = net.weight.register_hook(lambda g: log.append("hook") or g * g + 1)
    stage(f, x())
    net.weight.clear_grad()
    net.weight.stop_gradient = True
    stage(f, x())
    net.weight.stop_gradient = False
    handle.remove()
    stage(f, x())


@footgun
def optimizers_between_calls_of_one_layer(stage):
    net = Scaled()
    optimizer = d2s.optimizer.Adam(0.1, parameters=net.parameters())
    f = stage.static(net)
    for rate in (0.1, 0.1, 1.0):
        optimizer.set_lr(rate)
        stage(f, x())
        optimizer.step()
        optimizer.clear_grad()
    stage.note(net.weight)


@footgun
def modes_set_on_parts_by_hand(stage):
    net = d2s.nn.Sequential(d2s.nn.BatchNorm1D(3), d2s.nn.Dropout(0.5))
    f = stage.static(lambda z: net(z.reshape([1, 3]) + d2s.to_tensor([[1.0], [2.0]])))
    net.eval()
    stage(f, x())
    net[0].training = True
    stage(f, x())
    vars(net[0])["training"] = False
    stage(f, x())
    object.__setattr__(net[0], "training", True)
    stage(f, x())
    stage.note(net[0]._mean)


@footgun
def apply_that_changes_all(stage):
    net = d2s.nn.Sequential(Scaled(2.0), d2s.nn.Sequential(Scaled(3.0)))
    f = stage.static(net)
    stage(f, x())

    def louder(layer):
        if hasattr(layer, "scale"):
            layer.scale *= 2

    net.apply(louder)
    stage(f, x())
    net.apply(lambda layer: layer.__dict__.update(scale=1.0) if isinstance(layer, Scaled) else None)
    stage(f, x())


@footgun
def layers_called_by_their_forward(stage):
    net = Scaled()
    net.register_forward_post_hook(lambda layer, inputs, outputs: outputs + 100)
    f = stage.static(lambda z: net.forward(z) + net(z) * 2)
    stage(f, x())
    net.forward = lambda z: z - 1
    stage(f, x())
    del net.forward
    stage(f, x())
    Scaled.forward, before = (lambda self, z: z * 0), Scaled.forward
    try:
        stage(f, x())
    finally:
        Scaled.forward = before
    stage(f, x())


@footgun
def parameters_read_by_name(stage):
    net = d2s.nn.Sequential(Scaled(2.0), Scaled(3.0))

    def f(z):
        for name, parameter in net.named_parameters():
            z = z * parameter + len(name)
        return z

    f = stage.static(f)
    stage(f, x())
    net.add_sublayer("another", Scaled(5.0))
    stage(f, x())
    net[0].extra = d2s.nn.Parameter([3.0, 3.0, 3.0])
    stage(f, x())
    del net[0].weight
    stage(f, x())


@refused("`__setattr__` of the user writes to the `__dict__` of an object that the function changes")
def histories_kept_by_a_setattr_of_the_user(stage):
    class Watchful(Scaled):
        def __setattr__(self, name, value):
            if name == "scale":
                self.__dict__["history"] = (*self.__dict__.get("history", ()), value)
            super().__setattr__(name, value)

        def forward(self, z):
            self.scale = self.scale + 1
            return z * self.weight + len(self.history)

    net = Watchful()
    f = stage.static(net)
    stage(f, x())
    stage(f, x())
    net.scale = 50.0
    stage(f, x())
    stage.note(net.history)
