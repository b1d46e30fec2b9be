"""`grad` in static functions: recorded as operators where all that is on the way is known, else found by the run."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import nn
from d2s.static.program import walk_operators

LOG = []


def points():
    return d2s.to_tensor([[0.3, -0.7], [1.1, 0.4], [-0.2, 0.9]], stop_gradient=False)


def slope(x, w):
    """First order; the second by backward."""
    y = d2s.tanh(x.matmul(w))
    (g,) = d2s.grad(y, [x], create_graph=True)
    return (g * g).sum() + y.sum()


def of_two(x, w):
    y = d2s.sin(x.matmul(w)) * x.sum(1, keepdim=True)
    gx, gw = d2s.grad(y.sum(), [x, w], create_graph=True)
    return (gx * gx).sum() + (gw**3).sum() * 0.1


def third_order(x, w):
    y = (x.matmul(w) ** 3).sum()
    (g,) = d2s.grad(y, [x], create_graph=True)
    (h,) = d2s.grad(g.exp().sum(), [x], create_graph=True)
    return (h * g).sum() + (h * h).mean()


def with_given_gradient(x, w):
    y = d2s.tanh(x.matmul(w))
    v = x * 0.5 + 1.0
    (g,) = d2s.grad([y], [x], grad_outputs=[y.detach() * 0.3 + 1], create_graph=True)
    (h,) = d2s.grad([g], [w], grad_outputs=[v], create_graph=True)
    return (h * h).sum()


def of_a_value_inside(x, w):
    h = d2s.tanh(x * 1.3)
    y = (h.matmul(w) ** 2).sum()
    (g,) = d2s.grad(y, [h], create_graph=True)
    return (g * h).sum() + (g * g).sum()


def of_unused(x, w):
    y = (x * x * 0.5).sum()
    gx, gw = d2s.grad(y, [x, w], create_graph=True, allow_unused=True)
    assert gw is None
    return (gx * gx).sum() + (x.matmul(w)).sum()


def kept(x, w):
    y = (x.matmul(w) ** 2).sum()
    (g,) = d2s.grad(y, [x], retain_graph=True)
    assert g.stop_gradient
    return y + (g * x).sum()


def without_grad_mode(x, w):
    y = (x.matmul(w) ** 2).sum()
    with d2s.no_grad():
        (g,) = d2s.grad(y, [x], create_graph=True)
    return (g * g).sum()


def several_outputs_of_an_op(x, w):
    first, second = d2s.split(x.matmul(w), 2, axis=1)
    (g,) = d2s.grad((first * first).sum(), [x], create_graph=True)
    return (g * g).sum() + second.sum()


def of_a_leaf_made_inside(x, w):
    z = x.detach()
    z.stop_gradient = False
    y = d2s.tanh(z.matmul(w)).sum()
    (g,) = d2s.grad(y, [z], create_graph=True)
    return ((g * g).sum(1) - 1).square().mean()


def used_up(x, w):
    """Nothing goes back through it again."""
    y = (x.matmul(w) ** 2).sum()
    (g,) = d2s.grad(y, [x])
    return (g * x).sum() + (w * w).sum()


RECORDED = [
    used_up, slope, of_two, third_order, with_given_gradient, of_a_value_inside, of_unused, kept, without_grad_mode,
    several_outputs_of_an_op, of_a_leaf_made_inside]


def hooked(x, w):
    h = x.matmul(w)
    h.register_hook(lambda g: LOG.append(g.numpy().tolist()) or g * g)
    (g,) = d2s.grad(h.tanh().sum(), [x], create_graph=True)
    return (g * g).sum()


def hooked_behind(x, w):
    """The hook is not there yet when the gradient is asked for, though it is moved to the definition of its tensor."""
    h = x.matmul(w)
    (g,) = d2s.grad((h * h).sum(), [h], create_graph=True)
    h.register_hook(lambda g: LOG.append(g.numpy().tolist()) or g * g + 1)
    g.register_hook(lambda g: LOG.append(g.numpy().tolist()) or g + 1)
    return (g * g).sum() + (h * 3).sum()


def in_a_branch(x, w):
    y = (x.matmul(w) ** 2).sum()
    if y > 0.5:
        (g,) = d2s.grad(y, [x], create_graph=True)
        return (g * g).sum()
    return y


def through_a_branch(x, w):
    y = x.matmul(w)
    if y.sum() > 0:
        y = y * y
    (g,) = d2s.grad(y.sum(), [x], create_graph=True)
    return (g * g).sum()


def used_up_and_returned(x, w):
    y = (x.matmul(w) ** 2).sum()
    (g,) = d2s.grad(y, [x])
    return (g * x).sum() + y


def used_up_twice(x, w):
    y = (x.matmul(w) ** 2).sum()
    (g,) = d2s.grad(y, [x])
    (h,) = d2s.grad(y, [w])
    return (g * x).sum() + h.sum()


def used_up_behind_a_loop(x, w):
    h = x.matmul(w)
    (g,) = d2s.grad(h.sum(), [x])
    k = d2s.to_tensor(0)
    while k < 2:
        k += 1
        h = h * 1.1
    return (g * x).sum() + h.sum()


def behind_a_call(x, w):
    y = (x.matmul(w) ** 2).sum()
    LOG.append(float(y))
    (g,) = d2s.grad(y, [x], create_graph=True)
    return (g * g).sum()


def behind_a_write(x, w):
    h = x * 2
    y = (h * h).sum()
    h.scale_(2.0)
    z = (h * h).sum()
    (g,) = d2s.grad(z, [x], create_graph=True)
    return (g * g).sum() + y * 0


def with_shared_memory(x, w):
    z = x + w.sum()
    v = x.detach() * 1
    v.stop_gradient = False
    y = ((z + v) ** 2).sum()
    gx, gv = d2s.grad(y, [z, v], create_graph=True)
    with d2s.no_grad():
        gx.scale_(2.0)
    return gv.sum() + gx.sum()


BY_THE_RUN = [
    hooked, hooked_behind, in_a_branch, through_a_branch, used_up_and_returned, used_up_twice, used_up_behind_a_loop,
    behind_a_call, behind_a_write, with_shared_memory]


def kinds_of(static):
    return {operator.kind for operator in walk_operators(static.main_program.block)}


def observed(function):
    """Results, gradients and hook calls of several calls, each with backward."""
    seen = []
    LOG.clear()
    x, w = points(), d2s.to_tensor([[0.5, -0.3], [0.8, 1.2]], stop_gradient=False)
    for _ in range(3):
        try:
            found = function(x, w)
            found.backward()
            seen.append(found.numpy().tobytes())
        except d2s.errors.GradientError as error:
            seen.append(error.kind)
        seen.append([None if t.grad is None else t.grad.numpy().tobytes() for t in (x, w)])
        with d2s.no_grad():
            w.scale_(0.9)
    return seen, list(LOG)


@pytest.mark.parametrize("function", [*RECORDED, *BY_THE_RUN], ids=lambda given: given.__name__)
def test_as_eager_mode(function):
    static = d2s.to_static(function)
    assert observed(static) == observed(function)
    assert ("walk" in kinds_of(static)) is (function in BY_THE_RUN)


@pytest.mark.parametrize("function", RECORDED, ids=lambda given: given.__name__)
def test_whole_step(function):
    def steps(make):
        d2s.seed(0)
        net = nn.Linear(2, 2)
        optimizer = d2s.optimizer.SGD(0.1, parameters=net.parameters())

        def step(x):
            loss = function(x, net.weight) + net(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        step, x = make(step), points()
        losses = [step(x).numpy().tobytes() for _ in range(4)]
        return losses, net.weight.numpy().tobytes(), x.grad.numpy().tobytes()

    assert steps(d2s.to_static) == steps(lambda step: step)


@pytest.mark.parametrize("function", RECORDED, ids=lambda given: given.__name__)
def test_differentiated_again_outside(function):
    def grads(function):
        x, w = points(), d2s.to_tensor([[0.5, -0.3], [0.8, 1.2]], stop_gradient=False)
        found = d2s.grad(function(x, w), [w], create_graph=True)[0]
        (found * found).sum().backward()
        return found.numpy().tobytes(), [None if t.grad is None else t.grad.numpy().tobytes() for t in (x, w)]

    assert grads(d2s.to_static(function)) == grads(function)


def test_numeric_gradient():
    def f(values):
        x = d2s.to_tensor(values, dtype="float64", stop_gradient=False)
        w = d2s.to_tensor([[0.5, -0.3], [0.8, 1.2]], dtype="float64")
        return x, static(x, w)

    static = d2s.to_static(slope)
    at = points().numpy().astype("float64")
    x, found = f(at)
    found.backward()
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-6
        numeric = (float(f(at + step)[1]) - float(f(at - step)[1])) / 2e-6
        assert x.grad.numpy()[place] == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_hooks_of_what_is_asked_for():
    """A hook on the argument itself sees the gradient, and may come and go between calls."""
    def calls(function):
        seen, x = [], points()
        w = d2s.to_tensor([[0.5, -0.3], [0.8, 1.2]], stop_gradient=False)
        for turn in range(4):
            handle = x.register_hook(lambda g: seen.append(g.numpy().tolist()) or g * g) if turn in (1, 3) else None
            found = function(x, w)
            found.backward()
            seen.append((found.numpy().tobytes(), x.grad.numpy().tobytes(), w.grad.numpy().tobytes()))
            if handle is not None:
                handle.remove()
        return seen

    assert calls(d2s.to_static(slope)) == calls(slope)


def test_arguments_with_a_history():
    """What leads from one argument to another outside counts."""
    def f(x, y):
        (g,) = d2s.grad((x * x * y).sum(), [x], create_graph=True)
        return (g * g).sum()

    def calls(function):
        seen = []
        for is_computed in (False, True, False, True):
            x = points()
            y = x * x if is_computed else points()
            function(x, y).backward()
            seen.append(x.grad.numpy().tobytes())
        return seen

    assert calls(d2s.to_static(f)) == calls(f)


def test_the_same_input_twice():
    def f(x):
        first, second = d2s.grad((x**3).sum(), [x, x], create_graph=True)
        return (first * second).sum()

    def run(function):
        x = points()
        found = function(x)
        found.backward()
        return found.numpy().tobytes(), x.grad.numpy().tobytes()

    assert run(d2s.to_static(f)) == run(f)


def test_not_used():
    def f(x, w):
        return d2s.grad((x * x).sum(), [w], create_graph=True)[0]

    for function in (f, d2s.to_static(f)):
        with pytest.raises(d2s.errors.GradientError, match="not used"):
            function(points(), d2s.to_tensor([1.0], stop_gradient=False))


def test_open_sizes():
    static = d2s.to_static(slope)
    w = d2s.to_tensor([[0.5, -0.3], [0.8, 1.2]], stop_gradient=False)
    for rows in (3, 5, 7, 2, 1):
        values = np.linspace(-1, 1, 2 * rows, dtype="float32").reshape(rows, 2)
        seen = []
        for function in (static, slope):
            x = d2s.to_tensor(values, stop_gradient=False)
            found = function(x, w)
            found.backward()
            seen.append((found.numpy().tobytes(), x.grad.numpy().tobytes(), w.grad.numpy().tobytes()))
            w.clear_gradient()
        assert seen[0] == seen[1]


def test_hessian_and_jacobian_inside():
    def f(x):
        energy = (x.sin() * x.cumsum(0)).sum()
        hessian = d2s.autograd.hessian(energy, x)
        return (hessian[:] * hessian[:]).sum()

    def run(function):
        x = d2s.to_tensor([0.3, -0.7, 1.1], stop_gradient=False)
        found = function(x)
        found.backward()
        return found.numpy().tobytes(), x.grad.numpy().tobytes()

    assert run(d2s.to_static(f)) == run(f)


def penalty(net, optimizer):
    def step(x):
        z = x.detach()
        z.stop_gradient = False
        out = net(z)
        (g,) = d2s.grad(out.sum(), [z], create_graph=True)
        loss = ((g * g).sum(1).sqrt() - 1).square().mean() + out.mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def penalty_that_looks(net, optimizer):
    """The same, and the gradient of the leaf that was made inside is looked at."""
    def step(x):
        z = x.detach()
        z.stop_gradient = False
        out = net(z)
        (g,) = d2s.grad(out.sum(), [z], create_graph=True)
        loss = (g * g).sum() + (out * z).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        LOG.append(z.grad)
        return loss

    return step


@pytest.mark.parametrize("make", [penalty, penalty_that_looks], ids=lambda given: given.__name__)
def test_steps_with_a_penalty(make):
    def steps(mode):
        LOG.clear()
        d2s.seed(0)
        net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
        step = mode(make(net, d2s.optimizer.Adam(0.01, parameters=net.parameters())))
        losses = [step(d2s.randn([4, 3])).numpy().tobytes() for _ in range(5)]
        seen = [gradient.numpy().tobytes() for gradient in LOG]
        return losses, [parameter.numpy().tobytes() for parameter in net.parameters()], seen, step

    static, eager = steps(d2s.to_static), steps(lambda step: step)
    assert static[:3] == eager[:3]
    # All of it is one function where nobody can see the leaf.
    assert (static[3].concrete_program.traced.compiled.step is not None) is (make is penalty)


def test_saved_and_loaded(tmp_path):
    class Slope(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            z = x.detach()
            z.stop_gradient = False
            (g,) = d2s.grad(self.inner(z).tanh().sum(), [z], create_graph=True)
            return g

    net = Slope()
    d2s.jit.save(net, str(tmp_path / "slope"), input_spec=[d2s.static.InputSpec([None, 2])])
    loaded = d2s.jit.load(str(tmp_path / "slope"))
    assert loaded(points()).numpy().tobytes() == net(points()).numpy().tobytes()


def test_several_gradients_of_one_normalisation():
    """What an op and its gradients both compute is shared by all of them."""
    def f(x):
        y = nn.functional.layer_norm(x, [2])
        (g,) = d2s.grad([y], [x], grad_outputs=[x.detach()], create_graph=True)
        loss = (g * g).sum() + (y * y).sum()
        loss.backward()
        return loss

    def run(function):
        x = points()
        return function(x).numpy().tobytes(), x.grad.numpy().tobytes()

    assert run(d2s.to_static(f)) == run(f)
