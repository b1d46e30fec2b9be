"""Backward passes by a plan: the same bits as by the walk, and only where nobody could see a difference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import d2s
from d2s.eager import cases, plans

STARTS = [np.linspace(-1, 2, 6, dtype="float32").reshape(2, 3), np.linspace(0.5, 1, 3, dtype="float32"),
          np.asarray(1.5, "float32")]


def some_parts(x: Any, y: Any) -> Any:
    """One part is used twice, one not at all."""
    first, _, last = d2s.chunk(d2s.concat([x.flatten(), x.flatten() * 2, x.flatten() * 3]), 3)
    return (first * last + first).reshape(x.shape) + y


def all_parts(x: Any, y: Any) -> Any:
    first, second = d2s.unbind(d2s.stack([x, x * x]))
    return second * y - first


OPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x * y, lambda x, y: x + y, lambda x, y: d2s.tanh(x) - y, lambda x, y: x * x,
    lambda x, y: x / (y * y + 1), lambda x, y: d2s.nn.functional.relu(x), lambda x, y: x.sum() * y,
    lambda x, y: d2s.maximum(x, y.detach()), some_parts, all_parts,
]


def forget() -> None:
    cases._known.clear()
    plans._plans.clear()
    plans._met.clear()


@pytest.fixture(autouse=True)
def from_the_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No graph is known, and small sums are written over too."""
    monkeypatch.setattr(plans, "_LARGE", 1)
    forget()
    yield
    forget()


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each backward, whether it ran by a plan."""
    seen: list[bool] = []
    run = plans.run

    def watched(*args: Any) -> bool:
        seen.append(run(*args))
        return seen[-1]

    monkeypatch.setattr(plans, "run", watched)
    return seen


def leaves() -> list[Any]:
    return [d2s.to_tensor(start, stop_gradient=False) for start in STARTS]


@given(steps=st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_the_same_bits_as_by_the_walk(steps: list[Any]) -> None:
    """Values are used several times, and not in the order in which they were made."""
    found = []
    forget()
    for _ in range(4):
        starts = leaves()
        values = list(starts)
        for op, first, second in steps:
            values.append(op(values[first % len(values)], values[-1 - second % len(values)]))
        loss = values[-1].mean() + (values[-2] * values[-1]).sum()
        loss.backward()
        found.append([None if leaf.grad is None else leaf.grad.data.tobytes() for leaf in starts])
    assert found == found[:1] * 4
    assert [plan is not None for plan in plans._plans.values()] == [True]


def test_a_graph_that_comes_again_has_a_plan(planned: list[bool]) -> None:
    x, w, _ = leaves()
    grads = []
    for _ in range(4):
        x.clear_grad(False)
        w.clear_grad(False)
        y = x * w
        # The order of the visits is another one than that from the loss down.
        z = d2s.tanh(y)
        (y * z + z).sum().backward()
        grads.append((x.grad.data.tobytes(), w.grad.data.tobytes()))
    assert planned == [False, False, True, True]
    assert len(set(grads)) == 1


@pytest.mark.parametrize("use", [
    lambda q, r: (q * q * q).sum() + r.sum(), lambda q, r: r.sum(), lambda q, r: (q * q * q).sum()])
def test_an_output_that_nobody_uses_has_a_zero_gradient(use: Any, planned: list[bool]) -> None:
    """The rules of qr read all outputs and all gradients."""
    found = []
    for _ in range(4):
        x = d2s.to_tensor(np.asarray([[1.0, 2.0], [-1.0, 0.5], [3.0, 1.0]]), stop_gradient=False)
        use(*d2s.linalg.qr(x)).backward()
        found.append(x.grad.data.tobytes())
    assert found == found[:1] * 4
    assert planned == [False, False, True, True]


@pytest.mark.parametrize("turns_without", [0, 4])
def test_hooks_of_one_output_are_called(turns_without: int, planned: list[bool]) -> None:
    """A graph has a plan with hooks and one without; each has to come again."""
    for turn in range(turns_without + 3):
        seen: list[Any] = []
        x = d2s.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)
        first, second = d2s.split(x, 2)
        if turn >= turns_without:
            second.register_hook(lambda g, seen=seen: seen.append(g.tolist()) or g * g + 1)
        (first * second).sum().backward()
    assert planned == [*[False, False, True, True][:turns_without], False, turns_without > 0, True]
    assert seen == [[1.0, 2.0]]
    assert x.grad.tolist() == [3.0, 4.0, 2.0, 5.0]


def test_hooks_of_an_output_that_nobody_uses_see_zeros(planned: list[bool]) -> None:
    for _ in range(4):
        seen: list[Any] = []
        x = d2s.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)
        first, second = d2s.split(x, 2)
        second.register_hook(lambda g, seen=seen: seen.append(g.tolist()) or g + 2)
        first.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        (first * first).sum().backward()
        assert seen == [[0.0, 0.0], [2.0, 4.0]]
        assert x.grad.tolist() == [2.0, 4.0, 2.0, 2.0]
    assert planned == [False, False, True, True]


class Stopped(Exception):
    """Raised by a hook."""


# What a hook does besides being called: it gets the run, and the gradient, and gives what it returns.
DEEDS: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda run, g: None,
    "adds": lambda run, g: g + 1,
    "squares": lambda run, g: g * g * 0.5,
    "writes the gradient": lambda run, g: g.multiply_(g) and None,
    "raises": lambda run, g: run.stop(),
    "gives a number": lambda run, g: 1.0,
    "gives another shape": lambda run, g: g.flatten().sum(),
    "removes the last": lambda run, g: run.handles.pop().remove() and None if run.handles else None,
    "registers on a value": lambda run, g: run.register(run.other, "adds"),
    "registers on a leaf": lambda run, g: run.register(0, "squares"),
    "reduces a leaf": lambda run, g: run.reduce(1),
    "writes to a value": lambda run, g: run.write(run.other),
    "writes to a leaf": lambda run, g: run.write(1),
    "clears a leaf": lambda run, g: run.values[1].clear_grad(),
    "warns": lambda run, g: g / 0.0 if run.warns() else None,
    "goes back itself": lambda run, g: run.again(),
    "lets grad mode on": lambda run, g: run.set_grad_mode(),
}


class Run:
    """One run of a random program, and all that its hooks see."""

    def __init__(self, steps: list[Any], hooks: list[Any], other: int, retain: bool) -> None:
        self.log: list[Any] = []
        self.handles: list[Any] = []
        self.other, self.retain, self.depth = other, retain, 0
        self.values = leaves()
        for position, (op, first, second) in enumerate(steps):
            values = self.values
            values.append(op(values[first % len(values)], values[-1 - second % len(values)]))
            for at, deed in hooks:
                if at % len(steps) == position:
                    self.register(-1 - at % 5, deed)
        self.loss = self.values[-1].mean() + (self.values[-2] * self.values[-1]).sum()
        for _ in range(2):
            self.backward()
        self.log += [
            None if (grad := value.grad) is None else grad.data.tobytes() for value in self.values if value.is_leaf]

    def backward(self) -> None:
        try:
            self.loss.backward(retain_graph=self.retain)
        except Exception as error:
            self.log.append((type(error), str(error)))
        self.log.append(d2s.is_grad_enabled())

    def register(self, at: int, deed: str) -> None:
        value = self.values[at % len(self.values)]
        if value.stop_gradient or len(self.log) > 40:
            return

        def hook(g: Any) -> Any:
            self.log.append((deed, at, g.data.tobytes(), np.geterr()["divide"], d2s.is_grad_enabled()))
            return DEEDS[deed](self, g)

        self.handles.append(value.register_hook(hook))

    def reduce(self, at: int) -> None:
        if len(self.log) < 40:
            self.values[at]._register_backward_hook(
                lambda: self.log.append(("reduced", self.values[at].grad.data.tobytes())))

    def write(self, at: int) -> None:
        with d2s.no_grad():
            value = self.values[at % len(self.values)]
            value.add_(d2s.ones(value.shape))

    def stop(self) -> None:
        raise Stopped("here")

    def warns(self) -> bool:
        """True: the warnings of NumPy are those of the caller, in a hook."""
        self.log.append(np.geterr()["over"])
        return True

    def again(self) -> None:
        if self.depth < 1:
            self.depth += 1
            self.backward()
            self.depth -= 1

    def set_grad_mode(self) -> None:
        d2s.core.interpreter.state.grad_enabled = True


@pytest.mark.parametrize("deeds", [
    ["nothing", "adds", "squares", "writes the gradient", "removes the last"],
    ["adds", "registers on a value", "registers on a leaf", "reduces a leaf", "removes the last", "clears a leaf"],
    ["adds", "raises", "gives a number", "gives another shape", "squares"],
    ["squares", "writes to a value", "writes to a leaf", "reduces a leaf"],
    ["adds", "warns", "goes back itself", "lets grad mode on", "registers on a leaf"],
])
@given(data=st.data())
def test_hooks_see_the_same_as_in_the_walk(deeds: list[str], data: st.DataObject) -> None:
    """Calls, arguments, their order, errors and their moments; later backwards too."""
    steps = data.draw(st.lists(
        st.tuples(st.sampled_from(OPS), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=7))
    hooks = data.draw(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(deeds)), min_size=1, max_size=4))
    other, retain = data.draw(st.integers(0, 9)), data.draw(st.booleans())
    forget()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plans, "run", lambda *walk: False)
        expected = Run(steps, hooks, other, retain).log
    for _ in range(5):
        assert Run(steps, hooks, other, retain).log == expected


def test_hooks_are_called_in_the_context_of_the_caller(planned: list[bool]) -> None:
    seen = []
    with np.errstate(divide="raise"):
        for _ in range(4):
            _, y, loss = graph()
            y.register_hook(lambda g: seen.append(np.geterr()["divide"]))
            loss.backward()
    assert planned == [False, False, True, True]
    assert seen == ["raise"] * 4


@pytest.mark.parametrize("is_hooked", [False, True])
def test_a_hook_writes_to_what_a_later_rule_reads(is_hooked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook of the op that can be used no more is not called, and no gradient comes below it."""
    begun: list[Any] = []
    planned = plans._planned
    monkeypatch.setattr(plans, "_planned", lambda *graph: _counted(planned(*graph), begun))
    for turn in range(4):
        seen: list[str] = []
        x = d2s.to_tensor(STARTS[0], stop_gradient=False)
        y = d2s.tanh(x)
        z = y * 2

        def hook(g: Any, y: Any = y, turn: int = turn, seen: list[str] = seen) -> None:
            seen.append("z")
            if turn == 3:
                with d2s.no_grad():
                    y.add_(y)

        z.register_hook(hook)
        if is_hooked:
            y.register_hook(lambda g, seen=seen: seen.append("y"))
        if turn < 3:
            (z * z).sum().backward()
    with pytest.raises(d2s.errors.GradientError, match=r"tanh needs has been modified in place: shape \[2, 3\]"):
        (z * z).sum().backward()
    assert len(begun) == 2
    assert seen == ["z"]
    assert x.grad is None


def _counted(plan: Any, begun: list[Any]) -> Any:
    return lambda *graph: begun.append(graph) or plan(*graph)


def test_leaves_are_finished_by_their_last_edge(planned: list[bool]) -> None:
    """x is the first and the last operand of one op, y is between them."""
    for _ in range(4):
        seen: list[str] = []
        x, y = d2s.to_tensor([1.0, 2.0], stop_gradient=False), d2s.to_tensor([3.0, 0.5], stop_gradient=False)
        x.register_hook(lambda g, seen=seen: seen.append("x"))
        y.register_hook(lambda g, seen=seen: seen.append("y"))
        d2s.lerp(x, y, x).sum().backward()
        assert seen == ["y", "x"]
    assert planned == [False, False, True, True]


def graph() -> tuple[Any, Any, Any]:
    x = d2s.to_tensor(STARTS[0], stop_gradient=False)
    y = d2s.tanh(x * 2)
    return x, y, (y * y).sum()


def used(planned: list[bool]) -> None:
    for _ in range(3):
        graph()[2].backward()
    assert planned == [False, False, True]


def test_hooks_are_called(planned: list[bool]) -> None:
    used(planned)
    x, y, loss = graph()
    seen = []
    y.register_hook(lambda g: seen.append(g.numpy()) or g * g + 1)
    loss.backward(retain_graph=True)
    first = x.grad.numpy()
    np.testing.assert_array_equal(seen[0], 2 * y.numpy())
    expected = (seen[0] * seen[0] + 1) * (1 - y.numpy() * y.numpy()) * 2
    np.testing.assert_allclose(first, expected, rtol=1e-6)
    x, y, loss = graph()
    x.register_hook(lambda g: g + 1)
    x._register_backward_hook(lambda: seen.append("reduced"))
    y.retain_grads()
    loss.backward()
    assert seen[1:] == ["reduced"]
    np.testing.assert_array_equal(y.grad.numpy(), 2 * y.numpy())
    plain, _, loss = graph()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), plain.grad.numpy() + 1)
    assert planned[3:] == [False, True, True]


def test_a_graph_that_is_used_up(planned: list[bool]) -> None:
    used(planned)
    x, y, loss = graph()
    loss.backward(retain_graph=True)
    once = x.grad.numpy()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * once)
    with pytest.raises(d2s.errors.GradientError, match="second time"):
        loss.backward()
    with pytest.raises(d2s.errors.GradientError, match="second time"):
        (y * y).sum().backward()
    assert planned[3:] == [True, True, False, False]


def test_a_value_that_was_written_to(planned: list[bool]) -> None:
    used(planned)
    x, y, loss = graph()
    y.add_(d2s.ones([2, 3]))
    with pytest.raises(d2s.errors.GradientError, match="modified in place"):
        loss.backward()
    assert x.grad is None
    assert planned[3:] == [False]


def test_saved_values_are_freed_and_gradients_go_to_nobody_else() -> None:
    for _ in range(4):
        x, y, loss = graph()
        node = y._node
        loss.backward()
        assert node.released
        assert not node.inputs
        assert node.out_data is None
        assert y.grad is None
        assert x.grad.stop_gradient is False


def test_other_walks(planned: list[bool]) -> None:
    """`grad`, second derivatives and anomaly detection are left to the walk."""
    used(planned)
    x, _, loss = graph()
    (first,) = d2s.grad(loss, [x], create_graph=True)
    first.sum().backward()
    y = d2s.tanh(d2s.to_tensor(STARTS[0]) * 2).numpy()
    np.testing.assert_allclose(x.grad.numpy(), 8 * (1 - y**2) * (1 - 3 * y**2), rtol=1e-5, atol=1e-5)
    x = d2s.to_tensor([0.0], stop_gradient=False)
    for _ in range(4):
        y = (d2s.sqrt(x) * 0.0).sum()
        y.backward(retain_graph=True)
    assert planned[-1]
    count = len(planned)
    with d2s.autograd.detect_anomaly(), pytest.raises(d2s.errors.AnomalyError):
        y.backward()
    assert len(planned) == count


def test_no_warning_of_inf_and_nan(planned: list[bool]) -> None:
    x = d2s.to_tensor(np.asarray([3e38], "float32"), stop_gradient=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            (x * np.float32(3e38)).sum().backward()
    assert planned == [False, False, True, True]
    assert x.grad.tolist() == [np.inf]


def test_what_is_known_stays_small(monkeypatch: pytest.MonkeyPatch, planned: list[bool]) -> None:
    monkeypatch.setattr(plans, "LIMIT", 5)
    monkeypatch.setattr(plans, "LARGEST", 10)
    for depth in range(2, 30):
        for _ in range(3):
            y = x = d2s.to_tensor(2.0, stop_gradient=False)
            for _ in range(depth):
                y = y * 2.0
            y.backward()
            assert x.grad.item() == np.float32(2.0) ** depth
        assert planned[-1] is (depth <= 10)
        assert len(plans._met) <= 5
        assert len(plans._plans) <= 5
