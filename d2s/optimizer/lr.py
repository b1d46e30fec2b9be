"""Schedules of the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from d2s.errors import ArgumentError, DTypeError

__all__ = [
    "CosineAnnealingDecay",
    "ExponentialDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearWarmup",
    "StepDecay",
]


class LRScheduler:
    """Base of the schedules: subclasses give the learning rate of epoch `last_epoch` in `get_lr`.

    Parameters
    ----------
    learning_rate : float
        Rate to begin with, not negative.
    last_epoch : int
        Epoch before the first one; -1 starts at epoch 0.
    verbose : bool
        Print the rate whenever it is set.

    Attributes
    ----------
    base_lr : float
        The rate to begin with.
    last_lr : float
        The rate of epoch `last_epoch`.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, int | float):
            raise DTypeError(f"the learning rate must be a number, got {type(learning_rate).__name__}")
        if learning_rate < 0:
            raise ArgumentError(f"the learning rate must not be negative, got {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = self.base_lr
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """The learning rate now."""
        return self.last_lr

    def get_lr(self) -> float:
        """The learning rate of epoch `last_epoch`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to `epoch`."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def state_dict(self) -> dict[str, Any]:
        """Where the schedule is: ``last_epoch`` and ``last_lr``."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go where another schedule of the same kind was.

        Raises
        ------
        KeyError
            If the state is not complete.
        """
        last_epoch, last_lr = state_dict["last_epoch"], state_dict["last_lr"]
        self.last_epoch, self.last_lr = int(last_epoch), float(last_lr)


class StepDecay(LRScheduler):
    """``learning_rate * gamma ** (epoch // step_size)``."""

    def __init__(
        self,
        learning_rate: float,
        step_size: int,
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if step_size < 1:
            raise ArgumentError(f"step_size must be at least 1, got {step_size}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * float(self.gamma ** (self.last_epoch // self.step_size))


class ExponentialDecay(LRScheduler):
    """``learning_rate * gamma ** epoch``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * float(self.gamma**self.last_epoch)


class CosineAnnealingDecay(LRScheduler):
    """``eta_min + (learning_rate - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``: down to `eta_min` and up again."""

    def __init__(
        self,
        learning_rate: float,
        T_max: int,
        eta_min: float = 0.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if T_max < 1:
            raise ArgumentError(f"T_max must be at least 1, got {T_max}")
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class LambdaDecay(LRScheduler):
    """``learning_rate * lr_lambda(epoch)``."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not callable(lr_lambda):
            raise DTypeError(f"lr_lambda must be callable, got {type(lr_lambda).__name__}")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.last_epoch)


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
