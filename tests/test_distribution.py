"""Distributions: both modes to the bit, second derivatives, samples that have their moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.static import InputSpec

D = d2s.distribution
A = np.array([[0.1, 0.2], [0.3, -0.4]], "float32")
B = np.array([1.0, 2.0], "float32")
outer = D.Normal(0.0, 1.0)

USES: dict[str, Callable[[Any, Any], list[Any]]] = {
    "normal": lambda a, b: [
        (d := D.Normal(a, d2s.exp(b))).sample([3]), d.rsample(), d.log_prob(a * 2), d.entropy(), d.probs(b), d.prob(b),
        D.kl_divergence(d, D.Normal(0.0, 1.0)), d.mean, d.variance, d.stddev],
    "uniform": lambda a, b: [(d := D.Uniform(a, b)).sample([3]), d.log_prob(a + 0.5), d.entropy(), d.prob(a + 0.5)],
    "bernoulli": lambda a, b: [
        (d := D.Bernoulli(d2s.nn.functional.sigmoid(a))).sample([3]), d.rsample([2], 0.5), d.log_prob(d2s.ones([2])),
        d.entropy(), d.kl_divergence(D.Bernoulli(0.3)), d.cdf(a), d.mean, d.variance],
    "categorical": lambda a, b: [
        (d := D.Categorical(d2s.exp(a))).sample([3]), d.entropy(), d.log_prob(d2s.to_tensor([0, 1])),
        d.probs(d2s.to_tensor([[1], [0]])), d.kl_divergence(D.Categorical(b)), D.Categorical(b).sample([2, 2]),
        D.Categorical(b).probs(d2s.to_tensor([[1], [0]]))],
    "from outside": lambda a, b: [outer.log_prob(a), outer.sample([2]), D.kl_divergence(D.Normal(a, b), outer)],
    "in a branch": lambda a, b: [D.Normal(a, b).log_prob(b) if a.sum() > 0 else D.Normal(a, b).entropy()],
}


def walk(x: Any) -> tuple[Any, Any]:
    steps = d2s.zeros([])
    while x.sum() < 10:
        x, steps = x + D.Normal(x, 1.0).sample() ** 2, steps + 1
    return x, steps


def seen(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """Bits of what it gives, and of gradients, from one seed."""
    d2s.seed(3)
    tensors = [d2s.to_tensor(array, stop_gradient=False) for array in arrays]
    results = function(*tensors)
    roots = [result for result in results if not result.stop_gradient]
    if roots:
        sum((root * root).sum() for root in roots).backward()
    grads = [tensor.grad for tensor in tensors]
    return [tensor if tensor is None else tensor.numpy().tobytes() for tensor in (*results, *grads)]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_both_modes(use: Callable[..., Any]) -> None:
    static = d2s.jit.to_static(use)
    for sign in (1, -1):
        assert seen(static, sign * A, B) == seen(use, sign * A, B)


def test_in_a_loop_on_a_tensor() -> None:
    assert seen(d2s.jit.to_static(walk), B) == seen(walk, B)


def test_one_program_for_all_batches() -> None:
    static = d2s.jit.to_static(
        lambda a: D.Normal(a, 1.0).sample([2]).sum() + D.Categorical(d2s.exp(a)).sample([3]).sum(),
        input_spec=[InputSpec([None, 4])])
    for batch in (2, 3, 5):
        d2s.seed(batch)
        found = static(d2s.ones([batch, 4])).item()
        d2s.seed(batch)
        assert found == static.dygraph_function(d2s.ones([batch, 4])).item()
    assert len(static.program_cache) == 1


@pytest.mark.parametrize(
    "use", [
        lambda a: D.Normal(a, 2.0).log_prob(a * a + 0.3), lambda a: D.Bernoulli(d2s.nn.functional.sigmoid(a)).entropy(),
        lambda a: D.Bernoulli(d2s.nn.functional.sigmoid(a)).log_prob(1.0),
        lambda a: D.Categorical(a).entropy(), lambda a: D.kl_divergence(D.Categorical(a), D.Categorical(a * a)),
        lambda a: D.Uniform(a, a * a + 2).entropy(), lambda a: D.kl_divergence(D.Normal(a, 1 + a * a), outer)],
)
def test_gradients(use: Callable[..., Any]) -> None:
    d2s.testing.check_grads(use, d2s.to_tensor([[0.3, -0.7, 1.1]]), order=2)


def test_samples_have_the_moments_of_their_distribution() -> None:
    d2s.seed(0)
    for made, mean, deviation in (
        (D.Normal(2.0, 3.0), 2.0, 3.0), (D.Uniform(-1.0, 3.0), 1.0, 4 / math.sqrt(12)),
        (D.Bernoulli(0.3), 0.3, math.sqrt(0.21)), (D.Categorical([0.0, math.log(3.0)]), 0.75, math.sqrt(0.1875)),
    ):
        drawn = made.sample([20_000]).numpy()
        assert abs(drawn.mean() - mean) < 0.05 * max(deviation, 1)
        assert abs(drawn.std() - deviation) < 0.05 * max(deviation, 1)


def test_wrong_uses() -> None:
    with pytest.raises(d2s.DTypeError, match="a Normal is defined from another one, got Uniform"):
        D.kl_divergence(outer, D.Uniform(0.0, 1.0))
    with pytest.raises(d2s.DTypeError, match="are tensors or real numbers"):
        D.Normal("a", 1.0)
    with pytest.raises(d2s.NotSupportedError, match=r"Uniform does not define kl_divergence\(\)"):
        D.Uniform(0.0, 1.0).kl_divergence(D.Uniform(0.0, 1.0))
    with pytest.raises(d2s.ShapeError, match="broadcast"):
        D.Normal(d2s.ones([2]), d2s.ones([3]))
