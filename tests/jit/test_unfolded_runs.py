"""What depends on the path that a run took: it is asked of the run, not of all ways through the function."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import GradientError
from d2s.jit.run_program import CallNode
from d2s.jit.unfold import _Path
from tests.jit.both import both_modes, leaf, recorder


@both_modes
def test_grad_does_not_go_into_turns_before_its_target(convert):
    log = []

    def f(x, y, n):
        z = x
        for _ in range(n):
            z = z * y - x
            z.register_hook(recorder(log, "turn"))
        return z

    z = convert(f)(x := leaf(1.0, 2.0), x, d2s.to_tensor(2))
    (found,) = d2s.grad(z, [z], d2s.ones([2]))
    assert found.tolist() == [2.0, 2.0]
    assert log == [("turn", [1.0, 1.0])]


@both_modes
def test_grad_follows_the_way_that_was_taken(convert):
    log = []

    def f(x, y):
        z = x * y
        z.register_hook(recorder(log, "z"))
        u = y + z * -0.9
        if y.sum() > 0.1:
            z = u
        return z, u

    f = convert(f)
    x, y = leaf(1.0, 2.0), leaf(-3.0, 1.0)
    z0, u0 = f(x, y)
    z1, u1 = f(z0, y)
    d2s.grad((z0 * u1 + u0.tanh() * z1).sum(), [u0])
    # z0 is the product, which does not lead to u0.
    assert log == []


@both_modes
def test_a_write_to_a_tensor_of_which_a_view_was_read(convert):
    w = d2s.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    y = convert(lambda x: x * w[0])(leaf(1.0, 2.0))
    with d2s.no_grad():
        w.add_(d2s.ones([2, 2]))
    with pytest.raises(GradientError, match=r"modified in place: shape \[2\]"):
        y.sum().backward()


@both_modes
@pytest.mark.parametrize("turns", [0, 1])
def test_a_write_to_a_tensor_that_a_loop_carried(convert, turns):
    def f(x, y, n):
        z = x
        for _ in range(n):
            z = z * y - x
        return z

    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = convert(f)(x, y, d2s.to_tensor(turns)) + 0.0
    with d2s.no_grad():
        x.add_(d2s.ones([2]))
    if turns:
        with pytest.raises(GradientError, match="modified in place"):
            z.sum().backward()
    else:
        z.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]


@both_modes
@pytest.mark.parametrize("c", [0.0, 1.0, 3.0])
def test_a_write_counts_only_where_it_happened(convert, c):
    def f(x, c):
        u = x.tanh()
        y = u * x
        if c > 2:
            u.add_(x)
        return y

    y = convert(f)(x := leaf(0.5, 1.0), d2s.to_tensor(c))
    if c > 2:
        with pytest.raises(GradientError, match="modified in place"):
            y.sum().backward()
    else:
        y.sum().backward()
        assert x.grad is not None


@both_modes
def test_what_a_loop_of_another_result_has_used_is_still_there(convert):
    def f(x, y, n):
        z = x + y
        for _ in range(n):
            x = x * 0.5
        return z * z, x

    a, b = convert(f)(x := leaf(1.0), leaf(2.0), d2s.to_tensor(1))
    a.backward()
    b.backward()
    assert x.grad.item() == 6.5


@both_modes
def test_no_leaf_is_finished_behind_an_operator_that_was_used_up(convert):
    def f(x, y):
        z = x * y
        return z, z + x

    z, s = convert(f)(x := leaf(1.0, 2.0), x)
    z.backward(d2s.ones([2]))
    with pytest.raises(GradientError, match="second time"):
        s.backward(d2s.ones([2]))
    assert x.grad.tolist() == [2.0, 4.0]


@both_modes
def test_gradients_retained_in_turns_go_on_after_the_loop(convert):
    def f(x, y, n):
        z = x * y
        u = z + 0.2
        for _ in range(n):
            u.retain_grads()
        z = z * y
        return z, u

    z, u = convert(f)(leaf(1.0, 2.0), leaf(3.0, 4.0), d2s.to_tensor(2))
    (u * z).sum().backward()
    assert u.grad.tolist() == z.detach().tolist()


@both_modes
def test_grad_after_all_was_used_up(convert):
    f = convert(lambda x, y: (x * y, (x * y).tanh()))
    a, b = f(x := leaf(1.0), leaf(3.0))
    a.backward()
    b.backward()
    with pytest.raises(GradientError, match="second time"):
        d2s.grad(a, [x])
    assert d2s.grad(a, [b], allow_unused=True) == [None]


def test_the_tape_of_a_run_is_that_of_eager_mode(monkeypatch):
    """With every run unfolded, the plain backward gives what the compiled one gives."""

    def f(x, y, c, n):
        z = x * y
        z.register_hook(recorder(log, "z"))
        for _ in range(n):
            if c > 0:
                z = z * x
            z.register_hook(recorder(log, "turn"))
        return z, z.tanh() + x

    found = []
    for unfold in (False, True):
        log = []
        with monkeypatch.context() as patched:
            if unfold:
                patched.setattr(CallNode, "_has_to_unfold", lambda self, walk: True)
            x, y = leaf(1.0, 2.0), leaf(3.0, -4.0)
            a, b = d2s.to_static(f)(x, y, d2s.to_tensor(1.0), d2s.to_tensor(3))
            (a * b).sum().backward()
        found.append((log, x.grad.tolist(), y.grad.tolist()))
    assert found[0] == found[1]
    assert found[0][0]


@both_modes
@pytest.mark.parametrize("turns", [0, 2])
def test_what_no_turn_has_given_a_gradient_stops_gradients(convert, turns):
    def f(x, y, n):
        z = x * 0.5
        for _ in range(n):
            z = z + y
        w = z.tanh()
        return z, w, w.stop_gradient, w.is_leaf

    z, w, told, leaf_told = convert(f)(d2s.to_tensor([1.0]), leaf(2.0), d2s.to_tensor(turns))
    assert [z.stop_gradient, w.stop_gradient, told, leaf_told, w.is_leaf] == [turns == 0] * 5


@both_modes
@pytest.mark.parametrize("c", [-1.0, 1.0])
def test_a_hook_on_what_stops_gradients_on_the_way_taken(convert, c):
    log = []

    def f(x, y, c):
        z = x * 0.5
        if c > 0:
            z = z + y
        w = z * z
        w.register_hook(recorder(log, "w"))
        return w

    f = convert(f)
    x, y = d2s.to_tensor([1.0]), leaf(2.0)
    if c > 0:
        f(x, y, d2s.to_tensor(c)).backward()
        assert log == [("w", [1.0])]
        assert y.grad.tolist() == [10.0]
    else:
        with pytest.raises(d2s.errors.HookError, match="stop gradient"):
            f(x, y, d2s.to_tensor(c))


@both_modes
def test_detached_in_a_turn(convert):
    def f(x, n):
        z = x * 2
        for _ in range(n):
            z = z.detach() + 1
        return z

    f = convert(f)
    assert [f(leaf(1.0), d2s.to_tensor(n)).stop_gradient for n in (0, 1, 2)] == [False, True, True]


@both_modes
@pytest.mark.parametrize("c", [1.0, -1.0])
@pytest.mark.parametrize("turns", [0, 2])
def test_a_run_that_was_used_up_still_knows_its_way(convert, c, turns):
    class Twice(d2s.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * g

    def f(x, y, c, n):
        z, u = x * x, y * y
        if c > 0:
            u = Twice.apply(z)
        else:
            z = y.tanh()
        for _ in range(n):
            if c < 0:
                z = z * u
            own = d2s.to_tensor([3.0, 1.0], stop_gradient=False)
            u = u * own
        return z, u

    x, y = leaf(1.0, 2.0), leaf(-3.0, 0.5)
    z, u = convert(f)(x, y, d2s.to_tensor(c), d2s.to_tensor(turns))
    (z.sum() + u.sum()).backward()
    assert (x.grad is None, y.grad is None) == (c < 0, c > 0)
    seen = []
    for result in (z, u):
        for target in (x, y, leaf(1.0)):
            try:
                (found,) = d2s.grad(result.sum(), [target], allow_unused=True)
            except GradientError as error:
                found = error.kind
            seen.append(found)
    if c > 0:
        assert seen == ["G01", None, None, "G01", None, None]
    else:
        assert seen == [None, "G01", None, None, "G01", None]


@pytest.mark.parametrize("is_unrolled", [False, True])
def test_a_backward_in_each_turn_follows_only_what_is_new(monkeypatch, is_unrolled):
    steps = []
    follow = _Path._op
    monkeypatch.setattr(_Path, "_op", lambda path, operator: (steps.append(operator), follow(path, operator)))

    def steps_of(turns):
        last = []

        @d2s.to_static
        def f(x, n):
            for _ in range(turns if is_unrolled else n):
                y = x * x
                y.register_hook(lambda g: g + 1)
                # What others have is no part of a step that is one function.
                last[:] = [y]
                (y * y).sum().backward()
            return x.grad

        steps.clear()
        assert f(leaf(1.5), d2s.to_tensor(turns)).tolist() == [(2 * 1.5**2 + 1) * 3 * turns]
        return len(steps)

    few, more, many = map(steps_of, (10, 20, 30))
    assert many - more == more - few > 0


@pytest.mark.parametrize("returns_early", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_a_choice_of_values_alone(returns_early, again):
    """No operator of the branch has a gradient of its own: the run still has to know which tensor was chosen."""

    def f(x, w, c, n):
        t = x * x * w
        if returns_early and c > 0:
            return x * 2
        if n > 1:
            with d2s.no_grad():
                t.add_(w)
        t.register_hook(recorder(log, "t"))
        return t

    log = []

    def seen_of(f):
        log.clear()
        x, w = leaf(1.0, -3.0), d2s.to_tensor([0.5, 2.0])
        for c, n in ((1.0, 2), (-1.0, 0), (-1.0, 3), (-1.0, 1)):
            t = f(x, w, d2s.to_tensor(c), d2s.to_tensor(n))
            if again:
                (g,) = d2s.grad((t * t).sum(), [x], create_graph=True)
                (g * g).sum().backward()
            else:
                (t * t).sum().backward()
            log.extend([t.tolist(), x.grad.tolist()])
        return list(log)

    eager = seen_of(f)
    assert ("t", [2 * 1.0, 2 * 20.0]) in eager
    assert seen_of(d2s.to_static(f)) == eager
