"""Functions that the machine calls: eager, static, and on the naive tape.

Each gets two tensors `x` and `y`, a number `c` and a count `n`, and returns a tuple of tensors and handles.
"""

from __future__ import annotations


def functions(record, no_grad, tensor):
    """The functions, made anew; ``record(name, change)`` gives a hook that logs in this world.

    A tensor from outside is written to without grad mode only: static mode refuses it otherwise.
    """

    def plus(g):
        return g + 1.0

    def square(g):
        return g * g

    def straight(x, y, c, n):
        z = x * y
        z.register_hook(record("straight", plus))
        return z, z + x

    def after_use(x, y, c, n):
        z = x + y * 0.5
        u = z * z
        z.register_hook(record("after use", square))
        return u, z

    def in_a_branch(x, y, c, n):
        z = x * y
        if c > 0:
            z.register_hook(record("then", plus))
            u = z + x
        else:
            x.register_hook(record("else", square))
            u = z - y
        return u, z

    def in_a_loop(x, y, c, n):
        z = x
        for _ in range(n):
            z = z * y - x
            z.register_hook(record("turn", plus))
        return (z,)

    def on_an_outer_value(x, y, c, n):
        z = x + y
        for _ in range(n):
            z.register_hook(record("outer", plus))
            x = x * 0.5
        return z * z, x

    def writes(x, y, c, n):
        z = x * 2.0
        z.add_(y)
        z.register_hook(record("before", plus))
        z[0] = y[1]
        z.register_hook(record("after", square))
        if c > 0:
            z.subtract_(x)
        return (z,)

    def writes_an_argument(x, y, c, n):
        z = x * 3.0
        y.register_hook(record("before the write", plus))
        with no_grad():
            x.add_(y)
        return x, z

    def merged(x, y, c, n):
        z = x if c > 0 else y
        z.register_hook(record("merged", plus))
        return z, x * y

    def handle(x, y, c, n):
        kept = x.register_hook(record("kept", plus))
        gone = y.register_hook(record("gone", square))
        z = x * y
        if c > 0:
            gone.remove()
        return z, kept, gone

    def swaps(x, y, c, n):
        a, b = x, y
        k = 0
        while k < n:
            a, b = b, a + b
            k = k + 1
        a.register_hook(record("swapped", plus))
        return a, b

    def on_values(x, y, c, n):
        if x.sum() > 0.5:
            z = x * y
        else:
            z = x - y
        z.register_hook(lambda g: g - y.numpy())
        return (z,)

    def rebinds(x, y, c, n):
        x.register_hook(record("old", plus))
        x = x * 2.0
        x.register_hook(record("new", square))
        return (x - y,)

    def breaks(x, y, c, n):
        z = x * 0.5
        for i in range(n):
            if z.sum() > 4.0:
                break
            z = z + y
            z.register_hook(record("unbroken", plus))
            if c > i:
                continue
            y.register_hook(record("not continued", plus))
        return (z,)

    def late_binding(x, y, c, n):
        scale = 2.0
        z = x * y
        z.register_hook(lambda g: g * scale + 1.0)
        if c > 0:
            scale = 5.0
        return (z,)

    def returns_early(x, y, c, n):
        z = x * y
        if c > 0:
            return z, x
        z.register_hook(record("not returned", square))
        return z + y, z

    def raises(x, y, c, n):
        z = x + y
        x.register_hook(record("before the error", plus))
        if c > 0:
            raise KeyError("planned")
        return (z,)

    def makes_a_leaf(x, y, c, n):
        w = tensor((2.0, -1.0), True)
        w.register_hook(record("own leaf", plus))
        z = x * y
        z.register_hook(record("beside the leaf", square))
        return z * w, w, x + y

    def makes_leaves_in_turns(x, y, c, n):
        z, w = x, y
        for _ in range(n):
            w = tensor((-1.0, 3.0), True)
            w.register_hook(record("leaf of a turn", plus))
            z = z * w + y
            z.register_hook(record("after the leaf", square))
        return z, w

    return [
        straight, after_use, in_a_branch, in_a_loop, on_an_outer_value, writes, writes_an_argument, merged, handle,
        swaps, on_values, rebinds, breaks, late_binding, returns_early, raises, makes_a_leaf,
        makes_leaves_in_turns,
    ]
