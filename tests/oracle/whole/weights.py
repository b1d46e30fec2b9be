"""Weights that are computed from other parameters."""

from __future__ import annotations

import numpy as np

from .register import classes, filled, numbers, program


@program
def normed_weights(paddle, static):
    nn = paddle.nn
    weight_norm, spectral_norm = nn.utils.weight_norm, nn.utils.spectral_norm
    net = filled(
        nn.Sequential(
            nn.Conv2D(2, 3, 3, padding=1),
            nn.ReLU(),
            nn.Conv2DTranspose(3, 2, 2, stride=2),
            nn.Flatten(),
            nn.Linear(32, 4),
            nn.Tanh(),
            nn.Linear(4, 2),
        )
    )
    weight_norm(net[0], dim=0)
    spectral_norm(net[2], n_power_iterations=2)
    weight_norm(net[4], "weight", dim=1)
    spectral_norm(net[6])
    for k, layer in enumerate((net[2], net[6])):
        for part in ("weight_u", "weight_v"):
            values = numbers(*getattr(layer, part).shape, seed=k)
            getattr(layer, part).set_value(values / np.linalg.norm(values))
    # With PaddlePaddle the vectors of the power iteration are parameters.
    kept = {f"{place}.weight_{part}" for place in (2, 6) for part in "uv"}
    trained = [p for n, p in net.named_parameters() if n not in kept]
    opt = paddle.optimizer.SGD(0.1, parameters=trained)
    call, log = static(net), []
    for step in range(3):
        loss = nn.functional.cross_entropy(
            call(paddle.to_tensor(numbers(3, 2, 2, 2, seed=step))), paddle.to_tensor(classes(2, 3))
        )
        loss.backward()
        log += [loss, net[0].weight_g.grad.clone(), net[6].weight_orig.grad.clone()]
        opt.step()
        opt.clear_grad()
    net.eval()
    x = paddle.to_tensor(numbers(2, 2, 2, 2))
    log += [call(x), call(x), net[6].weight_u]
    nn.utils.remove_weight_norm(net[4])
    names = [n for n, _ in net.named_parameters() if n not in kept]
    return log, net[4].weight, sorted(names), static(net)(x)


@program
def one_length(paddle, static):
    layer = filled(paddle.nn.Linear(3, 4))
    paddle.nn.utils.weight_norm(layer, dim=None)
    out = static(layer)(paddle.to_tensor(numbers(2, 3)))
    out.square().sum().backward()
    return out, layer.weight_g.shape, layer.weight_g.grad, layer.weight_v.grad, layer.bias.grad
