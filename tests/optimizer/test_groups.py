"""Groups of parameters, regularizers, gradients given by hand, and what schedules refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn, optimizer
from d2s.optimizer import lr
from d2s.regularizer import L1Decay, L2Decay


def parameters(count: int) -> list[nn.Parameter]:
    made = [nn.Parameter([2.0, -4.0]) for _ in range(count)]
    for parameter in made:
        parameter.grad = d2s.to_tensor([1.0, 1.0])
    return made


def test_a_group_has_its_own_rate_decay_clip_and_options() -> None:
    plain, slow, decayed, clipped = parameters(4)
    sgd = optimizer.SGD(
        0.1,
        [
            {"params": [plain]},
            {"params": slow, "learning_rate": 0.5},
            {"params": [decayed], "weight_decay": L1Decay(0.5)},
            {"params": [clipped], "grad_clip": nn.ClipGradByValue(0.25)},
        ],
        weight_decay=0.5,
    )
    sgd.step()
    np.testing.assert_allclose(plain.numpy(), [2 - 0.1 * 2, -4 + 0.1 * 1], rtol=1e-6)
    np.testing.assert_allclose(slow.numpy(), [2 - 0.05 * 2, -4 + 0.05 * 1], rtol=1e-6)
    np.testing.assert_allclose(decayed.numpy(), [2 - 0.1 * 1.5, -4 - 0.1 * 0.5], rtol=1e-6)
    np.testing.assert_allclose(clipped.numpy(), [2 - 0.1 * 1.25, -4 + 0.1 * 1.75], rtol=1e-6)


def test_options_of_the_rule_may_differ_by_group() -> None:
    one, other, alone = parameters(3)
    both = optimizer.Momentum(0.1, 0.9, [{"params": [one]}, {"params": [other], "momentum": 0.0}])
    single = optimizer.Momentum(0.1, 0.0, [alone])
    for _ in range(3):
        both.step()
        single.step()
    assert other.tolist() == alone.tolist() != one.tolist()


def test_adamw_decays_by_group() -> None:
    one, other = parameters(2)
    optimizer.AdamW(0.1, parameters=[{"params": [one]}, {"params": [other], "weight_decay": 0.5}]).step()
    np.testing.assert_allclose(one.numpy(), [2 * (1 - 0.001) - 0.1, -4 * (1 - 0.001) - 0.1], rtol=1e-5)
    np.testing.assert_allclose(other.numpy(), [2 * (1 - 0.05) - 0.1, -4 * (1 - 0.05) - 0.1], rtol=1e-5)


def test_a_regularizer_of_a_parameter_goes_before_the_decay_of_the_optimizer() -> None:
    layer = nn.Linear(1, 1, d2s.ParamAttr(initializer=nn.initializer.Constant(3.0), regularizer=L2Decay(0.5)))
    layer(d2s.to_tensor([[0.0]])).sum().backward()
    optimizer.SGD(0.1, layer.parameters(), weight_decay=100.0).step()
    assert layer.weight.item() == pytest.approx(3 - 0.1 * 1.5)
    assert repr(L2Decay(0.5)) == "L2Decay(coeff=0.5)"


def test_the_state_goes_over_groups_in_their_order() -> None:
    first = parameters(2)
    source = optimizer.Adam(0.1, parameters=[{"params": first[:1]}, {"params": first[1:]}])
    source.step()
    target = optimizer.Adam(0.1, parameters=parameters(2))
    target.load_state_dict(source.state_dict())
    assert sorted(target.state_dict()) == sorted(source.state_dict())


def test_gradients_given_by_hand_are_used() -> None:
    one, other = parameters(2)
    sgd = optimizer.SGD(0.1, [one, other])
    pairs = sgd.backward((one * 0.0 + other * 0.0).sum())
    assert [parameter for parameter, _ in pairs] == [one, other]
    sgd.apply_gradients([(one, d2s.to_tensor([10.0, 0.0]))])
    assert one.tolist() == [1.0, -4.0]
    assert other.tolist() == [2.0, -4.0]
    sgd.minimize((other * 1.0).sum(), parameters=[other])
    assert one.tolist() == [1.0, -4.0]
    assert other.tolist() != [2.0, -4.0]
    sgd.zero_grad()
    assert one.grad is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: optimizer.SGD(0.1, [{"parameters": p}]), "needs the key 'params'"),
        (lambda p: optimizer.SGD(0.1, [{"params": p, "beta1": 0.5}]), "cannot set 'beta1'"),
        (lambda p: optimizer.SGD(0.1, [{"params": p}, {"params": p}]), "twice"),
        (lambda p: optimizer.SGD(0.1, p).apply_gradients([(nn.Parameter([1.0]), p[0].grad)]), "does not belong"),
        (lambda p: optimizer.RMSProp(0.1, rho=1.0, parameters=p), "rho must be in"),
        (lambda p: optimizer.RMSProp(0.1, momentum=-0.1, parameters=p), "momentum must be in"),
        (lambda p: optimizer.Adagrad(0.1, epsilon=-1.0, parameters=p), "epsilon must not be negative"),
        (lambda p: optimizer.Adamax(beta1=1.0, parameters=p), "beta1 must be in"),
        (lambda p: lr.MultiStepDecay(0.1, [3, 2]), "must increase"),
        (lambda p: lr.MultiStepDecay(0.1, [2, 3], gamma=1.0), "gamma must be below 1"),
        (lambda p: lr.PiecewiseDecay([1, 2], [0.1, 0.2]), "2 boundaries need 3 values"),
        (lambda p: lr.PolynomialDecay(0.1, 0), "decay_steps must be above 0"),
        (lambda p: lr.NoamDecay(0, 1), "d_model must be above 0"),
        (lambda p: lr.NaturalExpDecay(0.1, 0.0), "gamma must be above 0"),
        (lambda p: lr.CosineAnnealingWarmRestarts(0.1, 0), "T_0 must be a positive integer"),
        (lambda p: lr.LinearLR(0.1, 5, start_factor=0.0), "start_factor"),
        (lambda p: lr.LinearLR(0.1, 0), "total_steps"),
        (lambda p: lr.OneCycleLR(0.1, 10, phase_pct=0.6, three_phase=True), "phase_pct"),
        (lambda p: lr.OneCycleLR(0.1, 10, anneal_strategy="sin"), "anneal_strategy"),
        (lambda p: lr.CyclicLR(0.1, 0.5, 3, mode="square"), "mode must be"),
        (lambda p: lr.CyclicLR(0.1, 0.5, 0), "step sizes"),
        (lambda p: lr.ReduceOnPlateau(0.1, factor=1.0), "factor must be below 1"),
        (lambda p: lr.ReduceOnPlateau(0.1, mode="best"), "mode must be"),
        (lambda p: lr.ReduceOnPlateau(0.1).step(d2s.ones([2])), "one number"),
    ],
)
def test_what_cannot_be_is_said(call: Callable[[list[nn.Parameter]], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(parameters(1))


def test_a_one_cycle_schedule_ends() -> None:
    schedule = lr.OneCycleLR(0.1, 3)
    for _ in range(3):
        schedule.step()
    with pytest.raises(ValueError, match="made for 3 steps"):
        schedule.step()


def test_a_schedule_steps_on_every_call_of_a_static_function() -> None:
    schedule = lr.StepDecay(0.5, 1, 0.5)
    weight = nn.Parameter([1.0])
    sgd = optimizer.SGD(schedule, [weight])

    @d2s.to_static
    def step(x: d2s.Tensor) -> d2s.Tensor:
        loss = (weight * x).sum()
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        schedule.step()
        return loss

    for _ in range(3):
        step(d2s.to_tensor([1.0]))
    assert schedule() == 0.0625
    assert weight.item() == 1 - 0.5 - 0.25 - 0.125
