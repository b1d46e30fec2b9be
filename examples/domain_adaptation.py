"""Gradient reversal by a hook: a net that learns digits of one origin, and not to tell where a digit comes from.

    python examples/domain_adaptation.py

Labels are known for scikit-learn's digits only; the net is tested on MNIST's, made as small.  A second head guesses the
origin from the features, and a hook turns its gradient round before it reaches them (Ganin and Lempitsky, 2015).
"""

from __future__ import annotations

import numpy as np
from both_modes import Run, compare
from lenet_mnist import load_mnist
from sklearn.datasets import load_digits

import d2s as paddle
from d2s import nn, optimizer

STEPS, BATCH = 400, 64


def load_both() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pixels and labels of 8 x 8 digits from both origins."""
    digits = load_digits()
    images, labels = load_mnist()
    # 24 x 24 pixels of the middle, each 3 x 3 of them as one.
    small = images[:, 0, 2:26, 2:26].reshape(-1, 8, 3, 8, 3).mean(axis=(2, 4))
    small /= small.max(axis=(1, 2), keepdims=True)
    return (digits.data / 16).astype("float32"), digits.target, small.reshape(-1, 64), labels


class Adapted(nn.Layer):
    """Features, a head for the digit, and a head for the origin behind the reversal."""

    def __init__(self, run: Run, strength: float):
        super().__init__()
        self.run, self.strength = run, strength
        self.features = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.digit = nn.Linear(32, 10)
        self.origin = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, pixels):
        features = self.features(pixels)
        turned = features * 1.0
        origin = self.origin(turned)
        if self.training:
            turned.register_hook(self.turn_round)
        return self.digit(features), origin

    def turn_round(self, gradient):
        self.run.note("origin", gradient)
        return -self.strength * gradient


def train(run: Run) -> None:
    source, source_labels, target, target_labels = load_both()
    loss_function = nn.CrossEntropyLoss()
    origins = paddle.to_tensor(np.repeat([0, 1], BATCH))
    for strength, what in ((0.0, "without"), (0.3, "with")):
        paddle.seed(3)
        generator = np.random.default_rng(1)
        net = Adapted(run, strength)
        adam = optimizer.Adam(0.002, parameters=net.parameters())

        def step(pixels, labels, net=net, adam=adam):
            digit, origin = net(pixels)
            loss = loss_function(digit[:BATCH], labels) + loss_function(origin, origins)
            loss.backward()
            adam.step()
            return loss

        step = run.convert(step)
        for _ in range(STEPS):
            here, there = generator.integers(0, len(source), BATCH), generator.integers(0, 4000, BATCH)
            pixels = np.concatenate([source[here], target[there]])
            run.losses.append(step(paddle.to_tensor(pixels), paddle.to_tensor(source_labels[here])).item())
            run.note_gradients(net)
            adam.clear_grad()
        net.eval()
        with paddle.no_grad():
            guessed = run.convert(net)(paddle.to_tensor(target[4000:]))[0].argmax(axis=1).numpy()
            both = paddle.to_tensor(np.concatenate([source[:1000], target[4000:]]))
            told = run.convert(net)(both)[1].argmax(axis=1).numpy()
        run.results[f"accuracy {what}"] = float((guessed == target_labels[4000:]).mean())
        run.results[f"origin told {what}"] = float((told == np.repeat([0, 1], 1000)).mean())


if __name__ == "__main__":
    results = compare(train).results
    # The features no longer tell the origin, and serve the other one's digits better.
    assert results["origin told with"] < results["origin told without"] - 0.05
    assert results["accuracy with"] > results["accuracy without"]
