"""Runs a request of the playground in a process of its own, for a limited time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import d2s

PROGRAM = "program.py"
_MAX_ANSWER = 8_000_000
# More at once would make each other run out of time.
_slots = threading.BoundedSemaphore(2)


def run_request(program: str, inputs: str, target: str, seconds: float) -> dict[str, Any]:
    """
    What the page shows for a program.

    Parameters
    ----------
    program : str
        Text of the module that holds the function.
    inputs : str
        A line ``name = expression`` for each argument.
    target : str
        Name of the function or Layer; empty for the last one that is defined.
    seconds : float
        How long all of it may take.
    """
    with _slots, tempfile.TemporaryDirectory(prefix="d2s-playground-") as folder:
        place = Path(folder)
        (place / PROGRAM).write_text(program, encoding="utf-8")
        request = {"inputs": inputs, "target": target}
        (place / "request.json").write_text(json.dumps(request), encoding="utf-8")
        paths = [str(Path(d2s.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "d2s.playground.worker"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True, errors="replace",
        )
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return _failed(f"The program was stopped after {seconds:g} s.")
        finally:
            _end(process)
        answer = place / "answer.json"
        if not answer.exists():
            last = errors.strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
            return _failed(f"The program ended its process: {last[0]}")
        if answer.stat().st_size > _MAX_ANSWER:
            return _failed("The program gives more than can be shown.")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def _end(process: subprocess.Popen[str]) -> None:
    """End the process and all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.communicate()


def _failed(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "line": None, "where": "program", "id": "", "fix": ""}}
