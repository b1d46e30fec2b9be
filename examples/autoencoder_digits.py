"""An autoencoder of scikit-learn's digits, with a histogram of the gradients of every layer, gathered by hooks.

    python examples/autoencoder_digits.py
"""

from __future__ import annotations

import numpy as np
from both_modes import Run, compare
from sklearn.datasets import load_digits

import d2s as paddle
from d2s import io, nn, optimizer

# Powers of ten between which gradients are counted.
EDGES = np.array([0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, np.inf])


class Autoencoder(nn.Layer):
    """64 pixels, 8 numbers, 64 pixels."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, pixels):
        return self.decoder(self.encoder(pixels))


class Histogram:
    """Counts gradients by their size: a hook for each weight, and one for the code."""

    def __init__(self, run: Run, net: Autoencoder):
        self.run = run
        self.counts: dict[str, np.ndarray] = {}
        for name, parameter in net.named_parameters():
            if parameter.ndim == 2:
                parameter.register_hook(self.counter(name))
        net.encoder.register_forward_post_hook(self.watch)

    def watch(self, layer, inputs, code):
        """Count the gradients of what the encoder gives, on every call."""
        if not code.stop_gradient:
            code.register_hook(self.counter("code"))

    def counter(self, name: str):
        def count(gradient):
            self.run.note(name, gradient)
            found = np.histogram(np.abs(gradient.numpy()), EDGES)[0]
            self.counts[name] = self.counts.get(name, 0) + found

        return count

    def __str__(self) -> str:
        names = ["0", "1e-6", "1e-5", "1e-4", "1e-3", "1e-2"]
        rows = [f"{'from':>20} " + " ".join(f"{name:>5}" for name in names)]
        for name, counts in self.counts.items():
            rows.append(f"{name:>20} " + " ".join(f"{share:5.0%}" for share in counts / counts.sum()))
        return "\n".join(rows)


def train(run: Run) -> None:
    pixels = (load_digits().data / 16).astype("float32")
    net = Autoencoder()
    histogram = Histogram(run, net)
    loss_function = nn.MSELoss()
    adam = optimizer.Adam(0.005, parameters=net.parameters())

    def step(batch):
        loss = loss_function(net(batch), batch)
        loss.backward()
        adam.step()
        adam.clear_grad()
        return loss

    step = run.convert(step)
    loader = io.DataLoader(io.TensorDataset([pixels[:1500]]), batch_size=50, shuffle=True)
    for _epoch in range(12):
        for (batch,) in loader:
            run.losses.append(step(batch).item())
    with paddle.no_grad():
        test = paddle.to_tensor(pixels[1500:])
        run.results["test error"] = loss_function(run.convert(net)(test), test).item()
    run.results["error of the mean image"] = float(((pixels[1500:] - pixels[:1500].mean(0)) ** 2).mean())
    run.results["gradients counted"] = float(sum(counts.sum() for counts in histogram.counts.values()))
    if run.mode == "static":
        print(histogram)


if __name__ == "__main__":
    results = compare(train).results
    assert results["test error"] < 0.5 * results["error of the mean image"]
    # Four weights and the code, in each of 360 steps.
    assert results["gradients counted"] == 360 * (64 * 32 + 32 * 8 + 8 * 32 + 32 * 64 + 50 * 8)
