"""E10, E11, E15: views, and tensors that share values without sharing history."""

from __future__ import annotations

from ..register import leaf, outcome, plus_one, recorder, situation, val


@situation("E10", ([("v", [3.0]), ("x", [10.0, 0.0])], [11.0, 1.0]))
def hook_on_a_slice(paddle, to_static):
    log = []

    @to_static
    def f(x):
        v = x[0:1]
        v.register_hook(recorder(log, "v", lambda g: g * g + 1))
        return 3 * v

    x = leaf(paddle, 2.0, 3.0)
    x.register_hook(recorder(log, "x", plus_one))
    f(x).backward()
    return log, val(x.grad)


@situation("E10b", ([], [3.0, 3.0]))
def slice_not_used(paddle, to_static):
    log = []

    @to_static
    def f(x):
        v = x[0:1]
        v.register_hook(recorder(log, "v", plus_one))
        return (3 * x).sum()

    x = leaf(paddle, 2.0, 3.0)
    f(x).backward()
    return log, val(x.grad)


@situation(
    "E10c",
    ([("T", [[1.0, 2.0], [3.0, 4.0]]), ("reshape", [1.0, 2.0, 3.0, 4.0])], [[4.0, 7.0], [7.0, 10.0]]),
)
def hooks_on_reshape_and_transpose(paddle, to_static):
    log = []

    @to_static
    def f(x):
        r = x.reshape([4])
        t = x.transpose([1, 0])
        r.register_hook(recorder(log, "reshape", plus_one))
        t.register_hook(recorder(log, "T", plus_one))
        k = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
        return (r * k).sum() + (t * k.reshape([2, 2])).sum()

    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    f(x).backward()
    return log, val(x.grad)


@situation("E11", ([("y", [15.0, 15.0])], [20.0, 30.0], [32.0, 32.0]))
def write_through_a_view(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        v = y.reshape([2, 1])
        v.multiply_(paddle.to_tensor(5.0))
        seen.append(y)
        return (3 * y).sum()

    x = leaf(paddle, 2.0, 3.0)
    f(x).backward()
    return log, val(seen[0]), val(x.grad)


@situation("E11b", ([], [20.0], [30.0, 0.0]))
def write_to_the_base_of_a_view(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 2
        v = y[0:1]
        v.register_hook(recorder(log, "v", plus_one))
        y.multiply_(paddle.to_tensor(5.0))
        seen.append(v)
        return 3 * v

    x = leaf(paddle, 2.0, 3.0)
    f(x).backward()
    return log, val(seen[0]), val(x.grad)


@situation("E11/use, write, use", ([("before", [1.0])], [4.0, 0.0], [("after", [1.0])], [0.0, 0.0], 28.0))
def view_used_before_and_after_a_write(paddle, to_static):
    """v = y[0:1] is used, then y[0] becomes w * w, then v is used again: two versions with a hook each."""
    log = []

    @to_static
    def f(x, w):
        y = x * 2
        v = y[0:1]
        v.register_hook(recorder(log, "before", plus_one))
        first = v * 1
        y[0] = w * w
        v.register_hook(recorder(log, "after", plus_one))
        return first, v * 1

    x, w = leaf(paddle, 2.0, 3.0), paddle.to_tensor(7.0, stop_gradient=False)
    first, second = f(x, w)
    first.backward(retain_graph=True)
    before, x_grad, log[:] = list(log), val(x.grad), []
    x.clear_gradient(False)
    second.backward()
    return before, x_grad, log, val(x.grad), val(w.grad)


@situation("E11/view of a view", ([("row", [1.0, 1.0])], [[1.0, 50.0], [3.0, 4.0]], [[3.0, 75.0], [1.0, 1.0]]))
def write_through_a_view_of_a_view(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        row = y[0]
        element = row[1:2]
        element.multiply_(paddle.to_tensor(25.0))
        row.register_hook(recorder(log, "row", plus_one))
        seen.append(y)
        return y.sum() + row.sum()

    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    f(x).backward()
    return log, val(seen[0]), val(x.grad)


@situation("E11/view of a leaf", ("ValueError", [2.0, 3.0], [5.0, 3.0], [11.0, 7.0]))
def write_through_a_view_of_a_leaf(paddle, to_static):
    @to_static
    def f(x):
        return (x * x).sum()

    x = leaf(paddle, 2.0, 3.0)
    x.register_hook(plus_one)
    error = outcome(lambda: x[0:1].fill_(5.0), "can't use inplace strategy")
    unchanged = val(x)
    with paddle.no_grad():
        x[0:1].fill_(5.0)
    f(x).backward()
    return error, unchanged, val(x), val(x.grad)


@situation("E15", ([20.0], [("x", [40.0])], [41.0]))
def write_through_a_detached_tensor(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return x * x

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", plus_one))
    x.detach().multiply_(paddle.to_tensor(10.0))
    f(x).backward()
    return val(x), log, val(x.grad)


@situation("E15/view of a detached tensor", ([1.0, 9.0], [1.0, 9.0], [9.0], [2.0, 18.0]))
def write_through_a_view_of_a_detached_tensor(paddle, to_static):
    @to_static
    def f(x):
        return (x * x).sum()

    x = leaf(paddle, 1.0, 2.0)
    other, tail = x.detach(), x[1:]
    x.detach()[1:2].fill_(9.0)
    f(x).backward()
    return val(x), val(other), val(tail), val(x.grad)
