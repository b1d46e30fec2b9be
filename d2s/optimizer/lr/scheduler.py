"""What all schedules share."""

from __future__ import annotations

from typing import Any

from d2s.errors import ArgumentError, DTypeError, KeyNameError, NotSupportedError


class LRScheduler:
    """Base of the schedules: subclasses give the learning rate of epoch `last_epoch` in `get_lr`.

    Parameters
    ----------
    learning_rate : float
        Rate to begin with, not negative.
    last_epoch : int
        Epoch before the first one; -1 starts at epoch 0.
    verbose : bool
        Print the rate whenever it is set.

    Attributes
    ----------
    base_lr : float
        The rate to begin with.
    last_lr : float
        The rate of epoch `last_epoch`.
    """

    # Attributes that change from step to step.
    state_keys: tuple[str, ...] = ("last_epoch", "last_lr")

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, int | float):
            raise DTypeError(f"the learning rate must be a number, got {type(learning_rate).__name__}")
        if learning_rate < 0:
            raise ArgumentError(f"the learning rate must not be negative, got {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = self.base_lr
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """The learning rate now."""
        return self.last_lr

    def get_lr(self) -> float:
        """The learning rate of epoch `last_epoch`."""
        raise NotSupportedError(f"{type(self).__name__} does not define get_lr()", kind="N02")

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to `epoch`."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def state_dict(self) -> dict[str, Any]:
        """Where the schedule is: ``last_epoch``, ``last_lr`` and what else it keeps."""
        return {key: getattr(self, key) for key in self.state_keys}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go where another schedule of the same kind was.

        Raises
        ------
        KeyError
            If the state is not complete; then nothing is changed.
        """
        missing = [key for key in ("last_epoch", "last_lr") if key not in state_dict]
        if missing:
            raise KeyNameError(f"the state of {type(self).__name__} lacks {', '.join(missing)}", kind="K02")
        last_epoch, last_lr = state_dict["last_epoch"], state_dict["last_lr"]
        self.last_epoch, self.last_lr = int(last_epoch), float(last_lr)

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Another name for `set_state_dict`."""
        self.set_state_dict(state_dict)
