"""`recompute`: everything that can be seen is as without it, but for what is kept."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.autograd import recompute
from d2s.errors import GradientError


def plainly(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


@d2s.jit.to_static
def in_a_program(layer: Any, x: Any) -> Any:
    return recompute(block, layer, x)


def block(layer: Any, x: Any, rate: float = 0.5) -> Any:
    h = d2s.nn.functional.dropout(layer(x).tanh(), rate)
    h.register_hook(lambda g: g * g + 1)
    return h * x, h.sum()


def everything(call: Any) -> list[Any]:
    """Values, gradients, what hooks have seen, and the next random number."""
    d2s.seed(3)
    layer, seen = d2s.nn.Linear(3, 3), []
    layer.weight.register_hook(lambda g: seen.append(g.numpy().copy()))
    layer.bias._register_backward_hook(lambda: seen.append(layer.bias.grad.numpy().copy()))
    x = d2s.to_tensor(np.arange(6, dtype="float32").reshape(2, 3) / 5, stop_gradient=False)
    inner = x * 2
    first, second = call(block, layer, inner)
    first.register_hook(lambda g: g + 0.5)
    total = (first * inner).sum() + second + layer(x).sum()
    total.backward()
    arrays = [total, x.grad, layer.weight.grad, layer.bias.grad, d2s.rand([2])]
    return [array.numpy().tolist() for array in arrays] + [array.tolist() for array in seen]


def test_values_gradients_hooks_and_random_numbers() -> None:
    expected = everything(plainly)
    assert everything(recompute) == expected
    assert everything(lambda function, *args: in_a_program(*args)) == expected


def test_hooks_of_an_output_run_in_their_order() -> None:
    def inside(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g + 1)
        return y

    for call in (plainly, recompute):
        x = d2s.to_tensor([1.0], stop_gradient=False)
        y = call(inside, x)
        y.register_hook(lambda g: g * g)
        (y * 3).backward()
        assert x.grad.item() == 32.0


def test_it_keeps_no_values_inside() -> None:
    kept: list[Any] = []

    def inside(x: Any) -> Any:
        h = x.exp()
        kept.append(weakref.ref(h))
        return h * h

    x = d2s.ones([3])
    x.stop_gradient = False
    y = recompute(inside, x)
    gc.collect()
    assert kept[0]() is None
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([2.0] * 3), rtol=1e-6)
    assert len(kept) == 2


def test_second_derivatives() -> None:
    x = d2s.to_tensor([0.5, 2.0], "float64", stop_gradient=False)
    y = recompute(lambda v: v.exp() * v, x)
    (g,) = d2s.grad(y.sum(), [x], create_graph=True)
    g.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.numpy()) * (x.numpy() + 2))


def test_grad_and_no_grad() -> None:
    x, w = (d2s.to_tensor([value], stop_gradient=False) for value in (3.0, 5.0))
    y = recompute(lambda v: v * w, x * 1)
    assert [g.item() for g in d2s.grad(y, [w, x], retain_graph=True)] == [3.0, 5.0]
    y.backward()
    assert (x.grad.item(), w.grad.item()) == (5.0, 3.0)
    with pytest.raises(GradientError, match="a second time"):
        y.backward()
    with d2s.no_grad():
        assert recompute(lambda v: v * w, x).stop_gradient
    assert recompute(lambda v: v, x) is x


def test_keyword_arguments_and_structures() -> None:
    x = d2s.to_tensor([3.0], stop_gradient=False)
    found = recompute(lambda v, *, factor: {"a": [v * factor], "n": 1}, x, factor=4, use_reentrant=False)
    found["a"][0].backward()
    assert (found["n"], x.grad.item()) == (1, 4.0)


def test_refusals() -> None:
    x, w = (d2s.to_tensor([value], stop_gradient=False) for value in (3.0, 5.0))
    y = recompute(lambda v: v * w, x)
    with d2s.no_grad():
        w.add_(d2s.ones([1]))
    with pytest.raises(GradientError, match=r"recompute\(\) reads again has been modified in place"):
        y.backward()

    counts = iter([1, 2])
    y = recompute(lambda v: (v * 2).expand([next(counts)]), x)
    with pytest.raises(GradientError, match="returned something else than the first time"):
        y.backward()

    def hooked(v: Any) -> Any:
        h = v * v
        h.register_hook(lambda g: g + 1)
        return h * v

    with pytest.raises(GradientError, match="no complete gradient under create_graph"):
        d2s.grad(recompute(hooked, x), [x], create_graph=True)
