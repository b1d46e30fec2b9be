"""`static.nn`: cond, while_loop, case and switch_case mean the same eagerly, in `to_static`, and built by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import static
from d2s.errors import DTypeError, ProgramError, ShapeError
from d2s.static import nn

PROGRAMS: list[Callable[..., Any]] = []


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function of a vector `x` that requires a gradient and a vector `y`."""
    PROGRAMS.append(function)
    return function


@program
def one_branch(x: Any, y: Any) -> Any:
    return nn.cond(x.sum() > 1, lambda: x * y, lambda: x - y)


@program
def captured_value_and_constant(x: Any, y: Any) -> Any:
    return nn.cond(y.mean() > 0, lambda: x, lambda: d2s.zeros_like(x)) * 2 + x


@program
def structures(x: Any, y: Any) -> Any:
    def yes() -> Any:
        return {"a": (x + 1, [y]), "n": 3.0}

    found = nn.cond(x.max() > 0.5, yes, lambda: {"a": (x * x, [y * 2]), "n": 4.0})
    return found["a"][0] * found["a"][1][0] * found["n"]


@program
def nested(x: Any, y: Any) -> Any:
    def inner() -> Any:
        return nn.cond(y.sum() > 0, lambda: x.exp(), lambda: x.tanh())

    return nn.cond(x.sum() > 0, inner, lambda: inner() * 3) + x


@program
def power(x: Any, y: Any) -> Any:
    def body(count: Any, total: Any) -> Any:
        return count + 1, total * x + y

    return nn.while_loop(lambda count, total: count < 4, body, [d2s.zeros([], "int64"), x])[1]


@program
def no_turn(x: Any, y: Any) -> Any:
    return nn.while_loop(lambda z: z.sum() > 1e6, lambda z: z * 2, [x])[0] * y


@program
def turns_that_depend_on_data(x: Any, y: Any) -> Any:
    return nn.while_loop(lambda z: (z * z).sum() < 50, lambda z: [z * 2 + 0.1], [x])[0]


@program
def growing(x: Any, y: Any) -> Any:
    def body(z: Any, i: Any) -> Any:
        return d2s.concat([z, x]), i + 1

    return nn.while_loop(lambda z, i: i < 3, body, (x, d2s.zeros([1])))[0].sum()


@program
def branch_in_loop(x: Any, y: Any) -> Any:
    def body(i: Any, z: Any) -> Any:
        return [i + 1, nn.cond(i.sum() % 2 == 0, lambda: z * y, lambda: z + x)]

    return nn.while_loop(lambda i, z: i < 5, body, [d2s.zeros([1]), x * 1])[1]


@program
def loop_in_branch(x: Any, y: Any) -> Any:
    def yes() -> Any:
        return nn.while_loop(lambda z: z.sum() < 10, lambda z: z * z + 1, [x])[0]

    return nn.cond(y.sum() > 0, yes, lambda: x)


@program
def first_case(x: Any, y: Any) -> Any:
    s = x.sum()
    return nn.case([(s > 2, lambda: x * 2), (s > 0, lambda: x * y)], default=lambda: x - 1)


@program
def last_case_is_the_default(x: Any, y: Any) -> Any:
    s = x.sum()
    return nn.case([(s > 2, lambda: x * 2), (s > 1, lambda: x * y)])


@program
def switched(x: Any, y: Any) -> Any:
    index = (x.sum() > 0).cast("int64") + 1
    return nn.switch_case(index, {1: lambda: x * 5, 2: lambda: y * x}, default=lambda: x)


@program
def switched_by_place(x: Any, y: Any) -> Any:
    return nn.switch_case((y.sum() > 0).cast("int64"), [lambda: x * 5, lambda: x.sin()])


@program
def switched_to_the_last(x: Any, y: Any) -> Any:
    return nn.switch_case(x.sum().cast("int64") + 90, [(3, lambda: x * 5), (1, lambda: x.sin())])


@program
def hook_in_a_branch(x: Any, y: Any) -> Any:
    def yes() -> Any:
        z = x * y
        z.register_hook(lambda g: g + 1)
        return z * 3

    return nn.cond(x.sum() > 0, yes, lambda: x)


@program
def hook_on_what_comes_out(x: Any, y: Any) -> Any:
    z = nn.cond(x.sum() > 0, lambda: x * 2, lambda: x * 3)
    z.register_hook(lambda g: g * g + 1)
    return z * y


POINTS = [([0.5, 1.5], [1.0, 2.0]), ([0.5, -1.5], [1.0, -2.0]), ([0.25, 0.5, 0.375], [2.0, 0.5, 1.0])]


def eager_outcome(function: Callable[..., Any], first: Any, second: Any) -> list[Any]:
    x, y = d2s.to_tensor(first, stop_gradient=False), d2s.to_tensor(second)
    result = function(x, y)
    result.backward(d2s.ones_like(result))
    return [result.numpy().tolist(), x.grad.numpy().tolist()]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_three_ways(function: Callable[..., Any]) -> None:
    traced = d2s.jit.to_static(function)
    built = static.Program()
    with static.program_guard(built):
        x, y = static.data("x", [None]), static.data("y", [None])
        x.stop_gradient = False
        result = function(x, y)
        gradient = static.gradients([result], [x])
    executor = static.Executor()
    for first, second in POINTS:
        expected = eager_outcome(function, first, second)
        assert eager_outcome(traced, first, second) == expected
        feed = {"x": np.asarray(first, "float32"), "y": np.asarray(second, "float32")}
        assert [array.tolist() for array in executor.run(built, feed, [result, gradient[0]])] == expected


def test_python_values_decide_at_once() -> None:
    x = d2s.ones([1])
    assert nn.cond(True, lambda: x) is x
    assert nn.cond(False, lambda: x) is None
    assert nn.while_loop(lambda i: i < 3, lambda i: i + 1, [0]) == [3]
    assert nn.switch_case(7, [lambda: 1, lambda: 2]) == 2


def building(function: Callable[..., Any]) -> Callable[..., Any]:
    def build() -> Any:
        with static.program_guard(static.Program()):
            return function(static.data("x", [2]))

    return build


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (building(lambda x: nn.cond(x.sum() > 0, lambda: (x,), lambda: x)), ProgramError, "different structures"),
        (building(lambda x: nn.cond(x.sum() > 0, lambda: x)), ProgramError, "different structures"),
        (building(lambda x: nn.cond(x.sum() > 0, lambda: x, lambda: x > 0)), ProgramError, r"float32\[2\] and bool"),
        (building(lambda x: nn.cond(x.sum() > 0, lambda: "a", lambda: "b")), ProgramError, "carries tensors, got str"),
        (building(lambda x: nn.cond(x, lambda: x, lambda: x)), ShapeError, "exactly one element"),
        (building(lambda x: nn.cond(x.sum() > 0, lambda: x.add_(x), lambda: x)), ProgramError, "written in place"),
        (building(lambda x: nn.while_loop(lambda z: True, lambda z: z, [x])), ProgramError, "must be a tensor"),
        (building(lambda x: nn.while_loop(lambda z: z.sum() > 0, lambda z: [z, z], [x])), ProgramError, "was given"),
        (building(lambda x: nn.while_loop(lambda z: z.sum() > 0, lambda z: z > 0, [x])), ProgramError, "for one value"),
        (lambda: nn.while_loop(lambda: True, lambda: None, []), ProgramError, "needs loop variables"),
        (lambda: nn.switch_case(1, []), ProgramError, "numbers of their own"),
        (lambda: nn.switch_case(1, [(1, abs), (1, abs)]), ProgramError, r"got the numbers \[1, 1\]"),
        (lambda: nn.case([]), DTypeError, "a list of pairs"),
    ],
)
def test_refusals(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert "test_control_flow.py" in str(caught.value)
