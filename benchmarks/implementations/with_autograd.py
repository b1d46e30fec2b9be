"""HIPS autograd: value_and_grad of a NumPy function, and SGD in place."""

from __future__ import annotations

from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd import value_and_grad
from autograd.extend import defvjp, primitive
from autograd.tracer import getval

from benchmarks.implementations import Built
from benchmarks.workloads import LEARNING_RATE, Workload

f32 = np.float32


def _cross_entropy(z, y):
    z = z - anp.max(z, axis=1, keepdims=True)
    total = anp.log(anp.sum(anp.exp(z), axis=1))
    return anp.mean(total - z[np.arange(len(y)), y])


def _relu(x):
    return anp.maximum(x, f32(0))


def _sigmoid(x):
    return f32(1) / (f32(1) + anp.exp(-x))


def tiny(p, i, m):
    return anp.sum(anp.tanh(p["a"] * p["b"]))


def mlp(p, i, m):
    h = _relu(anp.dot(i["x"], p["W1"]) + p["b1"])
    h = _relu(anp.dot(h, p["W2"]) + p["b2"])
    return _cross_entropy(anp.dot(h, p["W3"]) + p["b3"], i["y"])


@primitive
def _half(x):
    return x


@primitive
def _twice(x):
    return x


defvjp(_half, lambda ans, x: lambda g: g * f32(0.5))
defvjp(_twice, lambda ans, x: lambda g: g * f32(2))


def mlphook(p, i, m):
    h = _half(_relu(anp.dot(i["x"], p["W1"]) + p["b1"]))
    h = _relu(anp.dot(h, _twice(p["W2"])) + p["b2"])
    return _cross_entropy(anp.dot(h, p["W3"]) + p["b3"], i["y"])


def _gelu(u):
    return f32(0.5) * u * (f32(1) + anp.tanh(f32(np.sqrt(2 / np.pi)) * (u + f32(0.044715) * u * u * u)))


def chain(p, i, m):
    x, w = p["x"], p["w"]
    g = _gelu(x * w)
    s = _sigmoid(g)
    e = anp.exp(-s * x)
    return anp.mean(e * g + s)


def lstm(p, i, m):
    H = m["H"]
    h = np.zeros((m["B"], H), np.float32)
    c = h
    for k in range(m["T"]):
        a = anp.dot(i["x"][k], p["Wx"]) + anp.dot(h, p["Wh"]) + p["b"]
        c = _sigmoid(a[:, H:2 * H]) * c + _sigmoid(a[:, :H]) * anp.tanh(a[:, 2 * H:3 * H])
        h = _sigmoid(a[:, 3 * H:]) * anp.tanh(c)
    return anp.mean((h - i["t"]) ** 2)


def power(p, i, m):
    A, v = p["A"], i["v"]
    turns, change = 0, np.inf
    while change > m["tol"] and turns < m["max_turns"]:
        u = anp.dot(A, v)
        u = u / anp.sqrt(anp.sum(u * u))
        change = np.abs(getval(u) - getval(v)).max()
        v = u
        turns += 1
    return anp.sum(v * anp.dot(A, v))


def _layer_norm(x, g, b):
    d = x - anp.mean(x, axis=-1, keepdims=True)
    return d / anp.sqrt(anp.mean(d * d, axis=-1, keepdims=True) + f32(1e-5)) * g + b


def _softmax(x):
    e = anp.exp(x - anp.max(x, axis=-1, keepdims=True))
    return e / anp.sum(e, axis=-1, keepdims=True)


def transformer(p, i, m):
    B, S, D, heads = m["B"], m["S"], m["D"], m["heads"]
    x = i["x"]
    qkv = anp.dot(_layer_norm(x, p["g1"], p["e1"]), p["Wqkv"]) + p["bqkv"]
    qkv = anp.transpose(anp.reshape(qkv, (B, S, 3, heads, D // heads)), (2, 0, 3, 1, 4))
    q, k, v = qkv[0], qkv[1], qkv[2]
    a = _softmax(anp.matmul(q, anp.swapaxes(k, -1, -2)) * f32(1 / np.sqrt(D // heads)))
    o = anp.reshape(anp.transpose(anp.matmul(a, v), (0, 2, 1, 3)), (B, S, D))
    x = x + (anp.dot(o, p["Wo"]) + p["bo"])
    n = _layer_norm(x, p["g2"], p["e2"])
    y = x + (anp.dot(_gelu(anp.dot(n, p["W1"]) + p["b1"]), p["W2"]) + p["b2"])
    return anp.mean(y * i["t"])


def smln(p, i, m):
    return anp.sum(_softmax(_layer_norm(p["x"], p["g"], p["b"])) * i["t"])


def build(w: Workload, variant: str) -> Built:
    forward = globals()[w.kind]
    params = {name: array.copy() for name, array in w.params.items()}
    differentiated = value_and_grad(lambda p: forward(p, w.inputs, w.meta))

    def gradients() -> tuple[float, dict[str, Any]]:
        loss, found = differentiated(params)
        return float(loss), found

    def step() -> None:
        _, found = differentiated(params)
        if w.train:
            for name, param in params.items():
                param -= f32(LEARNING_RATE) * found[name]

    return Built(gradients, step, lambda: {name: param.copy() for name, param in params.items()})
