"""Batch and layer normalisation: the numbers of PaddlePaddle 3.3.1."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import nn

IMAGE = np.arange(12, dtype="float32").reshape(2, 2, 3) ** 1.5


def test_batch_norm_in_training_and_evaluation() -> None:
    layer = nn.BatchNorm1D(2)
    x = d2s.to_tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]], stop_gradient=False)
    y = layer(x)
    (y * d2s.to_tensor([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]])).sum().backward()
    expected = [[-1.2247427, -0.4629095], [0.0, 1.3887286], [1.2247424, -0.925819]]
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
    expected = [[0.20412, -0.936841], [-0.40825, 0.18737], [0.20412, 0.749471]]
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=2e-5)
    np.testing.assert_allclose(layer.weight.grad.numpy(), [1.2247425, 4.1661859], rtol=1e-5)
    np.testing.assert_allclose(layer.bias.grad.numpy(), [3.5, 2.0], rtol=1e-5)
    np.testing.assert_allclose(layer._mean.numpy(), [0.3, 0.3], rtol=1e-5)
    np.testing.assert_allclose(layer._variance.numpy(), [1.1666667, 1.3666668], rtol=1e-5)

    layer(x)
    layer.eval()
    expected = [[0.3747388, 1.0978333], [2.1177108, 4.168696], [3.8606827, 0.3301176]]
    np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(layer._mean.numpy(), [0.57, 0.57], rtol=1e-5)


def test_the_running_statistics_are_buffers_without_history() -> None:
    layer = nn.BatchNorm1D(2)
    mean = layer._mean
    layer(d2s.to_tensor([[1.0, 2.0], [3.0, 6.0]], stop_gradient=False))
    assert layer._mean is mean
    assert (mean.is_leaf, mean.stop_gradient) == (True, True)
    assert list(layer.state_dict()) == ["weight", "bias", "_mean", "_variance"]
    assert len(layer.parameters()) == 2


def test_channels_first_and_last() -> None:
    first, last = nn.BatchNorm1D(2), nn.BatchNorm1D(3, data_format="NLC")
    expected = [[-1.1044639, -0.9934124, -0.7903627], [-1.2039115, -0.9745536, -0.7143981]]
    np.testing.assert_allclose(first(d2s.to_tensor(IMAGE)).numpy()[0], expected, rtol=1e-4)
    np.testing.assert_allclose(first._mean.numpy(), [0.9945508, 1.9913695], rtol=1e-5)
    expected = [[-1.1410091, -1.1936668, -1.2221076], [-0.6352751, -0.5875582, -0.5615216]]
    np.testing.assert_allclose(last(d2s.to_tensor(IMAGE)).numpy()[0], expected, rtol=1e-4)


def test_batch_norm_of_images_is_that_of_the_flattened_ones() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype("float32")
    images, flat = nn.BatchNorm2D(3), nn.BatchNorm1D(3)
    expected = flat(d2s.to_tensor(x.reshape(2, 3, 20))).numpy().reshape(x.shape)
    np.testing.assert_allclose(images(d2s.to_tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_global_statistics_can_be_used_in_training() -> None:
    layer = nn.BatchNorm1D(2, use_global_stats=True, weight_attr=False, bias_attr=False)
    x = d2s.to_tensor([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_allclose(layer(x).numpy(), x.numpy() / np.sqrt(1 + 1e-5), rtol=1e-5)
    assert layer._mean.tolist() == [0.0, 0.0]
    assert layer.parameters() == []


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm1D(2), [3, 4]),
        (nn.BatchNorm1D(2), [2]),
        (nn.BatchNorm1D(2), [1, 2, 3, 4]),
        (nn.BatchNorm2D(2), [3, 2]),
    ],
)
def test_shapes_that_do_not_fit_change_nothing(layer: nn.Layer, shape: list[int]) -> None:
    with pytest.raises(ValueError, match=rf"of 2 features cannot take shape \[{', '.join(map(str, shape))}\]"):
        layer(d2s.ones(shape))
    assert layer._mean.tolist() == [0.0, 0.0]


def test_layer_norm() -> None:
    layer = nn.LayerNorm(3)
    expected = [[-1.0896974, -0.2357978, 1.3254951], [-1.1982685, -0.0513354, 1.2496047]]
    np.testing.assert_allclose(layer(d2s.to_tensor(IMAGE)).numpy()[0], expected, rtol=1e-4)
    layer.weight.set_value([2.0, 2.0, 2.0])
    layer.bias.set_value([1.0, 1.0, 1.0])
    np.testing.assert_allclose(layer(d2s.to_tensor(IMAGE)).numpy()[0], 2 * np.array(expected) + 1, rtol=1e-4)
    assert repr(layer) == "LayerNorm(normalized_shape=[3], epsilon=1e-05)"
    assert nn.LayerNorm([2, 3], weight_attr=False, bias_attr=False).parameters() == []


def test_data_formats_must_be_known() -> None:
    with pytest.raises(ValueError, match="NHWC"):
        nn.BatchNorm1D(2, data_format="NHWC")
    assert repr(nn.BatchNorm1D(4)) == "BatchNorm1D(num_features=4, momentum=0.9, epsilon=1e-05, data_format=NCL)"
