"""PyTorch: eager in its best form (addmm, fused attention, foreach SGD), and torch.compile of the loss."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.implementations import Built
from benchmarks.workloads import LEARNING_RATE, Workload


def tiny(p, i, m):
    return torch.tanh(p["a"] * p["b"]).sum()


def mlp(p, i, m):
    h = torch.relu(torch.addmm(p["b1"], i["x"], p["W1"]))
    h = torch.relu(torch.addmm(p["b2"], h, p["W2"]))
    return F.cross_entropy(torch.addmm(p["b3"], h, p["W3"]), i["y"])


def mlphook(p, i, m):
    h = torch.relu(torch.addmm(p["b1"], i["x"], p["W1"]))
    h.register_hook(lambda g: g * 0.5)
    h = torch.relu(torch.addmm(p["b2"], h, p["W2"]))
    return F.cross_entropy(torch.addmm(p["b3"], h, p["W3"]), i["y"])


def chain(p, i, m):
    x, w = p["x"], p["w"]
    u = x * w
    g = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u * u * u)))
    s = torch.sigmoid(g)
    e = torch.exp(-s * x)
    return (e * g + s).mean()


def lstm(p, i, m):
    h = torch.zeros(m["B"], m["H"])
    c = torch.zeros(m["B"], m["H"])
    for k in range(m["T"]):
        a = i["x"][k] @ p["Wx"] + h @ p["Wh"] + p["b"]
        enter, forget, new, out = a.chunk(4, 1)
        c = torch.sigmoid(forget) * c + torch.sigmoid(enter) * torch.tanh(new)
        h = torch.sigmoid(out) * torch.tanh(c)
    return ((h - i["t"]) ** 2).mean()


def power(p, i, m):
    A, v = p["A"], i["v"]
    change, turns = torch.tensor(float("inf")), 0
    while change > m["tol"] and turns < m["max_turns"]:
        u = A @ v
        u = u / torch.sqrt((u * u).sum())
        change = (u - v).detach().abs().max()
        v = u
        turns += 1
    return (v * (A @ v)).sum()


def lenet(p, i, m):
    h = F.max_pool2d(F.relu(F.conv2d(i["x"], p["C1"], p["c1"], padding=2)), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, p["C2"], p["c2"])), 2)
    h = h.flatten(1)
    h = torch.relu(torch.addmm(p["f1"], h, p["F1"]))
    h = torch.relu(torch.addmm(p["f2"], h, p["F2"]))
    return F.cross_entropy(torch.addmm(p["f3"], h, p["F3"]), i["y"])


def transformer(p, i, m):
    B, S, D, heads = m["B"], m["S"], m["D"], m["heads"]
    x = i["x"]
    n = F.layer_norm(x, (D,), p["g1"], p["e1"])
    q, k, v = (n @ p["Wqkv"] + p["bqkv"]).view(B, S, 3, heads, D // heads).permute(2, 0, 3, 1, 4)
    o = F.scaled_dot_product_attention(q, k, v)
    x = x + (o.transpose(1, 2).reshape(B, S, D) @ p["Wo"] + p["bo"])
    n = F.layer_norm(x, (D,), p["g2"], p["e2"])
    y = x + (F.gelu(n @ p["W1"] + p["b1"], approximate="tanh") @ p["W2"] + p["b2"])
    return (y * i["t"]).mean()


def smln(p, i, m):
    return (F.softmax(F.layer_norm(p["x"], (m["width"],), p["g"], p["b"]), -1) * i["t"]).sum()


def build(w: Workload, variant: str) -> Built:
    forward = globals()[w.kind]
    params = {name: torch.tensor(array, requires_grad=True) for name, array in w.params.items()}
    inputs = {name: torch.tensor(array) for name, array in w.inputs.items()}
    meta = dict(w.meta)
    if w.kind == "mlphook":
        params["W2"].register_hook(lambda g: g * 2.0)
    if variant == "compile":
        forward = torch.compile(forward)
    tensors = list(params.values())

    def gradients() -> tuple[float, dict[str, Any]]:
        for tensor in tensors:
            tensor.grad = None
        loss = forward(params, inputs, meta)
        loss.backward()
        return loss.item(), {name: param.grad.numpy().copy() for name, param in params.items()}

    def step() -> None:
        for tensor in tensors:
            tensor.grad = None
        forward(params, inputs, meta).backward()
        if w.train:
            with torch.no_grad():
                torch._foreach_add_(tensors, [tensor.grad for tensor in tensors], alpha=-LEARNING_RATE)

    return Built(gradients, step, lambda: {name: param.detach().numpy().copy() for name, param in params.items()})
