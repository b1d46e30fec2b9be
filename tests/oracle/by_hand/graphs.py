"""Second derivatives, several calls and backwards, reduce hooks, errors."""

# ruff: noqa: B018

from __future__ import annotations

from .log import rec


def create_graph_through_hooks(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g * g * x + 1))
        return y * y
    x = op.leaf([1.5])
    z = f(x)
    g1, = op.grad(z, [x], create_graph=True)
    log("g1", g1)
    g2, = op.grad(g1, [x], create_graph=True)
    log("g2", g2)
    g3, = op.grad(g2, [x])
    log("g3", g3)


def create_graph_loop(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            x = x * x
            x.register_hook(rec(log, "t", lambda g: g * g * 0.1))
            i = i + 1
        return x
    x = op.leaf([1.1])
    z = f(x, op.count(2))
    g1, = op.grad(z, [x], create_graph=True)
    log("g1", g1)
    op.backward(g1)
    log("x", x.grad)


def retain_graph_hook_removed_between(op, static, log):

    @static
    def f(x):
        y = x * 2
        h = y.register_hook(rec(log, "a", lambda g: g + 1))
        y.register_hook(rec(log, "b", lambda g: g * g))
        return (y * 3, y, h)
    x = op.leaf([1.0])
    z, y, h = f(x)
    op.backward(z, retain_graph=True)
    log("x", x.grad)
    h.remove()
    y.register_hook(rec(log, "c", lambda g: g - 1))
    op.backward(z, retain_graph=True)
    log("x", x.grad)
    op.backward(z)
    log("x", x.grad)
    try:
        op.backward(z)
    except Exception:
        log("caught")
    log("x", x.grad)


def exception_in_hook_mid_loop(op, static, log):

    @static
    def f(x, w, n):
        i = 0
        while i < n:
            x = x * w

            def h(g, k=i):
                log("h", k, g)
                if k == 1:
                    raise ValueError("boom")
                return g + 1
            x.register_hook(h)
            i = i + 1
        return x
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    y = f(x, w, op.count(4))
    try:
        y.sum().backward()
    except ValueError as e:
        log("caught", str(e))
    log("g", x.grad, w.grad)
    try:
        y.sum().backward()
    except RuntimeError:
        log("caught")
    log("g", x.grad, w.grad)
    f(x, w, op.count(1)).sum().backward()
    log("g", x.grad, w.grad)


def reduce_hooks_in_static(op, static, log):

    @static
    def f(x, w):
        op.reduce_hook(x, lambda: log("rx", x.grad))
        y = x * w
        op.reduce_hook(w, lambda: log("rw", w.grad))
        w.register_hook(rec(log, "w", lambda g: g * g))
        return y * y
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    f(x, w).sum().backward()
    log("g", x.grad, w.grad)
    f(x, w).sum().backward()
    log("g", x.grad, w.grad)


def reduce_hook_updates_param(op, static, log):

    @static
    def f(x, w):
        return (x * w + w).sum()
    w = op.leaf([2.0])
    x = op.leaf([3.0])

    def step():
        with op.no_grad():
            op.add_(w, w.grad * -0.1)
        w.grad
    op.reduce_hook(w, step)
    for _ in range(3):
        f(x, w).backward()
        log("w", w, w.grad, x.grad)


def two_outstanding(op, static, log):

    @static
    def f(x, k):
        y = x * k
        y.register_hook(lambda g: log("y", k, g) or g * k + 1)
        return y * y
    x = op.leaf([1.5])
    a = f(x, op.number(2.0))
    b = f(x, op.number(3.0))
    c = f(a, op.number(0.5))
    (a * b + c).sum().backward()
    log("x", x.grad)


def nested_static(op, static, log):

    @static
    def g(x, n):
        y = x * 3
        y.register_hook(rec(log, "in", lambda g: g * g + n))
        if n > 1:
            return y * y
        return y

    @static
    def f(x, n):
        z = x * 2
        z.register_hook(rec(log, "out", lambda g: g + 1))
        for _i in range(n):
            z = g(z, n)
            z.register_hook(rec(log, "turn", lambda g: g * 0.5))
        return z
    for n in (0, 1, 2):
        x = op.leaf([0.5])
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)


def hook_calls_static(op, static, log):

    @static
    def g(x):
        y = x * x
        return y + 1

    @static
    def f(x):
        y = x * 2
        y.register_hook(lambda d: g(d))
        return y * y
    x = op.leaf([1.5])
    f(x).sum().backward()
    log("x", x.grad)
    z = f(x)
    h, = op.grad(z, [x], create_graph=True)
    log("h", h)
    op.backward(h)
    log("x", x.grad)


def hook_does_backward_of_other(op, static, log):

    @static
    def f(x):
        return x * x * 3
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    inner = f(w)

    def h(g):
        with op.enable_grad():
            inner.sum().backward()
        log("w in hook", w.grad)
        return g + w.grad.detach()
    y = f(x)
    y.register_hook(h)
    y.sum().backward()
    log("g", x.grad, w.grad)


def stop_gradient_after(op, static, log):

    @static
    def f(x, w):
        y = x * 2
        y.register_hook(rec(log, "y", lambda g: g + 1))
        z = y * w
        u = y.detach() * w
        return z + u
    x = op.leaf([1.0])
    w = op.leaf([2.0])
    f(x, w).sum().backward()
    log("g", x.grad, w.grad)


def multi_output_unused(op, static, log):

    @static
    def f(x, c):
        a, b = op.chunk(x * 1, 2)
        a.register_hook(rec(log, "a", lambda g: g + 1))
        b.register_hook(rec(log, "b", lambda g: g * 2 + 1))
        if c > 0:
            return a * a
        return a * b
    for c in (1.0, -1.0):
        x = op.leaf([1.0, 2.0, 3.0, 4.0])
        f(x, op.number(c)).sum().backward()
        log("x", x.grad)


def zero_d_and_size0(op, static, log):

    @static
    def f(x, s):
        e = x[0:0]
        e2 = e * s
        e2.register_hook(rec(log, "e", lambda g: g + 1))
        t = s * s
        t.register_hook(rec(log, "t", lambda g: g * g + 1))
        return e2.sum() + (x * t).sum()
    x = op.leaf([1.0, 2.0])
    s = op.leaf(3.0)
    f(x, s).backward()
    log("g", x.grad, s.grad)


def grad_wrt_intermediate_returned(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g * g + 1))
        z = y * 3
        z.register_hook(rec(log, "z", lambda g: g + 2))
        return (y, z)
    x = op.leaf([1.5])
    y, z = f(x)
    gy, gx = op.grad(z, [y, x], retain_graph=True)
    log("g", gy, gx)
    gz, = op.grad(z, [z], retain_graph=True)
    log("gz", gz)
    op.backward([y, z])
    log("x", x.grad)


def exception_then_other_leaf(op, static, log):

    @static
    def f(x, w):
        a = x * 2
        b = w * 3
        c = a * b

        def h(g):
            log("c", g)
            raise KeyError("x")
        a.register_hook(h)
        return c
    x = op.leaf([1.0])
    w = op.leaf([2.0])
    y = f(x, w)
    try:
        y.sum().backward()
    except KeyError as e:
        log("caught", str(e))
    log("g", x.grad, w.grad)


def one_shot_hooks(op, static, log):

    @static
    def f(x):
        y = x * 2
        handles = []
        for k in range(3):

            def h(g, k=k):
                log("h", k, g)
                if k == 1:
                    handles[k].remove()
                return g + k
            handles.append(y.register_hook(h))
        return y * 3
    x = op.leaf([1.0])
    y = f(x)
    op.backward(y, retain_graph=True)
    log("x", x.grad)
    op.backward(y)
    log("x", x.grad)


def hook_adds_during_pass(op, static, log):

    @static
    def f(x):
        y = x * 2

        def h(g):
            log("h", g)
            if len(added) < 2:
                added.append(x.register_hook(rec(log, "x", lambda g: g + 1)))
            return g * g
        added = []
        y.register_hook(h)
        y.register_hook(h)
        return y * 3
    x = op.leaf([1.0])
    y = f(x)
    op.backward(y)
    log("x", x.grad)
    f(x).sum().backward()
    log("x", x.grad)
