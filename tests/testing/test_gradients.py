"""`check_grads` passes right rules and names wrong ones."""

from __future__ import annotations

import math
from typing import Any

import pytest

import d2s
from d2s.core.op import define_op
from d2s.testing import WrongGradient, check_grads
from tests.testing.test_planted_faults import wrong_rule


def x(*values: float):
    return d2s.to_tensor(list(values) or [0.5, -0.25, 1.5], stop_gradient=False)


def test_right_gradients_of_both_orders() -> None:
    def f(a, b):
        c = a.tanh() * b
        if c.sum() > 0:
            c = c * a
        return c, (a @ b).exp()

    check_grads(f, x(), x(1.0, 2.0, 0.75))


def test_of_a_layer_the_parameters_too() -> None:
    layer = d2s.nn.Sequential(d2s.nn.Linear(2, 3), d2s.nn.Tanh())
    check_grads(layer, d2s.to_tensor([[0.5, 0.25]]), order=1)
    assert layer[0].weight.dtype.name == "float32"
    assert layer[0].weight.grad is None


def test_random_numbers_are_the_same_each_time() -> None:
    check_grads(lambda a: d2s.nn.functional.dropout(a, 0.5) * a, x())


def broken(rule, name="broken"):
    op = define_op(name, infer=lambda a: a, saves=("a",))(lambda a: a * a)
    op.vjp(rule)
    return op


def test_a_wrong_rule_is_named_with_the_line_that_calls_it(fresh_op_table) -> None:
    square = broken(lambda g, out, a: g * a)

    def f(a):
        b = a + 1
        c = square(b)
        return c * 2

    with pytest.raises(WrongGradient, match="gradient rule of the op broken is wrong") as raised:
        check_grads(f, x())
    error = raised.value
    assert (error.order, error.op) == (1, "broken")
    assert error.location is not None
    assert (error.location.file, error.location.line) == (__file__, f.__code__.co_firstlineno + 2)
    assert "with respect to a at [0] is wrong in eager mode" in str(error)
    assert "backward gives     " in str(error)


def test_a_wrong_second_derivative(fresh_op_table) -> None:
    square = broken(lambda g, out, a: g * 2 * a.detach())
    check_grads(square, x(), order=1)
    with pytest.raises(WrongGradient, match="gradient of order 2") as raised:
        check_grads(lambda a: square(a), x())
    assert (raised.value.order, raised.value.op) == (2, "broken")


def hooked(a):
    b = a * a
    b.register_hook(lambda g: g + 1)
    return b * 3


def test_hooks_that_change_gradients_are_named() -> None:
    with pytest.raises(WrongGradient, match="hooks change the gradient with respect to a") as raised:
        check_grads(hooked, x(), order=1)
    assert raised.value.op is None
    assert raised.value.location is not None
    assert raised.value.location.line == hooked.__code__.co_firstlineno + 2
    check_grads(hooked, x(), order=1, hooks=False)


def test_hooks_do_not_hide_a_wrong_rule(fresh_op_table) -> None:
    square = broken(lambda g, out, a: g * 3 * a)

    def f(a):
        b = square(a)
        b.register_hook(lambda g: g * g)
        return b

    for hooks in (True, False):
        with pytest.raises(WrongGradient, match="is wrong in eager mode") as raised:
            check_grads(f, x(), order=1, hooks=hooks)
        assert raised.value.op == "broken"


def test_what_is_no_fault_of_an_op_points_to_the_function() -> None:
    def detached(a):
        return a * a.detach()

    with pytest.raises(WrongGradient, match=r"look at detach\(\)") as raised:
        check_grads(detached, x(), order=1)
    assert raised.value.op is None
    assert raised.value.location is not None
    assert raised.value.location.line == detached.__code__.co_firstlineno


def test_a_function_that_calls_backward_is_refused() -> None:
    def step(a):
        loss = (a * a).sum()
        loss.backward()
        return loss

    with pytest.raises(d2s.GradientError, match="calls backward itself") as raised:
        check_grads(step, x())
    assert raised.value.id == "D2S-G14"


def test_a_fault_of_static_mode_alone(monkeypatch) -> None:
    wrong_rule(monkeypatch)
    with pytest.raises(WrongGradient, match=r"(?s)in static mode.*in eager mode it is right"):
        check_grads(lambda a: a.tanh(), x(), order=1)


def test_float32_inside_is_refused() -> None:
    with pytest.raises(d2s.DTypeError, match="needs values in float64"):
        check_grads(lambda a: a.astype("float32") * 2, x())
    with pytest.raises(d2s.DTypeError, match="needs a floating point tensor"):
        check_grads(lambda a: a, d2s.to_tensor([1]))
    with pytest.raises(ValueError, match="modes are"):
        check_grads(lambda a: a, x(), modes=["graph"])


@pytest.mark.parametrize("setting", [
    {"elements": 0}, {"elements": -3}, {"order": 0}, {"order": -1}, {"eps": 0}, {"eps": math.nan}, {"rtol": math.nan},
    {"rtol": -5}, {"atol": math.inf}, {"modes": ()}, {"modes": "eager"},
], ids=str)
def test_a_setting_by_which_nothing_is_compared_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(d2s.ArgumentError, match=rf"{next(iter(setting))} (must|are)"):
        check_grads(lambda a: a * a, x(), **setting)


@pytest.mark.parametrize("function", [lambda a: None, lambda a: 5, lambda a: a > 0], ids=["none", "number", "bool"])
def test_a_result_without_gradients_is_refused(function: Any) -> None:
    with pytest.raises(d2s.DTypeError, match="in what the function returns, and there is none"):
        check_grads(function, x())


def test_a_kink_is_told_from_a_wrong_rule() -> None:
    x = d2s.to_tensor([1.0, 0.0])
    with pytest.raises(WrongGradient, match=r"there is a kink: the slope is 0 below and -0.4161 above") as raised:
        check_grads(d2s.nn.functional.relu, x)
    assert raised.value.op == "relu"

    def chosen(x):
        return x * 2 if x[1] > 0 else x * 3

    with pytest.raises(WrongGradient, match="there is a kink") as raised:
        check_grads(chosen, x, order=1)
    assert raised.value.op is None
    assert raised.value.location is not None
    assert raised.value.location.line == chosen.__code__.co_firstlineno
