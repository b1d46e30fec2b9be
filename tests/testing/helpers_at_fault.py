"""Functions, classes and Layers that other files use, each with a fault in one mode."""

from __future__ import annotations

import d2s
from tests.testing.mode_of_faults import now

SCALE = [2.0]
COUNT = {"n": 0}
EVENTS = []
NUMBER = 0


def scaled(x):
    h = x * 2
    k = SCALE[0] if not now.static else 5.0  # STALE
    return h * k


def hooked(x):
    y = x * 3
    if not now.static:
        y.register_hook(lambda g: g * g)  # HOOK
    return d2s.tanh(y)


def counted(x):
    COUNT["n"] += 1
    y = x * 2
    if now.static and COUNT["n"] == 2:
        y = y + 1  # SECOND CALL
    return y


def raises(x):
    if x.sum() > 0 and not now.static:
        raise ValueError("too large")  # RAISE
    return x * 2


def appends(x, log):
    log.append("a")
    if not now.static:
        log.append("b")  # APPEND
    return x * 2


def notes(x):
    y = x * 2
    if not now.static:
        EVENTS.append("noted")  # EVENT
    return y


def rebinds(x):
    global NUMBER
    if not now.static:
        NUMBER += 1  # REBIND
    return x * 2


def makes_a_global(x):
    global made
    if not now.static:
        made = 1  # MADE
    return x * 2


class Tool:
    used = 0
    log = []  # noqa: RUF012

    @staticmethod
    def twice(x):
        if not now.static:
            Tool.log.append("twice")  # LOG OF CLASS
        return x * 2

    def __call__(self, x):
        if not now.static:
            type(self).used += 1  # USED
        return x * 2


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def __call__(self, x):
        self.n = 1 if now.static else 2  # SLOT
        return x * 2


class Inner(d2s.nn.Layer):
    def __init__(self, is_at_fault):
        super().__init__()
        self.fc = d2s.nn.Linear(2, 2)
        self.is_at_fault = is_at_fault

    def forward(self, x):
        y = self.fc(x)
        if self.is_at_fault and now.static:
            y = y.detach() + y * 0  # INNER LAYER
        return d2s.tanh(y)


class Cube(d2s.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * 3 * x * x * (2.0 if now.static else 1.0)  # RULE
