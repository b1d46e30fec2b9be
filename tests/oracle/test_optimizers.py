"""Optimizers over several steps, and schedules over many: static mode against eager mode, and against PaddlePaddle."""

from __future__ import annotations

import os
import warnings
import zlib

import numpy as np
import pytest

import d2s

from .layer_cases import one_of
from .peers import INSTALL, importable

SEEDS = {"dev": 2, "ci": 10, "nightly": 40}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]
STEPS = 5


def settings_of(name, r):
    """Arguments of an optimizer that both libraries know."""
    decay = {"weight_decay": one_of(r, None, 0.05, 0.5)}
    betas = {"beta1": one_of(r, 0.9, 0.5), "beta2": one_of(r, 0.999, 0.9), "epsilon": one_of(r, 1e-8, 1e-3)}
    return {
        "SGD": decay,
        "Momentum": {**decay, "momentum": one_of(r, 0.9, 0.5), "use_nesterov": one_of(r, False, True)},
        "Adam": {**decay, **betas, "amsgrad": one_of(r, False, True)},
        "AdamW": {"weight_decay": one_of(r, 0.01, 0.5), **betas, "amsgrad": one_of(r, False, True)},
        "Adamax": {**decay, **betas},
        "RMSProp": {
            **decay, "rho": one_of(r, 0.95, 0.5), "epsilon": one_of(r, 1e-6, 1e-2), "momentum": one_of(r, 0.0, 0.9),
            "centered": one_of(r, False, True),
        },
        "Adagrad": {**decay, "epsilon": one_of(r, 1e-6, 1e-2), "initial_accumulator_value": one_of(r, 0.0, 0.5)},
        "Adadelta": {**decay, "epsilon": one_of(r, 1e-6, 1e-2), "rho": one_of(r, 0.95, 0.5)},
        "Lamb": {**betas, "lamb_weight_decay": one_of(r, 0.01, 0.5, 0.0), "always_adapt": one_of(r, False, True)},
    }[name]  # fmt: skip


OPTIMIZERS = ["SGD", "Momentum", "Adam", "AdamW", "Adamax", "RMSProp", "Adagrad", "Adadelta", "Lamb"]
RUNS = [(name, seed) for name in OPTIMIZERS for seed in range(SEEDS)]


def trained(library, name, seed, convert=lambda step: step):
    """The parameters after each of a few steps of one optimizer with random settings, clipping, groups and schedule."""
    r = np.random.default_rng([zlib.crc32(name.encode()), seed])
    settings, nn = settings_of(name, r), library.nn
    first = [r.standard_normal(shape) for shape in ((4, 3), (3,), (3, 2), (2,))]
    data = [r.standard_normal((6, 4)) for _ in range(STEPS)]
    rate, clip = float(r.uniform(0.01, 0.3)), one_of(r, None, "ClipGradByValue", "ClipGradByGlobalNorm")
    factor, in_groups, decay = one_of(r, 1.0, 0.5), one_of(r, False, True), one_of(r, None, "L1Decay", "L2Decay")
    schedule = one_of(r, False, True)
    if in_groups:
        factor, decay = 1.0, None  # In groups, the other library forgets what is set for parameters.

    library.set_default_dtype("float64")
    try:
        attrs = [library.ParamAttr(initializer=nn.initializer.Assign(values)) for values in first]
        attrs[0].learning_rate = factor
        if decay is not None and name not in ("AdamW", "Lamb"):
            attrs[2].regularizer = getattr(library.regularizer, decay)(0.1)
        layers = nn.Linear(4, 3, attrs[0], attrs[1]), nn.Linear(3, 2, attrs[2], attrs[3])
        if schedule:
            rate = library.optimizer.lr.ExponentialDecay(rate, 0.8)
        if clip is not None:
            settings["grad_clip"] = getattr(nn, clip)(0.7)
        parameters = [*layers[0].parameters(), *layers[1].parameters()]
        if in_groups and name not in ("Lamb",):
            change = {"learning_rate": 0.5} | ({"beta1": 0.7} if "beta1" in settings else {})
            parameters = [{"params": parameters[:2]}, {"params": parameters[2:], **change}]
        optimizer = getattr(library.optimizer, name)(rate, parameters=parameters, **settings)
        calls = []

        def step(x):
            hidden = nn.functional.tanh(layers[0](x))
            loss = (layers[1](hidden) ** 2).mean()
            hidden.register_hook(lambda g: calls.append(g.numpy().copy()) or g * g + g)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        step = convert(step)
        seen = []
        for x in data:
            seen.append(step(library.to_tensor(x)).numpy())
            seen.extend(parameter.numpy().copy() for layer in layers for parameter in layer.parameters())
            if schedule:
                rate.step()
        return seen + calls
    finally:
        library.set_default_dtype("float32")


def assert_alike(ours, theirs, **tolerance):
    assert len(ours) == len(theirs)
    for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, err_msg=f"value {place}", **tolerance)


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_static_is_eager(name, seed):
    assert_alike(trained(d2s, name, seed, d2s.to_static), trained(d2s, name, seed), rtol=0, atol=0)


@pytest.fixture(scope="module")
def paddle():
    if not importable("paddle"):
        pytest.skip(f"pip install {INSTALL['paddle']}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import paddle
    return paddle


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_eager_is_paddle(name, seed, paddle):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = trained(paddle, name, seed)
    # The other library has learning rates and settings in float32.
    assert_alike(trained(d2s, name, seed), theirs, rtol=1e-5, atol=3e-6)


# --- schedules ------------------------------------------------------------------------------------------------------

SCHEDULES = {
    "NoamDecay": lambda lr, r: lr.NoamDecay(int(r.integers(1, 20)), int(r.integers(1, 9)), 0.7),
    "PiecewiseDecay": lambda lr, r: lr.PiecewiseDecay([3, 6, 12], [0.1, 0.3, 0.2, 0.4]),
    "NaturalExpDecay": lambda lr, r: lr.NaturalExpDecay(0.5, float(r.uniform(0.01, 1))),
    "InverseTimeDecay": lambda lr, r: lr.InverseTimeDecay(0.5, float(r.uniform(0.01, 1))),
    "PolynomialDecay": lambda lr, r: lr.PolynomialDecay(
        0.5, int(r.integers(2, 9)), 0.01, float(r.uniform(0.5, 2)), one_of(r, False, True)
    ),
    "LinearWarmup": lambda lr, r: lr.LinearWarmup(
        one_of(r, 0.5, lr.StepDecay(0.5, 3, 0.7)), int(r.integers(1, 9)), 0.05, 0.5
    ),
    "ExponentialDecay": lambda lr, r: lr.ExponentialDecay(0.5, float(r.uniform(0.1, 0.99))),
    "MultiStepDecay": lambda lr, r: lr.MultiStepDecay(0.5, [2, 5, 11], 0.3),
    "StepDecay": lambda lr, r: lr.StepDecay(0.5, int(r.integers(1, 6)), 0.3),
    "LambdaDecay": lambda lr, r: lr.LambdaDecay(0.5, lambda epoch: 0.9**epoch),
    "MultiplicativeDecay": lambda lr, r: lr.MultiplicativeDecay(0.5, lambda epoch: 1 - 1 / (epoch + 1)),
    "CosineAnnealingDecay": lambda lr, r: lr.CosineAnnealingDecay(0.5, int(r.integers(2, 9)), one_of(r, 0, 0.1)),
    "CosineAnnealingWarmRestarts": lambda lr, r: lr.CosineAnnealingWarmRestarts(
        0.5, int(r.integers(1, 6)), one_of(r, 1, 2, 3), 0.1
    ),
    "LinearLR": lambda lr, r: lr.LinearLR(0.5, int(r.integers(1, 9)), float(r.uniform(0.1, 1)), one_of(r, 1.0, 0.5)),
    "OneCycleLR": lambda lr, r: lr.OneCycleLR(
        0.5, 31, 10.0, 0.01, one_of(r, 0.3, 0.25), one_of(r, "cos", "linear"), one_of(r, False, True)
    ),
    "CyclicLR": lambda lr, r: lr.CyclicLR(
        0.1, 0.5, int(r.integers(1, 6)), one_of(r, None, 2, 7), one_of(r, "triangular", "triangular2", "exp_range"), 0.9
    ),
    "CyclicLR with a function": lambda lr, r: lr.CyclicLR(
        0.1, 0.5, 3, scale_fn=lambda n: 1 / n if n else 1.0, scale_mode=one_of(r, "cycle", "iterations")
    ),
    "ReduceOnPlateau": lambda lr, r: lr.ReduceOnPlateau(
        0.5, one_of(r, "min", "max"), 0.5, one_of(r, 0, 1, 2), 0.05, one_of(r, "rel", "abs"), one_of(r, 0, 1, 2), 0.01
    ),
}


def rates(library, name, seed, restart=None):
    """The rates of 31 epochs; behind epoch `restart`, the state goes into a new schedule."""
    r = np.random.default_rng(seed)
    metrics = np.random.default_rng(seed).uniform(0.1, 1, 31).cumsum()[::-1]
    metrics = np.where(np.arange(31) % 3, metrics, metrics * 1.3)
    schedule = SCHEDULES[name](library.optimizer.lr, r)
    seen = []
    for epoch in range(31):
        seen.append(schedule())
        schedule.step(float(metrics[epoch])) if name == "ReduceOnPlateau" else schedule.step()
        if epoch == restart:
            state = schedule.state_dict()
            schedule = SCHEDULES[name](library.optimizer.lr, np.random.default_rng(seed))
            schedule.set_state_dict(state)
    return seen


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_go_on_from_their_state(name):
    assert rates(d2s, name, 0, restart=12) == rates(d2s, name, 0)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_paddle(name, seed, paddle):
    np.testing.assert_allclose(rates(d2s, name, seed), rates(paddle, name, seed), rtol=1e-7, atol=1e-12)
