"""What `assert_same_in_both_modes` looks at, and that it leaves everything as it was."""

from __future__ import annotations

import logging
import math
import random
import unittest
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import d2s
from d2s.testing import ModesDiffer, assert_same_in_both_modes, both_modes, strategies
from d2s.testing.comparing import Tolerance

TOTAL = 0
SEEN: dict[str, list[float]] = {}


def tensor(*values: float, stop_gradient: bool = False):
    return d2s.to_tensor(list(values), stop_gradient=stop_gradient)


def test_a_function_with_effects_of_all_sorts_is_the_same_and_leaves_nothing() -> None:
    class Model:
        def __init__(self) -> None:
            self.steps = 0
            self.weights = tensor(0.5, 0.25, stop_gradient=True)

        def step(self, x, history):
            global TOTAL
            TOTAL += 1
            tick()
            self.steps += 1
            x.register_hook(lambda g: g * 0.5)
            SEEN.setdefault("loss", []).append((x * self.weights).sum().item())
            self.weights[0] = 2.0
            history["last"] = random.random()
            print(self.steps)
            return x * self.weights * history["last"] + d2s.rand([2])

    count = 0

    def tick() -> None:
        nonlocal count
        count += 1

    model, x, history = Model(), tensor(1.0, 2.0), {"last": 0.0}
    states = random.getstate(), d2s.rand([1]).item()
    d2s.seed(0)
    assert_same_in_both_modes(model.step, x, history)
    assert (TOTAL, count, model.steps, SEEN, history) == (0, 0, 0, {}, {"last": 0.0})
    assert model.weights.tolist() == [0.5, 0.25]
    assert x.grad is None
    (x * 1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    d2s.seed(0)
    assert (random.getstate(), d2s.rand([1]).item()) == states


def test_methods_layers_and_static_functions() -> None:
    net = d2s.nn.Sequential(d2s.nn.Linear(2, 4), d2s.nn.BatchNorm1D(4), d2s.nn.ReLU(), d2s.nn.Dropout(0.5))
    x = d2s.to_tensor([[1.0, -2.0], [0.5, 3.0]], stop_gradient=False)
    mean = net[1]._mean.numpy()
    assert_same_in_both_modes(net, x)
    assert_same_in_both_modes(net.forward, x)
    assert_same_in_both_modes(d2s.to_static(lambda v: v.tanh()), x)
    assert "forward" not in vars(net)
    assert net[1]._mean.numpy().tolist() == mean.tolist()
    assert all(parameter.grad is None for parameter in net.parameters())
    d2s.to_static(net)
    static = net.forward
    assert_same_in_both_modes(net, x)
    assert net.forward is static


def test_hooks_of_parameters_stay() -> None:
    layer = d2s.nn.Linear(2, 2)
    calls = []
    handle = layer.weight.register_hook(lambda g: calls.append(g))
    assert_same_in_both_modes(layer, d2s.to_tensor([[1.0, 2.0]]))
    assert calls == []
    layer(d2s.to_tensor([[1.0, 2.0]])).sum().backward()
    assert len(calls) == 1
    assert handle.remove()


def test_a_refusal_of_static_mode_is_told_as_such() -> None:
    def f(x):
        y = x * 2
        return ("a", "b")[:: int(y.sum()) + 1]

    with pytest.raises(ModesDiffer, match="static mode refuses this") as raised:
        assert_same_in_both_modes(f, tensor(0.25))
    assert raised.value.location is not None
    assert raised.value.location.line == f.__code__.co_firstlineno + 2
    assert "first operator" not in str(raised.value)


def test_large_containers_and_objects_of_the_library() -> None:
    numbers = list(range(20_000))
    logger = logging.getLogger("tests.testing")
    table = {"a": 1}

    def f(x):
        logger.debug("called")
        table["a"] += 1
        return x * len(numbers)

    assert_same_in_both_modes(f, tensor(1.0))
    assert table == {"a": 1}

    def changes(x):
        numbers[15_000] = -1.0
        return x

    assert_same_in_both_modes(changes, tensor(1.0))
    assert numbers[15_000] == 15_000


def test_errors_are_compared_too() -> None:
    def fails(x):
        if x.sum() > 0:
            raise KeyError("positive")
        return x

    assert_same_in_both_modes(fails, tensor(1.0))


@pytest.mark.parametrize(
    ("body", "sort"),
    [
        (lambda x: x * MODE["number"], "output"),
        (lambda x: (print(MODE["number"]), x)[1], "printed"),
        (lambda x: x.astype("float64") if MODE["number"] == 2 else x * 1, "output"),
        (lambda x: x if MODE["number"] == 2 else x + 0, "output"),
        (lambda x: (x, 1) if MODE["number"] == 2 else [x, 1], "output"),
    ],
)
def test_what_is_seen(body, sort, monkeypatch) -> None:
    """Static mode sees another number than eager mode does."""
    from d2s.testing import same

    run = same.Comparison.run

    def with_number(self, mode, *args, **kwargs):
        MODE["number"] = 2.0 if mode.is_static else 3.0
        self.before = same.Snapshot(self.reach)
        return run(self, mode, *args, **kwargs)

    monkeypatch.setattr(same.Comparison, "run", with_number)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(body, tensor(1.0, 2.0))
    assert raised.value.difference.sort == sort


MODE = {"number": 0.0}


def test_a_function_that_is_not_the_same_from_run_to_run_is_told() -> None:
    generator = iter(range(1000))
    with pytest.raises(ModesDiffer, match="two runs in eager mode differ too"):
        assert_same_in_both_modes(lambda x: x * next(generator), tensor(1.0))


def test_tolerance() -> None:
    exact, loose = Tolerance(), Tolerance(1e-3, 0.0)
    one, other = np.array([1.0, np.nan]), np.array([1.0001, np.nan])
    assert exact.admits(one, one.copy())
    assert not exact.admits(one, other)
    assert loose.admits(one, other)
    assert not exact.admits(np.array(0.0), np.array(-0.0))
    assert not loose.admits(one, one.astype("float32"))
    assert not loose.admits(one, one[:1])
    negative_nan = np.array([-np.nan])
    assert exact.admits(negative_nan, np.array([np.nan]))


@pytest.mark.parametrize("calls", [0, -1])
def test_calls_must_be_positive(calls: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        assert_same_in_both_modes(lambda x: x, tensor(1.0), calls=calls)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(program=strategies.programs("try", depth=1))
def test_random_programs(program) -> None:
    note(program.text)
    assert_same_in_both_modes(program.function, *program.inputs(), calls=2)


@given(data=st.data())
def test_strategies(data) -> None:
    shape = data.draw(strategies.shapes(1, 3, 1, 4))
    drawn = data.draw(strategies.tensors(shape, data.draw(st.sampled_from(["float64", "int32", "bool", "uint8"]))))
    assert tuple(drawn.shape) == shape
    assert drawn.stop_gradient or drawn.dtype == np.float64
    one, other = data.draw(strategies.broadcastable_shapes())
    np.broadcast_shapes(one, other)


# --- unittest ------------------------------------------------------------------------------------------------------


class Case(unittest.TestCase):
    modes: ClassVar[list[bool]] = []

    @both_modes
    def test_in_both_modes(self) -> None:
        @d2s.to_static
        def f(x):
            return x * 2

        assert f(tensor(1.0)).item() == 2.0
        self.modes.append(bool(len(f.program_cache)))
        if len(self.modes) == 3:
            self.fail("the third run")

    def test_assertion(self) -> None:
        assert_same_in_both_modes(lambda x: x * x, tensor(1.0))


def test_unittest_runs_each_mode_as_subtest() -> None:
    Case.modes.clear()
    result = unittest.TestResult()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Case)
    suite.run(result)
    assert (result.testsRun, result.failures, result.errors) == (2, [], [])
    assert Case.modes == [False, True]
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert len(result.failures) == 1
    assert "eager" in str(result.failures[0][0])


@pytest.mark.parametrize("setting", [
    {"rtol": math.inf}, {"atol": math.inf}, {"rtol": math.nan}, {"rtol": -1}, {"rtol": None}, {"atol": "a"},
    {"calls": 0}, {"calls": 1.5}, {"calls": "a"},
], ids=str)
def test_a_setting_that_would_admit_anything_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(d2s.ArgumentError, match=rf"{next(iter(setting))} must be"):
        assert_same_in_both_modes(lambda x: x * 2, d2s.to_tensor([1.0]), **setting)
