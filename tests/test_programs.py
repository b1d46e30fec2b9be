"""The programs that d2s was written for, each in eager and in static mode; docs/programs.md shows them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import d2s as paddle
from d2s import io, nn, optimizer, static

Decorator = Callable[[Any], Any]


@pytest.fixture(params=["eager", "static"])
def convert(request: pytest.FixtureRequest) -> Decorator:
    """What makes a function or Layer run in the mode of this test."""
    return paddle.to_static if request.param == "static" else lambda function: function


class Recorder:
    """A hook that keeps what it gets, and returns `rule` of it."""

    def __init__(self, rule: Callable[[Any], Any] = lambda g: None) -> None:
        self.rule = rule
        self.seen: list[list[float]] = []

    def __call__(self, g: Any) -> Any:
        self.seen.append(g.numpy().tolist())
        return self.rule(g)


def leaf(*values: float) -> Any:
    return paddle.to_tensor(list(values), dtype="float32", stop_gradient=False)


def bare(program: object) -> str:
    """Text of a Program without the places in the source at the ends of its lines."""
    return re.sub(r"  # \S+$", "", str(program), flags=re.MULTILINE)


# --- 1 and 2: a hook on the argument, before and after its use -------------------------------------------------


def before_use(h):
    def ffff(x):
        x.register_hook(h)
        t = 3 * x
        return t

    return ffff


def after_use(h):
    def ffff(x):
        t = 3 * x
        x.register_hook(h)
        return t

    return ffff


@pytest.mark.parametrize("program", [before_use, after_use])
def test_the_hook_sees_three_and_doubles_it_on_the_first_and_on_every_later_call(
    program: Any, convert: Decorator
) -> None:
    h = Recorder(lambda g: 2 * g)
    ffff = convert(program(h))
    for call in range(1, 5):
        x = leaf(2.0)
        y = ffff(x)
        assert y.numpy().tolist() == [6.0]
        y.backward()
        assert h.seen == [[3.0]] * call
        assert x.grad.numpy().tolist() == [6.0]


@pytest.mark.parametrize("program", [before_use, after_use])
def test_on_one_tensor_the_registrations_of_several_calls_add_up(program: Any, convert: Decorator) -> None:
    h = Recorder(lambda g: g + 1)
    ffff = convert(program(h))
    x = leaf(2.0)
    found = []
    for _ in range(3):
        x.grad = None
        ffff(x).backward()
        found.append(x.grad.item())
    assert found == [4.0, 5.0, 6.0]
    assert h.seen == [[3.0], [3.0], [4.0], [3.0], [4.0], [5.0]]


@pytest.mark.parametrize("program", [before_use, after_use])
def test_one_program_serves_all_calls(program: Any) -> None:
    ffff = paddle.to_static(program(Recorder()))
    for value in (1.0, 2.0, 3.0):
        ffff(leaf(value)).backward()
    assert len(ffff.program_cache) == 1


# --- 3: a hook on a parameter, a DataLoader with worker processes ----------------------------------------------

BATCH_SIZE = 16
BATCH_NUM = 4
EPOCH_NUM = 4
IMAGE_SIZE = 784
CLASS_NUM = 10


class RandomDataset(io.Dataset):
    """Random images with random labels."""

    def __init__(self, num_samples: int) -> None:
        generator = np.random.default_rng(0)
        self.images = generator.random((num_samples, IMAGE_SIZE), "float32")
        self.labels = generator.integers(0, CLASS_NUM, (num_samples, 1))

    def __getitem__(self, index: int) -> Any:
        return self.images[index], self.labels[index]

    def __len__(self) -> int:
        return len(self.images)


class LinearNet(nn.Layer):
    def __init__(self, hook: Any) -> None:
        super().__init__()
        self._linear = nn.Linear(IMAGE_SIZE, CLASS_NUM)
        self._linear.parameters()[0].register_hook(hook)

    def forward(self, x: Any) -> Any:
        return self._linear(x)


def train(layer: Any, batches: Callable[[], Iterator[Any]]) -> list[float]:
    loss_fn = nn.CrossEntropyLoss()
    adam = optimizer.Adam(learning_rate=0.001, parameters=layer.parameters())
    losses = []
    for _ in range(EPOCH_NUM):
        for image, label in batches():
            loss = loss_fn(layer(image), label)
            loss.backward()
            adam.step()
            adam.clear_grad()
            losses.append(loss.item())
    return losses


@pytest.fixture(scope="module")
def recorded() -> list[list[Any]]:
    """The batches of every epoch, as the loader gave them."""
    paddle.seed(0)
    loader = io.DataLoader(
        RandomDataset(BATCH_NUM * BATCH_SIZE), batch_size=BATCH_SIZE, shuffle=True, drop_last=True, num_workers=2
    )
    return [list(loader()) for _ in range(EPOCH_NUM)]


def test_the_hook_of_a_parameter_is_called_once_per_batch(convert: Decorator) -> None:
    shapes = []
    layer = convert(LinearNet(lambda g: shapes.append(g.shape)))
    loader = io.DataLoader(
        RandomDataset(BATCH_NUM * BATCH_SIZE), batch_size=BATCH_SIZE, shuffle=True, drop_last=True, num_workers=2
    )
    losses = train(layer, loader)
    assert shapes == [[IMAGE_SIZE, CLASS_NUM]] * 16
    assert len(losses) == EPOCH_NUM * BATCH_NUM
    assert np.isfinite(losses).all()


def test_on_the_same_batches_both_modes_have_the_same_losses(recorded: list[list[Any]]) -> None:
    def run(convert: Decorator) -> tuple[list[float], list[Any]]:
        paddle.seed(7)
        hook = Recorder(lambda g: g * g + 0.5 * g)
        epochs = iter(recorded)
        return train(convert(LinearNet(hook)), lambda: next(epochs)), hook.seen

    eager, eager_calls = run(lambda layer: layer)
    converted, static_calls = run(paddle.to_static)
    assert len(set(eager)) == EPOCH_NUM * BATCH_NUM
    np.testing.assert_allclose(converted, eager, rtol=1e-4)
    assert len(eager_calls) == len(static_calls) == 16
    np.testing.assert_allclose(static_calls, eager_calls, rtol=1e-4)


def test_the_loader_gives_other_batches_in_every_epoch(recorded: list[list[Any]]) -> None:
    assert all([image.shape for image, _ in epoch] == [[BATCH_SIZE, IMAGE_SIZE]] * BATCH_NUM for epoch in recorded)
    assert not np.array_equal(recorded[0][0][0].numpy(), recorded[1][0][0].numpy())


# --- 4: a hook in forward, on a tensor that is not a parameter, after its use ----------------------------------


class Hooked(nn.Layer):
    def __init__(self, *hooks: Any) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.linear.weight.set_value(np.float32([[1.0, 2.0], [3.0, 4.0]]))
        self.linear.bias.set_value(np.float32([0.0, -1.0]))
        self.hooks = hooks

    def forward(self, x: Any) -> Any:
        hidden = self.linear(x)
        z = (hidden * hidden).sum()
        for hook in self.hooks:
            hidden.register_hook(hook)
        return z


# hidden = [4, 5], so its gradient is [8, 10].
@pytest.mark.parametrize(
    ("rules", "seen", "result"),
    [
        ([lambda g: g + 1], [[[8.0, 10.0]]], [9.0, 11.0]),
        ([lambda g: g * g], [[[8.0, 10.0]]], [64.0, 100.0]),
        ([lambda g: g + 1, lambda g: g * g], [[[8.0, 10.0]], [[9.0, 11.0]]], [81.0, 121.0]),
        ([lambda g: g * g, lambda g: g + 1], [[[8.0, 10.0]], [[64.0, 100.0]]], [65.0, 101.0]),
    ],
    ids=["g + 1", "g * g", "both", "both, the other way round"],
)
def test_a_hook_in_forward_that_is_not_linear(convert: Decorator, rules: Any, seen: Any, result: Any) -> None:
    hooks = [Recorder(rule) for rule in rules]
    layer = convert(Hooked(*hooks))
    for call in range(1, 4):
        layer.clear_gradients()
        x = paddle.to_tensor([[1.0, 1.0]], stop_gradient=False)
        layer(x).backward()
        assert [hook.seen for hook in hooks] == [[given] * call for given in seen]
        assert layer.linear.bias.grad.numpy().tolist() == result
        assert layer.linear.weight.grad.numpy().tolist() == [result, result]
        assert x.grad.numpy().tolist() == [[result[0] + 2 * result[1], 3 * result[0] + 4 * result[1]]]


# --- 5: a reduce hook ------------------------------------------------------------------------------------------


def test_a_reduce_hook_runs_after_the_tensor_hooks_and_the_accumulation(convert: Decorator) -> None:
    log: list[Any] = []

    @convert
    def once(x: Any) -> Any:
        return 3 * x

    @convert
    def several_times(x: Any) -> Any:
        return (x * x + 5 * x) * x

    x = leaf(2.0)
    x._register_backward_hook(lambda: log.append(("reduce", x.grad.item())))

    def hook(g: Any) -> Any:
        log.append(("hook", g.item(), None if x.grad is None else x.grad.item()))
        return g + 1

    x.register_hook(hook)
    once(x).backward()
    assert log == [("hook", 3.0, None), ("reduce", 4.0)]
    log.clear()
    # 3 x^2 + 10 x = 32, in one sum of the gradients of all four uses.
    several_times(x).backward()
    assert log == [("hook", 32.0, 4.0), ("reduce", 37.0)]
    log.clear()
    several_times(x).backward()
    assert log == [("hook", 32.0, 37.0), ("reduce", 70.0)]


def test_a_reduce_hook_registered_inside_the_function(convert: Decorator) -> None:
    log = []

    @convert
    def f(x: Any) -> Any:
        y = x * x
        x._register_backward_hook(lambda: log.append(x.grad.item()))
        return y

    for _ in range(2):
        f(leaf(3.0)).backward()
    assert log == [6.0, 6.0]


def test_a_reduce_hook_on_a_tensor_that_is_no_leaf_is_a_value_error(convert: Decorator) -> None:
    @convert
    def f(x: Any) -> Any:
        y = 3 * x
        y._register_backward_hook(lambda: None)
        return y

    for _ in range(2):
        with pytest.raises(ValueError, match="leaf"):
            f(leaf(2.0))
    # Nothing is left behind.
    x = leaf(2.0)
    (2 * x).backward()
    assert x.grad.item() == 2.0


# --- 6: the Program --------------------------------------------------------------------------------------------


def test_the_program_shows_the_hook_and_where_it_is_called() -> None:
    ffff = paddle.to_static(after_use(Recorder(lambda g: 2 * g)))
    ffff(leaf(2.0)).backward()
    text = bare(ffff.main_program)
    forward, backward = text.split("backward of ffff\n")
    assert re.search(r"^  x: float32\[1\] = input .*hooks=\[0\]$", forward, re.MULTILINE)
    lines = backward.splitlines()
    uses = [line for line in lines if line.startswith("  x@GRAD += ")]
    assert len(uses) == 1
    assert lines[lines.index(uses[-1]) + 1] == "  call_hooks(x@GRAD)"


def test_the_program_calls_the_hooks_after_the_sum_of_all_uses() -> None:
    @paddle.to_static
    def f(x: Any) -> Any:
        t = 3 * x + x * x
        x.register_hook(lambda g: g + 1)
        return t

    x = leaf(2.0)
    f(x).backward()
    assert x.grad.item() == 8.0
    lines = bare(f.main_program).splitlines()
    places = [place for place, line in enumerate(lines) if "x@GRAD" in line]
    assert [lines[place].strip().partition(" ")[0] for place in places] == [
        "x@GRAD", "x@GRAD", "x@GRAD", "call_hooks(x@GRAD)", "deliver(x@GRAD)"
    ]
    assert lines[places[2] + 1].strip() == "call_hooks(x@GRAD)"


def test_a_program_built_by_hand_gives_the_same_gradient() -> None:
    h = Recorder(lambda g: 2 * g)
    calls = []

    def triple(x: Any) -> Any:
        return 3 * x

    def triple_gradient(*given: Any) -> Any:
        calls.append([value.numpy().tolist() for value in given])
        return 3 * given[-1]

    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [1], "float32")
        x.stop_gradient = False
        t = main.current_block().create_var(name="t", shape=[1], dtype="float32")
        static.py_func(triple, x, t, triple_gradient, skip_vars_in_backward_input=[t])
        x.register_hook(h)
        static.append_backward(t)
    executor = static.Executor(paddle.CPUPlace())
    executor.run(startup)
    for call in range(1, 4):
        found = executor.run(main, feed={"x": np.float32([2.0])}, fetch_list=[t, "x@GRAD"])
        assert [array.tolist() for array in found] == [[6.0], [6.0]]
        assert h.seen == [[3.0]] * call
        # x and the gradient of t, but not t, which is skipped.
        assert calls == [[[2.0], [1.0]]] * call

    ffff = paddle.to_static(after_use(h))
    traced = leaf(2.0)
    ffff(traced).backward()
    assert traced.grad.numpy().tolist() == found[1].tolist()


# --- 7: the code -----------------------------------------------------------------------------------------------


def test_the_code_is_the_users_text_with_the_registration_directly_after_the_definition() -> None:
    ffff = paddle.to_static(after_use(Recorder()))
    assert ffff.code == textwrap.dedent("""\
        def ffff(x):
            x.register_hook(h)
            t = 3 * x
            return t
    """)
    ffff(leaf(2.0)).backward()
    # A call changes nothing of it.
    assert ffff.code == paddle.to_static(after_use(Recorder())).code


def test_everything_but_the_registration_stays_as_written() -> None:
    def f(x, scale=(1.0, 2.0)):
        """Text of the user."""
        y = x * scale[0]
        z = y @ y + scale[1]
        y.register_hook(lambda g: g + 1)
        return {"z": z, 'is': [*scale], f"{scale!r:>30}": (1, -1 ** 2)}

    written = textwrap.dedent(inspect.getsource(f)).splitlines(keepends=True)
    hook = written.pop(4)
    written.insert(3, hook)
    assert ast.dump(ast.parse(paddle.to_static(f).code)) == ast.dump(ast.parse("".join(written)))
