"""Views that leave a static function share values with the caller's tensors and with each other, as in eager mode."""

from __future__ import annotations

import pytest

import d2s


def part_and_shape(mode):
    f = mode(lambda x: (x[0:2], x.reshape([3, 1])))
    x = d2s.to_tensor([1.0, 2.0, 3.0])
    part, column = f(x)
    part[0] = 9.0
    x[2] = 7.0
    return x, part, column


def of_each_other(mode):
    def f(x):
        y = x * 2
        return y[0:2], y[1:3], y, y.detach(), x.detach()

    x = d2s.to_tensor([1.0, 2.0, 3.0])
    results = mode(f)(x)
    results[0][1] = 50.0
    results[4][0] = 77.0
    return (x, *results)


def with_gradients_and_hooks(mode):
    def f(w):
        y = w * 2
        z = y[0:2]
        z.register_hook(lambda g: g * g + 1)
        return y.reshape([1, 3]).transpose([1, 0])[0:1], z

    w = d2s.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    p, z = mode(f)(w)
    z[0] = w[1] * 3
    (p * p).sum().backward(retain_graph=True)
    first = w.grad.clone()
    (z * z).sum().backward()
    return first, w.grad, p, z


def kept_in_a_list(mode):
    kept = []

    def f(x):
        kept.append(x[0:2])
        if x.sum() > 0:
            kept.append(x[1:3])
        kept.append(x)

    f = mode(f)
    x = d2s.to_tensor([1.0, 2.0, 3.0])
    for _ in range(2):
        f(x)
    kept[0][1] = 5.0
    kept[1][1] = 3.0
    return (x, *kept)


@pytest.mark.parametrize("program", [part_and_shape, of_each_other, with_gradients_and_hooks, kept_in_a_list])
def test_writes_are_seen_in_both_modes(program):
    eager, static = program(lambda f: f), program(d2s.to_static)
    assert [part.tolist() for part in static] == [part.tolist() for part in eager]


def test_a_long_chain_of_views():
    def f(x):
        for i in range(1500):
            x = x.reshape([3, 2] if i % 2 else [2, 3])
        return x

    x = d2s.ones([3, 2])
    result = d2s.to_static(f)(x)
    assert result.tolist() == f(x).tolist()


def test_views_of_one_tensor_that_leave_one_after_the_other():
    def f(x):
        y = x * 2
        return [y[i] for i in range(50)], y

    parts, whole = d2s.to_static(f)(d2s.ones([50, 2]))
    whole[7] = 1.0
    parts[8][0] = 3.0
    assert parts[7].tolist() == [1.0, 1.0]
    assert whole[8].tolist() == [3.0, 2.0]
