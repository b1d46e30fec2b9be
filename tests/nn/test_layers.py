"""The layers: what they compute, against NumPy; their parameters and their text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn

X = np.float32([[-3.0, -0.5, 0.0], [0.25, 1.0, 4.0]])


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("layer", "function", "text"),
    [
        (nn.ReLU(), lambda x: np.maximum(x, 0), "ReLU()"),
        (nn.Tanh(), np.tanh, "Tanh()"),
        (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x)), "Sigmoid()"),
        (nn.Silu(), lambda x: x / (1 + np.exp(-x)), "Silu()"),
        (nn.GELU(), np.vectorize(lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2), "GELU(approximate=False)"),
        (
            nn.GELU(approximate=True),
            lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
            "GELU(approximate=True)",
        ),
        (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x), "LeakyReLU(negative_slope=0.2)"),
        (nn.ELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)), "ELU(alpha=0.5)"),
        (nn.Softplus(2, 20), lambda x: np.log1p(np.exp(2 * x)) / 2, "Softplus(beta=2, threshold=20)"),
        (nn.Softplus(2, 3), lambda x: np.where(2 * x > 3, x, np.log1p(np.exp(2 * x)) / 2), None),
        (nn.Hardtanh(-1, 0.5), lambda x: np.clip(x, -1, 0.5), "Hardtanh(min=-1, max=0.5)"),
        (nn.Softmax(), softmax, "Softmax(axis=-1)"),
        (nn.Softmax(axis=0), lambda x: softmax(x.T).T, "Softmax(axis=0)"),
        (nn.LogSoftmax(), lambda x: np.log(softmax(x)), "LogSoftmax(axis=-1)"),
        (nn.Identity(3, key="ignored"), lambda x: x, "Identity()"),
        (nn.Flatten(0), np.ravel, "Flatten()"),
    ],
)
def test_layers_without_parameters(
    layer: nn.Layer, function: Callable[[np.ndarray], np.ndarray], text: str | None
) -> None:
    np.testing.assert_allclose(layer(d2s.to_tensor(X)).numpy(), function(X), rtol=1e-5, atol=1e-6)
    assert text is None or repr(layer) == text
    assert layer.parameters() == []


# --- basic ----------------------------------------------------------------------------------------------------------


def test_linear_multiplies_by_a_weight_of_shape_in_out() -> None:
    layer = nn.Linear(3, 4)
    assert (layer.weight.shape, layer.bias.shape) == ([3, 4], [4])
    layer.bias.set_value([1.0, 2.0, 3.0, 4.0])
    out = layer(d2s.to_tensor(X))
    np.testing.assert_allclose(out.numpy(), X @ layer.weight.numpy() + [1, 2, 3, 4], rtol=1e-5)
    out.sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), np.repeat(X.sum(0)[:, None], 4, 1), rtol=1e-5)
    assert layer.bias.grad.tolist() == [2.0] * 4


def test_linear_without_bias_and_with_attributes() -> None:
    layer = nn.Linear(3, 2, weight_attr=nn.initializer.Constant(2.0), bias_attr=False)
    assert layer.bias is None
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    np.testing.assert_allclose(layer(d2s.to_tensor(X)).numpy(), np.repeat(2 * X.sum(1)[:, None], 2, 1))


def test_linear_names_the_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"\[2, 3\].*\[4, 5\]"):
        nn.Linear(4, 5)(d2s.to_tensor(X))


def test_embedding_looks_rows_up_and_adds_their_gradients() -> None:
    layer = nn.Embedding(4, 2, padding_idx=-1)
    rows = layer.weight.numpy()
    assert rows[3].tolist() == [0.0, 0.0]
    out = layer(d2s.to_tensor([[0, 3], [2, 2]]))
    np.testing.assert_array_equal(out.numpy(), rows[[[0, 3], [2, 2]]])
    out.sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]
    assert repr(layer) == "Embedding(4, 2, padding_idx=3)"
    with pytest.raises(IndexError):
        layer(d2s.to_tensor([4]))
    with pytest.raises(IndexError, match="padding_idx 4"):
        nn.Embedding(4, 2, padding_idx=4)


def test_dropout_acts_in_training_only() -> None:
    layer, ones = nn.Dropout(0.25), d2s.ones([1000])
    values = layer(ones).numpy()
    assert set(np.unique(values)) == {np.float32(0), np.float32(1 / 0.75)}
    # Binomial with n = 1000 and p = 1/4: three standard deviations are 41.
    assert abs((values == 0).sum() - 250) < 41
    assert layer.eval()(ones).numpy().tolist() == [1.0] * 1000
    downscaling = nn.Dropout(0.25, mode="downscale_in_infer").eval()
    assert downscaling(ones).numpy()[0] == np.float32(0.75)
    assert repr(layer) == "Dropout(p=0.25, axis=None, mode=upscale_in_train)"


# --- images ---------------------------------------------------------------------------------------------------------


def convolved(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, stride: int, padding: int) -> np.ndarray:
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    kernel = weight.shape[-1]
    places = range(0, x.shape[2] - kernel + 1, stride)
    windows = [
        [np.einsum("bchw,ochw->bo", x[:, :, i : i + kernel, j : j + kernel], weight) for j in places] for i in places
    ]
    return np.moveaxis(np.array(windows), (2, 3), (0, 1)) + bias[:, None, None]


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1)])
def test_conv2d(stride: int, padding: int) -> None:
    layer = nn.Conv2D(2, 3, 3, stride=stride, padding=padding)
    layer.bias.set_value([1.0, 2.0, 3.0])
    x = np.random.default_rng(0).normal(size=(2, 2, 5, 5)).astype("float32")
    expected = convolved(x, layer.weight.numpy(), layer.bias.numpy(), stride, padding)
    np.testing.assert_allclose(layer(d2s.to_tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert layer.weight.shape == [3, 2, 3, 3]


def test_conv2d_text_and_groups() -> None:
    assert repr(nn.Conv2D(3, 4, 5, padding=2)) == "Conv2D(3, 4, kernel_size=[5, 5], padding=2, data_format=NCHW)"
    layer = nn.Conv2D(4, 6, (1, 2), stride=2, dilation=3, groups=2, bias_attr=False)
    assert layer.weight.shape == [6, 2, 1, 2]
    assert layer.bias is None
    assert "stride=2, dilation=3, groups=2" in repr(layer)
    with pytest.raises(ValueError, match="groups=2"):
        nn.Conv2D(3, 4, 1, groups=2)


def test_conv2d_begins_with_he_initialisation() -> None:
    assert nn.Conv2D(8, 64, 5).weight.numpy().std() == pytest.approx(math.sqrt(2 / (8 * 25)), rel=0.03)


def test_pooling() -> None:
    x = d2s.to_tensor(np.arange(16, dtype="float32").reshape(1, 1, 4, 4))
    assert nn.MaxPool2D(2)(x).numpy().tolist() == [[[[5.0, 7.0], [13.0, 15.0]]]]
    assert nn.AvgPool2D(2)(x).numpy().tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert nn.MaxPool2D(3, stride=1)(x).numpy().tolist() == [[[[10.0, 11.0], [14.0, 15.0]]]]
    assert repr(nn.MaxPool2D(2)) == "MaxPool2D(kernel_size=2, stride=None, padding=0)"


# --- losses ---------------------------------------------------------------------------------------------------------

LOGITS = np.float32([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
LABELS = [0, 2]
ROWS = -np.log(softmax(LOGITS))[[0, 1], LABELS]


@pytest.mark.parametrize(
    ("loss", "inputs", "labels", "expected"),
    [
        (nn.CrossEntropyLoss(), LOGITS, LABELS, ROWS.mean()),
        (nn.CrossEntropyLoss(reduction="none"), LOGITS, LABELS, ROWS),
        (nn.CrossEntropyLoss(reduction="sum"), LOGITS, LABELS, ROWS.sum()),
        (nn.CrossEntropyLoss(ignore_index=2), LOGITS, LABELS, ROWS[0]),
        (
            nn.CrossEntropyLoss(weight=d2s.to_tensor([1.0, 1.0, 3.0])),
            LOGITS,
            LABELS,
            (ROWS[0] + 3 * ROWS[1]) / 4,
        ),
        (
            nn.CrossEntropyLoss(soft_label=True),
            LOGITS,
            [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]],
            (-np.log(softmax(LOGITS)) * [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).sum(1).mean(),
        ),
        (nn.NLLLoss(), np.log(softmax(LOGITS)), LABELS, ROWS.mean()),
        (nn.MSELoss(), [1.0, 2.0], [0.0, 4.0], 2.5),
        (nn.MSELoss("sum"), [1.0, 2.0], [0.0, 4.0], 5.0),
        (nn.L1Loss(), [1.0, 2.0], [0.0, 4.0], 1.5),
        (nn.L1Loss("none"), [1.0, 2.0], [0.0, 4.0], [1.0, 2.0]),
        (nn.BCEWithLogitsLoss(), [0.0, 2.0], [1.0, 0.0], (math.log(2) + math.log1p(math.exp(2))) / 2),
        (
            nn.BCEWithLogitsLoss(pos_weight=d2s.to_tensor([3.0, 1.0])),
            [0.0, 2.0],
            [1.0, 0.0],
            (3 * math.log(2) + math.log1p(math.exp(2))) / 2,
        ),
    ],
)
def test_losses(loss: nn.Layer, inputs: Any, labels: Any, expected: Any) -> None:
    found = loss(d2s.to_tensor(inputs), d2s.to_tensor(labels))
    np.testing.assert_allclose(found.numpy(), np.float32(expected), rtol=1e-5)


@pytest.mark.parametrize("kind", [nn.CrossEntropyLoss, nn.NLLLoss, nn.MSELoss, nn.L1Loss, nn.BCEWithLogitsLoss])
def test_the_reduction_must_be_known(kind: type[nn.Layer]) -> None:
    with pytest.raises(ValueError, match="'average'"):
        kind(reduction="average")


def test_every_name_of_functional_is_there() -> None:
    assert [name for name in nn.functional.__all__ if not callable(getattr(nn.functional, name, None))] == []
