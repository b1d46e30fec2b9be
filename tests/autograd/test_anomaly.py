"""`detect_anomaly`: the first NaN is an error that names the user's line, in forward and backward, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.autograd import detect_anomaly
from d2s.errors import AnomalyError

# Function, argument, message, line after that of the def.
PROGRAMS: list[tuple[Callable[..., Any], float, str, int]] = []


def program(at: float, message: str, line: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, at, message, line))
        return function

    return enter


@program(-1.0, "log gave nan, which none of its operands has: float32[1]", 2)
def in_forward(x: Any) -> Any:
    y = x * 2
    z = y.log()
    return z - z


@program(float("nan"), "multiply gave nan, which one of its operands has already: float32[1]", 1)
def in_the_data(x: Any) -> Any:
    return x * 2


@program(0.0, "in backward, divide gave nan, which none of its operands has: float32[1]", 2)
def in_backward(x: Any) -> Any:
    y = x * 1
    z = y.sqrt()
    return (z * 0).sum()


@program(1.0, "multiply gave nan, which none of its operands has: float32[1]", 5)
def in_a_loop(x: Any) -> Any:
    y = x
    while y.sum() < 10:
        y = y * y + 1
        if y.sum() > 5:
            y = y / (y - y) * 0
    return y


@program(1.0, "multiply gave nan, which none of its operands has: float32[1]", 4)
def in_a_hook(x: Any) -> Any:
    y = x * 2

    def hook(g: Any) -> Any:
        return g / 0.0 * 0.0

    y.register_hook(hook)
    return y.sum()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("convert", [lambda function: function, d2s.jit.to_static], ids=["eager", "static"])
@pytest.mark.parametrize(
    ("function", "at", "message", "line"), PROGRAMS, ids=[function.__name__ for function, *_ in PROGRAMS]
)
def test_the_first_nan(function: Any, at: float, message: str, line: int, convert: Any, create_graph: bool) -> None:
    run = convert(function)

    def everything() -> Any:
        x = d2s.to_tensor([at], stop_gradient=False)
        result = run(x)
        d2s.grad(result, [x], create_graph=create_graph)
        return result

    everything()
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        everything()
    assert caught.value.message == message
    assert caught.value.location is not None
    first = function.__code__.co_firstlineno + 1
    assert (caught.value.location.file, caught.value.location.line) == (__file__, first + line)
    # Outside of it all is as before.
    everything()


def test_a_clean_run_is_the_same() -> None:
    layer = d2s.nn.Linear(3, 2)
    for forward in (layer, d2s.jit.to_static(lambda x: layer(x))):
        x = d2s.ones([4, 3])
        forward(x).sum().backward()
        expected = layer.weight.grad.numpy()
        layer.clear_gradients()
        with detect_anomaly():
            forward(x).sum().backward()
        np.testing.assert_array_equal(layer.weight.grad.numpy(), expected)
        layer.clear_gradients()


def test_a_program_built_by_hand() -> None:
    built = d2s.static.Program()
    with d2s.static.program_guard(built):
        y = d2s.static.data("x", [1]).log()
    feed = {"x": np.array([-1.0], "float32")}
    with pytest.raises(AnomalyError, match="log gave nan") as caught, detect_anomaly():
        d2s.static.Executor().run(built, feed, [y])
    assert "y = d2s.static.data" in str(caught.value)
    assert np.isnan(d2s.static.Executor().run(built, feed, [y])[0]).all()


def test_it_can_be_switched_off() -> None:
    with detect_anomaly(check_nan=False):
        assert bool(d2s.to_tensor([-1.0]).log().isnan())


def test_it_is_a_floating_point_error() -> None:
    with pytest.raises(FloatingPointError), detect_anomaly():
        d2s.to_tensor([-1.0]).sqrt()
