"""Results as text: tables for the terminal and for the documentation."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.implementations import GROUPS, IMPLEMENTATIONS

Row = dict[str, Any]
Results = dict[str, dict[str, Row]]

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
PACKAGES = ("numpy", "torch", "paddlepaddle", "jax", "autograd")


def gradient_error(reference: str, found: str) -> float:
    """The greatest difference of loss and gradients, each relative to the greatest value of the reference."""
    with np.load(reference) as expected, np.load(found) as got:
        worst = 0.0
        for name in expected.files:
            if name not in got.files or got[name].shape != expected[name].shape:
                return math.inf
            scale = max(1e-12, float(np.abs(expected[name]).max()))
            worst = max(worst, float(np.abs(expected[name] - got[name]).max()) / scale)
        return worst


def step_time(row: Row) -> float:
    """Seconds of one step: the median of the rounds."""
    rounds: list[float] = row["rounds"]
    return statistics.median(rounds)


def first_steps(row: Row, count: int = 100) -> float:
    """Seconds of the first `count` steps, with compilation."""
    first: float = row["first"]
    return first + (count - 1) * step_time(row)


def best_peer(rows: dict[str, Row]) -> str | None:
    """The fastest other library, if one ran."""
    return min((n for n in GROUPS["peer"] if _ran(rows, n)), key=lambda n: step_time(rows[n]), default=None)


def _ran(rows: dict[str, Row], name: str) -> bool:
    return name in rows and "error" not in rows[name] and not rows[name]["wrong"]


def duration(seconds: float) -> str:
    """Seconds with a unit, three digits."""
    if seconds >= 1:
        value, unit = seconds, "s"
    elif seconds >= 1e-3:
        value, unit = seconds * 1e3, "ms"
    else:
        value, unit = seconds * 1e6, "us"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


def table(rows: dict[str, Row]) -> str:
    """The results of one workload."""
    best = best_peer(rows)
    base = None if best is None else step_time(rows[best])
    lines = [
        f"{'':16s} {'step':>9s} {'fastest .. slowest round':>25s} {'/ best peer':>11s} {'first call':>11s} "
        f"{'peak MB':>8s} {'gradient error':>15s}"
    ]
    for name, row in rows.items():
        if "error" in row:
            lines.append(f"{name:16s} FAILED: {row['error']}")
            continue
        spread = f"{duration(min(row['rounds']))} .. {duration(max(row['rounds']))}"
        ratio = "" if base is None else f"{step_time(row) / base:.2f}"
        error = "" if row["gradient_error"] is None else f"{row['gradient_error']:.0e}"
        lines.append(
            f"{name:16s} {duration(step_time(row)):>9s} {spread:>25s} {ratio:>11s} "
            f"{duration(row['first_cpu']):>11s} {row['memory']:8.0f} {error:>15s}{'  WRONG' if row['wrong'] else ''}")
    return "\n".join(lines)


def _ratios(results: Results, over: Iterable[str], under: Iterable[str]) -> list[tuple[str, float]]:
    """Per workload: the faster of `over` as multiple of the faster of `under`, where both ran."""
    found = []
    for workload, rows in results.items():
        tops = [step_time(rows[name]) for name in over if _ran(rows, name)]
        bottoms = [step_time(rows[name]) for name in under if _ran(rows, name)]
        if tops and bottoms:
            found.append((workload, min(tops) / min(bottoms)))
    return found


STATIC = ("d2s_static", "d2s_step")


def summary(results: Results) -> str:
    """Geometric means over the workloads, and what does not fit into a table of one workload."""
    lines = []
    pairs = [
        ("static or step / best peer", STATIC, GROUPS["peer"]),
        ("static or step / flat NumPy", STATIC, ["numpy"]),
        ("static or step / d2s eager", STATIC, ["d2s_eager"]),
        *((f"static or step / {name}", STATIC, [name]) for name in GROUPS["peer"]),
        *((f"d2s eager / {name}", ["d2s_eager"], [name]) for name in ("torch_eager", "paddle_dygraph", "autograd")),
    ]
    for label, over, under in pairs:
        ratios = _ratios(results, over, under)
        if ratios:
            mean = math.exp(statistics.fmean(math.log(ratio) for _, ratio in ratios))
            low, high = min(ratios, key=lambda r: r[1]), max(ratios, key=lambda r: r[1])
            lines.append(
                f"{label:32s} geometric mean {mean:.2f} of {len(ratios)}, "
                f"{low[1]:.2f} ({low[0]}) to {high[1]:.2f} ({high[0]})")
    if all(_ran(results.get(workload, {}), "d2s_step") for workload in ("mlphook", "mlp64")):
        ratio = step_time(results["mlphook"]["d2s_step"]) / step_time(results["mlp64"]["d2s_step"])
        lines.append(f"{'step with hooks / without':32s} {ratio:.2f}")
    ahead = [
        workload for workload, rows in results.items() if _ran(rows, "torch_compile")
        for name in STATIC if _ran(rows, name) and first_steps(rows[name]) < first_steps(rows["torch_compile"])
    ]
    compiled = [workload for workload, rows in results.items() if _ran(rows, "torch_compile")]
    if compiled:
        lines.append(
            f"first 100 steps with compilation, faster than torch.compile: {len(set(ahead))} of {len(compiled)}")
    return "\n".join(lines)


def machine(python: str, threads: int, cpu_time: bool) -> dict[str, Any]:
    """What the figures depend on."""
    code = (
        "import importlib.metadata as m, json, platform\n"
        f"found = {{'python': platform.python_version()}}\n"
        f"for name in {PACKAGES!r}:\n"
        "    try: found[name] = m.version(name)\n"
        "    except m.PackageNotFoundError: pass\n"
        "print(json.dumps(found))")
    versions = json.loads(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)
    return {
        "processor": _processor(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}",
        "threads": threads, "cpu_time": cpu_time, "versions": versions,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "variables": {
            name: value for name, value in sorted(os.environ.items())
            if name.startswith(("OPENBLAS_", "OMP_", "MKL_", "KMP_", "GOTO_"))
        },
    }


def _processor() -> str:
    """Name of the processor and its widest vector instructions, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown"
    entries = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    flags = entries.get("flags", "").split()
    widest = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return " ".join(filter(None, (entries.get("model name", platform.machine()), widest)))


def described(found: dict[str, Any]) -> str:
    """The machine in a sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    text = f"{found['processor']}, {found['cores']} cores, {found['system']}; {versions}"
    if found["threads"]:
        text += f"; {found['threads']} thread(s) each"
    if found["variables"]:
        text += "; " + " ".join(f"{name}={value}" for name, value in found["variables"].items())
    if found["load"] is not None and found["load"] > 0.5:
        text += f"; load at the start {found['load']:.1f}"
    return text


def without_paths(arguments: list[str]) -> list[str]:
    """The arguments without those that name files of one machine."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        name, _, value = argument.partition("=")
        if skip:
            skip = False
        elif name in ("--python", "--json", "--update"):
            skip = not value
        else:
            kept.append(argument)
    return kept


def _grid(results: Results, names: list[str], cell: Any) -> list[str]:
    lines = [f"| | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for workload, rows in results.items():
        cells = [cell(rows, name) if name in rows else "" for name in names]
        lines.append(f"| {workload} | {' | '.join(cells)} |")
    return lines


def markdown(command: str, found: dict[str, Any], results: Results) -> str:
    """All figures as Markdown."""
    names = [name for name in IMPLEMENTATIONS if any(name in rows for rows in results.values())]
    compiling = [name for name in names if IMPLEMENTATIONS[name].compiles]
    clock = "CPU time" if found["cpu_time"] else "Time"

    def time_cell(rows: dict[str, Row], name: str) -> str:
        if not _ran(rows, name):
            return "fails" if "error" in rows[name] else "wrong"
        text = duration(step_time(rows[name]))
        return f"**{text}**" if name == best_peer(rows) else text

    def ratio_cell(rows: dict[str, Row], name: str) -> str:
        best = best_peer(rows)
        if best is None or not _ran(rows, name):
            return ""
        return f"{step_time(rows[name]) / step_time(rows[best]):.2f}"

    def first_cell(rows: dict[str, Row], name: str) -> str:
        return duration(rows[name]["first_cpu"]) if _ran(rows, name) else ""

    def memory_cell(rows: dict[str, Row], name: str) -> str:
        return f"{rows[name]['memory']:.0f}" if _ran(rows, name) else ""

    return "\n".join([
        f"`{command}`", "", f"{described(found)}.", "",
        f"{clock} of a step, median of interleaved rounds (bold: the fastest other library):", "",
        *_grid(results, names, time_cell), "",
        "As a multiple of the fastest other library (below 1: faster than all of them):", "",
        *_grid(results, [name for name in names if IMPLEMENTATIONS[name].role != "peer"], ratio_cell), "",
        "CPU time of the first call (tracing or compiling, and the first result):", "",
        *_grid(results, compiling, first_cell), "",
        "Peak memory of the process in MB, libraries included:", "",
        *_grid(results, names, memory_cell), "",
        "```", summary(results), "```",
    ])


def update(path: Path, command: str, found: dict[str, Any], results: Results) -> None:
    """Replace what is between the markers of a Markdown file."""
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path} has no markers {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n{markdown(command, found, results)}\n{END}{after}")


