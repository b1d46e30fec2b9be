"""Registrations in branches and turns on tensors, and handles that are removed there."""


from __future__ import annotations

from .log import rec


def outer_in_inner_branch(op, static, log):

    @static
    def f(x, n):
        z = x * x
        i, t = (0, x)
        while i < n:
            t = t * 1.5
            if t.sum() > 3.0:
                z.register_hook(rec(log, "z", lambda g: g * g + 1))
            i = i + 1
        return z * t + z

    for n in (0, 1, 3):
        x = op.leaf([1.0, 0.5])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def outer_nested_loops(op, static, log):

    @static
    def f(x, n):
        z = x * 2.0
        i = 0
        while i < n:
            j = 0
            while j < i:
                if z.sum() > 0 and j < 2:
                    h = z.register_hook(rec(log, "z", lambda g: g * 0.5 + 1))
                    if i > 1:
                        h.remove()
                j = j + 1
            i = i + 1
        return z * z

    for n in (1, 2, 4):
        x = op.leaf([1.5])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def merged_alias_in_loop(op, static, log):

    @static
    def f(x, n):
        a, b = (x * 2.0, x * 3.0)
        i, s = (0, x)
        while i < n:
            y = a if s.sum() > 2.0 else b
            y.register_hook(rec(log, "y", lambda g: g + 1))
            s = s + y
            i = i + 1
        return s + a * b

    for v in (0.5, -1.0):
        x = op.leaf([v])
        op.backward(f(x, op.count(3)).sum())
        log("x", x.grad)


def else_of_loop(op, static, log):

    @static
    def f(x, n):
        z = x * x
        i = 0
        while i < n:
            if z.sum() > 5:
                break
            z = z + x
            i = i + 1
        else:
            z.register_hook(rec(log, "else", lambda g: g * g))
        z.register_hook(rec(log, "end", lambda g: g + 2))
        return z * z

    for v in (1.0, 2.0, 3.0):
        x = op.leaf([v])
        op.backward(f(x, op.count(3)).sum())
        log("x", x.grad)


def continued(op, static, log):

    @static
    def f(x, n):
        y, i = (x * 1.0, 0)
        while i < n:
            i = i + 1
            y = y * x
            if y.sum() < 0:
                y.register_hook(rec(log, "neg", lambda g: g * 0.5))
                continue
            y.register_hook(rec(log, "pos", lambda g: g + 0.5))
        return y

    x = op.leaf([-1.5])
    op.backward(f(x, op.count(4)).sum())
    log("x", x.grad)


def helper_on_argument(op, static, log):

    def helper(t, flag):
        if flag:
            t.register_hook(rec(log, "h", lambda g: g * g))
        return t * t

    @static
    def f(x, n):
        y, i = (x, 0)
        while i < n:
            y = helper(y, y.sum() > 1.2)
            i = i + 1
        return y

    for v in (1.1, 1.3):
        x = op.leaf([v])
        op.backward(f(x, op.count(3)).sum())
        log("x", x.grad)


def list_elements_conditional(op, static, log):

    @static
    def f(x):
        ys = [x * float(k + 1) for k in range(3)]
        hs = [y.register_hook(rec(log, str(k), lambda g, k=k: g + k)) for k, y in enumerate(ys)]
        if x.sum() > 0:
            hs[1].remove()
        else:
            hs.pop().remove()
        return ys[0] * ys[1] + ys[2]

    for v in (1.0, -1.0):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def handle_none_then_branch(op, static, log):

    @static
    def f(x):
        y, h = (x * x, None)
        if x.sum() > 0:
            h = y.register_hook(rec(log, "y", lambda g: g * g + 1))
        z = y * 3.0
        if h is not None and x.sum() > 1:
            h.remove()
        return z

    for v in (0.5, 2.0, -1.0):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def previous_handle_removed_each_turn(op, static, log):

    @static
    def f(x, n):
        z = x * x
        h = z.register_hook(rec(log, "first", lambda g: g + 1))
        i = 0
        while i < n:
            h.remove()
            h = z.register_hook(rec(log, "turn", lambda g: g * 2 + 1))
            i = i + 1
        return (z * 3.0, h)

    for n in (0, 3):
        x = op.leaf([1.5])
        r, h = f(x, op.count(n))
        op.backward(r.sum(), True)
        log("x", x.grad)
        h.remove()
        op.backward(r.sum())
        log("x", x.grad)


def dict_of_handles(op, static, log):

    @static
    def f(x):
        y = x * x
        hs = {name: y.register_hook(rec(log, name, lambda g: g + 1)) for name in "abc"}
        if x.sum() > 1:
            hs["a"].remove()
            del hs["a"]
        else:
            hs.pop("b").remove()
        return (y * y, hs["c"])

    for v in (2.0, 0.5):
        x = op.leaf([v])
        r, h = f(x)
        h.remove()
        op.backward(r.sum())
        log("x", x.grad)


def hook_registers_on_others(op, static, log):

    @static
    def f(x):
        a = x * 2.0
        b = a * a
        c = b + x
        c.register_hook(rec(log, "c", lambda g: a.register_hook(rec(log, "a late", lambda g: g * 0.5)) and None))
        b.register_hook(rec(log, "b", lambda g: c.register_hook(rec(log, "c too late")) and None))
        return c * 2.0

    x = op.leaf([1.5])
    r = f(x)
    op.backward(r.sum(), True)
    log("x", x.grad)
    op.backward(r.sum())
    log("x", x.grad)


def hook_registers_on_leaf(op, static, log):

    @static
    def f(x, w):
        a = x * w

        def late(g):
            x.register_hook(rec(log, "x", lambda g: g + 1))
            w.register_hook(rec(log, "w", lambda g: g * g))

        a.register_hook(rec(log, "a", late))
        return a * a

    x, w = (op.leaf([1.5]), op.leaf([2.0]))
    for _ in range(2):
        op.backward(f(x, w).sum())
        log("g", x.grad, w.grad)


def rebind_in_branch(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        y.register_hook(rec(log, "old", lambda g: g + 1))
        old = y
        if x.sum() > 0:
            y = y * y
            y.register_hook(rec(log, "new", lambda g: g * g))
        y.register_hook(rec(log, "either", lambda g: g * 0.5))
        return y * old

    for v in (1.0, -1.0):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def ifexp_then_write(op, static, log):

    @static
    def f(x):
        a, b = (x * 2.0, x * 3.0)
        y = a if x.sum() > 0 else b
        y.register_hook(rec(log, "before", lambda g: g + 1))
        op.mul_(y, x)
        y.register_hook(rec(log, "after", lambda g: g * g))
        return a * 2.0 + b * b

    for v in (1.0, -1.0):
        x = op.leaf([v, v])
        op.backward(f(x).sum())
        log("x", x.grad)


def walrus_and_chained(op, static, log):

    @static
    def f(x):
        if (y := (x * x)).sum() > 1 and (h := y.register_hook(rec(log, "y", lambda g: g + 1))):
            h.remove()
        y.register_hook(rec(log, "y2", lambda g: g * g))
        return (z := (y * 2.0)) + z

    for v in (2.0, 0.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)
