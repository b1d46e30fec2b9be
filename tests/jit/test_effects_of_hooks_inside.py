"""What hooks do while a backward inside of a static function runs is seen by the lines after it, or refused there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import d2s
from d2s.errors import ExecutionError, GradientError
from tests.jit.both import both_modes, leaf


@both_modes
def test_variables_and_lists(convert):
    def f(x):
        n, seen = 0, []

        def hook(g):
            nonlocal n
            n += 2
            seen.append(g)
            return g * g + 1

        x.register_hook(hook)
        y = x * x
        y.register_hook(lambda g: seen.append(g * 2))
        y.sum().backward()
        return n * x, n + 1, len(seen), seen

    f = convert(f)
    for value in (2.0, -1.0):
        scaled, n, count, seen = f(x := leaf(value))
        assert (scaled.item(), n, count) == (2 * value, 3, 2)
        assert [g.item() for g in seen] == [2.0, 2 * value]
        assert x.grad.item() == 4 * value * value + 1


@both_modes
def test_lists_of_the_caller_stay_what_they_are(convert):
    seen, counts = [], {"hook": 0}

    def f(x):
        def hook(g):
            seen.append(g.item())
            counts["hook"] += 1

        x.register_hook(hook)
        (x * x).sum().backward()
        return x * 2

    f = convert(f)
    f(leaf(2.0)), f(leaf(3.0))
    assert seen == [4.0, 6.0]
    assert counts == {"hook": 2}


@both_modes
def test_a_name_that_is_assigned_after_its_hook(convert):
    def f(x):
        y = x * x
        y.register_hook(lambda g: seen.append(g))
        seen = []
        y.sum().backward()
        return len(seen)

    assert convert(f)(leaf(1.0)) == 1


@both_modes
def test_reduce_hooks(convert):
    def f(x):
        n = 0

        def hook():
            nonlocal n
            n = n + 7

        x._register_backward_hook(hook)
        (x * x).sum().backward()
        return x * n

    assert convert(f)(leaf(2.0)).item() == 14.0


def test_what_an_untraced_call_has_stored_outside_is_checked():
    out = {}

    @d2s.jit.not_to_static
    def note(g, writes):
        if writes:
            out["k"] = g

    @d2s.to_static
    def f(x, writes):
        out["k"] = x * 3
        note(x, writes)
        return out["k"] * 2

    assert f(leaf(2.0), False).item() == 12.0
    with pytest.raises(ExecutionError, match="was changed by a call that is not traced") as caught:
        f(leaf(2.0), True)
    assert caught.value.kind == "X07"


@both_modes
def test_tensors_that_a_hook_has_written_to(convert):
    @convert
    def f(x, z, n):
        total, scale = d2s.zeros([3]), d2s.to_tensor([1.0, 2.0], stop_gradient=False)
        part, fixed = total[0:1], scale.detach()

        def hook(g):
            total[0] = g.sum()
            total[1:].add_(g)
            scale.set_value(scale * 0.5)
            return g + 1

        y = x * z
        y.register_hook(hook)
        before = total + 1
        if n > 0:
            (y * y).sum().backward(retain_graph=True)
        return before, total * 2, part * 3, y * scale, fixed * 1

    for n in (1, 0, 1):
        x, z = leaf(2.0, -1.0), leaf(0.5, 3.0)
        results = f(x, z, d2s.to_tensor(n))
        power = 0.5 ** n
        assert [result.tolist() for result in results] == [
            [1.0, 1.0, 1.0], [2 * (-4.0 if n else 0.0), 2.0 * 2 * n, 2.0 * -6 * n], [3 * (-4.0 if n else 0.0)],
            [power, -6 * power], [power, 2 * power]]
        results[3].sum().backward()
        # The hook runs again.
        assert z.grad.tolist() == [n * 6.0 + 2 * (power + 1), n * 5.0 - (2 * power + 1)]


def test_tensors_that_a_hook_has_changed_otherwise():
    def f(x, changes):
        t = d2s.zeros([1])

        def hook(g):
            if changes:
                t.stop_gradient = False

        x.register_hook(hook)
        (x * x).sum().backward()
        return t * 1

    f = d2s.to_static(f)
    assert f(leaf(2.0), False).item() == 0.0
    with pytest.raises(ExecutionError, match="a hook has written to a tensor, or set") as caught:
        f(leaf(2.0), True)
    assert caught.value.kind == "X10"
    assert caught.value.location.line


def test_a_dict_that_is_only_given_back():
    def f(x):
        seen = {}
        x.register_hook(lambda g: seen.update(g=g))
        (x * x).sum().backward()
        return seen

    assert d2s.to_static(f)(leaf(3.0))["g"].item() == 6.0


@both_modes
@pytest.mark.parametrize("in_between", [False, True])
def test_a_hook_that_writes_to_what_a_later_rule_reads(convert, in_between):
    def f(x):
        y = x * 2
        z = y * y
        q = z * 1 if in_between else z

        def hook(g):
            with d2s.no_grad():
                y.add_(d2s.ones([1]))

        q.register_hook(hook)
        return (q * 1).sum()

    loss = convert(f)(x := leaf(1.0))
    with pytest.raises(GradientError, match="modified in place"):
        loss.backward()
    assert x.grad is None


@both_modes
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_outputs_that_were_used_on_the_other_path_have_zero_gradients(convert, c):
    log = []

    def f(x, c):
        a, b = d2s.split(x, 2)
        b.register_hook(lambda g: (log.append(g.tolist()), g + 1)[1])
        r = a * 3
        if c > 0:
            r = r + b * b
        return r.sum()

    convert(f)(x := leaf(1.0, 3.0), d2s.to_tensor(c)).backward()
    assert log == ([[6.0]] if c > 0 else [[0.0]])
    assert x.grad.tolist() == ([3.0, 7.0] if c > 0 else [3.0, 1.0])


@both_modes
def test_stop_gradient_for_a_while(convert):
    log = []

    def f(x, layer):
        y = x * 2
        y.register_hook(lambda g: (log.append(g.tolist()), g * g)[1])
        y.stop_gradient = True
        u = y * x
        y.stop_gradient = False
        layer.weight.stop_gradient = True
        frozen = layer(x)
        layer.weight.stop_gradient = False
        return (u + y * y).sum() + (frozen * layer(x)).sum()

    layer = d2s.nn.Linear(2, 1, bias_attr=False)
    layer.weight.set_value(d2s.to_tensor([[2.0], [1.0]]))
    convert(f)(x := leaf(1.0, 3.0), layer).backward()
    assert log == [[4.0, 12.0]]
    # u: y, y * y: by the hook, frozen * layer(x): both ways to x, one to the weight.
    assert x.grad.tolist() == [2.0 + 2 * 16.0 + 2 * 5 * 2.0, 6.0 + 2 * 144.0 + 2 * 5 * 1.0]
    assert layer.weight.grad.tolist() == [[5.0], [15.0]]


@both_modes
def test_a_method_of_a_tensor_that_is_called_later(convert):
    log = []
    f = convert(lambda x: ((y := x * x) * y, y.register_hook, y.sum))
    z, register, total = f(x := leaf(1.0, 2.0))
    register(lambda g: (log.append(g.tolist()), g + 1)[1])
    assert total().item() == 5.0
    z.sum().backward()
    assert log == [[2.0, 8.0]]
    assert x.grad.tolist() == [6.0, 36.0]


@pytest.mark.parametrize("register", ["register_hook", "_register_backward_hook", "inside"])
def test_what_hooks_may_have_changed_is_looked_at_only_in_runs_with_hooks(register):
    """The same Program runs without hooks, with some that change nothing, and with one that changes what is read."""
    w = d2s.to_tensor([2.0], stop_gradient=False)
    switch, todo, calls = SimpleNamespace(on=True), [], []

    def call_all(g):
        for do in todo:
            do()

    def step(x):
        y = w * x
        if register == "inside":
            y.register_hook(call_all)
        y.sum().backward()
        if switch.on:
            w.clear_grad()
        return x

    def turn_off(*_):
        calls.append(1)
        switch.on = False

    static, x = d2s.to_static(step), d2s.to_tensor([3.0])
    for _ in range(2):
        static(x)
    assert static.concrete_program.traced.compiled.step is not None
    add = todo.append if register == "inside" else getattr(w, register)
    add(lambda *_: calls.append(0))
    static(x)
    assert calls == [0]
    add(turn_off)
    with pytest.raises(ExecutionError, match="was changed by a call that is not traced"):
        static(x)
    assert calls == [0, 0, 1]
