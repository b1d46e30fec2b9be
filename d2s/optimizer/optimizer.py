"""What all optimizers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.interpreter import TensorBase, current_interpreter
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.views import write_data
from d2s.errors import ArgumentError, DTypeError, KeyNameError, NotSupportedError, ShapeError, StateError
from d2s.optimizer.groups import Array, Group, Update, groups_of
from d2s.optimizer.lr import LRScheduler
from d2s.optimizer.writing import target_of
from d2s.words import counted


class Optimizer:
    """Base of the optimizers: subclasses say in `_update` how one parameter changes.

    Parameters
    ----------
    learning_rate : float or LRScheduler
        Step size.
    parameters : iterable of Parameter, or of dict
        What to change; while a Program is built by hand it may be left out: all parameters that the Program has when
        `minimize` is called.  A dict describes a group: its ``"params"``, and what is different for them:
        ``weight_decay``, ``grad_clip``, ``learning_rate`` (a factor on that of the optimizer), or other arguments of
        the optimizer that are numbers.
    weight_decay : float, L1Decay or L2Decay, optional
        Adds ``weight_decay * parameter`` (L2) or ``weight_decay * sign(parameter)`` (L1) to every gradient, after
        clipping.  A parameter with a regularizer of its own uses that.
    grad_clip : ClipGradByValue, ClipGradByNorm or ClipGradByGlobalNorm, optional
        Applied to the gradients of each group before each step; `.grad` itself stays as it is.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If the learning rate or a parameter is of another kind.
    ValueError
        If there are no parameters, one is there twice, or a group names a setting that is not known.
    """

    # Names of the arrays of the shape of the parameter that this optimizer keeps for each one.
    slots: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Callable[..., Any] | None = None,
        name: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        _check_learning_rate(learning_rate)
        self._learning_rate = learning_rate
        self._settings = (weight_decay, grad_clip, options or {})
        # While a Program is built by hand: those of the Program, which `minimize` takes.
        is_for_program = parameters is None and hasattr(current_interpreter(), "minimize")
        self._take([] if is_for_program else groups_of(parameters, *self._settings))

    def _take(self, groups: list[Group]) -> None:
        """Let these groups be what is changed; no step has been done yet."""
        self._groups = groups
        self._parameters: list[Any] = [param for group in groups for param in group.params]
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
            raise StateError(
                "the learning rate of this optimizer is set by its LRScheduler", kind="R02",
                advice="Call step() of the scheduler, or set_lr_scheduler() of the optimizer.")
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
        self._apply([None if param.stop_gradient else param.grad for param in self._parameters])

    def _pairs(self) -> list[tuple[Any, Tensor]]:
        """The parameters that are to be changed, and their gradients."""
        return [(p, p.grad) for p in self._parameters if not p.stop_gradient and p.grad is not None]

    def _apply(self, grads: list[Tensor | None]) -> None:
        """Do a step with these gradients, one for each parameter."""
        rate, begin = self.get_lr(), 0
        for group in self._groups:
            end = begin + len(group.params)
            chosen = [place for place in range(begin, end) if grads[place] is not None]
            begin = end
            pairs = [(self._parameters[place], grads[place]) for place in chosen]
            if group.grad_clip is not None:
                pairs = group.grad_clip(pairs)
            own_rate = rate * group.learning_rate
            for place, (param, grad) in zip(chosen, pairs, strict=True):
                assert grad is not None
                self._step_one(place, param, grad.data, own_rate * getattr(param, "learning_rate", 1.0), group)

    def _step_one(self, place: int, param: Tensor, grad: Array, rate: float, group: Group) -> None:
        decay = getattr(param, "regularizer", None) or group.weight_decay
        if decay is not None:
            grad = grad + decay.gradient(param.data)
        slots = self._slots[place]
        if not slots and self.slots:
            slots.update((slot, self._first(slot, param.data, group.options)) for slot in self.slots)
        self._steps[place] += 1
        target = target_of(param)
        self._update(Update(param, target, grad, rate, slots, self._steps[place], group.options))
        write_data(param, target)

    def _first(self, slot: str, like: Array, options: dict[str, Any]) -> Array:
        """First values of a slot."""
        return np.zeros_like(like)

    def _update(self, update: Update) -> None:
        """Write the new values of the parameter to the target, and change the slots in place."""
        raise NotSupportedError(f"{type(self).__name__} does not define _update()", kind="N02")

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Set the gradients of all parameters to zero, or to None with ``set_to_zero=False``."""
        for param in self._parameters:
            if not param._stop_gradient:
                param.clear_gradient(set_to_zero)

    # Generated code need not change NumPy's error state for it.
    clear_grad.computes_nothing = True  # type: ignore[attr-defined]
    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero with ``set_to_none=False``."""
        self.clear_grad(set_to_zero=not set_to_none)

    def backward(self, loss: Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None,
                 callbacks: Any = None) -> list[tuple[Any, Tensor]]:  # fmt: skip
        """Do ``loss.backward()`` and give the parameters with their gradients; other arguments are ignored."""
        _check_loss(loss, "backward")
        loss.backward()
        return self._pairs()

    def apply_gradients(self, params_grads: Iterable[tuple[Any, Tensor]]) -> None:
        """Do a step with these gradients, as `backward` gives them.

        Raises
        ------
        ValueError
            If a parameter does not belong to this optimizer.
        """
        given = {id(param): grad for param, grad in params_grads if grad is not None}
        if given.keys() - {id(param) for param in self._parameters}:
            raise ArgumentError("apply_gradients() got a parameter that does not belong to this optimizer")
        self._apply([given.get(id(param)) for param in self._parameters])

    def minimize(
        self, loss: Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[None, list[tuple[Any, Tensor]]]:
        """Do a `step` with the gradients there are: call ``loss.backward()`` before it.

        Of a variable of a Program that is built by hand, it records the gradients of `loss` into that Program, and a
        step with them that each run does.

        Parameters
        ----------
        loss : Tensor or Variable
        parameters : list of Parameter, optional
            Change only these.
        startup_program
            Accepted and ignored.
        no_grad_set : set of Variable or str, optional
            For a Program: variables through which no gradient passes.

        Returns
        -------
        None, list of (parameter, gradient)
            The pairs that were used.
        """
        program: Any = loss.interpreter if isinstance(loss, TensorBase) else None
        if hasattr(program, "minimize"):
            if not self._groups:
                self._take(groups_of(program.trainable_tensors(), *self._settings))
            given = self._parameters if parameters is None else parameters
            return None, program.minimize(self, loss, given, no_grad_set)
        _check_loss(loss, "minimize")
        chosen = None if parameters is None else {id(param) for param in parameters}
        pairs = [(param, grad) for param, grad in self._pairs() if chosen is None or id(param) in chosen]
        self.apply_gradients(pairs)
        return None, pairs

    # --- state --------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Copies of the state: ``"<place in the list>.<slot>"``, ``"<place>.step"`` and the scheduler's state."""
        state: dict[str, Any] = {}
        for place, (slots, count) in enumerate(zip(self._slots, self._steps, strict=True)):
            state.update((f"{place}.{slot}", tensor_of(array.copy())) for slot, array in slots.items())
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
        DTypeError
            If something is no array, or no number; then nothing is changed.
        """
        if not isinstance(state_dict, Mapping):
            raise DTypeError(f"a state dict must be a dict, got {type(state_dict).__name__}")
        state = dict(state_dict)
        schedule = state.pop("LR_Scheduler", None)
        slots: list[dict[str, Array]] = [{} for _ in self._parameters]
        steps = [0] * len(self._parameters)
        for key, value in state.items():
            place, slot = self._parse(key)
            if slot == "step":
                steps[place] = _steps(key, value)
                continue
            param = self._parameters[place]
            array = as_array(value, param.dtype)
            if list(array.shape) != param.shape:
                raise ShapeError(f"{key} has shape {list(array.shape)}, parameter {place} has shape {param.shape}")
            slots[place][slot] = array
        for place, found in enumerate(slots):
            if found and len(found) < len(self.slots):
                lacking = ", ".join(sorted(set(self.slots) - set(found)))
                raise KeyNameError(f"the state of parameter {place} lacks {lacking}", kind="K02")
        if schedule is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(schedule)
        self._slots, self._steps = slots, steps

    load_state_dict = set_state_dict
    set_dict = set_state_dict

    def _parse(self, key: str) -> tuple[int, str]:
        place, _, slot = key.partition(".") if isinstance(key, str) else ("", "", "")
        if not place.isdecimal() or int(place) >= len(self._parameters) or slot not in (*self.slots, "step"):
            raise KeyNameError(
                f"{type(self).__name__} with {counted(len(self._parameters), 'parameter')} has no state {key!r}; "
                f"its slots are {', '.join((*self.slots, 'step'))}", kind="K02")
        return int(place), slot


def _steps(key: str, value: Any) -> int:
    """How many steps there have been."""
    found = as_array(value)
    if found.size != 1 or found.dtype.kind not in "iuf" or not found >= 0:
        raise DTypeError(f"{key} must be a number of steps, got {value!r}")
    return int(found.item())


def _check_loss(loss: Any, method: str) -> None:
    if not isinstance(loss, Tensor):
        raise DTypeError(f"{method}() needs the loss as a Tensor, got {type(loss).__name__}")


def _check_learning_rate(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | LRScheduler):
        raise DTypeError(f"the learning rate must be a number or an LRScheduler, got {type(value).__name__}")
