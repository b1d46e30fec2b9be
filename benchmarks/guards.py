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
    return d2s.jit.to_static(function_of(kind, count, "f(z)", body, {"box": box}))


def function_of(kind: str, count: int, head: str, body: list[str], namespace: dict[str, Any]) -> Any:
    """A function that is made of text."""
    text = [f"def {head}:\n", *body, "    return z + 1\n"]
    file = f"<benchmark {kind} {count}>"
    linecache.cache[file] = (sum(map(len, text)), None, text, file)
    exec(compile("".join(text), file, "exec"), namespace)
    return namespace[head.partition("(")[0]]


def static_layers(make: Callable[[], Any], count: int) -> Any:
    """A static function that calls a tree of `count` layers."""
    net = d2s.nn.Sequential(*(make() for _ in range(count)))
    return d2s.jit.to_static(lambda z: net(z))


class Scaled(d2s.nn.Layer):
    """A Layer of the user that reads one attribute of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.5

    def forward(self, z: Any) -> Any:
        return z * self.scale


# Trees of layers: with two parameters each, with nothing, with settings of d2s (six read), with one of the user.
LAYERS: dict[str, Callable[[], Any]] = {
    "Linear layers": lambda: d2s.nn.Linear(2, 2),
    "ReLU layers": d2s.nn.ReLU,
    "Dropout layers": lambda: d2s.nn.Dropout(0.0),
    "layers of the user": Scaled,
}


def static_attributes(count: int) -> Any:
    """A Layer of which `forward` reads `count` plain attributes."""
    body = [f"    z = z * self.a{i}\n" for i in range(count)]
    forward = function_of("attributes of a Layer", count, "forward(self, z)", body, {})
    net = type("Net", (d2s.nn.Layer,), {"forward": forward})()
    vars(net).update({f"a{i}": i + 0.5 for i in range(count)})
    return d2s.jit.to_static(net.forward)


def look_and_call(static: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The look whether the Program may be used again, and a call of which the Program does nothing."""
    x = d2s.to_tensor([[1.0, 2.0]])
    static(x)
    program, args = static.concrete_program, {"z": x}
    if static.class_instance is not None:
        args["self"] = static.class_instance
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
    return f"{name:<22}{columns}"


def main() -> None:
    """Print the table."""
    counts = "".join(f"{count:>6} us" for count in COUNTS) + "  further, ns"
    print(f"{'':<22}{'look':>{len(counts)}}{'whole call':>{len(counts)}}\n{'read':<22}{counts}{counts}")
    for kind in READS:
        print(row(kind, lambda count, kind=kind: static_function(kind, count)))
    print(row("attributes of a Layer", static_attributes))
    for name, make in LAYERS.items():
        print(row(name, lambda count, make=make: static_layers(make, count), COUNTS[1:]))


if __name__ == "__main__":
    main()
