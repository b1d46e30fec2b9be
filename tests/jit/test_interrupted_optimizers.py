"""`step()` interrupted at any moment: each parameter has its old or its new values, and training goes on rightly."""

from __future__ import annotations

import copy
import os
import signal
import sys
from typing import Any

import numpy as np
import pytest

import d2s
from tests.jit.test_interrupts import INSIDE, Interrupter, assert_untouched, interrupted, places

ARRAY = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
OPTIMIZERS = {
    "sgd": lambda p: d2s.optimizer.SGD(0.1, parameters=p),
    "momentum": lambda p: d2s.optimizer.Momentum(0.1, parameters=p),
    "adam": lambda p: d2s.optimizer.Adam(0.1, parameters=p),
    "adamw with clipping": lambda p: d2s.optimizer.AdamW(
        0.1, parameters=p, weight_decay=0.1, grad_clip=d2s.nn.ClipGradByGlobalNorm(0.5)),
}


class Training:
    """Three layers and an optimizer; the whole step is one function, which may be static."""

    def __init__(self, make: Any, is_static: bool) -> None:
        d2s.seed(0)
        self.net = d2s.nn.Sequential(*(d2s.nn.Linear(3, 3) for _ in range(3)))
        self.optimizer = make(self.net.parameters())

        def step(x: Any) -> Any:
            loss = (self.net(x) ** 2).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            return loss

        self.call = d2s.to_static(step) if is_static else step

    def step(self) -> float:
        loss: float = self.call(d2s.to_tensor(ARRAY)).item()
        return loss

    def values(self) -> list[bytes]:
        return [parameter.numpy().tobytes() for parameter in self.net.parameters()]

    def state(self) -> tuple[Any, Any]:
        return copy.deepcopy(self.net.state_dict()), copy.deepcopy(self.optimizer.state_dict())

    def restore(self, state: tuple[Any, Any]) -> None:
        self.net.set_state_dict(state[0])
        self.optimizer.set_state_dict(state[1])
        self.optimizer.clear_grad(False)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("is_static", [False, True], ids=["eager", "static"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_done_for_a_parameter_or_not(name: str, is_static: bool, error: type[BaseException]) -> None:
    training = Training(OPTIMIZERS[name], is_static)
    for _ in range(2):
        training.step()
    state, old = training.state(), training.values()
    counted = Interrupter("call", INSIDE, 0, error)
    assert not interrupted(training.step, counted)
    new = training.values()
    assert all(before != after for before, after in zip(old, new, strict=True))
    usual = [training.step() for _ in range(2)], training.values()
    kept = 0
    for k in places(14, counted.seen):
        training.restore(state)
        kept += interrupted(training.step, Interrupter("call", INSIDE, k, error))
        assert_untouched()
        for value, before, after in zip(training.values(), old, new, strict=True):
            assert value in (before, after), k
        training.restore(state)
        training.step()
        assert ([training.step() for _ in range(2)], training.values()) == usual, k
    # SGD in eager mode calls hardly more functions of d2s.
    assert kept >= 8
    assert sys.gettrace() is None


def test_an_error_in_the_middle_leaves_the_same_in_both_modes() -> None:
    """A gradient hook of the third parameter raises: gradients and parameters are those that eager mode leaves."""
    outcomes = []
    for is_static in (False, True):
        training = Training(OPTIMIZERS["adam"], is_static)
        training.step()

        def fails(g: Any) -> Any:
            raise ZeroDivisionError("in a hook")

        handle = training.net[1].weight.register_hook(fails)
        with pytest.raises(ZeroDivisionError, match="in a hook"):
            training.step()
        grads = [None if p.grad is None else p.grad.numpy().tobytes() for p in training.net.parameters()]
        handle.remove()
        training.optimizer.clear_grad()
        outcomes.append((grads, training.step(), training.values()))
    assert outcomes[0] == outcomes[1]


def test_training_goes_on_after_a_worker_was_killed() -> None:
    """The loader tells of it between two steps; the static step, and the next loader, work as before."""
    class Rows(d2s.io.Dataset):
        def __init__(self, deadly: bool) -> None:
            self.deadly = deadly

        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            if self.deadly and index == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            return ARRAY[index % 2]

    outcomes = []
    for is_static in (False, True):
        training = Training(OPTIMIZERS["momentum"], is_static)
        losses = []
        for deadly in (True, False):
            batches = d2s.io.DataLoader(Rows(deadly), batch_size=2, num_workers=1)
            try:
                for batch in batches:
                    losses.append(training.call(batch).item())
            except RuntimeError as died:
                losses.append("ended unexpectedly" in str(died))
        assert_untouched()
        outcomes.append((losses, training.values()))
    assert outcomes[0] == outcomes[1]
    assert True in outcomes[0][0]
