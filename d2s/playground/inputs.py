"""The sample inputs: a line ``name = expression`` for each argument."""

from __future__ import annotations

import ast
import traceback
from typing import Any

import numpy as np

import d2s
from d2s.eager.tensor import Tensor
from d2s.playground.failures import InputsError

_DTYPES = ("float32", "float64", "int64", "int32", "bool")


class _Samples:
    """``float32[2, 3]`` is a tensor of random numbers; one of floats requires a gradient."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def __getitem__(self, sizes: int | tuple[int, ...]) -> Tensor:
        shape = list(sizes) if isinstance(sizes, tuple) else [sizes]
        is_float = self.dtype.startswith("float")
        drawn = d2s.randn(shape) if is_float else d2s.randint(0, 2 if self.dtype == "bool" else 5, shape)
        made: Tensor = d2s.to_tensor(drawn.numpy(), self.dtype, stop_gradient=not is_float)
        return made


class Inputs:
    """
    The inputs, which are made anew for each run.

    Parameters
    ----------
    text : str
        Lines ``x = [1.0, 2.0]``, ``x = float32[2, 3]`` or with any other expression of Python.  Numbers in lists become
        tensors; those of floats require gradients.

    Raises
    ------
    InputsError
        If a line is no such assignment.
    """

    def __init__(self, text: str) -> None:
        self.lines: list[tuple[int, str, Any]] = []
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise InputsError(f"this is no line like `x = [1.0, 2.0]`: {error.msg}", error.lineno or 1) from None
        for statement in tree.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            if len(targets) != 1 or not isinstance(targets[0], ast.Name):
                raise InputsError("write a line like `x = [1.0, 2.0]` for each argument", statement.lineno)
            assert isinstance(statement, ast.Assign)
            code = compile(ast.Expression(statement.value), "<inputs>", "eval")
            self.lines.append((statement.lineno, targets[0].id, code))

    def made(self, names: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name; expressions see `names` of the program and the inputs above them."""
        known = {"np": np, "paddle": d2s, "d2s": d2s, **{dtype: _Samples(dtype) for dtype in _DTYPES}, **names}
        found: dict[str, Any] = {}
        for line, name, code in self.lines:
            try:
                found[name] = _as_tensor(eval(code, known | found))
            except Exception as error:
                words = "".join(traceback.format_exception_only(error)).strip().splitlines()[0]
                raise InputsError(f"{name}: {words}", line) from error
        return found


def _as_tensor(value: Any) -> Any:
    """Lists of numbers and arrays as tensors; other things as they are."""
    if isinstance(value, list) and _is_numbers(value):
        value = np.asarray(value, "float32" if _holds_float(value) else None)
    if isinstance(value, np.ndarray):
        return d2s.to_tensor(value, stop_gradient=value.dtype.kind not in "fc")
    return value


def _is_numbers(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_numbers, value))
    return isinstance(value, bool | int | float)


def _holds_float(value: Any) -> bool:
    return any(map(_holds_float, value)) if isinstance(value, list) else isinstance(value, float)
