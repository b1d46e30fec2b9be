"""Tensors and handles that turns hand on, and what hooks leave for the lines after `backward()`."""

# ruff: noqa: B023

from __future__ import annotations

from .log import rec


def handed_on_hooked(op, static, log):

    @static
    def f(x, n):
        prev, y, i = (x, x * 1.0, 0)
        while i < n:
            prev = y
            y = y * x
            y.register_hook(rec(log, "y", lambda g: g + 1))
            i = i + 1
        return prev * y

    for n in (0, 1, 3):
        x = op.leaf([1.5])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def hook_on_previous(op, static, log):

    @static
    def f(x, n):
        prev, y, i = (x * 2.0, x * 1.0, 0)
        while i < n:
            prev.register_hook(rec(log, "prev", lambda g: g * g))
            prev, y = (y, y * prev)
            i = i + 1
        return prev + y

    for n in (0, 1, 3):
        x = op.leaf([1.5])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def best_so_far(op, static, log):

    @static
    def f(x, n):
        best, y, i = (x * 1.0, x * 1.0, 0)
        while i < n:
            y = y * x - 0.5
            if y.sum() > best.sum():
                best = y
                best.register_hook(rec(log, "best", lambda g: g + 0.5))
            i = i + 1
        best.register_hook(rec(log, "end", lambda g: g * g))
        return best * y

    for v in (1.5, 0.5, -1.2):
        x = op.leaf([v])
        op.backward(f(x, op.count(3)).sum())
        log("x", x.grad)


def best_written(op, static, log):

    @static
    def f(x, n):
        best, y, i = (x * 1.0, x * 1.0, 0)
        while i < n:
            y = y * x - 0.5
            if y.sum() > best.sum():
                best = y
            i = i + 1
        op.mul_(best, op.const([3.0]))
        best.register_hook(rec(log, "end", lambda g: g * g))
        return best * y

    for v in (1.5, 0.5):
        x = op.leaf([v])
        try:
            op.backward(f(x, op.count(3)).sum())
        except RuntimeError:
            log("version")
        log("x", x.grad)


def handle_of_best(op, static, log):

    @static
    def f(x, n):
        y, i, h = (x * 1.0, 0, None)
        while i < n:
            y = y * x
            if h is not None and y.sum() > 2:
                h.remove()
            h = y.register_hook(rec(log, "y", lambda g: g + 1))
            i = i + 1
        return (y, h)

    for v in (1.5, 0.5):
        x = op.leaf([v])
        r, _ = f(x, op.count(4))
        op.backward(r.sum())
        log("x", x.grad)


def swap_three(op, static, log):

    @static
    def f(x, n):
        a, b, c, i = (x * 1.0, x * 2.0, x * 3.0, 0)
        while i < n:
            a, b, c = (b, c, a * b)
            c.register_hook(rec(log, "c", lambda g: g * 0.5))
            a.register_hook(rec(log, "a", lambda g: g + 1))
            i = i + 1
        return a + b * c

    for n in (0, 1, 2, 4):
        x = op.leaf([1.1])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def alias_of_carried_after(op, static, log):

    @static
    def f(x, n):
        y, i, first = (x * 2.0, 0, None)
        while i < n:
            y = y * x
            if first is None:
                first = y
                first.register_hook(rec(log, "first", lambda g: g + 1))
            i = i + 1
        return y if first is None else y * first

    for n in (0, 1, 3):
        x = op.leaf([1.1])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def list_of_turns_hooked_later(op, static, log):

    @static
    def f(x, n):
        ys, y, i = ([], x * 1.0, 0)
        while i < n:
            y = y * x
            ys.append(y)
            i = i + 1
        for _, t in enumerate(ys):
            t.register_hook(rec(log, "t", lambda g: g + 1))
        return sum(ys) + x

    for n in (0, 1, 3):
        x = op.leaf([1.2])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def last_of_list_hooked(op, static, log):

    @static
    def f(x, n):
        ys, i = ([x * 2.0], 0)
        while i < n:
            ys[-1].register_hook(rec(log, "t", lambda g: g * g))
            ys.append(ys[-1] * x)
            i = i + 1
        h = ys[0].register_hook(rec(log, "0", lambda g: g + 1))
        if n > 2:
            h.remove()
        return ys[-1] * ys[0]

    for n in (0, 1, 3):
        x = op.leaf([1.2])
        op.backward(f(x, op.count(n)).sum())
        log("x", x.grad)


def list_of_handles_removed(op, static, log):

    @static
    def f(x, n):
        hs, y, i = ([], x * 1.0, 0)
        while i < n:
            y = y * x
            hs.append(y.register_hook(rec(log, "y", lambda g: g + 1)))
            i = i + 1
        for k, h in enumerate(hs):
            if k % 2 == 0:
                h.remove()
        return (y, hs)

    for n in (1, 4):
        x = op.leaf([1.2])
        r, hs = f(x, op.count(n))
        log("n", len(hs))
        hs[-1].remove()
        op.backward(r.sum())
        log("x", x.grad)


def retain_in_turn(op, static, log):

    @static
    def f(x, n):
        ys, y, i = ([], x * 1.0, 0)
        while i < n:
            y = y * x
            op.retain(y)
            ys.append(y)
            i = i + 1
        return (y, ys)

    x = op.leaf([1.2])
    r, ys = f(x, op.count(3))
    op.backward(r.sum())
    log("g", x.grad, *[y.grad for y in ys])


def hook_reads_turn_tensors(op, static, log):

    @static
    def f(x, n):
        ys, y, i = ([], x * 1.0, 0)
        while i < n:
            y = y * x
            ys.append(y)
            y.register_hook(rec(log, "y", lambda g: g + ys[-1].detach()))
            i = i + 1
        return y

    x = op.leaf([1.2])
    op.backward(f(x, op.count(3)).sum())
    log("x", x.grad)


def hook_writes_list_read_inside(op, static, log):

    @static
    def f(x):
        seen = []
        y = x * x
        y.register_hook(lambda g: seen.append(g.sum()) or None)
        op.backward(y.sum(), True)
        total = seen[0]
        return (x * 2.0, len(seen), total)

    x = op.leaf([1.5])
    r, n, t = f(x)
    log("r", r, n, t)


def seen_plus(op, static, log):

    @static
    def f(x):
        seen = [x * 0.0]
        y = x * x
        y.register_hook(lambda g: seen.append(g) or None)
        op.backward(y.sum(), True)
        z = x + seen[-1]
        return (z * 2.0, seen)

    x = op.leaf([1.5])
    r, s = f(x)
    log("r", r, len(s), s[1], x.grad)


def seen_in_loop(op, static, log):

    @static
    def f(x, n):
        seen, i = ([], 0)
        while i < n:
            y = x * x
            y.register_hook(lambda g: seen.append(g * 2.0) or None)
            op.backward(y.sum())
            i = i + 1
        return (x.detach() + seen[-1], len(seen))

    x = op.leaf([1.5])
    r, n = f(x, op.count(3))
    log("r", r, n, x.grad)


def nonlocal_tensor_set_by_hook(op, static, log):

    @static
    def f(x):
        last = x * 0.0

        def hook(g):
            nonlocal last
            last = g * 3.0

        y = x * x
        y.register_hook(hook)
        op.backward(y.sum())
        return x.detach() + last

    x = op.leaf([1.5])
    log("r", f(x), x.grad)


def mixed_elements(op, static, log):

    @static
    def f(x):
        seen = []
        y = x * x
        y.register_hook(lambda g: seen.extend([g, float(g.sum()), g.sum()]))
        op.backward(y.sum(), True)
        return (x * seen[0], x.detach() * seen[1], x + seen[2] * 2.0, (seen[0] - x) / 2.0)

    x = op.leaf([1.5, 0.5])
    rs = f(x)
    for r in rs:
        log("r", r, r.requires_grad if op.name == "torch" else not r.stop_gradient)
    op.backward((rs[0] + rs[2] + rs[3]).sum())
    log("x", x.grad)


def scaled_update(op, static, log):

    @static
    def f(w, x, n):
        i = 0
        while i < n:
            grads = []
            y = w * x
            y.register_hook(lambda g: grads.append(g * 0.1) or None)
            op.backward((y * y).sum())
            x = x - grads[-1]
            i = i + 1
        return x

    w, x = (op.leaf([1.5]), op.const([2.0]))
    r = f(w, x, op.count(3))
    log("r", r, w.grad)


def no_grad_use(op, static, log):

    @static
    def f(w):
        seen = []
        y = w * w
        y.register_hook(lambda g: seen.append(g * g) or None)
        op.backward(y.sum())
        with op.no_grad():
            r = w - seen[0] * 0.5
        return r

    w = op.leaf([1.5, 2.0])
    r = f(w)
    log("r", r, r.requires_grad if op.name == "torch" else not r.stop_gradient)


def popped_and_compared(op, static, log):

    @static
    def f(w):
        seen = []
        y = w * 3.0
        for _ in range(2):
            y.register_hook(lambda g: seen.append(g + 1.0) or None)
        op.backward(y.sum())
        a = seen.pop()
        return w.detach() + a if len(seen) == 1 else w

    w = op.leaf([1.5, 2.0])
    log("r", f(w))


def variable_by_nonlocal(op, static, log):

    @static
    def f(w, n):
        total = w.detach() * 0.0

        def hook(g):
            nonlocal total
            total = total + g

        i = 0
        while i < n:
            y = w * w
            y.register_hook(hook)
            op.backward(y.sum())
            i = i + 1
        return w.detach() - total * 0.5

    w = op.leaf([1.5, 2.0])
    log("r", f(w, op.count(3)))


def grad_of_seen(op, static, log):
    kept = []

    @static
    def f(w):
        seen = []
        y = w * w
        y.register_hook(lambda g: seen.append(g) or None)
        op.backward(y.sum(), True)
        kept.append(seen[0])
        return y * seen[0]

    w = op.leaf([1.5])
    r = f(w)
    op.backward(r.sum())
    log("w", w.grad)


def python_number(op, static, log):

    @static
    def f(w):
        n = [0]

        def hook(g):
            n[0] += 1
            return g * n[0]

        y = w * w
        y.register_hook(hook)
        op.backward(y.sum(), True)
        op.backward(y.sum())
        return w.detach() * n[0]

    w = op.leaf([1.5])
    log("r", f(w), w.grad)
