"""Layers and losses in random configurations: static mode against eager mode, and eager mode against PaddlePaddle."""

from __future__ import annotations

import os
import warnings
import zlib

import numpy as np
import pytest

import d2s

from . import layer_cases, loss_cases
from .peers import INSTALL, importable

# How many configurations of each.
SEEDS = {"dev": 2, "ci": 10, "nightly": 40}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]
LAYERS = [(name, seed) for name in layer_cases.CASES for seed in range(SEEDS)]
LOSSES = [(name, seed) for name in loss_cases.CASES for seed in range(SEEDS)]


def drawn(name, seed):
    """How to make the layer of a case, and its inputs."""
    r = np.random.default_rng([zlib.crc32(name.encode()), seed])
    if name in layer_cases.CASES:
        return *layer_cases.CASES[name](r), None
    return loss_cases.CASES[name](r)


def flat(tree):
    """The tensors or arrays in nested lists and tuples."""
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, list | tuple) else [tree]


def mapped(function, tree):
    return type(tree)(mapped(function, part) for part in tree) if isinstance(tree, list | tuple) else function(tree)


class Seen:
    """What a layer gave: outputs, gradients of inputs and parameters, and its state afterwards."""

    def __init__(self, library, make, inputs, weight, state=None, convert=lambda layer: layer):
        library.set_default_dtype("float64")
        try:
            layer = make(library.nn) if weight is None else make(library.nn, library.to_tensor(weight))
            self.run(library, layer, inputs, state, convert)
        finally:
            library.set_default_dtype("float32")

    def run(self, library, layer, inputs, state, convert):
        if state is not None:
            own = layer.state_dict()
            assert own.keys() <= state.keys()
            layer.set_state_dict({name: state[name] for name in own})
        self.before = {name: tensor.numpy().copy() for name, tensor in layer.state_dict().items()}

        def tensor(array):
            if array is None:
                return None
            is_fixed = isinstance(array, layer_cases.Fixed) or array.dtype.kind != "f"
            return library.to_tensor(np.asarray(array), stop_gradient=is_fixed)

        tensors = mapped(tensor, inputs)
        outputs = [output for output in flat(convert(layer)(*tensors)) if output is not None]
        loss = 0
        for place, output in enumerate(outputs):
            if output.numpy().dtype.kind == "f":
                factors = np.cos(np.arange(output.numpy().size) + place).reshape(output.numpy().shape)
                loss = loss + (output * library.to_tensor(factors)).sum()
        loss.backward()
        self.outputs = [output.numpy() for output in outputs]
        leaves = [leaf for leaf in flat(tensors) if leaf is not None and not leaf.stop_gradient]
        self.of_inputs = [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
        self.of_parameters = {
            name: None if parameter.grad is None else parameter.grad.numpy()
            for name, parameter in layer.named_parameters()
            if not parameter.stop_gradient
        }
        self.after = {name: tensor.numpy() for name, tensor in layer.state_dict().items()}

    def parts(self):
        yield from ((f"output {place}", value) for place, value in enumerate(self.outputs))
        yield from ((f"gradient of input {place}", value) for place, value in enumerate(self.of_inputs))
        yield from ((f"gradient of {name}", value) for name, value in sorted(self.of_parameters.items()))


def assert_alike(one, other, **tolerance):
    ours, theirs = list(one.parts()), list(other.parts())
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    for (name, a), (_, b) in zip(ours, theirs, strict=True):
        if a is None or b is None:
            assert a is b is None or not np.any(b if a is None else a), f"{name}: {a} against {b}"
            continue
        assert a.shape == b.shape, f"{name}: shape {a.shape} against {b.shape}"
        np.testing.assert_allclose(a, b, err_msg=name, **tolerance)
    for name, value in one.after.items():
        np.testing.assert_allclose(value, other.after[name], err_msg=name, **tolerance)


@pytest.mark.parametrize(("name", "seed"), LAYERS + LOSSES)
def test_static_is_eager(name, seed):
    make, inputs, weight = drawn(name, seed)
    eager = Seen(d2s, make, inputs, weight)
    static = Seen(d2s, make, inputs, weight, eager.before, d2s.to_static)
    assert_alike(static, eager, rtol=0, atol=0)


@pytest.fixture(scope="module")
def paddle():
    if not importable("paddle"):
        pytest.skip(f"pip install {INSTALL['paddle']}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import paddle

        paddle.nn.Upsample  # noqa: B018 - loads all of it
    return paddle


@pytest.mark.parametrize(("name", "seed"), LAYERS + LOSSES)
def test_eager_is_paddle(name, seed, paddle):
    make, inputs, weight = drawn(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Seen(paddle, make, inputs, weight)
    ours = Seen(d2s, make, inputs, weight, theirs.before)
    assert_alike(ours, theirs, rtol=1e-5, atol=1e-6)
