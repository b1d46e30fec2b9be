"""Stochastic gradient descent, with and without momentum."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

import numpy as np

from d2s.optimizer.groups import Update
from d2s.optimizer.lr import LRScheduler
from d2s.optimizer.optimizer import Optimizer
from d2s.optimizer.pieces import are_large, pieces


class SGD(Optimizer):
    """``parameter -= learning_rate * gradient``; parameters as `Optimizer`, and `multi_precision` is ignored."""

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip)

    def _update(self, update: Update) -> None:
        arrays = update.param.data, update.grad, update.target
        if not are_large(*arrays):
            np.subtract(update.param.data, update.grad * update.rate, out=update.target)
            return
        values, grads, targets = pieces(*arrays)
        scratch = np.empty_like(grads[0])
        changes = map(np.multiply, grads, repeat(update.rate), [scratch[: len(grad)] for grad in grads])
        # In C from the first piece to the last: an interrupt comes before it or after it.
        deque(map(np.subtract, values, changes, targets), maxlen=0)


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
    multi_precision, use_multi_tensor
        Accepted and ignored.
    """

    slots = ("velocity",)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        options = {"momentum": momentum, "use_nesterov": use_nesterov, "rescale_grad": rescale_grad}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, options)

    def _update(self, update: Update) -> None:
        grad, options = update.grad, update.options
        if options["rescale_grad"] != 1.0:
            grad = grad * options["rescale_grad"]
        velocity, momentum = update.slots["velocity"], options["momentum"]
        velocity *= momentum
        velocity += grad
        change = velocity * momentum + grad if options["use_nesterov"] else velocity
        np.subtract(update.param.data, change * update.rate, out=update.target)
