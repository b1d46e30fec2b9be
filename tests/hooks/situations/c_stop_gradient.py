"""C: stop_gradient, no_grad, detach, clone; 0-d and empty tensors."""

from __future__ import annotations

import numpy as np

from ..register import leaf, outcome, recorder, situation, val

CANNOT = "Cannot register hook on a tensor that stop gradient."


@situation("C01", ("RuntimeError", 0))
def on_stopped_leaf(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x"))
        return 3 * x

    return outcome(lambda: f(paddle.to_tensor([2.0])), CANNOT), len(log)


@situation("C01b", "RuntimeError")
def on_result_of_stopped_tensors(paddle, to_static):
    @to_static
    def f(x):
        y = x * 3
        y.register_hook(lambda g: g + 1)
        return y

    return outcome(lambda: f(paddle.to_tensor([2.0])), CANNOT)


@situation("C02", ([], None, [2.0]))
def leaf_stopped_after_registration(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return x * w

    x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
    x.register_hook(recorder(log, "x"))
    x.stop_gradient = True
    f(x, w).backward()
    return log, val(x.grad), val(w.grad)


@situation("C02b", ([("x", [5.0])], [6.0], [2.0]))
def leaf_stopped_after_forward(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return x * w

    x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
    x.register_hook(recorder(log, "x", lambda g: g + 1))
    z = f(x, w)
    x.stop_gradient = True
    z.backward()
    return log, val(x.grad), val(w.grad)


@situation("C02c", ([("x", [3.0])], [4.0]))
def leaf_stopped_and_started_again(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", lambda g: g + 1))
    x.stop_gradient = True
    x.stop_gradient = False
    f(x).backward()
    return log, val(x.grad)


@situation("C03", ([], None, [4.0]))
def intermediate_stopped(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        y = x * 2
        y.register_hook(recorder(log, "y"))
        y.stop_gradient = True
        return y * w

    x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
    f(x, w).backward()
    return log, val(x.grad), val(w.grad)


@situation("C04", ("TypeError", True))
def integer_leaf(paddle, to_static):
    i = paddle.to_tensor([1, 2], dtype="int64")

    def require():
        i.stop_gradient = False

    return outcome(require, "int64"), i.stop_gradient


@situation("C04b", (True, "RuntimeError", "RuntimeError", None))
def cast_to_integer(paddle, to_static):
    flags = []

    @to_static
    def f(x):
        y = x.astype("int32")
        flags.append(y.stop_gradient)
        return y.astype("float32").sum()

    @to_static
    def g(x):
        x.astype("int32").register_hook(lambda g: g)

    x = leaf(paddle, 1.0, 2.0)
    z = f(x)
    return flags[0], outcome(lambda: g(x), CANNOT), outcome(lambda: z.backward()), val(x.grad)


@situation("C05", ([("x", [3.0])], [10.0]))
def registered_inside_no_grad(paddle, to_static):
    log = []

    @to_static
    def f(x):
        with paddle.no_grad():
            x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("C05b", "RuntimeError")
def computed_inside_no_grad(paddle, to_static):
    @to_static
    def f(x):
        with paddle.no_grad():
            y = x * 2
        y.register_hook(lambda g: g + 1)
        return y

    return outcome(lambda: f(leaf(paddle, 2.0)), CANNOT)


@situation("C05c", ([("y", [3.0])], [20.0]))
def registered_inside_no_grad_on_intermediate(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        with paddle.no_grad():
            y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("C06", "RuntimeError")
def on_detached(paddle, to_static):
    @to_static
    def f(x):
        d = x.detach()
        d.register_hook(lambda g: g + 1)
        return d

    return outcome(lambda: f(leaf(paddle, 2.0)), CANNOT)


@situation("C06b", ([("x", [4.0]), ("d", [3.0])], [5.0], [10.0]))
def on_detached_leaf(paddle, to_static):
    """z = 4x + 3d: the last op made is visited first, and its first argument's leaf is finished first."""
    log = []

    @to_static
    def f(x, d):
        b = d * 3
        a = x * 4
        return a + b

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", lambda g: g + 1))
    d = x.detach()
    d.stop_gradient = False
    d.register_hook(recorder(log, "d", lambda g: g * g + 1))
    f(x, d).backward()
    return log, val(x.grad), val(d.grad)


@situation("C06c", ([("x", [3.0])], [10.0]))
def clone_copies_no_hooks(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x.clone()

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", lambda g: g * g + 1))
    f(x).backward()
    return log, val(x.grad)


@situation("C07", ([("y", 12.0), ("x", 39.0)], 40.0))
def zero_dimensional(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 3
        y.register_hook(recorder(log, "y", lambda g: g + 1))
        return y * y

    x = paddle.to_tensor(2.0, stop_gradient=False)
    x.register_hook(recorder(log, "x", lambda g: g + 1))
    f(x).backward()
    return log, val(x.grad)


@situation("C07b", ([[0, 3]], [0, 3]))
def empty(paddle, to_static):
    shapes = []

    @to_static
    def f(x):
        x.register_hook(lambda g: shapes.append(list(g.shape)))
        return (x * 2).sum()

    x = paddle.to_tensor(np.zeros((0, 3), "float32"), stop_gradient=False)
    f(x).backward()
    return shapes, list(x.grad.shape)


@situation("C08", ([False], [4.0]))
def backward_inside_no_grad(paddle, to_static):
    modes = []

    def look(g):
        modes.append(paddle.is_grad_enabled())
        return g + 1

    @to_static
    def f(x):
        x.register_hook(look)
        return 3 * x

    x = leaf(paddle, 2.0)
    z = f(x)
    with paddle.no_grad():
        z.backward()
    return modes, val(x.grad)


@situation("X06", ([("y", [5.0])], [12.0], [4.0]))
def intermediate_stopped_after_its_use(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g + 1))
        z = y * w
        y.stop_gradient = True
        return z

    x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
    f(x, w).backward()
    return log, val(x.grad), val(w.grad)


@situation("X10", ([("y", [3.0])], [8.0]))
def intermediate_detached_elsewhere(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g + 1))
        z = y * 3
        d = y.detach()
        y.stop_gradient = True
        return z + d

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("X15", [15.0])
def result_with_another_stop_gradient(paddle, to_static):
    def stopped(g):
        found = g * g
        found.stop_gradient = True
        return found

    @to_static
    def f(x):
        y = x * 1
        y.register_hook(stopped)
        y.register_hook(lambda g: None)
        y.register_hook(lambda g: (g + 6).detach())
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(x.grad)
