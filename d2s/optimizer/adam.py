"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from d2s.errors import ArgumentError
from d2s.optimizer.groups import Array, Update
from d2s.optimizer.lr import LRScheduler
from d2s.optimizer.optimizer import Optimizer


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
    amsgrad : bool
        Divide by the greatest second moment so far (Reddi et al., 2018).
    lazy_mode, multi_precision, use_multi_tensor
        Accepted and ignored.

    Raises
    ------
    ValueError
        If `beta1`, `beta2` or `epsilon` is out of range.
    """

    slots: tuple[str, ...] = ("moment1", "moment2")

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        options = moment_options(beta1, beta2, epsilon)
        if amsgrad:
            self.slots = ("moment1", "moment2", "moment2_max")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, options)

    def _update(self, update: Update) -> None:
        np.subtract(update.param.data, self._change(update), out=update.target)

    def _change(self, update: Update, factor: float = 1.0) -> Array:
        """What to subtract from the parameter, with a factor on the rate, in a new array."""
        slots, options, step = update.slots, update.options, update.step
        beta1, beta2 = options["beta1"], options["beta2"]
        scratch = update_moments(update)
        second = slots["moment2"]
        if "moment2_max" in slots:
            second = np.maximum(slots["moment2_max"], second, out=slots["moment2_max"])
        # The bias corrections go into the two scalars, which saves two passes over the arrays.
        correction = math.sqrt(1 - beta2**step)
        np.sqrt(second, out=scratch)
        scratch += options["epsilon"] * correction
        np.divide(slots["moment1"], scratch, out=scratch)
        scratch *= update.rate * factor * correction / (1 - beta1**step)
        return scratch


def moment_options(beta1: float, beta2: float, epsilon: float) -> dict[str, Any]:
    """The options of optimizers with moments; errors as `Adam`."""
    for label, beta in (("beta1", beta1), ("beta2", beta2)):
        if not 0 <= beta < 1:
            raise ArgumentError(f"{label} must be in [0, 1), got {beta}")
    if epsilon < 0:
        raise ArgumentError(f"epsilon must not be negative, got {epsilon}")
    return {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}


def update_moments(update: Update) -> Array:
    """Move the slots moment1 and moment2 on by a gradient; gives an array of their shape to work in."""
    first, second = update.slots["moment1"], update.slots["moment2"]
    beta1, beta2 = update.options["beta1"], update.options["beta2"]
    scratch = np.empty_like(first)
    np.multiply(update.grad, 1 - beta1, out=scratch)
    first *= beta1
    first += scratch
    np.multiply(update.grad, update.grad, out=scratch)
    scratch *= 1 - beta2
    second *= beta2
    second += scratch
    return scratch


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    Before each step a parameter is scaled by ``1 - learning_rate * weight_decay``; the moments do not see it.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon, parameters, grad_clip, lazy_mode, multi_precision, amsgrad, name
        As `Adam`.
    weight_decay : float
        Strength of the decay.
    use_lowprecision_moment : bool
        Accepted and ignored.
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
        use_lowprecision_moment: bool = False,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Callable[..., Any] | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip, amsgrad=amsgrad)
        self._lr_ratio = lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun
        # The decay is no part of the gradient here.
        self._groups = [
            replace(
                group,
                weight_decay=None,
                options={**group.options, "decay": group.weight_decay.coeff if group.weight_decay else 0.0},
            )
            for group in self._groups
        ]

    def _update(self, update: Update) -> None:
        factor = 1.0 if self._lr_ratio is None else self._lr_ratio(update.param)
        change = self._change(update, factor)
        if self._apply_decay_param_fun is None or self._apply_decay_param_fun(update.param.name):
            kept = 1 - update.rate * factor * update.options["decay"]
            np.multiply(update.param.data, kept, out=update.target)
            np.subtract(update.target, change, out=update.target)
        else:
            np.subtract(update.param.data, change, out=update.target)
