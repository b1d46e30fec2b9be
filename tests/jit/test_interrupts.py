"""Ctrl-C at any moment, and faults at every operator and hook: nothing is left changed, and the next call is right."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings

import d2s
from d2s.core.interpreter import state
from tests.corpus.register import LOG, number
from tests.modes import programs
from tests.modes.harness import Names, differentiate, message, plain

INSIDE = (str(Path(d2s.__file__).parent), "<d2s")
IS_NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
ARRAY = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


class Interrupter:
    """Raises at the k-th place: ``"call"``, where Python looks for signals, or ``"line"``, in frames of these files."""

    def __init__(self, event: str, files: tuple[str, ...], k: int, error: Callable[[], BaseException]) -> None:
        self.event, self.files, self.left, self.error = event, files, k, error
        self.seen = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self.files):
            return None
        if event == self.event:
            self.seen += 1
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                raise self.error()
        return self if self.event == "line" else None


def interrupted(action: Callable[[], Any], by: Interrupter) -> bool:
    """Run `action` until it is interrupted; False if it came to its end."""
    before = sys.gettrace()
    sys.settrace(by)
    try:
        action()
    except (KeyboardInterrupt, MemoryError, ZeroDivisionError, d2s.ProgramError):
        # The last says of a MemoryError that a Program could not be verified.
        return True
    finally:
        sys.settrace(before)
    return False


def assert_untouched() -> None:
    """Interpreters, grad mode and NumPy's error state are those of a fresh thread."""
    assert len(state.stack) == 1
    assert state.current is state.stack[0]
    assert state.grad_enabled
    assert np.geterr()["divide"] == "warn"


class Training:
    """A Layer with state, control flow, hooks and effects, and its optimizer."""

    def __init__(self, static: bool) -> None:
        d2s.seed(0)
        log = self.log = []

        class Net(d2s.nn.Layer):
            def __init__(self) -> None:
                super().__init__()
                self.linear = d2s.nn.Linear(3, 3)
                self.norm = d2s.nn.BatchNorm1D(3)
                self.calls = 0

            def forward(self, x: Any) -> Any:
                self.calls += 1
                y = self.norm(self.linear(x))
                y.register_hook(lambda g: log.append(g.tolist()) or g * 1.5)
                with d2s.no_grad():
                    total = y.sum()
                if total > 0:
                    y = y * 2
                i = d2s.to_tensor(0.0)
                while i < 2:
                    y = y + i
                    i = i + 1
                return y.sum() / d2s.to_tensor(0.5)

        self.net = Net()
        self.begin = {name: value.numpy() for name, value in self.net.state_dict().items()}
        if static:
            d2s.to_static(self.net)
        self.optimizer = d2s.optimizer.Momentum(0.1, parameters=self.net.parameters())

    def step(self) -> None:
        self.net(d2s.to_tensor(ARRAY)).backward()
        self.optimizer.step()
        self.optimizer.clear_grad()

    def results(self) -> list[Any]:
        """What two calls and backwards give, from the state at the beginning."""
        self.net.set_state_dict(self.begin)
        self.net.calls = 0
        self.optimizer.clear_grad(False)
        self.log.clear()
        found = []
        for _ in range(2):
            loss = self.net(d2s.to_tensor(ARRAY))
            loss.backward()
            found += [loss.item(), self.net.calls, *(p.grad.tolist() for p in self.net.parameters())]
        return [*found, *self.log]


USUAL = Training(False).results()


# Of the 33,000 places of a first call a nightly run takes this many, other ones each night: all of them are an hour.
NIGHTLY = 2_000


def places(count: int, of: int) -> list[int]:
    """Numbers from 1 to `of`: this many, the same each time; in a nightly run up to `NIGHTLY`, by chance."""
    chosen, count = (random.Random(), NIGHTLY) if IS_NIGHTLY else (random.Random(0), count)
    return list(range(1, of + 1)) if of <= count else sorted(chosen.sample(range(1, of + 1), count))


# Generators that are interrupted while they are thrown away.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(("warm", "count"), [(0, 12), (4, 20)], ids=["first call", "later call"])
def test_an_interrupt_anywhere(warm: int, count: int, error: type[BaseException]) -> None:
    def begun() -> Training:
        training = Training(True)
        for _ in range(warm):
            training.step()
        return training

    for _ in range(2):
        total = Interrupter("call", INSIDE, 0, error)
        assert not interrupted(begun().step, total)
    assert total.seen > 100
    hits = 0
    for k in places(count, total.seen):
        training = begun()
        hits += interrupted(training.step, Interrupter("call", INSIDE, k, error))
        assert_untouched()
        assert training.results() == USUAL, k
    assert hits > 0.9 * min(count, total.seen)


def test_a_hook_that_is_interrupted_leaves_numpy_and_modes_alone() -> None:
    def hook(g: Any) -> None:
        assert np.geterr()["divide"] == "raise"
        raise KeyboardInterrupt

    @d2s.to_static
    def f(x: Any) -> Any:
        y = x / 0.0
        y.register_hook(hook)
        return y

    with np.errstate(divide="raise"):
        result = f(d2s.to_tensor(1.0, stop_gradient=False))
        with pytest.raises(KeyboardInterrupt):
            result.backward()
        assert np.geterr()["divide"] == "raise"
    assert_untouched()


# --- random programs ------------------------------------------------------------------------------------------------


class Countdown(list[Any]):
    """A log in which the k-th entry cannot be written."""

    left = 0

    @d2s.jit.not_to_static
    def append(self, entry: Any) -> None:
        self.left -= 1
        if not self.left:
            raise ZeroDivisionError("at this step")
        super().append(entry)


ARGUMENTS = (([0.31, -1.73, 0.57], [1.13, 0.29, -0.77], 0.7, 2), ([-0.91, 0.37, 1.21], [0.17, -0.63, 0.83], -0.3, 1))
relaxed = settings(
    max_examples=max(4, settings.default.max_examples // 5), suppress_health_check=[HealthCheck.too_slow])


def called(function: Callable[..., Any], numbers: tuple[Any, ...], fails_at: int) -> Any:
    """Result, gradients and log of one call and backward in which the `fails_at`-th hook or effect raises."""
    first, second, c, n = numbers
    x, y = (d2s.to_tensor(data, stop_gradient=False) for data in (first, second))
    LOG.clear()
    LOG.left = fails_at
    try:
        result = function(x, y, number(c, "tensor").make(), number(n, "tensor").make())
        shown = plain(result, Names((x, y)))
        differentiate([result], 1)
    except Exception as error:
        shown = type(error).__name__, message(error)
    return shown, plain([[x.grad, y.grad], list(LOG)], Names((x, y)))


def is_refusal(outcome: Any) -> bool:
    """True for what `called` gives of a function that cannot become a graph."""
    return isinstance(outcome[0], tuple) and outcome[0][0] in ("UnsupportedSyntaxError", "TracingError")


@pytest.fixture
def countdown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs log to a `Countdown`."""
    from tests.corpus import register

    log = Countdown()
    monkeypatch.setattr(register, "LOG", log)
    monkeypatch.setitem(globals(), "LOG", log)


@pytest.mark.usefixtures("countdown")
def test_every_hook_and_effect_of_random_programs_fails_once() -> None:
    refused: list[bool] = []

    @settings(relaxed, suppress_health_check=list(HealthCheck))
    @given(text=programs.functions(depth=1))
    def search(text: str) -> None:
        note(text)
        eager, static = programs.load(text), d2s.to_static(programs.load(text))
        refused.append(False)
        for numbers in ARGUMENTS:
            usual = called(eager, numbers, 0)
            steps = -LOG.left
            outcome = called(static, numbers, 0)
            if is_refusal(outcome) and not is_refusal(usual):
                assert not LOG, "refused after an effect"
                refused[-1] = True
                continue
            assert outcome == usual
            for k in places(6, steps):
                failed = called(eager, numbers, k)
                assert failed != usual
                assert called(static, numbers, k) == failed, k
                assert_untouched()
                assert called(static, numbers, 0) == usual, k

    search()
    assert sum(refused) <= 0.05 * len(refused), f"{sum(refused)} of {len(refused)} refused"


@settings(relaxed, suppress_health_check=list(HealthCheck))
@given(text=programs.functions(depth=1))
def test_every_line_of_compiled_programs_fails_once(text: str) -> None:
    """An error at any operator, forward and backward, with the right results in the call after it."""
    note(text)
    LOG.clear()
    eager = programs.load(text)
    static = d2s.to_static(programs.load(text))

    def run(function: Callable[..., Any] = static) -> Any:
        LOG.clear()
        x, y = (d2s.to_tensor(data, stop_gradient=False) for data in ARGUMENTS[0][:2])
        result = function(x, y, d2s.to_tensor(0.7), d2s.to_tensor(2))
        differentiate([result], 1)
        return plain([result, [x.grad, y.grad], list(LOG)], Names((x, y)))

    try:
        expected = run(eager)
    except Exception:
        # The program itself is at fault.
        assume(False)
    usual = run()
    assert usual == expected
    total = Interrupter("line", ("<d2s program",), 0, ZeroDivisionError)
    assert not interrupted(run, total)
    for k in places(15, total.seen):
        assert interrupted(run, Interrupter("line", ("<d2s program",), k, ZeroDivisionError))
        assert_untouched()
        assert run() == usual, k


def catching() -> Callable[..., Any]:
    """A function whose own handlers catch whatever comes while it is traced."""

    class Careless:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *details: Any) -> bool:
            return True

    def f(z: Any) -> Any:
        y = z
        try:
            y = z * 2
            y = y + 1
        except:  # noqa: E722
            y = z * 100
        finally:
            y = y * 1
        with Careless():
            y = y * 2
        return y

    return d2s.to_static(f)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_that_the_user_catches_is_in_no_program(error: type[BaseException]) -> None:
    total = Interrupter("call", INSIDE, 0, error)
    z = d2s.ones([1])
    interrupted(lambda: catching()(z), total)
    assert total.seen > 100
    for k in places(40, total.seen):
        static = catching()
        interrupted(lambda static=static: static(z), Interrupter("call", INSIDE, k, error))
        assert static(z).item() == 6.0, k


def test_interruptions_that_the_program_raises_itself_are_caught_as_in_eager_mode() -> None:
    def f(z: Any, kind: Any) -> Any:
        try:
            if kind is not None:
                raise kind("mine")
            z = z * 2
        except (KeyboardInterrupt, MemoryError) as error:
            z = z * len(str(error))
        return z

    static = d2s.to_static(f)
    for kind in (None, KeyboardInterrupt, MemoryError, None):
        assert static(d2s.ones([1]), kind).item() == f(d2s.ones([1]), kind).item()
