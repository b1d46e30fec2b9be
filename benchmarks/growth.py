"""How the time of a static training step grows with the depth of a network and the length of a sequence.

    python -m benchmarks.growth

Prints CPU seconds of the first call, of a step, and of a step in eager mode; with the ratio to what the line before
would give if all were proportional to the size.  Then how the time of the first call grows with the number of
operators.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import d2s
from benchmarks.implementations.with_d2s import lstm_turn

DEPTHS = (2, 8, 32, 128)
LENGTHS = (8, 32, 128, 512)
TURNS = (70, 700, 7000)


def mlp(depth: int) -> Callable[[], Any]:
    """A training step of a perceptron of `depth` layers of 64 units, on 32 rows."""
    r = np.random.default_rng(0)
    weights = [
        d2s.to_tensor((r.standard_normal((64, 64)) / 8).astype("float32"), stop_gradient=False) for _ in range(depth)]
    x = d2s.to_tensor(r.standard_normal((32, 64)).astype("float32"))
    optimizer = d2s.optimizer.SGD(1e-3, parameters=weights)

    def step() -> Any:
        h = x
        for weight in weights:
            h = d2s.tanh(d2s.matmul(h, weight))
        loss = (h * h).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def recurrent(length: int) -> Callable[[], Any]:
    """A training step of an LSTM of 64 units over `length` turns, batch 32."""
    r = np.random.default_rng(0)
    w, u = (
        d2s.to_tensor((r.standard_normal((64, 256)) / 8).astype("float32"), stop_gradient=False) for _ in range(2))
    b = d2s.to_tensor(np.zeros(256, "float32"), stop_gradient=False)
    x = d2s.to_tensor(r.standard_normal((length, 32, 64)).astype("float32"))
    optimizer = d2s.optimizer.SGD(1e-3, parameters=[w, u, b])

    def step() -> Any:
        h, c = d2s.zeros([32, 64]), d2s.zeros([32, 64])
        for turn in range(length):
            h, c = lstm_turn(d2s.matmul(x[turn], w) + d2s.matmul(h, u) + b, c)
        loss = (h * h).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def unrolled(turns: int) -> Callable[[], Any]:
    """Forward and backward of a loop that is unrolled: 15 operators a turn."""
    w, x = d2s.full([4, 4], 0.1), d2s.ones([2, 4])
    w.stop_gradient = False

    def step() -> Any:
        h = x
        for _ in range(turns):
            h = d2s.tanh(d2s.matmul(h, w) + h * 0.5)
            h = h + x * 0.1
        loss = h.sum()
        loss.backward()
        w.clear_gradient()
        return loss

    return step


def compile_times(sizes: tuple[int, ...] = TURNS) -> str:
    """For loops of so many turns: operators of the Program with its backward, and CPU time of the first call."""
    lines = [f"{'turns':>8s} {'operators':>12s} {'first call':>12s} {'an operator':>14s}"]
    for turns in sizes:
        static = d2s.to_static(unrolled(turns))
        # What was made before is not looked through for garbage in the time of this.
        gc.collect()
        start = time.process_time()
        static()
        first = time.process_time() - start
        program = static.main_program
        assert program.backward is not None
        count = sum(1 for part in (program, program.backward) for _ in part.all_operators())
        lines.append(f"{turns:8d} {count:12d} {first:10.2f} s {first / count * 1e6:11.0f} us")
    return "\n".join(lines)


def seconds(function: Callable[[], Any], repeats: int = 5, least: float = 0.05) -> float:
    """CPU seconds of a call: the least of some rounds."""
    found = []
    for _ in range(repeats):
        count, start = 0, time.process_time()
        while time.process_time() - start < least / repeats or not count:
            function()
            count += 1
        found.append((time.process_time() - start) / count)
    return min(found)


def measured(make: Callable[[int], Callable[[], Any]], sizes: tuple[int, ...]) -> list[tuple[int, float, float, float]]:
    """For each size: CPU seconds of the first call, of a static step, and of an eager one."""
    rows = []
    for size in sizes:
        static = d2s.to_static(make(size))
        gc.collect()
        start = time.process_time()
        static()
        first = time.process_time() - start
        static()
        rows.append((size, first, seconds(static), seconds(make(size))))
    return rows


def table(title: str, rows: list[tuple[int, float, float, float]]) -> str:
    """The rows as text."""
    lines = [f"{title:>8s} {'first call':>12s} {'step':>12s} {'eager':>12s} {'eager / step':>13s}  growth of the step"]
    for number, (size, first, step, eager) in enumerate(rows):
        growth = ""
        if number:
            before, _, step_before, _ = rows[number - 1]
            growth = f"{step / step_before / (size / before):.2f} of proportional"
        lines.append(
            f"{size:8d} {first * 1e3:9.1f} ms {step * 1e3:9.3f} ms {eager * 1e3:9.3f} ms {eager / step:13.2f}  "
            f"{growth}")
    return "\n".join(lines)


def main() -> None:
    seconds(d2s.to_static(mlp(1)))
    print(table("layers", measured(mlp, DEPTHS)))
    print(table("turns", measured(recurrent, LENGTHS)))
    print(compile_times())


if __name__ == "__main__":
    main()
