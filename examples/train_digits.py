"""Train a two-layer network on scikit-learn's digits, eager and static, and check that both agree.

    python examples/train_digits.py [--epochs N] [--seed N]

The network has two gradient hooks: one on a parameter, registered once in ``__init__``, and one on an intermediate
tensor, registered in ``forward`` on the line after the tensor was used.  It is trained twice from the same seed,
the second time through ``to_static(layer)``.  All gradients and all hook calls of both runs are compared; the exit
status is 1 if they differ.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass, field

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import d2s as paddle
from d2s import io, nn, optimizer


@dataclass
class Run:
    """What one training leaves: the hook calls and gradients of every step, and how it went."""

    mode: str
    hook_calls: list[tuple[str, np.ndarray]] = field(default_factory=list)
    gradients: list[tuple[str, np.ndarray]] = field(default_factory=list)
    step_seconds: list[float] = field(default_factory=list)
    accuracy: float = 0.0


class DigitsNet(nn.Layer):
    """64 pixels, 64 hidden units, 10 classes, and a hook on each of two gradients."""

    def __init__(self, run: Run):
        super().__init__()
        self.run = run
        self.hidden = nn.Linear(64, 64)
        self.output = nn.Linear(64, 10)
        self.hidden.weight.register_hook(self.decay)

    def forward(self, images):
        features = nn.functional.relu(self.hidden(images))
        scores = self.output(features)
        features.register_hook(self.soften)
        return scores

    def decay(self, gradient):
        """Add the gradient of an L2 penalty on the hidden weight."""
        self.run.hook_calls.append(("hidden.weight", gradient.numpy()))
        return gradient + 1e-4 * self.hidden.weight

    def soften(self, gradient):
        """Bend large gradients of the features, element by element, so that none is above 0.05."""
        self.run.hook_calls.append(("features", gradient.numpy()))
        return 0.05 * paddle.tanh(gradient / 0.05)


def load_data(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images, test images, training labels, test labels; pixels scaled to [0, 1]."""
    digits = load_digits()
    images = (digits.data / 16).astype("float32")
    return train_test_split(images, digits.target, test_size=0.25, random_state=seed, stratify=digits.target)


def accuracy_of(net: nn.Layer, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of the images that the network classifies right."""
    net.eval()
    # Not under `no_grad`: forward registers a hook, and a tensor without history takes none.
    predicted = net(paddle.to_tensor(images)).argmax(axis=1).numpy()
    net.train()
    return float((predicted == labels).mean())


def train(mode: str, epochs: int, seed: int, data: tuple[np.ndarray, ...], progress: tqdm) -> Run:
    """Train a new network and record every step."""
    train_images, test_images, train_labels, test_labels = data
    paddle.seed(seed)
    run = Run(mode)
    net = DigitsNet(run)
    if mode == "static":
        net = paddle.to_static(net)
    loss_function = nn.CrossEntropyLoss()
    adam = optimizer.Adam(learning_rate=0.005, parameters=net.parameters())
    loader = io.DataLoader(io.TensorDataset([train_images, train_labels]), batch_size=32, shuffle=True, drop_last=True)

    for epoch in range(epochs):
        losses = []
        for images, labels in loader():
            begin = time.perf_counter()
            loss = loss_function(net(images), labels)
            loss.backward()
            seconds = time.perf_counter() - begin
            run.gradients.extend((name, parameter.grad.numpy()) for name, parameter in net.named_parameters())
            begin = time.perf_counter()
            adam.step()
            adam.clear_grad()
            run.step_seconds.append(seconds + time.perf_counter() - begin)
            losses.append(loss.item())
        run.accuracy = accuracy_of(net, test_images, test_labels)
        progress.write(
            f"{mode:>6}  epoch {epoch + 1:2d}  loss {statistics.mean(losses):.4f}  test accuracy {run.accuracy:.2%}",
            file=sys.stdout,
        )
        progress.update()
    return run


def differences(what: str, first: list[tuple[str, np.ndarray]], second: list[tuple[str, np.ndarray]]) -> list[str]:
    """How two records of named arrays differ, as text; empty if they agree."""
    if [name for name, _ in first] != [name for name, _ in second]:
        return [f"{what}: {len(first)} against {len(second)}, or in another order"]
    found = []
    for place, ((name, a), (_, b)) in enumerate(zip(first, second, strict=True)):
        # Not close: the same, to the bit.
        if not np.array_equal(a, b):
            found.append(f"{what}: number {place} ({name}) differs")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=15, help="passes over the training images (default 15)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order of images, and split (default 0)")
    options = parser.parse_args()

    data = load_data(options.seed)
    with tqdm(total=2 * options.epochs, unit="epoch", leave=False, disable=None) as progress:
        eager, static = (train(mode, options.epochs, options.seed, data, progress) for mode in ("eager", "static"))

    times = {run.mode: statistics.median(run.step_seconds) for run in (eager, static)}
    print(
        f"median step: eager {times['eager'] * 1e3:.3f} ms, static {times['static'] * 1e3:.3f} ms, "
        f"static/eager {times['static'] / times['eager']:.2f}"
    )
    found = differences("gradients", eager.gradients, static.gradients)
    found += differences("hook calls", eager.hook_calls, static.hook_calls)
    if found:
        print(f"THE MODES DIFFER in {len(found)} places, first {found[0]}")
        return 1
    print(f"the modes agree: {len(eager.gradients)} gradients and {len(eager.hook_calls)} hook calls compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
