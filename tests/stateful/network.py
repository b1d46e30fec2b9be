"""The Layer that the second machine changes, and its eager and static twins."""

from __future__ import annotations

import copy
import io

import numpy as np

import d2s
from d2s import nn

# Read by `forward`; the machine changes it.
FACTOR = 1.0


def plus(g):
    return g + 0.25


def shrink(g):
    return g * g * 0.5


def made(record):
    """A new `Network`, and a function that changes the variable its `forward` closes over."""
    offset = 0.5

    def set_offset(value):
        nonlocal offset
        offset = value

    class Network(nn.Layer):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.second = nn.Linear(3, 2)
            self.norm = nn.BatchNorm1D(3)
            self.middle = nn.Tanh()
            self.scale = 1.5
            self.turns = 1
            self.watches = True
            self.factors = [0.5, 2.0]

        def forward(self, x):
            h = self.first(x)
            if self.watches:
                h.register_hook(record("hidden", plus))
            h = self.middle(self.norm(h)) * FACTOR
            for _ in range(self.turns):
                h = h * self.scale + offset
            if h.sum() > 0:
                h.register_hook(record("positive", shrink))
                out = self.second(h)
            else:
                out = self.second(h * self.factors[0]) * self.factors[1]
            out.register_hook(record("out", plus))
            return out, h

    return Network(), set_offset


class Twin:
    """A network in one mode, its optimizer, outstanding results, handles and log."""

    def __init__(self, static):
        d2s.seed(7)
        self.static = static
        self.log = []
        self.handles = []
        self.results = []
        self.network, self.set_offset = made(self.record)
        if static:
            d2s.to_static(self.network)
        self.begin_optimizing()

    def record(self, name, change=lambda g: None):
        log = self.log

        def hook(g):
            log.append((name, g.numpy().tolist()))
            return change(g)

        return hook

    def begin_optimizing(self):
        parameters = self.network.parameters()
        self.optimizer = d2s.optimizer.Momentum(learning_rate=0.05, momentum=0.5, parameters=parameters)

    def parameter(self, place):
        named = list(self.network.named_parameters())
        return named[place % len(named)]

    def layer(self, place):
        layers = [self.network, self.network.first, self.network.second, self.network.norm]
        return layers[place % len(layers)]

    def call(self, data):
        x = d2s.to_tensor(data, dtype=str(self.network.first.weight.dtype), stop_gradient=False)
        self.results.append((x, *self.network(x)))

    def backward(self, count, retain):
        """From the sum of the last `count` results."""
        roots = [out for _, out, _ in self.results[-count:] if not out.stop_gradient]
        seeds = [d2s.ones(out.shape, str(out.dtype)) for out in roots]
        d2s.autograd.backward(roots, seeds, retain_graph=retain)
        if not retain:
            self.results.clear()

    def save_and_load(self):
        file = io.BytesIO()
        d2s.save(self.network.state_dict(), file)
        file.seek(0)
        return self.network.set_state_dict(d2s.load(file))

    def become_a_copy(self):
        self.network = copy.deepcopy(self.network)
        self.handles.clear()
        self.begin_optimizing()

    def note(self, name):
        """A forward hook that logs, and changes nothing."""
        log = self.log

        def hook(layer, inputs, *output):
            log.append((name, [len(inputs), len(output)]))

        return hook

    def seen(self):
        """What can be seen: the log, results with gradients of inputs, state and gradients of parameters."""
        tensors = [tensor for result in self.results for tensor in result]
        gradients = [x.grad for x, *_ in self.results] + [p.grad for p in self.network.parameters()]
        arrays = [*tensors, *self.network.state_dict().values(), *gradients]
        return list(self.log), [bits(array) for array in arrays]


def bits(tensor):
    """A tensor as plain values that compare bit by bit."""
    if tensor is None:
        return None
    array = tensor.numpy()
    return str(array.dtype), array.shape, np.ascontiguousarray(array).tobytes(), tensor.stop_gradient
