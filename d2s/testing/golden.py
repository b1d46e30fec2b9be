"""Golden files: what a program gave once, kept beside the tests and compared on every run."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor

# Set by ``pytest --d2s-update-golden``; the variable of the environment does the same for other runners.
VARIABLE = "D2S_UPDATE_GOLDEN"
_updating = [False]


def set_updating(is_on: bool) -> None:
    """From now on write golden files in place of comparing with them."""
    _updating[0] = is_on


def is_updating() -> bool:
    """True if golden files are to be written."""
    return _updating[0] or os.environ.get(VARIABLE, "") not in ("", "0")


def golden_text(value: Any) -> str:
    """
    A value as text that is the same on every machine, to the bit.

    >>> import d2s
    >>> print(golden_text({"loss": d2s.to_tensor([0.1, 2.0])}), end="")
    dict of 1
    ['loss']: float32[2]
      0.10000000149011612, 2.0
    """
    if isinstance(value, str):
        return value if value.endswith("\n") else f"{value}\n"
    if hasattr(value, "all_operators"):
        return f"{value}\n"
    return "\n".join(_lines("", value)) + "\n"


def assert_golden(value: Any, path: str | os.PathLike[str]) -> None:
    """
    Assert that a value is what the file at `path` holds.

    Parameters
    ----------
    value : str, Program, Tensor, ndarray, number, or containers of these
    path : path
        Written in place of compared, if ``pytest --d2s-update-golden`` or the variable D2S_UPDATE_GOLDEN says so.

    Raises
    ------
    AssertionError
        With the lines that differ, or if there is no such file.
    """
    file, text = Path(path), golden_text(value)
    if is_updating():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    advice = f"To take the new one, run pytest with --d2s-update-golden (or set {VARIABLE}=1), and read the diff."
    if not file.exists():
        raise AssertionError(f"there is no golden file {file}\n{advice}")
    kept = file.read_text(encoding="utf-8")
    if kept != text:
        found = "".join(difflib.unified_diff(
            kept.splitlines(keepends=True), text.splitlines(keepends=True), str(file), "now"))
        raise AssertionError(f"not what the golden file holds\n{found}{advice}")


def _lines(path: str, value: Any) -> Iterator[str]:
    head = f"{path}: " if path else ""
    if isinstance(value, Tensor):
        value = value.data
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        yield f"{head}{array.dtype.name}[{', '.join(map(str, array.shape))}]"
        rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
        for row in rows.tolist():
            yield f"  {', '.join(map(repr, row))}"
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict | list | tuple):
        yield f"{head}{type(value).__name__} of {len(value)}"
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from _lines(f"{path}[{key!r}]", part)
        return
    yield f"{head}{value!r}"
