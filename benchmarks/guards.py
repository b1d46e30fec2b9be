"""What it costs to see that a compiled Program may be used again, by what the trace has read.

``python -m benchmarks.guards`` prints microseconds for one check with no, 16 and 116 guarded reads, and nanoseconds for
each further one.  The aim is 5 us up to 16 reads and 50 ns for each further one.
"""

from __future__ import annotations

import linecache
import timeit
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import d2s

COUNTS = (0, 16, 116)

# What is read, and how the function uses it.
READS: dict[str, tuple[Callable[[int], Any], str]] = {
    "float attributes": (lambda i: i + 0.5, "z = z * box.a{i}"),
    "int attributes": (lambda i: i, "z = z * box.a{i}"),
    "text attributes": (str, "z = z if box.a{i} else z + 1"),
    "objects": (lambda i: SimpleNamespace(), "box.a{i}"),
    "tensors": (lambda i: d2s.to_tensor([1.0, 2.0]), "z = z * box.a{i}"),
}


def checked(kind: str, count: int) -> Callable[[], bool]:
    """The check of a function that reads `count` attributes of this kind."""
    value, line = READS[kind]
    box = SimpleNamespace(**{f"a{i}": value(i) for i in range(count)})
    body = [f"    {line.format(i=i)}\n" for i in range(count)]
    text = ["def f(z):\n", *body, "    return z + 1\n"]
    file = f"<benchmark {kind} {count}>"
    linecache.cache[file] = (sum(map(len, text)), None, text, file)
    namespace: dict[str, Any] = {"box": box}
    exec(compile("".join(text), file, "exec"), namespace)
    static, x = d2s.jit.to_static(namespace["f"]), d2s.to_tensor([1.0, 2.0])
    program, args = static.get_concrete_program(x), {"z": x}
    assert program.matches(args)
    return lambda: program.matches(args)


def checked_layers(count: int) -> Callable[[], bool]:
    """The check of a tree of `count` Linear layers: one version number."""
    net = d2s.nn.Sequential(*(d2s.nn.Linear(2, 2) for _ in range(count)))
    static, x = d2s.jit.to_static(lambda z: net(z)), d2s.to_tensor([[1.0, 2.0]])
    program, args = static.get_concrete_program(x), {"z": x}
    assert program.matches(args)
    return lambda: program.matches(args)


def microseconds(check: Callable[[], bool], number: int = 20) -> float:
    """Time of one check, the best of many short tries: others use the machine too."""
    return min(timeit.repeat(check, number=number, repeat=3000)) / number * 1e6


def main() -> None:
    """Print the table."""
    print(f"{'read':<18}" + "".join(f"{count:>8} us" for count in COUNTS) + "   further, ns")
    for kind in READS:
        times = [microseconds(checked(kind, count)) for count in COUNTS]
        further = (times[2] - times[1]) / (COUNTS[2] - COUNTS[1]) * 1e3
        print(f"{kind:<18}" + "".join(f"{time:>11.2f}" for time in times) + f"{further:>14.0f}")
    times = [microseconds(checked_layers(count)) for count in COUNTS[1:]]
    further = (times[1] - times[0]) / (COUNTS[2] - COUNTS[1]) * 1e3
    print(f"{'Linear layers':<18}{'':>11}" + "".join(f"{time:>11.2f}" for time in times) + f"{further:>14.0f}")


if __name__ == "__main__":
    main()
