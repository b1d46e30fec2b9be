"""Outputs of one operator, PyLayers, copies, and what hooks close over."""

from __future__ import annotations

import copy
import functools
import gc
import weakref

from .log import rec


def split_one_output(op, static, log):

    @static
    def f(x):
        a, b, _ = op.chunk(x * 2.0, 3)
        b.register_hook(rec(log, "b", lambda g: g * g))
        return (a * b).sum()

    x = op.leaf([1.0, 2.0, 3.0])
    op.backward(f(x))
    log("x", x.grad)


def unbind_hook_only_one(op, static, log):

    @static
    def f(x):
        a, b = op.lib.unbind(x * x)
        a.register_hook(rec(log, "a", lambda g: g + 1))
        return (a * 2.0).sum() + b.sum()

    x = op.leaf([[1.0, 2.0], [3.0, 4.0]])
    op.backward(f(x))
    log("x", x.grad)


def topk_values(op, static, log):

    @static
    def f(x):
        v, i = op.lib.topk(x * 2.0, 2)
        v.register_hook(rec(log, "v", lambda g: g * g + 1))
        return ((v * v).sum(), i)

    x = op.leaf([1.0, 5.0, 3.0])
    r, i = f(x)
    log("i", i)
    op.backward(r)
    log("x", x.grad)


def unbind_loop_some(op, static, log):

    @static
    def f(x):
        t = 0.0
        for k, row in enumerate(op.lib.unbind(x * 1.0)):
            if row.sum() > 2:
                row.register_hook(rec(log, str(k), lambda g, k=k: g * g + k))
            t = t + (row * row).sum()
        return t

    x = op.leaf([[1.0, 0.5], [3.0, 1.0], [2.0, 2.0]])
    op.backward(f(x))
    log("x", x.grad)


def chunk_in_branch(op, static, log):

    @static
    def f(x):
        a, b = op.chunk(x * x, 2)
        if x.sum() > 0:
            a.register_hook(rec(log, "a", lambda g: g * g))
            r = a * 2.0
        else:
            b.register_hook(rec(log, "b", lambda g: g + 1))
            r = b * 3.0
        return r.sum() + a.sum() + b.sum()

    for s in (1.0, -1.0):
        x = op.leaf([s, 2 * s])
        op.backward(f(x))
        log("x", x.grad)


def where_concat(op, static, log):

    @static
    def f(x):
        a, b = (x * 2.0, x * x)
        w = op.lib.where(x > 0.5, a, b)
        w.register_hook(rec(log, "w", lambda g: g + 1))
        a.register_hook(rec(log, "a", lambda g: g * g))
        b.register_hook(rec(log, "b", lambda g: g * 0.5))
        return (op.lib.concat([w, a]) * 2.0).sum()

    x = op.leaf([1.0, 0.25])
    op.backward(f(x))
    log("x", x.grad)


def pylayer_hooks_both_sides(op, static, log):

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
            y.register_hook(rec(log, "in", lambda g: g + 1))
            y = Sq.apply(y)
            i = i + 1
        return y * 1.0

    x = op.leaf([1.1])
    op.backward(f(x, op.count(2)).sum())
    log("x", x.grad)


def pylayer_output_hook(op, static, log):

    class Two(op.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return (x * y, x + y)

        @staticmethod
        def backward(ctx, g, h):
            x, y = op.saved(ctx)
            return (g * y + h, g * x + h)

    @static
    def f(x, w):
        a, b = Two.apply(x, w)
        a.register_hook(rec(log, "a", lambda g: g * g))
        b.register_hook(rec(log, "b", lambda g: g + 1))
        return (a * b).sum()

    x, w = (op.leaf([1.5]), op.leaf([0.5]))
    op.backward(f(x, w))
    log("g", x.grad, w.grad)


def pylayer_create_graph(op, static, log):

    class Cube(op.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = op.saved(ctx)
            return g * x * x * 3.0

    @static
    def f(x):
        y = x * 1.0
        y.register_hook(rec(log, "y", lambda g: g * g))
        return Cube.apply(y)

    x = op.leaf([0.8])
    (g,) = op.grad(f(x), [x], create_graph=True)
    log("g", g)
    op.backward(g.sum())
    log("x", x.grad)


def pylayer_none_grad(op, static, log):

    class Left(op.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2.0 + y

        @staticmethod
        def backward(ctx, g):
            return (g * 2.0, None)

    @static
    def f(x, w):
        v = w * 3.0
        v.register_hook(rec(log, "v", lambda g: g + 1))
        return Left.apply(x, v) + x

    x, w = (op.leaf([1.0]), op.leaf([1.0]))
    op.backward(f(x, w).sum())
    log("g", x.grad, w.grad)


def deepcopy_hooked_leaf(op, static, log):

    @static
    def f(x):
        return x * x

    x = op.leaf([1.5])
    x.register_hook(rec(log, "x", lambda g: g + 1))
    c = copy.deepcopy(x)
    op.backward((f(x) + f(c)).sum())
    log("g", x.grad, c.grad)


def gc_of_hook_closure(op, static, log):

    class Probe:
        pass

    refs = []

    @static
    def f(x):
        y = x * x
        p = Probe()
        refs.append(weakref.ref(p))
        y.register_hook(lambda g, p=p: g * y)
        return y

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)
    gc.collect()
    log("gone", refs[0]() is None if op.name != "paddle" else True)


def stop_gradient_after_registration(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(rec(log, "y", lambda g: g + 1))
        z = y * 2.0
        d = y.detach()
        return z + d * y

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def leaf_toggled_between_calls(op, static, log):

    @static
    def f(x, w):
        return x * w

    x, w = (op.leaf([1.5]), op.leaf([2.0]))
    x.register_hook(rec(log, "x", lambda g: g + 1))
    op.backward(f(x, w).sum())
    op.set_rg(x, False)
    op.backward(f(x, w).sum())
    op.set_rg(x, True)
    op.backward(f(x, w).sum())
    log("g", x.grad, w.grad)


def inplace_on_returned(op, static, log):

    @static
    def f(x):
        y = x * 2.0
        y.register_hook(rec(log, "y", lambda g: g + 1))
        return y

    x = op.leaf([1.5])
    y = f(x)
    y.register_hook(rec(log, "out", lambda g: g * 0.5))
    op.mul_(y, op.const([3.0]))
    y.register_hook(rec(log, "post", lambda g: g * g))
    op.backward((y * y).sum())
    log("x", x.grad)


def hook_with_numpy(op, static, log):

    @static
    def f(x):
        y = x * x
        y.register_hook(lambda g: op.const(g.numpy() * 2.0 + 1.0))
        return y * y

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def callable_object_and_partial(op, static, log):

    class H:
        def __init__(self, k):
            self.k, self.n = (k, 0)

        def __call__(self, g):
            self.n += 1
            log("H", g)
            return g * self.k + self.n

    h = H(2.0)

    @static
    def f(x):
        y = x * x
        y.register_hook(h)
        y.register_hook(functools.partial(lambda a, g: g + a, 1.0))
        list(map(y.register_hook, [rec(log, "m1", lambda g: g * g), rec(log, "m2")]))
        return y

    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)
    h.k = 3.0
    op.backward(f(x).sum())
    log("x", x.grad)


def late_binding_vars(op, static, log):

    @static
    def f(x, n):
        y = x * x
        k = 1.0
        y.register_hook(rec(log, "y", lambda g: g * k + t))
        t = y.detach() * 2.0
        k = 5.0
        i = 0
        while i < n:
            k = k + 1.0
            t = t + 1.0
            i = i + 1
        return y * 2.0

    x = op.leaf([1.5])
    op.backward(f(x, op.count(3)).sum())
    log("x", x.grad)


def list_filled_between(op, static, log):
    seen = []

    @static
    def f(x):
        y = x * x
        y.register_hook(lambda g: g + sum(seen))
        return y

    x = op.leaf([1.5])
    r = f(x)
    seen += [1.0, 2.0]
    op.backward(r.sum())
    log("x", x.grad)


def hook_appends_read_next_call(op, static, log):
    seen = [op.const([1.0])]

    @static
    def f(x):
        y = x * seen[-1]
        y.register_hook(lambda g: seen.append(g.detach()) or None)
        return y * 2.0

    x = op.leaf([1.5])
    for _ in range(3):
        op.backward(f(x).sum())
        log("x", x.grad, len(seen))


def x08_backward_inside(op, static, log):

    @static
    def f(x):
        seen = []
        y = x * x
        y.register_hook(lambda g: seen.append(g) or None)
        op.backward(y.sum(), True)
        return x + seen[-1]

    x = op.leaf([1.5])
    r = f(x)
    log("r", r, x.grad)
