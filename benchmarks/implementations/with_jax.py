"""JAX: jit of value_and_grad, with the update inside (donated parameters); scan: the LSTM as lax.scan."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.implementations import Built
from benchmarks.workloads import LEARNING_RATE, Workload


def _cross_entropy(z, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1).mean()


def tiny(p, i, m):
    return jnp.tanh(p["a"] * p["b"]).sum()


def mlp(p, i, m):
    h = jax.nn.relu(i["x"] @ p["W1"] + p["b1"])
    h = jax.nn.relu(h @ p["W2"] + p["b2"])
    return _cross_entropy(h @ p["W3"] + p["b3"], i["y"])


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _hook(x, function):
    return x


_hook.defvjp(lambda x, function: (x, None), lambda function, _, g: (function(g),))


def mlphook(p, i, m):
    h = _hook(jax.nn.relu(i["x"] @ p["W1"] + p["b1"]), lambda g: g * 0.5)
    h = jax.nn.relu(h @ _hook(p["W2"], lambda g: g * 2.0) + p["b2"])
    return _cross_entropy(h @ p["W3"] + p["b3"], i["y"])


def chain(p, i, m):
    x, w = p["x"], p["w"]
    u = x * w
    g = 0.5 * u * (1 + jnp.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u * u * u)))
    s = jax.nn.sigmoid(g)
    e = jnp.exp(-s * x)
    return (e * g + s).mean()


def _cell(p, h, c, x):
    a = x @ p["Wx"] + h @ p["Wh"] + p["b"]
    enter, forget, new, out = jnp.split(a, 4, 1)
    c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(new)
    return jax.nn.sigmoid(out) * jnp.tanh(c), c


def lstm(p, i, m):
    h = jnp.zeros((m["B"], m["H"]), jnp.float32)
    c = h
    for k in range(m["T"]):
        h, c = _cell(p, h, c, i["x"][k])
    return ((h - i["t"]) ** 2).mean()


def lstm_scan(p, i, m):
    zero = jnp.zeros((m["B"], m["H"]), jnp.float32)
    (h, _), _ = jax.lax.scan(lambda state, x: (_cell(p, *state, x), None), (zero, zero), i["x"])
    return ((h - i["t"]) ** 2).mean()


def power(p, i, m):
    """A scan over all turns that holds still once the tolerance is met: lax.while_loop has no reverse mode."""
    A = p["A"]

    def turn(state, _):
        v, change = state

        def go(v):
            u = A @ v
            u = u / jnp.sqrt((u * u).sum())
            return u, jax.lax.stop_gradient(jnp.abs(u - v).max())

        return jax.lax.cond(change > m["tol"], go, lambda v: (v, change), v), None

    (v, _), _ = jax.lax.scan(turn, (i["v"], jnp.float32(np.inf)), None, length=m["max_turns"])
    return (v * (A @ v)).sum()


def _convolution(x, w, b, padding):
    y = jax.lax.conv_general_dilated(
        x, w, (1, 1), [(padding, padding)] * 2, dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return y + b[None, :, None, None]


def _pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet(p, i, m):
    h = _pool(jax.nn.relu(_convolution(i["x"], p["C1"], p["c1"], 2)))
    h = _pool(jax.nn.relu(_convolution(h, p["C2"], p["c2"], 0)))
    h = h.reshape(h.shape[0], -1)
    h = jax.nn.relu(h @ p["F1"] + p["f1"])
    h = jax.nn.relu(h @ p["F2"] + p["f2"])
    return _cross_entropy(h @ p["F3"] + p["f3"], i["y"])


def _layer_norm(x, g, b):
    d = x - x.mean(-1, keepdims=True)
    return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g + b


def transformer(p, i, m):
    B, S, D, heads = m["B"], m["S"], m["D"], m["heads"]
    x = i["x"]
    parts = jnp.split(_layer_norm(x, p["g1"], p["e1"]) @ p["Wqkv"] + p["bqkv"], 3, -1)
    q, k, v = (part.reshape(B, S, heads, D // heads).transpose(0, 2, 1, 3) for part in parts)
    a = jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(D // heads)), -1)
    x = x + ((a @ v).transpose(0, 2, 1, 3).reshape(B, S, D) @ p["Wo"] + p["bo"])
    n = _layer_norm(x, p["g2"], p["e2"])
    y = x + (jax.nn.gelu(n @ p["W1"] + p["b1"], approximate=True) @ p["W2"] + p["b2"])
    return (y * i["t"]).mean()


def smln(p, i, m):
    return (jax.nn.softmax(_layer_norm(p["x"], p["g"], p["b"]), -1) * i["t"]).sum()


def build(w: Workload, variant: str) -> Built:
    forward = globals()[w.kind + ("_scan" if variant == "scan" else "")]
    inputs = {
        name: jnp.asarray(array, jnp.int32 if array.dtype.kind == "i" else None) for name, array in w.inputs.items()
    }
    meta = dict(w.meta)
    differentiated = jax.value_and_grad(lambda p, i: forward(p, i, meta))

    def trained(p, i):
        loss, grads = differentiated(p, i)
        return loss, jax.tree.map(lambda a, b: a - LEARNING_RATE * b, p, grads)

    compiled = jax.jit(differentiated)
    compiled_step = jax.jit(trained, donate_argnums=0) if w.train else compiled
    state = {name: jnp.asarray(array) for name, array in w.params.items()}

    def gradients() -> tuple[float, dict[str, Any]]:
        loss, found = compiled(state, inputs)
        return float(loss), {name: np.asarray(grad) for name, grad in found.items()}

    def step() -> None:
        nonlocal state
        if w.train:
            _, state = compiled_step(state, inputs)
            jax.block_until_ready(state)
        else:
            jax.block_until_ready(compiled_step(state, inputs))

    return Built(gradients, step, lambda: {name: np.array(param) for name, param in state.items()})
