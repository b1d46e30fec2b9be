"""Moved registrations: whatever stands between a registration and its tensor, static mode does what eager mode does."""

from __future__ import annotations

import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

import d2s as paddle
from d2s.jit import to_static, trace
from d2s.operators import conversion
from d2s.testing.generated import load
from d2s.transpiler.convert import DEFAULT_PASSES

# Lines that may stand between: of arithmetic, of what may raise, of objects with code of their own.
BETWEEN = (
    "z = y + 1",
    "z = y * x - 2",
    "z = -y if x is None else y",
    "z = [y, (x, 3)]",
    "k = 7",
    "def local(g, k=k): return g * k",
    "z = things['missing']",
    "z = things['x'] + y",
    "z = x + longer",
    "z = y @ longer",
    "z = y[index]",
    "z = y[0]",
    "z = things.missing",
    "z = y.missing",
    "z = y.T",
    "z = x > longer and y",
    "z = undefined",
    "z = 1 / zero",
    "z = thing.seen",
    "z = thing + y",
    "z = thing[0]",
    "z = thing == 3",
    "a, b = parts",
    "z = helper(y)",
    "z = x in parts",
)
TARGETS = ("x", "y", "w", "z", "same", "thing.tensor", "things['x']", "thing", "frozen")
HOOKS = (
    "lambda g: g + 1",
    "lambda g: g * k",
    "lambda g, k=k: g * k",
    "square",
    "thing.hook",
    "thing.hooks",
    "make()",
    "make_of(k)",
    "None",
    "things['hook']",
    "undefined",
)


class Thing:
    """Notes in `log` all that is done with it."""

    def __init__(self, tensor, log):
        self.tensor, self.log = tensor, log

    @property
    def seen(self):
        self.log.append("seen")
        return len(self.log)

    @property
    def hook(self):
        self.log.append("hook")
        number = len(self.log)
        return lambda g: g * number

    def hooks(self, g):
        return g * g

    def register_hook(self, hook):
        self.log.append("registered")

    def __add__(self, other):
        self.log.append("added")
        other.register_hook(lambda g: g * 3)
        return other

    def __getitem__(self, index):
        raise IndexError(index)

    def __eq__(self, other):
        self.log.append("compared")
        return len(self.log)


def written(lines):
    """The text of the function with these lines."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"def f(x, w, longer, index, frozen, thing, things, parts, k=5, zero=0):\n{body}\n"


def observed(lines, static):
    """What two calls return or raise, what they do to `thing`, and the gradients of each call's result."""
    log, found = [], []
    log.append(0)

    def helper(value):
        log.append("helper")
        value.register_hook(lambda g: g - 1)
        return value

    def make():
        log.append("make")
        number = len(log)
        return lambda g: g * number

    scope = {"helper": helper, "make": make, "make_of": lambda k: lambda g: g * k, "square": lambda g: g * g}
    f = static(load(written(lines), **scope))
    x, w = (paddle.to_tensor(values, stop_gradient=False) for values in ([1.0, 2.0], [3.0, -1.0]))
    thing = Thing(w, log)
    things = {"x": x, "hook": lambda g: g + 2}
    for index in (1, 7):
        given = (x, w, paddle.ones([3]), paddle.to_tensor(index), paddle.ones([2]), thing, things, iter([1, 2]))
        try:
            result = f(*given)
        except Exception as error:
            builtin = next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
            found.append(builtin)
        else:
            found.append([part.tolist() if isinstance(part, paddle.Tensor) else type(part) for part in result])
            result[0].backward()
        # What is registered on persistent tensors shows in their next gradient.
        (x * 1.5 + w).sum().backward()
        found += [x.grad.tolist(), w.grad.tolist(), list(log)]
    return found


START = ("y = x * 2", "same = w", "z = w")
RESULT = "return (y * y).sum() + (x * w).sum(), z, k"


@st.composite
def programs(draw):
    """A function with a definition, one to three registrations and what stands between."""
    lines = list(START)
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(st.lists(st.sampled_from(BETWEEN), max_size=3))
        target, hook = draw(st.sampled_from(TARGETS)), draw(st.sampled_from(HOOKS))
        lines.append(draw(st.sampled_from(("", "handle = "))) + f"{target}.register_hook({hook})")
    return [*lines, RESULT]


def without_moves(function):
    """The static function, converted without the pass that moves registrations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversion, "JIT_PASSES", DEFAULT_PASSES)
        converted = to_static(function)

        def call(*given):
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(conversion, "JIT_PASSES", DEFAULT_PASSES)
                return converted(*given)

        return call


def refused(error):
    return isinstance(error, (paddle.errors.UnsupportedSyntaxError, paddle.errors.TracingError))


def outcome(lines, static):
    """What is observed, or None where static mode says by line that it cannot do this."""

    def checked(function):
        converted = static(function)

        def call(*given):
            try:
                return converted(*given)
            except Exception as error:
                if refused(error):
                    raise Refused from None
                raise

        return call

    try:
        return observed(lines, checked)
    except Refused:
        return None


class Refused(BaseException):
    pass


@given(lines=programs())
def test_moved_or_not_is_as_eager(lines):
    expected = observed(lines, lambda function: function)
    assert outcome(lines, without_moves) in (expected, None)
    assert outcome(lines, to_static) in (expected, None)


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("target", ["x", "y"])
def test_each_line_between(between, target):
    lines = [*START, between, f"{target}.register_hook(lambda g: g * g + 1)", RESULT]
    assert outcome(lines, to_static) in (observed(lines, lambda function: function), None)


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook(hook):
    lines = [*START, "z = y + 1", "n = thing.log[-1]", f"y.register_hook({hook})", RESULT.replace("k", "n")]
    assert outcome(lines, to_static) in (observed(lines, lambda function: function), None)


def lookup(x, things):
    z = x + things["missing"]
    x.register_hook(lambda g: g + 1)
    return z


def fitting(x, w):
    z = x + w
    x.register_hook(lambda g: g + 1)
    return z


def test_a_line_that_raises_keeps_the_hook_below_it():
    static = to_static(lookup)
    assert static.code.index("register_hook") < static.code.index("missing")
    assert static.hook_report()[0].moved_to is not None
    with pytest.raises(KeyError):
        static(paddle.ones([1]), {})
    assert static.code.index("attach(x)") < static.code.index("missing") < static.code.index("register_hook")
    (report,) = static.hook_report()
    assert report.moved_to is None
    assert "may raise or run other code, as a trace has shown" in report.reason


def test_ordinary_operators_are_passed_until_one_of_them_raises():
    static = to_static(fitting)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    static(x, paddle.ones([2])).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert static.hook_report()[0].moved_to is not None
    with pytest.raises(paddle.errors.ShapeError):
        static(x, paddle.ones([3]))
    assert static.hook_report()[0].moved_to is None
    x.clear_grad()
    static(x, paddle.ones([2])).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_other_objects_that_register_hooks_stay():
    bus = types.SimpleNamespace(register_hook=lambda hook: order.append("registered"))
    order = []

    def f(x, bus):
        z = x + 1
        bus.register_hook(None)
        return z

    static = to_static(f)
    static(paddle.ones([1]), bus)
    assert order == ["registered"]
    assert static.hook_report()[0].moved_to is None


def test_a_misplaced_hook_is_noticed(monkeypatch):
    """The comparison above has teeth: without the check in the trace it fails."""
    monkeypatch.setattr(trace.Tracer, "misplaced", property(lambda self: [], lambda self, new: None), raising=False)
    lines = [*START, "z = things['missing']", "x.register_hook(lambda g: g + 1)", RESULT]
    assert outcome(lines, to_static) != observed(lines, lambda function: function)
