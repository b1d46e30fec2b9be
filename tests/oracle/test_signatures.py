"""Names, argument names and defaults are those of Paddle, where it is installed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import d2s

from .calls import CALLS, Draw
from .calls_of_methods import PROGRAMS
from .peers import peer_named
from .test_calls import DIFFERENCES as OTHER_RESULTS
from .test_calls import function_of, parts_of, tensors_in

# Arguments that Paddle 3.3 has added for programs of another library.
NOT_TAKEN = {
    "out", "device", "requires_grad", "pin_memory", "name", "force_cpu", "dump_backward_graph_path",
}
# Names that take something else, or more.
DIFFERENCES = {
    "clear_grad": "may leave None instead of zeros", "one_hot": "takes a dtype",
    "scaled_dot_product_attention": "without the choice of a kernel", "silu": "not in place",
    "softmax": "the function of nn.functional", "softmax_with_cross_entropy": "without what belongs to kernels",
    "swapaxes": "two axes by name", "swapdims": "two axes by name", "dropout": "not in place",
}
# The same of classes and functions of modules, by the name of the module.
OF_MODULES = {
    "Tensor.clear_grad": "may leave None instead of zeros",
    "Tensor.dim": "of Paddle it is a function", "Tensor.ndimension": "of Paddle it is a function",
    "Tensor.tolist": "of Paddle it is a function", "nn.Parameter.cast_": "of Paddle it is a function",
    "enable_grad": "decorates without being called, too", "no_grad": "decorates without being called, too",
    "nn.Layer": "the default dtype is the default", "nn.RNNCellBase": "the default dtype is the default",
    "nn.Layer.astype": "there is nothing to do without a dtype", "nn.Layer.float": "every layer below",
    "nn.Layer.load_state_dict": "never puts other tensors in place", "nn.LayerList.pop": "the last one by default",
    "nn.MultiHeadAttention.gen_cache": "a class of its own", "nn.Parameter": "made of an array",
    "optimizer.Optimizer": "the base of all", "optimizer.lr.ReduceOnPlateau.step": "that of the base takes none",
    "io.DataLoader": "how worker processes begin", "static.Variable": "made by what builds a Program",
    "static.Variable.backward": "as of a Tensor", "static.Variable.clear_gradient": "may leave None",
    "static.Variable.set_value": "there are no scopes", "static.create_parameter": "float32 by default",
}
MODULES = ["nn", "nn.functional", "nn.initializer", "nn.utils", "optimizer", "optimizer.lr", "io", "metric",
           "regularizer", "autograd", "static", "static.nn", "jit", "linalg", "fft", "device"]


def parameters(function: Any) -> list[tuple[str, Any]] | None:
    """Names and defaults; None if there is nothing to see."""
    try:
        found = inspect.signature(inspect.unwrap(function)).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in found):
        return None
    return [(one.name, plain(one.default)) for one in found if one.name not in NOT_TAKEN]


def plain(default: Any) -> Any:
    """Defaults that mean the same compare equal."""
    if isinstance(default, list | tuple):
        return tuple(default)
    return "nothing" if default is inspect.Parameter.empty else default


def public() -> list[str]:
    return sorted(name for name in d2s.ops.__all__ if name not in DIFFERENCES)


@pytest.mark.parametrize("name", public())
def test_functions(name: str) -> None:
    peer_named("paddle")
    import paddle

    theirs = getattr(paddle, name, None) or getattr(paddle.nn.functional, name, None)
    if theirs is None or getattr(theirs, "__module__", "").startswith("paddle._C"):
        pytest.skip("not in Paddle")
    expected, found = parameters(theirs), parameters(getattr(d2s.ops, name))
    if expected is not None and found is not None:
        assert found == expected


METHODS = sorted(name for name in dir(d2s.Tensor) if not name.startswith("_"))


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    peer_named("paddle")
    import paddle

    theirs = getattr(paddle.Tensor, name, None)
    ours = getattr(d2s.Tensor, name)
    if theirs is None or not callable(theirs) or name in DIFFERENCES:
        pytest.skip("not in Paddle")
    expected, found = parameters(theirs), parameters(ours)
    if expected is not None and found is not None:
        # What the tensor itself is called cannot be seen.
        assert found[1:] == expected[1:]


def of_modules() -> Iterator[str]:
    """Functions and classes by the names that Paddle has for them, and the public methods of the classes."""
    found = [name for name in d2s.__all__ if name not in d2s.ops.__all__]
    for path in MODULES:
        module = importlib.import_module(f"d2s.{path}")
        found += [f"{path}.{name}" for name in getattr(module, "__all__", None) or dir(module)]
    for path in found:
        one = at(d2s, path)
        if inspect.isclass(one) and one.__module__.startswith("d2s") and path.endswith(one.__name__):
            yield path
            yield from (f"{path}.{name}" for name in vars(one) if not name.startswith("_") and callable(at(one, name)))
        elif inspect.isfunction(one) and not path.rpartition(".")[2].startswith("_"):
            yield path


def at(root: Any, path: str) -> Any:
    for name in path.split("."):
        root = getattr(root, name, None)
    return root


@pytest.mark.parametrize("path", sorted(set(of_modules())))
def test_classes_and_functions_of_modules(path: str) -> None:
    peer_named("paddle")
    import paddle

    theirs, ours = at(paddle, path), at(d2s, path)
    if theirs is None or (path.rpartition(".")[2] in DIFFERENCES and not inspect.isclass(ours)):
        pytest.skip("not in Paddle")
    if inspect.isclass(ours) and ours.__init__ is object.__init__:
        pytest.skip("made without arguments")
    expected, found = (parameters(one.__init__ if inspect.isclass(one) else one) for one in (theirs, ours))
    if expected is not None and found is not None:
        without_self = ([one for one in each if one[0] not in ("self", "cls")] for each in (expected, found))
        assert (next(without_self) == next(without_self)) is (path not in OF_MODULES)


def with_other_names() -> list[tuple[str, str, str]]:
    """Functions, parameters of theirs, and other names of these."""
    found = {
        (name.partition("|")[0], parameter, other)
        for name in CALLS if name not in PROGRAMS and not name.startswith("Tensor.")
        for other, parameter in getattr(function_of(d2s, name), "other_names", {}).items()}
    return sorted(found)


@pytest.mark.parametrize(("name", "parameter", "other"), with_other_names())
def test_other_names_of_arguments_are_those_of_paddle(name: str, parameter: str, other: str) -> None:
    peer_named("paddle")
    import paddle

    names = list(inspect.signature(function_of(d2s, name)).parameters)
    for case in (case for case in CALLS if case.partition("|")[0] == name and case not in OTHER_RESULTS):
        call = CALLS[case](Draw(0))
        given = dict(zip(names, call.args, strict=False)) | call.kwargs
        if parameter not in given or len(call.args) > len(names):
            continue
        renamed = {other if key == parameter else key: value for key, value in given.items()}
        results = []
        for module, arguments in ((d2s, given), (d2s, renamed), (paddle, renamed)):
            with np.errstate(all="ignore"):
                result = function_of(module, name)(**tensors_in(arguments, module.to_tensor, []))
            results.append([
                np.asarray(part.numpy()) for part in parts_of(result) if isinstance(part, module.Tensor)])
        for ours, same, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, same)
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        return
    pytest.skip("no call names it")
