"""The workloads: data, parameters and meaning of every benchmark.

Each implementation gets the same float32 arrays from `make(name)` and must give the same loss and gradients.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LEARNING_RATE = 1e-3


@dataclasses.dataclass
class Workload:
    """One benchmark.

    Attributes
    ----------
    name, about : str
    kind : str
        What is computed; several workloads may do the same on other sizes.
    params : dict of arrays
        Differentiated; with `train` also changed by stochastic gradient descent.
    inputs : dict of arrays
        Not differentiated.
    meta : dict
        Sizes and other numbers that the computation needs.
    tolerance : float
        On the greatest difference of a gradient from the reference, relative to the greatest gradient.
    """

    name: str
    about: str
    kind: str
    params: dict[str, Array]
    inputs: dict[str, Array]
    train: bool = True
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)
    tolerance: float = 2e-3


def _float(array: Any) -> Array:
    return np.ascontiguousarray(array, dtype=np.float32)


def _tiny(small: bool) -> Workload:
    r = np.random.default_rng(0)
    return Workload(
        "tiny", "sum(tanh(a * b)) of 4 elements, forward and backward: overhead of dispatch", "tiny",
        {"a": _float(r.standard_normal(4)), "b": _float(r.standard_normal(4))}, {}, train=False)


def _mlp(name: str, batch: int, about: str, kind: str = "mlp") -> Callable[[bool], Workload]:
    def make(small: bool) -> Workload:
        r = np.random.default_rng(1)
        sizes = [12, 8, 6, 4] if small else [784, 256, 128, 10]
        count = 5 if small else batch
        params = {}
        for i in range(3):
            weight = r.standard_normal((sizes[i], sizes[i + 1])) * np.sqrt(2.0 / sizes[i])
            params[f"W{i + 1}"] = _float(weight)
            params[f"b{i + 1}"] = _float(r.standard_normal(sizes[i + 1]) * 0.01)
        labels = r.integers(0, sizes[-1], count).astype(np.int64)
        inputs = {"x": _float(r.standard_normal((count, sizes[0]))), "y": labels}
        return Workload(name, about, kind, params, inputs)

    return make


def _chain(name: str, count: int) -> Callable[[bool], Workload]:
    def make(small: bool) -> Workload:
        r = np.random.default_rng(2)
        n = 50 if small else count
        return Workload(
            name, f"12 elementwise operations on {count:,} elements, gradients of both operands", "chain",
            {"x": _float(r.standard_normal(n)), "w": _float(r.standard_normal(n))}, {}, train=False)

    return make


def _lstm(small: bool) -> Workload:
    r = np.random.default_rng(3)
    T, B, I, H = (4, 3, 5, 6) if small else (32, 32, 128, 128)  # noqa: E741
    s = 1 / np.sqrt(H)
    return Workload(
        "lstm", "LSTM cell in a Python loop: 32 steps, batch 32, 128 inputs and units, SGD", "lstm",
        {"Wx": _float(r.uniform(-s, s, (I, 4 * H))), "Wh": _float(r.uniform(-s, s, (H, 4 * H))),
         "b": _float(r.uniform(-s, s, 4 * H))},
        {"x": _float(r.standard_normal((T, B, I))), "t": _float(r.standard_normal((B, H)))},
        meta={"T": T, "B": B, "I": I, "H": H})


def _power(small: bool) -> Workload:
    """Iteration until the vector changes by less than a tolerance, which is met after 50 turns (small: 10)."""
    r = np.random.default_rng(4)
    n, turns = (8, 10) if small else (64, 50)
    q, _ = np.linalg.qr(r.standard_normal((n, n)))
    values = np.concatenate([[1.0, 0.85], np.linspace(0.7, 0.05, n - 2)])
    A = _float((q * values) @ q.T)
    v = r.standard_normal(n)
    v = _float(v / np.linalg.norm(v))
    A64, u = A.astype(np.float64), v.astype(np.float64)
    changes = []
    for _ in range(turns):
        w = A64 @ u
        w /= np.linalg.norm(w)
        changes.append(np.abs(w - u).max())
        u = w
    tolerance = float(np.sqrt(changes[turns - 2] * changes[turns - 1]))
    return Workload(
        "power", "power iteration: a while loop that depends on data, 50 turns on 64x64, gradient of the matrix",
        "power", {"A": A}, {"v": v}, train=False, meta={"tol": tolerance, "max_turns": 100})


def _lenet(small: bool) -> Workload:
    r = np.random.default_rng(5)
    batch = 2 if small else 64

    def he(*shape: int, fan: int) -> Array:
        return _float(r.standard_normal(shape) * np.sqrt(2.0 / fan))

    params = {
        "C1": he(6, 1, 5, 5, fan=25), "c1": _float(np.full(6, 0.01)),
        "C2": he(16, 6, 5, 5, fan=150), "c2": _float(np.full(16, 0.01)),
        "F1": he(400, 120, fan=400), "f1": _float(np.zeros(120)),
        "F2": he(120, 84, fan=120), "f2": _float(np.zeros(84)),
        "F3": he(84, 10, fan=84), "f3": _float(np.zeros(10)),
    }
    inputs = {"x": _float(r.standard_normal((batch, 1, 28, 28))), "y": r.integers(0, 10, batch).astype(np.int64)}
    return Workload(
        "lenet", "LeNet-5 on 28x28, batch 64: two convolutions with pooling, three linear layers, SGD", "lenet",
        params, inputs, tolerance=5e-3)


def _transformer(small: bool) -> Workload:
    r = np.random.default_rng(6)
    B, S, D, heads, hidden = (2, 3, 8, 2, 12) if small else (8, 64, 128, 4, 512)

    def weight(*shape: int) -> Array:
        return _float(r.standard_normal(shape) / np.sqrt(shape[0]))

    params = {
        "g1": _float(np.ones(D)), "e1": _float(np.zeros(D)),
        "Wqkv": weight(D, 3 * D), "bqkv": _float(np.zeros(3 * D)),
        "Wo": weight(D, D), "bo": _float(np.zeros(D)),
        "g2": _float(np.ones(D)), "e2": _float(np.zeros(D)),
        "W1": weight(D, hidden), "b1": _float(np.zeros(hidden)),
        "W2": weight(hidden, D), "b2": _float(np.zeros(D)),
    }
    return Workload(
        "transformer", "pre-norm transformer block: width 128, 4 heads, 64 positions, batch 8, SGD", "transformer",
        params, {"x": _float(r.standard_normal((B, S, D))), "t": _float(r.standard_normal((B, S, D)))},
        meta={"B": B, "S": S, "D": D, "heads": heads, "hidden": hidden})


def _norm_softmax(small: bool) -> Workload:
    r = np.random.default_rng(7)
    rows, width = (6, 16) if small else (4096, 512)
    return Workload(
        "smln", "sum(softmax(layer_norm(x)) * t) on 4096x512, gradients of x and of the affine parameters", "smln",
        {"x": _float(r.standard_normal((rows, width))), "g": _float(1 + 0.1 * r.standard_normal(width)),
         "b": _float(0.1 * r.standard_normal(width))},
        {"t": _float(r.standard_normal((rows, width)))}, train=False, meta={"width": width})


_MLP = "MLP 784-256-128-10, softmax cross entropy, SGD, batch"
_HOOKS = "mlp64 with gradient hooks on an activation (g * 0.5) and on a weight (g * 2)"

ALL: dict[str, Callable[[bool], Workload]] = {
    "tiny": _tiny,
    "mlp64": _mlp("mlp64", 64, f"{_MLP} 64"),
    "mlp512": _mlp("mlp512", 512, f"{_MLP} 512"),
    "mlphook": _mlp("mlphook", 64, _HOOKS, "mlphook"),
    "chain10k": _chain("chain10k", 10_000),
    "chain1m": _chain("chain1m", 1_000_000),
    "smln": _norm_softmax,
    "lstm": _lstm,
    "power": _power,
    "lenet": _lenet,
    "transformer": _transformer,
}


def make(name: str, small: bool = False) -> Workload:
    """The workload of that name; with `small`, of sizes for a test."""
    return ALL[name](small)
