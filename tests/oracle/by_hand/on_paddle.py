"""What the programs need, from PaddlePaddle."""

from __future__ import annotations

import paddle
from paddle import enable_grad as enable_grad
from paddle import no_grad as no_grad
from paddle.autograd import PyLayer as PyLayer
from paddle.distributed.fleet.utils import recompute as recompute_

name = "paddle"
lib = paddle
Layer = paddle.nn.Layer


def leaf(data):
    return paddle.to_tensor(data, dtype="float64", stop_gradient=False)


def const(data):
    return paddle.to_tensor(data, dtype="float64")


number = const


def count(value):
    return paddle.to_tensor(value, dtype="int64")


def add_(x, y):
    return x.add_(y)


def mul_(x, y):
    return x.multiply_(y)


def reduce_hook(x, hook):
    x._register_backward_hook(hook)


def retain(x):
    x.retain_grads()


def clear(x):
    x.clear_gradient(False)


def set_rg(x, flag):
    x.stop_gradient = not flag


def backward(roots, retain_graph=False):
    paddle.autograd.backward(roots if isinstance(roots, list) else [roots], None, retain_graph)


def grad(outs, ins, create_graph=False, retain_graph=None):
    outs = outs if isinstance(outs, list) else [outs]
    return paddle.grad(outs, ins, create_graph=create_graph, retain_graph=retain_graph, allow_unused=True)


def saved(ctx):
    return ctx.saved_tensor()


def chunk(x, parts):
    return x.chunk(parts)


def T(x):
    return x.T


def Linear(a, b, weight, bias):
    layer = paddle.nn.Linear(a, b)
    with paddle.no_grad():
        layer.weight.set_value(const(weight).astype("float32"))
        layer.bias.set_value(const(bias).astype("float32"))
    return layer


def pre_hook(layer, hook):
    return layer.register_forward_pre_hook(hook)


def post_hook(layer, hook):
    return layer.register_forward_post_hook(hook)


def recompute(function, *args):
    return recompute_(function, *args, use_reentrant=False)
