"""Versions, BLAS, compiler, threads, and whether d2s works here."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import d2s
from d2s.drawing.table import table
from d2s.testing import assert_same_in_both_modes

_NEEDED = {"numpy": (2, 0), "gast": (0, 6), "astor": (0, 8, 1)}
_OPTIONAL = {"tqdm": "progress bars", "hypothesis": "d2s.testing.strategies", "pytest": "the plugin of pytest"}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def examine() -> tuple[str, bool]:
    """The report, and whether all that d2s needs is there and works."""
    rows: list[list[str]] = []
    is_well = True

    def note(what: str, found: str, good: bool = True) -> None:
        nonlocal is_well
        is_well = is_well and good
        rows.append([what, found, "" if good else "!"])

    note("d2s", f"{d2s.__version__} in {Path(d2s.__file__).parent}")
    python = ".".join(map(str, sys.version_info[:3]))
    note("Python", f"{python} on {platform.system()} {platform.machine()}", sys.version_info >= (3, 11))
    for package, least in _NEEDED.items():
        found = _version(package)
        note(package, found or "missing", found is not None and _numbers(found) >= least)
    for package, use in _OPTIONAL.items():
        note(package, f"{_version(package) or 'not installed'} (for {use})")
    note("BLAS", _blas())
    note("compiler", _compiler())
    threads = ", ".join(f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ)
    note("processors", f"{os.cpu_count()}{f'; {threads}' if threads else ''}")
    note("cache", "Programs are kept in memory, none on disk")
    trouble = _trouble()
    note("both modes", trouble or "do the same on a small function with hooks", not trouble)
    return table(["what", "found", ""], rows) + ("\n" if is_well else "\n\n! is what does not fit\n"), is_well


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


def _blas() -> str:
    config = np.show_config(mode="dicts")
    blas = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _compiler() -> str:
    """The C compiler that would be used, and what it says of itself."""
    name = os.environ.get("CC") or next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if name is None:
        return "none found; d2s computes in NumPy and needs none"
    try:
        asked = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} does not run: {error}"
    lines = asked.stdout.splitlines()
    return f"{name}: {lines[0]}" if lines else name


def _trouble() -> str:
    """What is wrong with a small function in both modes, or ""."""
    try:
        assert_same_in_both_modes(_sample, d2s.to_tensor([0.5, -1.5], stop_gradient=False))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""


def _sample(x: d2s.Tensor) -> Any:
    y = x * x
    z = d2s.tanh(3 * y)
    y.register_hook(lambda g: g + 1)
    if z.sum() > 0:
        z = z * x
    return z
