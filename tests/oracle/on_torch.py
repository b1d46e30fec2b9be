"""What the programs need, from PyTorch."""

from __future__ import annotations

import torch
from torch import concat, no_grad, where

__all__ = [
    "add_", "backward", "concat", "count", "cube", "grad", "leaf", "multiply_", "no_grad", "number", "reduce_hook",
    "retain", "where",
]


def leaf(data):
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def count(value):
    return torch.tensor(value, dtype=torch.int64)


def add_(x, y):
    x.add_(y)


def multiply_(x, y):
    x.mul_(y)


def reduce_hook(x, hook):
    x.register_post_accumulate_grad_hook(lambda _: hook())


def retain(x):
    x.retain_grad()


def backward(roots, seeds, retain_graph):
    torch.autograd.backward(roots, [torch.tensor(seed, dtype=torch.float64) for seed in seeds], retain_graph)


def grad(output, inputs, create_graph):
    return torch.autograd.grad([output], inputs, create_graph=create_graph, allow_unused=True)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x * 0.3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * x * 0.9


def cube(x):
    return Cube.apply(x)
