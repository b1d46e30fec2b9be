"""Optimizers that scale each element of a step by its gradients: Adamax, RMSProp, Adagrad, Adadelta, Lamb."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from d2s.errors import ArgumentError
from d2s.optimizer.adam import moment_options, update_moments
from d2s.optimizer.groups import Array, Update
from d2s.optimizer.lr import LRScheduler
from d2s.optimizer.optimizer import Optimizer


def _check_epsilon(epsilon: float) -> None:
    if epsilon < 0:
        raise ArgumentError(f"epsilon must not be negative, got {epsilon}")


def _check_share(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ArgumentError(f"{name} must be in [0, 1), got {value}")


class Adamax(Optimizer):
    """Adam with the greatest gradient in place of the second moment (Kingma and Ba, 2015).

    With ``m = beta1 * m + (1 - beta1) * g``, ``u = max(abs(g), beta2 * u + epsilon)`` and the number of steps t, a
    parameter changes by ``-learning_rate * m / (1 - beta1**t) / u``.  Parameters as `Adam`.
    """

    slots = ("moment", "inf_norm")

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        options = moment_options(beta1, beta2, epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, options)

    def _update(self, update: Update) -> None:
        options, moment, top = update.options, update.slots["moment"], update.slots["inf_norm"]
        moment *= options["beta1"]
        moment += update.grad * (1 - options["beta1"])
        top *= options["beta2"]
        top += options["epsilon"]
        np.maximum(np.abs(update.grad), top, out=top)
        rate = update.rate / (1 - options["beta1"] ** update.step)
        np.subtract(update.param.data, moment / top * rate, out=update.target)


class RMSProp(Optimizer):
    """Gradients divided by the root of their mean square (Hinton, 2012).

    With ``s = rho * s + (1 - rho) * g * g`` and ``v = momentum * v + learning_rate * g / sqrt(s + epsilon)`` a
    parameter changes by ``-v``.

    Parameters
    ----------
    learning_rate, parameters, weight_decay, grad_clip, name
        As `Optimizer`.
    rho : float
        Share of the mean square that is kept in each step, in ``[0, 1)``.
    epsilon : float
        Keeps the divisor from zero.
    momentum : float
        Share of the step that is kept in the next one, in ``[0, 1)``.
    centered : bool
        Divide by the root of the variance: subtract the square of the mean gradient.
    """

    slots: tuple[str, ...] = ("momentum", "mean_square")

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        _check_epsilon(epsilon)
        _check_share("rho", rho)
        _check_share("momentum", momentum)
        if centered:
            self.slots = ("momentum", "mean_square", "mean_grad")
        self._centered = centered
        options = {"rho": rho, "epsilon": epsilon, "momentum": momentum}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, options)

    def _update(self, update: Update) -> None:
        options, slots, grad = update.options, update.slots, update.grad
        velocity, square = slots["momentum"], slots["mean_square"]
        rho = options["rho"]
        square *= rho
        square += grad * grad * (1 - rho)
        spread = square + options["epsilon"]
        if self._centered:
            mean = slots["mean_grad"]
            mean *= rho
            mean += grad * (1 - rho)
            spread -= mean * mean
        velocity *= options["momentum"]
        velocity += grad / np.sqrt(spread) * update.rate
        np.subtract(update.param.data, velocity, out=update.target)


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares so far (Duchi et al., 2011).

    With ``s = s + g * g`` a parameter changes by ``-learning_rate * g / (sqrt(s) + epsilon)``.

    Parameters
    ----------
    learning_rate, parameters, weight_decay, grad_clip, name
        As `Optimizer`.
    epsilon : float
        Keeps the divisor from zero.
    initial_accumulator_value : float
        What the sum begins with.
    """

    slots = ("moment",)

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        epsilon: float = 1e-6,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        _check_epsilon(epsilon)
        options = {"epsilon": epsilon, "initial_accumulator_value": initial_accumulator_value}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, options)

    def _first(self, slot: str, like: Array, options: dict[str, Any]) -> Array:
        return np.full_like(like, options["initial_accumulator_value"])

    def _update(self, update: Update) -> None:
        moment = update.slots["moment"]
        moment += update.grad * update.grad
        change = update.grad / (np.sqrt(moment) + update.options["epsilon"]) * update.rate
        np.subtract(update.param.data, change, out=update.target)


class Adadelta(Optimizer):
    """Steps in proportion to the size of the steps before (Zeiler, 2012).

    With ``s = rho * s + (1 - rho) * g * g`` the step is ``d = sqrt((u + epsilon) / (s + epsilon)) * g``; then
    ``u = rho * u + (1 - rho) * d * d``, and a parameter changes by ``-learning_rate * d``.

    Parameters
    ----------
    learning_rate, parameters, weight_decay, grad_clip, name
        As `Optimizer`.
    epsilon : float
        Begins the steps, and keeps the divisor from zero.
    rho : float
        Share of the mean squares that is kept in each step, in ``[0, 1)``.
    """

    slots = ("avg_squared_grad", "avg_squared_update")

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        _check_epsilon(epsilon)
        _check_share("rho", rho)
        options = {"epsilon": epsilon, "rho": rho}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, options)

    def _update(self, update: Update) -> None:
        rho, epsilon, grad = update.options["rho"], update.options["epsilon"], update.grad
        squares, steps = update.slots["avg_squared_grad"], update.slots["avg_squared_update"]
        squares *= rho
        squares += grad * grad * (1 - rho)
        change = np.sqrt((steps + epsilon) / (squares + epsilon)) * grad
        steps *= rho
        steps += change * change * (1 - rho)
        np.subtract(update.param.data, change * update.rate, out=update.target)


class Lamb(Optimizer):
    """Adam's steps, made as long as a share of each parameter's norm (You et al., 2020).

    With Adam's corrected moments m and v, ``d = m / (sqrt(v) + epsilon) + lamb_weight_decay * parameter``, and a
    parameter changes by ``-learning_rate * norm(parameter) / norm(d) * d``; where a norm is 0, the ratio is 1.

    Parameters
    ----------
    learning_rate, parameters, grad_clip, name
        As `Optimizer`.
    lamb_weight_decay : float
        Strength of the decay.
    beta1, beta2, epsilon
        As `Adam`.
    exclude_from_weight_decay_fn : callable, optional
        Says, for a parameter, whether it does not decay.
    multi_precision : bool
        Accepted and ignored.
    always_adapt : bool
        Use the ratio of the norms also for parameters that do not decay.
    """

    slots = ("moment1", "moment2")

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameters: Iterable[Any] | None = None,
        grad_clip: Callable[..., Any] | None = None,
        exclude_from_weight_decay_fn: Callable[[Any], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        options = {**moment_options(beta1, beta2, epsilon), "lamb_weight_decay": lamb_weight_decay}
        super().__init__(learning_rate, parameters, None, grad_clip, name, options)
        self._excluded, self._always_adapt = exclude_from_weight_decay_fn, always_adapt

    def _update(self, update: Update) -> None:
        options, values = update.options, update.param.data
        change = update_moments(update)
        np.divide(update.slots["moment2"], 1 - options["beta2"] ** update.step, out=change)
        np.sqrt(change, out=change)
        change += options["epsilon"]
        np.divide(update.slots["moment1"], change, out=change)
        change /= 1 - options["beta1"] ** update.step
        decay = options["lamb_weight_decay"]
        if self._excluded is not None and self._excluded(update.param):
            decay = 0.0
        if decay:
            change += values * decay
        ratio = 1.0
        if decay or self._always_adapt:
            own, step = _norm(values), _norm(change)
            ratio = own / step if own and step else 1.0
        np.subtract(values, change * (update.rate * ratio), out=update.target)


def _norm(values: Array) -> float:
    wide = values.astype(np.float64, copy=False).ravel()
    return math.sqrt(float(wide @ wide))
