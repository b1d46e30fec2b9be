"""Backward in each turn of a loop, and what the turns go on with."""

# ruff: noqa: B023

from __future__ import annotations

from .log import rec


def backward_each_turn_carried(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            y = y * x
            y.register_hook(rec(log, "y", lambda g: g + 1))
            op.backward(y.sum(), True)
            i = i + 1
        return y

    x = op.leaf([1.2])
    r = f(x, op.count(4))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def backward_some_turns(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            y = y * x
            if i > 1 and y.sum() > 1.5:
                y.register_hook(rec(log, "y", lambda g: g * 0.5))
                op.backward((y * y).sum(), True)
            i = i + 1
        return y

    for v in (1.3, 1.05):
        x = op.leaf([v])
        r = f(x, op.count(5))
        log("x", x.grad)
        op.backward(r.sum())
        log("x", x.grad)


def nested_loops_backward(op, static, log):

    @static
    def f(x, n):
        i, y = (0, x * 1.0)
        while i < n:
            j = 0
            while j < i:
                z = y * x
                z.register_hook(rec(log, "z", lambda g: g + 1))
                op.backward(z.sum(), True)
                j = j + 1
            y = y * 1.1
            y.register_hook(rec(log, "y", lambda g: g * g))
            op.backward((y * x).sum(), True)
            i = i + 1
        return y

    x = op.leaf([1.2])
    r = f(x, op.count(3))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def two_backwards_per_turn(op, static, log):

    @static
    def f(x, w, n):
        i = 0
        while i < n:
            y = x * w
            z = y * y
            y.register_hook(rec(log, "y", lambda g: g + 1))
            op.backward(z.sum(), True)
            op.backward((z * w).sum())
            i = i + 1
        return x.grad * 1.0

    x, w = (op.leaf([1.2]), op.leaf([0.5]))
    log("r", f(x, w, op.count(3)), x.grad, w.grad)


def grad_each_turn_create_graph(op, static, log):

    @static
    def f(x, n):
        t, i = (x * 0.0, 0)
        while i < n:
            y = x * x * x
            y.register_hook(rec(log, "y", lambda g: g * g))
            (g,) = op.grad(y, [x], create_graph=True)
            t = t + g
            i = i + 1
        return t

    x = op.leaf([1.2])
    r = f(x, op.count(3))
    log("r", r)
    op.backward(r.sum())
    log("x", x.grad)


def descend_in_loop(op, static, log):

    @static
    def f(w, x, n):
        i = 0
        while i < n:
            loss = ((w * x - 1.0) * (w * x - 1.0)).sum()
            loss.register_hook(rec(log, "loss", lambda g: g * 0.5))
            op.backward(loss)
            with op.no_grad():
                op.add_(w, w.grad * -0.1)
            op.clear(w)
            i = i + 1
        return w * 1.0

    w = op.leaf([0.2])
    w.register_hook(rec(log, "w", lambda g: g + 0.1))
    log("r", f(w, op.const([1.5]), op.count(4)), w)


def early_exit_after_backward(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            y = x * x
            y.register_hook(rec(log, "y", lambda g: g + i))
            op.backward(y.sum())
            if x.grad.sum() > 6:
                return y
            i = i + 1
        return x * 1.0

    x = op.leaf([1.2])
    log("r", f(x, op.count(9)), x.grad)


def hook_raises_at_turn(op, static, log):
    k = [0]

    def hook(g):
        k[0] += 1
        if k[0] == 3:
            raise ValueError("third")
        return g + 1

    @static
    def f(x, n):
        i = 0
        while i < n:
            y = x * x
            y.register_hook(hook)
            try:
                op.backward(y.sum())
            except ValueError:
                log("caught")
            i = i + 1
        return x * 1.0

    x = op.leaf([1.2])
    r = f(x, op.count(5))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def branch_then_backward(op, static, log):

    @static
    def f(x, n):
        i, y = (0, x * 1.0)
        while i < n:
            if y.sum() > 1.3:
                a = y * 2.0
                a.register_hook(rec(log, "a", lambda g: g * g))
                op.backward(a.sum(), True)
                y = y * 0.8
            else:
                b = y * x
                b.register_hook(rec(log, "b", lambda g: g + 1))
                y = b * 1.5
            i = i + 1
        op.backward(y.sum(), True)
        return y

    x = op.leaf([1.1])
    r = f(x, op.count(5))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def retained_and_returned_turns(op, static, log):

    @static
    def f(x, n):
        ys, i = ([], 0)
        while i < n:
            y = x * x
            op.retain(y)
            op.backward((y * y).sum())
            ys.append(y)
            i = i + 1
        return ys

    x = op.leaf([1.2])
    ys = f(x, op.count(3))
    log("g", *[y.grad for y in ys], x.grad)


def write_between_backwards(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 2.0, 0)
        while i < n:
            y.register_hook(rec(log, "pre", lambda g: g + 1))
            op.mul_(y, x)
            y.register_hook(rec(log, "post", lambda g: g * 0.5))
            op.backward(y.sum(), True)
            i = i + 1
        return y

    x = op.leaf([1.2])
    r = f(x, op.count(3))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def inner_static_backward(op, static, log):

    @static
    def inner(t):
        u = t * t
        u.register_hook(rec(log, "u", lambda g: g + 1))
        op.backward(u.sum(), True)
        return u

    @static
    def outer(x, n):
        i, y = (0, x * 1.0)
        while i < n:
            y = inner(y) * 0.5
            i = i + 1
        return y

    x = op.leaf([1.2])
    r = outer(x, op.count(3))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def split_in_turn_backward(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            a, b = op.chunk(x * x, 2)
            a.register_hook(rec(log, "a", lambda g: g + 1))
            b.register_hook(rec(log, "b", lambda g: g * g))
            op.backward(a.sum())
            i = i + 1
        return x * 1.0

    x = op.leaf([1.2, 0.7])
    f(x, op.count(2))
    log("x", x.grad)


def pylayer_in_turn_backward(op, static, log):

    class Sq(op.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = op.saved(ctx)
            log("bw", g)
            return g * x * 2.0

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            y = Sq.apply(y)
            y.register_hook(rec(log, "y", lambda g: g + 1))
            op.backward((y * 1.0).sum(), True)
            i = i + 1
        return y

    x = op.leaf([1.1])
    f(x, op.count(3))
    log("x", x.grad)


def leaf_made_in_turn(op, static, log):

    @static
    def f(x, n):
        ws, i = ([], 0)
        while i < n:
            w = op.leaf([2.0])
            w.register_hook(rec(log, "w", lambda g: g + 1))
            op.backward((w * x).sum())
            ws.append(w)
            i = i + 1
        return ws

    x = op.leaf([1.5])
    ws = f(x, op.count(3))
    log("g", *[w.grad for w in ws], x.grad)


def detached_target_network(op, static, log):

    @static
    def f(w, t, x, n):
        i = 0
        while i < n:
            y = (w - t.detach()) * x
            y.register_hook(rec(log, "y", lambda g: g * 2.0))
            op.backward((y * y).sum())
            t = t * 0.9 + w.detach() * 0.1
            i = i + 1
        return t

    w, t = (op.leaf([1.0]), op.const([0.0]))
    log("t", f(w, t, op.const([1.5]), op.count(3)), w.grad)


def outer_static_result_backward_inside(op, static, log):

    @static
    def make(x):
        y = x * x
        y.register_hook(rec(log, "made", lambda g: g + 1))
        return y

    @static
    def use(y, n):
        i = 0
        while i < n:
            op.backward((y * 2.0).sum(), True)
            i = i + 1
        return y * 3.0

    x = op.leaf([1.5])
    y = make(x)
    y.register_hook(rec(log, "y", lambda g: g * g))
    r = use(y, op.count(2))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def handle_removed_after_kth_turn(op, static, log):

    @static
    def f(x, n):
        h = x.register_hook(rec(log, "x", lambda g: g * 2.0))
        i = 0
        while i < n:
            op.backward((x * x).sum())
            if i > 0:
                h.remove() if i < 2 else None
            i = i + 1
        return x * 1.0

    x = op.leaf([1.5])
    f(x, op.count(4))
    log("x", x.grad)


def reduce_in_turn(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            op.reduce_hook(x, lambda: log("r", x.grad))
            op.backward((x * x).sum())
            i = i + 1
        return x * 1.0

    x = op.leaf([1.5])
    f(x, op.count(3))
    log("x", x.grad)


def no_turns(op, static, log):

    @static
    def f(x, n):
        i, y = (0, x * 2.0)
        while i < n:
            op.backward(y.sum(), True)
            i = i + 1
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return y

    x = op.leaf([1.5])
    r = f(x, op.count(0))
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)
