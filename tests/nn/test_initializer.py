"""Initializers: distribution, scale, seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn
from d2s.nn import initializer as init

FLOAT = np.dtype("float32")
LINEAR = (300, 100)
KERNEL = (30, 40, 3, 5)


@pytest.mark.parametrize(
    ("make", "shape", "std"),
    [
        (init.Normal(0.0, 0.25), LINEAR, 0.25),
        (init.Uniform(-3.0, 3.0), LINEAR, math.sqrt(3.0)),
        (init.XavierNormal(), LINEAR, math.sqrt(2 / 400)),
        (init.XavierUniform(), LINEAR, math.sqrt(2 / 400)),
        (init.XavierUniform(), KERNEL, math.sqrt(2 / (30 * 15 + 40 * 15))),
        (init.XavierNormal(fan_in=2, fan_out=6, gain=3.0), LINEAR, 3.0 * 0.5),
        (init.KaimingNormal(), LINEAR, math.sqrt(2 / 300)),
        (init.KaimingUniform(), LINEAR, math.sqrt(2 / 300)),
        (init.KaimingUniform(mode="fan_out"), LINEAR, math.sqrt(2 / 100)),
        (init.KaimingNormal(nonlinearity="leaky_relu", negative_slope=1.0), KERNEL, 1 / math.sqrt(40 * 15)),
        (init.KaimingNormal(fan_in=8), LINEAR, 0.5),
    ],
)
def test_scale(make: init.Initializer, shape: tuple[int, ...], std: float) -> None:
    values = make.sample(shape, FLOAT)
    assert (values.shape, values.dtype) == (shape, FLOAT)
    # 18,000 and more draws: the standard error of the estimates is below 1 %.
    assert values.std() == pytest.approx(std, rel=0.03)
    assert abs(values.mean()) < 0.03 * std


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (init.Uniform(-2.0, 2.0), 2.0),
        (init.XavierUniform(), math.sqrt(6 / 400)),
        (init.KaimingUniform(), math.sqrt(6 / 300)),
    ],
)
def test_uniform_ones_fill_their_interval(make: init.Initializer, limit: float) -> None:
    values = np.abs(make.sample(LINEAR, FLOAT))
    assert 0.99 * limit < values.max() <= limit * (1 + 1e-6)


@pytest.mark.parametrize("make", [init.Normal(), init.XavierUniform()])
def test_the_seed_decides(make: init.Initializer) -> None:
    d2s.seed(3)
    first, second = make.sample((4,), FLOAT), make.sample((4,), FLOAT)
    d2s.seed(3)
    again = make.sample((4,), FLOAT)
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()


def test_constant_and_assign() -> None:
    assert init.Constant(2.5).sample((2,), FLOAT).tolist() == [2.5, 2.5]
    assert init.Assign([[1.0, 2.0]]).sample((1, 2), FLOAT).tolist() == [[1.0, 2.0]]
    assert init.Assign(np.arange(2)).sample((2,), FLOAT).dtype == FLOAT
    with pytest.raises(ValueError, match=r"\[2\], the parameter \[3\]"):
        init.Assign([1.0, 2.0]).sample((3,), FLOAT)


def test_an_initializer_sets_a_tensor_it_is_called_on() -> None:
    weight = d2s.nn.Linear(2, 1).weight
    init.Constant(4.0)(weight)
    assert weight.tolist() == [[4.0], [4.0]]


def test_empty_and_scalar_shapes() -> None:
    assert init.XavierUniform().sample((0, 3), FLOAT).shape == (0, 3)
    assert init.KaimingNormal().sample((0, 3), FLOAT).shape == (0, 3)
    assert init.XavierNormal().sample((), FLOAT).shape == ()


def test_a_subclass_must_define_sample() -> None:
    with pytest.raises(NotImplementedError):
        init.Initializer().sample((1,), FLOAT)


def test_gains() -> None:
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 0.5) == pytest.approx(math.sqrt(1.6))
    with pytest.raises(ValueError, match="'swish'"):
        init.calculate_gain("swish")


def test_the_mode_must_be_known() -> None:
    with pytest.raises(ValueError, match="fan_avg"):
        init.KaimingNormal(mode="fan_avg")


def test_truncated_normal_stays_inside_and_has_the_moments_it_should() -> None:
    values = drawn_by(init.TruncatedNormal(0.5, 2.0, -1.0, 3.0), (300, 300))
    assert values.min() >= -1.0
    assert values.max() <= 3.0
    # Of a normal distribution cut at -0.75 and 1.25 standard deviations.
    assert values.mean() == pytest.approx(0.5 + 2.0 * 0.1775, abs=0.01)
    assert values.std() == pytest.approx(2.0 * 0.5370, abs=0.01)


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3, 3)])
def test_orthogonal_has_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    matrix = drawn_by(init.Orthogonal(2.0), shape).reshape(shape[0], -1)
    small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_dirac_passes_channels_on() -> None:
    conv = nn.Conv2D(4, 4, 3, padding=1, groups=2, weight_attr=init.Dirac(2), bias_attr=False)
    x = d2s.randn([1, 4, 5, 5])
    np.testing.assert_allclose(conv(x).numpy(), x.numpy(), rtol=1e-6)


def test_bilinear_enlarges_a_constant_image_to_a_constant() -> None:
    conv = nn.Conv2DTranspose(
        2, 2, 4, stride=2, padding=1, groups=2, weight_attr=init.Bilinear(), bias_attr=False
    )
    np.testing.assert_allclose(conv(d2s.ones([1, 2, 5, 5])).numpy()[:, :, 1:-1, 1:-1], 1.0, rtol=1e-6)


def test_a_global_initializer_goes_before_those_of_the_layers() -> None:
    init.set_global_initializer(init.Constant(0.5), init.Constant(2.0))
    try:
        layer = nn.Linear(2, 3)
        own = nn.Conv2D(1, 1, 2, weight_attr=init.Constant(7.0))
    finally:
        init.set_global_initializer(None)
    assert set(layer.weight.numpy().ravel()) == {0.5}
    assert layer.bias.tolist() == [2.0] * 3
    assert set(own.weight.numpy().ravel()) == {7.0}
    assert nn.Linear(2, 3).bias.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: init.TruncatedNormal(a=1, b=1), "a must be below b"),
        (lambda: init.TruncatedNormal(0.0, 1.0, 5.0, 6.0), "next to nothing"),
        (lambda: drawn_by(init.Orthogonal(), (3,)), "at least two axes"),
        (lambda: drawn_by(init.Dirac(), (3, 3)), "cannot make"),
        (lambda: drawn_by(init.Bilinear(), (3, 3, 2, 3)), "shape"),
    ],
)
def test_errors_of_initializers(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def drawn_by(first: init.Initializer, shape: tuple[int, ...]) -> np.ndarray:
    return first.sample(shape, np.dtype("float32"))
