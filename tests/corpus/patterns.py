"""Patterns of programs: Layers, states, visitors, strategies, descriptors."""

from __future__ import annotations

import abc
import dataclasses
import typing

import d2s
from tests.corpus.register import made, record

nn, F = (d2s.nn, d2s.nn.functional)


@made
def layer_with_branch_and_hook():
    d2s.seed(3)

    class Net(nn.Layer):

        def __init__(self):
            super().__init__()
            self.a, self.b = (nn.Linear(3, 3), nn.Linear(3, 3))
            self.calls = 0

        def forward(self, x, c):
            self.calls += 1
            h = F.relu(self.a(x))
            h.register_hook(record('h', lambda g: g * g))
            if h.sum() > c:
                h = self.b(h)
            for k in range(2):
                h = h + x * k
            return (h, self.calls)
    net = Net()

    def f(x, c):
        return net(x.unsqueeze(0), c)
    return f


@made
def sequential_with_early_exit():
    d2s.seed(4)
    layers = nn.LayerList([nn.Linear(3, 3) for _ in range(4)])

    def f(x, c):
        h = x.unsqueeze(0)
        for i, layer in enumerate(layers):
            h = F.tanh(layer(h))
            if h.abs().max() < c * 0.3:
                return (h, i)
        return (h, -1)
    return f


@made
def recurrent_with_mask():
    d2s.seed(5)
    cell = nn.Linear(6, 3)

    def f(x, y, n):
        h = x * 0
        outs = []
        for t in range(4):
            new = F.tanh(cell(d2s.concat([h, x * (t + 1)]).unsqueeze(0))).squeeze(0)
            if n > t:
                h = new
            outs.append(h)
        return d2s.stack(outs) * y
    return f


@made
def newton_iteration():

    def f(x, c):
        z = x.abs() + 1
        for i in range(20):
            new = 0.5 * (z + (x.abs() + 1) / z)
            if (new - z).abs().max() < 0.001:
                break
            z = new
        return (z, i)
    return f


@made
def gradient_inside():

    def f(x, c):
        w = x.detach() * 1
        w.stop_gradient = False
        loss = (w * w * w).sum()
        g, = d2s.grad(loss, [w])
        if g.sum() > c:
            return x * g
        return x - g
    return f


@made
def counters_on_function_attributes():

    def f(x, c):
        f_inner.calls = getattr(f_inner, 'calls', 0) + 1
        return (f_inner(x) if c > 0 else x, f_inner.calls)

    def f_inner(v):
        return v * 2
    return f


@made
def state_machine():

    def f(x, y, c):
        state = 'start'
        out = x
        steps = 0
        while state != 'end':
            steps += 1
            if state == 'start':
                state = 'grow' if out.sum() < c + 3 else 'shrink'
            elif state == 'grow':
                out = out + 1
                if out.sum() > 5:
                    state = 'end'
            elif state == 'shrink':
                out = out * 0.5
                state = 'start' if steps < 3 else 'end'
        return (out, steps)
    return f


@made
def visitor_pattern():

    @dataclasses.dataclass
    class Num:
        v: typing.Any

    @dataclasses.dataclass
    class Add:
        left: typing.Any
        right: typing.Any

    @dataclasses.dataclass
    class If:
        t: typing.Any
        a: typing.Any
        b: typing.Any

    def ev(node):
        match node:
            case Num(v):
                return v
            case Add(left, right):
                return ev(left) + ev(right)
            case If(t, a, b):
                return ev(a) if t > 0 else ev(b)
            case _:
                raise TypeError(node)

    def f(x, y, c):
        return ev(Add(Num(x), If(c, Num(y), Add(Num(x), Num(y)))))
    return f


@made
def abstract_strategy():

    class S(abc.ABC):
        registry = {}

        def __init_subclass__(cls, **k):
            S.registry[cls.__name__] = cls

        @abc.abstractmethod
        def go(self, v):
            ...

    class Up(S):

        def go(self, v):
            return v + 1

    class Down(S):

        def go(self, v):
            return v - 1

    def f(x, c):
        s = S.registry['Up' if c > 0 else 'Down']()
        return (s.go(x), isinstance(s, S), type(s).__name__)
    return f


@made
def descriptor_and_slots():

    class Scaled:

        def __set_name__(self, o, n):
            self.n = '_' + n

        def __get__(self, i, o):
            return getattr(i, self.n) * 2

        def __set__(self, i, v):
            setattr(i, self.n, v + 1)

    class T:
        __slots__ = ('_v',)
        v = Scaled()

    def f(x, c):
        t = T()
        t.v = x
        if c > 0:
            t.v = t.v * 3
        return t.v
    return f


@made
def static_and_class_methods():

    class K:
        base = 2

        @staticmethod
        def s(v):
            return v * 3

        @classmethod
        def k(cls, v):
            return v * cls.base if v.sum() > 0 else v

        @property
        def p(self):
            return self.s(self.k(self.v))

        def __init__(self, v):
            self.v = v

    def f(x):
        return (K(x).p, K.k(-x))
    return f
