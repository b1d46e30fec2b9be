"""Gradient clipping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn


def clipped(clip: Any, *grads: Any, **settings: bool) -> list[Any]:
    parameters = [nn.Parameter(np.zeros(np.shape(grad), "float32")) for grad in grads]
    parameters[-1].need_clip = settings.get("last_needs_clip", True)
    pairs = [(p, None if grad is None else d2s.to_tensor(grad)) for p, grad in zip(parameters, grads, strict=True)]
    result = clip(pairs)
    assert [param for param, _ in result] == parameters
    return [None if grad is None else grad.tolist() for _, grad in result]


def test_by_value() -> None:
    assert clipped(nn.ClipGradByValue(1.0), [3.0, -3.0, 0.5]) == [[1.0, -1.0, 0.5]]
    assert clipped(nn.ClipGradByValue(1.0, -2.0), [3.0, -3.0, 0.5]) == [[1.0, -2.0, 0.5]]


def test_by_norm_treats_each_gradient_alone() -> None:
    found = clipped(nn.ClipGradByNorm(1.0), [3.0, 4.0], [0.3, 0.4])
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_by_global_norm_uses_one_factor() -> None:
    found = clipped(nn.ClipGradByGlobalNorm(6.5), [3.0, 4.0], [12.0, 0.0])
    np.testing.assert_allclose(found, [[1.5, 2.0], [6.0, 0.0]], rtol=1e-6)
    assert clipped(nn.ClipGradByGlobalNorm(13.5), [3.0, 4.0], [12.0, 0.0]) == [[3.0, 4.0], [12.0, 0.0]]


def test_parameters_can_be_left_out() -> None:
    found = clipped(nn.ClipGradByGlobalNorm(2.5), [3.0, 4.0], [100.0, 0.0], last_needs_clip=False)
    np.testing.assert_allclose(found, [[1.5, 2.0], [100.0, 0.0]], rtol=1e-6)


def test_missing_gradients_stay_missing_and_scalars_scalars() -> None:
    assert clipped(nn.ClipGradByGlobalNorm(2.0), None, 4.0) == [None, 2.0]
    assert clipped(nn.ClipGradByValue(2.0), None, 4.0) == [None, 2.0]


def test_half_precision_norms_do_not_overflow() -> None:
    grad = d2s.to_tensor(np.full(4, 300.0, "float16"))
    ((_, found),) = nn.ClipGradByNorm(6.0)([(nn.Parameter(np.zeros(4, "float16")), grad)])
    assert found.dtype == np.float16
    assert found.tolist() == [3.0] * 4


def test_the_gradients_given_are_not_changed() -> None:
    grad = d2s.to_tensor([3.0, 4.0])
    for clip in (nn.ClipGradByValue(1.0), nn.ClipGradByNorm(1.0), nn.ClipGradByGlobalNorm(1.0)):
        clip([(nn.Parameter([0.0, 0.0]), grad)])
    assert grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.ClipGradByNorm(0.0),
        lambda: nn.ClipGradByGlobalNorm(-1.0),
        lambda: nn.ClipGradByGlobalNorm(float("nan")),
        lambda: nn.ClipGradByValue(1.0, 2.0),
    ],
)
def test_bad_arguments(make: Any) -> None:
    with pytest.raises(ValueError, match="got"):
        make()
