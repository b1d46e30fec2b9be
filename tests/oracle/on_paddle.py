"""What the programs need, from PaddlePaddle."""

from __future__ import annotations

import paddle
from paddle import concat, no_grad, where
from paddle.autograd import PyLayer

__all__ = [
    "add_", "backward", "concat", "count", "cube", "grad", "leaf", "multiply_", "no_grad", "number", "reduce_hook",
    "retain", "where",
]


def leaf(data):
    return paddle.to_tensor(data, dtype="float64", stop_gradient=False)


def number(value):
    return paddle.to_tensor(value, dtype="float64")


def count(value):
    return paddle.to_tensor(value, dtype="int64")


def add_(x, y):
    x.add_(y)


def multiply_(x, y):
    x.multiply_(y)


def reduce_hook(x, hook):
    x._register_backward_hook(hook)


def retain(x):
    x.retain_grads()


def backward(roots, seeds, retain_graph):
    paddle.autograd.backward(roots, [paddle.to_tensor(seed, dtype="float64") for seed in seeds], retain_graph)


def grad(output, inputs, create_graph):
    return paddle.grad([output], inputs, create_graph=create_graph, allow_unused=True)


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x * 0.3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * x * x * 0.9


def cube(x):
    return Cube.apply(x)
