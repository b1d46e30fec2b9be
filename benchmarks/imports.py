"""``python -m benchmarks.imports``: how long `import d2s` takes beside `import numpy`, which is part of it.

CPU time of new processes that take turns, the best of each, with bytecode as on every import but the first.  The aim is
300 ms.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

NAMES = ("numpy", "d2s")


def milliseconds(name: str, bytecode: str) -> float:
    """CPU time of importing a package in a new process."""
    program = f"import time; begin = time.process_time(); import {name}; print(time.process_time() - begin)"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout) * 1e3


def main(rounds: int = 10) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as bytecode:
        for name in NAMES:
            milliseconds(name, bytecode)
        best = dict.fromkeys(NAMES, float("inf"))
        for _ in range(rounds):
            for name in NAMES:
                best[name] = min(best[name], milliseconds(name, bytecode))
    numpy, d2s = best["numpy"], best["d2s"]
    print(f"import d2s: {d2s:.0f} ms (aim: 300), NumPy alone {numpy:.0f} ms: {d2s / numpy:.2f} times")


if __name__ == "__main__":
    main()
