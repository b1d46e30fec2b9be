"""`grad` and `backward` inside of functions, what errors use up, and hooks on what turns make."""

# ruff: noqa: B023

from __future__ import annotations

from .log import rec


def hook_raises_uses_what_ran(op, static, log):

    @static
    def f(x, w):
        u = x * x
        v = u * w

        def h(g):
            log("v", g)
            raise KeyError("k")
        v.register_hook(h)
        return (u * u, v * v)
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    u, y = f(x, w)
    try:
        y.sum().backward()
    except KeyError as e:
        log("caught", type(e).__name__)
    u.sum().backward()
    log("g", x.grad, w.grad)


def grad_in_turns(op, static, log):

    @static
    def f(x, n):
        i = 0
        y = x * x
        while i < n:
            z = y * y
            g, = op.grad(z, [x], retain_graph=True)
            y = y + g
            i = i + 1
        return y
    x = op.leaf([0.5])
    for n in (0, 1, 3):
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)


def backward_in_turns(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            y = x * x
            y.register_hook(rec(log, "y", lambda g: g + i))
            y.sum().backward()
            i = i + 1
        return x * 2
    x = op.leaf([0.5])
    for n in (0, 1, 3):
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)


def backward_in_turns_descent(op, static, log):

    @static
    def f(w, x, n):
        for _i in range(n):
            loss = (w * x - 1).sum()
            loss = loss * loss
            loss.backward()
            with op.no_grad():
                op.add_(w, w.grad * -0.1)
            op.clear(w)
        return w * 1
    w = op.leaf([0.5, 1.0])
    x = op.const([1.0, 2.0])
    for n in (0, 1, 3):
        y = f(w, x, op.count(n))
        log("y", y, w)


def try_around_backward(op, static, log):

    @static
    def f(x, bad):
        y = x * x

        def h(g):
            log("h", g)
            if bad > 0:
                raise KeyError("k")
            return g + 1
        y.register_hook(h)
        try:
            y.sum().backward()
        except KeyError:
            log("caught")
            return x * 2
        finally:
            log("fin")
        return x * 3
    for b in (1.0, -1.0):
        x = op.leaf([0.5])
        z = f(x, op.number(b))
        log("z", z, x.grad)


def create_graph_grad_in_turns(op, static, log):

    @static
    def f(x, n):
        y = x * x * x
        while n > 0:
            y.register_hook(rec(log, "y", lambda g: g * 2))
            g, = op.grad(y, [x], create_graph=True)
            y = g * x
            n = n - 1
        return y
    x = op.leaf([0.5])
    for n in (0, 1, 2):
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)
        op.clear(x)


def hook_on_arg_in_branch_of_loop(op, static, log):

    @static
    def f(xs, n):
        total = xs[0] * 0
        for i in range(n):
            for x in xs:
                if x.sum() > i:
                    x.register_hook(lambda g: g + i)
                total = total + x * x
        return total
    xs = [op.leaf([0.5]), op.leaf([1.5]), op.leaf([2.5])]
    for n in (1, 2, 3):
        f(xs, op.count(n)).sum().backward()
        log("x", [x.grad for x in xs])


def handle_returned_and_used_later(op, static, log):

    @static
    def f(x, n):
        hs = {}
        y = x * 1
        for _i in range(n):
            y = y * x
            hs["last"] = y.register_hook(rec(log, "y", lambda g: g + 1))
        z = y * 2
        hs["z"] = z.register_hook(rec(log, "z", lambda g: g * g))
        return (z, hs)
    x = op.leaf([0.5])
    z, hs = f(x, 2)
    hs["last"].remove()
    z.sum().backward()
    log("x", x.grad)
    z, hs = f(x, 2)
    hs["z"].remove()
    z.sum().backward()
    log("x", x.grad)


def hook_closure_over_loop_tensor(op, static, log):

    @static
    def f(x, n):
        acc = x * 0
        y = x
        i = 0
        while i < n:
            y = y * x
            acc = acc + y
            y.register_hook(lambda g: g + acc.detach())
            i = i + 1
        return y
    x = op.leaf([0.5])
    f(x, op.count(3)).sum().backward()
    log("x", x.grad)


def rebound_after_hook_in_branch(op, static, log):

    @static
    def f(x, c):
        y = x * 2
        k = 1.0
        y.register_hook(lambda g: g * k)
        if c > 0:
            k = 5.0
            y = y * y
        else:
            k = c
        y.register_hook(lambda g: g + k)
        k = k * 2
        return y
    for c in (1.0, -1.0):
        x = op.leaf([0.5])
        f(x, op.number(c)).sum().backward()
        log("x", x.grad)


def grad_inside_with_hooks(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g * g))
        x.register_hook(rec(log, "x", lambda g: g + 1))
        g, = op.grad(y * y, [x], create_graph=True)
        return (g * g).sum() + y.sum()
    x = op.leaf([0.7])
    f(x).backward()
    log("x", x.grad)


def double_grad_outside_after_branch(op, static, log):

    @static
    def f(x, c):
        y = x * x
        if c > 0:
            y.register_hook(rec(log, "y", lambda g: g * x))
            z = y * y
        else:
            z = y * 3
        z.register_hook(rec(log, "z", lambda g: g * y.detach() + 1))
        return z
    for c in (1.0, -1.0):
        x = op.leaf([0.7])
        g, = op.grad(f(x, op.number(c)), [x], create_graph=True)
        g2, = op.grad((g * g).sum(), [x], create_graph=True)
        op.backward(g2)
        log("x", g, g2, x.grad)


def written_uses_what_ran(op, static, log):

    @static
    def f(x, w):
        u = x * 2
        v = u * w
        return (u * x, v * v, u)
    x = op.leaf([1.5])
    w = op.leaf([2.0])
    u, y, _m = f(x, w)
    with op.no_grad():
        op.add_(w, op.const([1.0]))
    try:
        y.sum().backward()
    except Exception:
        log("caught")
    log("g", x.grad, w.grad)
    u.sum().backward()
    log("g", x.grad, w.grad)
