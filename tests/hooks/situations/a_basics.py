"""A: where a hook sits, what it sees, what its result does."""

from __future__ import annotations

from ..register import leaf, plus_one, recorder, situation, squared, times_ten, val


@situation("A01", ([("x", [3.0])], [10.0]))
def hook_on_leaf(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A02", ([("y", [3.0])], [20.0], None))
def hook_on_intermediate(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad), val(seen[0].grad)


@situation("A03", ([("y", [1.0])], [33.0]))
def hook_on_root(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = 3 * x
        y.register_hook(recorder(log, "y", lambda g: g * 10 + 1))
        return y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A03b", ([7.0], [210.0], [7.0]))
def root_hook_writes_in_place(paddle, to_static):
    seen = []

    def in_place(g):
        seen.append(val(g))
        g.multiply_(paddle.to_tensor(10.0))

    @to_static
    def f(x):
        y = 3 * x
        y.register_hook(in_place)
        return y

    x, seed = leaf(paddle, 2.0), paddle.to_tensor([7.0])
    f(x).backward(seed)
    return seen[0], val(x.grad), val(seed)


@situation("A03c", ([("x", [1.0])], [6.0]))
def backward_on_a_leaf(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", lambda g: g * 5 + 1))
        return x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A04", ([("x", [3.0])], [10.0]))
def leaf_hook_after_use(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = 3 * x
        x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        return y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A05", ([("y", [12.0])], [145.0]))
def intermediate_hook_after_use(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x + 4
        z = y**2
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return z

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A06", ([3.0], [("x", [3.0])], [13.0]))
def hook_after_first_backward(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    first = val(x.grad)
    x.register_hook(recorder(log, "x", lambda g: g * g + 1))
    f(x).backward()
    return first, log, val(x.grad)


@situation("A07", ([(1, [3.0]), (2, [4.0]), (3, [40.0])], [40.0]))
def three_hooks_chain(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, 1, plus_one))
        x.register_hook(recorder(log, 2, times_ten))
        x.register_hook(recorder(log, 3))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A07b", ([(1, [3.0]), (2, [4.0]), (3, [16.0])], [32.0]))
def three_hooks_chain_on_intermediate(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, 1, plus_one))
        y.register_hook(recorder(log, 2, squared))
        y.register_hook(recorder(log, 3))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A08", [5.0])
def same_function_twice(paddle, to_static):
    @to_static
    def f(x):
        x.register_hook(plus_one)
        x.register_hook(plus_one)
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(x.grad)


@situation("A09", [10.0])
def handle_dropped(paddle, to_static):
    import gc

    @to_static
    def f(x):
        x.register_hook(lambda g: g * g + 1)
        return 3 * x

    x = leaf(paddle, 2.0)
    y = f(x)
    gc.collect()
    y.backward()
    return val(x.grad)


@situation("A10", ([("y", [3.0])], [20.0]))
def name_deleted_after_registration(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        z = 3 * y
        del y
        return z

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("A11", ([([3.0], None), ([5.0], [3.0])], [8.0]))
def old_grad_inside_the_hook(paddle, to_static):
    log = []

    @to_static
    def f(x, k):
        return x * k

    x = leaf(paddle, 2.0)
    x.register_hook(lambda g: log.append((val(g), val(x.grad))))
    f(x, paddle.to_tensor([3.0])).backward()
    f(x, paddle.to_tensor([5.0])).backward()
    return log, val(x.grad)


@situation("A12", [("stop_gradient", False, "leaf", True, "grad enabled", False)])
def gradient_argument(paddle, to_static):
    log = []

    def look(g):
        log.append(("stop_gradient", g.stop_gradient, "leaf", g.is_leaf, "grad enabled", paddle.is_grad_enabled()))

    @to_static
    def f(x):
        x.register_hook(look)
        return 3 * x

    f(leaf(paddle, 2.0)).backward()
    return log


@situation("A13", [("stop_gradient", False, "leaf", False, "grad enabled", True)])
def gradient_argument_with_create_graph(paddle, to_static):
    log = []

    def look(g):
        log.append(("stop_gradient", g.stop_gradient, "leaf", g.is_leaf, "grad enabled", paddle.is_grad_enabled()))

    @to_static
    def f(x):
        x.register_hook(look)
        return x * x

    x = leaf(paddle, 2.0)
    paddle.grad(f(x), [x], create_graph=True)
    return log


@situation("A14", ([True], [16.0], False, None))
def hook_computes_with_a_leaf(paddle, to_static):
    seen = []
    w = leaf(paddle, 5.0)

    def times_w(g):
        result = g * w + 1
        seen.append(result.stop_gradient)
        return result

    @to_static
    def f(x):
        x.register_hook(times_w)
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return seen, val(x.grad), x.grad.stop_gradient, val(w.grad)
