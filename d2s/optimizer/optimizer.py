"""What all optimizers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor
from d2s.eager.views import write_data
from d2s.errors import ArgumentError, DTypeError, ShapeError
from d2s.optimizer.lr import LRScheduler
from d2s.optimizer.writing import target_of

Array = np.ndarray[Any, Any]


class Optimizer:
    """Base of the optimizers: subclasses say in `_update` how one parameter changes.

    Parameters
    ----------
    learning_rate : float or LRScheduler
        Step size.
    parameters : iterable of Parameter
        What to change.
    weight_decay : float, optional
        Adds ``weight_decay * parameter`` to every gradient, after clipping (L2 regularisation).
    grad_clip : ClipGradByValue, ClipGradByNorm or ClipGradByGlobalNorm, optional
        Applied to the gradients before each step; `.grad` itself stays as it is.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If the learning rate or a parameter is of another kind.
    ValueError
        If there are no parameters.
    """

    # Names of the arrays of the shape of the parameter that this optimizer keeps for each one.
    slots: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: float | None = None,
        grad_clip: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        _check_learning_rate(learning_rate)
        if parameters is None or isinstance(parameters, Tensor):
            raise DTypeError("an optimizer needs the list of its parameters", advice="Pass layer.parameters().")
        self._parameters: list[Any] = list(parameters)
        if not self._parameters:
            raise ArgumentError("an optimizer needs at least one parameter, got an empty list")
        for param in self._parameters:
            if not isinstance(param, Tensor):
                raise DTypeError(f"an optimizer changes tensors, got {type(param).__name__}")
        if len({id(param) for param in self._parameters}) < len(self._parameters):
            raise ArgumentError("a parameter is in the list of the optimizer twice")
        if weight_decay is not None and not isinstance(weight_decay, int | float):
            raise DTypeError(f"weight_decay must be a number or None, got {type(weight_decay).__name__}")
        if grad_clip is not None and not callable(grad_clip):
            raise DTypeError(f"grad_clip must be a ClipGrad object or None, got {type(grad_clip).__name__}")
        self._learning_rate = learning_rate
        self._weight_decay = weight_decay
        self._grad_clip = grad_clip
        # Per parameter, by its place in the list: its slots, and how often it has been changed.
        self._slots: list[dict[str, Array]] = [{} for _ in self._parameters]
        self._steps = [0] * len(self._parameters)

    # --- learning rate ------------------------------------------------------------------------------------------

    def get_lr(self) -> float:
        """The learning rate of the next step."""
        rate = self._learning_rate
        return float(rate() if isinstance(rate, LRScheduler) else rate)

    def set_lr(self, value: float) -> None:
        """Set the learning rate.

        Raises
        ------
        RuntimeError
            If an LRScheduler sets it.
        """
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("the learning rate of this optimizer is set by its LRScheduler")
        _check_learning_rate(value)
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let `scheduler` set the learning rate from now on."""
        if not isinstance(scheduler, LRScheduler):
            raise DTypeError(f"the scheduler must be an LRScheduler, got {type(scheduler).__name__}")
        self._learning_rate = scheduler

    # --- steps --------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Change every parameter that has a gradient and does not stop gradients."""
        places, pairs = [], []
        for place, param in enumerate(self._parameters):
            grad = None if param.stop_gradient else param.grad
            if grad is not None:
                places.append(place)
                pairs.append((param, grad))
        del param, grad
        if self._grad_clip is not None:
            pairs = self._grad_clip(pairs)
        rate = self.get_lr()
        for place, (param, grad) in zip(places, pairs, strict=True):
            self._step_one(place, param, grad.data, rate * getattr(param, "learning_rate", 1.0))

    def _step_one(self, place: int, param: Tensor, grad: Array, rate: float) -> None:
        if self._weight_decay:
            grad = grad + param.data * self._weight_decay
        slots = self._slots[place]
        if not slots and self.slots:
            slots.update((slot, np.zeros_like(param.data)) for slot in self.slots)
        self._steps[place] += 1
        target = target_of(param)
        self._update(param, target, grad, rate, slots, self._steps[place])
        write_data(param, target)

    def _update(
        self, param: Tensor, target: Array, grad: Array, rate: float, slots: dict[str, Array], step: int
    ) -> None:
        """Write the new values of `param` to `target`, which may be its own array, and change `slots` in place."""
        raise NotImplementedError

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Set the gradients of all parameters to zero, or to None with ``set_to_zero=False``."""
        for param in self._parameters:
            if not param.stop_gradient:
                param.clear_gradient(set_to_zero)

    # Generated code need not change NumPy's error state for it.
    clear_grad.computes_nothing = True  # type: ignore[attr-defined]
    clear_gradients = clear_grad

    def minimize(self, loss: Tensor) -> tuple[None, list[tuple[Any, Tensor]]]:
        """Do a `step` with the gradients there are: call ``loss.backward()`` before it.

        Returns
        -------
        None, list of (parameter, gradient)
            The pairs that were used.
        """
        if not isinstance(loss, Tensor):
            raise DTypeError(f"minimize() needs the loss as a Tensor, got {type(loss).__name__}")
        pairs = [(p, p.grad) for p in self._parameters if not p.stop_gradient and p.grad is not None]
        self.step()
        return None, pairs

    # --- state --------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Copies of the state: ``"<place in the list>.<slot>"``, ``"<place>.step"`` and the scheduler's state."""
        state: dict[str, Any] = {}
        for place, (slots, count) in enumerate(zip(self._slots, self._steps, strict=True)):
            state.update((f"{place}.{slot}", Tensor(array.copy())) for slot, array in slots.items())
            if count:
                state[f"{place}.step"] = count
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of an optimizer of the same kind, with parameters of the same shapes in the same order.

        Raises
        ------
        KeyError
            If there is a key that this optimizer does not have; then nothing is changed.
        ShapeError
            If an array has not the shape of its parameter; then nothing is changed.
        """
        state = dict(state_dict)
        schedule = state.pop("LR_Scheduler", None)
        slots: list[dict[str, Array]] = [{} for _ in self._parameters]
        steps = [0] * len(self._parameters)
        for key, value in state.items():
            place, slot = self._parse(key)
            if slot == "step":
                steps[place] = int(value)
                continue
            param = self._parameters[place]
            array = np.array(value.data if isinstance(value, Tensor) else value, dtype=param.dtype)
            if list(array.shape) != param.shape:
                raise ShapeError(f"{key} has shape {list(array.shape)}, parameter {place} has shape {param.shape}")
            slots[place][slot] = array
        for place, found in enumerate(slots):
            if found and len(found) < len(self.slots):
                raise KeyError(f"the state of parameter {place} lacks {sorted(set(self.slots) - set(found))}")
        if schedule is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(schedule)
        self._slots, self._steps = slots, steps

    def _parse(self, key: str) -> tuple[int, str]:
        place, _, slot = key.partition(".")
        if not place.isdigit() or int(place) >= len(self._parameters) or slot not in (*self.slots, "step"):
            raise KeyError(
                f"{type(self).__name__} with {len(self._parameters)} parameters has no state {key!r}; "
                f"its slots are {', '.join((*self.slots, 'step'))}"
            )
        return int(place), slot


def _check_learning_rate(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | LRScheduler):
        raise DTypeError(f"the learning rate must be a number or an LRScheduler, got {type(value).__name__}")
