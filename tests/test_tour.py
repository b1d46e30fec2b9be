"""Every public feature once: a tour of a few seconds."""

from __future__ import annotations

import numpy as np
import pytest

import d2s as paddle
from d2s import io, nn, optimizer, static
from d2s.nn import functional


def leaf(*values):
    return paddle.to_tensor(list(values), dtype="float32", stop_gradient=False)


def test_tensors():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64", stop_gradient=False)
    assert (x.shape, x.dtype, x.stop_gradient, x.is_leaf, x.ndim, x.size) == ([2, 2], "float64", False, True, 2, 4)
    assert x.detach().stop_gradient
    assert not x.clone().is_leaf
    assert repr(paddle.to_tensor([1])).startswith("Tensor(shape=[1], dtype=int64, place=Place(cpu), stop_gradient=True")
    assert x[1, 0].item() == 3.0
    assert x.astype("int64").numpy().tolist() == [[1, 2], [3, 4]]


def test_arithmetic_comparison_reduction_shape_indexing_and_products():
    x = leaf(1.0, -2.0, 3.0)
    assert ((x + 1) * 2 - x / 2 ** 2).numpy().tolist() == [3.75, -1.5, 7.25]
    assert (x > 0).numpy().tolist() == [True, False, True]
    assert (x.sum().item(), x.mean().item(), x.max().item(), x.argmax().item()) == (2.0, pytest.approx(2 / 3), 3.0, 2)
    assert paddle.concat([x, x]).reshape([2, 3]).transpose([1, 0]).shape == [3, 2]
    assert paddle.stack([x, x]).unsqueeze(0).squeeze(0).flatten().shape == [6]
    assert paddle.where(x > 0, x, -x).numpy().tolist() == [1.0, 2.0, 3.0]
    assert x[x > 0].shape == [2]
    assert (paddle.eye(3) @ x).numpy().tolist() == x.numpy().tolist()
    assert paddle.matmul(paddle.ones([2, 3]), x).numpy().tolist() == [2.0, 2.0]
    assert paddle.clip(paddle.exp(x), 0.0, 1.0).shape == [3]


def test_backward_and_gradients():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(paddle.to_tensor([10.0]))
    assert x.grad.item() == 44.0
    x.clear_grad()
    assert x.grad.item() == 0.0
    x.clear_gradient()
    x.grad = paddle.to_tensor([7.0])
    assert x.grad.item() == 7.0
    (g,) = paddle.grad(x**3, [x], create_graph=True)
    assert paddle.grad(g, [x])[0].item() == 12.0
    paddle.autograd.backward([2 * x])
    assert x.grad.item() == 9.0


def test_grad_mode():
    with paddle.no_grad():
        assert not paddle.is_grad_enabled()
        with paddle.enable_grad():
            assert paddle.is_grad_enabled()
    with paddle.set_grad_enabled(False):
        assert (2 * leaf(1.0)).stop_gradient


def test_hooks():
    log = []
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g + 1)
    x._register_backward_hook(lambda: log.append(x.grad.item()))
    y = 2 * x
    y.retain_grads()
    y.backward()
    assert (log, y.grad.item()) == ([3.0], 1.0)
    assert handle.remove()
    with pytest.warns(RuntimeWarning):
        assert not handle.remove()
    x._apply_backward_hook()
    assert log == [3.0, 3.0]


def test_py_layer():
    class Cube(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return 3 * x * x * g

    x = leaf(2.0)
    Cube.apply(x).backward()
    assert x.grad.item() == 12.0


def test_seed_device_mode_and_default_dtype():
    paddle.seed(1)
    first = paddle.rand([3]).numpy()
    paddle.seed(1)
    assert paddle.rand([3]).numpy().tolist() == first.tolist()
    assert (paddle.get_device(), paddle.set_device("cpu")) == ("cpu", paddle.CPUPlace())
    assert paddle.in_dynamic_mode()
    assert paddle.get_default_dtype() == paddle.float32


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.LayerNorm(8), nn.Linear(8, 3))
        self.register_buffer("scale", paddle.ones([1]))

    def forward(self, x):
        return self.layers(x) * self.scale


def test_layers():
    net = Net()
    assert len(net.parameters()) == 6
    assert [name for name, _ in net.named_sublayers()][:2] == ["layers", "layers.0"]
    assert [name for name, _ in net.named_buffers()] == ["scale"]
    other = Net()
    other.set_state_dict(net.state_dict())
    net.eval()
    other.eval()
    x = paddle.ones([2, 4])
    assert other(x).numpy().tolist() == net(x).numpy().tolist()
    pre = net.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 0,))
    post = net.register_forward_post_hook(lambda layer, inputs, output: output + 1)
    changed = net(x)
    pre.remove()
    post.remove()
    assert not np.array_equal(changed.numpy(), net(x).numpy())
    assert net.layers[0].weight.shape == [4, 8]
    assert [nn.ReLU()(leaf(-1.0)).item(), nn.Sigmoid()(leaf(0.0)).item()] == [0.0, 0.5]


def test_losses_and_functional():
    logits, labels = paddle.to_tensor([[1.0, 2.0]]), paddle.to_tensor([1])
    loss = nn.CrossEntropyLoss()(logits, labels).item()
    assert loss == pytest.approx(-np.log(functional.softmax(logits).numpy()[0, 1]))
    assert nn.MSELoss()(leaf(1.0), leaf(3.0)).item() == 4.0
    assert functional.relu(leaf(-1.0)).item() == 0.0


@pytest.mark.parametrize("kind", ["SGD", "Momentum", "Adam", "AdamW"])
def test_optimizers(kind):
    net = Net()
    chosen = getattr(optimizer, kind)(
        learning_rate=optimizer.lr.StepDecay(0.05, step_size=5), parameters=net.parameters(),
        grad_clip=nn.ClipGradByGlobalNorm(1.0),
    )
    losses = []
    for _ in range(10):
        loss = (net(paddle.ones([2, 4])) - 1).square().mean()
        loss.backward()
        chosen.step()
        chosen.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


class Numbers(io.Dataset):
    def __getitem__(self, index):
        return np.float32([index]), index

    def __len__(self):
        return 10


def test_data():
    loader = io.DataLoader(Numbers(), batch_size=4, shuffle=True, drop_last=True)
    assert [x.shape for x, _ in loader()] == [[4, 1]] * 2
    with_workers = io.DataLoader(Numbers(), batch_size=5, num_workers=2)
    assert [labels.numpy().tolist() for _, labels in with_workers] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_saving(tmp_path):
    paddle.save({"net": Net().state_dict(), "step": 3}, str(tmp_path / "state"))
    assert paddle.load(str(tmp_path / "state"))["step"] == 3
    net = Net()
    net.eval()
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=[static.InputSpec([2, 4])])
    x = paddle.ones([2, 4])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    loaded.eval()
    assert loaded(x).numpy().tolist() == net(x).numpy().tolist()


def test_to_static():
    @paddle.jit.not_to_static
    def python(x):
        return float(x.numpy()[0])

    @paddle.jit.to_static
    def f(x, limit):
        total = x * 0
        for i in range(limit):
            if total.sum() > 5 and python(x) > 0:
                break
            total = total + x * (i if i else 1)
        total.register_hook(lambda g: g + 1)
        return total

    for _ in range(2):
        x = leaf(2.0)
        y = f(x, paddle.to_tensor(10))
        y.backward()
        assert (y.item(), x.grad.item()) == (8.0, 8.0)
    assert len(f.program_cache) == 1
    assert "register_hook" in f.code
    assert "call_hooks" in str(f.main_program)
    assert f.concrete_program.main_program is f.main_program
    assert f.rollback() is f.dygraph_function
    assert paddle.to_static is paddle.jit.to_static


def test_static_layers_train_as_eager_ones_do():
    def losses(convert):
        paddle.seed(0)
        net = convert(Net())
        adam = optimizer.Adam(parameters=net.parameters())
        found = []
        for _ in range(3):
            loss = nn.CrossEntropyLoss()(net(paddle.ones([2, 4])), paddle.to_tensor([0, 1]))
            loss.backward()
            adam.step()
            adam.clear_grad()
            found.append(loss.item())
        return found

    assert losses(paddle.jit.to_static) == losses(lambda net: net)


def test_input_spec():
    f = paddle.jit.to_static(lambda x: 2 * x, input_spec=[static.InputSpec([None, 2], "float32", "x")])
    assert f(paddle.ones([3, 2])).shape == [3, 2]
    with pytest.raises(ValueError, match="input_spec"):
        f(paddle.ones([3]))


def test_switching_static_mode_off():
    calls = []
    f = paddle.jit.to_static(lambda x: calls.append(type(x).__name__))
    paddle.jit.enable_to_static(False)
    try:
        f(leaf(1.0))
    finally:
        paddle.jit.enable_to_static(True)
    assert calls == ["Tensor"]
    assert len(f.program_cache) == 0


def test_programs_built_by_hand():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        w = static.create_parameter([2, 1], name="w")
        loss = (x @ w).square().mean()
        ((parameter, gradient),) = static.append_backward(loss)
    assert parameter.name == "w"
    executor = static.Executor()
    executor.run(startup)
    value, g = executor.run(main, feed={"x": np.ones((3, 2), "float32")}, fetch_list=[loss, gradient])
    assert value >= 0
    assert g.shape == (2, 1)
    paddle.enable_static()
    assert not paddle.in_dynamic_mode()
    paddle.disable_static()


def test_tools(capsys):
    @paddle.jit.to_static
    def f(x, w):
        y = x * w
        z = 3 * y
        y.register_hook(lambda g: g + 1)
        return z.sum()

    inputs = leaf(1.0, 2.0), leaf(3.0, 4.0)
    paddle.testing.assert_same_in_both_modes(f, *inputs)
    paddle.testing.check_grads(lambda x, w: (x * w).tanh(), *inputs)
    with paddle.profiler.Profiler() as profiler:
        f(*inputs).backward()
    assert "multiply" in profiler.summary(by="operator")
    assert f.hook_report()[0].target == "y"
    assert "y.register_hook" in f.side_by_side().text()
    assert f.main_program.picture().svg().startswith("<svg")
    assert paddle.summary(nn.Linear(2, 3), (1, 2))["total_params"] == 9
    assert "Linear" in capsys.readouterr().out


def test_errors():
    for error, builtin in [
        (paddle.ShapeError, ValueError), (paddle.DTypeError, TypeError), (paddle.HookError, RuntimeError),
        (paddle.GradientError, RuntimeError), (paddle.SourceError, OSError), (paddle.IndexOutOfRangeError, IndexError),
        (paddle.UnsupportedSyntaxError, NotImplementedError), (paddle.TracingError, TypeError),
    ]:
        assert issubclass(error, builtin)
        assert issubclass(error, paddle.D2SError)
    with pytest.raises(paddle.ShapeError):
        leaf(1.0, 2.0) + leaf(1.0, 2.0, 3.0)


def test_bad_input_is_a_clear_error_and_changes_nothing():
    x = leaf(1.0, 2.0)
    with pytest.raises(TypeError, match="callable"):
        x.register_hook(3)
    with pytest.raises(RuntimeError, match="stop gradient"):
        paddle.ones([1]).register_hook(print)
    y = 2 * x
    with pytest.raises(RuntimeError, match="grad_tensor"):
        y.backward()
    with pytest.raises(ValueError, match="shape"):
        x + paddle.ones([3])
    with pytest.raises(TypeError):
        paddle.to_tensor([1], stop_gradient=False)
    with pytest.raises(OSError, match="source"):
        paddle.jit.to_static(eval(compile("lambda x: x", "<generated>", "eval")))
    y.sum().backward()
    assert x.grad.numpy().tolist() == [2.0, 2.0]
