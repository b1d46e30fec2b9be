"""Layer: what assignment registers, the walks, modes, types, text."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn
from d2s.nn.layer import STRUCTURE


class Block(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.scale = self.create_parameter([3], is_bias=True)
        self.register_buffer("count", d2s.to_tensor([0.0]))
        self.register_buffer("scratch", d2s.to_tensor([1.0]), persistable=False)
        self.note = "hello"

    def forward(self, x: Any) -> Any:
        return self.fc(x) * self.scale


class Net(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias_attr=False))

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


# --- registration -------------------------------------------------------------------------------------------------


def test_assignment_registers_by_kind() -> None:
    block = Block()
    assert [name for name, _ in block.named_parameters()] == ["scale", "fc.weight", "fc.bias"]
    assert [name for name, _ in block.named_sublayers()] == ["fc"]
    assert [name for name, _ in block.named_buffers()] == ["count", "scratch"]
    assert block.__dict__["note"] == "hello"
    assert {"fc", "scale", "count", "note"} <= set(dir(block))


def test_a_name_means_one_thing() -> None:
    block = Block()
    block.note = nn.Parameter([1.0])
    assert "note" not in block.__dict__
    block.note = nn.ReLU()
    assert [name for name, _ in block.named_parameters(include_sublayers=False)] == ["scale"]
    assert [name for name, _ in block.named_children()] == ["fc", "note"]


def test_a_tensor_assigned_to_the_name_of_a_buffer_replaces_it() -> None:
    block = Block()
    block.count = block.count + 2.0
    assert block.state_dict()["count"].tolist() == [2.0]
    assert "count" not in block.__dict__


def test_a_plain_tensor_is_a_plain_attribute() -> None:
    block = Block()
    block.mask = d2s.to_tensor([1.0])
    assert "mask" in block.__dict__
    assert "mask" not in dict(block.named_buffers())


@pytest.mark.parametrize("name", ["scale", "fc", "count"])
def test_registered_names_take_none_or_their_kind_only(name: str) -> None:
    block = Block()
    before = getattr(block, name)
    with pytest.raises(TypeError, match=rf"{name}.*int"):
        setattr(block, name, 3)
    assert getattr(block, name) is before
    setattr(block, name, None)
    assert getattr(block, name) is None
    assert all(not key.startswith(name) for key in block.state_dict())


@pytest.mark.parametrize("value", [nn.Parameter([1.0]), nn.ReLU()])
def test_a_class_attribute_may_not_hide_what_is_registered(value: Any) -> None:
    class Defaulted(nn.Layer):
        part = None

    layer = Defaulted()
    with pytest.raises(AttributeError, match=r"Defaulted\.part is an attribute of the class"):
        layer.part = value
    assert layer.parameters() == layer.sublayers() == []


def test_deleting_an_attribute_unregisters_it() -> None:
    block = Block()
    for name in ("scale", "fc", "count", "scratch", "note"):
        delattr(block, name)
        assert not hasattr(block, name)
    assert block.parameters() == block.buffers() == block.sublayers() == []
    with pytest.raises(AttributeError):
        del block.note


def test_a_missing_attribute_names_class_and_attribute() -> None:
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'nope'"):
        _ = Block().nope


def test_forgetting_super_init_is_told() -> None:
    class Forgetful(nn.Layer):
        def __init__(self) -> None:
            self.fc = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\) before it sets 'fc'"):
        Forgetful()


@pytest.mark.parametrize(
    ("method", "value"),
    [("add_parameter", nn.ReLU()), ("add_sublayer", 1.0), ("register_buffer", [1.0])],
)
def test_methods_that_register_check_name_and_kind(method: str, value: Any) -> None:
    block = Block()
    register = getattr(block, method)
    with pytest.raises(TypeError, match="fresh"):
        register("fresh", value)
    for name in ("", "a.b", "note", "forward"):
        with pytest.raises(KeyError):
            register(name, None)
    with pytest.raises(TypeError, match="string"):
        register(3, None)
    assert not hasattr(block, "fresh")


def test_create_parameter_follows_its_attr() -> None:
    layer = nn.Layer("my_scope")
    assert layer.create_parameter([2], attr=False) is None
    assert layer.create_parameter([2], attr="given").name == "given"
    weight = layer.create_parameter([2, 3])
    bias = layer.create_parameter([3], is_bias=True)
    assert weight.name.startswith(f"{layer.full_name()}.w_")
    assert bias.name.startswith(f"{layer.full_name()}.b_")
    assert bias.tolist() == [0.0, 0.0, 0.0]
    assert np.abs(weight.numpy()).max() > 0
    assert weight.dtype == np.float32
    ones = layer.create_parameter([2], attr=nn.initializer.Constant(1.0), dtype="float64")
    assert (ones.dtype, ones.tolist()) == (np.float64, [1.0, 1.0])
    attr = d2s.ParamAttr(name="frozen", trainable=False, initializer=nn.initializer.Constant(2.0))
    frozen = layer.create_parameter([1], attr, default_initializer=nn.initializer.Constant(3.0))
    assert (frozen.stop_gradient, frozen.item(), frozen.name) == (True, 2.0, "frozen")
    with pytest.raises(TypeError, match="float"):
        layer.create_parameter([1], attr=1.5)


# --- walks --------------------------------------------------------------------------------------------------------


def test_walks_go_parents_first() -> None:
    net = Net()
    names = ["", "first", "first.fc", "second", "second.0", "second.1"]
    assert [name for name, _ in net.named_sublayers(include_self=True)] == names
    assert [name for name, _ in net.named_sublayers("p")] == [f"p.{name}" for name in names[1:]]
    assert net.sublayers() == [layer for _, layer in net.named_sublayers()]
    assert list(net.children()) == [net.first, net.second]
    assert [name for name, _ in net.named_parameters("p", include_sublayers=False)] == []


def test_what_is_shared_comes_once() -> None:
    net = Net()
    net.again = net.first
    net.tied = net.first.scale
    assert len(net.parameters()) == 4
    assert len(net.sublayers()) == 5
    assert len(net.buffers()) == 2
    assert next(iter(net.named_parameters()))[0] == "tied"
    assert {"again.scale", "first.scale", "tied"} <= net.state_dict().keys()
    assert [name for name, _ in net.named_parameters(remove_duplicate=False)].count("again.scale") == 1
    assert len(list(net.named_sublayers(remove_duplicate=False))) == 7
    assert len(list(net.named_buffers(remove_duplicate=False))) == 4


def test_apply_visits_children_first() -> None:
    net, seen = Net(), []
    assert net.apply(lambda layer: seen.append(type(layer).__name__)) is net
    assert seen == ["Linear", "Block", "ReLU", "Linear", "Sequential", "Net"]


# --- calls and modes ------------------------------------------------------------------------------------------------


def test_a_layer_without_forward_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Layer does not define forward"):
        nn.Layer()(1)


def test_train_and_eval_reach_every_layer() -> None:
    net = Net()
    assert net.eval() is net
    assert [layer.training for layer in net.sublayers(include_self=True)] == [False] * 6
    net.first.train()
    assert (net.first.fc.training, net.second.training) == (True, False)


def test_clear_gradients() -> None:
    net = Net()
    net.first.scale.set_value([1.0, 1.0, 1.0])
    net(d2s.ones([4, 2])).sum().backward()
    assert net.first.fc.weight.grad is not None
    net.clear_gradients()
    assert net.first.fc.weight.grad.numpy().tolist() == [[0.0] * 3] * 2
    net.clear_gradients(set_to_zero=False)
    assert [parameter.grad for parameter in net.parameters()] == [None] * 4


def test_astype_casts_floating_state_and_keeps_hooks() -> None:
    net, seen = Net(), []
    net.register_buffer("steps", d2s.to_tensor([1]))
    net.first.scale.set_value([1.0, 1.0, 1.0])
    weight = net.first.fc.weight
    weight.register_hook(lambda g: seen.append(g.dtype.name))
    net(d2s.ones([1, 2])).sum().backward()
    assert net.to("cpu", "float64") is net
    assert net.first.fc.weight is weight
    assert weight.grad.dtype == np.float64
    assert net.first.count.dtype == np.float64
    assert net.steps.dtype == np.int64
    net(d2s.ones([1, 2], "float64")).sum().backward()
    assert seen == ["float32", "float64"]
    assert net.first.create_parameter([1]).dtype == np.float64


def test_a_layer_can_only_be_cast_to_floating_dtypes_on_the_cpu() -> None:
    net = Net()
    with pytest.raises(TypeError, match="int32"):
        net.astype("int32")
    with pytest.raises(ValueError, match="CPU only"):
        net.to("gpu:0")
    assert net.first.scale.dtype == np.float32


# --- copies ---------------------------------------------------------------------------------------------------------


def test_deepcopy_shares_nothing_but_keeps_what_is_shared_inside() -> None:
    net = Net()
    net.tied = net.first.scale
    other = copy.deepcopy(net)
    assert other.tied is other.first.scale
    assert other.tied is not net.tied
    assert other.tied.name != net.tied.name
    other.tied.set_value([7.0, 7.0, 7.0])
    assert net.tied.tolist() == [0.0, 0.0, 0.0]
    assert other.state_dict().keys() == net.state_dict().keys()


def test_deepcopy_copies_layer_hooks_but_no_gradient_hooks() -> None:
    layer, seen = nn.Linear(1, 1), []
    layer.register_forward_post_hook(lambda layer, inputs, outputs: outputs * 10.0)
    layer.weight.register_hook(lambda g: seen.append(g))
    layer.weight._register_backward_hook(lambda: seen.append(None))
    layer.weight.set_value([[2.0]])
    other = copy.deepcopy(layer)
    out = other(d2s.to_tensor([[3.0]]))
    out.sum().backward()
    assert out.tolist() == [[60.0]]
    assert other.weight.grad.tolist() == [[30.0]]
    assert seen == []


def test_pickle_keeps_values_modes_and_names() -> None:
    layer = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.25)).eval()
    other = pickle.loads(pickle.dumps(layer))
    assert other[1].p == 0.25
    assert not other[1].training
    assert type(other[0].weight) is nn.Parameter
    assert other[0].weight.name == layer[0].weight.name
    np.testing.assert_array_equal(other[0].weight.numpy(), layer[0].weight.numpy())


# --- text -----------------------------------------------------------------------------------------------------------


def test_repr_shows_the_tree() -> None:
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Block(\n"
        "    (fc): Linear(in_features=2, out_features=3, dtype=float32)\n"
        "  )\n"
        "  (second): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=3, out_features=1, dtype=float32)\n"
        "  )\n"
        ")"
    )


def test_full_names_are_snake_case_and_different() -> None:
    class HTTPModelV2(nn.Layer):
        pass

    names = [nn.LayerNorm(1).full_name(), nn.LayerNorm(1).full_name(), HTTPModelV2().full_name()]
    assert names[0] != names[1]
    assert [name.rpartition("_")[0] for name in names] == ["layer_norm", "layer_norm", "httpmodel_v2"]


# --- the version of the structure -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda net: setattr(net, "note", 1),
        lambda net: delattr(net, "second"),
        lambda net: setattr(net.first, "fc", nn.Linear(2, 3)),
        lambda net: setattr(net.first, "count", d2s.ones([1])),
        lambda net: net.eval(),
        lambda net: net.first.fc.train(),
        lambda net: net.add_sublayer("more", None),
        lambda net: net.add_parameter("more", None),
        lambda net: net.register_buffer("more", None),
        lambda net: net.register_forward_pre_hook(print),
        lambda net: net.second.register_forward_post_hook(print),
        lambda net: net.astype("float64"),
        lambda net: net.second.__setitem__(0, nn.Tanh()),
        lambda net: net.second.__delitem__(1),
    ],
)
def test_every_change_of_structure_changes_the_version(change: Any) -> None:
    net = Net()
    before = STRUCTURE.version
    change(net)
    assert STRUCTURE.version != before


def test_removing_a_hook_changes_the_version_once() -> None:
    handle = Net().register_forward_pre_hook(print)
    before = STRUCTURE.version
    handle.remove()
    after = STRUCTURE.version
    handle.remove()
    assert before != after == STRUCTURE.version


def test_using_a_layer_does_not_change_the_version() -> None:
    net = Net()
    before = STRUCTURE.version
    net(d2s.ones([1, 2])).sum().backward()
    net.clear_gradients()
    net.set_state_dict(net.state_dict())
    list(net.named_parameters())
    repr(net)
    copy.deepcopy(net)
    assert STRUCTURE.version == before


def test_a_sublayer_by_its_dotted_name() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    assert net.get_sublayer("") is net
    assert net.get_sublayer("1.1") is net[1][1]
    for name, at in (("1.2", "Sequential has no sublayer '2'"), ("0.weight", "Linear has no sublayer 'weight'")):
        with pytest.raises(AttributeError, match=at):
            net.get_sublayer(name)
