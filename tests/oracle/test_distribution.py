"""Distributions against PaddlePaddle: densities, entropies, divergences and their gradients."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s

from .peers import INSTALL, importable

F32 = np.float32
A = np.array([[0.1, 0.2, 0.7], [0.3, -0.4, 1.5]], F32)
B = np.array([0.5, 2.0, 1.25], F32)
P = np.array([[0.1, 0.2, 0.7], [0.3, 0.45, 0.25]], F32)
Q = np.array([[0.4, 0.2, 0.4], [0.1, 0.8, 0.1]], F32)

# What is asked of the module of distributions, with the arrays it is asked about.
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "normal log_prob": (lambda m, a, b: m.Normal(a, b).log_prob(a * 2), (A, B)),
    "normal probs": (lambda m, a, b: m.Normal(a, b).probs(a + 0.5), (A, B)),
    "normal entropy": (lambda m, a, b: m.Normal(a, b + a * 0).entropy(), (A, B)),
    "normal moments": (lambda m, a, b: m.Normal(a, b).mean + m.Normal(a, b).variance, (A, B)),
    "normal divergence": (lambda m, a, b: m.kl_divergence(m.Normal(a, b), m.Normal(b, b * 2)), (A, B)),
    "normal of numbers": (lambda m, a: m.Normal(1.0, 2.0).log_prob(a), (A,)),
    "uniform log_prob": (lambda m, a, b: m.Uniform(a - 1, a + b).log_prob(a + 0.1), (A, B)),
    "uniform probs": (lambda m, a, b: m.Uniform(a, b).probs(a * 0 + 0.5), (A, B)),
    "uniform entropy": (lambda m, a, b: m.Uniform(a - b, a + b).entropy(), (A, B)),
    "bernoulli log_prob": (lambda m, p: m.Bernoulli(p).log_prob(p.detach().round()), (P,)),
    "bernoulli prob": (lambda m, p: m.Bernoulli(p).prob(p.detach() * 0 + 1), (P,)),
    "bernoulli entropy": (lambda m, p: m.Bernoulli(p).entropy(), (P,)),
    "bernoulli moments": (lambda m, p: m.Bernoulli(p).mean * 2 + m.Bernoulli(p).variance, (P,)),
    "bernoulli cdf": (lambda m, p: m.Bernoulli(p).cdf(p - 0.3), (P,)),
    "bernoulli divergence": (lambda m, p, q: m.kl_divergence(m.Bernoulli(p), m.Bernoulli(q)), (P, Q)),
    "bernoulli of certainty": (lambda m, p: m.Bernoulli(p.detach().round()).log_prob(p.detach().round()), (P,)),
    "categorical entropy": (lambda m, a: m.Categorical(a).entropy(), (A,)),
    "categorical divergence": (lambda m, a, q: m.Categorical(a).kl_divergence(m.Categorical(q)), (A, Q)),
    "categorical probs": (lambda m, p, i: m.Categorical(p).probs(i), (P, np.array([0, 2, 2]))),
    "categorical log_prob": (lambda m, p, i: m.Categorical(p).log_prob(i), (P, np.array([[0], [2]]))),
    "categorical of one": (lambda m, b, i: m.Categorical(b).log_prob(i), (B, np.array([[0, 1], [2, 2]]))),
}


# In backward of these the process of PaddlePaddle crashes: `tests/test_distribution.py` checks their gradients.
WITHOUT_GRADIENT = {name for name in CASES if name.startswith("bernoulli")}


def seen(name: str, module: Any, library: Any) -> list[Any]:
    """The result and the gradients."""
    function, arrays = CASES[name]
    tensors = [
        library.to_tensor(array, stop_gradient=array.dtype.kind != "f" or name in WITHOUT_GRADIENT) for array in arrays]
    result = function(module, *tensors)
    found = [result.numpy()]
    if not result.stop_gradient:
        (result * result).sum().backward()
        found += [tensor.grad.numpy() for tensor in tensors if tensor.grad is not None]
    return found


@pytest.fixture
def paddle() -> Any:
    if not importable("paddle"):
        pytest.skip(f"pip install {INSTALL['paddle']}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("paddle")


@pytest.mark.parametrize("name", CASES)
def test_distributions(name: str, paddle: Any) -> None:
    expected, found = seen(name, paddle.distribution, paddle), seen(name, d2s.distribution, d2s)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


@pytest.mark.parametrize("shape", [[], [3], [2, 3]])
def test_shapes_and_gradients_of_samples(shape: list[int], paddle: Any) -> None:
    for make in (
        lambda m, t: m.Normal(t(A, stop_gradient=False), t(np.abs(A), stop_gradient=False)),
        lambda m, t: m.Uniform(t(A, stop_gradient=False), t(A + 1, stop_gradient=False)),
        lambda m, t: m.Bernoulli(t(P, stop_gradient=False)), lambda m, t: m.Normal(0.0, 1.0),
    ):
        theirs = make(paddle.distribution, paddle.to_tensor).sample(shape)
        ours = make(d2s.distribution, d2s.to_tensor).sample(shape)
        assert (list(ours.shape), ours.stop_gradient) == (list(theirs.shape), theirs.stop_gradient)
    if shape:
        theirs = paddle.distribution.Categorical(paddle.to_tensor(P)).sample(shape)
        ours = d2s.distribution.Categorical(d2s.to_tensor(P)).sample(shape)
        assert list(ours.shape) == list(theirs.shape)
