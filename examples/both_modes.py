"""What the examples share: train in eager and in static mode from the same seed, and compare everything, to the bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import d2s as paddle
from d2s import nn


@dataclass
class Run:
    """What one training leaves.

    Attributes
    ----------
    mode : {"eager", "static"}
    record : list of (str, ndarray)
        Hook calls and gradients, in order.
    losses : list of float
    seconds : float
    results : dict of str to float
        What the training has achieved.
    """

    mode: str
    record: list[tuple[str, np.ndarray]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    results: dict[str, float] = field(default_factory=dict)

    def convert(self, function: Callable) -> Callable:
        """`function` as it is called in this mode."""
        return paddle.to_static(function) if self.mode == "static" else function

    def note(self, name: str, tensor: paddle.Tensor) -> None:
        """Put a tensor into the record."""
        self.record.append((name, tensor.numpy()))

    def note_gradients(self, net: nn.Layer) -> None:
        """Put the gradients of all parameters into the record."""
        for name, parameter in net.named_parameters():
            self.note(f"gradient of {name}", parameter.grad)


def compare(train: Callable[[Run], None], seed: int = 0) -> Run:
    """Train twice, print what came out, and assert that both modes agree; gives the static run."""
    runs = []
    for mode in ("eager", "static"):
        paddle.seed(seed)
        run = Run(mode)
        begin = time.perf_counter()
        train(run)
        run.seconds = time.perf_counter() - begin
        results = ", ".join(f"{name} {value:.4g}" for name, value in run.results.items())
        print(f"{mode:>6}: {len(run.losses)} steps in {run.seconds:.1f} s, loss {run.losses[0]:.4f} -> "
              f"{run.losses[-1]:.4f}; {results}")  # fmt: skip
        runs.append(run)
    eager, static = runs
    assert eager.losses == static.losses, "the losses differ"
    assert eager.results == static.results, "the results differ"
    assert [name for name, _ in eager.record] == [name for name, _ in static.record], "the hook calls differ"
    for (name, one), (_, other) in zip(eager.record, static.record, strict=True):
        assert np.array_equal(one, other), f"{name} differs"
    print(f"the modes agree: {len(eager.record)} gradients and hook calls compared")
    return static
