"""Hooks of functions written in other ways, and more of what they do."""


from __future__ import annotations

import functools

from .log import rec


def lambda_static(op, static, log):
    h = rec(log, "h", lambda g: g * g)
    f = static(lambda x: (x.register_hook(h), x * x)[1])
    x = op.leaf([1.5])
    for _ in range(2):
        op.backward(f(x).sum())
        log("x", x.grad)


def partial_static(op, static, log):

    def g(hook, x, w):
        y = x * w
        y.register_hook(hook)
        return y

    f = static(functools.partial(g, rec(log, "y", lambda g: g + 1), w=op.leaf([2.0])))
    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def hook_raises_only_in_second_order(op, static, log):

    def hook(g):
        if not log.first:
            raise ValueError("again")
        log.first = False
        return g * g

    log.first = True

    @static
    def f(x):
        y = x * x
        y.register_hook(hook)
        return y * y

    x = op.leaf([1.5])
    (g,) = op.grad(f(x), [x], create_graph=True)
    log("g", g)
    try:
        op.backward(g.sum())
    except ValueError:
        log("caught")
    log("x", x.grad)


def long_chain_of_views(op, static, log):

    @static
    def f(x):
        a = x.reshape([2, 2])
        b = op.T(a)
        c = b.reshape([4])
        d = c[1:3]
        for n, t in (("a", a), ("b", b), ("c", c), ("d", d)):
            t.register_hook(rec(log, n, lambda g: g + 1))
        return (d * d).sum() + (c * 2.0).sum()

    x = op.leaf([1.0, 2.0, 3.0, 4.0])
    op.backward(f(x))
    log("x", x.grad)


def matmul_and_bias(op, static, log):

    @static
    def f(x, w, b):
        h = x @ w + b
        h.register_hook(rec(log, "h", lambda g: g * 0.5))
        r = h.tanh()
        r.register_hook(rec(log, "r", lambda g: g + 0.1))
        w.register_hook(rec(log, "w", lambda g: g * g))
        return r

    x, w, b = (op.leaf([[1.0, 2.0]]), op.leaf([[0.5, -0.3], [0.2, 0.1]]), op.leaf([0.1, 0.2]))
    op.backward(f(x, w, b).sum())
    log("g", x.grad, w.grad, b.grad)


def while_true_break(op, static, log):

    @static
    def f(x):
        y = x * 1.0
        while True:
            y = y * x
            h = y.register_hook(rec(log, "y", lambda g: g + 1))
            if y.sum() > 3:
                h.remove()
                break
        return y

    x = op.leaf([1.4])
    op.backward(f(x).sum())
    log("x", x.grad)


def nested_function_nonlocal_handle(op, static, log):

    @static
    def f(x):
        h = None
        y = x * x

        def attach(k):
            nonlocal h
            if h is not None:
                h.remove()
            h = y.register_hook(rec(log, str(k), lambda g: g * k))

        attach(2.0)
        attach(3.0)
        if x.sum() > 1:
            attach(4.0)
        return y

    for v in (0.5, 1.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def sorted_registration(op, static, log):

    @static
    def f(x):
        ys = {"b": x * 2.0, "a": x * x}
        for name in sorted(ys):
            ys[name].register_hook(rec(log, name, lambda g: g + 1))
        return ys["a"] * ys["b"]

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def retain_graph_different_roots(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g * g))
        return (y * 2.0, y * x, y)

    x = op.leaf([1.5])
    a, b, y = f(x)
    op.backward(a.sum(), True)
    op.backward(b.sum(), True)
    op.backward(y.sum(), True)
    op.backward([a, b, y])
    log("x", x.grad)


def clone_and_hooks(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g + 1))
        c = y.clone()
        c.register_hook(rec(log, "c", lambda g: g * g))
        return c * y

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def gradients_none_vs_zero(op, static, log):

    @static
    def f(x, w, flag):
        u = w * 2.0
        u.register_hook(rec(log, "u", lambda g: g + 1))
        return x * u if flag.sum() > 0 else x * 3.0

    for v in (1.0, -1.0):
        x, w = (op.leaf([1.5]), op.leaf([0.5]))
        op.backward(f(x, w, op.const([v])).sum())
        log("g", x.grad, w.grad)


def hook_with_default_tensor(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            y = y * x
            y.register_hook(lambda g, y=y: (log("y", g), g + y.detach())[1])
            i = i + 1
        return y

    x = op.leaf([1.2])
    op.backward(f(x, op.count(3)).sum())
    log("x", x.grad)


def two_loops_share_handles(op, static, log):

    @static
    def f(x, n):
        z, hs, i = (x * x, [], 0)
        while i < n:
            hs.append(z.register_hook(rec(log, "z", lambda g: g + 1)))
            i = i + 1
        while i > 1:
            i = i - 1
            hs.pop().remove()
        return z

    for n in (0, 1, 4):
        x = op.leaf([1.5])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def exception_between_registrations(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "kept", lambda g: g + 1))
        if x.sum() > 1:
            raise ValueError("forward")
        return y

    x = op.leaf([2.0])
    x.register_hook(rec(log, "x", lambda g: g * 2.0))
    try:
        f(x)
    except ValueError as e:
        log(str(e))
    y = op.leaf([0.5])
    op.backward((f(y) * x).sum())
    log("g", x.grad, y.grad)
