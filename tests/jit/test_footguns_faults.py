"""Exceptions anywhere - tracing, forward, hooks, backward - leave everything usable; threads and forked workers."""

from __future__ import annotations

import multiprocessing
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.core.interpreter import state
from tests.footguns.things import Box, x


class Countdown:
    """Raises at the k-th step."""

    def __init__(self) -> None:
        self.left = -1
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("at this step")


def branching(countdown: Countdown, log: list[Any]) -> Callable[..., Any]:
    step = d2s.jit.not_to_static(countdown.step)

    def f(z, k):
        log.append("begin")
        step()
        if z.sum() > k:
            step()
            y = z * 2
            y.register_hook(lambda g: step() or g + 1)
        else:
            y = z * 3
        step()
        log.append("end")
        return y * y

    return f


def looping(countdown: Countdown, log: list[Any]) -> Callable[..., Any]:
    step = d2s.jit.not_to_static(countdown.step)

    def f(z, n):
        y = z * 1
        for i in range(n):
            step()
            y = y * 1.5
            y.register_hook(lambda g, i=i: step() or log.append(i))
        return y * y

    return f


def layered(countdown: Countdown, log: list[Any]) -> Callable[..., Any]:
    step = d2s.jit.not_to_static(countdown.step)
    net = d2s.nn.Linear(3, 3)
    net.weight.set_value(np.eye(3))

    def before(layer, inputs):
        step()

    net.register_forward_pre_hook(before)
    net.weight.register_hook(lambda g: step() or g * 2)

    def f(z, k):
        with d2s.no_grad():
            step()
            scale = z * k
        return net(z) * scale

    return f


PROGRAMS = {
    "branching": (branching, lambda: (x(), d2s.to_tensor(0.0))),
    "looping": (looping, lambda: (x(), d2s.to_tensor(2))),
    "layered": (layered, lambda: (x(), d2s.to_tensor(2.0))),
}


def _observed(function: Callable[..., Any], args: tuple[Any, ...], log: list[Any]) -> tuple[Any, ...]:
    log.clear()
    try:
        result = function(*args)
        result.sum().backward()
        shown: Any = result.tolist()
    except RuntimeError as error:
        shown = str(error)
    grad = args[0].grad
    return shown, None if grad is None else grad.tolist(), list(log)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("warm", [False, True], ids=["first call", "later call"])
def test_an_exception_at_any_step_leaves_everything_usable(name: str, warm: bool) -> None:
    make, arguments = PROGRAMS[name]
    counting, log = Countdown(), []
    usual = _observed(make(counting, log), arguments(), log)
    assert counting.steps >= 3
    for k in range(1, counting.steps + 1):
        seen = []
        for convert in (lambda function: function, d2s.to_static):
            countdown, log = Countdown(), []
            function = convert(make(countdown, log))
            if warm:
                assert _observed(function, arguments(), log) == usual
            countdown.left = k
            failed = _observed(function, arguments(), log)
            assert failed[0] == "at this step" or name == "looping"
            countdown.left = -1
            assert _observed(function, arguments(), log) == usual
            seen.append(failed)
            assert state.current is state.stack[0]
            assert state.grad_enabled
        assert seen[0] == seen[1], f"step {k}"


def test_an_error_while_tracing_leaves_no_program_and_no_state() -> None:
    kept: list[Any] = []

    @d2s.to_static
    def f(z, fail):
        with d2s.no_grad():
            kept.append(1)
            if fail:
                raise ValueError("no")
        return z * 2

    with pytest.raises(ValueError, match="no"):
        f(x(), True)
    assert kept == [1]
    assert f(x(), False).stop_gradient is False
    assert kept == [1, 1]


def test_keyboard_interrupt_while_tracing() -> None:
    class Interrupting:
        def __index__(self) -> int:
            raise KeyboardInterrupt

    box = Box(k=Interrupting())

    @d2s.to_static
    def f(z):
        return z.reshape([box.k, 1])

    with pytest.raises(KeyboardInterrupt):
        f(x())
    assert state.current is state.stack[0]
    box.k = 3
    assert f(x()).shape == [3, 1]


def test_threads_that_retrace_one_function() -> None:
    box = Box(shift=0.5)

    def original(z, k, scale):
        y = z * scale + box.shift
        y.register_hook(lambda g: g * k + 1)
        return (y * y if y.sum() > 0 else y * 3).sum()

    static = d2s.to_static(original)
    calls = [(size, k) for size in range(1, 6) for k in (1, 2, 3, 4, 5)]
    expected = {}
    for size, k in calls:
        one = d2s.to_tensor(np.arange(size) - 1.0, stop_gradient=False)
        result = original(one, k, 2.0)
        result.backward()
        expected[size, k] = result.item(), one.grad.tolist()
    wrong: list[Any] = []

    def work(seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(calls) * 10) % len(calls)
        try:
            for index in order:
                size, k = calls[index]
                one = d2s.to_tensor(np.arange(size) - 1.0, stop_gradient=False)
                result = static(one, k, 2.0)
                result.backward()
                if (result.item(), one.grad.tolist()) != expected[size, k]:
                    wrong.append((size, k, result.item()))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong, wrong[:3]


@d2s.to_static
def _in_a_worker(z, k):
    y = z * k
    y.register_hook(lambda g: g + 1)
    return y.sum()


def _work(queue: Any) -> None:
    one = x()
    for k in (2.0, 3.0):
        _in_a_worker(one, k).backward()
    queue.put(one.grad.tolist())


def test_a_forked_worker_uses_and_extends_the_programs() -> None:
    _in_a_worker(x(), 2.0).backward()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_work, args=(queue,))
    process.start()
    found = queue.get(timeout=30)
    process.join(30)
    assert process.exitcode == 0
    one = x()
    for k in (2.0, 3.0):
        _in_a_worker(one, k).backward()
    assert found == one.grad.tolist()


def test_a_process_forked_while_another_thread_traces() -> None:
    """The child does not wait for a thread that is not there."""
    static = d2s.to_static(lambda z: z * 2 + 1)
    traces, forked = threading.Event(), threading.Event()

    def trace() -> None:
        with static._lock:
            traces.set()
            forked.wait(30)

    thread = threading.Thread(target=trace)
    thread.start()
    try:
        assert traces.wait(30)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=lambda: queue.put(static(d2s.ones([1])).tolist()))
        with warnings.catch_warnings():
            # Python warns of forks with threads: that is what is tried here.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        assert queue.get(timeout=30) == [3.0]
        process.join(30)
        assert process.exitcode == 0
    finally:
        forked.set()
        thread.join(30)
