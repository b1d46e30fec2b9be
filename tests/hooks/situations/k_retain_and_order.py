"""K: `retain_grads()`.  L: order between tensors."""

from __future__ import annotations

from ..register import leaf, named, outcome, plus_one, recorder, situation, squared, val


@situation("K01", ([("y", [3.0])], [10.0], [10.0]))
def retained_before_the_hook(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        y.retain_grads()
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(seen[0].grad), val(x.grad)


@situation("K02", ([("y", [3.0])], [10.0], [10.0]))
def retained_after_the_hook(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        y.retain_grads()
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(seen[0].grad), val(x.grad)


@situation("K02b", ([16.0], [16.0]))
def retained_between_two_hooks(paddle, to_static):
    seen = []

    @to_static
    def f(x):
        y = x * 1
        y.register_hook(plus_one)
        y.retain_grads()
        y.register_hook(squared)
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(seen[0].grad), val(x.grad)


@situation("K03", [10.0])
def retained_leaf(paddle, to_static):
    @to_static
    def f(x):
        x.retain_grads()
        x.register_hook(lambda g: g * g + 1)
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(x.grad)


@situation("K04", ([3.0], [6.0], [6.0]))
def retained_over_two_backwards(paddle, to_static):
    seen = []

    @to_static
    def f(x):
        y = x * 1
        y.retain_grads()
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    z = f(x)
    z.backward(retain_graph=True)
    first = val(seen[0].grad)
    z.backward()
    return first, val(seen[0].grad), val(x.grad)


@situation("K05", ([11.0], [33.0]))
def retained_twice(paddle, to_static):
    seen = []

    @to_static
    def f(x):
        z = 3 * x
        z.retain_grads()
        z.register_hook(lambda g: g * 10 + 1)
        z.retain_grads()
        seen.append(z)
        return z

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(seen[0].grad), val(x.grad)


@situation("K06", ([("y", [15.0])], [16.0], [16.0]))
def retained_before_in_place(paddle, to_static):
    """What is retained is the gradient of the version before the write, after its hooks."""
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        y.retain_grads()
        y.register_hook(recorder(log, "y", plus_one))
        y.multiply_(paddle.to_tensor(5.0))
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad), val(seen[0].grad)


@situation("K07", [("y", None), ("x", [3.0])])
def retained_gradient_seen_by_later_hooks(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    z = f(x)
    y = seen[0]
    y.retain_grads()
    y.register_hook(lambda g: log.append(("y", val(y.grad))))
    x.register_hook(lambda g: log.append(("x", val(y.grad))))
    z.backward()
    return log


@situation("K08", ("no error", None))
def retained_although_stopped(paddle, to_static):
    x = paddle.to_tensor([2.0])
    return outcome(lambda: x.retain_grads()), val(x.grad)


@situation("L01", [(3, [1.0]), (2, [2.0]), (1, [6.0]), (0, [14.0])])
def chain(paddle, to_static):
    log = []

    @to_static
    def f(a):
        a.register_hook(recorder(log, 0))
        b = a * 2
        b.register_hook(recorder(log, 1, plus_one))
        c = b * 2
        c.register_hook(recorder(log, 2, plus_one))
        d = c * 2
        d.register_hook(recorder(log, 3))
        return d

    f(leaf(paddle, 2.0)).backward()
    return log


def diamond(row, swapped):
    """A situation: a = 2x = 4, b = 3x = 6, c = a * b (or b * a); the later made is visited first."""

    @situation(row, [("c", [1.0]), ("b", [4.0]), ("a", [6.0]), ("x", [29.0])])
    def program(paddle, to_static):
        log = []

        @to_static
        def f(x):
            x.register_hook(recorder(log, "x"))
            a = x * 2
            b = x * 3
            a.register_hook(recorder(log, "a", plus_one))
            b.register_hook(recorder(log, "b", plus_one))
            c = b * a if swapped else a * b
            c.register_hook(recorder(log, "c"))
            return c

        f(leaf(paddle, 2.0)).backward()
        return log

    return program


diamond("L02", False)
diamond("L02b", True)


@situation("L03", ["c", "b", "a2", "a1", "a", "x"])
def unbalanced(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(named(log, "x"))
        a = x * 1
        a1 = a * 2
        a2 = a1 * 2
        b = x * 3
        c = a2 + b
        for name, tensor in (("a", a), ("a1", a1), ("a2", a2), ("b", b), ("c", c)):
            tensor.register_hook(named(log, name))
        return c

    f(leaf(paddle, 2.0)).backward()
    return log


@situation("L03b", ["c", "a2", "a1", "a", "b", "x"])
def unbalanced_the_other_way(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(named(log, "x"))
        b = x * 3
        a = x * 1
        a1 = a * 2
        a2 = a1 * 2
        c = b + a2
        for name, tensor in (("a", a), ("a1", a1), ("a2", a2), ("b", b), ("c", c)):
            tensor.register_hook(named(log, name))
        return c

    f(leaf(paddle, 2.0)).backward()
    return log


@situation("L04", ["bxw", "bxw", "bwx"])
def leaves(paddle, to_static):
    def first(x, w, b):
        return (x * w) + b

    def second(x, w, b):
        return b + (x * w)

    def third(x, w, b):
        return (w * x) + b

    orders = []
    for function in (first, second, third):
        log = []
        tensors = {name: leaf(paddle, 2.0) for name in "xwb"}
        for name, tensor in tensors.items():
            tensor.register_hook(named(log, name))
        to_static(function)(**tensors).backward()
        orders.append("".join(log))
    return orders


@situation("L05", ["c", "b", "a", "x", "w"])
def leaf_of_two_layers(paddle, to_static):
    """w waits for its deep use, and is the second argument there."""
    log = []

    @to_static
    def f(x, w):
        a = x * w
        b = a * a
        c = b * w
        for name, tensor in (("a", a), ("b", b), ("c", c)):
            tensor.register_hook(named(log, name))
        return c

    x, w = leaf(paddle, 2.0), leaf(paddle, 3.0)
    w.register_hook(named(log, "w"))
    x.register_hook(named(log, "x"))
    f(x, w).backward()
    return log


@situation("L06", ["b2", "Rb2", "w2", "Rw2", "b1", "Rb1", "w1", "Rw1"])
def two_linear_layers(paddle, to_static):
    log = []
    first, second = paddle.nn.Linear(2, 3), paddle.nn.Linear(3, 1)
    names = {"w1": first.weight, "b1": first.bias, "w2": second.weight, "b2": second.bias}
    for name, parameter in names.items():
        parameter.register_hook(named(log, name))
        parameter._register_backward_hook(lambda name=name: log.append("R" + name))

    @to_static
    def f(x):
        return second(paddle.tanh(first(x))).sum()

    f(paddle.to_tensor([[1.0, 2.0]])).backward()
    return log


@situation("L07", ["b", "a", ("x", [2.5, 2.5])])
def two_sums(paddle, to_static):
    log = []

    @to_static
    def f(x):
        a = x.sum()
        b = x.mean()
        a.register_hook(lambda g: log.append("a") or g + 1)
        b.register_hook(named(log, "b"))
        return a + b

    x = leaf(paddle, 1.0, 2.0)
    x.register_hook(recorder(log, "x", plus_one))
    f(x).backward()
    return log
