"""Saved models: they run without their class, at any size that was left open, and train on."""

from __future__ import annotations

import contextlib
import json
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import d2s
from d2s import nn
from d2s.static import InputSpec
from tests.io.damage import damaged

ANY_ROWS = [InputSpec([None, 3], "float32")]


def rows(count, seed=0):
    return d2s.to_tensor(np.random.default_rng(seed).standard_normal((count, 3)).astype("float32"))


class Net(nn.Layer):
    """Parameters, a buffer, a dropout, a hook and a branch on the values."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        self.register_buffer("offset", d2s.to_tensor([1.0, -1.0]))

    def forward(self, x, scale=1.0):
        y = self.body(x)
        y.register_hook(lambda g: g * 1000)
        if y.sum() > 0:
            y = y * 2
        return y * scale + self.offset


@pytest.fixture(params=["eager", "static"])
def net(request):
    made = Net()
    return d2s.to_static(made) if request.param == "static" else made


@pytest.fixture
def path(tmp_path):
    return tmp_path / "models" / "net"


def reload(layer, path, spec=None):
    d2s.jit.save(layer, path, input_spec=ANY_ROWS if spec is None else spec)
    return d2s.jit.load(path)


def test_outputs_are_the_same_at_every_size(net, path):
    loaded = reload(net, path)
    net.eval()
    for count in (1, 2, 7):
        for sign in (1, -1):
            x = rows(count) * sign
            np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())


def test_gradients_are_the_same_but_for_the_hooks(net, path):
    loaded = reload(net, path)
    x = rows(5)
    for layer in (net, loaded):
        layer(x).sum().backward()
    # y has a hook that multiplies by 1000, and hooks are not saved.
    for name, parameter in net.named_parameters():
        saved = dict(loaded.named_parameters())[name]
        np.testing.assert_allclose(saved.grad.numpy() * 1000, parameter.grad.numpy(), rtol=1e-5)


def test_the_input_gets_a_gradient(path):
    loaded = reload(Net(), path)
    x = rows(2)
    x.stop_gradient = False
    loaded(x).sum().backward()
    assert x.grad.shape == [2, 3]


def test_without_grad_mode_nothing_is_kept(path):
    loaded = reload(Net(), path)
    with d2s.no_grad():
        assert loaded(rows(2)).stop_gradient


def test_state_has_the_names_it_had(net, path):
    loaded = reload(net, path)
    assert list(loaded.state_dict()) == list(net.state_dict())
    assert [name for name, _ in loaded.named_parameters()] == [name for name, _ in net.named_parameters()]
    for name, tensor in net.state_dict().items():
        np.testing.assert_array_equal(loaded.state_dict()[name].numpy(), tensor.numpy())
    other = Net()
    loaded.set_state_dict(other.state_dict())
    other.eval()
    np.testing.assert_array_equal(loaded(rows(2)).numpy(), other(rows(2)).numpy())


def test_a_loaded_layer_trains_on(path):
    loaded = reload(nn.Linear(3, 1), path)
    loaded.train()
    optimizer = d2s.optimizer.SGD(0.1, parameters=loaded.parameters())
    x, losses = rows(8), []
    for _ in range(5):
        loss = (loaded(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses == sorted(set(losses), reverse=True)


def test_a_loaded_layer_cannot_become_part_of_another_program(path):
    loaded = reload(nn.Linear(3, 1), path)
    with pytest.raises(d2s.UnsupportedSyntaxError, match="a loaded Layer cannot become part of another Program"):
        d2s.to_static(lambda x: loaded(x) * 2)(rows(2))
    with pytest.raises(d2s.UnsupportedSyntaxError, match="a loaded Layer cannot become part"):
        d2s.jit.save(loaded, path, input_spec=ANY_ROWS)


def test_values_are_those_at_the_time_of_saving(path):
    net = d2s.to_static(nn.Linear(3, 1))
    net(rows(2)).sum().backward()
    net.weight.set_value(d2s.ones([3, 1]))
    loaded = reload(net, path)
    net.weight.set_value(d2s.zeros([3, 1]))
    np.testing.assert_array_equal(loaded.weight.numpy(), np.ones((3, 1)))


@pytest.mark.parametrize("training", [True, False])
def test_modes_specs_and_gradients_are_left_alone(net, path, training):
    net.train(training)
    net.body[1].training = not training
    spec = InputSpec([None, 3], name="x")
    before = repr(spec)
    d2s.jit.save(net, path, input_spec=[spec])
    assert net.training is training
    assert net.body[0].training is training
    assert net.body[1].training is (not training)
    assert repr(spec) == before
    assert all(parameter.grad is None for parameter in net.parameters())


class Regularised(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1D(3)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(self.norm(x))


def test_both_modes_are_saved(path):
    net = Regularised()
    loaded = reload(net, path)
    x = rows(6)
    net.eval()
    np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())
    net.train()
    loaded.train()
    d2s.seed(7)
    expected = net(x)
    d2s.seed(7)
    np.testing.assert_array_equal(loaded(x).numpy(), expected.numpy())
    for name, tensor in net.state_dict().items():
        np.testing.assert_array_equal(loaded.state_dict()[name].numpy(), tensor.numpy(), err_msg=name)
    assert loaded.state_dict()["norm._mean"].numpy().any()


# --- functions, structures, sizes ------------------------------------------------------------------------------------


def test_nested_arguments_and_results(path):
    def f(pair, named, flag=True):
        first, second = pair
        total = first + named["k"] if flag else second
        return {"total": total, "parts": [first * 2, (second, 3, "text")], "none": None}

    spec = [[InputSpec([None]), InputSpec([2])], {"k": InputSpec([])}]
    loaded = reload(f, path, spec)
    one, two = d2s.to_tensor([1.0, 2.0, 3.0]), d2s.to_tensor([5.0, 6.0])
    found = loaded((one, two), {"k": d2s.to_tensor(10.0)})
    assert found["total"].numpy().tolist() == [11.0, 12.0, 13.0]
    assert found["parts"][0].numpy().tolist() == [2.0, 4.0, 6.0]
    assert found["parts"][1][0].numpy().tolist() == [5.0, 6.0]
    assert found["parts"][1][1:] == (3, "text")
    assert found["none"] is None


def test_loops_and_branches_on_tensors(path):
    def f(x):
        count = 0
        y = x
        while y.sum() < 100:
            y = y * 2
            y.register_hook(lambda g: g + 1)
            count = count + 1
            if y.max() > 30:
                y = y + 1
        return y, count

    loaded = reload(f, path, [InputSpec([None])])
    for values in ([1.0], [1.0, 2.0, 3.0], [1000.0]):
        x = d2s.to_tensor(values, stop_gradient=False)
        expected, count = f(x)
        found, counted = loaded(x)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        assert int(counted) == count


def test_sizes_that_were_left_open_can_be_computed_with(path):
    def f(x):
        rows, columns = x.shape
        flat = x.reshape([rows * columns])
        if rows > 2:
            flat = flat * 10
        return flat.sum() / rows, x.reshape([-1, 1]) + d2s.zeros([columns])

    loaded = reload(f, path, [InputSpec([None, None])])
    for shape in ((1, 2), (3, 2), (4, 5)):
        x = d2s.ones(shape)
        for found, expected in zip(loaded(x), f(x), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_indexing_and_convolution(path):
    class Conv(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2D(2, 3, 3, padding=1)

        def forward(self, x):
            return self.conv(x)[:, 0, ..., 1:].max(axis=1)

    net = Conv()
    loaded = reload(net, path, [InputSpec([None, 2, 4, 4])])
    x = d2s.randn([3, 2, 4, 4])
    np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())


def test_tensors_from_elsewhere_are_saved_too(path):
    table = d2s.to_tensor([[1.0], [2.0], [3.0]])
    loaded = reload(lambda x: x @ table, path)
    assert loaded(d2s.ones([1, 3])).item() == 6.0
    assert list(loaded.state_dict()) == ["captured_0"]


def test_shared_parameters_stay_shared(path):
    class Shared(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = self.a

        def forward(self, x):
            return self.b(self.a(x))

    loaded = reload(Shared(), path)
    assert loaded.a.weight is loaded.b.weight
    assert len(loaded.parameters()) == 2


def test_errors_of_the_function_are_raised_again(path):
    def f(x):
        if x.sum() > 0:
            raise ValueError("positive")
        assert x.min() > -5, "too small"
        return x

    loaded = reload(f, path, [InputSpec([None])])
    with pytest.raises(ValueError, match="positive"):
        loaded(d2s.to_tensor([1.0]))
    with pytest.raises(AssertionError, match="too small"):
        loaded(d2s.to_tensor([-7.0]))
    assert loaded(d2s.to_tensor([-1.0])).item() == -1.0


# --- what is refused -------------------------------------------------------------------------------------------------


class Classes(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, words, labels):
        return nn.functional.cross_entropy(self.table(words), labels)


@pytest.mark.parametrize(("words", "labels"), [([0, 7], [0, 1]), ([0, 1], [0, 9]), ([0, 1], [0, 1, 1])])
def test_errors_about_operands_name_the_line_that_was_saved(path, words, labels):
    loaded = reload(Classes(), path, [InputSpec([None], "int64"), InputSpec([None], "int64")])
    messages = []
    for layer in (Classes(), loaded):
        with pytest.raises(d2s.D2SError) as caught:
            layer(d2s.to_tensor(words), d2s.to_tensor(labels))
        messages.append(str(caught.value).replace(__file__, "test_save_load.py"))
    assert messages[0] == messages[1]
    assert "return nn.functional.cross_entropy(self.table(words), labels)" in messages[0]
    # Where the file lay is not told.
    assert str(caught.value.location).startswith("test_save_load.py:")


def test_files_without_lines_are_read(path):
    d2s.jit.save(Net(), path, input_spec=ANY_ROWS)
    with zipfile.ZipFile(path.with_suffix(".d2s")) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    described = json.loads(entries["program.json"])
    for mode in described["modes"].values():
        for operator in mode["program"]["block"]["operators"]:
            del operator["location"]
    with zipfile.ZipFile(path.with_suffix(".d2s"), "w") as archive:
        for name, content in {**entries, "program.json": json.dumps(described)}.items():
            archive.writestr(name, content)
    assert d2s.jit.load(path)(rows(2)).shape == [2, 2]


def test_calls_are_checked(path):
    loaded = reload(Net(), path)
    with pytest.raises(d2s.GuardError, match=r"x is float32\[2, 4\], but the Layer was saved for float32\[-1, 3\]"):
        loaded(d2s.ones([2, 4]))
    with pytest.raises(d2s.GuardError, match=r"scale is 2\.0, but the Layer was saved for 1\.0"):
        loaded(rows(2), scale=2.0)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        loaded()


def test_effects_and_objects_are_refused_by_line(path):
    log = []

    class Thing:
        pass

    def effect(x):
        log.append(1)
        return x

    def result(x):
        return x, Thing()

    def handle(x):
        return x.register_hook(lambda g: g)

    for function, text in ((effect, "log.append"), (result, "Thing"), (handle, "register_hook")):
        with pytest.raises(d2s.ProgramError, match="a saved Program cannot hold") as caught:
            d2s.jit.save(function, path, input_spec=[InputSpec([1])])
        assert "test_save_load.py" in str(caught.value), text
    assert not path.parent.exists()
    assert log == []


def test_a_missing_spec_is_asked_for(path):
    with pytest.raises(d2s.GuardError, match="save\\(\\) needs input_spec"):
        d2s.jit.save(Net(), path)
    with pytest.raises(d2s.GuardError, match="does not fit forward"):
        d2s.jit.save(Net(), path, input_spec=[])
    with pytest.raises(d2s.DTypeError, match="needs a Layer or a function, got int"):
        d2s.jit.save(3, path, input_spec=[])


def test_the_spec_of_to_static_is_used(path):
    net = d2s.to_static(nn.Linear(3, 1), input_spec=ANY_ROWS)
    d2s.jit.save(net, path)
    assert d2s.jit.load(path)(rows(4)).shape == [4, 1]


def test_an_example_serves_as_spec(path):
    loaded = reload(nn.Linear(3, 1), path, [rows(4)])
    assert loaded(rows(4)).shape == [4, 1]
    with pytest.raises(d2s.GuardError):
        loaded(rows(5))


def test_a_file_that_is_none_is_refused(path, tmp_path):
    with pytest.raises(FileNotFoundError):
        d2s.jit.load(path)
    for number, content in enumerate((b"nonsense", b"")):
        other = tmp_path / f"{number}.d2s"
        other.write_bytes(content)
        with pytest.raises(ValueError, match=r"was not written by d2s\.jit\.save"):
            d2s.jit.load(other)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A saved Layer, as bytes."""
    path = tmp_path_factory.mktemp("saved") / "net"
    d2s.jit.save(Net(), path, input_spec=ANY_ROWS)
    return path.with_suffix(".d2s")


@settings(max_examples=max(100, settings.default.max_examples))
@given(draw=st.data())
def test_whatever_was_changed_in_a_file_it_is_read_or_refused(written, draw):
    data = written.read_bytes()
    changed = written.with_name("changed.d2s")
    changed.write_bytes(damaged(data, draw))
    with contextlib.suppress(d2s.ArgumentError):
        d2s.jit.load(changed)


@settings(max_examples=max(100, settings.default.max_examples))
@given(draw=st.data())
def test_whatever_was_changed_in_a_description_it_is_read_or_refused(written, draw):
    """The archive itself is sound, so that what is described in it is looked at."""
    changed = written.with_name("changed.d2s")
    with zipfile.ZipFile(written) as archive, zipfile.ZipFile(changed, "w") as other:
        for name in archive.namelist():
            data = archive.read(name)
            other.writestr(name, damaged(data, draw) if name == "program.json" else data)
    with contextlib.suppress(d2s.ArgumentError):
        d2s.jit.load(changed)


def tampered(path, change):
    """Replace the description in a saved file by what `change` makes of its text."""
    file = path.with_suffix(".d2s")
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    text = entries["program.json"].decode()
    entries["program.json"] = change(text).encode()
    assert entries["program.json"] != text.encode()
    json.loads(entries["program.json"])
    with zipfile.ZipFile(file, "w") as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)


@pytest.mark.parametrize("name", ["os.system", "operator.methodcaller", "operator.call", "getattr", "eval"])
def test_functions_that_are_not_listed_are_not_found(path, name):
    d2s.jit.save(lambda x: x.reshape([x.shape[0] * 3]), path, input_spec=ANY_ROWS)
    tampered(path, lambda text: text.replace("operator.mul", name))
    with pytest.raises(ValueError, match=f"damaged: '{re.escape(name)}'"):
        d2s.jit.load(path)


@pytest.mark.parametrize("change", [
    # Names are comments in generated code.
    lambda described: described["modes"]["eval"]["program"]["values"][0].update(
        name="x\n    raise SystemExit\n    "),
    lambda described: described["modes"]["eval"]["program"].update(name="f\rraise SystemExit"),
    # A Program that reads a value before it is defined, one with an op that its values do not fit, one with no end.
    lambda described: described["modes"]["eval"]["program"]["block"]["operators"].reverse(),
    lambda described: described["modes"]["eval"]["program"]["block"]["operators"][0].update(kind="matmul"),
    lambda described: described["modes"]["eval"]["program"]["block"]["operators"][0].update(kind="unknown"),
], ids=["name of a value", "name of the Program", "order", "op", "kind"])
def test_a_program_is_verified_before_it_runs(path, change):
    d2s.jit.save(lambda x: (x * 2).sum(), path, input_spec=ANY_ROWS)

    def changed(text):
        described = json.loads(text)
        change(described)
        return json.dumps(described)

    tampered(path, changed)
    with pytest.raises(ValueError, match="damaged"):
        d2s.jit.load(path)
