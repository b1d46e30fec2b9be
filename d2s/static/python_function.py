"""`py_func`: a Python function as operator of a Program."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from d2s.core.interpreter import state
from d2s.core.spec import is_floating
from d2s.errors import DTypeError, ProgramError, user_location
from d2s.static.variable import Variable


def py_func(
    func: Callable[..., Any],
    x: Any,
    out: Any,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: Any = None,
) -> Any:
    """
    Call a Python function in every run of the Program.

    Parameters
    ----------
    func : callable
        Gets the values of `x` as Tensors; returns the values of `out`: arrays or Tensors, one or a sequence.
    x : Variable or sequence of Variable
        The inputs.
    out : Variable or sequence of Variable
        The outputs, made by ``program.current_block().create_var(name, shape, dtype)``.
    backward_func : callable, optional
        Gets the values of `x`, of `out`, and the gradients of `out`; returns the gradients of `x`, None for those
        that have none.  Without it no gradient passes.
    skip_vars_in_backward_input : Variable or sequence of Variable, optional
        Of `x` and `out`: those that `backward_func` does not get.

    Returns
    -------
    Variable or sequence of Variable
        `out`.

    Raises
    ------
    ProgramError
        If an output is defined already, or `skip_vars_in_backward_input` names another variable.
    TypeError
        If a function cannot be called.
    """
    for function in (func, *([] if backward_func is None else [backward_func])):
        if not callable(function):
            raise DTypeError(f"py_func needs a function, got {type(function).__name__}")
    inputs, outputs = _variables(x, "x"), _variables(out, "out")
    skipped = _variables(skip_vars_in_backward_input, "skip_vars_in_backward_input")
    if not inputs and not outputs:
        raise ProgramError("py_func needs an input or an output", user_location(), kind="P02")
    recorder = (inputs + outputs)[0].interpreter
    given = tuple(recorder.value_of(variable) for variable in inputs)
    for variable in outputs:
        if recorder.in_scope(variable.value):
            raise ProgramError(
                f"{variable.name} is defined already, so py_func cannot define it", user_location(),
                "Make its output with program.current_block().create_var(name=..., shape=..., dtype=...).",
                kind="P02",
            )
    for variable in skipped:
        if variable.value not in [known.value for known in (*inputs, *outputs)]:
            raise ProgramError(
                f"skip_vars_in_backward_input names {variable.name}, which is neither input nor output of this py_func",
                user_location(),
                kind="P02",
            )
    passes = backward_func is not None and state.grad_enabled and any(not value.stop_gradient for value in given)
    around = [variable.value for variable in (*inputs, *outputs)]
    skip = tuple(position for position, value in enumerate(around) if any(value is v.value for v in skipped))
    made = []
    for variable in outputs:
        stop_gradient = variable.stop_gradient or not passes or not is_floating(variable.dtype)
        made.append(dataclasses.replace(variable.value, stop_gradient=stop_gradient))
        recorder.rebind(variable, made[-1])
    attrs = {"function": func, "backward": backward_func, "skip": skip}
    recorder.emit("py_func", given, tuple(made), attrs, effect=True)
    return out


def _variables(given: Any, what: str) -> list[Variable]:
    listed = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    for variable in listed:
        if not isinstance(variable, Variable):
            raise DTypeError(f"py_func needs Variables as {what}, got {type(variable).__name__}", user_location())
    return listed
