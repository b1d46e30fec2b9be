"""Layers and losses in random configurations: static mode against eager mode, and eager mode against PaddlePaddle."""

from __future__ import annotations

import inspect
import os
import warnings
import zlib

import numpy as np
import pytest

import d2s

from . import layer_cases, loss_cases, user_layer_cases
from .peers import INSTALL, importable

# How many configurations of each; and of those behind them, all that have a layer which none before has.
SEEDS = {"dev": 2, "ci": 10, "nightly": 40}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]
SEARCHED = 40
WITHOUT_WEIGHT = layer_cases.CASES | user_layer_cases.CASES


def drawn(name, seed):
    """How to make the layer of a case, and its inputs."""
    r = np.random.default_rng([zlib.crc32(name.encode()), seed])
    if name in WITHOUT_WEIGHT:
        return *WITHOUT_WEIGHT[name](r), None
    return loss_cases.CASES[name](r)


class Anything:
    """In place of a layer that nobody calls."""

    def __call__(self, *args, **kwargs):
        return self

    def __getattr__(self, name):
        return self


class Asked:
    """In place of `nn`: notes which names of it a case uses to make its layer."""

    def __init__(self, makes_layers):
        self.makes_layers, self.names = makes_layers, set()

    def __getattr__(self, name):
        self.names.add(name)
        return getattr(d2s.nn, name) if self.makes_layers else Anything()


def asked(name, seed):
    make, _, weight = drawn(name, seed)
    nn = Asked(name in user_layer_cases.CASES)
    make(nn) if weight is None else make(nn, weight)
    return nn.names


def chosen():
    found, seen = [], set()
    for name in (*WITHOUT_WEIGHT, *loss_cases.CASES):
        for seed in range(max(SEEDS, SEARCHED)):
            new = asked(name, seed) - seen
            if new or seed < SEEDS:
                found.append((name, seed))
                seen |= new
    return found, seen


CONFIGURATIONS, ALL_ASKED = chosen()
# Paddle has none that runs on a CPU.
OF_TORCH = {"RMSNorm"}


def test_every_layer_is_called():
    classes = {name: value for name, value in vars(d2s.nn).items() if name in d2s.nn.__all__ and inspect.isclass(value)}
    called = {value for name, value in classes.items() if name in ALL_ASKED}
    missing = {name for name, value in classes.items() if issubclass(value, d2s.nn.Layer) and value not in called}
    assert {classes[name] for name in missing} == {classes[name] for name in OF_TORCH}


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


@pytest.mark.parametrize(("name", "seed"), CONFIGURATIONS)
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


@pytest.mark.parametrize(("name", "seed"), CONFIGURATIONS)
def test_eager_is_paddle(name, seed, paddle):
    make, inputs, weight = drawn(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Seen(paddle, make, inputs, weight)
    ours = Seen(d2s, make, inputs, weight, theirs.before)
    assert_alike(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [[4], [3, 4], [2, 3, 4]])
def test_rms_norm_is_torch(shape):
    if not importable("torch"):
        pytest.skip(f"pip install {INSTALL['torch']}")
    import torch

    r = np.random.default_rng(len(shape))
    x, weight, grad = r.standard_normal((2, 3, 4)), r.standard_normal(shape), r.standard_normal((2, 3, 4))
    layer = d2s.nn.RMSNorm(shape, 1e-3).double()
    layer.weight.set_value(weight)
    ours = d2s.to_tensor(x, stop_gradient=False)
    result = layer(ours)
    result.backward(d2s.to_tensor(grad))
    theirs, scale = torch.tensor(x, requires_grad=True), torch.tensor(weight, requires_grad=True)
    expected = torch.nn.functional.rms_norm(theirs, shape, scale, 1e-3)
    expected.backward(torch.tensor(grad))
    for mine, other in ((result, expected.detach()), (ours.grad, theirs.grad), (layer.weight.grad, scale.grad)):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-12)
