"""Schedules that are a formula of the epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from d2s.errors import ArgumentError, DTypeError
from d2s.optimizer.lr.scheduler import LRScheduler
from d2s.words import counted


def _callable(function: Callable[[int], float]) -> Callable[[int], float]:
    if not callable(function):
        raise DTypeError(f"lr_lambda must be callable, got {type(function).__name__}")
    return function


def _above(value: float, name: str, least: float = 0) -> None:
    if not value > least:
        raise ArgumentError(f"{name} must be above {least}, got {value}")


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


class MultiStepDecay(LRScheduler):
    """``learning_rate * gamma ** n``, with n the number of `milestones` that are reached.

    Raises
    ------
    ValueError
        If the milestones do not increase, or `gamma` is not below 1.
    """

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if any(one >= other for one, other in pairwise(milestones)):
            raise ArgumentError(f"milestones must increase, got {list(milestones)}")
        if gamma >= 1:
            raise ArgumentError(f"gamma must be below 1, got {gamma}")
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * float(self.gamma ** bisect_right(self.milestones, self.last_epoch))


class PiecewiseDecay(LRScheduler):
    """``values[n]``, with n the number of `boundaries` that are reached.

    Raises
    ------
    ValueError
        If there are no boundaries, or not one value more than boundaries.
    """

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not boundaries or len(values) != len(boundaries) + 1:
            raise ArgumentError(
                f"{counted(len(boundaries), 'boundary needs', 'boundaries need')} "
                f"{counted(len(boundaries) + 1, 'value')}, got {len(values)}")
        self.boundaries, self.values = list(boundaries), list(values)
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self) -> float:
        return float(self.values[bisect_right(self.boundaries, self.last_epoch)])


class ExponentialDecay(LRScheduler):
    """``learning_rate * gamma ** epoch``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * float(self.gamma**self.last_epoch)


class NaturalExpDecay(LRScheduler):
    """``learning_rate * exp(-gamma * epoch)``; `gamma` is positive."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        _above(gamma, "gamma")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """``learning_rate / (1 + gamma * epoch)``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """``end_lr + (learning_rate - end_lr) * (1 - epoch / decay_steps) ** power``.

    Parameters
    ----------
    learning_rate, end_lr : float
        Rates at the begin and from epoch `decay_steps` on.
    decay_steps : int
    power : float
    cycle : bool
        Whenever `end_lr` is reached, go on with as many more steps instead.
    last_epoch, verbose
        As `LRScheduler`.
    """

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _above(decay_steps, "decay_steps")
        _above(power, "power")
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        steps = self.decay_steps
        if self.cycle:
            steps *= max(1, math.ceil(self.last_epoch / steps))
        left = 1 - min(self.last_epoch, steps) / steps
        return float((self.base_lr - self.end_lr) * left**self.power + self.end_lr)


class NoamDecay(LRScheduler):
    """``learning_rate * d_model ** -0.5 * min(epoch ** -0.5, epoch * warmup_steps ** -1.5)`` (Vaswani et al., 2017)."""

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        learning_rate: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _above(d_model, "d_model")
        _above(warmup_steps, "warmup_steps")
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        rise = self.last_epoch * self.warmup_steps**-1.5
        fall = self.last_epoch**-0.5 if self.last_epoch else 1.0
        return float(self.base_lr * self.d_model**-0.5 * min(rise, fall))


class CosineAnnealingDecay(LRScheduler):
    """``eta_min + (learning_rate - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``: down to `eta_min` and up again."""

    def __init__(
        self,
        learning_rate: float,
        T_max: int,
        eta_min: float = 0,
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
        self.lr_lambda = _callable(lr_lambda)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """``learning_rate`` times ``lr_lambda(n)`` for each n from 1 to the epoch."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.lr_lambda = _callable(lr_lambda)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * math.prod(self.lr_lambda(epoch) for epoch in range(1, self.last_epoch + 1))
