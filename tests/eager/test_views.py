"""Tensors that share values: against NumPy, where arrays share memory."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import GradientError, ShapeError

VIEWS = {
    "reshape": lambda x: x.reshape([6]) if isinstance(x, d2s.Tensor) else x.reshape(6),
    "transpose": lambda x: x.T,
    "row": lambda x: x[1],
    "columns": lambda x: x[:, 1:],
    "reversed": lambda x: x[:, ::-1],
    "new axis": lambda x: x[None],
    "element": lambda x: x[1, 2, ...],
    "row of the transpose": lambda x: x.T[2],
    "part of a part": lambda x: x[1:][:, :2],
}


@pytest.mark.parametrize("grad", [False, True], ids=["buffer", "recorded"])
@pytest.mark.parametrize("name", VIEWS)
def test_write_through_a_view_is_seen_as_in_numpy(name, grad):
    array = np.arange(6, dtype="float32").reshape(2, 3)
    x = d2s.to_tensor(array, stop_gradient=not grad)
    y = x * 1
    view, array_view = VIEWS[name](y), VIEWS[name](array)
    view.add_(d2s.to_tensor(10.0))
    array_view += 10
    np.testing.assert_array_equal(y.numpy(), array)
    np.testing.assert_array_equal(view.numpy(), array_view)
    y[0] = -1.0
    array[0] = -1
    np.testing.assert_array_equal(view.numpy(), array_view)


@pytest.mark.parametrize("name", VIEWS)
def test_gradient_through_a_written_view(name):
    """y = x; view(y) *= 3; loss = sum(y * k): where the view points the gradient is 3k, elsewhere k."""
    k = np.arange(1, 7, dtype="float32").reshape(2, 3)
    expected = k.copy()
    part = VIEWS[name](expected)
    part *= 3
    x = d2s.to_tensor(np.ones((2, 3), "float32"), stop_gradient=False)
    y = x * 1
    VIEWS[name](y).multiply_(d2s.to_tensor(3.0))
    (y * d2s.to_tensor(k)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_sibling_views_see_each_other():
    y = d2s.zeros([4])
    first, second, flat = y[:3], y[1:], y.reshape([2, 2])
    first[2] = 5.0
    assert (second.tolist(), flat.tolist()) == ([0.0, 5.0, 0.0], [[0.0, 0.0], [5.0, 0.0]])


@pytest.mark.parametrize("copy", [lambda y: y[[0, 1]], lambda y: y[y >= 0], lambda y: y.clone(), lambda y: y + 0])
def test_copies_share_nothing(copy):
    y = d2s.zeros([2])
    other = copy(y)
    other[0] = 5.0
    y[1] = 7.0
    assert (y.tolist(), other.tolist()) == ([0.0, 7.0], [5.0, 0.0])


def test_output_of_split_cannot_be_written_but_follows():
    y = d2s.zeros([2])
    first, second = d2s.split(y, 2)
    with pytest.raises(GradientError, match=r"output of split is a view of its input and cannot be written"):
        first[0] = 1.0
    y[1] = 7.0
    assert (first.tolist(), second.tolist()) == ([0.0], [7.0])


@pytest.mark.parametrize("share", [lambda y: (y, y[0]), lambda y: (y[:1], y), lambda y: (y, y.detach())])
def test_shape_of_a_shared_value_cannot_be_changed_in_place(share):
    written, other = share(d2s.zeros([2, 2]))
    with pytest.raises(ShapeError, match="shares its values"):
        written.reshape_([-1])
    written[0] = 1.0
    assert other.max().item() == 1.0


def test_set_value_is_seen_in_views_made_before():
    w = d2s.to_tensor([[1.0, 2.0]], stop_gradient=False)
    transposed, detached = w.T, w.detach()
    w.set_value(d2s.to_tensor([[3.0, 4.0]]))
    assert (transposed.tolist(), detached.tolist()) == ([[3.0], [4.0]], [[3.0, 4.0]])


def test_detached_tensor_may_get_a_history_of_its_own():
    x, w = d2s.to_tensor([2.0], stop_gradient=False), d2s.to_tensor([3.0], stop_gradient=False)
    d = x.detach()
    d.multiply_(w)
    assert (x.tolist(), x.is_leaf, d.stop_gradient) == ([6.0], True, False)
    d.backward()
    assert (x.grad, w.grad.tolist()) == (None, [2.0])


def test_write_without_grad_mode_keeps_the_history():
    x = d2s.to_tensor([2.0, 3.0], stop_gradient=False)
    y = x * 2
    with d2s.no_grad():
        y[0] = 100.0
    assert y.tolist() == [100.0, 6.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_buffer_with_views_becomes_differentiable():
    x = d2s.to_tensor(2.0, stop_gradient=False)
    buffer = d2s.zeros([2])
    view = buffer[0:1]
    buffer[0] = x * 3
    assert not view.stop_gradient
    view.backward()
    assert x.grad.item() == 3.0


def test_views_do_not_pile_up():
    y = d2s.zeros([4])
    for _ in range(1000):
        y[0]
    assert len(y._sharing.views) < 20
