"""Hooks in all kinds of code that users write."""


from __future__ import annotations

import gc

from .log import rec


def second_order_with_branch_and_write(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g * g))
        if x.sum() > 0:
            op.mul_(y, x)
            y.register_hook(rec(log, "y2", lambda g: g * 2.0))
        return y * x

    for v in (1.2, -0.8):
        x = op.leaf([v])
        (g,) = op.grad(f(x), [x], create_graph=True)
        log("g", g)
        op.backward(g.sum())
        log("x", x.grad)


def second_order_two_calls_one_backward(op, static, log):

    @static
    def f(x, w):
        y = x * w
        y.register_hook(rec(log, "y", lambda g: g * w))
        return y * y

    x, w = (op.leaf([1.2]), op.leaf([0.7]))
    a, b = (f(x, w), f(w, x))
    (ga,) = op.grad(a, [x], create_graph=True)
    (gb,) = op.grad(b, [x], create_graph=True)
    op.backward((ga * gb).sum())
    log("g", x.grad, w.grad)


def third_order_interm_hook_removed_midway(op, static, log):

    @static
    def f(x):
        y = x * x * x
        h = y.register_hook(rec(log, "y", lambda g: g * g))
        return (y * y, h)

    x = op.leaf([0.9])
    r, h = f(x)
    (g1,) = op.grad(r, [x], create_graph=True)
    (g2,) = op.grad(g1, [x], create_graph=True)
    h.remove()
    (g3,) = op.grad(g2, [x])
    log("g", g1, g2, g3)


def grad_wrt_hooked_view(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        v = y[0:2]
        v.register_hook(rec(log, "v", lambda g: g + 1))
        return (v, (v * v).sum() + y.sum())

    x = op.leaf([1.0, 2.0, 3.0])
    v, r = f(x)
    log("gv", *op.grad(r, [v], retain_graph=True))
    log("gx", *op.grad(r, [x]))


def hook_adds_then_removes_later(op, static, log):

    @static
    def f(x):
        y = x * x
        hs = []

        def first(g):
            log("first", g)
            hs.append(y.register_hook(rec(log, "added", lambda g: g * 3.0)))

        def second(g):
            log("second", g)
            if len(hs) > 1:
                hs[0].remove()

        y.register_hook(first)
        y.register_hook(second)
        return y

    x = op.leaf([1.5])
    r = f(x)
    op.backward(r.sum(), True)
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def hook_removes_itself_loop(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            y = y * x
            box = []

            def once(g, box=box):
                log("once", g)
                box[0].remove()
                return g + 1

            box.append(y.register_hook(once))
            i = i + 1
        return y

    x = op.leaf([1.2])
    r = f(x, op.count(3))
    op.backward(r.sum(), True)
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def int_and_bool_mixed(op, static, log):

    @static
    def f(x, k):
        y = x * k
        y.register_hook(rec(log, "y", lambda g: g + 1))
        m = y > 2.0
        z = op.lib.where(m, y * y, y)
        z.register_hook(rec(log, "z", lambda g: g * g))
        return z

    x = op.leaf([1.0, 2.0])
    op.backward(f(x, op.count([3, 1])).sum())
    log("x", x.grad)


def multi_root_backward(op, static, log):

    @static
    def f(x):
        a = x * x
        b = a * x
        a.register_hook(rec(log, "a", lambda g: g + 1))
        b.register_hook(rec(log, "b", lambda g: g * g))
        return (a, b)

    x = op.leaf([1.5])
    a, b = f(x)
    op.backward([a, b])
    log("x", x.grad)


def unused_result_with_hook(op, static, log):

    @static
    def f(x):
        a, b = (x * x, x * 3.0)
        b.register_hook(rec(log, "b", lambda g: g + 1))
        a.register_hook(rec(log, "a", lambda g: g * g))
        return (a, b)

    x = op.leaf([1.5])
    a, b = f(x)
    op.backward(a.sum())
    log("x", x.grad)
    op.backward(b.sum())
    log("x", x.grad)


def result_dropped_before_backward(op, static, log):

    @static
    def f(x):
        a = x * x
        a.register_hook(rec(log, "a", lambda g: g + 1))
        return (a, a * 2.0)

    x = op.leaf([1.5])
    a, b = f(x)
    del a
    gc.collect()
    op.backward(b.sum())
    log("x", x.grad)


def stop_gradient_on_result(op, static, log):

    @static
    def f(x):
        a = x * x
        a.register_hook(rec(log, "a", lambda g: g + 1))
        return a

    x = op.leaf([1.5])
    a = f(x)
    d = a.detach()
    op.set_rg(d, True)
    r = d * a
    op.backward(r.sum())
    log("g", x.grad, d.grad)


def same_hook_object_many_tensors(op, static, log):
    shared = rec(log, "shared", lambda g: g * 0.5 + 1)

    @static
    def f(x, n):
        x.register_hook(shared)
        y, i = (x * x, 0)
        while i < n:
            y.register_hook(shared)
            y = y * x
            i = i + 1
        return y

    x = op.leaf([1.1])
    op.backward(f(x, op.count(3)).sum())
    log("x", x.grad)


def hook_from_method_changes_state(op, static, log):

    class Meter:
        def __init__(self):
            self.total = 0.0
            self.calls = []

        def see(self, g):
            self.total += float(g.sum())
            self.calls.append(len(self.calls))
            return g * (1.0 + self.total)

    m = Meter()

    @static
    def f(x):
        y = x * x
        y.register_hook(m.see)
        z = y * x
        z.register_hook(m.see)
        return z

    x = op.leaf([1.1])
    for _ in range(2):
        op.backward(f(x).sum())
        log("x", x.grad, m.total, len(m.calls))


def global_counter(op, static, log):
    count = {"n": 0}

    def hook(g):
        count["n"] += 1
        return g * count["n"]

    @static
    def f(x):
        y = x * x
        for _ in range(2):
            y.register_hook(hook)
        return y * float(count["n"] + 1)

    x = op.leaf([1.1])
    for _ in range(3):
        op.backward(f(x).sum())
        log("x", x.grad, count["n"])


def tuple_of_tensors_argument(op, static, log):

    @static
    def f(pair, table):
        a, b = pair
        a.register_hook(rec(log, "a", lambda g: g + 1))
        table["w"].register_hook(rec(log, "w", lambda g: g * g))
        return a * b * table["w"]

    a, b, w = (op.leaf([1.0]), op.leaf([2.0]), op.leaf([3.0]))
    op.backward(f((a, b), {"w": w}).sum())
    log("g", a.grad, b.grad, w.grad)
    op.backward(f((b, a), {"w": a}).sum())
    log("g", a.grad, b.grad, w.grad)


def comprehension_with_condition(op, static, log):

    @static
    def f(x):
        ys = [x * float(k) for k in range(1, 5)]
        hs = [y.register_hook(rec(log, str(k), lambda g, k=k: g + k)) for k, y in enumerate(ys) if k % 2 == 0]
        hs[-1].remove()
        t = ys[0]
        for y in ys[1:]:
            t = t * y if y.sum() > 2 else t + y
        return t

    for v in (1.0, -1.0):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)
