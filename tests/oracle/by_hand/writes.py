"""Views, writes in place, and gradients that hooks keep or write to."""

# ruff: noqa: B023

from __future__ import annotations

from .log import rec


def view_hook_then_write_base(op, static, log):

    @static
    def f(x):
        y = x * 2
        v = y[0:2]
        v.register_hook(rec(log, "v", lambda g: g + 1))
        y.register_hook(rec(log, "y", lambda g: g * g))
        op.add_(y, x)
        y.register_hook(rec(log, "y2", lambda g: g + 0.5))
        return (y * 3, v)
    x = op.leaf([1.0, 2.0, 3.0])
    y, v = f(x)
    (y.sum() + (v * v).sum()).backward()
    log("x", x.grad)


def write_view_in_loop(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        v = y[0:1]
        i = 0
        while i < n:
            y.register_hook(rec(log, "y", lambda g: g * 0.5 + i))
            op.mul_(v, x[1:2])
            i = i + 1
        return y
    for n in (0, 1, 3):
        x = op.leaf([1.5, 2.0, 3.0])
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)


def setitem_with_hooked(op, static, log):

    @static
    def f(x, w):
        y = x * 2
        w.register_hook(rec(log, "w", lambda g: g + 1))
        y[1] = w * w
        y.register_hook(rec(log, "y", lambda g: g * g))
        z = y * y
        y[0] = 5.0
        return z + y
    x = op.leaf([1.0, 2.0])
    w = op.leaf(3.0)
    f(x, w).sum().backward()
    log("g", x.grad, w.grad)


def transposed_view(op, static, log):

    @static
    def f(x):
        y = x * 2
        t = op.T(y)
        t.register_hook(rec(log, "t", lambda g: g + 1))
        r = t.reshape([4])
        r.register_hook(rec(log, "r", lambda g: g * g))
        return (r * op.const([1.0, 2.0, 3.0, 4.0])).sum() + (t * t).sum()
    x = op.leaf([[1.0, 2.0], [3.0, 4.0]])
    f(x).backward()
    log("x", x.grad)


def handle_of_pre_write_removed(op, static, log):

    @static
    def f(x, c):
        y = x * 2
        h = y.register_hook(rec(log, "pre", lambda g: g + 1))
        op.mul_(y, x)
        y.register_hook(rec(log, "post", lambda g: g * g))
        if c > 0:
            h.remove()
        return y
    for c in (1.0, -1.0):
        x = op.leaf([1.5])
        f(x, op.number(c)).sum().backward()
        log("x", x.grad)


def write_in_branch_to_alias(op, static, log):

    @static
    def f(x, c):
        y = x * 2
        a = y
        if c > 0:
            op.mul_(a, x)
            a.register_hook(rec(log, "a", lambda g: g + 1))
        y.register_hook(rec(log, "y", lambda g: g * g))
        return a * y
    for c in (1.0, -1.0):
        x = op.leaf([1.5])
        f(x, op.number(c)).sum().backward()
        log("x", x.grad)


def kept_grad_not_changed(op, static, log):
    kept = []

    @static
    def f(x, w):
        y = x + w
        y.register_hook(lambda g: kept.append(g))
        x.register_hook(lambda g: kept.append(g))
        return y * 2
    x = op.leaf([1.0])
    w = op.leaf([1.0])
    f(x, w).sum().backward()
    with op.no_grad():
        for k in kept:
            op.mul_(k, op.const([100.0]))
    log("g", x.grad, w.grad, kept)
    f(x, w).sum().backward()
    log("g", x.grad, w.grad, kept)


def inplace_g_in_hook(op, static, log):

    @static
    def f(x, w):
        a = x * 2
        b = w * 3

        def h(g):
            with op.no_grad():
                op.mul_(g, op.const([10.0]))
        a.register_hook(h)
        b.register_hook(rec(log, "b", lambda g: g + 1))
        return a + b
    x = op.leaf([1.0])
    w = op.leaf([1.0])
    f(x, w).sum().backward()
    log("g", x.grad, w.grad)


def hook_modifies_saved_value(op, static, log):

    @static
    def f(x, w):
        a = x * w

        def h(g):
            with op.no_grad():
                op.add_(w, op.const([5.0]))
            return g
        b = a * a
        b.register_hook(h)
        return b
    x = op.leaf([1.0])
    w = op.leaf([2.0])
    y = f(x, w)
    try:
        y.sum().backward()
    except Exception:
        log("caught")
    log("g", x.grad, w.grad, w)


def grad_handed_on_U34(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        z = y
        i = 0
        while i < n:
            z = y
            op.set_rg(z, True)
            y = y * x
            i = i + 1
        return z * y
    x = op.leaf([0.5])
    for n in (0, 1, 2):
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)
        op.clear(x)


def stop_in_turn(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        i = 0
        while i < n:
            y = y * x
            if i == 1:
                y = y.detach()
                op.set_rg(y, True)
                y.register_hook(rec(log, "leaf", lambda g: g + 1))
            i = i + 1
        return y * x
    for n in (0, 1, 2, 3):
        x = op.leaf([0.5])
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)


def retain_grads_in_loop_with_write(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        op.retain(y)
        i = 0
        while i < n:
            op.mul_(y, x)
            y.register_hook(rec(log, "y", lambda g: g + 1))
            i = i + 1
        return (y, y * y)
    for n in (0, 1, 2):
        x = op.leaf([0.5])
        y, z = f(x, op.count(n))
        z.sum().backward()
        log("x", x.grad, y.grad)


def view_made_in_turn(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        v = y[0:1]
        i = 0
        while i < n:
            v = y[1:2]
            v.register_hook(rec(log, "v", lambda g: g + 1))
            i = i + 1
        op.mul_(v, x[0:1])
        return y * y
    for n in (0, 1, 2):
        x = op.leaf([0.5, 1.5])
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)


def same_view_each_turn(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        for _i in range(n):
            v = y[0:1]
            v.register_hook(rec(log, "v", lambda g: g + 1))
        op.mul_(v, x[1:2])
        return y * y
    for n in (1, 2):
        x = op.leaf([0.5, 1.5])
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)
