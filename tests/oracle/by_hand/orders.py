"""Higher orders, `grad()`, and calls that wait for each other."""

from __future__ import annotations

from .log import rec


def third_order_loop_branch(op, static, log):

    @static
    def f(x, n):
        y, i = (x, 0)
        while i < n:
            y = y * x
            if y.sum() > 2:
                y.register_hook(rec(log, "y", lambda g: g * g * 0.1 + g))
            i = i + 1
        return y

    x = op.leaf([1.5])
    (g1,) = op.grad(f(x, op.count(3)), [x], create_graph=True)
    log("g1", g1)
    (g2,) = op.grad(g1, [x], create_graph=True)
    log("g2", g2)
    (g3,) = op.grad(g2, [x])
    log("g3", g3)


def hook_uses_captured_x(op, static, log):

    @static
    def f(x, w):
        y = x * w
        y.register_hook(rec(log, "y", lambda g: g * g * x))
        return y * y * w

    x, w = (op.leaf([1.5]), op.leaf([0.5]))
    gx, gw = op.grad(f(x, w), [x, w], create_graph=True)
    log("1", gx, gw)
    op.backward((gx * gw).sum())
    log("2", x.grad, w.grad)


def penalty_two_calls(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g * g))
        return y * x

    a, b = (op.leaf([1.5]), op.leaf([0.7]))
    ra, rb = (f(a), f(b))
    (ga,) = op.grad(ra, [a], create_graph=True)
    (gb,) = op.grad(rb, [b], create_graph=True)
    op.backward((gb * ga + ra).sum())
    log("g", a.grad, b.grad)


def create_graph_removed_between(op, static, log):

    @static
    def f(x):
        y = x * x
        h = y.register_hook(rec(log, "y", lambda g: g * g))
        return (y * y, h)

    x = op.leaf([1.2])
    r, h = f(x)
    (g,) = op.grad(r, [x], create_graph=True)
    log("g", g)
    h.remove()
    op.backward(g.sum())
    log("x", x.grad)


def leaf_hook_create_graph(op, static, log):

    @static
    def f(x):
        x.register_hook(rec(log, "x", lambda g: g * g))
        return x * x * x

    x = op.leaf([1.2])
    (g,) = op.grad(f(x), [x], create_graph=True)
    log("g", g)
    (g2,) = op.grad(g, [x], create_graph=True)
    log("g2", g2)
    op.backward(g2.sum())
    log("x", x.grad)


def grad_inputs_mixed(op, static, log):

    @static
    def f(x):
        a = x * 2.0
        b = a * a
        c = b * x
        for name, t in (("a", a), ("b", b), ("c", c)):
            t.register_hook(rec(log, name, lambda g: g + 1))
        return (a, b, c)

    x = op.leaf([1.5])
    x.register_hook(rec(log, "x", lambda g: g * g))
    a, b, c = f(x)
    log("cb", *op.grad(c, [b], retain_graph=True))
    log("ca", *op.grad(c, [a], retain_graph=True))
    log("cx", *op.grad(c, [x], retain_graph=True))
    log("bx", *op.grad([b], [x], retain_graph=True))
    op.backward([c, b])
    log("x", x.grad)


def grad_unused(op, static, log):

    @static
    def f(x, w):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g + 1))
        u = w * 2.0
        u.register_hook(rec(log, "u", lambda g: g + 1))
        return (y, u)

    x, w = (op.leaf([1.5]), op.leaf([2.0]))
    y, u = f(x, w)
    log("n", *op.grad(y, [w], retain_graph=True))
    log("m", *op.grad(y, [x]))
    log("o", *op.grad(u, [x], retain_graph=True))
    op.backward(u.sum())
    log("g", x.grad, w.grad)


def hook_in_enable_grad(op, static, log):
    v = op.leaf([3.0])

    def hook(g):
        with op.enable_grad():
            loss = (g * v).sum()
        op.backward(loss)
        return g * 2.0

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", hook))
        return y * x

    x = op.leaf([1.5])
    for _ in range(2):
        op.backward(f(x).sum())
        log("g", x.grad, v.grad)


def hook_calls_static_create_graph(op, static, log):

    @static
    def cube(g):
        return g * g * g

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: cube(g)))
        return y * y

    x = op.leaf([0.8])
    (g,) = op.grad(f(x), [x], create_graph=True)
    log("g", g)
    op.backward(g.sum())
    log("x", x.grad)


def retain_graph_thrice_with_state(op, static, log):
    k = [0]

    def hook(g):
        k[0] += 1
        return g * k[0] + 1

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", hook))
        return y * y

    x = op.leaf([1.0])
    r = f(x).sum()
    for last in (True, True, False):
        op.backward(r, last)
        log("x", x.grad)
    try:
        op.backward(r)
    except RuntimeError:
        log("used")
    log("k", k[0])


def two_outstanding_other_order(op, static, log):

    @static
    def f(x, w, n):
        y, i = (x * w, 0)
        while i < n:
            y = y * w
            y.register_hook(rec(log, "y", lambda g, i=i: g + i))
            i = i + 1
        return y

    x, w = (op.leaf([1.5]), op.leaf([0.5]))
    w.register_hook(rec(log, "w", lambda g: g * g))
    r1, r2 = (f(x, w, op.count(1)), f(x * 2.0, w, op.count(2)))
    op.backward(r2.sum())
    log("g", x.grad, w.grad)
    op.backward(r1.sum())
    log("g", x.grad, w.grad)


def outstanding_summed(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g + x.detach()))
        x.register_hook(rec(log, "x", lambda g: g * 0.5))
        return y

    x = op.leaf([1.5])
    a = f(x)
    b = f(a)
    c = f(b)
    op.backward((a + b * c).sum())
    log("x", x.grad)


def chain_static_eager_static(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        y.register_hook(rec(log, "in", lambda g: g * g))
        return y + 1.0

    x = op.leaf([0.5])
    a = f(x)
    a.register_hook(rec(log, "a", lambda g: g + 1))
    m = a * a
    m.register_hook(rec(log, "m", lambda g: g * 0.3))
    b = f(m)
    b.register_hook(rec(log, "b", lambda g: g + 2))
    op.backward((b * a).sum())
    log("x", x.grad)


def target_of_used_up(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return (y, y * 2.0, y * 3.0)

    x = op.leaf([2.0])
    y, z1, z2 = f(x)
    op.backward(z1.sum())
    log("x", x.grad)
    log("g", *op.grad(z2, [y]))
    try:
        log("h", *op.grad(z2, [x]))
    except RuntimeError:
        log("used up")
    log("same", *op.grad(y, [y]))


def target_of_written(op, static, log):

    @static
    def f(x):
        z, u = (x * x, x + 1.0)
        op.mul_(u, z)
        op.mul_(z, x)
        u.register_hook(rec(log, "u", lambda g: g * g))
        return (z, u)

    x = op.leaf([2.0])
    z, u = f(x)
    log("g", *op.grad((u * 5.0 + z).sum(), [u], retain_graph=True))
    try:
        op.backward(u.sum())
    except RuntimeError:
        log("written")
    log("x", x.grad)
