"""E: aliases, rebinding, in-place writes: a hook belongs to a version of a value."""

from __future__ import annotations

import warnings

from ..register import leaf, outcome, plus_one, recorder, situation, times_ten, val

LEAF_IN_PLACE = "that doesn't stop gradient can't use inplace strategy"


@situation("E01", ([("via y", [3.0])], [10.0]))
def through_an_alias(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x
        y.register_hook(recorder(log, "via y", lambda g: g * g + 1))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E02", ([("b", [3.0]), ("a", [4.0])], [40.0]))
def through_both_names(paddle, to_static):
    log = []

    @to_static
    def f(x):
        a = x * 1
        b = a
        b.register_hook(recorder(log, "b", plus_one))
        a.register_hook(recorder(log, "a", times_ten))
        return 3 * a

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E03", ([("new", [3.0]), ("old", [8.0])], [65.0]))
def rebinding(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "old", lambda g: g * g + 1))
        x = x * 2
        x.register_hook(recorder(log, "new", plus_one))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E04", ([("y", [15.0])], [302.0]))
def hook_before_in_place(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", lambda g: g * 10 + 1))
        y.multiply_(paddle.to_tensor(5.0))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E05", ([("y", [3.0])], [310.0]))
def hook_after_in_place(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.multiply_(paddle.to_tensor(5.0))
        y.register_hook(recorder(log, "y", lambda g: g * 10 + 1))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E05b", ([("after", [3.0]), ("before", [515.0])], [1032.0]))
def hooks_before_and_after_in_place(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "before", plus_one))
        y.multiply_(paddle.to_tensor(5.0))
        y.register_hook(recorder(log, "after", lambda g: g + 100))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E05c", ([], True, [30.0]))
def handle_follows_its_version(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        handle = y.register_hook(recorder(log, "before", plus_one))
        y.multiply_(paddle.to_tensor(5.0))
        return 3 * y, handle

    x = leaf(paddle, 2.0)
    z, handle = f(x)
    removed = handle.remove()
    z.backward()
    return log, removed, val(x.grad)


@situation("E06", ([("y", [0.0, 3.0])], [2.0, 8.0]))
def hook_before_setitem(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        y[0] = 0.0
        return (3 * y).sum()

    x = leaf(paddle, 2.0, 3.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E06b", ([("y", [3.0, 3.0])], [0.0, 8.0]))
def hook_after_setitem(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        y[0] = 0.0
        y.register_hook(recorder(log, "y", plus_one))
        return (3 * y).sum()

    x = leaf(paddle, 2.0, 3.0)
    f(x).backward()
    return log, val(x.grad)


@situation("E06c", ([("w", 3.0), ("y", [0.0, 3.0])], [2.0, 8.0], 4.0))
def setitem_of_a_hooked_leaf(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        y[0] = w
        return (3 * y).sum()

    x = leaf(paddle, 2.0, 3.0)
    w = paddle.to_tensor(7.0, stop_gradient=False)
    w.register_hook(recorder(log, "w", plus_one))
    f(x, w).backward()
    return log, val(x.grad), val(w.grad)


@situation("E06d", ("RuntimeError", [("b", [3.0, 3.0])], [8.0]))
def buffer_becomes_differentiable(paddle, to_static):
    log, errors = [], []

    @to_static
    def f(x):
        b = paddle.zeros([2])
        try:
            b.register_hook(recorder(log, "before"))
        except RuntimeError:
            errors.append("RuntimeError")
        b[0] = x * 2
        b.register_hook(recorder(log, "b", plus_one))
        return (3 * b).sum()

    x = paddle.to_tensor(2.0, stop_gradient=False)
    f(x).backward()
    return errors[0], log, [val(x.grad)]


@situation("E07", ([("w", [4.0]), ("w", [3.0])], [5.0, 4.0], [1.0]))
def step_between_backwards(paddle, to_static):
    log, grads = [], []

    @to_static
    def f(w):
        return w * w

    w = leaf(paddle, 2.0)
    w.register_hook(recorder(log, "w", plus_one))
    for rate in (0.1, 0.125):
        w.clear_grad()
        f(w).backward()
        grads += val(w.grad)
        with paddle.no_grad():
            w.set_value(w - rate * w.grad)
    return log, grads, val(w)


@situation("E08", ("no error", [("x", [4.0]), ("x", [40.0])], [58.0]))
def leaf_written_inside_no_grad(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return x * x

    def write(x):
        with paddle.no_grad():
            x.add_(paddle.to_tensor([18.0]))

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", lambda g: g + 7))
    f(x).backward()
    error = outcome(lambda: write(x))
    f(x).backward()
    return error, log, val(x.grad)


@situation("E08b", ("ValueError", [2.0], [3.0]))
def leaf_written_in_grad_mode(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    error = outcome(lambda: x.multiply_(paddle.to_tensor(2.0)), LEAF_IN_PLACE)
    f(x).backward()
    return error, val(x), val(x.grad)


@situation("E08c", ("ValueError", [("x", [10.0, 6.0])], [11.0, 7.0], True))
def leaf_setitem(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return (x * x).sum()

    def write():
        x[0] = 5.0

    x = leaf(paddle, 2.0, 3.0)
    x.register_hook(recorder(log, "x", plus_one))
    error = outcome(write, LEAF_IN_PLACE)
    with paddle.no_grad():
        write()
    f(x).backward()
    return error, log, val(x.grad), x.is_leaf


@situation("E09", ([("w", [14.0])], [15.0]))
def set_value_after_registration(paddle, to_static):
    log = []

    @to_static
    def f(w):
        return w * w

    w = leaf(paddle, 2.0)
    w.register_hook(recorder(log, "w", plus_one))
    w.set_value(paddle.to_tensor([7.0]))
    f(w).backward()
    return log, val(w.grad)


@situation("E12", (False, [("y", [15.0])], [32.0]))
def augmented_assignment_rebinds(paddle, to_static):
    log, same = [], []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        before = y
        y *= 5
        same.append(y is before)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return same[0], log, val(x.grad)


@situation("E12b", ([("x", [3.0])], [4.0], [2.0]))
def augmented_assignment_to_a_leaf(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", plus_one))
        x += 1
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad), val(x)


@situation("E13", ("RuntimeError", [], None))
def saved_value_written(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        z = y * y
        z.register_hook(recorder(log, "z"))
        y.multiply_(paddle.to_tensor(5.0))
        return z

    x = leaf(paddle, 2.0)
    return outcome(lambda: f(x).backward(), "modified in place"), log, val(x.grad)


@situation("E14", ("no error", [0.0, 4.0]))
def hook_sets_an_item(paddle, to_static):
    def zero_first(g):
        g[0] = 0.0

    @to_static
    def f(x):
        return (4 * x).sum()

    x = leaf(paddle, 1.0, 2.0)
    x.register_hook(zero_first)
    return outcome(lambda: f(x).backward()), val(x.grad)


@situation("E14b", ("no error", [0.0, 4.0]))
def hook_sets_an_item_inside_no_grad(paddle, to_static):
    def zero_first(g):
        with paddle.no_grad():
            g[0] = 0.0
        return g

    @to_static
    def f(x):
        return (4 * x).sum()

    x = leaf(paddle, 1.0, 2.0)
    x.register_hook(zero_first)
    return outcome(lambda: f(x).backward()), val(x.grad)


def ten_fold_in_place(paddle):
    def write(g):
        with paddle.no_grad():
            g.multiply_(paddle.to_tensor(10.0))

    return write


@situation("E14c", [([10.0], [1.0]), ([1.0], [10.0])])
def leaf_siblings_do_not_share(paddle, to_static):
    @to_static
    def f(x, w):
        return x + w

    seen = []
    for hooked in (0, 1):
        leaves = leaf(paddle, 2.0), leaf(paddle, 2.0)
        leaves[hooked].register_hook(ten_fold_in_place(paddle))
        f(*leaves).backward()
        seen.append(tuple(val(tensor.grad) for tensor in leaves))
    return seen


@situation("E14d", [([10.0], [1.0]), ([1.0], [10.0])])
def intermediate_siblings_do_not_share(paddle, to_static):
    def f(x, w, hooked):
        a = x * 1
        b = w * 1
        (a, b)[hooked].register_hook(ten_fold_in_place(paddle))
        return a + b

    f = to_static(f)
    seen = []
    for hooked in (0, 1):
        leaves = leaf(paddle, 2.0), leaf(paddle, 2.0)
        f(*leaves, hooked).backward()
        seen.append(tuple(val(tensor.grad) for tensor in leaves))
    return seen


@situation("X01", (True, [("B", [3.0])], [40.0]))
def handle_removes_its_own_hook_only(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 2
        a = y.register_hook(recorder(log, "A", plus_one))
        y.multiply_(paddle.to_tensor(5.0))
        y.register_hook(recorder(log, "B", plus_one))
        return 3 * y, a

    x = leaf(paddle, 2.0)
    z, a = f(x)
    removed = a.remove()
    z.backward()
    return removed, log, val(x.grad)


@situation("X01b", ([("C", [3.0])], False, ["RuntimeWarning"]))
def ids_are_never_used_again(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    a = x.register_hook(recorder(log, "A"))
    b = x.register_hook(recorder(log, "B"))
    a.remove()
    b.remove()
    x.register_hook(recorder(log, "C"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = a.remove()
    f(x).backward()
    return log, again, [warning.category.__name__ for warning in caught]


@situation("X09", ([("y", [0.0, 0.0])], [2.0, 2.0], [3.0, 3.0]))
def whole_value_overwritten(paddle, to_static):
    log = []

    @to_static
    def f(x, v):
        y = x * 2
        y.register_hook(recorder(log, "y", plus_one))
        y[...] = v
        return (3 * y).sum()

    x, v = leaf(paddle, 2.0, 3.0), leaf(paddle, 7.0, 8.0)
    f(x, v).backward()
    return log, val(x.grad), val(v.grad)


@situation("X11", ("no error", [20.0], [6.0]))
def value_written_inside_its_own_hook(paddle, to_static):
    seen = []

    @to_static
    def f(x):
        y = x * 2
        seen.append(y)
        return 3 * y

    def write(g):
        with paddle.no_grad():
            y.multiply_(paddle.to_tensor(5.0))

    x = leaf(paddle, 2.0)
    z = f(x)
    y = seen[0]
    y.register_hook(write)
    return outcome(lambda: z.backward()), val(y), val(x.grad)


@situation("X13", (True, [("z", [3.0]), ("y", [4.0])], [25.0]))
def in_place_op_returns_its_tensor(paddle, to_static):
    log, same = [], []

    @to_static
    def f(x):
        y = x * 5
        z = y.add_(paddle.to_tensor([1.0]))
        same.append(z is y)
        z.register_hook(recorder(log, "z", plus_one))
        y.register_hook(recorder(log, "y", plus_one))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return same[0], log, val(x.grad)
