"""What hooks cost: a hook that returns its argument, in eager mode and in a static training step.

Run it with ``python -m benchmarks.hooks``.  Rounds with and without hooks take turns, so the ratio is one of the same
minute; times are CPU times of this process.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import d2s

# Operators of the eager graph, each result with a hook of its own.
CHAIN = 100


def same(g: Any) -> Any:
    """The hook that is measured."""
    return g


def chain(hooked: bool) -> Callable[[], None]:
    """Backward through a chain of multiplications, as a function to be timed."""
    x = d2s.to_tensor(np.ones(4, "float32"), stop_gradient=False)
    y = x
    for _ in range(CHAIN):
        y = y * 1.0
        if hooked:
            y.register_hook(same)
    seed = d2s.ones([4])
    return lambda: y.backward(seed, retain_graph=True)


def calls() -> None:
    """As many plain calls of the hook as one backward of the chain makes."""
    for _ in range(CHAIN):
        same(None)


def training_step(hooks: int) -> Callable[[], None]:
    """A static training step of a perceptron 784-256-10 on 64 rows, with 0, 1 or 2 hooks."""
    generator = np.random.default_rng(0)

    def tensor(*shape: int, trained: bool = True) -> Any:
        return d2s.to_tensor((generator.standard_normal(shape) * 0.05).astype("float32"), stop_gradient=not trained)

    w1, b1, w2, b2 = tensor(784, 256), tensor(256), tensor(256, 10), tensor(10)
    x, labels = tensor(64, 784, trained=False), d2s.to_tensor(generator.integers(0, 10, 64))

    @d2s.to_static
    def loss_of(x: Any, labels: Any) -> Any:
        hidden = d2s.nn.functional.relu(x @ w1 + b1)
        if hooks > 0:
            hidden.register_hook(same)
        return d2s.nn.functional.cross_entropy(hidden @ w2 + b2, labels)

    if hooks > 1:
        w1.register_hook(same)
    optimizer = d2s.optimizer.SGD(learning_rate=1e-3, parameters=[w1, b1, w2, b2])

    def step() -> None:
        loss_of(x, labels).backward()
        optimizer.step()
        optimizer.clear_grad()

    return step


def measured(actions: list[Callable[[], None]], number: int, rounds: int) -> list[list[float]]:
    """Seconds of one run of each action, in each round; the actions take turns."""
    times: list[list[float]] = [[] for _ in actions]
    for turn in range(rounds + 1):
        for action, found in zip(actions, times, strict=True):
            begin = time.process_time()
            for _ in range(number):
                action()
            if turn:
                found.append((time.process_time() - begin) / number)
    return times


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with_hooks, without, plain = measured([chain(True), chain(False), calls], 50, rounds)
    extra = [(a - b - c) / CHAIN * 1e6 for a, b, c in zip(with_hooks, without, plain, strict=True)]
    print(f"eager: a hook adds {statistics.median(extra):.2f} us to a plain call of it (aim: 3)")
    hooked, bare = measured([training_step(2), training_step(0)], 100, rounds)
    ratios = [a / b for a, b in zip(hooked, bare, strict=True)]
    print(f"static step with two hooks / without: {statistics.median(ratios):.3f} (aim: 1.1)")
    print(f"  {statistics.median(hooked) * 1e6:.0f} us / {statistics.median(bare) * 1e6:.0f} us")


if __name__ == "__main__":
    main()
