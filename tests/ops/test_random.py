"""Random ops: one generator, seeded by `d2s.seed`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s import ops
from d2s.ops.random import generator

DRAWS = [
    lambda: d2s.rand([3]),
    lambda: d2s.randn([3]),
    lambda: d2s.randint(0, 100, [3]),
    lambda: d2s.randperm(5),
    lambda: d2s.uniform([3], min=-1.0, max=2.0),
    lambda: d2s.normal(1.0, 2.0, [3]),
    lambda: d2s.bernoulli(d2s.full([3], 0.5)),
    lambda: d2s.multinomial(d2s.ones([5]), 3),
    lambda: ops.dropout(d2s.ones([3]), 0.5),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_same_seed_same_numbers(draw: Any) -> None:
    d2s.seed(3)
    first, following = draw().tolist(), d2s.rand([2]).tolist()
    d2s.seed(3)
    assert draw().tolist() == first
    assert d2s.rand([2]).tolist() == following
    assert d2s.seed(4) is generator()


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        (lambda: d2s.rand([20000]), 0.5, 12**-0.5),
        (lambda: d2s.uniform([20000], "float64", -1.0, 3.0), 1.0, 4 * 12**-0.5),
        (lambda: d2s.randn([20000]), 0.0, 1.0),
        (lambda: d2s.normal(2.0, 3.0, [20000]), 2.0, 3.0),
        (lambda: d2s.normal(d2s.full([20000], 2.0), d2s.full([20000], 3.0)), 2.0, 3.0),
        (lambda: d2s.randint(0, 5, [20000]).astype("float32"), 2.0, 2**0.5),
        (lambda: d2s.bernoulli(d2s.full([20000], 0.25)), 0.25, 0.1875**0.5),
        (lambda: ops.dropout(d2s.ones([20000]), 0.2), 1.0, 0.5),
    ],
)
def test_moments(draw: Any, mean: float, deviation: float) -> None:
    numbers = draw().numpy()
    assert numbers.mean() == pytest.approx(mean, abs=5 * deviation / 20000**0.5)
    assert numbers.std() == pytest.approx(deviation, rel=0.03)


def test_ranges_and_dtypes() -> None:
    assert d2s.rand([2, 3]).dtype == "float32"
    assert d2s.rand([2], "float64").dtype == "float64"
    drawn = d2s.randint(3, shape=[100])
    assert drawn.dtype == "int64"
    assert set(drawn.tolist()) == {0, 1, 2}
    assert sorted(d2s.randperm(4).tolist()) == [0, 1, 2, 3]
    assert len(set(d2s.multinomial(d2s.ones([2, 4]), 4).numpy()[1].tolist())) == 4
    assert set(d2s.multinomial(d2s.to_tensor([0.0, 1.0]), 5, True).tolist()) == {1}


def test_dropout() -> None:
    x = d2s.ones([4, 5])
    assert ops.dropout(x, 0.5, training=False) is x
    assert ops.dropout(x, 0.5, training=False, mode="downscale_in_infer").tolist() == (np.ones((4, 5)) * 0.5).tolist()
    assert set(np.unique(ops.dropout(x, 0.5).numpy())) <= {0.0, 2.0}
    assert set(np.unique(ops.dropout(x, 0.5, mode="downscale_in_infer").numpy())) <= {0.0, 1.0}
    assert ops.dropout(x, 1.0).numpy().sum() == 0
    rows = ops.dropout(x, 0.5, axis=0).numpy()
    assert (rows == rows[:, :1]).all()


def test_gradient_of_dropout_is_its_mask() -> None:
    x = d2s.to_tensor(np.ones(100), stop_gradient=False)
    y = ops.dropout(x, 0.5)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_a_seed_in_a_static_function_is_set_on_every_call() -> None:
    @d2s.to_static
    def drawn() -> d2s.Tensor:
        d2s.seed(7)
        return d2s.rand([3])

    first = drawn().numpy()
    np.testing.assert_array_equal(drawn().numpy(), first)
    d2s.seed(7)
    np.testing.assert_array_equal(d2s.rand([3]).numpy(), first)
