"""Mixed precision, for programs that ask for it: on the CPU it has no effect, in PaddlePaddle neither.

Everything is computed in the dtypes of the operands, and losses are not scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from d2s.core.interpreter import traced_as_written
from d2s.errors import ArgumentError

__all__ = ["GradScaler", "auto_cast", "decorate"]

Function = TypeVar("Function", bound=Callable[..., Any])


class auto_cast:
    """
    Around the forward pass of a program that may run in mixed precision; also a decorator.

    Parameters
    ----------
    enable : bool
    custom_white_list, custom_black_list : collection of str, optional
        Operators for the lower and the higher precision; ignored.
    level : {"O0", "OD", "O1", "O2"}
    dtype : {"float16", "bfloat16"}
    use_promote : bool
        Ignored.

    Raises
    ------
    ValueError
        If `level` or `dtype` is another one.
    """

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Any = None,
        custom_black_list: Any = None,
        level: str = "O1",
        dtype: str = "float16",
        use_promote: bool = True,
    ) -> None:
        _check(level, dtype)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        return function


def _check(level: str, dtype: str) -> None:
    if level not in ("O0", "OD", "O1", "O2"):
        raise ArgumentError(f"level must be O0, OD, O1 or O2, got {level!r}")
    if dtype not in ("float16", "bfloat16"):
        raise ArgumentError(f"dtype must be float16 or bfloat16, got {dtype!r}")


def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: str = "float16",
    master_weight: bool | None = None,
    save_dtype: Any = None,
    master_grad: bool = False,
    excluded_layers: Any = None,
) -> Any:
    """
    The models, and the optimizers if there are any, as they are.

    Raises
    ------
    ValueError
        If `level` or `dtype` is not known.
    """
    _check(level, dtype)
    return models if optimizers is None else (models, optimizers)


class GradScaler:
    """
    Scales losses by 1: what float16 would need is not needed.

    Parameters
    ----------
    enable : bool
    init_loss_scaling, incr_ratio, decr_ratio : float
    incr_every_n_steps, decr_every_n_nan_or_inf : int
    use_dynamic_loss_scaling : bool
        All of them ignored.
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 65536.0,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        pass

    @traced_as_written
    def scale(self, var: Any) -> Any:
        """The loss itself."""
        return var

    @traced_as_written
    def unscale_(self, optimizer: Any) -> None:
        """Leave the gradients as they are."""

    @traced_as_written
    def step(self, optimizer: Any) -> None:
        """``optimizer.step()``."""
        optimizer.step()

    @traced_as_written
    def update(self) -> None:
        """Nothing: the scale stays 1."""

    @traced_as_written
    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.minimize(...)`` with the scaled loss."""
        return optimizer.minimize(*args, **kwargs)

    def is_enable(self) -> bool:
        """False."""
        return False

    def is_use_dynamic_loss_scaling(self) -> bool:
        """False."""
        return False

    def get_init_loss_scaling(self) -> float:
        """1.0."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """Nothing to save."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing to load."""
