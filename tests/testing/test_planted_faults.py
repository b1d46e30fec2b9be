"""Faults are planted into static mode; `assert_same_in_both_modes` finds each one and points to the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import d2s
from d2s.jit.concrete import ConcreteProgram
from d2s.static import codegen, executor
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


Edit = Callable[[list[str]], list[str]]


def marked(pattern: str) -> str:
    """A pattern in which ``@MARK`` stands for the end of a generated line that comes from that line."""
    return re.sub(r"@(\w+)", lambda found: rf".*\.py:{line_of(found[1])}$", pattern)


def without(pattern: str) -> Edit:
    """Leaves lines out; what they assign becomes None."""

    def edit(lines: list[str]) -> list[str]:
        pattern_ = marked(pattern)
        found = []
        for line in lines:
            if re.search(pattern_, line):
                indent, names = re.match(r"( *)(?:([\w, ]+) = )?", line).groups()  # type: ignore[union-attr]
                line = f"{indent}{names} = None" if names else f"{indent}pass"
            found.append(line)
        assert found != lines
        return found

    return edit


def replacing(pattern: str, text: str) -> Edit:
    def edit(lines: list[str]) -> list[str]:
        found = [re.sub(pattern, text, line) for line in lines]
        assert found != lines
        return found

    return edit


def doubling(pattern: str) -> Edit:
    def edit(lines: list[str]) -> list[str]:
        # On one line, so that the lines still stand for the operators that they are of.
        found = [
            re.sub(r"^( *)(.*?)(  #.*)?$", r"\1\2; \2\3", line) if re.search(marked(pattern), line) else line
            for line in lines
        ]
        assert found != lines
        return found

    return edit


def swapping_hooks(lines: list[str]) -> list[str]:
    found = list(lines)
    one, other = (number for number, line in enumerate(lines) if "register_hook(" in line)
    hooks = [re.search(r"register_hook\(\w+, (\w+)\)", lines[number])[1] for number in (one, other)]  # type: ignore[index]
    found[one] = found[one].replace(f", {hooks[0]})", f", {hooks[1]})")
    found[other] = found[other].replace(f", {hooks[1]})", f", {hooks[0]})")
    return found


def plant(monkeypatch: pytest.MonkeyPatch, name: str, edit: Edit) -> None:
    """Edit the generated source of forward or backward functions."""
    make = getattr(executor, name)

    def planted(*args: Any) -> codegen.Source:
        source = make(*args)
        source.lines[:] = edit(source.lines)
        return source

    monkeypatch.setattr(executor, name, planted)


FORWARD, BACKWARD = "forward_source", "backward_source"
FAULTS: dict[str, tuple[str, Edit, str, str]] = {
    "a wrong op": (FORWARD, replacing(r"np\.tanh\(", "np.sin("), "TANH", "hooks"),
    "a wrong vjp": (BACKWARD, replacing(r"np\.subtract\(", "np.add("), "TANH", "hooks"),
    "a dropped hook": (FORWARD, without("register_hook@FIRST"), "FIRST", "hooks"),
    "the other hook dropped": (FORWARD, without("register_hook@SECOND"), "SECOND", "hooks"),
    "a hook registered twice": (FORWARD, doubling("register_hook@SECOND"), "SECOND", "hooks"),
    "swapped hooks": (FORWARD, swapping_hooks, "FIRST", "hooks"),
    "the wrong branch": (FORWARD, replacing(r"^( *)if item:", r"\1if not item:"), "THEN", "output"),
    "a lost print": (FORWARD, without("print@PRINT"), "PRINT", "printed"),
    "a print too many": (FORWARD, doubling("print@DONE"), "DONE", "printed"),
    "a lost append": (FORWARD, without("append@LOG"), "LOG", "state"),
    "a lost attribute": (FORWARD, without("setattr@COUNT"), "COUNT", "state"),
    "a lost write": (FORWARD, without("set_value@WRITE"), "WRITE", "state"),
    "a lost raise": (FORWARD, without("raise_again"), "RAISE", "error"),
    "a gradient sent on twice": (BACKWARD, replacing(
        r"(run\.accumulate\(walk, 0, multiply_4\))", r"\1; \1"), "Y", "gradient"),
}


@pytest.fixture(autouse=True)
def fresh_state():
    LOG.clear()
    COUNTER.count = 0


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_found_and_its_line_named(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, edit, mark, sort = FAULTS[fault]
    given = inputs()
    if fault == "a lost raise":
        given[1] = d2s.to_tensor([[-0.5], [-3.0]])
    assert_same_in_both_modes(program, *given)
    plant(monkeypatch, where, edit)
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
    plant(monkeypatch, BACKWARD, replacing(r"(run\.finish\(walk, \d, )(\w+)(\).*)", r"\1\2 * 2\3"))
    with pytest.raises(ModesDiffer, match=r"gradient of self\.fc\.weight") as raised:
        assert_same_in_both_modes(net, x)
    assert raised.value.difference.path == "self.fc.weight"
    first = Net.forward.__code__.co_firstlineno
    assert f"self.fc.weight is read first at {__file__}:{first + 2}" in str(raised.value)
    assert "2 of" not in raised.value.difference.detail
    assert "6 of 6 elements differ, by at most" in raised.value.difference.detail
