"""Registrations in helpers, containers, recursion, attributes, on arguments and outside tensors."""

from __future__ import annotations

from .log import rec


def with_and_try(op, static, log):

    @static
    def f(x):
        y = x * x
        with op.no_grad():
            y.register_hook(rec(log, "in no_grad", lambda g: g + 1))
            t = y * 2.0
        try:
            if x.sum() > 0:
                y.register_hook(rec(log, "in try", lambda g: g * g))
        finally:
            y.register_hook(rec(log, "finally", lambda g: g * 0.5))
        return y * t

    for v in (1.5, -1.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def tensor_for_loop(op, static, log):

    @static
    def f(x, rows):
        y = x * 1.0
        for row in rows:
            y = y + row * x
            if row.sum() > 1.5:
                y.register_hook(rec(log, "y", lambda g: g * 0.5 + 1))
        return y

    x = op.leaf([1.5, 0.5])
    op.backward(f(x, op.const([[1.0, 0.2], [2.0, 0.1], [1.0, 1.0]])).sum())
    log("x", x.grad)


def recursion_py(op, static, log):

    @static
    def f(x, k):
        if k == 0:
            return x
        y = f(x * x, k - 1)
        y.register_hook(rec(log, str(k), lambda g: g + k))
        return y * 0.5

    x = op.leaf([1.2])
    op.backward(f(x, 3).sum())
    log("x", x.grad)


def hook_on_container_results(op, static, log):

    def pair(t):
        return {"a": t * 2.0, "b": (t * 3.0, t * 4.0)}

    @static
    def f(x):
        d = pair(x)
        d["b"][1].register_hook(rec(log, "b1", lambda g: g + 1))
        d["a"].register_hook(rec(log, "a", lambda g: g * g))
        return d["a"] * d["b"][1] + d["b"][0]

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def attribute_of_object(op, static, log):

    class Box:
        pass

    @static
    def f(x):
        box = Box()
        box.t = x * x
        box.t.register_hook(rec(log, "first", lambda g: g + 1))
        if x.sum() > 0:
            box.t = box.t * 2.0
            box.t.register_hook(rec(log, "second", lambda g: g * g))
        return box.t * x

    for v in (1.5, -0.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def method_stored_called_later(op, static, log):

    @static
    def f(x):
        y = x * x
        reg = y.register_hook
        y = y * 2.0
        if x.sum() > 0:
            reg(rec(log, "old y", lambda g: g + 1))
        getattr(y, "register_" + "hook")(rec(log, "new y", lambda g: g * g))
        return y

    for v in (1.5, -0.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def leaf_created_inside(op, static, log):

    @static
    def f(x):
        w = op.leaf([2.0, 3.0])
        w.register_hook(rec(log, "w", lambda g: g * g))
        y = (x * w).sum()
        return (y, w)

    x = op.leaf([1.0, 0.5])
    for _ in range(2):
        y, w = f(x)
        w.register_hook(rec(log, "w outside", lambda g: g + 1))
        op.backward(y)
        log("g", x.grad, w.grad)


def turns_from_tensor_register_n(op, static, log):

    @static
    def f(x, n):
        y = x * x
        for _ in range(n):
            y.register_hook(rec(log, "y", lambda g: g * 1.5))
        return y

    for n in (0, 2, 5):
        x = op.leaf([1.0])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def returned_and_used_inside(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "inside", lambda g: g + 1))
        z = y * x
        return (y, z)

    x = op.leaf([1.5])
    y, z = f(x)
    y.register_hook(rec(log, "outside", lambda g: g * g))
    op.backward((y * z + y).sum())
    log("x", x.grad)


def view_and_slice(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        a, b = (y[0:2], y[1:3])
        a.register_hook(rec(log, "a", lambda g: g + 1))
        b.register_hook(rec(log, "b", lambda g: g * g))
        y.register_hook(rec(log, "y", lambda g: g * 0.5))
        if x.sum() > 0:
            return (a * b).sum() + y.sum()
        return (a * a).sum()

    for v in (1.0, -1.0):
        x = op.leaf([v, 2 * v, 0.5])
        op.backward(f(x))
        log("x", x.grad)


def two_names_removed_via_other(op, static, log):

    @static
    def f(x):
        a = x * x
        b = a
        h = b.register_hook(rec(log, "b", lambda g: g * 10))
        a.register_hook(rec(log, "a", lambda g: g + 1))
        if a.sum() > 1:
            h.remove()
        return a * 2.0 + b

    for v in (2.0, 0.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def captured_outer_leaf(op, static, log):
    w = op.leaf([3.0])

    @static
    def f(x, n):
        y, i = (x, 0)
        while i < n:
            y = y * w
            if y.sum() > 10:
                w.register_hook(rec(log, "w", lambda g: g * 0.5))
            i = i + 1
        return y

    for _ in range(2):
        x = op.leaf([2.0])
        op.backward(f(x, op.count(3)).sum())
        log("g", x.grad, w.grad)


def nonleaf_argument(op, static, log):

    @static
    def f(y, n):
        i = 0
        while i < n:
            y.register_hook(rec(log, "arg", lambda g: g + 1))
            i = i + 1
        return y * y

    x = op.leaf([2.0])
    y = x * 3.0
    y.register_hook(rec(log, "before", lambda g: g * 2))
    r = f(y, op.count(2))
    y.register_hook(rec(log, "later", lambda g: g * 0.1))
    op.backward((r + y).sum())
    log("x", x.grad)


def same_tensor_twice(op, static, log):

    @static
    def f(a, b):
        a.register_hook(rec(log, "a", lambda g: g + 1))
        b.register_hook(rec(log, "b", lambda g: g * g))
        return a * b

    x = op.leaf([2.0])
    op.backward(f(x, x).sum())
    log("x", x.grad)
    y = op.leaf([3.0])
    op.backward(f(x, y).sum())
    log("g", x.grad, y.grad)


def default_argument(op, static, log):
    w = op.leaf([2.0])

    @static
    def f(x, w=w, scale=3.0, *, hook=None):
        if hook is not None:
            w.register_hook(hook)
        return x * w * scale

    x = op.leaf([1.0])
    op.backward(f(x).sum())
    log("g", x.grad, w.grad)
    op.backward(f(x, hook=rec(log, "w", lambda g: g * g)).sum())
    log("g", x.grad, w.grad)
    op.backward(f(x, scale=2.0).sum())
    log("g", x.grad, w.grad)
