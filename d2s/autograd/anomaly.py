"""`detect_anomaly`: stop at the first NaN, and say which line of the user made it."""

from __future__ import annotations

from types import TracebackType

from d2s.core.interpreter import current_interpreter, pop_interpreter, push_interpreter
from d2s.eager.anomaly import CHECKING
from d2s.errors import UnsupportedSyntaxError, user_location


class detect_anomaly:
    """
    Context in which an op that gives NaN is an error, in forward and in backward, in eager and in static mode.

    The error names the line of the op; for a gradient, the line of the op that it is the gradient of, if that ran
    inside of the context too.  Everything is computed more slowly.

    Parameters
    ----------
    check_nan : bool
        False: check nothing.

    Raises
    ------
    AnomalyError
        Inside of the context, at the first NaN (also a FloatingPointError).
    UnsupportedSyntaxError
        If it is entered in a static function: enter it around the call.

    Examples
    --------
    >>> x = to_tensor([0.0], stop_gradient=False)
    >>> with autograd.detect_anomaly():
    ...     y = x.sqrt() * 0
    ...     try:
    ...         y.backward()
    ...     except FloatingPointError as error:
    ...         print(error.message)
    in backward, divide gave nan, which none of its operands has: float32[1]
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = bool(check_nan)

    def __enter__(self) -> None:
        if self.check_nan:
            if hasattr(current_interpreter(), "program"):
                raise UnsupportedSyntaxError(
                    "detect_anomaly() is entered while a Program is built, which computes nothing", user_location(),
                    "Enter it around the call of the static function: its run is checked then.", kind="U41")
            push_interpreter(CHECKING)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.check_nan:
            pop_interpreter()
