"""What a call costs before its Program runs, by what the trace has read.

``python -m benchmarks.guards`` prints microseconds with no, 16 and 116 guarded reads, and nanoseconds for each further
one: for the look whether the Program may be used again, and for a whole call of a Program that does nothing.  The aim
for the call is 5 us up to 16 reads and 50 ns for each further one.
"""

from __future__ import annotations

import linecache
import time
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


def static_function(kind: str, count: int) -> Any:
    """A static function of a tensor that reads `count` attributes of this kind."""
    value, line = READS[kind]
    box = SimpleNamespace(**{f"a{i}": value(i) for i in range(count)})
    body = [f"    {line.format(i=i)}\n" for i in range(count)]
    text = ["def f(z):\n", *body, "    return z + 1\n"]
    file = f"<benchmark {kind} {count}>"
    linecache.cache[file] = (sum(map(len, text)), None, text, file)
    namespace: dict[str, Any] = {"box": box}
    exec(compile("".join(text), file, "exec"), namespace)
    return d2s.jit.to_static(namespace["f"])


def static_layers(count: int) -> Any:
    """A static function that calls a tree of `count` Linear layers: one version number."""
    net = d2s.nn.Sequential(*(d2s.nn.Linear(2, 2) for _ in range(count)))
    return d2s.jit.to_static(lambda z: net(z))


def look_and_call(static: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The look whether the Program may be used again, and a call of which the Program does nothing."""
    x = d2s.to_tensor([[1.0, 2.0]])
    static(x)
    program, args = static.concrete_program, {"z": x}
    assert program.matches(args)
    program.traced.compiled.forward = lambda run, *objects: run
    return lambda: program.matches(args), lambda: static(x)


def microseconds(action: Callable[[], Any], number: int = 20) -> float:
    """CPU time of one, the best of many short tries: others use the machine too."""
    return min(timeit.repeat(action, timer=time.process_time, number=number, repeat=3000)) / number * 1e6


def row(name: str, make: Callable[[int], Any], counts: tuple[int, ...] = COUNTS) -> str:
    """One line of the table."""
    columns = ""
    for actions in zip(*(look_and_call(make(count)) for count in counts), strict=True):
        times = [microseconds(action) for action in actions]
        further = (times[-1] - times[-2]) / (counts[-1] - counts[-2]) * 1e3
        columns += " " * 9 * (len(COUNTS) - len(counts)) + "".join(f"{one:>9.2f}" for one in times)
        columns += f"{further:>13.0f}"
    return f"{name:<18}{columns}"


def main() -> None:
    """Print the table."""
    counts = "".join(f"{count:>6} us" for count in COUNTS) + "  further, ns"
    print(f"{'':<18}{'look':>{len(counts)}}{'whole call':>{len(counts)}}\n{'read':<18}{counts}{counts}")
    for kind in READS:
        print(row(kind, lambda count, kind=kind: static_function(kind, count)))
    print(row("Linear layers", static_layers, COUNTS[1:]))


if __name__ == "__main__":
    main()
