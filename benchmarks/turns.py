"""``python -m benchmarks.turns``: loops of many turns on a scalar, and how long conversion takes.

A loop keeps what backward needs in each turn: time and memory have to grow with the turns, not faster.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import d2s
from d2s.transpiler import DEFAULT_PASSES, JIT_PASSES, convert

TURNS = (2_500, 5_000, 10_000, 20_000)
# Modules of the standard library, from which functions of 90 to 110 lines are taken.
MODULES = ("argparse", "ast", "calendar", "csv", "dataclasses", "difflib", "doctest", "enum", "fractions", "inspect",
           "ipaddress", "mailbox", "pdb", "plistlib", "smtplib", "subprocess", "tarfile", "textwrap", "tokenize",
           "typing", "zipfile")


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
    found = [function for module in map(importlib.import_module, MODULES) for function in long_functions(module)]
    ways = {
        "transpile": lambda f: convert(f, DEFAULT_PASSES), "with hooks moved": lambda f: convert(f, JIT_PASSES),
        "for tracing": lambda f: convert(f, JIT_PASSES, instrument=True),
        "again": lambda f: convert(f.__wrapped__, DEFAULT_PASSES),
    }
    print(f"\n{len(found)} functions of 90 to 110 lines{'median ms':>12}{'slowest ms':>12}")
    for way, action in ways.items():
        times = [seconds(lambda f=function, act=action: act(anew(f))) for function in found]  # type: ignore[misc]
        print(f"{way:<32}{1e3 * statistics.median(times):>10.2f}{1e3 * max(times):>12.2f}")


def long_functions(module: Any) -> Iterator[FunctionType]:
    """Functions and methods of 90 to 110 lines, written in this module."""
    for owner in [module, *(cls for cls in vars(module).values() if isinstance(cls, type))]:
        for value in vars(owner).values():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__ == owner_module(owner):
                with contextlib.suppress(OSError):  # made by exec
                    if 90 <= len(inspect.getsourcelines(value)[0]) <= 110:
                        yield value


def owner_module(owner: Any) -> str:
    """The name of a module, or of the module of a class."""
    return str(owner.__module__ if isinstance(owner, type) else owner.__name__)


def anew(function: FunctionType) -> FunctionType:
    """The function with a code object of its own: conversions are kept by code object."""
    copy = FunctionType(function.__code__.replace(), function.__globals__, closure=function.__closure__)
    copy.__dict__["__wrapped__"] = function
    return copy


if __name__ == "__main__":
    main()
