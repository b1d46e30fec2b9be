"""Faults in helpers of other files, and in what no argument holds: classes, modules, generators, modes, streams."""

from __future__ import annotations

import functools
import logging
import os
import random
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.testing import ModesDiffer, assert_same_in_both_modes
from tests.testing import helpers_at_fault as helpers
from tests.testing.helpers_at_fault import Cube, Inner, Slots, Tool
from tests.testing.mode_of_faults import now, told_of_the_mode  # noqa: F401

LOG: list[Any] = []
TOOL, SLOTS = Tool(), Slots()
NOTES = [functools.partial(helpers.notes)]
RATE = d2s.create_parameter([2], "float32")
SGD = d2s.optimizer.SGD(0.1, parameters=[RATE])


def stale_constant(x):
    return helpers.scaled(x + 1) * 2


def hook(x):
    y = x * x
    return helpers.hooked(y) + y


def second_call(x):
    for _ in range(3):
        x = helpers.counted(x)
    return x


def lost_error(x):
    return helpers.raises(x * 2)


def lost_append(x):
    y = helpers.appends(x, LOG)
    LOG.append("c")
    return y


def event(x):
    return helpers.notes(x)


def event_of_a_partial_in_a_list(x):
    return NOTES[0](x)


def event_of_a_module_that_is_imported_inside(x):
    from tests.testing import helpers_at_fault

    return helpers_at_fault.notes(x)


def rebound_global(x):
    return helpers.rebinds(x)


def made_global(x):
    return helpers.makes_a_global(x)


def list_of_a_class(x):
    return Tool.twice(x)


def number_of_a_class(x):
    return TOOL(x)


def slot(x):
    return SLOTS(x)


def rule(x):
    y = x * 2
    return Cube.apply(y) + y


def set_attribute_of_a_module(x):
    helpers.NUMBER = 5 if now.static else 6  # ATTRIBUTE OF A MODULE
    return x * 2


def drawn_before(x):
    y = x * 2
    if now.static:
        d2s.rand([3])  # DRAWN BEFORE
    return y * d2s.rand([2])


def drawn_after(x):
    y = x * d2s.rand([2])
    if now.static:
        d2s.rand([3])  # DRAWN AFTER
    return y


def drawn_by_python(x):
    if now.static:
        random.random()  # DRAWN BY PYTHON
    return x * 2


def drawn_by_numpy(x):
    if now.static:
        np.random.rand()  # DRAWN BY NUMPY
    return x * 2


def default_dtype(x):
    y = x * 2
    if now.static:
        d2s.set_default_dtype("float64")  # DEFAULT DTYPE
    return y


def environment(x):
    if now.static:
        os.environ["D2S_TEST_OF_FAULTS"] = "1"  # ENVIRONMENT
    return x * 2


def on_stderr(x):
    sys.stdout.write("same\n")
    sys.stderr.write("a\n" if now.static else "b\n")  # STDERR
    return x * 2


def logged(x):
    if not now.static:
        logging.getLogger("faults").warning("note %d", 1)  # LOGGED
    return x * 2


def line_and_warning(x):
    if now.static:
        warnings.warn("warned", stacklevel=1)
        print("printed")
    else:
        print("printed")  # LINE AND WARNING
        warnings.warn("warned", stacklevel=1)
    return x * 2


def line_and_hook(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    z = y.sum()
    if now.static:
        z.backward()
        print("printed")
    else:
        print("printed")  # LINE AND HOOK
        z.backward()
    return z


def rate_of_learning(x):
    loss = (x.detach() * RATE).sum()
    loss.backward()
    if now.static:
        SGD.set_lr(0.2)  # RATE
    SGD.step()
    SGD.clear_grad()
    return loss


def swapped_appends(x):
    if now.static:
        LOG.append("two")
        LOG.append("one")
    else:
        LOG.append("one")  # SWAPPED APPENDS
        LOG.append("two")
    return x * 2


def dtype_in_a_loop(x):
    y = x * 1.5
    turns = 0
    while y.sum().astype("float32") < 30:
        y = y * 2
        if now.static:
            y = y.astype("float64")  # DTYPE IN A LOOP
        turns = turns + 1
    return y


def branch_in_a_loop(x):
    y = x * 1.5
    for _ in range(d2s.to_tensor(4)):
        if y.sum() > 10:
            y = y - (1.0 if now.static else 2.0)  # BRANCH IN A LOOP
        else:
            y = y * 3
    return y


def hook_in_a_loop(x):
    y = x * 1.5
    while y.sum() < 30:
        y = y * 2
        if now.static:
            y.register_hook(lambda g: g * 3)
        else:
            y.register_hook(lambda g: g * 2)  # HOOK IN A LOOP
    return y


def body_of_a_hook(x):
    y = x * 2

    def change(g):
        h = g + 1
        return h * (2.0 if now.static else 3.0)  # BODY OF A HOOK

    y.register_hook(change)
    return y * y


def negative_zero(x):
    y = x * 0.0
    z = -y if now.static else y  # NEGATIVE ZERO
    return z


def handle_that_is_lost(x):
    y = x * 2
    handle = y.register_hook(lambda g: g * 3)  # HANDLE
    if not now.static:
        handle.remove()
    return y * y


def gradient_kept_of_the_first_output(x):
    y = x * 2  # KEPT
    z = y * 3
    z.retain_grads()
    if not now.static:
        y.retain_grads()
    return y, z


def cleared_gradient(x):
    y = x * 2
    y.sum().backward(retain_graph=True)
    if now.static:
        x.clear_grad()  # CLEARED
    return (y * y).sum()


def value_in_recursion(x, n=3):
    if n == 0:
        return x * (2 if now.static else 3)  # RECURSION
    return value_in_recursion(x, n - 1)


def value_of_a_generator(x):
    def parts():
        for number in range(3):
            yield x * (number + (1 if now.static and number == 2 else 0))  # GENERATOR

    return sum(parts())


def lost_in_finally(x):
    try:
        y = x * 2
    finally:
        if not now.static:
            LOG.append("finally")  # FINALLY
    return y


def second_derivative(x):
    y = (x * x * x).sum()
    (slope,) = d2s.grad(y, [x], create_graph=True)
    if now.static:
        slope = slope.detach()  # SECOND DERIVATIVE
    return (slope * slope).sum() + y


MARKS = {
    cleared_gradient: "CLEARED", value_in_recursion: "RECURSION",
    value_of_a_generator: "GENERATOR", lost_in_finally: "FINALLY", second_derivative: "SECOND DERIVATIVE",
    stale_constant: "STALE", hook: "HOOK", second_call: "SECOND CALL", lost_error: "RAISE", lost_append: "APPEND",
    event: "EVENT", event_of_a_partial_in_a_list: "EVENT", event_of_a_module_that_is_imported_inside: "EVENT",
    rebound_global: "REBIND", made_global: "MADE", list_of_a_class: "LOG OF CLASS", number_of_a_class: "USED",
    slot: "SLOT", rule: "RULE", set_attribute_of_a_module: "ATTRIBUTE OF A MODULE", drawn_before: "DRAWN BEFORE",
    drawn_after: "DRAWN AFTER", drawn_by_python: "DRAWN BY PYTHON", drawn_by_numpy: "DRAWN BY NUMPY",
    default_dtype: "DEFAULT DTYPE", environment: "ENVIRONMENT", on_stderr: "STDERR", logged: "LOGGED",
    line_and_warning: "LINE AND WARNING", line_and_hook: "LINE AND HOOK", rate_of_learning: "RATE",
    swapped_appends: "SWAPPED APPENDS", dtype_in_a_loop: "DTYPE IN A LOOP", branch_in_a_loop: "BRANCH IN A LOOP",
    hook_in_a_loop: "HOOK IN A LOOP", body_of_a_hook: "BODY OF A HOOK", negative_zero: "NEGATIVE ZERO",
    handle_that_is_lost: "HANDLE", gradient_kept_of_the_first_output: "KEPT",
}


def place_of(mark: str) -> tuple[str, int]:
    """File and line of the comment."""
    for file in (__file__, helpers.__file__):
        with open(file, encoding="utf-8") as lines:
            for number, text in enumerate(lines, 1):
                if text.rstrip().endswith(f"  # {mark}"):
                    return file, number
    raise AssertionError(mark)


def seen() -> tuple[Any, ...]:
    """What a comparison has to leave as it is."""
    return (
        LOG[:], helpers.EVENTS[:], helpers.NUMBER, hasattr(helpers, "made"), Tool.used, Tool.log[:], SLOTS.n,
        helpers.COUNT["n"], random.getstate(), np.random.get_state()[2], d2s.get_rng_state(), d2s.get_default_dtype(),
        dict(os.environ), SGD.get_lr(), logging.Logger.callHandlers)


@pytest.mark.parametrize("function", MARKS, ids=lambda function: function.__name__)
def test_the_line_is_named(function: Any, capfd: pytest.CaptureFixture[str]) -> None:
    before = seen()
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(function, d2s.to_tensor([1.0, 2.0], stop_gradient=False))
    location = raised.value.location
    assert location is not None
    assert (location.file, location.line) == place_of(MARKS[function]), str(raised.value)
    assert f"# {MARKS[function]}" in str(raised.value)
    assert seen() == before
    assert capfd.readouterr() == ("", "")


def test_the_line_in_one_of_three_layers_is_named() -> None:
    class Net(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = d2s.nn.LayerList([Inner(False), Inner(True), Inner(False)])

        def forward(self, x):
            for layer in self.inner:
                x = layer(x)
            return x

    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(Net(), d2s.to_tensor([[1.0, 2.0], [3.0, -4.0]], stop_gradient=False))
    assert raised.value.location is not None
    assert (raised.value.location.file, raised.value.location.line) == place_of("INNER LAYER"), str(raised.value)


class Evaluates(d2s.nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = d2s.nn.BatchNorm1D(2)

    def forward(self, x):
        if now.static:
            self.norm.eval()  # EVAL
        return self.norm(x)


class Changes(d2s.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = d2s.nn.Linear(2, 2)
        self.fc.register_forward_pre_hook(self.change)

    def change(self, layer, inputs):
        return (inputs[0] + (1 if now.static else 2),)  # FORWARD HOOK

    def forward(self, x):
        return self.fc(x)


@pytest.mark.parametrize(("net", "mark"), [(Evaluates(), "EVAL"), (Changes(), "FORWARD HOOK")])
def test_the_line_in_a_layer_is_named(net: Any, mark: str) -> None:
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(net, d2s.to_tensor([[1.0, 2.0], [3.0, -4.0]], stop_gradient=False))
    assert raised.value.location is not None
    assert (raised.value.location.file, raised.value.location.line) == place_of(mark), str(raised.value)
    assert f"# {mark}" in str(raised.value)


def test_nothing_differs_without_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it again, the same in both modes."""
    always_eager = type(now)("now")
    always_eager.static = False
    monkeypatch.setattr(helpers, "now", always_eager)
    monkeypatch.setitem(globals(), "now", always_eager)
    for function in MARKS:
        assert_same_in_both_modes(function, d2s.to_tensor([1.0, 2.0], stop_gradient=False), calls=2)
