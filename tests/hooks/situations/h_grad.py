"""H: `grad()`, `create_graph`, repeated backward, several roots, nesting."""

from __future__ import annotations

from ..register import leaf, outcome, plus_one, recorder, situation, squared, val


@situation("H01", ([("x", [3.0])], [10.0], None))
def grad_with_hook_on_leaf_input(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        return 3 * x

    x = leaf(paddle, 2.0)
    (found,) = paddle.grad(f(x), [x])
    return log, val(found), val(x.grad)


@situation("H01b", ([("x", [7.0])], [50.0]))
def grad_with_hook_on_leaf_used_twice(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        return 3 * x + x * x

    x = leaf(paddle, 2.0)
    (found,) = paddle.grad(f(x), [x])
    return log, val(found)


@situation("H02", ([("y", [3.0])], [10.0]))
def grad_with_hook_on_intermediate_input(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y, y

    z, y = f(leaf(paddle, 2.0))
    (found,) = paddle.grad(z, [y])
    return log, val(found)


@situation("H02b", ([("y", [3.0])], [20.0]))
def grad_with_hook_on_the_path(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y

    x = leaf(paddle, 2.0)
    (found,) = paddle.grad(f(x), [x])
    return log, val(found)


@situation("H02c", ([("y", [3.0])], [[10.0], [20.0]]))
def grad_captures_after_the_hooks(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y, y

    x = leaf(paddle, 2.0)
    z, y = f(x)
    return log, [val(g) for g in paddle.grad(z, [y, x])]


@situation("H03", ([("z", [1.0])], [33.0]))
def grad_with_hook_on_output(paddle, to_static):
    log = []

    @to_static
    def f(x):
        z = 3 * x
        z.register_hook(recorder(log, "z", lambda g: g * 10 + 1))
        return z

    x = leaf(paddle, 2.0)
    (found,) = paddle.grad(f(x), [x])
    return log, val(found)


@situation("H03b", ([("z", [1.0])], [11.0]))
def grad_of_the_output_itself(paddle, to_static):
    log = []

    @to_static
    def f(x):
        z = 3 * x
        z.register_hook(recorder(log, "z", lambda g: g * 10 + 1))
        return z

    z = f(leaf(paddle, 2.0))
    (found,) = paddle.grad(z, [z])
    return log, val(found)


@situation("H04", ([], [5.0], None))
def grad_with_hook_off_the_path(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return x * w

    x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
    w.register_hook(recorder(log, "w", plus_one))
    (found,) = paddle.grad(f(x, w), [x])
    return log, val(found), val(w.grad)


@situation("H05", ([(1, [3.0]), (2, [4.0])], [16.0]))
def grad_with_two_hooks(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, 1, plus_one))
        x.register_hook(recorder(log, 2, squared))
        return 3 * x

    x = leaf(paddle, 2.0)
    (found,) = paddle.grad(f(x), [x])
    return log, val(found)


@situation("H06", ([9216.0], [("y", [48.0])], [339743232.0], [("y", [9216.0])]))
def second_order_through_intermediate_hook(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x**2
        y.register_hook(recorder(log, "y", squared))
        return y**3

    x = leaf(paddle, 2.0)
    (g,) = paddle.grad(f(x), [x], create_graph=True)
    first, log[:] = list(log), []
    (g2,) = paddle.grad(g, [x])
    return val(g), first, val(g2), log


@situation("H06b", ([144.0], [("x", [12.0])], [82944.0], [("x", [288.0])]))
def second_order_through_leaf_hook(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return x**3

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", squared))
    (g,) = paddle.grad(f(x), [x], create_graph=True)
    first, log[:] = list(log), []
    g.backward()
    return val(g), first, val(x.grad), log


@situation("H06c", ([72.0], [96.0]))
def second_order_of_a_hook_that_uses_x(paddle, to_static):
    """The direct term 24, and the hook again on the term through y: 36 * 2."""

    @to_static
    def f(x):
        y = 2 * x
        y.register_hook(lambda g: g * x)
        return y * y

    x = leaf(paddle, 3.0)
    (g,) = paddle.grad(f(x), [x], create_graph=True)
    (g2,) = paddle.grad(g, [x])
    return val(g), val(g2)


@situation("H06d", ([("z", [1.0]), ("y", [8.0]), "--", ("y", [8.0])], [48.0]))
def calls_of_the_second_pass(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * x
        y.register_hook(recorder(log, "y"))
        z = y * y
        z.register_hook(recorder(log, "z"))
        return z

    x = leaf(paddle, 2.0)
    (g,) = paddle.grad(f(x), [x], create_graph=True)
    log.append("--")
    (g2,) = paddle.grad(g, [x])
    return log, val(g2)


@situation("H06e", (["--", ("w", [100.0])], [101.0]))
def gradient_penalty(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return w * x * x

    x, w = leaf(paddle, 2.0), leaf(paddle, 3.0)
    w.register_hook(recorder(log, "w", plus_one))
    z = f(x, w)
    (g,) = paddle.grad(z, [x], create_graph=True)
    log.append("--")
    ((g * g).sum() + z).backward()
    return log, val(w.grad)


@situation("H08", ([("y", [3.0]), ("x", [40.0]), ("y", [3.0]), ("x", [40.0])], [82.0]))
def backward_twice(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", plus_one))
        y = x * 4
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y

    x = leaf(paddle, 2.0)
    z = f(x)
    z.backward(retain_graph=True)
    z.backward()
    return log, val(x.grad)


@situation("H09", ([("z", [1.0]), ("y", [8.0])], "RuntimeError", [32.0]))
def backward_twice_without_retain_graph(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * x
        y.register_hook(recorder(log, "y"))
        z = y * y
        z.register_hook(recorder(log, "z"))
        return z

    x = leaf(paddle, 2.0)
    z = f(x)
    z.backward()
    return log, outcome(lambda: z.backward(), "retain_graph=True"), val(x.grad)


@situation("H10", ([], [[3.0], None], "RuntimeError"))
def grad_with_hook_on_unused_input(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return 3 * x

    x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
    w.register_hook(recorder(log, "w", plus_one))
    found = paddle.grad(f(x, w), [x, w], allow_unused=True)
    refused = outcome(lambda: paddle.grad(f(x, w), [x, w]), "allow_unused=True")
    return log, [val(g) for g in found], refused


@situation("H11", ([3.0], [13.0], [16.0]))
def hook_added_and_removed_between_backwards(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    z = f(x)
    z.backward(retain_graph=True)
    first = val(x.grad)
    handle = x.register_hook(lambda g: g * g + 1)
    z.backward(retain_graph=True)
    second = val(x.grad)
    handle.remove()
    z.backward()
    return first, second, val(x.grad)


@situation("H12", ("ValueError", None, [3.0]))
def grad_with_a_hook_that_raises(paddle, to_static):
    def boom(g):
        raise ValueError("boom")

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    handle = x.register_hook(boom)
    error = outcome(lambda: paddle.grad(f(x), [x]), "boom")
    untouched = val(x.grad)
    handle.remove()
    f(x).backward()
    return error, untouched, val(x.grad)


@situation("H13", ([("y", [7.0])], [50.0]))
def several_roots(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 1
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y, 4 * y

    x = leaf(paddle, 2.0)
    paddle.autograd.backward(list(f(x)))
    return log, val(x.grad)


@situation("H13b", ([("y", [4.0])], [17.0]))
def root_that_is_an_ancestor(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 1
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return y, 3 * y

    x = leaf(paddle, 2.0)
    paddle.autograd.backward(list(f(x)))
    return log, val(x.grad)


@situation("H14", ([], [4.0]))
def path_blocked(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        return 3 * y + 4 * x, y

    x = leaf(paddle, 2.0)
    z, y = f(x)
    (found,) = paddle.grad(z, [x], no_grad_vars=[y])
    return log, val(found)


@situation("H15", ("no error", [31.0], [10.0]))
def hook_runs_a_backward_of_its_own(paddle, to_static):
    w = leaf(paddle, 5.0)

    def hook(g):
        with paddle.enable_grad():
            (w * w).backward()
        return g * w.grad + 1

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(hook)
    return outcome(lambda: f(x).backward()), val(x.grad), val(w.grad)


@situation("H16", (["outer", "inner", "x", "x"], "no error", [14.0]))
def hook_walks_the_same_graph(paddle, to_static):
    log = []

    def hook(g):
        log.append("inner" if log else "outer")
        if log == ["outer"]:
            z.backward(retain_graph=True)

    @to_static
    def f(x):
        return (x * 2) * 3

    x = leaf(paddle, 2.0)
    x.register_hook(lambda g: log.append("x") or g + 1)
    z = f(x)
    z.register_hook(hook)
    return log, outcome(lambda: z.backward(retain_graph=True)), val(x.grad)


@situation("X04", (False, "no error", [16.0], None))
def result_is_not_connected_to_w(paddle, to_static):
    w = leaf(paddle, 5.0)

    def hook(g):
        with paddle.enable_grad():
            return g * w + 1

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(hook)
    f(x).backward()
    stopped, grad = x.grad.stop_gradient, val(x.grad)
    return stopped, outcome(lambda: x.grad.backward()), grad, val(w.grad)


@situation("X04b", (False, True))
def flag_of_grad(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return x.grad.stop_gradient, x.grad.is_leaf


@situation("X17", ("TypeError", None))
def backward_has_no_create_graph(paddle, to_static):
    @to_static
    def f(x):
        return x * x

    x = leaf(paddle, 2.0)
    return outcome(lambda: f(x).backward(create_graph=True), "create_graph"), val(x.grad)
