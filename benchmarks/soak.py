"""Long runs: memory stays flat and results stay right while shapes, numbers, Layers and threads change.

``python -m benchmarks.soak [steps]`` trains a static Layer for that many steps (100,000 by default) on batches of
changing sizes beside its eager twin, makes and drops converted functions and Layers, and lets 8 threads call and
retrace one function.  It prints a table, and raises an AssertionError where static and eager mode differ.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import d2s
from d2s.static import InputSpec

THREADS = 8
CALLS = 10_000
OBJECTS = 10_000


class Net(d2s.nn.Layer):
    """A small network with a branch on values, a hook, batch normalisation and a counter."""

    def __init__(self) -> None:
        super().__init__()
        self.first = d2s.nn.Linear(4, 8)
        self.norm = d2s.nn.BatchNorm1D(8)
        self.second = d2s.nn.Linear(8, 2)
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        y = self.norm(self.first(x))
        y.register_hook(lambda g: g * g + g)
        if y.sum() > 0:
            y = y * 0.5
        return (self.second(y) ** 2).mean()


def twins() -> list[tuple[Net, Any]]:
    """An eager and a static network with equal parameters, and their optimizers."""
    found = []
    for static in (False, True):
        d2s.seed(0)
        net = Net()
        if static:
            d2s.to_static(net)
        found.append((net, d2s.optimizer.Momentum(0.01, parameters=net.parameters())))
    return found


def batch(step: int) -> Any:
    """Another size in each step."""
    rows = 2 + (step * 7919) % 61
    return np.random.default_rng(step).standard_normal((rows, 4)).astype("float32")


def train(steps: int, check_every: int = 100) -> list[int]:
    """Both twins, every `check_every`-th step compared to the bit; bytes held after each tenth of the steps."""
    (eager, eager_optimizer), (static, static_optimizer) = twins()
    held = []
    tracemalloc.start()
    for step in range(steps):
        array = batch(step)
        losses = []
        for net, optimizer in ((eager, eager_optimizer), (static, static_optimizer)):
            loss = net(d2s.to_tensor(array))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss)
        if step % check_every == 0:
            assert losses[0].numpy().tobytes() == losses[1].numpy().tobytes(), f"step {step}: the losses differ"
        del loss, losses
        if (step + 1) % max(1, steps // 10) == 0:
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    for name, value in eager.state_dict().items():
        assert value.numpy().tobytes() == static.state_dict()[name].numpy().tobytes(), f"{name} differs"
    assert static.calls == eager.calls == steps
    return held


def come_and_go(make: Callable[[int], Any], count: int) -> list[int]:
    """Blocks of memory that Python holds after each fifth of `count` objects were made, called and dropped.

    Blocks, not bytes: while it counts bytes, Python itself keeps the name of every file of code, also of generated.
    """
    x = d2s.ones([2, 4])
    held = []
    for number in range(1, count + 1):
        make(number)(x)
        if number % (count // 5) == 0:
            gc.collect()
            held.append(sys.getallocatedblocks())
    return held


def made_function(number: int) -> Any:
    scale = float(number)
    return d2s.to_static(lambda x: (x * scale).sum())


def made_layer(number: int) -> Any:
    return d2s.to_static(d2s.nn.Linear(4, 2))


def threads(calls: int) -> int:
    """8 threads call one function with sizes and numbers that make it trace again; how often it was traced."""

    def original(x: Any, k: int, name: str) -> Any:
        y = x * k + len(name)
        y.register_hook(lambda g: g + k)
        return (y * y if y.sum() > 0 else y).sum()

    static = d2s.to_static(original)
    cases = [(rows, k, name) for rows in range(1, 6) for k in (1, 2, 3) for name in ("a", "bb")]

    def outcome(function: Any, case: tuple[int, int, str]) -> tuple[float, bytes]:
        rows, k, name = case
        x = d2s.to_tensor(np.arange(rows) - 1.0, stop_gradient=False)
        result = function(x, k, name)
        result.backward()
        return result.item(), x.grad.numpy().tobytes()

    expected = {case: outcome(original, case) for case in cases}
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(len(cases), size=calls // THREADS):
            try:
                found = outcome(static, cases[number])
            except Exception as error:
                wrong.append(error)
                return
            if found != expected[cases[number]]:
                wrong.append(cases[number])

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    with warnings.catch_warnings():
        # In some orders of the calls there are many traces, and a word about that.
        warnings.simplefilter("ignore", RuntimeWarning)
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not wrong, wrong[:3]
    return static.program_cache.traces


def one_trace(steps: int) -> int:
    """How often a function with an InputSpec is traced over `steps` sizes."""
    static = d2s.to_static(lambda x: (x * 2).sum(), input_spec=[InputSpec([None, 4])])
    for rows in range(2, 2 + steps):
        static(d2s.ones([rows, 4]))
    return int(static.program_cache.traces)


def main() -> None:
    """Print the table."""
    warnings.filterwarnings("ignore", ".* has been traced .* times", RuntimeWarning)
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    share = steps / 100_000

    def scaled(count: int) -> int:
        return max(100, int(count * share))

    begin = time.perf_counter()
    held = train(steps)
    print(f"{steps} steps: KiB held after each tenth: {', '.join(str(part >> 10) for part in held)}", flush=True)
    for name, make in (("functions", made_function), ("layers", made_layer)):
        count = scaled(OBJECTS)
        blocks = ", ".join(map(str, come_and_go(make, count)))
        print(f"{count} {name} made, called and dropped: blocks held after each fifth: {blocks}", flush=True)
    calls = scaled(CALLS)
    print(f"{calls} calls from {THREADS} threads: equal to eager, traced {threads(calls)} times", flush=True)
    print(f"500 sizes under InputSpec([None, 4]): traced {one_trace(500)} times")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
