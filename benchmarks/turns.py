"""``python -m benchmarks.turns``: loops of many turns on a scalar, and how long conversion takes.

A loop keeps what backward needs in each turn: time and memory have to grow with the turns, not faster.
"""

from __future__ import annotations

import configparser
import difflib
import gc
import inspect
import statistics
import time
import tracemalloc
from collections.abc import Callable
from types import FunctionType
from typing import Any

import d2s
from d2s.transpiler import DEFAULT_PASSES, JIT_PASSES, convert

TURNS = (2_500, 5_000, 10_000, 20_000)
FUNCTIONS: tuple[Any, ...] = (
    difflib.SequenceMatcher.find_longest_match, configparser.RawConfigParser._read,  # type: ignore[attr-defined]
    difflib.Differ._fancy_replace,  # type: ignore[attr-defined]
)


def loop(x: Any, turns: Any) -> Any:
    """A loop of which only the run knows the turns."""
    i = turns * 0
    while i < turns:
        x = x * 1.0001 + 0.001
        i = i + 1
    return x


def seconds(action: Callable[[], object], rounds: int = 5) -> float:
    """Median CPU time of an action, garbage collected before each."""
    found = []
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return statistics.median(found)


def kept(static: Callable[..., Any], x: Any, turns: Any) -> int:
    """Bytes that a run keeps until its backward."""
    gc.collect()
    tracemalloc.start()
    result = static(x, turns)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del result
    return size


def main() -> None:
    """Print both tables."""
    static = d2s.jit.to_static(loop)
    print(f"{'turns':>7}{'eager ms':>10}{'static ms':>11}{'ratio':>7}{'bytes per turn':>16}")
    for count in TURNS:
        x, turns = d2s.to_tensor(1.0, stop_gradient=False), d2s.to_tensor(count)
        static(x, turns).backward()
        eager, compiled = (
            seconds(lambda f=f, x=x, turns=turns: f(x, turns).backward()) for f in (loop, static))  # type: ignore[misc]
        size = kept(static, x, turns)
        print(f"{count:>7}{1e3 * eager:>10.0f}{1e3 * compiled:>11.0f}{eager / compiled:>7.1f}{size / count:>16.0f}")
    print(f"\n{'function':<36}{'lines':>6}{'default passes ms':>19}{'for tracing ms':>16}")
    for function in FUNCTIONS:
        assert isinstance(function, FunctionType)
        plain = seconds(lambda f=function: convert(f, DEFAULT_PASSES))  # type: ignore[misc]
        traced = seconds(lambda f=function: convert(f, JIT_PASSES, instrument=True))  # type: ignore[misc]
        lines = len(inspect.getsourcelines(function)[0])
        print(f"{function.__qualname__:<36}{lines:>6}{1e3 * plain:>19.0f}{1e3 * traced:>16.0f}")


if __name__ == "__main__":
    main()
