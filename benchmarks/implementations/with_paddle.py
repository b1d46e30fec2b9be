"""Paddle: dygraph, and to_static of the forward (``full_graph=True``: its transpiler of source code)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import paddle
import paddle.nn.functional as F

from benchmarks.implementations import Built
from benchmarks.workloads import LEARNING_RATE, Workload

paddle.set_device("cpu")


def forward_of(w: Workload, p: dict[str, Any]) -> Callable[..., Any]:
    """The loss of a workload; parameters are captured, as in a Layer."""
    m = w.meta

    def tiny():
        return paddle.tanh(p["a"] * p["b"]).sum()

    def mlp(x, y):
        h = F.relu(paddle.matmul(x, p["W1"]) + p["b1"])
        h = F.relu(paddle.matmul(h, p["W2"]) + p["b2"])
        return F.cross_entropy(paddle.matmul(h, p["W3"]) + p["b3"], y)

    def mlphook(x, y):
        h = F.relu(paddle.matmul(x, p["W1"]) + p["b1"])
        h.register_hook(lambda g: g * 0.5)
        h = F.relu(paddle.matmul(h, p["W2"]) + p["b2"])
        return F.cross_entropy(paddle.matmul(h, p["W3"]) + p["b3"], y)

    def chain():
        x, w = p["x"], p["w"]
        u = x * w
        g = 0.5 * u * (1 + paddle.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u * u * u)))
        s = F.sigmoid(g)
        e = paddle.exp(-s * x)
        return (e * g + s).mean()

    def lstm(x, t):
        h = paddle.zeros([m["B"], m["H"]])
        c = paddle.zeros([m["B"], m["H"]])
        for k in range(m["T"]):
            a = paddle.matmul(x[k], p["Wx"]) + paddle.matmul(h, p["Wh"]) + p["b"]
            i, f, g, o = paddle.chunk(a, 4, 1)
            c = F.sigmoid(f) * c + F.sigmoid(i) * paddle.tanh(g)
            h = F.sigmoid(o) * paddle.tanh(c)
        return ((h - t) ** 2).mean()

    def power(v):
        A = p["A"]
        change = paddle.full([], 1e30)
        turns = paddle.full([], 0, "int32")
        while change > m["tol"] and turns < m["max_turns"]:
            u = paddle.matmul(A, v)
            u = u / paddle.sqrt((u * u).sum())
            change = (u - v).detach().abs().max()
            v = u
            turns = turns + 1
        return (v * paddle.matmul(A, v)).sum()

    def lenet(x, y):
        h = F.max_pool2d(F.relu(F.conv2d(x, p["C1"], p["c1"], padding=2)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, p["C2"], p["c2"])), 2)
        h = paddle.flatten(h, 1)
        h = F.relu(paddle.matmul(h, p["F1"]) + p["f1"])
        h = F.relu(paddle.matmul(h, p["F2"]) + p["f2"])
        return F.cross_entropy(paddle.matmul(h, p["F3"]) + p["f3"], y)

    def transformer(x, t):
        B, S, D, heads = m["B"], m["S"], m["D"], m["heads"]
        n = F.layer_norm(x, [D], p["g1"], p["e1"])
        qkv = (paddle.matmul(n, p["Wqkv"]) + p["bqkv"]).reshape([B, S, 3, heads, D // heads])
        qkv = qkv.transpose([2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        a = F.softmax(paddle.matmul(q, k, transpose_y=True) * (1 / math.sqrt(D // heads)), -1)
        o = paddle.matmul(a, v).transpose([0, 2, 1, 3]).reshape([B, S, D])
        x = x + (paddle.matmul(o, p["Wo"]) + p["bo"])
        n = F.layer_norm(x, [D], p["g2"], p["e2"])
        y = x + (paddle.matmul(F.gelu(paddle.matmul(n, p["W1"]) + p["b1"], approximate=True), p["W2"]) + p["b2"])
        return (y * t).mean()

    def smln(t):
        return (F.softmax(F.layer_norm(p["x"], [m["width"]], p["g"], p["b"]), -1) * t).sum()

    return locals()[w.kind]


def build(w: Workload, variant: str) -> Built:
    params = {
        name: paddle.create_parameter(
            array.shape, "float32", default_initializer=paddle.nn.initializer.Assign(array))
        for name, array in w.params.items()
    }
    inputs = [paddle.to_tensor(array) for array in w.inputs.values()]
    forward = forward_of(w, params)
    if w.kind == "mlphook":
        params["W2"].register_hook(lambda g: g * 2.0)
    if variant == "static":
        forward = paddle.jit.to_static(forward, full_graph=True)
    optimizer = paddle.optimizer.SGD(LEARNING_RATE, parameters=list(params.values()))

    def gradients() -> tuple[float, dict[str, Any]]:
        loss = forward(*inputs)
        loss.backward()
        found = {name: param.grad.numpy().copy() for name, param in params.items()}
        optimizer.clear_grad(set_to_zero=False)
        return float(loss), found

    def step() -> None:
        forward(*inputs).backward()
        if w.train:
            optimizer.step()
        optimizer.clear_grad(set_to_zero=False)

    return Built(gradients, step, lambda: {name: param.numpy().copy() for name, param in params.items()})
