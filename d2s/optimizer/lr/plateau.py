"""A schedule that looks at what the training achieves."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError, DTypeError, ShapeError
from d2s.optimizer.lr.scheduler import LRScheduler


class ReduceOnPlateau(LRScheduler):
    """Multiply the rate by `factor` when a metric has not become better for more than `patience` steps.

    Parameters
    ----------
    learning_rate : float
        Rate to begin with.
    mode : {"min", "max"}
        What is better.
    factor : float
        Below 1.
    patience : int
        How many steps without improvement are accepted.
    threshold : float
        Smaller changes are no improvement.
    threshold_mode : {"rel", "abs"}
        A share of the best value, or a difference.
    cooldown : int
        Steps after a reduction that do not count.
    min_lr : float
        The rate stays above it.
    epsilon : float
        Smaller reductions are not done.
    verbose : bool
        Print the rate whenever it is reduced.

    Raises
    ------
    ValueError
        If an argument is out of range or another word.
    """

    state_keys = ("cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr")

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if mode not in ("min", "max"):
            raise ArgumentError(f"mode must be 'min' or 'max', got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f"threshold_mode must be 'rel' or 'abs', got {threshold_mode!r}")
        if factor >= 1:
            raise ArgumentError(f"factor must be below 1, got {factor}")
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lr, self.epsilon = cooldown, min_lr, epsilon
        self.cooldown_counter = self.num_bad_epochs = 0
        self.best: float | None = None
        super().__init__(learning_rate, verbose=verbose)

    def get_lr(self) -> float:
        return self.last_lr

    def step(self, metrics: Any = None, epoch: int | None = None) -> None:  # type: ignore[override]
        """Tell the metric of the next epoch, or of `epoch`: a number, or a tensor or array of one element."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.last_epoch == 0 and metrics is None:
            return  # The base class begins epoch 0.
        self._judge(_number(metrics))

    def _judge(self, metric: float) -> None:
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self._is_better(metric):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            reduced = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - reduced > self.epsilon:
                self.last_lr = reduced
                if self.verbose:
                    print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def _is_better(self, metric: float) -> bool:
        if self.best is None:
            return True
        margin = self.threshold * (self.best if self.threshold_mode == "rel" else 1)
        return metric < self.best - margin if self.mode == "min" else metric > self.best + margin


def _number(metric: Any) -> float:
    if isinstance(metric, Tensor | np.ndarray):
        if metric.size != 1:
            raise ShapeError(f"the metric must be one number, got shape {list(metric.shape)}")
        return float(metric.item())
    if isinstance(metric, bool) or not isinstance(metric, int | float | np.number):
        raise DTypeError(f"the metric must be a number, got {type(metric).__name__}")
    return float(metric)
