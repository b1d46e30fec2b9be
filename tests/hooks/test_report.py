"""`hook_report` lists every registration, and warns of hooks that pile up."""

from __future__ import annotations

import functools

import d2s as paddle
from d2s.cli.main import main
from d2s.jit import to_static

weight = paddle.to_tensor([2.0], stop_gradient=False)


@to_static
def everything(x, w):
    y = x * 2
    z = y + 1
    w.register_hook(lambda g: g)
    getattr(y, "register_hook")(lambda g: g)  # noqa: B009
    register = y.register_hook
    register(lambda g: g)
    functools.partial(y.register_hook, lambda g: g)()
    list(map(z.register_hook, [lambda g: g]))
    w._register_backward_hook(lambda: None)
    z.register_hook(lambda g: g)
    weight.register_hook(lambda g: g)
    return (z * w * weight).sum()


@to_static
def none_of_these_lasts(x, pairs):
    x = x * 1
    x.register_hook(lambda g: g)

    def inner(v):
        v.register_hook(lambda g: g)
        y.register_hook(lambda g: g)
        return v

    y = inner(x * 2)
    [part.register_hook(lambda g: g) for part in (x, y)]
    for part in (x, y):
        part.register_hook(lambda g: g)
    return y


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = paddle.nn.Linear(1, 1)

    def forward(self, x):
        self.inner.weight.register_hook(lambda g: g)
        self.kept = self.inner(x)
        self.kept.register_hook(lambda g: g)
        return self.kept


def test_every_registration_is_listed():
    first = everything.hook_report()[0].line - 3
    found = {(report.line - first, report.target): report for report in everything.hook_report()}
    assert sorted(found) == [
        (3, "w"), (4, "y"), (5, "y"), (7, "y"), (8, "z"), (9, "w"), (10, "z"), (11, "weight")]
    assert [place for place, report in found.items() if report.warning] == [(3, "w"), (9, "w"), (11, "weight")]
    assert found[3, "w"].warning == (
        "each call registers one more hook on w, which stays: they pile up, unless it is removed")
    assert found[4, "y"].reason == "register_hook is found by getattr"
    assert found[5, "y"].reason == "register_hook is taken here and called elsewhere"
    assert found[9, "w"].reason == "a reduce hook stays where it is registered"


def test_what_the_call_makes_is_no_reason_to_warn():
    reports = none_of_these_lasts.hook_report()
    assert len(reports) == 5
    assert [report.warning for report in reports] == [None] * 5


def test_parameters_of_a_layer():
    reports = to_static(Net()).forward.hook_report()
    assert [(report.target, report.warning is not None) for report in reports] == [
        ("self.inner.weight", True), ("self.kept", False)]


def test_they_pile_up():
    calls = []

    @to_static
    def f(x, w):
        w.register_hook(lambda g: calls.append(1))
        return x * w

    x, w = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    assert f.hook_report()[0].warning
    for turn in range(1, 4):
        f(x, w).backward()
        assert len(calls) == turn * (turn + 1) / 2


def test_the_command_shows_the_warnings(capsys):
    assert main(["hooks", f"{__file__}:everything"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("warning: line") == 3
    assert "each call registers one more hook on weight" in shown
