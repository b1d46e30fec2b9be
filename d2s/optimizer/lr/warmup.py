"""Schedules that begin low."""

from __future__ import annotations

from typing import Any

from d2s.errors import ArgumentError
from d2s.optimizer.lr.scheduler import LRScheduler


class LinearWarmup(LRScheduler):
    """From `start_lr` to `end_lr` on a line in `warmup_steps` epochs, then `learning_rate`.

    Parameters
    ----------
    learning_rate : float or LRScheduler
        Rate after the warm-up; a schedule begins with its epoch 0 there.
    warmup_steps : int
        Length of the warm-up.
    start_lr, end_lr : float
        Rates at its begin and end.
    last_epoch, verbose
        As `LRScheduler`.
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if warmup_steps < 1:
            raise ArgumentError(f"warmup_steps must be at least 1, got {warmup_steps}")
        if end_lr <= start_lr:
            raise ArgumentError(f"end_lr must be above start_lr, got {end_lr} and {start_lr}")
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.start_lr, self.end_lr = start_lr, end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return float(self.learning_rate)

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])


class LinearLR(LRScheduler):
    """``learning_rate`` times a factor that goes from `start_factor` to `end_factor` on a line.

    Parameters
    ----------
    learning_rate : float
    total_steps : int
        From this epoch on the factor is `end_factor`.
    start_factor : float
        In ``(0, 1]``.
    end_factor : float
        In ``[0, 1]``.
    last_epoch, verbose
        As `LRScheduler`.
    """

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ArgumentError(f"start_factor must be in (0, 1], got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ArgumentError(f"end_factor must be in [0, 1], got {end_factor}")
        if total_steps < 1:
            raise ArgumentError(f"total_steps must be at least 1, got {total_steps}")
        self.total_steps, self.start_factor, self.end_factor = total_steps, start_factor, end_factor
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        part = min(self.last_epoch, self.total_steps) / self.total_steps
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)
