"""Results of in-place methods that do not fit into their tensor: cast or refused, in both modes."""

from __future__ import annotations

import pytest

import d2s


def broadcast(p, x):
    p.multiply_(x)


def added(p, x):
    p.add_(x)


def root_of_whole_numbers(p, x):
    whole = p.astype("int64")
    whole.exp_()
    return whole


def clipped(p, x):
    whole = p.astype("int64")
    whole.clip_(0.5, 0.7)
    return whole


def powered(p, x):
    p.pow_(x)


def compared(p, x):
    p.logical_and_(x)


def wider(p, x):
    y = p * 1.0
    y.add_(x.astype("float64"))
    return y


def reshaped(p, x):
    y = p * 1.0
    y.reshape_([3, 1])
    return y


@pytest.mark.parametrize("shape", [[2, 3], [3], [1]])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("function", [
    broadcast, added, root_of_whole_numbers, clipped, powered, compared, wider, reshaped])
def test_both_modes(function, dtype, shape):
    def play(static):
        p, log = d2s.create_parameter([3], "float32"), []
        p.set_value(d2s.to_tensor([1.0, 2.0, 3.0]))

        def f(x):
            with d2s.no_grad():
                y = function(p, x)
            return p * 1.0 if y is None else y

        try:
            y = static(f)(d2s.full(shape, 2, dtype))
            log.append((y.tolist(), y.dtype.name, y.shape))
        except d2s.D2SError as error:
            log.append((type(error).__name__, error.kind))
        return log, p.tolist(), p.dtype.name, p.shape

    assert play(d2s.to_static) == play(lambda f: f)


def found(x):
    return x[x > 0]


def add_to_one(x):
    y = d2s.zeros([1])
    y.add_(found(x))
    return y


def add_more_axes(x):
    y = found(x)
    y.add_(d2s.ones([3, 4]))
    return y


def reshape_and_add(x):
    y = d2s.zeros([2])
    y.reshape_([2, 1])
    y.add_(found(x))
    return y


def replace(x):
    y = d2s.zeros([2])
    y.set_value(found(x))
    return y


def replace_what_was_found(x):
    y = found(x)
    y.set_value(d2s.ones([2]))
    return y


def add_to_view(x):
    y = d2s.zeros([2, 1])
    part = y[0]
    part.add_(found(x))
    return y


def add_in_a_branch(x):
    y = d2s.zeros([1])
    if x.sum() > -5:
        y.add_(found(x))
    return y


def add_in_a_loop(x):
    y, n = d2s.zeros([1]), d2s.to_tensor(2)
    while n > 0:
        y.add_(found(x))
        n = n - 1
    return y


def unused(x):
    y = d2s.zeros([1])
    y.multiply_(found(x))
    return x * 2


@pytest.mark.parametrize("function", [
    add_to_one, add_more_axes, reshape_and_add, replace, replace_what_was_found, add_to_view, add_in_a_branch,
    add_in_a_loop, unused])
def test_sizes_that_only_the_run_knows(function):
    static, refused = d2s.jit.to_static(function), 0
    for numbers in ([1.0, 1, 1], [1, -1, 1], [1, -1, -1], [-1, -1, -1], [1, 1, 1, 1]):
        seen = []
        for called in (function, static):
            x = d2s.to_tensor(numbers, dtype="float32", stop_gradient=False)
            try:
                result = called(x)
                (result * 3).sum().backward()
                seen.append((result.numpy().tolist(), None if x.grad is None else x.grad.tolist()))
            except d2s.D2SError as error:
                seen.append((type(error), str(error)))
                refused += 1
        assert seen[0] == seen[1]
    assert refused


def test_a_program_built_by_hand_checks_what_is_written():
    program = d2s.static.Program()
    with d2s.static.program_guard(program):
        x = d2s.static.data("x", [None])
        y = d2s.zeros([2])
        y.set_value(x)
        z = d2s.zeros([1]).add_(x)
    run = d2s.static.Executor().run
    assert run(program, {"x": d2s.ones([2]).numpy()}, [y])[0].tolist() == [1.0, 1.0]
    assert run(program, {"x": d2s.ones([1]).numpy()}, [z])[0].tolist() == [1.0]
    with pytest.raises(d2s.ShapeError, match=r"set_value needs shape \[2\], got \[3\]"):
        run(program, {"x": d2s.ones([3]).numpy()}, [y])
    with pytest.raises(d2s.ShapeError, match=r"add_: a value of shape \[2\] cannot be written into a tensor of"):
        run(program, {"x": d2s.ones([2]).numpy()}, [z])
