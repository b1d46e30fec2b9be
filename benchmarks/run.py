#!/usr/bin/env python
"""Time d2s, flat NumPy and whichever other libraries are installed, on the same workloads, in one run.

    python benchmarks/run.py                       all, about ten minutes
    python benchmarks/run.py --quick               fewer libraries and rounds, about two minutes
    python benchmarks/run.py --only d2s_step,torch_eager --workloads mlp64,lstm
    python benchmarks/run.py --update docs/performance.md

Each implementation of a workload runs in a process of its own.  The processes take short timed rounds in turn, so
that slow phases of the machine hit all of them; the median of the rounds counts.  Before that, the gradients are
compared with those of PyTorch, or of the flat NumPy code where PyTorch is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402
from benchmarks.implementations import GROUPS, IMPLEMENTATIONS  # noqa: E402
from benchmarks.workloads import ALL, Workload, make  # noqa: E402

REFERENCES = ("torch_eager", "numpy")


class Process:
    """A worker: one implementation of one workload, prepared and waiting for rounds."""

    def __init__(self, name: str, workload: str, folder: str, options: argparse.Namespace) -> None:
        self.name = name
        self.gradients = f"{folder}/{workload}-{name}.npz"
        self.rounds: list[float] = []
        environment = dict(
            os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
            TORCHINDUCTOR_CACHE_DIR=f"{folder}/inductor-{workload}-{name}", TORCHINDUCTOR_COMPILE_THREADS="1",
            JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="3", GLOG_minloglevel="3")
        if options.threads:
            environment.update(dict.fromkeys(
                ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(options.threads)))
        log = Path(folder, f"{workload}-{name}.log")
        command = [options.python, "-m", "benchmarks.worker", name, workload, self.gradients]
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True)
        if options.threads and hasattr(os, "sched_setaffinity"):
            # Libraries that ask for the number of processors and not for a variable.
            cores = sorted(os.sched_getaffinity(0))[: options.threads]
            os.sched_setaffinity(self._process.pid, cores)
        self.row = self._answer()
        if "error" in self.row and options.verbose:
            print(log.read_text(), file=sys.stderr)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return answer

    def ask(self, **command: Any) -> dict[str, Any]:
        """Send a command and wait for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def round(self, seconds: float, cpu: bool) -> None:
        """One timed round."""
        answer = self.ask(seconds=seconds, cpu=cpu)
        if "error" in answer:
            self.row = answer
            return
        self.rounds.append(answer["step"])
        # Threads of BLAS and OpenMP spin for a while after their work; let them go to sleep.
        time.sleep(0.22 if self.name.startswith("paddle") else 0.05)

    def close(self) -> dict[str, Any]:
        """End the process; the row of results."""
        if "error" not in self.row:
            self.row |= self.ask()
            self.row["rounds"] = self.rounds
        with contextlib.suppress(OSError):
            self._process.communicate(timeout=30)
        return self.row


def run_workload(workload: Workload, names: list[str], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Rows of results of one workload, by implementation."""
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            Process(name, workload.name, folder, options) for name in names
            if IMPLEMENTATIONS[name].runs(workload.name)
        ]
        for number in range(options.rounds):
            for process in processes[:: 1 if number % 2 else -1]:
                if "error" not in process.row:
                    process.round(options.seconds, options.cpu)
        rows = {process.name: process.close() for process in processes}
        working = {process.name: process.gradients for process in processes if "error" not in process.row}
        reference = next((working[name] for name in REFERENCES if name in working), None)
        for name, path in working.items():
            row = rows[name]
            row["gradient_error"] = None if reference is None else report.gradient_error(reference, path)
            row["wrong"] = row["gradient_error"] is not None and not row["gradient_error"] < workload.tolerance
        return rows


def chosen_implementations(options: argparse.Namespace) -> list[str]:
    """The implementations asked for that can be imported, with one to compare the gradients with."""
    asked: list[str] = []
    for name in options.only.split(","):
        asked += GROUPS.get(name, [name])
    unknown = set(asked) - set(IMPLEMENTATIONS)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(IMPLEMENTATIONS)}")
    importable = {
        module: _is_importable(module, options.python) for module in {e.requires for e in IMPLEMENTATIONS.values()}
    }
    if not set(asked) & set(REFERENCES):
        asked.append("torch_eager" if importable["torch"] else "numpy")
    found = [name for name in dict.fromkeys(asked) if importable[IMPLEMENTATIONS[name].requires]]
    missing = sorted({IMPLEMENTATIONS[name].requires for name in asked} - {IMPLEMENTATIONS[n].requires for n in found})
    if missing:
        print(f"not installed, left out: {', '.join(missing)}")
    return found


def _is_importable(module: str, python: str) -> bool:
    if python == sys.executable:
        return importlib.util.find_spec(module) is not None
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], cwd=ROOT).returncode == 0


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="d2s, NumPy, PyTorch eager and JAX; short rounds")
    parser.add_argument("--only", help="implementations or groups (d2s, peer, limit, quick, all), by commas")
    parser.add_argument("--workloads", default=",".join(ALL), help="by commas; all if left out")
    parser.add_argument("--rounds", type=int, help="rounds of each implementation (9; quick: 5)")
    parser.add_argument("--seconds", type=float, help="timed seconds in a round (0.1; quick: 0.05)")
    parser.add_argument("--threads", type=int, default=0, help="cores and threads of each process (0: as it comes)")
    parser.add_argument(
        "--cpu", action="store_true",
        help="count CPU time, which other programs on the machine disturb less; needs --threads 1")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the processes")
    parser.add_argument("--json", type=Path, help="write all results there")
    parser.add_argument("--update", type=Path, help="a Markdown file: replace the figures between its markers")
    parser.add_argument("--list", action="store_true", help="list implementations and workloads")
    parser.add_argument("--verbose", action="store_true", help="print the traceback of what fails")
    options = parser.parse_args(arguments)
    if options.cpu and options.threads != 1:
        parser.error("--cpu needs --threads 1: the CPU times of several threads add up")
    options.only = options.only or ("quick" if options.quick else "all")
    options.rounds = options.rounds or (5 if options.quick else 9)
    options.seconds = options.seconds or (0.05 if options.quick else 0.1)
    return options


def main() -> None:
    options = parsed()
    if options.list:
        print("implementations:", ", ".join(IMPLEMENTATIONS))
        for name in ALL:
            print(f"{name:12s} {make(name, small=True).about}")
        return
    machine = report.machine(options.python, options.threads, options.cpu)
    print(report.described(machine))
    names = chosen_implementations(options)
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for workload_name in options.workloads.split(","):
        workload = make(workload_name)
        print(f"\n{workload.name}: {workload.about}", flush=True)
        results[workload.name] = run_workload(workload, names, options)
        print(report.table(results[workload.name]), flush=True)
    print(f"\n{report.summary(results)}")
    command = " ".join(["python benchmarks/run.py", *report.without_paths(sys.argv[1:])])
    if options.json:
        options.json.write_text(json.dumps({"command": command, "machine": machine, "results": results}, indent=1))
    if options.update:
        report.update(options.update, command, machine, results)
    broken = [
        f"{name} on {workload}" for workload, rows in results.items() for name, row in rows.items()
        if "error" in row or row["wrong"]
    ]
    if broken:
        raise SystemExit(f"failed or wrong: {', '.join(broken)}")


if __name__ == "__main__":
    main()
