"""D: uses summed, `.grad` accumulated, reduce hooks."""

from __future__ import annotations

from ..register import leaf, named, outcome, plus_one, recorder, situation, squared, val


@situation("D01", ([("x", [9.0])], [82.0]))
def leaf_used_three_times(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        return x * 2 + x * 3 + x * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("D01b", [([("x", [4.0])], [17.0]), ([("x", [[4.0]])], [[17.0]]), ([("x", [2.0])], [5.0])])
def leaf_used_twice_by_one_op(paddle, to_static):
    def square(x):
        return x * x

    def matmul(x):
        return paddle.matmul(x, x)

    def concat(x):
        return paddle.concat([x, x])

    seen = []
    for function, x in ((square, [2.0]), (matmul, [[2.0]]), (concat, [2.0])):
        log = []
        x = leaf(paddle, *x)
        x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        to_static(function)(x).sum().backward()
        seen.append((log, val(x.grad)))
    return seen


@situation("D02", ([("y", [9.0])], [82.0]))
def intermediate_used_three_times(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x * 1
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return y * 2 + y * 3 + y * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("D03", ([("x", [3.0]), ("x", [5.0])], [36.0]))
def two_backwards(paddle, to_static):
    log = []

    @to_static
    def f(x, k):
        return x * k

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", lambda g: g * g + 1))
    f(x, paddle.to_tensor([3.0])).backward()
    f(x, paddle.to_tensor([5.0])).backward()
    return log, val(x.grad)


@situation("D03b", ([("x", [3.0])], [110.0]))
def grad_set_before(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", lambda g: g * g + 1))
        return 3 * x

    x = leaf(paddle, 2.0)
    x.grad = paddle.to_tensor([100.0])
    f(x).backward()
    return log, val(x.grad)


@situation("D03c", ([("x", [3.0]), ("x", [5.0]), ("x", [5.0])], [0.0], [26.0], None, [26.0]))
def grad_cleared_between(paddle, to_static):
    log = []

    @to_static
    def f(x, k):
        return x * k

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", lambda g: g * g + 1))
    f(x, paddle.to_tensor([3.0])).backward()
    x.clear_grad()
    cleared = val(x.grad)
    f(x, paddle.to_tensor([5.0])).backward()
    second = val(x.grad)
    x.grad = None
    gone = val(x.grad)
    f(x, paddle.to_tensor([5.0])).backward()
    return log, cleared, second, gone, val(x.grad)


@situation("D05", [("hook", [3.0], None), ("reduce", [10.0]), ("hook", [5.0], [10.0]), ("reduce", [36.0])])
def reduce_hook_after_tensor_hook(paddle, to_static):
    log = []

    def hook(g):
        log.append(("hook", val(g), val(x.grad)))
        return g * g + 1

    @to_static
    def f(x, k):
        return x * k

    x = leaf(paddle, 2.0)
    x._register_backward_hook(lambda: log.append(("reduce", val(x.grad))))
    x.register_hook(hook)
    f(x, paddle.to_tensor([3.0])).backward()
    f(x, paddle.to_tensor([5.0])).backward()
    return log


@situation("D06", ([1, 2], [3.0]))
def two_reduce_hooks(paddle, to_static):
    log = []

    def first():
        log.append(1)
        return paddle.to_tensor([100.0])

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x._register_backward_hook(first)
    x._register_backward_hook(lambda: log.append(2))
    f(x).backward()
    return log, val(x.grad)


@situation("D06b", ([()], True))
def reduce_hook_gets_no_arguments(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    handle = x._register_backward_hook(lambda *args: log.append(args))
    f(x).backward()
    return log, handle.remove()


@situation("D06c", ("ValueError", [3.0]))
def reduce_hook_on_intermediate(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    y = f(x)
    error = outcome(lambda: y._register_backward_hook(lambda: None), "leaf")
    y.backward()
    return error, val(x.grad)


@situation("D06d", "ValueError")
def reduce_hook_on_stopped_leaf(paddle, to_static):
    return outcome(lambda: paddle.to_tensor([1.0])._register_backward_hook(lambda: None), "stop gradient")


@situation("D06e", [[9.0], [11.0]])
def reduce_hook_once_per_backward(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return x * 2 + x * 3 + x * x

    @to_static
    def g(x):
        return x * 2

    x = leaf(paddle, 2.0)
    x._register_backward_hook(lambda: log.append(val(x.grad)))
    f(x).backward()
    g(x).backward()
    return log


@situation("D07", ([30.0], [330.0]))
def reduce_hook_sets_grad(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    def scale():
        x.grad = x.grad * 10

    x = leaf(paddle, 2.0)
    x._register_backward_hook(scale)
    f(x).backward()
    first = val(x.grad)
    f(x).backward()
    return first, val(x.grad)


@situation("D07b", ("no error", [30.0]))
def reduce_hook_writes_grad_in_place(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x._register_backward_hook(lambda: x.grad.multiply_(paddle.to_tensor(10.0)))
    return outcome(lambda: f(x).backward()), val(x.grad)


def fail():
    raise ValueError("boom")


@situation("D08", ("ValueError", [3.0]))
def reduce_hook_raises(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x._register_backward_hook(fail)
    return outcome(lambda: f(x).backward(), "boom"), val(x.grad)


@situation("D09", ([], [[3.0]], None))
def reduce_hook_and_grad(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x._register_backward_hook(lambda: log.append("reduce"))
    found = paddle.grad(f(x), [x])
    return log, [val(g) for g in found], val(x.grad)


@situation("D10", ["w"])
def reduce_hook_of_a_leaf_not_used(paddle, to_static):
    log = []

    @to_static
    def f(x, w):
        return 3 * w

    x, w = leaf(paddle, 2.0), leaf(paddle, 2.0)
    x._register_backward_hook(lambda: log.append("x"))
    w._register_backward_hook(lambda: log.append("w"))
    f(x, w).backward()
    return log


@situation(
    "D11",
    [("hook b", [1.0]), "reduce b", ("hook x", [3.0]), "reduce x", ("hook w", [2.0]), "reduce w"],
)
def leaves_finish_one_by_one(paddle, to_static):
    log = []

    @to_static
    def f(x, w, b):
        return x * w + b

    tensors = {"x": leaf(paddle, 2.0), "w": leaf(paddle, 3.0), "b": leaf(paddle, 1.0)}
    for name, tensor in tensors.items():
        tensor.register_hook(recorder(log, f"hook {name}", squared))
        tensor._register_backward_hook(lambda name=name: log.append(f"reduce {name}"))
    f(**tensors).backward()
    return log


@situation("D12", (["r1", "r2"], ["r1", "r2", "r1", "r2", "r2"]))
def reduce_hook_added_by_tensor_hook(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(lambda g: x._register_backward_hook(lambda: log.append("r2")) and None)
    y = f(x)
    x._register_backward_hook(lambda: log.append("r1"))
    y.backward()
    first = list(log)
    f(x).backward()
    return first, log


@situation("D13", ("no error", [1.7], [0.0], [6.0]))
def reduce_hook_steps_the_optimizer(paddle, to_static):
    @to_static
    def f(x, w):
        return 3 * w + 6 * x

    def step():
        with paddle.no_grad():
            w.set_value(w - 0.1 * w.grad)
        w.clear_grad()

    x, w = leaf(paddle, 2.0), leaf(paddle, 2.0)
    w._register_backward_hook(step)
    z = f(x, w)
    return outcome(lambda: z.backward()), [round(v, 4) for v in val(w)], val(w.grad), val(x.grad)


@situation("D14", ("TypeError", [3.0]))
def reduce_hook_with_an_argument(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x._register_backward_hook(lambda tensor: None)
    return outcome(lambda: f(x).backward(), "missing 1 required positional argument"), val(x.grad)


@situation("D15", [1])
def reduce_hooks_called_by_hand(paddle, to_static):
    log = []
    x = leaf(paddle, 2.0)
    x._register_backward_hook(lambda: log.append(1))
    x._apply_backward_hook()
    return log


@situation("X16", ([("kept", [3.0])], [4.0], [4.0]))
def removal_after_retain_grads(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        first = y.register_hook(recorder(log, "removed", squared))
        y.retain_grads()
        y.register_hook(recorder(log, "kept", plus_one))
        first.remove()
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(seen[0].grad), val(x.grad)


@situation("X12", ("no error", [20.0], [12.0], [2.0]))
def leaf_changed_by_its_own_hook(paddle, to_static):
    """The rule that reads x has run when the hook of x changes it."""

    def change(g):
        with paddle.no_grad():
            x.set_value(x * 10)

    @to_static
    def f(x, w):
        return x * w

    x, w = leaf(paddle, 2.0), leaf(paddle, 12.0)
    x.register_hook(change)
    z = f(x, w)
    return outcome(lambda: z.backward()), val(x), val(x.grad), val(w.grad)


@situation("Q06", ["hook", "after"])
def hooks_run_before_backward_returns(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(named(log, "hook"))
        return 3 * x

    f(leaf(paddle, 2.0)).backward()
    log.append("after")
    return log
