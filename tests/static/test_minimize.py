"""Parameters and optimizers in Programs that are built by hand, against the same training computed at once."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn, optimizer, static

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def network() -> Any:
    d2s.seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def trained(make: Any, steps: int = 3) -> tuple[list[Any], list[float]]:
    """Parameters and losses of eager training."""
    net, losses = network(), []
    opt = make(net.parameters())
    for _ in range(steps):
        loss = (net(d2s.to_tensor(X)) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss.item())
    return [p.numpy() for p in net.parameters()], losses


MAKERS = {
    "SGD": lambda parameters: optimizer.SGD(0.1, parameters=parameters),
    "Momentum with decay": lambda parameters: optimizer.Momentum(0.1, parameters=parameters, weight_decay=0.1),
    "Adam with clipping": lambda parameters: optimizer.Adam(
        0.1, parameters=parameters, grad_clip=nn.ClipGradByGlobalNorm(0.05)),
}


@pytest.mark.parametrize("are_given", [True, False], ids=["parameters given", "all of the Program"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_training_as_eager(make: Any, are_given: bool) -> None:
    net, program = network(), static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, 3])
        loss = (net(x) ** 2).mean()
        nothing, pairs = make(net.parameters() if are_given else None).minimize(loss)
    assert nothing is None
    assert len(pairs) == 4
    expected, losses = trained(make)
    first = net[0].weight
    for turn in range(3):
        before = first.numpy()
        found, after = static.Executor().run(program, feed={"x": X}, fetch_list=[loss, first])
        assert found == np.float32(losses[turn])
        # What is fetched is the parameter behind the step.
        assert not np.array_equal(before, after)
        np.testing.assert_array_equal(after, first.numpy())
    for parameter, values in zip(net.parameters(), expected, strict=True):
        np.testing.assert_array_equal(parameter.numpy(), values)


def test_hooks_see_the_gradients_of_each_run() -> None:
    weight, seen = d2s.to_tensor([1.0, 2.0], stop_gradient=False), []
    weight.register_hook(lambda g: seen.append(g.tolist()) or g + 1)
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2])
        optimizer.SGD(1.0, parameters=[weight]).minimize((weight * x).sum())
    for _ in range(2):
        static.Executor().run(program, feed={"x": np.array([3.0, 4.0], "float32")})
    assert seen == [[3.0, 4.0]] * 2
    assert weight.tolist() == [1.0 - 2 * 4, 2.0 - 2 * 5]


def test_gradients_of_parameters_of_layers() -> None:
    net, program = network(), static.Program()
    unused = nn.Linear(2, 2).weight
    with static.program_guard(program):
        loss = (net(static.data("x", [None, 3])) ** 2).mean()
        found = static.gradients(loss, [net[2].weight, unused, net[0].bias])
        (blocked,) = static.gradients(loss, net[0].weight, no_grad_set={net[2].weight})
    assert found[1] is None
    results = static.Executor().run(
        program, feed={"x": X}, fetch_list=[found[0], found[2], blocked, net[2].weight, "x"])
    (net(d2s.to_tensor(X)) ** 2).mean().backward()
    np.testing.assert_array_equal(results[0], net[2].weight.grad.numpy())
    np.testing.assert_array_equal(results[1], net[0].bias.grad.numpy())
    np.testing.assert_array_equal(results[2], net[0].weight.grad.numpy())
    np.testing.assert_array_equal(results[3], net[2].weight.numpy())
    with pytest.raises(d2s.ExecutionError, match="cannot be fetched"):
        static.Executor().run(program, feed={"x": X}, fetch_list=[unused])
    with static.program_guard(program), pytest.raises(d2s.GradientError, match="got int"):
        static.gradients(loss, [3])


def test_parameters_of_the_program_itself() -> None:
    program, startup = static.Program(), static.Program()
    with static.program_guard(program, startup):
        x = static.data("x", [None, 3])
        weight = static.create_parameter([3, 1], name="w")
        loss = (x @ weight).mean()
        optimizer.SGD(1.0, parameters=[weight]).minimize(loss)
    executor = static.Executor()
    executor.run(startup)
    _, first = executor.run(program, feed={"x": X}, fetch_list=[loss, "w"])
    _, second = executor.run(program, feed={"x": X}, fetch_list=[loss, weight])
    np.testing.assert_allclose(first - second, X.mean(0)[:, None], rtol=1e-5)


def test_a_parameter_that_no_path_taken_leads_to_stays() -> None:
    first, second = (d2s.to_tensor([2.0], stop_gradient=False) for _ in range(2))
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [1])
        loss = static.nn.cond((x > 0).all(), lambda: first * x, lambda: second * x).sum()
        optimizer.Adam(0.5, parameters=[first, second], weight_decay=0.1).minimize(loss)
    static.Executor().run(program, feed={"x": np.array([1.0], "float32")})
    assert second.tolist() == [2.0]
    assert first.item() == pytest.approx(1.5)
    static.Executor().run(program, feed={"x": np.array([-1.0], "float32")})
    assert second.item() != 2.0
    assert first.item() == pytest.approx(1.5)


def test_parameters_behind_their_step() -> None:
    net = network()
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 3])
        loss = net(x).mean()
        opt = optimizer.SGD(0.1, parameters=net.parameters())
        opt.minimize(loss)
        for use in (lambda: net(x), lambda: opt.minimize(loss), lambda: static.gradients(loss, net[0].weight)):
            with pytest.raises(d2s.ProgramError, match=r"used behind minimize\(\)") as caught:
                use()
            assert "test_minimize.py" in str(caught.value)


def test_copies_of_optimizers() -> None:
    opt = optimizer.Adam(0.1, parameters=network().parameters())
    assert copy.deepcopy(opt).get_lr() == 0.1
    with pytest.raises(d2s.DTypeError, match="needs the list of its parameters"):
        optimizer.SGD(0.1)
