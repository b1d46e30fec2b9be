"""Regression on scikit-learn's diabetes table; hooks clip each gradient and add noise, against overfitting.

    python examples/regression_diabetes.py
"""

from __future__ import annotations

import numpy as np
from both_modes import Run, compare
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import d2s as paddle
from d2s import io, nn, optimizer


def load_table() -> tuple[np.ndarray, ...]:
    """Ten features and the progression of the disease, both scaled; 342 rows to train on and 100 to test."""
    features, target = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(features))
    features, target = (features[order] * 20).astype("float32"), target[order, None].astype("float32")
    target = (target - target[:342].mean()) / target[:342].std()
    return features[:342], features[342:], target[:342], target[342:]


def clip_and_add_noise(run: Run, name: str, limit: float, noise: float):
    """A hook that scales a gradient down to the length `limit` and adds normal noise (Neelakantan et al., 2015)."""

    def hook(gradient):
        length = paddle.sqrt((gradient * gradient).sum())
        run.note(name, length)
        clipped = gradient * paddle.clip(limit / (length + 1e-12), max=1.0)
        return clipped + noise * paddle.randn(gradient.shape)

    return hook


def train(run: Run) -> None:
    features, test_features, target, test_target = load_table()
    net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    for name, parameter in net.named_parameters():
        parameter.register_hook(clip_and_add_noise(run, name, limit=0.5, noise=0.01))
    loss_function = nn.SmoothL1Loss()
    momentum = optimizer.Momentum(0.02, 0.9, net.parameters(), weight_decay=1e-3)

    def step(rows, answers):
        loss = loss_function(net(rows), answers)
        loss.backward()
        return loss

    step = run.convert(step)
    loader = io.DataLoader(io.TensorDataset([features, target]), batch_size=38, shuffle=True)
    for _epoch in range(40):
        for rows, answers in loader:
            run.losses.append(step(rows, answers).item())
            run.note_gradients(net)
            momentum.step()
            momentum.clear_grad()
    net.eval()
    with paddle.no_grad():
        predicted = run.convert(net)(paddle.to_tensor(test_features)).numpy()
    run.results["R2 of the test"] = 1 - float(((predicted - test_target) ** 2).mean() / test_target.var())
    run.results["R2 of a linear model"] = LinearRegression().fit(features, target).score(test_features, test_target)


if __name__ == "__main__":
    results = compare(train).results
    assert results["R2 of the test"] > 0.9 * results["R2 of a linear model"] > 0.3
