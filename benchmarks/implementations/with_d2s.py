"""d2s: eager, static (the forward is decorated) and step (the whole training step is one static function)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import d2s
import d2s.nn.functional as F
from benchmarks.implementations import Built
from benchmarks.workloads import LEARNING_RATE, Workload


def lstm_turn(a: d2s.Tensor, c: d2s.Tensor) -> tuple[d2s.Tensor, d2s.Tensor]:
    """Output and state of an LSTM from what its gates get and the state before."""
    i, f, g, o = d2s.chunk(a, 4, 1)
    c = F.sigmoid(f) * c + F.sigmoid(i) * d2s.tanh(g)
    return F.sigmoid(o) * d2s.tanh(c), c


def forward_of(w: Workload, p: dict[str, d2s.Tensor]) -> Callable[..., d2s.Tensor]:
    """The loss of a workload, as a user writes it; parameters are captured, as in a Layer."""
    m = w.meta

    def tiny():
        return d2s.tanh(p["a"] * p["b"]).sum()

    def mlp(x, y):
        h = F.relu(d2s.matmul(x, p["W1"]) + p["b1"])
        h = F.relu(d2s.matmul(h, p["W2"]) + p["b2"])
        return F.cross_entropy(d2s.matmul(h, p["W3"]) + p["b3"], y)

    def mlphook(x, y):
        h = F.relu(d2s.matmul(x, p["W1"]) + p["b1"])
        h.register_hook(lambda g: g * 0.5)
        h = F.relu(d2s.matmul(h, p["W2"]) + p["b2"])
        return F.cross_entropy(d2s.matmul(h, p["W3"]) + p["b3"], y)

    def chain():
        x, w = p["x"], p["w"]
        u = x * w
        g = 0.5 * u * (1 + d2s.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u * u * u)))
        s = F.sigmoid(g)
        e = d2s.exp(-s * x)
        return (e * g + s).mean()

    def lstm(x, t):
        h = d2s.zeros([m["B"], m["H"]])
        c = d2s.zeros([m["B"], m["H"]])
        for k in range(m["T"]):
            a = d2s.matmul(x[k], p["Wx"]) + d2s.matmul(h, p["Wh"]) + p["b"]
            h, c = lstm_turn(a, c)
        return ((h - t) ** 2).mean()

    def power(v):
        A = p["A"]
        change = d2s.full([], 1e30)
        turns = 0
        while change > m["tol"] and turns < m["max_turns"]:
            u = d2s.matmul(A, v)
            u = u / d2s.sqrt((u * u).sum())
            change = (u - v).detach().abs().max()
            v = u
            turns = turns + 1
        return (v * d2s.matmul(A, v)).sum()

    def lenet(x, y):
        h = F.max_pool2d(F.relu(F.conv2d(x, p["C1"], p["c1"], padding=2)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, p["C2"], p["c2"])), 2)
        h = h.reshape([h.shape[0], 400])
        h = F.relu(d2s.matmul(h, p["F1"]) + p["f1"])
        h = F.relu(d2s.matmul(h, p["F2"]) + p["f2"])
        return F.cross_entropy(d2s.matmul(h, p["F3"]) + p["f3"], y)

    def transformer(x, t):
        B, S, D, heads = m["B"], m["S"], m["D"], m["heads"]
        n = F.layer_norm(x, [D], p["g1"], p["e1"])
        qkv = (d2s.matmul(n, p["Wqkv"]) + p["bqkv"]).reshape([B, S, 3, heads, D // heads])
        qkv = d2s.transpose(qkv, [2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        a = F.softmax(d2s.matmul(q, k, transpose_y=True) * (1 / math.sqrt(D // heads)), -1)
        r = d2s.transpose(d2s.matmul(a, v), [0, 2, 1, 3]).reshape([B, S, D])
        x = x + (d2s.matmul(r, p["Wo"]) + p["bo"])
        n = F.layer_norm(x, [D], p["g2"], p["e2"])
        y = x + (d2s.matmul(F.gelu(d2s.matmul(n, p["W1"]) + p["b1"], approximate=True), p["W2"]) + p["b2"])
        return (y * t).mean()

    def smln(t):
        return (F.softmax(F.layer_norm(p["x"], [m["width"]], p["g"], p["b"]), -1) * t).sum()

    return locals()[w.kind]


def build(w: Workload, variant: str) -> Built:
    params = {name: d2s.to_tensor(array, stop_gradient=False) for name, array in w.params.items()}
    inputs = [d2s.to_tensor(array) for array in w.inputs.values()]
    if w.kind == "mlphook":
        params["W2"].register_hook(lambda g: g * 2.0)
    optimizer = d2s.optimizer.SGD(LEARNING_RATE, parameters=list(params.values()))
    train = w.train
    forward = forward_of(w, params)

    def forward_backward(*inputs: Any) -> Any:
        loss = forward(*inputs)
        loss.backward()
        return loss

    def whole_step(*inputs: Any) -> Any:
        loss = forward(*inputs)
        loss.backward()
        if train:
            optimizer.step()
        optimizer.clear_grad()
        return loss

    if variant == "static":
        forward = d2s.to_static(forward)
    elif variant == "step":
        # The other libraries may add in any order too.
        strategy = d2s.static.BuildStrategy(batch_products=True)
        forward_backward = d2s.to_static(forward_backward, build_strategy=strategy)
        whole_step = d2s.to_static(whole_step, build_strategy=strategy)

    def gradients() -> tuple[float, dict[str, Any]]:
        loss = forward_backward(*inputs)
        found = {name: np.array(param.grad.numpy()) for name, param in params.items()}
        optimizer.clear_grad()
        return float(loss), found

    return Built(
        gradients, lambda: whole_step(*inputs),
        lambda: {name: np.array(param.numpy()) for name, param in params.items()})
