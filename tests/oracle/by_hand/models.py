"""Layers with hooks, parameters that are shared, methods, nested functions."""

from __future__ import annotations

import copy
import functools

from .log import rec


def _net(op, log):

    class Net(op.Layer):
        def __init__(self):
            super().__init__()
            self.a = op.Linear(2, 2, [[0.5, -0.2], [0.1, 0.3]], [0.1, 0.2])
            self.b = op.Linear(2, 1, [[0.7], [-0.4]], [0.3])

        def forward(self, x, scale=1.0):
            h = self.a(x) * scale
            h.register_hook(rec(log, "h", lambda g: g * g + 1))
            return self.b(h)

    return Net()


def _x(op):
    return op.lib.full([1, 2], 0.5)


def _grads(net):
    return [None if p.grad is None else p.grad for p in net.parameters()]


def net_hooks_over_steps(op, static, log):
    net = _net(op, log)
    f = static(lambda x: net(x).sum())
    for _ in range(2):
        op.backward(f(_x(op)))
        log("b", net.b.bias.grad, net.a.bias.grad)


def post_hook_registers_tensor_hook(op, static, log):
    net = _net(op, log)
    op.post_hook(net.a, lambda layer, args, out: out.register_hook(rec(log, "out a", lambda g: g * 0.5)) and None)
    f = static(lambda x: net(x).sum())
    for _ in range(2):
        op.backward(f(_x(op)))
        log("g", net.a.bias.grad)


def layer_hook_raises_at_second(op, static, log):
    net = _net(op, log)
    n = [0]

    def bad(layer, args):
        n[0] += 1
        if n[0] == 2:
            raise ValueError("second")

    op.pre_hook(net.b, bad)
    f = static(lambda x: net(x).sum())
    for _ in range(3):
        try:
            log("r", f(_x(op)))
        except ValueError as e:
            log("caught", str(e))


def deepcopy_layer(op, static, log):
    net = _net(op, log)
    net.a.bias.register_hook(rec(log, "bias", lambda g: g + 1))
    op.post_hook(net.a, lambda layer, args, out: out * 2.0)
    other = copy.deepcopy(net)
    f, g = (static(lambda x: net(x).sum()), static(lambda x: other(x).sum()))
    op.backward(f(_x(op)) + g(_x(op)))
    log("g", net.a.bias.grad, other.a.bias.grad)


def param_hook_in_forward_piles(op, static, log):

    class Net(op.Layer):
        def __init__(self):
            super().__init__()
            self.a = op.Linear(2, 1, [[0.5], [0.1]], [0.1])

        def forward(self, x):
            self.a.bias.register_hook(rec(log, "b", lambda g: g * 2.0))
            return self.a(x)

    net = Net()
    f = static(lambda x: net(x).sum())
    for _ in range(3):
        op.backward(f(_x(op)))
        log("g", net.a.bias.grad)


def branch_in_forward(op, static, log):

    class Net(op.Layer):
        def __init__(self):
            super().__init__()
            self.a = op.Linear(2, 2, [[0.5, 0.2], [0.1, 0.1]], [0.1, -0.1])

        def forward(self, x):
            h = self.a(x)
            if h.sum() > 0.5:
                h.register_hook(rec(log, "big", lambda g: g + 1))
                self.a.weight.register_hook(rec(log, "w", lambda g: g * 0.5))
            else:
                h = h * 3.0
                h.register_hook(rec(log, "small", lambda g: g * g))
            return h.sum()

    net = Net()
    f = static(lambda x: net(x))
    for v in (1.0, -1.0, 1.0):
        op.backward(f(_x(op) * v))
        log("g", net.a.bias.grad)


def step_by_hand_with_reduce(op, static, log):
    w = op.leaf([1.0, 2.0])

    def update():
        with op.no_grad():
            w_new = w - w.grad * 0.1
            op.lib.assign(w_new, w) if op.name == "paddle" else w.copy_(w_new) if op.name == "torch" else w.set_value(
                w_new
            )
        op.clear(w)

    op.reduce_hook(w, update)
    f = static(lambda x: (w * w * x).sum())
    for _ in range(3):
        op.backward(f(op.const([1.0, 0.5])))
        log("w", w, w.grad)


def train_eval_switch(op, static, log):
    net = _net(op, log)
    f = static(lambda x: net(x).sum() if net.training else net(x).sum() * 2.0)
    op.backward(f(_x(op)))
    net.eval()
    op.backward(f(_x(op)))
    net.train()
    op.backward(f(_x(op)))
    log("g", net.a.bias.grad)


def kwargs_scale(op, static, log):
    net = _net(op, log)
    f = static(lambda x, s: net(x, scale=s).sum())
    for s in (1.0, 2.0):
        op.backward(f(_x(op), s))
        log("g", net.a.bias.grad)


def method_static(op, static, log):

    class Model:
        def __init__(self):
            self.w = op.leaf([2.0])
            self.n = 0
            self.hs = []

        def loss(self, x):
            y = self.w * x
            self.n += 1
            self.hs.append(y.register_hook(rec(log, "y", lambda g: g * self.n)))
            if self.n > 2:
                self.hs[0].remove() if self.n == 3 else None
            return (y * y).sum()

    m = Model()
    loss = static(m.loss)
    for _ in range(3):
        op.backward(loss(op.const([1.5])))
        log("w", m.w.grad, m.n, len(m.hs))


def shared_param_two_static(op, static, log):
    w = op.leaf([2.0])
    w.register_hook(rec(log, "w", lambda g: g * g))
    f, g = (static(lambda x: w * x), static(lambda x: (w + x) * w))
    x = op.leaf([1.5])
    a = f(x)
    b = g(a)
    op.backward((a * b).sum())
    log("g", w.grad, x.grad)


def static_in_static_hooks_both(op, static, log):

    @static
    def inner(t):
        u = t * t
        u.register_hook(rec(log, "u", lambda g: g + 1))
        return u

    @static
    def outer(x):
        a = inner(x)
        a.register_hook(rec(log, "a", lambda g: g * g))
        return inner(a) * x

    x = op.leaf([1.1])
    for _ in range(2):
        op.backward(outer(x).sum())
        log("x", x.grad)


def generator_and_zip(op, static, log):

    @static
    def f(x):
        ys = [x * float(k) for k in range(1, 4)]
        for y, name in zip(ys, "abc", strict=True):
            y.register_hook(rec(log, name, lambda g: g + 1))
        any(y.register_hook(rec(log, "any", lambda g: g * 0.5)) for y in ys if float(y.sum()) > 2)
        return ys[0] * ys[1] + ys[1] * ys[2]

    for v in (0.9, 1.5):
        x = op.leaf([v])
        op.backward(f(x).sum())
        log("x", x.grad)


def try_except_register_stopped(op, static, log):

    @static
    def f(x, c):
        y = x * c
        for t in (c, y):
            try:
                t.register_hook(rec(log, "t", lambda g: g + 1))
            except RuntimeError:
                log("stop")
        return y

    x = op.leaf([1.5])
    op.backward(f(x, op.const([2.0])).sum())
    log("x", x.grad)


def star_args_kwargs_hooks(op, static, log):

    @static
    def f(*xs, **named):
        for k, t in enumerate([*xs, *named.values()]):
            t.register_hook(rec(log, str(k), lambda g, k=k: g + k))
        return sum(xs) * named["w"]

    a, b, w = (op.leaf([1.0]), op.leaf([2.0]), op.leaf([3.0]))
    op.backward(f(a, b, w=w).sum())
    log("g", a.grad, b.grad, w.grad)


def nested_def_decorator(op, static, log):

    def hooked(fn):

        @functools.wraps(fn)
        def run(*args):
            out = fn(*args)
            out.register_hook(rec(log, fn.__name__, lambda g: g * 0.5 + 1))
            return out

        return run

    @hooked
    def square(t):
        return t * t

    @hooked
    def double(t):
        return t * 2.0

    f = static(lambda x: double(square(x)) + square(x))
    x = op.leaf([1.5])
    op.backward(f(x).sum())
    log("x", x.grad)


def match_and_walrus(op, static, log):

    @static
    def f(x, mode):
        match mode:
            case "a":
                (y := (x * x)).register_hook(rec(log, "a", lambda g: g + 1))
            case ["b", k]:
                (y := (x * k)).register_hook(rec(log, "b", lambda g: g * k))
            case _:
                y = x
        return y * 2.0

    for mode in ("a", ("b", 3.0), "c"):
        x = op.leaf([1.5])
        op.backward(f(x, mode).sum())
        log("x", x.grad)


def hook_result_of_other_tensor(op, static, log):

    @static
    def f(x, w):
        y = x * w
        y.register_hook(lambda g: x.detach())
        z = y * y
        z.register_hook(lambda g: w)
        return z

    x, w = (op.leaf([1.5]), op.leaf([2.0]))
    op.backward(f(x, w).sum())
    log("g", x.grad, w.grad)
