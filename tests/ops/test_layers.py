"""Functions of neural networks against plain loops and formulas."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import d2s
from d2s import ops
from d2s.errors import IndexOutOfRangeError
from tests.ops.gradient_checks import as_leaf, compare, gradients_of

RNG = np.random.default_rng(7)


def tensor(array: Any) -> Any:
    return d2s.to_tensor(np.asarray(array))


def check(function: Any, *points: Any) -> None:
    """First gradient of a function of tensors, by finite differences."""
    weights = RNG.uniform(0.5, 1.5, function(*map(as_leaf, points)).shape)
    directions = [RNG.uniform(-1, 1, np.shape(point)) for point in points]

    def projection(*values: Any) -> Any:
        return (function(*values) * weights).sum()

    compare("gradient is wrong", projection, gradients_of(projection), points, directions)


def slow_conv2d(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    x = np.pad(x, ((0, 0), (0, 0), padding[:2], padding[2:]))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    rows, columns = ((x.shape[2 + i] - reach[i]) // stride[i] + 1 for i in (0, 1))
    out = np.zeros((x.shape[0], w.shape[0], rows, columns))
    inputs, outputs = x.shape[1] // groups, w.shape[0] // groups
    for o, r, c in itertools.product(range(w.shape[0]), range(rows), range(columns)):
        channels = slice(o // outputs * inputs, (o // outputs + 1) * inputs)
        top, left = r * stride[0], c * stride[1]
        seen = x[:, channels, top : top + reach[0] : dilation[0], left : left + reach[1] : dilation[1]]
        out[:, o, r, c] = (seen * w[o]).sum((1, 2, 3))
    return out


@given(data=st.data())
def test_conv2d(data: Any) -> None:
    def pair(low: int, high: int) -> tuple[int, int]:
        return data.draw(st.integers(low, high)), data.draw(st.integers(low, high))

    groups, stride, dilation = data.draw(st.integers(1, 2)), pair(1, 2), pair(1, 2)
    padding = (*pair(0, 2), *pair(0, 2))
    x = RNG.standard_normal((2, 2 * groups, 5, 6))
    w = RNG.standard_normal((2 * groups, 2, *pair(1, 2)))
    result = ops.conv2d(tensor(x), tensor(w), None, list(stride), list(padding), list(dilation), groups)
    np.testing.assert_allclose(result.numpy(), slow_conv2d(x, w, stride, padding, dilation, groups), atol=1e-12)


def test_forms_of_padding() -> None:
    x, w = tensor(RNG.standard_normal((1, 1, 5, 5))), tensor(RNG.standard_normal((1, 1, 3, 3)))
    full = ops.conv2d(x, w, padding=[1, 1, 2, 2]).numpy()
    for padding in ([1, 2], [[1, 1], [2, 2]], [[0, 0], [0, 0], [1, 1], [2, 2]]):
        np.testing.assert_array_equal(ops.conv2d(x, w, padding=padding).numpy(), full)
    assert ops.conv2d(x, w, stride=2, padding="SAME").shape == [1, 1, 3, 3]
    assert ops.conv2d(x, w, padding="valid").shape == [1, 1, 3, 3]


def test_channels_last() -> None:
    x, w, b = (RNG.standard_normal(shape) for shape in ((2, 3, 5, 4), (4, 3, 2, 2), (4,)))
    first = ops.conv2d(tensor(x), tensor(w), tensor(b)).numpy()
    last = ops.conv2d(tensor(x.transpose(0, 2, 3, 1)), tensor(w), tensor(b), data_format="NHWC").numpy()
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), first)


def test_transposed_convolution_is_the_adjoint() -> None:
    """<conv(x), y> equals <x, conv_transpose(y)>."""
    w = tensor(RNG.standard_normal((4, 2, 3, 3)))
    x = tensor(RNG.standard_normal((2, 2, 7, 6)))
    y = ops.conv2d(x, w, stride=2, padding=1)
    z = tensor(RNG.standard_normal(y.shape))
    back = ops.conv2d_transpose(z, w, stride=2, padding=1, output_size=x.shape[2:])
    assert float((y * z).sum()) == pytest.approx(float((x * back).sum()))


def test_convolution_of_one_axis() -> None:
    x, w = RNG.standard_normal((2, 3, 8)), RNG.standard_normal((4, 3, 3))
    expected = slow_conv2d(x[:, :, None], w[:, :, None], (1, 2), (0, 0, 1, 1), (1, 1), 1)[:, :, 0]
    np.testing.assert_allclose(ops.conv1d(tensor(x), tensor(w), stride=2, padding=1).numpy(), expected, atol=1e-12)


@given(data=st.data())
def test_pooling(data: Any) -> None:
    kernel = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    stride = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    padding = tuple(data.draw(st.integers(0, size // 2)) for size in kernel)
    x = RNG.standard_normal((2, 2, 6, 5))
    around = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2), constant_values=np.nan)
    rows, columns = ((around.shape[2 + i] - kernel[i]) // stride[i] + 1 for i in (0, 1))
    expected_max, expected_mean = np.zeros((2, 2, 2, rows, columns))
    for r, c in itertools.product(range(rows), range(columns)):
        top, left = r * stride[0], c * stride[1]
        seen = around[:, :, top : top + kernel[0], left : left + kernel[1]]
        expected_max[:, :, r, c], expected_mean[:, :, r, c] = np.nanmax(seen, (2, 3)), np.nanmean(seen, (2, 3))
    given_args = (tensor(x), list(kernel), list(stride), list(padding))
    np.testing.assert_array_equal(ops.max_pool2d(*given_args).numpy(), expected_max)
    np.testing.assert_allclose(ops.avg_pool2d(*given_args).numpy(), expected_mean)


def test_equal_elements_of_a_window_do_not_share_the_gradient() -> None:
    x = as_leaf(np.ones((1, 1, 2, 2)))
    ops.max_pool2d(x, 2).backward()
    assert x.grad.numpy().reshape(-1).tolist() == [1, 0, 0, 0]


def test_adaptive_pooling_covers_every_element() -> None:
    x = RNG.standard_normal((1, 1, 5, 7))
    mean = ops.adaptive_avg_pool2d(tensor(x), [2, 3]).numpy()
    top = ops.adaptive_max_pool2d(tensor(x), [2, 3]).numpy()
    assert mean[0, 0, 0, 0] == pytest.approx(x[0, 0, :3, :3].mean())
    assert mean[0, 0, 1, 2] == pytest.approx(x[0, 0, 2:, 4:].mean())
    assert top[0, 0, 1, 1] == x[0, 0, 2:, 2:5].max()
    assert ops.adaptive_avg_pool2d(tensor(x), 1).numpy().item() == pytest.approx(x.mean())


def test_normalisation() -> None:
    x, w, b = RNG.standard_normal((2, 4, 3, 5)), RNG.standard_normal(4), RNG.standard_normal(4)

    def expected(axis: Any, shape: Any = (1,)) -> Any:
        return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)

    per_channel = (w[:, None, None], b[:, None, None])
    batch = ops.batch_norm(tensor(x), tensor(np.zeros(4)), tensor(np.ones(4)), tensor(w), tensor(b), training=True)
    np.testing.assert_allclose(batch.numpy(), expected((0, 2, 3)) * per_channel[0] + per_channel[1])
    np.testing.assert_allclose(ops.instance_norm(tensor(x)).numpy(), expected((2, 3)))
    np.testing.assert_allclose(ops.layer_norm(tensor(x), [3, 5]).numpy(), expected((2, 3)))
    np.testing.assert_allclose(ops.layer_norm(tensor(x), 5).numpy(), expected(3))
    grouped = x.reshape(2, 2, -1)
    groups = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(ops.group_norm(tensor(x), 2).numpy(), groups.reshape(x.shape))


def test_running_statistics() -> None:
    x, mean, variance = RNG.standard_normal((6, 3)), tensor(np.ones(3)), tensor(np.full(3, 2.0))
    ops.batch_norm(tensor(x), mean, variance, training=True, momentum=0.75)
    np.testing.assert_allclose(mean.numpy(), 0.75 + 0.25 * x.mean(0))
    np.testing.assert_allclose(variance.numpy(), 1.5 + 0.25 * x.var(0))
    before = mean.numpy()
    result = ops.batch_norm(tensor(x), mean, variance)
    np.testing.assert_allclose(result.numpy(), (x - mean.numpy()) / np.sqrt(variance.numpy() + 1e-5))
    np.testing.assert_array_equal(mean.numpy(), before)


LOGITS = RNG.standard_normal((4, 3))
LABELS = np.array([0, 2, 1, 2])
LOG_P = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))
PICKED = -LOG_P[range(4), LABELS]
W = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, PICKED.mean()),
        ({"reduction": "sum"}, PICKED.sum()),
        ({"reduction": "none"}, PICKED),
        ({"ignore_index": 2}, PICKED[[0, 2]].mean()),
        ({"weight": W}, (PICKED * W[LABELS]).sum() / W[LABELS].sum()),
        ({"weight": W, "reduction": "none"}, PICKED * W[LABELS]),
        ({"weight": W, "ignore_index": 0}, (PICKED * W[LABELS])[1:].sum() / W[LABELS][1:].sum()),
        ({"label_smoothing": 0.3}, -((np.eye(3)[LABELS] * 0.7 + 0.1) * LOG_P).sum(1).mean()),
    ],
)
def test_cross_entropy(arguments: dict[str, Any], expected: Any) -> None:
    given_arguments = {key: tensor(value) if key == "weight" else value for key, value in arguments.items()}
    for label in (LABELS, LABELS[:, None], LABELS.astype("int32")):
        result = ops.cross_entropy(tensor(LOGITS), tensor(label), **given_arguments)
        np.testing.assert_allclose(result.numpy().reshape(np.shape(expected)), expected)
    soft = {key: value for key, value in given_arguments.items() if key != "ignore_index"}
    if "ignore_index" not in arguments and ("weight" not in arguments or "reduction" in arguments):
        result = ops.cross_entropy(tensor(LOGITS), tensor(np.eye(3)[LABELS]), soft_label=True, **soft)
        np.testing.assert_allclose(result.numpy().reshape(np.shape(expected)), expected)


def test_cross_entropy_over_another_axis() -> None:
    logits, labels = RNG.standard_normal((2, 3, 4)), RNG.integers(0, 3, (2, 4))
    loss = ops.cross_entropy(tensor(logits), tensor(labels), axis=1, reduction="none")
    assert loss.shape == [2, 4]
    kept = ops.cross_entropy(tensor(logits), tensor(labels[:, None]), axis=1, reduction="none")
    assert kept.shape == [2, 1, 4]
    expected = np.log(np.exp(logits).sum(1)) - np.take_along_axis(logits, labels[:, None], 1)[:, 0]
    np.testing.assert_allclose(loss.numpy(), expected)


def test_cross_entropy_of_extreme_logits_is_finite() -> None:
    logits = as_leaf(np.array([[1e4, -1e4], [-1e4, 1e4]]))
    loss = ops.cross_entropy(logits, tensor([0, 0]))
    loss.backward()
    assert float(loss) == 1e4
    assert logits.grad.tolist() == [[0, 0], [-0.5, 0.5]]


def test_label_that_is_no_class() -> None:
    for label in (3, -1):
        with pytest.raises(IndexOutOfRangeError, match=f"class {label} is out of range for 3 classes"):
            ops.cross_entropy(tensor(LOGITS), tensor([0, label, 1, 1]))
        with pytest.raises(IndexOutOfRangeError, match=f"class {label} is out of range for 3 classes"):
            ops.embedding(tensor([label]), tensor(LOGITS[:3]))


A, B = RNG.standard_normal((2, 3, 4))
P = RNG.uniform(0.1, 0.9, (3, 4))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda: ops.mse_loss(tensor(A), tensor(B), "none"), (A - B) ** 2),
        (lambda: ops.l1_loss(tensor(A), tensor(B), "none"), np.abs(A - B)),
        (
            lambda: ops.smooth_l1_loss(tensor(A), tensor(B), "none"),
            np.where(np.abs(A - B) < 1, (A - B) ** 2 / 2, np.abs(A - B) - 0.5),
        ),
        (
            lambda: ops.binary_cross_entropy(tensor(P), tensor(P), reduction="none"),
            -(P * np.log(P) + (1 - P) * np.log(1 - P)),
        ),
        (
            lambda: ops.binary_cross_entropy_with_logits(tensor(A), tensor(P), reduction="none"),
            -(P * -np.log1p(np.exp(-A)) + (1 - P) * -np.log1p(np.exp(A))),
        ),
        (lambda: ops.kl_div(tensor(np.log(P)), tensor(P), "none"), np.zeros((3, 4))),
        (lambda: ops.nll_loss(tensor(LOG_P), tensor(LABELS), reduction="none"), PICKED),
        (
            lambda: ops.cosine_similarity(tensor(A), tensor(B)),
            (A * B).sum(1) / np.sqrt((A * A).sum(1) * (B * B).sum(1)),
        ),
    ],
)
def test_losses(loss: Any, expected: Any) -> None:
    np.testing.assert_allclose(loss().numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss"])
def test_unknown_reduction(name: str) -> None:
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none', got 'average'"):
        getattr(ops, name)(tensor(A), tensor(B), reduction="average")


SMOOTH = [
    "sigmoid", "tanh", "silu", "gelu", "softplus", "log_sigmoid", "softsign", "mish", "tanhshrink", "elu", "celu",
    "selu", "leaky_relu", "relu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "hardshrink", "softshrink", "glu",
]


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_activations(name: str) -> None:
    x = np.array([[-7.3, -3.4, -1.3, -0.7], [-0.3, 0.2, 0.8, 2.4], [3.3, 5.2, 7.5, 21.0]])
    check(getattr(ops, name), x)


@pytest.mark.parametrize("name", ["sigmoid", "log_sigmoid", "softplus", "silu", "tanh", "elu", "selu", "mish", "gelu"])
def test_activations_of_extreme_values_have_finite_gradients(name: str) -> None:
    x = as_leaf(np.array([-1e4, -100.0, 0.0, 100.0, 1e4]))
    y = getattr(ops, name)(x)
    y.sum().backward()
    assert np.isfinite(y.numpy()).all()
    assert np.isfinite(x.grad.numpy()).all()


def test_gradients_of_compositions() -> None:
    x, y = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 3, 4))
    check(lambda a: ops.layer_norm(a, 4, as_leaf(np.arange(4.0))), x)
    check(lambda a, b: ops.cosine_similarity(a, b, 2), x, y)
    check(lambda a: ops.cross_entropy(a, tensor(LABELS), weight=tensor(W), label_smoothing=0.1), LOGITS)
    check(lambda a: ops.quantile(a, 0.3, 1), x)
    check(lambda a: ops.adaptive_avg_pool2d(a, 2), RNG.standard_normal((1, 2, 3, 5)))
    check(lambda a: ops.pad(a, [1, 2], mode="reflect"), x)
    check(lambda a, b: ops.einsum("bij,bkj->bik", a, b), x, y)
    check(lambda q, k: ops.scaled_dot_product_attention(q, k, k, is_causal=True), x[None], y[None])


def test_attention_sees_no_later_position() -> None:
    q, k, v = RNG.standard_normal((3, 1, 4, 2, 5))
    whole = ops.scaled_dot_product_attention(tensor(q), tensor(k), tensor(v), is_causal=True).numpy()
    part = ops.scaled_dot_product_attention(tensor(q[:, :2]), tensor(k[:, :2]), tensor(v[:, :2]), is_causal=True)
    np.testing.assert_allclose(whole[:, :2], part.numpy())
    scores = q[0, 3, 1] @ k[0, :, 1].T / math.sqrt(5)
    weights = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(whole[0, 3, 1], weights @ v[0, :, 1])


def test_embedding_padding_gives_zeros_and_gets_no_gradient() -> None:
    weight = as_leaf(RNG.standard_normal((4, 2)))
    rows = ops.embedding(tensor([[0, 1], [3, 1]]), weight, padding_idx=-1)
    assert rows.numpy()[1, 0].tolist() == [0, 0]
    rows.sum().backward()
    assert weight.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0]]
