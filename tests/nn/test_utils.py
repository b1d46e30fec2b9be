"""Gradients clipped in place, parameters as a vector, and the names that other libraries have for the same methods."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

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


def test_a_normed_weight_is_what_it_was_until_its_parts_change() -> None:
    layer = nn.Linear(3, 4)
    before = layer.weight.numpy()
    assert nn.utils.weight_norm(layer, dim=1) is layer
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_v", "weight_g"]
    np.testing.assert_allclose(layer.weight.numpy(), before, rtol=1e-6)
    np.testing.assert_allclose(layer.weight_g.numpy(), np.linalg.norm(before, axis=0), rtol=1e-6)
    layer.weight_g.set_value(layer.weight_g * 2)
    out = layer(d2s.ones([1, 3]))
    np.testing.assert_allclose(layer.weight.numpy(), 2 * before, rtol=1e-6)
    nn.utils.remove_weight_norm(layer)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"]
    assert isinstance(layer.weight, nn.Parameter)
    np.testing.assert_array_equal(layer(d2s.ones([1, 3])).numpy(), out.numpy())


def test_a_spectral_norm_comes_to_the_largest_singular_value() -> None:
    layer = nn.utils.spectral_norm(nn.Linear(3, 4), n_power_iterations=30)
    layer(d2s.ones([1, 3]))
    np.testing.assert_allclose(np.linalg.svd(layer.weight.numpy())[1][0], 1, rtol=1e-4)
    layer.eval()
    u = layer.weight_u.numpy()
    layer(d2s.ones([1, 3]))
    np.testing.assert_array_equal(layer.weight_u.numpy(), u)


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.spectral_norm])
def test_layers_with_normed_weights_are_traced_once(norm: Callable[..., Any]) -> None:
    net = nn.Sequential(norm(nn.Linear(3, 4)), nn.Sequential(nn.ReLU(), norm(nn.Linear(4, 1))))
    same = copy.deepcopy(net)
    static = d2s.jit.to_static(net)
    for turn in range(3):
        x = d2s.ones([2, 3]) * turn
        for call in (same, static):
            call(x).sum().backward()
        np.testing.assert_array_equal(static(x).numpy(), same(x).numpy())
    for one, two in zip(net.parameters(), same.parameters(), strict=True):
        np.testing.assert_array_equal(one.grad.numpy(), two.grad.numpy())
    assert "traced once" in static.forward.explain()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.utils.weight_norm(nn.Linear(2, 2), "w"), ValueError, "Linear has no parameter 'w'"),
        (lambda: nn.utils.weight_norm(nn.Linear(2, 2), dim=2), ValueError, r"of shape \[2, 2\], has no axis 2"),
        (lambda: nn.utils.spectral_norm(nn.utils.weight_norm(nn.Linear(2, 2))), ValueError, "from other parameters"),
        (lambda: nn.utils.remove_weight_norm(nn.Linear(2, 2)), ValueError, "'weight' is not there in Linear"),
    ],
)
def test_what_cannot_be_normed(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        call()
    assert "test_utils.py" in str(caught.value)
