"""Schedules of the learning rate: the numbers of PaddlePaddle 3.3.1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from d2s.optimizer import lr

RECORDED: dict[str, tuple[Callable[[], lr.LRScheduler], list[float]]] = {
    "StepDecay": (
        lambda: lr.StepDecay(0.5, 3, 0.1),
        [0.5, 0.5, 0.5, 0.05, 0.05, 0.05, 0.005, 0.005, 0.005, 0.0005],
    ),
    "ExponentialDecay": (
        lambda: lr.ExponentialDecay(0.5, 0.9),
        [0.5, 0.45, 0.405, 0.3645, 0.32805, 0.295245, 0.2657205, 0.23914845],
    ),
    "CosineAnnealingDecay": (
        lambda: lr.CosineAnnealingDecay(0.5, 5),
        [0.5, 0.452254249, 0.327254249, 0.172745751, 0.047745751, 0.0, 0.047745751, 0.172745751, 0.327254249],
    ),
    "CosineAnnealingDecay, eta_min": (
        lambda: lr.CosineAnnealingDecay(0.5, 4, eta_min=0.1),
        [0.5, 0.441421356, 0.3, 0.158578644, 0.1, 0.158578644, 0.3, 0.441421356, 0.5, 0.441421356],
    ),
    "LambdaDecay": (
        lambda: lr.LambdaDecay(0.5, lambda epoch: 0.95**epoch),
        [0.5, 0.475, 0.45125, 0.4286875, 0.407253125],
    ),
    "LinearWarmup": (
        lambda: lr.LinearWarmup(0.5, 4, 0.1, 0.4),
        [0.1, 0.175, 0.25, 0.325, 0.5, 0.5],
    ),
    "LinearWarmup of StepDecay": (
        lambda: lr.LinearWarmup(lr.StepDecay(0.5, 2, 0.1), 4, 0.1, 0.5),
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.05, 0.05, 0.005, 0.005],
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_rates_are_those_of_paddle(name: str) -> None:
    make, expected = RECORDED[name]
    schedule, rates = make(), []
    for _ in expected:
        rates.append(schedule())
        schedule.step()
    assert rates == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", RECORDED)
def test_a_schedule_goes_on_from_its_state(name: str) -> None:
    make, expected = RECORDED[name]
    first, second = make(), make()
    for _ in range(len(expected) - 2):
        first.step()
    second.set_dict(first.state_dict())
    assert second() == pytest.approx(expected[-2], abs=1e-8)
    second.step()
    assert second() == pytest.approx(expected[-1], abs=1e-8)


def test_step_can_jump() -> None:
    schedule = lr.StepDecay(0.5, 3, 0.1)
    schedule.step(7)
    assert schedule() == pytest.approx(0.005)
    assert schedule.state_dict() == {"last_epoch": 7, "last_lr": schedule()}


def test_verbose_prints_the_rate(capsys: pytest.CaptureFixture[str]) -> None:
    lr.ExponentialDecay(0.5, 0.5, verbose=True).step()
    assert capsys.readouterr().out.splitlines()[-1] == "Epoch 1: ExponentialDecay set learning rate to 0.25."


def test_an_incomplete_state_changes_nothing() -> None:
    schedule = lr.ExponentialDecay(0.5, 0.5)
    with pytest.raises(KeyError):
        schedule.set_state_dict({"last_epoch": 3})
    assert (schedule.last_epoch, schedule()) == (0, 0.5)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: lr.StepDecay("0.1", 2), TypeError),
        (lambda: lr.StepDecay(-0.1, 2), ValueError),
        (lambda: lr.StepDecay(0.1, 0), ValueError),
        (lambda: lr.CosineAnnealingDecay(0.1, 0), ValueError),
        (lambda: lr.LambdaDecay(0.1, 0.5), TypeError),
        (lambda: lr.LinearWarmup(0.1, 0, 0.0, 0.1), ValueError),
        (lambda: lr.LinearWarmup(0.1, 3, 0.2, 0.1), ValueError),
    ],
)
def test_bad_arguments(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
