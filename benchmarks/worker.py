"""One implementation of one workload, in a process of its own: ``python -m benchmarks.worker NAME WORKLOAD FILE``.

Writes the gradients to FILE, then answers commands on standard input with lines of JSON on standard output.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.implementations import IMPLEMENTATIONS
from benchmarks.workloads import make

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

WARM_UP = 0.2
now = time.perf_counter


def cpu_seconds() -> float:
    """CPU time of this process and of the compilers it has run."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def peak_memory() -> float:
    """Largest resident size so far, in MB; 0 where it is not known."""
    # On Linux `getrusage` includes what the parent had when it forked.
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    if resource is None:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def timed(function: Any) -> tuple[Any, float, float]:
    """The result, the seconds and the CPU seconds of a call."""
    start, cpu = now(), cpu_seconds()
    result = function()
    return result, now() - start, cpu_seconds() - cpu


def seconds_a_step(step: Any) -> float:
    """Warm up, then a first estimate."""
    count, start = 0, now()
    while count < 3 or now() - start < WARM_UP:
        step()
        count += 1
    count, start = 0, now()
    while now() - start < 0.05:
        step()
        count += 1
    return (now() - start) / count


def one_round(step: Any, count: int, clock: Any) -> float:
    """Mean seconds of `count` steps, after some that are not counted."""
    for _ in range(max(1, min(20, count // 5))):
        step()
    start = clock()
    for _ in range(count):
        step()
    seconds: float = clock() - start
    return seconds / count


def main() -> None:
    name, workload_name, path = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer

    def answer(**values: Any) -> None:
        answers.write(json.dumps(values) + "\n")

    try:
        implementation = IMPLEMENTATIONS[name]
        workload = make(workload_name)
        importlib.import_module(implementation.requires)
        built = implementation.build(workload)
        # Both may compile a program of their own: the longer one is the first call.
        (loss, gradients), first, first_cpu = timed(built.gradients)
        np.savez(path, loss=np.float64(loss), **gradients)
        _, step, step_cpu = timed(built.step)
        estimate = seconds_a_step(built.step)
        answer(first=max(first, step), first_cpu=max(first_cpu, step_cpu))
    except Exception as error:
        traceback.print_exc()
        answer(error=f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}")
        return
    for line in sys.stdin:
        command = json.loads(line)
        if "seconds" not in command:
            answer(memory=peak_memory())
            return
        clock = time.process_time if command["cpu"] else now
        answer(step=one_round(built.step, max(1, int(command["seconds"] / estimate)), clock))


if __name__ == "__main__":
    main()
