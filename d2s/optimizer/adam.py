"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError
from d2s.optimizer.lr import LRScheduler
from d2s.optimizer.optimizer import Array, Optimizer


class Adam(Optimizer):
    """Steps scaled by running moments of the gradient (Kingma and Ba, 2015).

    With ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g * g`` and the number of steps t, a
    parameter changes by ``-learning_rate * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + epsilon)``.

    Parameters
    ----------
    learning_rate, parameters, weight_decay, grad_clip, name
        As `Optimizer`.
    beta1, beta2 : float
        Share of the first and second moment that is kept in each step, in ``[0, 1)``.
    epsilon : float
        Keeps the divisor from zero.
    lazy_mode : bool
        Accepted and ignored: gradients are dense.

    Raises
    ------
    ValueError
        If `beta1`, `beta2` or `epsilon` is out of range.
    """

    slots = ("moment1", "moment2")

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: float | None = None,
        grad_clip: Callable[..., Any] | None = None,
        lazy_mode: bool = False,
        name: str | None = None,
    ) -> None:
        for label, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= beta < 1:
                raise ArgumentError(f"{label} must be in [0, 1), got {beta}")
        if epsilon < 0:
            raise ArgumentError(f"epsilon must not be negative, got {epsilon}")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon

    def _update(
        self, param: Tensor, target: Array, grad: Array, rate: float, slots: dict[str, Array], step: int
    ) -> None:
        np.subtract(param.data, self._change(grad, rate, slots, step), out=target)

    def _change(self, grad: Array, rate: float, slots: dict[str, Array], step: int) -> Array:
        """What to subtract from the parameter, in a new array."""
        first, second = slots["moment1"], slots["moment2"]
        scratch = np.empty_like(first)
        np.multiply(grad, 1 - self._beta1, out=scratch)
        first *= self._beta1
        first += scratch
        np.multiply(grad, grad, out=scratch)
        scratch *= 1 - self._beta2
        second *= self._beta2
        second += scratch
        # The bias corrections go into the two scalars, which saves two passes over the arrays.
        correction = math.sqrt(1 - self._beta2**step)
        np.sqrt(second, out=scratch)
        scratch += self._epsilon * correction
        np.divide(first, scratch, out=scratch)
        scratch *= rate * correction / (1 - self._beta1**step)
        return scratch


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    Before each step a parameter is scaled by ``1 - learning_rate * weight_decay``; the moments do not see it.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon, parameters, grad_clip, lazy_mode, name
        As `Adam`.
    weight_decay : float
        Strength of the decay.
    lr_ratio : callable, optional
        Gives, for a parameter, a factor on its learning rate.
    apply_decay_param_fun : callable, optional
        Says, for the name of a parameter, whether it decays.
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: float = 0.01,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Callable[..., Any] | None = None,
        lazy_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip, lazy_mode, name)
        self._decay = weight_decay
        self._lr_ratio = lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun

    def _update(
        self, param: Tensor, target: Array, grad: Array, rate: float, slots: dict[str, Array], step: int
    ) -> None:
        if self._lr_ratio is not None:
            rate *= self._lr_ratio(param)
        change = self._change(grad, rate, slots, step)
        if self._apply_decay_param_fun is None or self._apply_decay_param_fun(param.name):
            np.multiply(param.data, 1 - rate * self._decay, out=target)
            np.subtract(target, change, out=target)
        else:
            np.subtract(param.data, change, out=target)
