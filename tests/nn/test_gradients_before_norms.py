"""Sums over what lies in memory in another order, as behind convolutions, are the same to the bit in both modes."""

from __future__ import annotations

import pytest

import d2s
from d2s import nn

CASES = {
    "conv1d batch": (lambda: [nn.Conv1D(2, 4, 3), nn.BatchNorm1D(4)], [3, 2, 8]),
    "conv2d batch": (lambda: [nn.Conv2D(2, 4, 3), nn.BatchNorm2D(4)], [3, 2, 6, 6]),
    "conv2d relu batch": (lambda: [nn.Conv2D(2, 4, 3), nn.ReLU(), nn.BatchNorm2D(4)], [3, 2, 6, 6]),
    "conv2d transposed batch": (lambda: [nn.Conv2DTranspose(2, 4, 3), nn.BatchNorm2D(4)], [3, 2, 5, 5]),
    "conv2d layer": (lambda: [nn.Conv2D(2, 4, 3), nn.LayerNorm([4, 4, 4])], [3, 2, 6, 6]),
    "conv2d group": (lambda: [nn.Conv2D(2, 4, 3), nn.GroupNorm(2, 4)], [3, 2, 6, 6]),
    "conv2d instance": (lambda: [nn.Conv2D(2, 4, 3), nn.InstanceNorm2D(4)], [3, 2, 6, 6]),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_training_is_the_same(name, whole):
    make, shape = CASES[name]

    def play(static):
        d2s.seed(7)
        net = nn.Sequential(*make())
        optimizer = d2s.optimizer.Momentum(0.1, parameters=net.parameters())
        x = d2s.randn(shape)
        weights = d2s.randn(net(x).shape)

        def loss_of():
            return ((net(x) * weights) ** 2).mean()

        forward = loss_of if whole else static(loss_of)

        def step():
            loss = forward()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run = static(step) if whole else step
        losses = [float(run()) for _ in range(4)]
        return losses, [p.tolist() for p in net.parameters()]

    assert play(d2s.to_static) == play(lambda function: function)
