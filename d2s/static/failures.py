"""What the user is told when generated code fails: the words of eager mode, and the line of the user's program."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any

import numpy as np

from d2s.caller import HANDS, Found
from d2s.core.arrays import as_number, element_of
from d2s.errors import D2SError, is_user_code
from d2s.static.codegen import SOURCE, Source
from d2s.static.program import Operator
from d2s.static.tracebacks import with_user_lines


def called(function: Callable[..., Any], *args: Any) -> Any:
    """Call a generated function; what it raises is told in the user's terms."""
    try:
        return function(*args)
    except Exception as error:
        explained = in_the_users_terms(error, function)
        trace = with_user_lines(error.__traceback__)
        if explained is not error:
            raise explained.with_traceback(trace) from error
        error.__traceback__ = trace
        raise


def in_the_users_terms(error: Exception, function: Any, prefix: str = "") -> Exception:
    """
    The error to raise for one that the generated `function` has raised.

    Parameters
    ----------
    error : Exception
    function : callable
        What `load` has made of a Program.
    prefix : str
        What to put before the message of an error that did not come out of the user's own code.

    Returns
    -------
    Exception
        Where NumPy refused the operands of an op: what eager mode raises.  An error of d2s that did not come out of
        the user's own code names the line of the operator.  Any other is the same object.
    """
    code, source = function.__code__, function.__dict__[SOURCE]
    steps = list(traceback.walk_tb(error.__traceback__))
    for depth, (frame, line) in enumerate(steps):
        if frame.f_code is code:
            operator = source.locations.get(line)
            # An error of the user's own `raise` brings its traceback along.
            if operator is None or operator.kind == "raise":
                return error
            below = [step.f_code for step, _ in steps[depth + 1 :]]
            return _explained(error, operator, below, frame, line, source, prefix)
    return error


def _explained(
    error: Exception,
    operator: Operator,
    below: list[CodeType],
    frame: FrameType,
    line: int,
    source: Source,
    prefix: str,
) -> Exception:
    place = operator.location
    found: Exception | None = error
    is_the_users = any(map(is_user_code, below))
    if not isinstance(error, D2SError) or _is_of_forward(operator, below):
        # NumPy's own frames lie below.
        found, is_the_users = _refusal(error, operator, frame, source.operands.get(line)) or found, False
    if not isinstance(found, D2SError):
        return error
    if place is not None and not is_the_users:
        found.place_at(place, prefix)
    return found


def _is_of_forward(operator: Operator, below: list[CodeType]) -> bool:
    """True if the forward function of an op has raised the error itself."""
    return operator.op is not None and below == [getattr(operator.op.forward, "__code__", None)]


def _refusal(error: Exception, operator: Operator, frame: FrameType, operands: str | None) -> Exception | None:
    """What eager mode says about the arrays that `operator` was run with, if it refuses them."""
    if operands is None:
        return None
    arrays, attrs = eval(operands, frame.f_globals, frame.f_locals)
    if operator.op is not None:
        return operator.op.refusal(arrays, attrs, error)
    try:
        if operator.kind == "to_array":
            as_number(arrays[0], attrs["dtype"])
        else:
            element_of(np.asarray(arrays[0]), **attrs)
    except D2SError as better:
        return better
    return None


def _as_called(names: Mapping[str, Any]) -> Found | None:
    """What the user has called where `_refusal` asks what is wrong."""
    operator: Operator = names["operator"]
    called = None if operator.location is None else operator.location.called
    if called is None:
        return None if operator.op is None else (operator.op.name, names["arrays"])
    return called.with_operands(names["arrays"])


HANDS[_refusal.__code__] = _as_called
