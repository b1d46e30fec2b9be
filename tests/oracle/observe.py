"""Run a program with one library, and compare what it showed."""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .log import LOG

_folder = tempfile.TemporaryDirectory(prefix="d2s-oracle-")
_numbers = itertools.count()


@dataclass
class Seen:
    """What a program has shown.

    Attributes
    ----------
    calls : dict
        Per hook, the gradients it was given.
    order : list of str
        Hooks in the order of their calls.
    shown : list of (str, values)
    stopped : int or None
        Line of `drive` that raised.
    error : Exception or None
    """

    calls: dict[str, list[Any]]
    order: list[str]
    shown: list[tuple[str, Any]]
    stopped: int | None
    error: Exception | None


def load(text: str, op: Any) -> ModuleType:
    """A module with this text, written to a file so that its source is found, and `op` among its globals."""
    name = f"oracle_{next(_numbers)}"
    path = Path(_folder.name) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__["op"] = op
    spec.loader.exec_module(module)
    return module


def run(text: str, op: Any, convert: Callable[[Any], Any] = lambda f: f) -> Seen:
    """Run the program with the adapter `op`; `convert` is applied to its function."""
    module = load(text, op)
    LOG.clear()
    stopped = error = None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            module.drive(convert(module.f))
        except Exception as raised:
            error, stopped = raised, _line_of_drive(raised)
    calls: dict[str, list[Any]] = {}
    for kind, name, values in LOG:
        if kind == "hook":
            calls.setdefault(name, []).append(values)
    order = [name for kind, name, _ in LOG if kind == "hook"]
    return Seen(calls, order, [(name, values) for kind, name, values in LOG if kind == "show"], stopped, error)


def _line_of_drive(error: Exception) -> int | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_name != "drive":
        trace = trace.tb_next
    return None if trace is None else trace.tb_lineno


def assert_alike(got: Seen, expected: Seen, with_order: bool) -> None:
    """Assert that both runs have shown the same, or raised at the same line.

    Without order, the calls of a hook may have come in another order too: one of each of two calls of a function.
    """
    assert got.stopped == expected.stopped, f"raised {got.error!r}, expected {expected.error!r}"
    if expected.stopped is None:
        assert sorted(got.calls) == sorted(expected.calls)
        for name, values in expected.calls.items():
            found = got.calls[name]
            if not with_order:
                found, values = sorted(found), sorted(values)
            _assert_close(f"calls of {name}", found, values)
        if with_order:
            assert got.order == expected.order
    assert [name for name, _ in got.shown] == [name for name, _ in expected.shown]
    for (name, found), (_, values) in zip(got.shown, expected.shown, strict=True):
        _assert_close(name, found, values)


def _assert_close(name: str, found: Any, values: Any) -> None:
    assert (found is None) == (values is None), f"{name}: {found}, expected {values}"
    if values is not None:
        assert len(found) == len(values), f"{name}: {found}, expected {values}"
        np.testing.assert_allclose(found, values, rtol=1e-8, atol=1e-10, err_msg=name)
