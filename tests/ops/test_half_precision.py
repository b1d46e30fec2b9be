"""float16 is for storing numbers: sums, norms, pools and losses of it are those of float32, rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import ops
from d2s.nn import functional as F

# Squares and sums of these are beyond the largest float16, 65504; the results are not.
FAR = np.array([[300.0, -290.0, 1.5], [250.0, 310.0, -2.0]])
NEAR = FAR + np.array([[200.0, 10.0, 0.5], [-20.0, 0.0, 1.0]])
SHARES = np.array([[0.2, 0.7, 0.1], [0.5, 0.3, 0.2]])
IMAGE = np.full((1, 2, 4, 4), 60000.0) - np.arange(32.0).reshape(1, 2, 4, 4) * 100
LABELS = np.array([2, 0])
SIGNS = np.sign(FAR)

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum": (lambda x: d2s.sum(x, 0), (np.ones((4096, 2)),)),
    "mean": (lambda x: d2s.mean(x, 1), (np.full((2, 3), 60000.0),)),
    "cumsum": (lambda x: d2s.cumsum(x, 0), (np.ones((4096, 2)),)),
    "nansum": (lambda x: d2s.nansum(x, 0), (np.ones((4096, 2)),)),
    "nanmean": (d2s.nanmean, (np.array([60000.0, np.nan, 60000.0]),)),
    "logsumexp": (lambda x: d2s.logsumexp(x, 0), (FAR,)),
    "prod": (d2s.prod, (np.array([300.0, 300.0, 0.01, 2.0]),)),
    "cumprod": (lambda x: d2s.cumprod(x, 0), (np.array([300.0, 0.1, 300.0, 2.0]),)),
    "var": (lambda x: d2s.var(x, 1), (FAR / 2,)),
    "std": (lambda x: d2s.std(x, 1), (FAR,)),
    "norm": (lambda x: d2s.norm(x, axis=1), (FAR,)),
    "dist": (d2s.dist, (FAR, NEAR)),
    "normalize": (F.normalize, (FAR,)),
    "vector_norm": (lambda x: d2s.linalg.vector_norm(x, 3.0), (FAR,)),
    "matrix_norm": (d2s.linalg.matrix_norm, (FAR,)),
    "cdist": (d2s.cdist, (FAR, NEAR)),
    "softmax": (lambda x: F.softmax(x, 0), (FAR,)),
    "log_softmax": (F.log_softmax, (FAR,)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, 3, w, b), (FAR, SHARES[0], SHARES[1])),
    "rms_norm": (lambda x: F.rms_norm(x, 3), (FAR,)),
    "batch_norm": (lambda x, m, v: F.batch_norm(x, m, v, training=True), (FAR, SHARES[0], SHARES[1])),
    "instance_norm": (F.instance_norm, (IMAGE,)),
    "group_norm": (lambda x: F.group_norm(x, 2), (IMAGE,)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), (IMAGE,)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), (IMAGE[0],)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), (IMAGE,)),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 2), (IMAGE[0],)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), (IMAGE,)),
    "cross_entropy": (F.cross_entropy, (FAR, LABELS)),
    "softmax_with_cross_entropy": (F.softmax_with_cross_entropy, (FAR, LABELS[:, None])),
    "mse_loss": (F.mse_loss, (FAR, NEAR)),
    "l1_loss": (F.l1_loss, (FAR * 150, NEAR)),
    "nll_loss": (F.nll_loss, (FAR, LABELS)),
    "binary_cross_entropy": (F.binary_cross_entropy, (SHARES, SHARES[::-1])),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, (FAR, SHARES)),
    "smooth_l1_loss": (F.smooth_l1_loss, (FAR * 150, NEAR)),
    "kl_div": (F.kl_div, (FAR, SHARES)),
    "cosine_similarity": (F.cosine_similarity, (FAR, NEAR)),
    "cosine_embedding_loss": (F.cosine_embedding_loss, (FAR, NEAR, SIGNS[:, 0])),
    "margin_ranking_loss": (F.margin_ranking_loss, (FAR * 100, NEAR, SIGNS)),
    "gaussian_nll_loss": (F.gaussian_nll_loss, (FAR, NEAR, SHARES * 100)),
    "poisson_nll_loss": (F.poisson_nll_loss, (FAR / 60, NEAR)),
    "log_loss": (F.log_loss, (SHARES, SHARES[::-1])),
    "sigmoid_focal_loss": (F.sigmoid_focal_loss, (FAR, SHARES)),
    "dice_loss": (F.dice_loss, (SHARES, LABELS[:, None])),
    "pairwise_distance": (F.pairwise_distance, (FAR, NEAR)),
    "triplet_margin_loss": (F.triplet_margin_loss, (FAR, NEAR, FAR * 2)),
    "hinge_embedding_loss": (F.hinge_embedding_loss, (FAR * 100, SIGNS)),
    "soft_margin_loss": (F.soft_margin_loss, (FAR / 30, SIGNS)),
    "multi_margin_loss": (lambda x, label: F.multi_margin_loss(x, label, p=2), (FAR / 10, LABELS)),
    "multi_label_soft_margin_loss": (F.multi_label_soft_margin_loss, (FAR, SIGNS > 0)),
}


def test_every_function_that_computes_in_float32_is_here() -> None:
    marked = {name for name in dir(ops) if getattr(getattr(ops, name), "__code__", None) is d2s.std.__code__}
    assert len(marked) > 30
    assert marked <= set(CALLS)


def computed(function: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """Results, and the gradients of the floating point arguments."""
    leaves = [d2s.to_tensor(array, stop_gradient=array.dtype.kind != "f") for array in arrays]
    result = function(*leaves)
    # Powers of two: nothing is rounded on the way back.
    (result * d2s.full(result.shape, 0.5, str(result.dtype))).sum().backward()
    return [result, *[leaf.grad for leaf in leaves if leaf.grad is not None]]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_results_and_gradients_are_those_of_float32(name: str) -> None:
    function, given = CALLS[name]
    half = [arg.astype("float16") if arg.dtype.kind == "f" else arg for arg in map(np.asarray, given)]
    single = [arg.astype("float32") if arg.dtype.kind == "f" else arg for arg in half]
    found, static = computed(function, half), computed(d2s.jit.to_static(function), half)
    expected = computed(function, single)
    assert len(found) == len(expected) > 1
    for part, other, wide in zip(found, static, expected, strict=True):
        assert part.dtype == "float16"
        assert wide.dtype == "float32"
        with np.errstate(over="ignore"):
            rounded = wide.numpy().astype("float16")
        assert part.numpy().tobytes() == rounded.tobytes() == other.numpy().tobytes(), name
    assert np.isfinite(found[0].numpy()).all()


def test_gradients_of_what_is_broadcast_add_up_in_float32() -> None:
    bias = d2s.zeros([2], "float16")
    bias.stop_gradient = False
    (d2s.ones([4096, 2], "float16") + bias).sum(0).sum().backward()
    assert bias.grad.tolist() == [4096, 4096]


def test_mean_of_more_elements_than_float16_counts() -> None:
    x = d2s.ones([70000], "float16")
    x.stop_gradient = False
    x.mean().backward()
    assert math.isclose(x.grad[0].item(), 1 / 70000, rel_tol=0.01)


def test_the_dtype_asked_for_and_wider_arguments_count() -> None:
    x = d2s.to_tensor([[3.0, 4.0]], "float16")
    assert F.softmax(x, dtype="float32").dtype == d2s.norm(x, dtype="float32").dtype == "float32"
    assert d2s.prod(x, dtype="float64").dtype == "float64"
    assert F.layer_norm(x, 2, d2s.ones([2])).dtype == F.mse_loss(x, d2s.ones([1, 2])).dtype == "float32"
    assert F.mse_loss(input=x, label=x).dtype == "float16"
    wide = d2s.to_tensor([300.0, 300.0, 0.01])
    assert d2s.prod(wide, dtype="float16").item() == d2s.prod(wide.astype("float16")).item() < 1000


def test_running_statistics_stay_float16() -> None:
    layer = d2s.nn.BatchNorm1D(2)
    layer.to(dtype="float16")
    layer(d2s.to_tensor([[300.0, 1.0], [-300.0, 2.0]], "float16"))
    assert layer._mean.dtype == layer._variance.dtype == "float16"
    np.testing.assert_allclose(layer._variance.numpy(), [0.9 + 9000, 0.9 + 0.025], rtol=1e-3)
