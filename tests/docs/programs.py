"""Runs the programs of documents."""

from __future__ import annotations

import contextlib
import io
import linecache
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import d2s


def run(program: str, folder: Path, namespace: dict[str, object]) -> str:
    """Run a program from a file; what it printed, an exception at its end included."""
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    linecache.checkcache(str(file))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(program, str(file), "exec"), namespace)
        except Exception as error:
            name = type(error).__name__ if type(error).__module__ == "builtins" else f"d2s.{type(error).__name__}"
            print(f"{name}: {error}")
    return printed.getvalue().replace(str(folder) + "/", "")


def run_alone(program: str, folder: Path) -> str:
    """`run` with names, mode and default Programs of its own: those belong to a thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_run_seeded, program, folder).result()


def _run_seeded(program: str, folder: Path) -> str:
    d2s.seed(0)
    return run(program, folder, {"__name__": "__main__"})
