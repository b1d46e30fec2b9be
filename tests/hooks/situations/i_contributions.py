"""I, J: what contributes, ops with several outputs, broadcasting, dtypes."""

from __future__ import annotations

from ..register import leaf, plus_one, recorder, situation, val


@situation("I01", ([], None))
def leaf_not_used(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return 3 * w

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", plus_one))
    f(x, leaf(paddle, 2.0)).backward()
    return log, val(x.grad)


@situation("I02", ([("x", [3.0])], [4.0]))
def intermediate_not_used(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", plus_one))
        u = x * 2
        u.register_hook(recorder(log, "u", plus_one))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("I03", ([(0, [0.0]), (1, [3.0]), (2, [0.0]), ("x", [0.0, 9.0, 0.0])], [1.0, 10.0, 1.0]))
def one_part_of_three(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", plus_one))
        parts = paddle.split(x, 3)
        for i in range(3):
            parts[i].register_hook(recorder(log, i, lambda g: g * g))
        return 3 * parts[1]

    x = leaf(paddle, 1.0, 2.0, 3.0)
    f(x).backward()
    return log, val(x.grad)


@situation("I03b", ([(0, [0.0])], [7.0, 3.0, 0.0]))
def unused_part_injects(paddle, to_static):
    log = []

    @to_static
    def f(x):
        parts = paddle.split(x, 3)
        parts[0].register_hook(recorder(log, 0, lambda g: g + 7))
        return 3 * parts[1]

    x = leaf(paddle, 1.0, 2.0, 3.0)
    f(x).backward()
    return log, val(x.grad)


@situation("I04", ([(0, [1.0, 1.0]), (1, [0.0, 0.0])], [[2.0, 2.0], [1.0, 1.0]]))
def first_row_of_unbind(paddle, to_static):
    log = []

    @to_static
    def f(x):
        rows = paddle.unbind(x)
        rows[0].register_hook(recorder(log, 0, plus_one))
        rows[1].register_hook(recorder(log, 1, plus_one))
        return rows[0].sum()

    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    f(x).backward()
    return log, val(x.grad)


@situation("I04b", ([(1, [5.0]), (2, [3.0]), (0, [4.0])], [5.0, 6.0, 4.0]))
def parts_in_order_of_registration(paddle, to_static):
    log = []

    @to_static
    def f(x):
        parts = paddle.split(x, 3)
        for i in (1, 2, 0):
            parts[i].register_hook(recorder(log, i, plus_one))
        return parts[2] * 3 + parts[0] * 4 + parts[1] * 5

    x = leaf(paddle, 1.0, 2.0, 3.0)
    f(x).backward()
    return log, val(x.grad)


@situation("I05", (True, "RuntimeError", [("v", [1.0, 1.0])], [0.0, 2.0, 2.0]))
def values_and_indices(paddle, to_static):
    log, flags, errors = [], [], []

    @to_static
    def f(x):
        values, indices = paddle.topk(x, 2)
        flags.append(indices.stop_gradient)
        values.register_hook(recorder(log, "v", plus_one))
        try:
            indices.register_hook(recorder(log, "i"))
        except RuntimeError:
            errors.append("RuntimeError")
        return values.sum()

    x = leaf(paddle, 1.0, 2.0, 3.0)
    f(x).backward()
    return flags[0], errors[0], log, val(x.grad)


@situation("I05b", ([("x", [1.0, 2.0, 0.0])], [2.0, 3.0, 1.0]))
def indices_alone(paddle, to_static):
    """topk of [1, 5, 3] gives the indices [1, 2], used as numbers: x * [1, 2, 0]."""
    log = []

    @to_static
    def f(x):
        indices = paddle.topk(x, 2)[1]
        k = paddle.concat([indices, paddle.zeros([1], dtype=indices.dtype)])
        return (x * k.astype("float32")).sum()

    x = leaf(paddle, 1.0, 5.0, 3.0)
    x.register_hook(recorder(log, "x", plus_one))
    f(x).backward()
    return log, val(x.grad)


@situation("I06", ([("y", [0.0])], [2.0]))
def zero_gradient_that_flows(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        return y * 0

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("I07", ([], None, [4.0]))
def only_through_detach(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        return y.detach() * w

    x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
    f(x, w).backward()
    return log, val(x.grad), val(w.grad)


@situation("I08", ([("y", [0.0]), ("m", [0.0, 3.0])], [2.0], [1.0, 4.0]))
def masked_out(paddle, to_static):
    log = []

    @to_static
    def dead(x):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        return paddle.nn.functional.relu(y)

    @to_static
    def masked(x):
        m = x * 1
        m.register_hook(recorder(log, "m", plus_one))
        return (3 * paddle.where(m > 1.5, m, paddle.zeros_like(m))).sum()

    x, w = leaf(paddle, -2.0), leaf(paddle, 1.0, 2.0)
    dead(x).backward()
    masked(w).backward()
    return log, val(x.grad), val(w.grad)


@situation("X08", ([], [3.0]))
def nothing_of_the_op_is_used(paddle, to_static):
    log = []

    @to_static
    def f(x):
        parts = paddle.split(x, 1)
        parts[0].register_hook(recorder(log, 0, plus_one))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("J01", ([("x", [6.0]), ("y", [2.0, 2.0, 2.0])], [7.0], [3.0, 3.0, 3.0]))
def broadcast_sum(paddle, to_static):
    log = []

    @to_static
    def f(x, y):
        return (2 * (x + y)).sum()

    x, y = leaf(paddle, 1.0), leaf(paddle, 1.0, 2.0, 3.0)
    x.register_hook(recorder(log, "x", plus_one))
    y.register_hook(recorder(log, "y", plus_one))
    f(x, y).backward()
    return log, val(x.grad), val(y.grad)


@situation("J02", ([("b", [3.0, 3.0]), ("s", 21.0)], [4.0, 4.0], 22.0))
def broadcast_scalar_and_row(paddle, to_static):
    log = []

    @to_static
    def f(s, b, m):
        return (s * m).sum() + (m.reshape([3, 2]) * 0 + b).sum()

    s = paddle.to_tensor(2.0, stop_gradient=False)
    b = leaf(paddle, 1.0, 2.0)
    s.register_hook(recorder(log, "s", plus_one))
    b.register_hook(recorder(log, "b", plus_one))
    m = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f(s, b, m).backward()
    return log, val(b.grad), val(s.grad)


@situation("J03", [("y", "float64", [3.0]), ("x", "float32", [8.0])])
def cast(paddle, to_static):
    log = []

    def typed(name):
        def hook(g):
            log.append((name, str(g.dtype).split(".")[-1], val(g)))
            return g + 1

        return hook

    @to_static
    def f(x):
        x.register_hook(typed("x"))
        y = (2 * x).astype("float64")
        y.register_hook(typed("y"))
        return 3 * y

    f(leaf(paddle, 2.0)).backward()
    return log


@situation("J03b", ["float16", [4.0]])
def half_precision(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = paddle.to_tensor([2.0], dtype="float16", stop_gradient=False)
    x.register_hook(lambda g: log.append(str(g.dtype).split(".")[-1]) or g + 1)
    f(x).backward()
    return [*log, val(x.grad)]


@situation("J04", ("float64", [("w", "float64", [2.0]), ("x", "float32", [3.0])]))
def mixed_dtypes(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return x * w

    def typed(name):
        return lambda g: log.append((name, str(g.dtype).split(".")[-1], val(g)))

    x = leaf(paddle, 2.0)
    w = paddle.to_tensor([3.0], dtype="float64", stop_gradient=False)
    x.register_hook(typed("x"))
    w.register_hook(typed("w"))
    z = f(x, w)
    z.backward()
    return str(z.dtype).split(".")[-1], log


@situation("J05", (["complex64"], [[3 + 4j]]))
def complex_leaf(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        return (x * paddle.conj(x)).real().sum()

    x = paddle.to_tensor([1 + 2j], dtype="complex64", stop_gradient=False)
    x.register_hook(lambda g: log.append(str(g.dtype).split(".")[-1]) or g + 1)
    f(x).backward()
    seen.append(val(x.grad))
    return log, seen
