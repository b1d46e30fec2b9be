"""PyLayers and Layers."""

# ruff: noqa: B023

from __future__ import annotations

from .log import rec


def pylayer_in_static(op, static, log):

    class Sq(op.PyLayer):

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = op.saved(ctx)
            log("bw", g)
            return g * x * 2

    @static
    def f(x, n):
        for i in range(n):
            x.register_hook(rec(log, "in", lambda g: g + i))
            x = Sq.apply(x)
            x.register_hook(rec(log, "out", lambda g: g * g))
        return x
    for n in (0, 1, 2):
        x = op.leaf([1.1])
        f(x * 1, op.count(n)).sum().backward()
        log("x", x.grad)


def pylayer_two_outputs_one_unused(op, static, log):

    class Two(op.PyLayer):

        @staticmethod
        def forward(ctx, x):
            return (x * 2, x * 3)

        @staticmethod
        def backward(ctx, a, b):
            log("bw", a, b)
            return a * 2 + b * 3

    @static
    def f(x, c):
        a, b = Two.apply(x)
        a.register_hook(rec(log, "a", lambda g: g + 1))
        if c > 0:
            return a * a
        return b * b
    for c in (1.0, -1.0):
        x = op.leaf([1.5])
        f(x, op.number(c)).sum().backward()
        log("x", x.grad)


def pylayer_backward_raises(op, static, log):

    class Bad(op.PyLayer):

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            log("bw", g)
            raise KeyError("k")

    @static
    def f(x, w):
        a = w * 3
        y = Bad.apply(x * 5)
        return (a * a, y)
    x = op.leaf([1.0])
    w = op.leaf([2.0])
    a, y = f(x, w)
    try:
        (a.sum() + y.sum()).backward()
    except Exception as e:
        log("caught", type(e).__name__)
    log("g", x.grad, w.grad)
    try:
        a.sum().backward()
    except Exception:
        log("caught", "x")
    log("g", x.grad, w.grad)
    try:
        y.sum().backward()
    except Exception:
        log("caught", "x")
    log("g", x.grad, w.grad)


def pylayer_raises_other_branch_fresh(op, static, log):

    class Bad(op.PyLayer):

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("k")

    @static
    def f(x, w):
        return (w * 3 * w, Bad.apply(x * 5) * x)
    x = op.leaf([1.0])
    w = op.leaf([2.0])
    a, y = f(x, w)
    try:
        y.sum().backward()
    except Exception:
        log("caught")
    log("g", x.grad, w.grad)
    a.sum().backward()
    log("g", x.grad, w.grad)
    x2 = op.leaf([4.0])
    a, y = f(x2, w)
    a.sum().backward()
    log("g", x2.grad, w.grad)


def pylayer_raise_uses_what_ran(op, static, log):

    class Bad(op.PyLayer):

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            log("bw", g)
            raise KeyError("k")

    @static
    def f(x, w):
        u = x * x
        y = Bad.apply(u) * w
        return (u * u, y)
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    u, y = f(x, w)
    try:
        y.sum().backward()
    except KeyError as e:
        log("caught", type(e).__name__)
    log("g", x.grad, w.grad)
    u.sum().backward()
    log("g", x.grad, w.grad)
    try:
        y.sum().backward()
    except Exception:
        log("caught2")
    log("g", x.grad, w.grad)


def pylayer_raise_retain(op, static, log):
    n = [0]

    class Bad(op.PyLayer):

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            n[0] += 1
            log("bw", g)
            if n[0] == 1:
                raise KeyError("k")
            x, = op.saved(ctx)
            return g * x

    @static
    def f(x, w):
        u = x * x
        u.register_hook(rec(log, "u", lambda g: g + 1))
        y = Bad.apply(u) * w
        return u * u + y
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    y = f(x, w)
    try:
        op.backward(y, retain_graph=True)
    except KeyError as e:
        log("caught", type(e).__name__)
    log("g", x.grad, w.grad)
    op.backward(y)
    log("g", x.grad, w.grad)


def layer_hooks_added_later(op, static, log):
    lin = op.Linear(2, 2, [[1.0, 2.0], [3.0, 4.0]], [0.5, -0.5])

    class Net(op.Layer):

        def __init__(self):
            super().__init__()
            self.lin = lin

        def forward(self, x, k=1):
            y = self.lin(x * k)
            y.register_hook(lambda g: log("y", g) or g + 1)
            return y * y
    net = Net()
    net.forward = static(net.forward)
    x = op.const([[1.0, 2.0]]).astype("float32") if op.name != "torch" else op.const([[1.0, 2.0]]).float()
    net(x).sum().backward()
    log("b", lin.bias.grad)
    h = op.pre_hook(lin, lambda layer, i: (i[0] + 1,))
    h2 = op.post_hook(lin, lambda layer, i, o: o * 2)
    net(x).sum().backward()
    log("b", lin.bias.grad)
    h.remove()
    net(x, k=2).sum().backward()
    log("b", lin.bias.grad)
    h2.remove()
    net(x, k=2).sum().backward()
    log("b", lin.bias.grad)


def recompute(op, static, log):

    def block(x, w):
        y = x * w
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return y * y

    @static
    def f(x, w):
        w.register_hook(rec(log, "w", lambda g: g * g))
        return op.recompute(block, x * 2, w) * x
    x = op.leaf([0.5])
    w = op.leaf([2.0])
    f(x, w).sum().backward()
    log("g", x.grad, w.grad)


def pylayer_raises_in_loop(op, static, log):

    class Bad(op.PyLayer):

        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return x * 2

        @staticmethod
        def backward(ctx, g):
            log("bw", g)
            if ctx.k == 1:
                raise KeyError("k")
            return (g * 2, None) if op.name == "torch" else g * 2

    @static
    def f(x, w, n):
        u = x * x
        y = u
        for i in range(n):
            y = Bad.apply(y, i) * w
        return (u * u, y, y * u)
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    for n in (3, 2):
        u, y, z = f(x, w, n)
        try:
            y.sum().backward()
        except KeyError as e:
            log("caught", type(e).__name__)
        log("g", x.grad, w.grad)
        u.sum().backward()
        log("g", x.grad, w.grad)
        try:
            z.sum().backward()
        except Exception:
            log("caught2")
        log("g", x.grad, w.grad)
