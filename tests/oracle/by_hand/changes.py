"""Writes in place and views between registrations."""

from __future__ import annotations

from .log import rec


def view_hook_then_write_base_branch(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        v = y[0:2]
        v.register_hook(rec(log, "v", lambda g: g + 1))
        if x.sum() > 0:
            op.mul_(y, x)
        v.register_hook(rec(log, "v2", lambda g: g * g))
        return (v * v).sum() + y.sum()

    for s in (1.0, -1.0):
        x = op.leaf([s, 2 * s, 3 * s])
        op.backward(f(x))
        log("x", x.grad)


def write_view_of_view(op, static, log):

    @static
    def f(x):
        y = x * 1.0
        y.register_hook(rec(log, "y0", lambda g: g * 0.5))
        v = y[0:2]
        w = v[1:2]
        op.mul_(w, x[2:3])
        y.register_hook(rec(log, "y1", lambda g: g + 1))
        return (y * y).sum()

    x = op.leaf([1.0, 2.0, 3.0])
    op.backward(f(x))
    log("x", x.grad)


def setitem_loop(op, static, log):

    @static
    def f(x):
        y = x * 1.0
        for k in range(3):
            y.register_hook(rec(log, str(k), lambda g: g * 0.5 + 1))
            y[k] = x[2 - k] * 2.0
        return (y * y).sum()

    x = op.leaf([1.0, 2.0, 3.0])
    op.backward(f(x))
    log("x", x.grad)


def setitem_tensor_loop(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            y[0] = y[1] * 2.0
            y.register_hook(rec(log, "y", lambda g: g * 0.5 + 1))
            op.add_(y, x)
            i = i + 1
        return (y * y).sum()

    x = op.leaf([1.0, 2.0])
    op.backward(f(x, op.count(3)))
    log("x", x.grad)


def buffer_becomes_differentiable(op, static, log):

    @static
    def f(x):
        b = op.const([0.0, 0.0, 0.0])
        try:
            b.register_hook(rec(log, "never"))
        except RuntimeError:
            log("refused")
        b[1] = x.sum()
        b.register_hook(rec(log, "b", lambda g: g * g))
        return (b * 3.0).sum()

    x = op.leaf([1.0, 2.0])
    op.backward(f(x))
    log("x", x.grad)


def handle_before_write(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        h = y.register_hook(rec(log, "pre", lambda g: g * 10))
        op.mul_(y, x)
        k = y.register_hook(rec(log, "post", lambda g: g + 1))
        if x.sum() > 0:
            h.remove()
        else:
            k.remove()
        return y * 1.0

    for v in (1.5, -1.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def write_after_use_saved(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        z = y * y
        z.register_hook(rec(log, "z", lambda g: g + 1))
        op.add_(y, x)
        return z

    x = op.leaf([1.5])
    try:
        op.backward(f(x).sum())
    except RuntimeError:
        log("written")
    log("x", x.grad)


def write_alias_in_list(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        box = [y, x * 3.0]
        box[0].register_hook(rec(log, "pre", lambda g: g + 1))
        op.mul_(box[0], box[1])
        y.register_hook(rec(log, "post", lambda g: g * g))
        return box[0] + y

    x = op.leaf([0.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def write_outer_buffer_no_grad(op, static, log):
    state = op.const([0.0])

    @static
    def f(x):
        y = x * 2.0
        y.register_hook(rec(log, "y", lambda g: g + state))
        with op.no_grad():
            op.add_(state, x.detach())
        return y

    x = op.leaf([1.5])
    for _ in range(2):
        op.backward(f(x).sum())
        log("g", x.grad, state)
