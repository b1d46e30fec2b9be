"""Faults are planted into static mode; `assert_same_in_both_modes` finds each one and points to the user's line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.core.hooks import HookList
from d2s.core.op import OP_TABLE
from d2s.jit import function
from d2s.jit.concrete import ConcreteProgram
from d2s.jit.run_program import CallNode
from d2s.operators import run_time
from d2s.static import runtime
from d2s.testing import ModesDiffer, assert_same_in_both_modes

LOG: list[Any] = []
SCALE = 3.0


class Counter:
    def __init__(self) -> None:
        self.count = 0


COUNTER = Counter()


def program(x, w, v):
    y = x * x  # Y
    y.register_hook(add_one)  # FIRST
    y.register_hook(square)  # SECOND
    z = d2s.tanh(y @ w)  # TANH
    z = z * SCALE  # SCALE
    if z.sum() > 0:  # IF
        z = z + 0.5  # THEN
    else:
        z = z - 0.5  # ELSE
    LOG.append(z.sum().item())  # LOG
    COUNTER.count += 1  # COUNT
    v[0] = 0.25  # WRITE
    print("sum", z.shape)  # PRINT
    print("done")  # DONE
    if z.sum() < 0:
        raise ValueError("negative")  # RAISE
    return z + y.mean()  # RETURN


def add_one(g):
    return g + 1


def square(g):
    return g * g


def line_of(mark: str) -> int:
    """The number of the line of `program` with this comment."""
    code = program.__code__
    with open(code.co_filename, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return next(n for n, text in enumerate(lines, 1) if n > code.co_firstlineno and text.endswith(f"# {mark}"))


def inputs() -> list[Any]:
    return [
        d2s.to_tensor([[0.5, -0.7], [1.5, 2.0]], stop_gradient=False),
        d2s.to_tensor([[0.5], [0.3]]),
        d2s.to_tensor([1.0, 2.0]),
    ]


Plant = Callable[[pytest.MonkeyPatch], None]


def as_part_of_d2s(function: Any) -> Any:
    """The function, as if it stood in d2s: it is no line of the user's."""
    file = Path(d2s.__file__).parent / "planted.py"
    function.__code__ = function.__code__.replace(co_filename=str(file))
    return function


def wrong_op(name: str, wrong: Callable[[Any], Any]) -> Plant:
    """Generated code computes another function; eager mode does not."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        op = OP_TABLE[name]
        right = op.forward

        @as_part_of_d2s
        def forward(*arrays: Any, **attrs: Any) -> Any:
            is_static = sys._getframe(1).f_code.co_filename.startswith("<d2s program")
            return wrong(*arrays) if is_static else right(*arrays, **attrs)

        monkeypatch.setattr(op, "forward", forward)
        monkeypatch.setattr(op, "template", None)

    return plant


def wrong_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient rule that is recorded is not the one that is evaluated."""
    op = OP_TABLE["tanh"]

    @as_part_of_d2s
    def rule(g: Any, out: Any, x: Any) -> Any:
        return g * (1 - out * out) if type(g) is d2s.Tensor else g * (1 + out * out)

    monkeypatch.setattr(op, "rules", (rule,))


def hooks_registered(change: Callable[[Any], list[Any]]) -> Plant:
    """Static mode registers other hooks: those that `change` gives for each."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        register = runtime.RUNTIME["register_hook"]

        @as_part_of_d2s
        def planted(point: Any, hook: Any) -> Any:
            handle = None
            for found in change(hook):
                handle = register(point, found)
            return handle

        monkeypatch.setitem(runtime.RUNTIME, "register_hook", planted)

    return plant


def calls_made(is_meant: Callable[..., bool], times: int) -> Plant:
    """Static mode makes certain calls of the user's functions so many times."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        outside = runtime.RUNTIME["outside"]

        @as_part_of_d2s
        def planted(function: Any, *args: Any, **kwargs: Any) -> Any:
            result = None
            for _ in range(times if is_meant(function, *args) else 1):
                result = outside(function, *args, **kwargs)
            return result

        monkeypatch.setitem(runtime.RUNTIME, "outside", planted)

    return plant


def lost_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_time, "write_data", lambda tensor, array: None)


def lost_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(runtime.RUNTIME, "raise_again", lambda error: None)


def gradients_sent(times: int, edge: int) -> Plant:
    """The last contribution to an edge is sent so many times."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        send = CallNode.accumulate

        @as_part_of_d2s
        def planted(self: CallNode, walk: Any, number: int, grad: Any) -> None:
            for _ in range(times if number == edge else 1):
                send(self, walk, number, grad)

        monkeypatch.setattr(CallNode, "accumulate", planted)

    return plant


FAULTS: dict[str, tuple[Plant, str, str]] = {
    "a wrong op": (wrong_op("tanh", np.sin), "TANH", "hooks"),
    "a wrong vjp": (wrong_rule, "TANH", "hooks"),
    "a dropped hook": (hooks_registered(lambda hook: [] if hook is add_one else [hook]), "FIRST", "hooks"),
    "the other hook dropped": (hooks_registered(lambda hook: [] if hook is square else [hook]), "SECOND", "hooks"),
    "a hook registered twice": (
        hooks_registered(lambda hook: [hook, hook] if hook is square else [hook]), "SECOND", "hooks"),
    "swapped hooks": (hooks_registered(lambda hook: [square if hook is add_one else add_one]), "FIRST", "hooks"),
    "the wrong branch": (wrong_op("greater_than", np.less), "IF", "output"),
    "a lost print": (calls_made(lambda f, *args: f is print and args[0] == "sum", 0), "PRINT", "printed"),
    "a print too many": (calls_made(lambda f, *args: f is print and args[0] == "done", 2), "DONE", "printed"),
    "a lost append": (calls_made(lambda f, *args: getattr(f, "__name__", "") == "append", 0), "LOG", "state"),
    "a lost attribute": (calls_made(lambda f, *args: f is setattr, 0), "COUNT", "state"),
    "a lost write": (lost_write, "WRITE", "state"),
    "a lost raise": (lost_raise, "RAISE", "error"),
    "a gradient sent on twice": (gradients_sent(2, 0), "Y", "gradient"),
}


@pytest.fixture(autouse=True)
def fresh_state():
    LOG.clear()
    COUNTER.count = 0


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_found_and_its_line_named(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, mark, sort = FAULTS[fault]
    given = inputs()
    if fault == "a lost raise":
        given[1] = d2s.to_tensor([[-0.5], [-3.0]])
    assert_same_in_both_modes(program, *given)
    plant(monkeypatch)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(program, *given)
    error = raised.value
    assert error.difference.sort == sort
    assert error.location is not None
    assert error.location.file == __file__
    assert error.location.line == line_of(mark), str(error)
    assert f"{__file__}:{line_of(mark)}" in str(error)
    assert f"# {mark}" in str(error)
    assert f"eager:  {error.difference.eager}" in str(error)
    assert f"static: {error.difference.static}" in str(error)
    # All is as it was before.
    assert (LOG, COUNTER.count) == ([], 0)
    assert given[0].grad is None


def two_hooks_in_a_line(x):
    y = x * 2
    y.register_hook(lambda g: LOG.append(g.sum().item())); y.register_hook(lambda g: None)  # noqa: E702
    return y * y


def test_swapped_hooks_of_one_line_that_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    assert_same_in_both_modes(two_hooks_in_a_line, x)
    run = HookList.run

    def swapped(self: HookList, *args: Any, **kwargs: Any) -> Any:
        if function._enabled:
            self.hooks = type(self.hooks)(reversed(self.hooks.items()))
        return run(self, *args, **kwargs)

    monkeypatch.setattr(HookList, "run", swapped)
    with pytest.raises(ModesDiffer, match="column") as raised:
        assert_same_in_both_modes(two_hooks_in_a_line, x)
    assert raised.value.location is not None
    assert raised.value.location.line == two_hooks_in_a_line.__code__.co_firstlineno + 2
    assert raised.value.difference.eager != raised.value.difference.static


def noting(word):
    return lambda g: LOG.append((word, g.sum().item()))


def two_hooks_of_one_function(x):
    y = x * 2
    y.register_hook(noting("one")); y.register_hook(noting("two"))  # noqa: E702
    return y * y


def test_swapped_hooks_that_one_function_has_made_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    assert_same_in_both_modes(two_hooks_of_one_function, x)
    run = HookList.run

    def swapped(self: HookList, *args: Any, **kwargs: Any) -> Any:
        if function._enabled:
            self.hooks = type(self.hooks)(reversed(self.hooks.items()))
        return run(self, *args, **kwargs)

    monkeypatch.setattr(HookList, "run", swapped)
    with pytest.raises(ModesDiffer, match="hook call 1: the hooks that were called, in their order") as raised:
        assert_same_in_both_modes(two_hooks_of_one_function, x)
    found = raised.value
    assert found.location is not None
    assert found.location.line == two_hooks_of_one_function.__code__.co_firstlineno + 2
    assert found.difference.eager.index("word='one'") < found.difference.eager.index("word='two'")
    assert found.difference.static.index("word='two'") < found.difference.static.index("word='one'")


def hooks_of_one_function_on_two_lines(x):
    y = x * 2
    y.register_hook(noting("same"))  # DROPPED
    y.register_hook(noting("same"))
    return y * y


def test_of_two_equal_hooks_the_dropped_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    register = runtime.RUNTIME["register_hook"]
    registered: list[Any] = []

    @as_part_of_d2s
    def planted(point: Any, hook: Any) -> Any:
        registered.append(hook)
        return register(point, hook) if len(registered) % 2 == 0 else None

    monkeypatch.setitem(runtime.RUNTIME, "register_hook", planted)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(hooks_of_one_function_on_two_lines, x)
    assert raised.value.location is not None
    assert raised.value.location.line == hooks_of_one_function_on_two_lines.__code__.co_firstlineno + 2


def test_a_stale_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that do not notice that a global has changed."""

    x = d2s.to_tensor([1.0], stop_gradient=False)
    assert_same_in_both_modes(calls_with_another_scale, x)
    monkeypatch.setattr(ConcreteProgram, "matches", lambda self, args: True)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(calls_with_another_scale, x)
    first = calls_with_another_scale.__code__.co_firstlineno
    assert raised.value.location is not None
    assert raised.value.location.line == first + 1
    assert raised.value.call == 2


SETTINGS = {"scale": 1.0}


def calls_with_another_scale(x):
    z = x * SETTINGS["scale"]
    next_scale()
    return z


@d2s.jit.not_to_static
def next_scale() -> None:
    SETTINGS["scale"] += 1.0


def test_a_wrong_gradient_of_a_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    class Net(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = d2s.nn.Linear(2, 3)

        def forward(self, x):
            h = x * 2
            return self.fc(h).sum()

    net, x = Net(), d2s.to_tensor([[1.0, 2.0]])
    assert_same_in_both_modes(net, x)
    gradients_sent(2, 0)(monkeypatch)
    with pytest.raises(ModesDiffer, match=r"gradient of self\.fc\.weight") as raised:
        assert_same_in_both_modes(net, x)
    assert raised.value.difference.path == "self.fc.weight"
    first = Net.forward.__code__.co_firstlineno
    assert f"self.fc.weight is read first at {__file__}:{first + 2}" in str(raised.value)
    assert "2 of" not in raised.value.difference.detail
    assert "6 of 6 elements differ, by at most" in raised.value.difference.detail
