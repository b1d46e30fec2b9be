"""Schedules that go up and down."""

from __future__ import annotations

import math
from collections.abc import Callable

from d2s.errors import ArgumentError
from d2s.optimizer.lr.scheduler import LRScheduler
from d2s.words import counted


class CosineAnnealingWarmRestarts(LRScheduler):
    """From `learning_rate` down to `eta_min` on half a cosine, again and again (Loshchilov and Hutter, 2017).

    Parameters
    ----------
    learning_rate, eta_min : float
        Greatest and least rate.
    T_0 : int
        Length of the first descent.
    T_mult : int
        Each descent is longer than the one before by this factor.
    last_epoch, verbose
        As `LRScheduler`.
    """

    def __init__(
        self,
        learning_rate: float,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ArgumentError(f"{name} must be a positive integer, got {value!r}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        place, length = self.last_epoch, self.T_0
        if self.T_mult == 1:
            place %= length
        while place >= length:
            place, length = place - length, length * self.T_mult
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * place / length)) / 2


class CyclicLR(LRScheduler):
    """On lines between two rates, up and down (Smith, 2017).

    Parameters
    ----------
    base_learning_rate, max_learning_rate : float
        Least and greatest rate.
    step_size_up, step_size_down : int
        Epochs of a way up and of a way down, which are as many by default.
    mode : {"triangular", "triangular2", "exp_range"}
        How high the cycles are: all the same; each half as high as the one before; ``exp_gamma ** epoch``.
    exp_gamma : float
        Of the mode "exp_range".
    scale_fn : callable, optional
        Gives the factor on the height, in place of `mode`.
    scale_mode : {"cycle", "iterations"}
        What `scale_fn` is called with: the number of the cycle, from 1, or the epoch.
    last_epoch, verbose
        As `LRScheduler`.

    Raises
    ------
    ValueError
        If an argument is out of range or another word.
    """

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if max_learning_rate < 0:
            raise ArgumentError(f"max_learning_rate must not be negative, got {max_learning_rate}")
        step_size_down = step_size_up if step_size_down is None else step_size_down
        if step_size_up < 1 or step_size_down < 1:
            raise ArgumentError(f"the step sizes must be at least 1, got {step_size_up} and {step_size_down}")
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ArgumentError(f"mode must be 'triangular', 'triangular2' or 'exp_range', got {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ArgumentError(f"scale_mode must be 'cycle' or 'iterations', got {scale_mode!r}")
        self.max_lr, self.step_size_up, self.step_size_down = float(max_learning_rate), step_size_up, step_size_down
        self.mode, self.exp_gamma, self.scale_fn, self.scale_mode = mode, exp_gamma, scale_fn, scale_mode
        super().__init__(base_learning_rate, last_epoch, verbose)

    def _scale(self, cycle: int) -> float:
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "exp_range":
            return float(self.exp_gamma**self.last_epoch)
        return 1.0 if self.mode == "triangular" else 2.0 ** (1 - cycle)

    def get_lr(self) -> float:
        cycle, place = divmod(self.last_epoch, self.step_size_up + self.step_size_down)
        if place <= self.step_size_up:
            height = place / self.step_size_up
        else:
            height = 1 - (place - self.step_size_up) / self.step_size_down
        return self.base_lr + (self.max_lr - self.base_lr) * height * self._scale(cycle + 1)


class OneCycleLR(LRScheduler):
    """Once up and down (Smith and Topin, 2019).

    Parameters
    ----------
    max_learning_rate : float
        The greatest rate.
    total_steps : int
        Steps of the whole; more are an error.
    divide_factor : float
        The first rate is the greatest one divided by it.
    end_learning_rate : float
        The last rate.
    phase_pct : float
        Share of the steps in which the rate goes up.
    anneal_strategy : {"cos", "linear"}
        Along half a cosine, or a line.
    three_phase : bool
        Down to the first rate in as many steps as up, and to the last rate then.
    last_epoch, verbose
        As `LRScheduler`.

    Raises
    ------
    ValueError
        If an argument is out of range or another word, or after `total_steps` steps.
    """

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if max_learning_rate < 0 or end_learning_rate < 0:
            raise ArgumentError(f"rates must not be negative, got {max_learning_rate} and {end_learning_rate}")
        if not isinstance(total_steps, int) or total_steps < 1:
            raise ArgumentError(f"total_steps must be a positive integer, got {total_steps!r}")
        if not 0 <= phase_pct <= 1 or (three_phase and phase_pct >= 0.5):
            raise ArgumentError(f"phase_pct must be in [0, 1], and below 0.5 with three phases, got {phase_pct}")
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f"anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        self.total_steps, self.anneal_strategy = total_steps, anneal_strategy
        first, top, last = max_learning_rate / divide_factor, float(max_learning_rate), float(end_learning_rate)
        up, end = phase_pct * total_steps - 1, total_steps - 1
        # Steps at which a phase ends, and the rate then.
        self.phases = [(up, top), (2 * up, first), (end, last)] if three_phase else [(up, top), (end, last)]
        super().__init__(first, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch > self.total_steps:
            raise ArgumentError(
                f"OneCycleLR was made for {counted(self.total_steps, 'step')}, and this is step {self.last_epoch}")
        begin, rate = 0.0, self.base_lr
        for end, target in self.phases:
            if self.last_epoch <= end or end == self.phases[-1][0]:
                part = (self.last_epoch - begin) / (end - begin)
                if self.anneal_strategy == "linear":
                    return rate + (target - rate) * part
                return target + (rate - target) * (math.cos(math.pi * part) + 1) / 2
            begin, rate = end, target
        raise AssertionError("the last phase has returned")
