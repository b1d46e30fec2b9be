"""Gradients clipped in place, parameters as a vector, and the names that other libraries have for the same methods."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import nn
from d2s.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector, vector_to_parameters


def layer_with_gradients() -> nn.Linear:
    layer = nn.Linear(3, 2)
    layer.weight.grad = d2s.to_tensor([[3.0, 0.0], [0.0, -4.0], [0.0, 0.0]])
    return layer


def test_clip_by_norm_scales_all_gradients_and_gives_the_norm() -> None:
    layer = layer_with_gradients()
    layer.bias.grad = d2s.to_tensor([12.0, 0.0])
    assert clip_grad_norm_(layer.parameters(), 1.3).item() == 13.0
    np.testing.assert_allclose(layer.weight.grad.numpy()[:2], [[0.3, 0], [0, -0.4]], rtol=1e-5)
    np.testing.assert_allclose(layer.bias.grad.numpy(), [1.2, 0], rtol=1e-5)
    assert clip_grad_norm_(layer.weight, 10.0, float("inf")).item() == pytest.approx(0.4)
    np.testing.assert_allclose(layer.weight.grad.numpy()[0, 0], 0.3, rtol=1e-5)
    layer.bias.grad = d2s.to_tensor([float("nan"), 0.0])
    with pytest.raises(RuntimeError, match="nan"):
        clip_grad_norm_(layer.parameters(), 1.0, error_if_nonfinite=True)
    assert clip_grad_norm_([nn.Parameter([1.0])], 1.0).item() == 0.0


def test_clip_by_value() -> None:
    layer = layer_with_gradients()
    clip_grad_value_(layer.parameters(), 2.5)
    assert layer.weight.grad.numpy()[:2].tolist() == [[2.5, 0.0], [0.0, -2.5]]
    assert layer.bias.grad is None
    with pytest.raises(ValueError, match="must not be negative"):
        clip_grad_value_(layer.parameters(), -1.0)


def test_clipping_in_a_static_step_is_that_of_eager_mode() -> None:
    results = []
    for convert in (lambda step: step, d2s.to_static):
        d2s.seed(1)
        layer = nn.Linear(3, 2)
        adam = d2s.optimizer.Adam(0.1, parameters=layer.parameters())

        def step(x: d2s.Tensor, layer: nn.Linear = layer, adam: d2s.optimizer.Adam = adam) -> d2s.Tensor:
            loss = (layer(x) ** 2).sum()
            loss.backward()
            clip_grad_norm_(layer.parameters(), 0.5)
            adam.step()
            adam.clear_grad()
            return loss

        step = convert(step)
        losses = [step(d2s.to_tensor(np.float32([[1, 2, 3]]))).item() for _ in range(3)]
        results.append((losses, layer.weight.tolist()))
    assert results[0] == results[1]


def test_parameters_as_a_vector_and_back() -> None:
    layer = nn.Linear(3, 2)
    vector = parameters_to_vector(layer.parameters())
    (vector * vector).sum().backward()
    np.testing.assert_array_equal(layer.bias.grad.numpy(), 2 * layer.bias.numpy())
    vector_to_parameters(d2s.arange(8, dtype="float32"), layer.parameters())
    assert layer.bias.tolist() == [6.0, 7.0]
    with pytest.raises(d2s.ShapeError, match="8 elements"):
        vector_to_parameters(d2s.arange(9, dtype="float32"), layer.parameters())


def test_other_names_mean_the_same() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.SiLU())
    assert isinstance(net, nn.Module)
    assert [type(layer).__name__ for layer in net.modules()] == ["Sequential", "Conv2D", "Silu"]
    assert [name for name, _ in net.named_modules()] == ["", "0", "1"]
    assert net.double()[0].weight.dtype == np.float64
    assert net.half()[0].weight.dtype == np.float16
    assert net.float().cpu()[0].weight.dtype == np.float32
    assert all(parameter.stop_gradient for parameter in net.requires_grad_(False).parameters())
    net.requires_grad_()
    net(d2s.ones([1, 1, 4, 4])).sum().backward()
    net.zero_grad()
    assert net[0].weight.grad is None
    seen = []
    net.register_forward_hook(lambda layer, inputs, outputs: seen.append(outputs.shape))
    net(d2s.ones([1, 1, 4, 4]))
    assert seen == [[1, 2, 2, 2]]
    held = nn.ParameterDict({"w": nn.Parameter([1.0])})
    held["b"] = nn.Parameter([2.0])
    assert [*held] == ["w", "b"]
    assert len(held.parameters()) == len(held) == 2


def test_a_strict_load_takes_all_or_nothing() -> None:
    layer = nn.Linear(2, 1)
    before = layer.weight.tolist()
    state = {"weight": np.float32([[1.0], [2.0]]), "other": np.float32([0.0])}
    with pytest.raises(RuntimeError, match="missing bias; unexpected other"):
        layer.load_state_dict(state)
    assert layer.weight.tolist() == before
    assert layer.load_state_dict(state, strict=False) == (["bias"], ["other"])
    assert layer.weight.tolist() == [[1.0], [2.0]]
