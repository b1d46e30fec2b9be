"""Ops with a gradient of the user's own."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import DTypeError, GradientError, ShapeError
from d2s.autograd import PyLayer


def leaf(*values):
    return d2s.to_tensor(list(values), stop_gradient=False)


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x, scale=1.0, *, tag=None):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * 3 * x * x * ctx.scale


def layer(forward, backward):
    """A PyLayer of two functions."""
    return type("Layer", (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def test_values_and_gradient():
    x = leaf(2.0)
    y = Cube.apply(x, 2.0, tag="t")
    assert not y.stop_gradient
    y.backward()
    assert (y.tolist(), x.grad.tolist()) == ([16.0], [24.0])


def test_second_order_through_backward():
    x = leaf(2.0)
    (g,) = d2s.grad(Cube.apply(x), [x], create_graph=True)
    g.backward()
    assert (g.tolist(), x.grad.tolist()) == ([12.0], [12.0])


def test_without_a_wanted_gradient_it_is_plain():
    assert Cube.apply(d2s.to_tensor([2.0])).stop_gradient
    with d2s.no_grad():
        assert Cube.apply(leaf(2.0)).stop_gradient


def test_used_twice_needs_retain_graph():
    x = leaf(2.0)
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(GradientError, match="second time"):
        y.backward()
    assert x.grad.tolist() == [24.0]


def test_saved_tensor_written_is_noticed():
    y = leaf(2.0) * 1
    z = Cube.apply(y)
    y[0] = 5.0
    with pytest.raises(GradientError, match="saved for backward has been modified in place"):
        z.backward()


def test_one_gradient_per_tensor_argument():
    def backward(ctx, g):
        return g * 2, None, g * 5

    three = layer(lambda ctx, a, b, c, k: a * 2 + b + c * 5, backward)
    a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
    three.apply(a, b, c=c, k=3).backward()
    assert (a.grad.tolist(), b.grad, c.grad.tolist()) == ([2.0], None, [5.0])


def test_outputs_that_are_not_floating_or_marked_have_no_gradient():
    def forward(ctx, x):
        marked = x * 2
        ctx.mark_non_differentiable(marked)
        return x * 3, x > 0, marked, "text"

    y, mask, marked, text = layer(forward, lambda ctx, g, *others: g * 3).apply(leaf(1.0))
    assert (y.stop_gradient, mask.stop_gradient, marked.stop_gradient, text) == (False, True, True, "text")


@pytest.mark.parametrize(("materialize", "expected"), [(True, [0.0]), (False, None)])
def test_output_without_gradient(materialize, expected):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 1, x * 2

    def backward(ctx, a, b):
        seen.append(None if b is None else b.tolist())
        return a

    layer(forward, backward).apply(leaf(1.0))[0].backward()
    assert seen == [expected]


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda g: (g, g), GradientError, "returned 2 gradients, expected 1"),
        (lambda g: 1.0, DTypeError, "returned float as gradient 0"),
        (lambda g: np.ones(1), DTypeError, "returned ndarray as gradient 0"),
        (lambda g: g.reshape([1, 1]), ShapeError, r"gradient 0 as float32\[1, 1\], expected float32\[1\]"),
        (lambda g: g.cast("float64"), ShapeError, "float64"),
    ],
)
def test_wrong_results_of_backward_are_refused(result, error, message):
    x = leaf(1.0)
    with pytest.raises(error, match=message):
        layer(lambda ctx, x: x * 1, lambda ctx, g: result(g)).apply(x).backward()
    assert x.grad is None


@pytest.mark.parametrize("missing", ["forward", "backward"])
def test_missing_methods_are_named(missing):
    functions = {"forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(lambda ctx, g: g)}
    del functions[missing]
    with pytest.raises(NotImplementedError, match=f"static method {missing}"):
        type("Layer", (PyLayer,), functions).apply(leaf(1.0)).backward()
