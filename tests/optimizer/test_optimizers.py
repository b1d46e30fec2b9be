"""The optimizers: numbers of PaddlePaddle 3.3.1 on the same problem, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn, optimizer

INPUTS = [[1.0, 2.0], [-0.5, 3.0], [0.0, -1.0]]
TARGETS = [[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]]


def linear() -> Any:
    layer = nn.Linear(2, 2)
    layer.weight.set_value([[0.5, -1.0], [2.0, 0.25]])
    layer.bias.set_value([0.1, -0.2])
    return layer


def train(layer: Any, opt: Any, steps: int, after_step: Callable[[], None] = lambda: None) -> None:
    for _ in range(steps):
        difference = layer(d2s.to_tensor(INPUTS)) - d2s.to_tensor(TARGETS)
        (difference * difference).mean().backward()
        opt.step()
        opt.clear_grad()
        after_step()


# Weight and bias after four steps, printed by PaddlePaddle 3.3.1 on the CPU.
RECORDED: dict[str, tuple[Callable[[Any], Any], list[list[float]], list[float]]] = {
    "SGD": (
        lambda p: optimizer.SGD(0.1, p),
        [[0.4564461, -0.771846], [0.4319297, -0.2587805]],
        [-0.2705016, 0.0521082],
    ),
    "SGD with weight decay": (
        lambda p: optimizer.SGD(0.1, p, weight_decay=0.1),
        [[0.4398663, -0.7382697], [0.415619, -0.2579978]],
        [-0.257693, 0.0556366],
    ),
    "Momentum": (
        lambda p: optimizer.Momentum(0.1, 0.9, p),
        [[0.4235922, -0.4798734], [-1.0709966, -0.7830163]],
        [-0.5835993, 0.4059335],
    ),
    "Nesterov": (
        lambda p: optimizer.Momentum(0.1, 0.9, p, use_nesterov=True),
        [[0.4850645, -0.3332513], [-0.0396336, -0.5943912]],
        [-0.1702857, 0.6875765],
    ),
    "Adam": (
        lambda p: optimizer.Adam(0.1, parameters=p),
        [[0.1193413, -0.6024762], [1.6025172, -0.1439047]],
        [-0.2956662, 0.2007416],
    ),
    "Adam, other settings": (
        lambda p: optimizer.Adam(0.1, 0.8, 0.95, 1e-3, parameters=p, weight_decay=0.1),
        [[0.1243474, -0.6044896], [1.6036749, -0.1412248]],
        [-0.2934292, 0.1994969],
    ),
    "AdamW": (
        lambda p: optimizer.AdamW(0.1, parameters=p, weight_decay=0.1),
        [[0.1083752, -0.5693373], [1.5301946, -0.1476653]],
        [-0.2929237, 0.2026421],
    ),
    "AdamW, weights only": (
        lambda p: optimizer.AdamW(0.1, parameters=p, weight_decay=0.5, apply_decay_param_fun=lambda n: ".w_" in n),
        [[0.0714715, -0.4475156], [1.263543, -0.1603622]],
        [-0.2913768, 0.2008369],
    ),
    "clip by global norm": (
        lambda p: optimizer.SGD(0.1, p, grad_clip=nn.ClipGradByGlobalNorm(1.0)),
        [[0.4867021, -0.9721316], [1.6302516, 0.1428976]],
        [-0.00221, -0.1799957],
    ),
    "clip by norm": (
        lambda p: optimizer.SGD(0.1, p, grad_clip=nn.ClipGradByNorm(1.0)),
        [[0.4869712, -0.9706538], [1.6180216, 0.1357992]],
        [-0.2919405, -0.1213066],
    ),
    "clip by value": (
        lambda p: optimizer.SGD(0.1, p, grad_clip=nn.ClipGradByValue(0.5)),
        [[0.3938882, -0.8], [1.8000002, 0.05]],
        [-0.1, -0.0411783],
    ),
    "clip by two values": (
        lambda p: optimizer.SGD(0.1, p, grad_clip=nn.ClipGradByValue(0.5, -0.1)),
        [[0.3938882, -0.96], [1.8000002, 0.05]],
        [-0.1, -0.16],
    ),
    "clip before weight decay": (
        lambda p: optimizer.SGD(0.1, p, weight_decay=0.3, grad_clip=nn.ClipGradByGlobalNorm(1.0)),
        [[0.4305013, -0.8579109], [1.41835, 0.1145639]],
        [-0.008291, -0.1566683],
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_four_steps_give_the_numbers_of_paddle(name: str) -> None:
    make, weight, bias = RECORDED[name]
    layer = linear()
    train(layer, make(layer.parameters()), steps=4)
    np.testing.assert_allclose(layer.weight.numpy(), weight, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.bias.numpy(), bias, rtol=1e-4, atol=1e-6)


def test_a_scheduler_sets_the_rate_of_every_step() -> None:
    layer, schedule = linear(), optimizer.lr.StepDecay(0.1, 2, 0.5)
    opt = optimizer.SGD(schedule, layer.parameters())
    train(layer, opt, steps=4, after_step=schedule.step)
    np.testing.assert_allclose(layer.weight.numpy(), [[0.4559421, -0.8273571], [0.5637585, -0.19803]], rtol=1e-4)
    assert opt.get_lr() == pytest.approx(0.025)


def test_the_rate_can_be_set_unless_a_scheduler_does() -> None:
    opt = optimizer.SGD(0.1, linear().parameters())
    opt.set_lr(0.25)
    assert opt.get_lr() == 0.25
    opt.set_lr_scheduler(optimizer.lr.ExponentialDecay(0.5, 0.9))
    assert opt.get_lr() == 0.5
    with pytest.raises(RuntimeError, match="LRScheduler"):
        opt.set_lr(0.1)


# --- what a step may not touch ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam", "AdamW"])
def test_a_step_never_writes_to_an_array_that_somebody_else_holds(name: str) -> None:
    layer = linear()
    opt = RECORDED[name][0](layer.parameters())
    held = layer.weight.data
    row = layer.bias.data[:1]
    train(layer, opt, steps=2)
    np.testing.assert_array_equal(held, np.float32([[0.5, -1.0], [2.0, 0.25]]))
    np.testing.assert_array_equal(row, np.float32([0.1]))
    assert layer.weight.data is not held


def test_a_step_writes_in_place_where_nobody_else_looks() -> None:
    layer = linear()
    before = id(layer.weight.data)
    train(layer, optimizer.SGD(0.1, layer.parameters()), steps=1)
    assert id(layer.weight.data) == before
    assert layer.weight.numpy()[1, 0] != 2.0


def test_a_detached_tensor_sees_the_step() -> None:
    weight = nn.Parameter([1.0])
    detached = weight.detach()
    (weight * 3.0).sum().backward()
    optimizer.SGD(0.5, [weight]).step()
    assert weight.tolist() == [-0.5]
    assert detached.tolist() == [-0.5]


def test_a_graph_that_saved_the_parameter_notices_the_step() -> None:
    weight = nn.Parameter([2.0])
    loss = (weight * weight).sum()
    weight.grad = d2s.to_tensor([1.0])
    optimizer.SGD(0.5, [weight]).step()
    with pytest.raises(RuntimeError, match="modified in place"):
        loss.backward()


@pytest.mark.parametrize("name", ["SGD", "clip by value", "SGD with weight decay", "Adam"])
def test_a_step_leaves_the_gradient_as_it_is(name: str) -> None:
    weight = nn.Parameter([1.0, -2.0])
    weight.grad = d2s.to_tensor([3.0, -4.0])
    RECORDED[name][0]([weight]).step()
    assert weight.grad.tolist() == [3.0, -4.0]


def test_parameters_without_gradient_and_frozen_ones_stay() -> None:
    used, unused, frozen = (nn.Parameter([1.0]) for _ in range(3))
    (used * frozen).sum().backward()
    frozen.stop_gradient = True
    optimizer.Adam(0.1, parameters=[used, unused, frozen], weight_decay=0.1).step()
    assert used.item() != 1.0
    assert unused.item() == frozen.item() == 1.0


def test_a_gradient_of_zero_is_a_gradient() -> None:
    weight = nn.Parameter([1.0])
    opt = optimizer.Momentum(1.0, 0.5, [weight])
    (weight * 2.0).sum().backward()
    opt.step()
    opt.clear_grad()
    opt.step()
    assert weight.tolist() == [1.0 - 2.0 - 1.0]
    opt.clear_grad(set_to_zero=False)
    assert weight.grad is None
    opt.step()
    assert weight.tolist() == [-2.0]


def test_clear_grad_leaves_zeros_or_none() -> None:
    weight = nn.Parameter([1.0])
    opt = optimizer.SGD(0.1, [weight])
    (weight * 2.0).sum().backward()
    opt.clear_grad()
    assert weight.grad.tolist() == [0.0]
    opt.clear_grad(set_to_zero=False)
    assert weight.grad is None


def test_factors_of_the_parameter_count() -> None:
    layer = nn.Linear(1, 1, weight_attr=d2s.ParamAttr(learning_rate=0.5, initializer=nn.initializer.Constant(1.0)))
    (layer(d2s.to_tensor([[2.0]]))).sum().backward()
    optimizer.SGD(0.1, layer.parameters()).step()
    assert layer.weight.item() == pytest.approx(1.0 - 0.1 * 0.5 * 2.0)
    assert layer.bias.item() == pytest.approx(-0.1)


def test_rescale_grad_and_lr_ratio_are_factors() -> None:
    def after_two_steps(make: Callable[[Any], Any]) -> list[float]:
        weight = nn.Parameter([1.0, -2.0])
        opt = make([weight])
        for _ in range(2):
            (weight * weight).sum().backward()
            opt.step()
            opt.clear_grad()
        values: list[float] = weight.tolist()
        return values

    # Plain momentum is linear in the gradient, so scaling it is scaling the rate.
    assert after_two_steps(lambda p: optimizer.Momentum(0.1, parameters=p, rescale_grad=0.5)) == pytest.approx(
        after_two_steps(lambda p: optimizer.Momentum(0.05, parameters=p))
    )
    assert after_two_steps(lambda p: optimizer.AdamW(0.1, parameters=p, lr_ratio=lambda q: 0.5)) == pytest.approx(
        after_two_steps(lambda p: optimizer.AdamW(0.05, parameters=p))
    )


def test_a_scalar_parameter_works_with_every_optimizer() -> None:
    for make, _, _ in RECORDED.values():
        weight = nn.Parameter(2.0)
        (weight * weight).backward()
        make([weight]).step()
        assert weight.shape == []
        assert weight.item() < 2.0


def test_the_dtype_of_the_parameter_stays() -> None:
    weight = nn.Parameter(np.float64([1.0]))
    (weight * weight).sum().backward()
    optimizer.Adam(np.float32(0.1), parameters=[weight]).step()
    assert weight.dtype == np.float64


def test_minimize_steps_with_the_gradients_there_are() -> None:
    weight = nn.Parameter([3.0])
    loss = (weight * weight).sum()
    loss.backward()
    nothing, pairs = optimizer.SGD(0.5, [weight]).minimize(loss)
    assert nothing is None
    assert [(param is weight, grad.tolist()) for param, grad in pairs] == [(True, [6.0])]
    assert weight.tolist() == [0.0]


# --- state --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Momentum", "Adam", "AdamW"])
def test_training_goes_on_from_a_saved_state(name: str) -> None:
    make, weight, _ = RECORDED[name]
    first = linear()
    opt = make(first.parameters())
    train(first, opt, steps=2)
    saved = opt.state_dict()
    train(first, opt, steps=2)

    second = linear()
    other = make(second.parameters())
    train(second, make(second.parameters()), steps=2)
    other.set_state_dict(saved)
    train(second, other, steps=2)
    np.testing.assert_array_equal(first.weight.numpy(), second.weight.numpy())
    np.testing.assert_allclose(second.weight.numpy(), weight, rtol=1e-4, atol=1e-6)


def test_the_state_of_the_scheduler_is_part_of_the_state() -> None:
    schedule = optimizer.lr.StepDecay(1.0, 1, 0.5)
    schedule.step()
    state = optimizer.SGD(schedule, linear().parameters()).state_dict()
    fresh = optimizer.SGD(optimizer.lr.StepDecay(1.0, 1, 0.5), linear().parameters())
    fresh.set_state_dict(state)
    assert fresh.get_lr() == 0.5


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    layer = linear()
    opt = optimizer.Adam(0.1, parameters=layer.parameters())
    train(layer, opt, steps=1)
    before = opt.state_dict()
    good = before["0.moment1"]
    for key, value, error in [
        ("0.velocity", good, KeyError),
        ("7.moment1", good, KeyError),
        ("weight", good, KeyError),
        ("0.moment1", d2s.zeros([3]), ValueError),
    ]:
        with pytest.raises(error):
            opt.set_state_dict({**before, key: value})
    with pytest.raises(KeyError, match="moment2"):
        opt.set_state_dict({"0.moment1": good})
    after = opt.state_dict()
    assert before.keys() == after.keys()
    np.testing.assert_array_equal(before["0.moment1"].numpy(), after["0.moment1"].numpy())


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"parameters": None}, TypeError, "needs the list of its parameters"),
        ({"parameters": []}, ValueError, "at least one"),
        ({"parameters": [1.0]}, TypeError, "float"),
        ({"learning_rate": "0.1"}, TypeError, "str"),
        ({"weight_decay": "0.1"}, TypeError, "weight_decay"),
        ({"grad_clip": 1.0}, TypeError, "grad_clip"),
        ({"beta1": 1.0}, ValueError, "beta1"),
        ({"beta2": -0.1}, ValueError, "beta2"),
        ({"epsilon": -1e-8}, ValueError, "epsilon"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        optimizer.Adam(**{"parameters": linear().parameters(), **arguments})


def test_bad_arguments_of_methods() -> None:
    opt = optimizer.SGD(0.1, linear().parameters())
    with pytest.raises(TypeError, match="LRScheduler, got float"):
        opt.set_lr_scheduler(0.1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bool"):
        opt.set_lr(True)
    with pytest.raises(TypeError, match="float"):
        opt.minimize(1.0)  # type: ignore[arg-type]
    assert opt.get_lr() == 0.1


def test_a_parameter_may_not_come_twice() -> None:
    weight = nn.Parameter([1.0])
    with pytest.raises(ValueError, match="twice"):
        optimizer.SGD(0.1, [weight, weight])


def test_a_single_tensor_is_no_list_of_parameters() -> None:
    with pytest.raises(TypeError, match="list of its parameters"):
        optimizer.SGD(0.1, nn.Parameter([1.0]))
