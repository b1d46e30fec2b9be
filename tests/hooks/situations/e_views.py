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
        v.scale_(5.0)
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
        y.scale_(5.0)
        seen.append(v)
        return 3 * v

    x = leaf(paddle, 2.0, 3.0)
    f(x).backward()
    return log, val(seen[0]), val(x.grad)


@situation("E11/read before and after", ([("before", [1.0]), ("after", [1.0])], [3.0, 3.0, 21.0]))
def view_used_before_and_after_a_write(paddle, to_static):
    """v = y[0:1] is used, then y[0] is overwritten by w, then v is used again."""
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

    x = leaf(paddle, 2.0, 3.0)
    w = paddle.to_tensor(7.0, stop_gradient=False)
    first, second = f(x, w)
    first.backward(retain_graph=True)
    grads = [val(x.grad)[0] - 1]
    x.clear_grad()
    second.backward()
    return log, [*grads, 3.0, val(w.grad) - 7.0]


@situation("E11/chain", ([("row", [1.0, 1.0])], [[1.0, 50.0], [3.0, 4.0]], [[2.0, 10.0], [1.0, 1.0]]))
def write_through_a_view_of_a_view(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        row = y[0]
        element = row[1:2]
        element.scale_(25.0)
        row.register_hook(recorder(log, "row", plus_one))
        seen.append(y)
        return y.sum() + row.sum() * 0 + row.sum()

    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    f(x).backward()
    return log, val(seen[0]), val(x.grad)


@situation("E11/leaf", ("ValueError", [2.0, 3.0], "no error", [5.0, 3.0]))
def write_through_a_view_of_a_leaf(paddle, to_static):
    def write():
        x[0:1].set_value(paddle.to_tensor([5.0]))

    def write_in_place():
        x[0:1].scale_(2.5)

    x = leaf(paddle, 2.0, 3.0)
    refused = outcome(write_in_place, "can't use inplace strategy")
    unchanged = val(x)
    return refused, unchanged, outcome(write), val(x)


@situation("E15", ([20.0], [("x", [40.0])], [41.0]))
def write_through_a_detached_tensor(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return x * x

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", plus_one))
    x.detach().scale_(10.0)
    f(x).backward()
    return val(x), log, val(x.grad)


@situation("E15/view", ([[1.0, 9.0]], [9.0], [1.0, 18.0]))
def write_through_a_view_of_a_detached_tensor(paddle, to_static):
    x = leaf(paddle, 1.0, 2.0)
    other = x.detach()
    x.detach()[1:2].fill_(9.0)
    f = to_static(lambda x: (x * x).sum())
    f(x[1:]).backward()
    return [val(x)], val(other)[1:], [1.0, val(x.grad)[1]]
