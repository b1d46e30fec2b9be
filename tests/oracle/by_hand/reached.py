"""What backward reaches and what it leaves: errors in hooks, reduce hooks, shapes."""

from __future__ import annotations

from .log import rec


def retain_grads_create_graph(op, static, log):

    @static
    def f(x):
        y = x * x
        op.retain(y)
        y.register_hook(rec(log, "y", lambda g: g * g))
        return (y * y, y)

    x = op.leaf([1.1])
    r, y = f(x)
    op.backward(r.sum(), True)
    log("y", y.grad, x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def accumulate_over_calls_clear(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return y

    x = op.leaf([1.5])
    x.register_hook(lambda g: log("seen", g, x.grad))
    for k in range(4):
        op.backward(f(x).sum())
        log("x", x.grad)
        if k == 1:
            op.clear(x)


def reduce_removed_by_hook(op, static, log):
    @static
    def f(x, w):
        y = x * w
        y.register_hook(rec(log, "y", lambda g: op.reduce_hook(w, lambda: log("rw", w.grad)) and None))
        return y

    x, w = (op.leaf([1.0]), op.leaf([2.0]))
    for _ in range(2):
        op.backward(f(x, w).sum())
        log("g", x.grad, w.grad)


def reduce_hook_changes_grad(op, static, log):

    @static
    def f(x):
        op.reduce_hook(x, lambda: setattr(x, "grad", x.grad * 2.0))
        return x * x

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)
    op.backward((x * 1.0).sum())
    log("x", x.grad)


def raise_at_kth(op, static, log):
    count = [0]

    def hook(g):
        count[0] += 1
        if count[0] == 3:
            raise KeyError("third")
        return g * 2.0

    @static
    def f(x, w, n):
        y, i = (x, 0)
        while i < n:
            y = y * w
            y.register_hook(rec(log, "y", hook))
            i = i + 1
        return y

    x, w = (op.leaf([1.0]), op.leaf([1.5]))
    w.register_hook(rec(log, "w"))
    r = f(x, w, op.count(4)).sum()
    try:
        op.backward(r)
    except KeyError as e:
        log("caught", str(e))
    log("g", x.grad, w.grad)
    op.backward(f(x, w, op.count(2)).sum())
    log("g", x.grad, w.grad)


def raise_in_leaf_hook_straight(op, static, log):

    def bad(g):
        raise ValueError("no")

    @static
    def f(x, w, b):
        return x * w + b

    x, w, b = (op.leaf([1.0]), op.leaf([2.0]), op.leaf([3.0]))
    x.register_hook(bad)
    b.register_hook(rec(log, "b"))
    try:
        op.backward(f(x, w, b).sum())
    except ValueError:
        log("caught")
    log("g", x.grad, w.grad, b.grad)


def raise_in_reduce(op, static, log):

    def bad():
        raise ValueError("no")

    @static
    def f(x, w):
        op.reduce_hook(w, bad)
        return x * w

    x, w = (op.leaf([1.0]), op.leaf([2.0]))
    try:
        op.backward(f(x, w).sum())
    except ValueError:
        log("caught")
    log("g", x.grad, w.grad)


def hook_calls_backward_of_same_leaf(op, static, log):

    @static
    def f(x):
        y = x * x

        def hook(g):
            with op.enable_grad():
                r = (x * 3.0).sum()
            op.backward(r)
            log("inner", x.grad)
            return g * 2.0

        y.register_hook(hook)
        return y * y

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def hook_calls_f_again(op, static, log):
    depth = [0]

    @static
    def f(x):
        y = x * x
        y.register_hook(hook)
        return y * 2.0

    def hook(g):
        if depth[0] < 2:
            depth[0] += 1
            with op.enable_grad():
                t = op.leaf(g.tolist())
                r = f(t).sum()
            op.backward(r)
            log("t", t.grad)
        return g + 1

    x = op.leaf([0.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def backward_inside_then_outside(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g + 1))
        op.backward(y.sum(), True)
        z = y * x.grad
        return z

    x = op.leaf([1.5])
    z = f(x)
    log("x", x.grad)
    op.backward(z.sum())
    log("x", x.grad)


def zero_gradient_flows(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return y * 0.0

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def broadcast(op, static, log):

    @static
    def f(x, b):
        s = b * 2.0
        s.register_hook(rec(log, "s", lambda g: g * g))
        y = x * s
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return (y + s).sum()

    x, b = (op.leaf([[1.0, 2.0], [3.0, 4.0]]), op.leaf([0.5, 0.25]))
    op.backward(f(x, b))
    log("g", x.grad, b.grad)


def zero_d_hooks(op, static, log):

    @static
    def f(x):
        s = x.sum()
        s.register_hook(rec(log, "s", lambda g: g + 1))
        m = s * s
        m.register_hook(rec(log, "m", lambda g: g * 3.0))
        return m * x

    x = op.leaf([1.5, 2.0])
    op.backward(f(x).sum())
    log("x", x.grad)


def size0_loop(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            y = y * 2.0
            y.register_hook(rec(log, "y", lambda g: g + 1))
            i = i + 1
        return y

    x = op.leaf([])
    op.backward(f(x, op.count(2)).sum())
    log("x", x.grad)


def detach_hook(op, static, log):

    @static
    def f(x):
        y = x * x
        d = y.detach()
        op.set_rg(d, True)
        d.register_hook(rec(log, "d", lambda g: g + 1))
        y.register_hook(rec(log, "y", lambda g: g * g))
        return (y * d, d)

    x = op.leaf([1.5])
    r, d = f(x)
    op.backward(r.sum())
    log("g", x.grad, d.grad)
