"""What the programs need, from d2s."""

from __future__ import annotations

import d2s
from d2s import enable_grad as enable_grad
from d2s import no_grad as no_grad
from d2s.autograd import PyLayer as PyLayer

name = "d2s"
lib = d2s
Layer = d2s.nn.Layer


def leaf(data):
    return d2s.to_tensor(data, dtype="float64", stop_gradient=False)


def const(data):
    return d2s.to_tensor(data, dtype="float64")


number = const


def count(value):
    return d2s.to_tensor(value, dtype="int64")


def add_(x, y):
    return x.add_(y)


def mul_(x, y):
    return x.multiply_(y)


def reduce_hook(x, hook):
    x._register_backward_hook(hook)


def retain(x):
    x.retain_grads()


def clear(x):
    x.clear_grad(False)


def set_rg(x, flag):
    x.stop_gradient = not flag


def backward(roots, retain_graph=False):
    d2s.autograd.backward(roots if isinstance(roots, list) else [roots], None, retain_graph)


def grad(outs, ins, create_graph=False, retain_graph=None):
    outs = outs if isinstance(outs, list) else [outs]
    return d2s.grad(outs, ins, create_graph=create_graph, retain_graph=retain_graph, allow_unused=True)


def saved(ctx):
    return ctx.saved_tensor()


def chunk(x, parts):
    return x.chunk(parts)


def T(x):
    return x.T


def Linear(a, b, weight, bias):
    layer = d2s.nn.Linear(a, b)
    with d2s.no_grad():
        layer.weight.set_value(const(weight).astype("float32"))
        layer.bias.set_value(const(bias).astype("float32"))
    return layer


def pre_hook(layer, hook):
    return layer.register_forward_pre_hook(hook)


def post_hook(layer, hook):
    return layer.register_forward_post_hook(hook)


def recompute(function, *args):
    return d2s.autograd.recompute(function, *args)
