"""Hooks in loops, branches and `try`: late binding, handles, closures."""

# ruff: noqa: B023

from __future__ import annotations

from .log import rec


def turn_hooks_late_binding(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            x = x * 2
            x.register_hook(lambda g: log("t", i, g) or g * g + 1)
            i = i + 1
        return x
    x = op.leaf([1.0, 2.0])
    f(x, op.count(3)).sum().backward()
    log("x", x.grad)
    f(x, op.count(0)).sum().backward()
    log("x", x.grad)


def turn_hooks_default_arg(op, static, log):

    @static
    def f(x, n):
        i = 0
        while i < n:
            x = x * 2

            def h(g, k=i, y=x):
                log("t", k, y, g)
                return g + y.detach() * k
            x.register_hook(h)
            i = i + 1
        return x
    x = op.leaf([1.0, 2.0])
    f(x, op.count(3)).sum().backward()
    log("x", x.grad)


def handle_kept_over_turns(op, static, log):

    @static
    def f(x, n):
        i = 0
        h = x.register_hook(rec(log, "x", lambda g: g + 1))
        while i < n:
            h.remove()
            x = x * x
            h = x.register_hook(rec(log, "turn", lambda g: g * g))
            i = i + 1
        return (x, h)
    for n in (2, 0, 1):
        x = op.leaf([1.5])
        y, h = f(x, op.count(n))
        y.sum().backward()
        log("x", x.grad)
        h.remove()
        y, h = f(x, op.count(n))
        h.remove()
        y.sum().backward()
        log("x", x.grad)


def handles_in_list_removed_in_hook(op, static, log):

    @static
    def f(x, n):
        handles = []
        for _i in range(n):
            x = x * 3
            handles.append(x.register_hook(rec(log, "t", lambda g: g + 1)))
        return (x, handles)
    x = op.leaf([1.0])
    y, hs = f(x, op.count(3))
    hs[1].remove()
    y.sum().backward()
    log("x", x.grad)


def hook_on_outer_from_turn(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        i = 0
        while i < n:
            if y.sum() > i:
                y.register_hook(rec(log, "y", lambda g: g * g + i))
            i = i + 1
        return y * y
    x = op.leaf([1.5])
    for n in (0, 1, 5):
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)


def hook_on_leaf_from_turn_piles(op, static, log):

    @static
    def f(x, n):
        for _i in range(n):
            x.register_hook(lambda g: g * 2 + 1)
        return x * 3
    x = op.leaf([1.0])
    for n in (2, 1, 0):
        f(x, op.count(n)).sum().backward()
        log("x", x.grad)
        op.clear(x)


def data_dependent_break(op, static, log):

    @static
    def f(x):
        y = x
        while True:
            y = y * 2
            y.register_hook(rec(log, "y", lambda g: g + 1))
            if y.sum() > 20:
                break
            if y.sum() > 5:
                y.register_hook(rec(log, "mid", lambda g: g * g))
                continue
            y = y + 1
        y.register_hook(rec(log, "end", lambda g: g * 0.5))
        return y
    for v in (1.0, 4.0, 30.0):
        x = op.leaf([v])
        f(x).sum().backward()
        log("x", x.grad)


def closure_list_changed_between(op, static, log):
    scale = [1.0]

    @static
    def f(x):
        k = [2.0]
        y = x * 2
        y.register_hook(lambda g: g * scale[0] + k[0])
        k[0] = 5.0
        k.append(1)
        return (y, k)
    x = op.leaf([1.0])
    y, k = f(x)
    scale[0] = 10.0
    k[0] = 7.0
    y.sum().backward()
    log("x", x.grad, k)


def nonlocal_counter_in_hook(op, static, log):

    @static
    def f(x, n):
        seen = 0

        def h(g):
            nonlocal seen
            seen += 1
            log("h", seen, g)
            return g * seen
        y = x
        while n > 0:
            y = y * 2
            y.register_hook(h)
            n = n - 1
        return (y, lambda: seen)
    x = op.leaf([1.0])
    y, seen = f(x, op.count(3))
    y.sum().backward()
    log("x", x.grad, seen())
    y, seen2 = f(x, op.count(2))
    y.sum().backward()
    log("x", x.grad, seen(), seen2())


def hook_reads_later_assigned(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        y.register_hook(lambda g: g * w)
        w = y.detach() + 1
        if n > 0:
            w = w * 10
        return y * y
    x = op.leaf([1.0, -2.0])
    f(x, op.count(0)).sum().backward()
    log("x", x.grad)
    f(x, op.count(1)).sum().backward()
    log("x", x.grad)


def hook_reads_unbound(op, static, log):

    @static
    def f(x, n):
        y = x * 2
        y.register_hook(lambda g: g * w)
        if n > 0:
            w = y.detach()
        return y
    x = op.leaf([1.0])
    f(x, op.count(1)).sum().backward()
    log("x", x.grad)
    try:
        f(x, op.count(0)).sum().backward()
    except NameError as e:
        log("caught", type(e).__name__)
    log("x", x.grad)


def remove_inside_hook_other_turn(op, static, log):

    @static
    def f(x, n):
        handles = []

        def h(g):
            log("h", len(handles), g)
            if handles:
                handles.pop(0).remove()
            return g + 1
        for _i in range(n):
            x = x * 2
            handles.append(x.register_hook(h))
        return x
    x = op.leaf([1.0])
    f(x, op.count(4)).sum().backward()
    log("x", x.grad)


def hook_registers_on_upstream(op, static, log):

    @static
    def f(x):
        a = x * 2
        b = a * a
        b.register_hook(lambda g: a.register_hook(rec(log, "a", lambda g: g * g)) and None)
        return b * 3
    x = op.leaf([1.0])
    y = f(x)
    op.backward(y, retain_graph=True)
    log("x", x.grad)
    op.backward(y)
    log("x", x.grad)


def alias_chosen_by_test(op, static, log):

    @static
    def f(x, y, c):
        z = x if c > 0 else y
        z.register_hook(rec(log, "z", lambda g: g * g + 1))
        return x * 2 + y * 3
    x = op.leaf([1.0])
    y = op.leaf([2.0])
    f(x, y, op.number(1.0)).sum().backward()
    log("g", x.grad, y.grad)
    f(x, y, op.number(-1.0)).sum().backward()
    log("g", x.grad, y.grad)


def swap_in_loop(op, static, log):

    @static
    def f(x, y, n):
        a, b = (x * 2, y * 3)
        a.register_hook(rec(log, "a", lambda g: g + 1))
        i = 0
        while i < n:
            a, b = (b, a)
            a.register_hook(rec(log, "swap", lambda g: g * g))
            i = i + 1
        return a * 5 + b * b
    for n in (0, 1, 2, 3):
        x = op.leaf([1.0])
        y = op.leaf([2.0])
        f(x, y, op.count(n)).sum().backward()
        log("g", x.grad, y.grad)


def hook_from_comprehension(op, static, log):

    @static
    def f(x):
        parts = [x * k for k in (1.0, 2.0, 3.0)]
        hs = [p.register_hook(lambda g: g * k + k) for k, p in enumerate(parts)]
        [h.remove() for h in hs[1:2]]
        return parts[0] * parts[1] * parts[2]
    x = op.leaf([1.5])
    f(x).sum().backward()
    log("x", x.grad)


def map_partial_getattr(op, static, log):
    import functools

    @static
    def f(x):
        y = x * 2
        reg = y.register_hook

        def h(k, g):
            log("h", k, g)
            return g * k + 1
        list(map(reg, [functools.partial(h, k) for k in (2, 3)]))
        y = y * y
        return y
    x = op.leaf([1.5])
    f(x).sum().backward()
    log("x", x.grad)


def registered_in_finally(op, static, log):

    @static
    def f(x, c):
        y = x * 2
        try:
            if c > 0:
                raise ValueError("v")
            y.register_hook(rec(log, "no", lambda g: g + 1))
        except ValueError:
            y.register_hook(rec(log, "exc", lambda g: g * g))
        else:
            y.register_hook(rec(log, "else", lambda g: g + 2))
        finally:
            y.register_hook(rec(log, "fin", lambda g: g * 3 + 1))
        return y * y
    for c in (1.0, -1.0):
        x = op.leaf([1.5])
        f(x, op.number(c)).sum().backward()
        log("x", x.grad)


def n_turns_then_return_in_loop(op, static, log):

    @static
    def f(x, n):
        i = 0
        while True:
            x = x * 2
            x.register_hook(rec(log, "t", lambda g: g + i))
            i = i + 1
            if i >= n:
                return x
    x = op.leaf([1.0])
    f(x, op.count(3)).sum().backward()
    log("x", x.grad)


def inner_loop_register(op, static, log):

    @static
    def f(x, n):
        s = x * 0
        for i in range(n):
            y = x * (i + 1)
            for j in range(i):
                y.register_hook(rec(log, "in", lambda g: g + j))
                s = s + y
            s = s + y * y
        return s
    x = op.leaf([1.0])
    f(x, op.count(3)).sum().backward()
    log("x", x.grad)
