"""Late binding, hooks that act on other tensors while backward runs, handles in containers, loops left early."""

# ruff: noqa: B008, B009, B023, C417, RUF059

from __future__ import annotations

import functools

from .log import rec


def late_scale(op, static, log):
    s = {"k": 2.0}

    @static
    def f(x):
        y = x * x
        y.register_hook(lambda g: g * s["k"] + 1)
        return y * x
    x = op.leaf([1.0, 2.0])
    a = f(x).sum()
    s["k"] = 5.0
    b = f(x).sum()
    op.backward(a)
    log("x", x.grad)
    s["k"] = -1.0
    op.backward(b)
    log("x", x.grad)


def late_nonlocal(op, static, log):

    @static
    def f(x):
        k = 1.0
        y = x * x
        y.register_hook(lambda g: g * k + 1)
        k = 3.0
        z = y * x

        def setk(v):
            nonlocal k
            k = v
        return (z, setk)
    x = op.leaf([1.0, 2.0])
    z, setk = f(x)
    setk(7.0)
    op.backward(z.sum())
    log("x", x.grad)


def late_tensor(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(lambda g: g * w + y)
        w = x + 1
        z = y * w
        w = w * 2
        return z.sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log("x", x.grad)


def late_loop(op, static, log):

    @static
    def f(x, n):
        hs = []
        i = 0
        while i < n:
            x = x * 1.5
            hs.append(x.register_hook(lambda g: g + i))
            i = i + 1
        return (x, hs)
    x = op.leaf([1.0, 2.0])
    z, hs = f(x, op.count(3))
    hs[1].remove()
    op.backward(z.sum())
    log("x", x.grad)


def hook_registers_on_other(op, static, log):

    @static
    def f(x):
        a = x * 2
        b = a * a
        c = b * 3

        def h(g):
            log("c")
            a.register_hook(rec(log, "a", lambda g: g + 1))
            return g * g
        c.register_hook(h)
        return c.sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log("x", x.grad)


def hook_removes_other(op, static, log):

    @static
    def f(x):
        a = x * 2
        ha = a.register_hook(rec(log, "a", lambda g: g * 10))
        hb = a.register_hook(rec(log, "a2", lambda g: g + 1))
        b = a * a
        b.register_hook(lambda g: (ha.remove(), g * g)[1])
        return (b.sum(), hb)
    x = op.leaf([1.0, 2.0])
    z, hb = f(x)
    op.backward(z, retain_graph=True)
    log("x", x.grad)
    hb.remove()
    op.backward(z)
    log("x", x.grad)


def hook_registers_on_leaf_during(op, static, log):

    @static
    def f(x, w):
        a = x * w
        a.register_hook(lambda g: (w.register_hook(rec(log, "w", lambda g: g + 1)), None)[1])
        return (a * a).sum()
    x = op.leaf([1.0, 2.0])
    w = op.leaf([3.0, 1.0])
    op.backward(f(x, w))
    log(x.grad, w.grad)
    op.backward(f(x, w))
    log(x.grad, w.grad)


def handles_in_dict(op, static, log):

    @static
    def f(x):
        hs = {}
        for n in "abc":
            hs[n] = x.register_hook(rec(log, n, lambda g, k=ord(n) - 96: g * k + 1))
        return ((x * x).sum(), hs)
    x = op.leaf([1.0, 2.0])
    z, hs = f(x)
    hs["b"].remove()
    op.backward(z)
    log(x.grad)
    hs["a"].remove()
    z, hs2 = f(x)
    op.backward(z)
    log(x.grad)


def handles_removed_by_branch(op, static, log):

    @static
    def f(x, c):
        h = x.register_hook(rec(log, "h", lambda g: g * g))
        if c > 0:
            h.remove()
        else:
            x.register_hook(rec(log, "e", lambda g: g - 1))
        return (x * x).sum()
    x = op.leaf([1.0, 2.0])
    for c in (1.0, -1.0, 1.0):
        op.backward(f(x, op.number(c)))
        log(x.grad)


def loop_break(op, static, log):

    @static
    def f(x, n):
        i = 0
        while True:
            x = x * x + 0.1
            x.register_hook(rec(log, "t", lambda g: g * 0.5 + 1))
            i = i + 1
            if i >= n:
                break
        return x.sum()
    for n in (1, 3):
        x = op.leaf([0.5, 0.2])
        op.backward(f(x, op.count(n)))
        log(x.grad)


def loop_continue(op, static, log):

    @static
    def f(x, n):
        i = 0
        s = x * 0
        while i < n:
            i = i + 1
            y = x * i
            if y.sum() > 2:
                continue
            y.register_hook(rec(log, "y", lambda g: g * g))
            s = s + y * y
        return s.sum()
    x = op.leaf([0.5, 0.2])
    op.backward(f(x, op.count(4)))
    log(x.grad)


def loop_return_inside(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            x = x * 1.5
            x.register_hook(rec(log, "x", lambda g: g + 1))
            if x.sum() > 2:
                return (x * x).sum()
            i = i + 1
        return x.sum()
    for n in (1, 5):
        x = op.leaf([0.5, 0.2])
        op.backward(f(x, op.count(n)))
        log(x.grad)


def nested_loops_hooks(op, static, log):

    @static
    def f(x, n, m):
        i = 0
        while i < n:
            y = x * 1.1
            j = 0
            while j < m:
                y = y * x
                y.register_hook(rec(log, "y", lambda g: g * g * 0.1 + 1))
                j = j + 1
            x = x + y
            x.register_hook(rec(log, "x", lambda g: g - 0.5))
            i = i + 1
        return x.sum()
    x = op.leaf([0.5, 0.2])
    op.backward(f(x, op.count(2), op.count(2)))
    log(x.grad)


def alias_two_names(op, static, log):

    @static
    def f(x):
        y = x * 2
        z = y
        z.register_hook(rec(log, "z", lambda g: g * g))
        y = y * 3
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return (y * z).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad)


def alias_through_tuple(op, static, log):

    @static
    def f(x, c):
        y = x * 2
        p = (y, x)
        q = p[0] if c > 0 else p[1]
        q.register_hook(rec(log, "q", lambda g: g * g + 1))
        return ((y * x).sum(), q)
    for c in (1.0, -1.0):
        x = op.leaf([1.0, 2.0])
        z, q = f(x, op.number(c))
        q.register_hook(rec(log, "out", lambda g: g - 1))
        op.backward(z)
        log(x.grad)


def inplace_chain(op, static, log):

    @static
    def f(x):
        y = x * 2
        y.register_hook(rec(log, "0", lambda g: g + 1))
        op.mul_(y, x)
        y.register_hook(rec(log, "1", lambda g: g * g))
        op.add_(y, x)
        y.register_hook(rec(log, "2", lambda g: g - 2))
        return (y * 3).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad)


def inplace_in_loop(op, static, log):

    @static
    def f(x, n):
        y = x * 1
        i = 0
        while i < n:
            y.register_hook(rec(log, "y", lambda g: g * 0.5 + 1))
            op.mul_(y, x)
            i = i + 1
        return y.sum()
    x = op.leaf([1.5, 2.0])
    op.backward(f(x, op.count(3)))
    log(x.grad)


def view_write_base(op, static, log):

    @static
    def f(x):
        y = x * 1
        v = y[0:1]
        y.register_hook(rec(log, "y", lambda g: g + 1))
        op.add_(v, x[1:2])
        w = y * 2
        return (w * w).sum()
    x = op.leaf([1.5, 2.0])
    op.backward(f(x))
    log(x.grad)


def setitem_hooks(op, static, log):

    @static
    def f(x):
        y = x * 3
        y.register_hook(rec(log, "b", lambda g: g * g))
        y[0] = x[1] * 2
        y.register_hook(rec(log, "a", lambda g: g + 1))
        return (y * y).sum()
    x = op.leaf([1.5, 2.0])
    op.backward(f(x))
    log(x.grad)


def setitem_branch(op, static, log):

    @static
    def f(x, c):
        y = x * 3
        y.register_hook(rec(log, "b", lambda g: g * g * 0.1))
        if c > 0:
            y[0] = x[1] * 2
        y.register_hook(rec(log, "a", lambda g: g + 1))
        return (y * y).sum()
    for c in (1.0, -1.0):
        x = op.leaf([1.5, 2.0])
        op.backward(f(x, op.number(c)))
        log(x.grad)


def third_order_two_hooks(op, static, log):

    @static
    def f(x, w):
        a = x * w
        a.register_hook(rec(log, "a", lambda g: g * g * w + 1))
        b = a * a
        b.register_hook(rec(log, "b", lambda g: g * a))
        return (b * x).sum()
    x = op.leaf([1.2, 0.7])
    w = op.leaf([0.9, 1.1])
    g1, h1 = op.grad(f(x, w), [x, w], create_graph=True)
    log(g1, h1)
    g2, = op.grad((g1 * h1).sum(), [x], create_graph=True)
    log(g2)
    g3, k3 = op.grad((g2 * g2).sum(), [x, w])
    log(g3, k3)


def pylayer_hooks_inside(op, static, log):

    class P(op.PyLayer):

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = op.saved(ctx)
            log("bw", g)
            return g * 2 * x

    @static
    def f(x):
        a = x * 1.5
        a.register_hook(rec(log, "a", lambda g: g * g))
        b = P.apply(a)
        b.register_hook(rec(log, "b", lambda g: g + 1))
        c = b * a
        return c.sum()
    x = op.leaf([1.2, 0.7])
    op.backward(f(x))
    log(x.grad)


def pylayer_in_loop(op, static, log):

    class P(op.PyLayer):

        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return (x * y, x + y)

        @staticmethod
        def backward(ctx, g, h):
            x, y = op.saved(ctx)
            return (g * y + h, g * x + h)

    @static
    def f(x, n):
        i = 0
        y = x * 0.5
        while i < n:
            x, y = P.apply(x, y)
            x.register_hook(rec(log, "x", lambda g: g * 0.1 + 1))
            y.register_hook(rec(log, "y", lambda g: g - 1))
            i = i + 1
        return (x * y).sum()
    x = op.leaf([1.2, 0.7])
    op.backward(f(x, op.count(2)))
    log(x.grad)


def retain_in_loop_turn(op, static, log):

    @static
    def f(x, n):
        i = 0
        ys = []
        while i < n:
            x = x * 1.5
            op.retain(x)
            x.register_hook(rec(log, "x", lambda g: g + 1))
            ys.append(x)
            i = i + 1
        return (x.sum(), ys)
    x = op.leaf([1.2, 0.7])
    z, ys = f(x, op.count(3))
    op.backward(z)
    log(x.grad, *[y.grad for y in ys])


def reduce_inside(op, static, log):

    @static
    def f(x, w):
        op.reduce_hook(w, lambda: log("R", w.grad))
        w.register_hook(rec(log, "w", lambda g: g * g))
        return (x * w).sum()
    x = op.leaf([1.2, 0.7])
    w = op.leaf([0.9, 1.1])
    op.backward(f(x, w))
    op.backward(f(x, w))
    log(w.grad)


def two_outstanding(op, static, log):

    @static
    def f(x, k):
        y = x * k
        y.register_hook(rec(log, "y", lambda g: g * g + k))
        return (y * x, y)
    x = op.leaf([1.0, 2.0])
    a, ya = f(x, 2.0)
    b, yb = f(x, 3.0)
    ya.register_hook(rec(log, "ya", lambda g: g - 1))
    op.backward((a * b).sum())
    log(x.grad)


def call_in_hook(op, static, log):

    @static
    def sq(t):
        return t * t

    @static
    def f(x):
        y = x * 3
        y.register_hook(lambda g: sq(g) + 1)
        return (y * y).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad)


def backward_in_hook(op, static, log):
    w = op.leaf([2.0, 3.0])

    @static
    def inner(t):
        return (t * w).sum()

    @static
    def f(x):
        y = x * 3

        def h(g):
            with op.enable_grad():
                op.backward(inner(w * 1.0))
            log("in", w.grad)
            return g + 1
        y.register_hook(h)
        return (y * y).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad, w.grad)


def recursion_py(op, static, log):

    @static
    def f(x, n):
        if n == 0:
            return x
        y = x * 1.5
        y.register_hook(rec(log, n, lambda g: g + n))
        return f(y, n - 1)
    x = op.leaf([1.0, 2.0])
    op.backward(f(x, 3).sum())
    log(x.grad)


def helper_and_method(op, static, log):

    class H:

        def __init__(s):
            s.k = 2.0

        def hook(s, g):
            log("h", s.k)
            return g * s.k + 1

        def put(s, t):
            return t.register_hook(s.hook)
    h = H()

    def helper(t):
        h.put(t)
        return t * t

    @static
    def f(x):
        return helper(x * 2).sum()
    x = op.leaf([1.0, 2.0])
    z = f(x)
    h.k = 4.0
    op.backward(z)
    log(x.grad)
    z = f(x)
    op.backward(z)
    log(x.grad)


def map_register(op, static, log):

    @static
    def f(x):
        ys = [x * k for k in (1.0, 2.0, 3.0)]
        list(map(lambda t: t.register_hook(rec(log, "m", lambda g: g * g)), ys))
        [y.register_hook(functools.partial(lambda k, g: g + k, i)) for i, y in enumerate(ys)]
        return sum(y * y for y in ys).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad)


def getattr_register(op, static, log):

    @static
    def f(x):
        y = x * 2
        r = getattr(y, "register_hook")
        y2 = y * y
        r(rec(log, "y", lambda g: g + 1))
        reg = y2.register_hook
        reg(rec(log, "y2", lambda g: g * g))
        return y2.sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad)


def with_try(op, static, log):

    @static
    def f(x):
        y = x * 2
        try:
            y.register_hook(rec(log, "y", lambda g: g + 1))
            z = y * y
        finally:
            y.register_hook(rec(log, "f", lambda g: g * g))
        with op.no_grad():
            k = y.sum()
        return (z * k).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad)


def hook_inplace_on_g(op, static, log):

    @static
    def f(x):
        y = x * 2

        def h(g):
            with op.no_grad():
                op.add_(g, op.const([1.0, 1.0]))
        y.register_hook(h)
        y.register_hook(rec(log, "y"))
        return (y * y).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log(x.grad)


def kept_grads(op, static, log):
    kept = []

    @static
    def f(x):
        y = x * 2
        y.register_hook(lambda g: kept.append(g))
        x.register_hook(lambda g: kept.append(g))
        return (y * y).sum()
    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    op.backward(f(x))
    log(*kept)
    log(x.grad)


def grad_of_outputs_and_intermediate(op, static, log):

    @static
    def f(x):
        y = x * 2
        y.register_hook(rec(log, "y", lambda g: g + 1))
        z = y * y
        z.register_hook(rec(log, "z", lambda g: g * g))
        return (y, z)
    x = op.leaf([1.0, 2.0])
    x.register_hook(rec(log, "x", lambda g: g - 1))
    y, z = f(x)
    a, = op.grad(z.sum(), [x])
    log(a, x.grad)


def merge_alias(op, static, log):

    @static
    def f(x, w, c):
        a = x * 2
        b = w * 3
        y = a if c > 0 else b
        y.register_hook(rec(log, "y", lambda g: g * g * 0.1 + 1))
        return (a * b + y).sum()
    for c in (1.0, -1.0):
        x = op.leaf([1.0, 2.0])
        w = op.leaf([0.5, 0.25])
        op.backward(f(x, w, op.number(c)))
        log(x.grad, w.grad)
