"""Stochastic gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor
from d2s.optimizer.lr import LRScheduler
from d2s.optimizer.optimizer import Array, Optimizer


class SGD(Optimizer):
    """``parameter -= learning_rate * gradient``; parameters as `Optimizer`."""

    def _update(
        self, param: Tensor, target: Array, grad: Array, rate: float, slots: dict[str, Array], step: int
    ) -> None:
        np.subtract(param.data, grad * rate, out=target)


class Momentum(Optimizer):
    """Gradient descent with a velocity.

    ``velocity = momentum * velocity + gradient``, then ``parameter -= learning_rate * velocity`` or, with
    `use_nesterov`, ``parameter -= learning_rate * (gradient + momentum * velocity)``.

    Parameters
    ----------
    learning_rate, parameters, weight_decay, grad_clip, name
        As `Optimizer`.
    momentum : float
        Share of the velocity that is kept in each step.
    use_nesterov : bool
        Look ahead along the velocity.
    rescale_grad : float
        Factor on every gradient.
    """

    slots = ("velocity",)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: float | None = None,
        grad_clip: Callable[..., Any] | None = None,
        rescale_grad: float = 1.0,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum = momentum
        self._use_nesterov = use_nesterov
        self._rescale_grad = rescale_grad

    def _update(
        self, param: Tensor, target: Array, grad: Array, rate: float, slots: dict[str, Array], step: int
    ) -> None:
        if self._rescale_grad != 1.0:
            grad = grad * self._rescale_grad
        velocity = slots["velocity"]
        velocity *= self._momentum
        velocity += grad
        change = velocity * self._momentum + grad if self._use_nesterov else velocity
        np.subtract(param.data, change * rate, out=target)
