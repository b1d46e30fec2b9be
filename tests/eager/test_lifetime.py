"""Copies, pickles, garbage, threads."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import d2s


class Marker:
    """Hung on something to see it go."""


def leaf(*values):
    return d2s.to_tensor(list(values), stop_gradient=False)


@pytest.mark.parametrize("through", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_copies_are_leaves_without_hooks(through):
    x = leaf(2.0)
    x.name = "weight"
    x.register_hook(lambda g: g * g + 1)
    x._register_backward_hook(lambda: pytest.fail("a reduce hook was copied"))
    for original in (x, x * 3):
        other = through(original)
        assert (other.tolist(), other.is_leaf, other.stop_gradient) == (original.tolist(), True, False)
        (other * 3).backward()
        assert other.grad.tolist() == [3.0]
    assert through(x).name == "weight"
    assert x.grad is None


def test_shallow_copy_names_the_same_value():
    x = leaf(2.0)
    other = copy.copy(x)
    other.register_hook(lambda g: g * g + 1)
    (3 * x).backward()
    assert x.grad.tolist() == other.grad.tolist() == [10.0]


def collected(make):
    """True if the Marker that `make` hangs somewhere goes when nothing is held."""
    marker = Marker()
    gone = weakref.ref(marker)
    make(marker)
    del marker
    gc.collect()
    return gone() is None


def test_hook_on_a_leaf_that_closes_over_it_is_collected():
    def make(marker):
        x = leaf(2.0)
        x.register_hook(lambda g, marker=marker: g * x)
        (x * x).backward()

    assert collected(make)


def test_hook_on_an_intermediate_that_closes_over_it_is_collected():
    def make(marker):
        y = leaf(2.0) * 2
        y.register_hook(lambda g, marker=marker: g * y)
        y.retain_grads()
        (y * y).backward(retain_graph=True)

    assert collected(make)


def test_py_layer_that_saves_its_output_is_collected():
    class Exp(d2s.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, marker):
            y = x.exp()
            ctx.save_for_backward(y)
            ctx.marker = marker
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensor()[0]

    assert collected(lambda marker: Exp.apply(leaf(2.0), marker))


def test_detached_tensor_does_not_hold_the_graph():
    """Nor does a view of it, nor one made inside no_grad: losses may be kept in a list."""
    x = leaf(2.0)
    y = x * 2
    gone = weakref.ref(y._node)
    kept = [y.detach(), y.detach()[0], y.reshape([1, 1]).detach()]
    with d2s.no_grad():
        kept.append(y.reshape([1, 1]))
    del y
    gc.collect()
    assert gone() is None
    assert [tensor.item() for tensor in kept] == [4.0] * 4


def test_backward_frees_what_it_used():
    x = leaf(2.0)
    y = x * 2
    z = y * y
    gone = weakref.ref(y)
    del y
    assert gone() is not None
    z.backward()
    assert gone() is None


def test_without_a_wanted_gradient_nothing_is_kept():
    """Of x * w with a constant w the gradient reads w alone."""
    w = d2s.to_tensor([3.0])
    x = leaf(2.0) * 1
    gone = weakref.ref(x)
    z = x * w
    del x
    assert gone() is None
    assert z.item() == 6.0


def in_threads(*functions):
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_threads_accumulate_into_a_shared_leaf():
    x = leaf(1.0, 2.0)

    def work():
        for _ in range(200):
            (x * x).sum().backward()

    def look():
        for _ in range(400):
            found = x.grad
            assert found is None or found.shape == [2]

    in_threads(work, work, look)
    np.testing.assert_array_equal(x.grad.numpy(), np.array([800.0, 1600.0], "float32"))
    assert x.grad is x.grad


def test_grad_mode_belongs_to_the_thread():
    seen = {}
    inside, looked = threading.Event(), threading.Event()

    def without():
        with d2s.no_grad():
            inside.set()
            looked.wait(10)
            seen["without"] = d2s.is_grad_enabled()

    def beside():
        inside.wait(10)
        seen["beside"] = d2s.is_grad_enabled()
        looked.set()

    in_threads(without, beside)
    assert seen == {"without": False, "beside": True}
