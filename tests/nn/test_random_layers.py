"""Layers and functions that draw: what they leave alone, and the moments of what they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn
from d2s.nn import functional as F

X = d2s.to_tensor(np.random.default_rng(0).standard_normal((40, 50, 4, 5)).astype("float32"))


@pytest.mark.parametrize("layer", [nn.AlphaDropout(0.3), nn.Dropout2D(0.3), nn.Dropout(0.3)], ids=str)
def test_dropout_does_nothing_in_evaluation_and_the_same_in_both_modes(layer: nn.Layer) -> None:
    layer.eval()
    assert layer(X) is X
    layer.train()
    d2s.seed(5)
    eager = layer(X).numpy()
    d2s.seed(5)
    np.testing.assert_array_equal(d2s.to_static(layer)(X).numpy(), eager)
    assert not np.array_equal(eager, X.numpy())


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    values = F.alpha_dropout(X, 0.3).numpy()
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 1) < 0.02


def test_dropout_of_channels_takes_whole_ones() -> None:
    whole = (F.dropout2d(d2s.ones([20, 30, 4, 5]), 0.4).numpy() != 0).all((2, 3))
    none = (F.dropout2d(d2s.ones([20, 30, 4, 5]), 0.4).numpy() == 0).all((2, 3))
    assert whole.mean() == pytest.approx(0.6, abs=0.06)
    assert none.mean() == pytest.approx(0.4, abs=0.06)
    lines = F.dropout1d(d2s.ones([20, 30, 4]), 0.4).numpy()
    assert set(np.unique(lines.sum(-1)).round(4)) == {0.0, np.float32(4 / 0.6).round(4)}


def test_rrelu_draws_slopes_in_training_and_takes_their_mean_elsewhere() -> None:
    negative = d2s.full([1000], -1.0)
    drawn = -F.rrelu(negative, 0.2, 0.4).numpy()
    assert drawn.min() >= 0.2
    assert drawn.max() < 0.4
    assert drawn.std() > 0.04
    layer = nn.RReLU(0.2, 0.4)
    layer.eval()
    np.testing.assert_allclose(layer(negative).numpy(), -0.3, rtol=1e-6)


def test_a_hard_gumbel_softmax_is_one_hot_with_the_gradient_of_the_soft_one() -> None:
    logits = d2s.to_tensor(np.log(np.float32([[0.7, 0.2, 0.1]] * 4000)), stop_gradient=False)
    d2s.seed(3)
    hard = F.gumbel_softmax(logits, hard=True)
    np.testing.assert_allclose(np.sort(hard.numpy(), -1), [[0, 0, 1]] * 4000, atol=1e-6)
    np.testing.assert_allclose(hard.numpy().mean(0), [0.7, 0.2, 0.1], atol=0.03)
    (hard * hard.detach()).sum().backward()
    of_hard = logits.grad.numpy()
    logits.clear_grad()
    d2s.seed(3)
    (F.gumbel_softmax(logits) * hard.detach()).sum().backward()
    np.testing.assert_allclose(of_hard, logits.grad.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.alpha_dropout(X, 1.5), "probability"),
        (lambda: F.rrelu(X, 0.5, 0.2), "0 <= lower <= upper"),
        (lambda: F.pixel_shuffle(X, 3), "cannot be divided by 9"),
        (lambda: F.channel_shuffle(X, 7), "cannot be divided by 7"),
        (lambda: F.maxout(X, 3), "cannot be divided by 3"),
        (lambda: F.interpolate(X), "either size or scale_factor"),
        (lambda: F.interpolate(X, 4, mode="cubic"), "mode must be one of"),
        (lambda: F.interpolate(X, [4, 4], mode="linear"), "does not take shape"),
        (lambda: F.interpolate(X, [4, 0]), "must be positive"),
        (lambda: F.fold(d2s.ones([2, 12, 5]), 4, 2), "needs a tensor of shape"),
        (lambda: nn.Conv2D(3, 4, 3, groups=2), "groups=2 must divide"),
        (lambda: nn.Conv2D(3, 4, 3, padding_mode="mirror"), "padding_mode must be one of"),
        (lambda: nn.Conv2D(3, 4, 3, padding="SAME", padding_mode="reflect"), "needs numbers as padding"),
        (lambda: nn.GroupNorm(3, 4), "num_groups=3 must divide"),
        (lambda: nn.InstanceNorm2D(3, weight_attr=False), "False together"),
        (lambda: nn.InstanceNorm1D(50)(X), "needs a tensor of 3 axes"),
        (lambda: nn.Softmax2D()(X[0, 0]), "3 or 4 axes"),
        (lambda: F.gaussian_nll_loss(X, X, X[0]), "does not take variances"),
        (lambda: F.triplet_margin_loss(X, X, X, margin=-1.0), "margin must not be negative"),
        (lambda: F.multi_margin_loss(X, X), "scores of shape"),
        (lambda: nn.KLDivLoss("median"), "reduction must be one of"),
    ],
)
def test_what_cannot_be_done_is_said(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
