"""Public functions of d2s on random arguments: against Paddle eager where it is installed, and in both modes.

Values, shapes, dtypes and gradients are compared.  Where d2s differs on purpose, `DIFFERENCES` says so, and
docs/paddle_differences.md tells the user.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.errors import TracingError

from . import (  # noqa: F401
    calls_of_creation,
    calls_of_dtypes,
    calls_of_elementwise,
    calls_of_matrices,
    calls_of_methods,
    calls_of_nn,
    calls_of_reductions,
    calls_of_shapes,
)
from .calls import CALLS, Array, Call, Draw
from .calls_of_methods import PROGRAMS
from .peers import peer_named

EXAMPLES = 12

DIFFERENCES = {
    "diag_embed": "Paddle gives no gradient",
    "isclose": "Paddle does not broadcast",
    "linalg.eigh": "the gradient of Paddle of a batch is wrong",
    "linalg.eigvalsh": "the gradient of Paddle is that of one triangle, and of a batch is wrong",
    "linalg.triangular_solve": "the gradient of Paddle has wrong numbers",
    "Tensor.__copy__": "of Paddle without history",
    "Tensor.__dlpack_device__": "of Paddle an error",
    "Tensor.__setitem__": "the gradient of Paddle of one number written at the places of a mask is 0",
    "Tensor.copy_": "Paddle has no gradient of what is copied",
    "Tensor.__floordiv__|number": "of an int32 tensor of no axes and a float Paddle makes one axis",
    "mean|whole": "the mean of integers is a float, as in NumPy, not an integer",
    "neg|whole": "bools have no negative",
    "sum|whole": "the sum of uint8 is int64, as that of other integers, and does not overflow",
    "var|whole": "the variance of integers is a float",
    "prod|complex": "the gradient of Paddle lacks a conjugate",
    "nn.functional.hardshrink|corners": "Paddle has a slope at the threshold, where the result is 0",
    "nn.functional.gaussian_nll_loss": "Paddle has no gradient of the variance",
    "meshgrid": "Paddle cannot differentiate the meshgrid of one vector",
}


def function_of(module: Any, name: str) -> Callable[..., Any]:
    """The function called `name`; what follows a bar says what it is called with."""
    return PROGRAMS[name] if name in PROGRAMS else public(module, name)


def public(module: Any, name: str) -> Any:
    """What is called `name`, without regard to programs."""
    for part in name.partition("|")[0].split("."):
        module = getattr(module, part)
    return module


def tensors_in(tree: Any, make: Callable[[Any], Any], made: list[Any]) -> Any:
    """`tree` with a tensor for each `Array`; the tensors go to `made`."""
    if isinstance(tree, Array):
        made.append(make(tree.data))
        if tree.stops:
            made[-1].stop_gradient = True
        return made[-1]
    if isinstance(tree, list | tuple):
        return type(tree)(tensors_in(part, make, made) for part in tree)
    if isinstance(tree, dict):
        return {key: tensors_in(part, make, made) for key, part in tree.items()}
    return tree


def parts_of(result: Any) -> Iterator[Any]:
    if isinstance(result, list | tuple):
        for part in result:
            yield from parts_of(part)
    else:
        yield result


def outcome(module: Any, function: Callable[..., Any], call: Call) -> Any:
    """(dtype, array) of every result, and the gradients of every array; or the text of the error."""
    leaves: list[Any] = []

    def make(data: Any) -> Any:
        tensor = module.to_tensor(data)
        tensor.stop_gradient = data.dtype.kind not in "fc"
        return tensor

    args, kwargs = tensors_in(call.args, make, leaves), tensors_in(call.kwargs, make, leaves)
    try:
        result = function(*args, **kwargs)
        parts = list(parts_of(result))
        rng, total = np.random.default_rng(0), None
        for part in parts:
            if isinstance(part, module.Tensor) and not part.stop_gradient:
                array = np.asarray(part.numpy())
                if array.size and array.dtype.kind in "fc" and array.dtype != np.float16:
                    weight = module.to_tensor(rng.uniform(0.5, 1.5, array.shape).astype(array.dtype))
                    term = (part * weight).sum()
                    term = term if array.dtype.kind == "f" else term.real() + term.imag()
                    total = term if total is None else total + term.astype(total.dtype)
        if total is not None:
            total.backward()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    seen = [part.numpy() if isinstance(part, module.Tensor) else part for part in parts]
    grads = [None if leaf.stop_gradient or leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
    return seen, grads


def difference(ours: Any, theirs: Any) -> str | None:
    """What differs, as text."""
    if isinstance(theirs, str) and re.search("not registered|must be (Tensor|one of)|dtype of input", theirs):
        # Paddle has no kernel for this dtype.
        return None
    if isinstance(ours, str) or isinstance(theirs, str):
        both = isinstance(ours, str) and isinstance(theirs, str)
        return None if both else f"d2s gives {ours}, Paddle {theirs}"
    for what, mine, other in (("result", ours[0], theirs[0]), ("gradient", ours[1], theirs[1])):
        if len(mine) != len(other):
            return f"{len(mine)} {what}s, Paddle {len(other)}"
        for one, two in zip(mine, other, strict=True):
            if one is None or two is None:
                if one is not two and np.any(np.asarray(two if one is None else one)):
                    return f"{what} {one}, Paddle {two}"
                continue
            if isinstance(one, str) or isinstance(two, str):
                if one != two:
                    return f"{what} {one}, Paddle {two}"
                continue
            one, two = np.asarray(one), np.asarray(two)
            if (one.dtype, one.shape) != (two.dtype, two.shape):
                return f"{what} {one.dtype}{list(one.shape)}, Paddle {two.dtype}{list(two.shape)}"
            tolerance = (
                2e-3 if one.dtype == np.float16 else 2e-5 if one.dtype.itemsize % 8 or one.dtype.kind == "c" else 1e-6
            )
            if not np.allclose(one, two, rtol=tolerance, atol=tolerance, equal_nan=True):
                return f"{what} {one.tolist()}, Paddle {two.tolist()}"
    return None


@pytest.mark.parametrize("name", sorted(CALLS))
def test_like_paddle(name: str) -> None:
    peer_named("paddle")
    import paddle

    found = []
    for seed in range(EXAMPLES):
        call = CALLS[name](Draw(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = outcome(d2s, function_of(d2s, name), call)
            theirs = outcome(paddle, function_of(paddle, name), call)
        differs = difference(ours, theirs)
        if differs is not None:
            found.append(f"{call}: {differs}")
    if name in DIFFERENCES:
        assert found, "it does not differ any more"
    else:
        assert not found, "\n".join(found)


# What a symbol has no answer to.
REFUSED_IN_STATIC_MODE = {"Tensor.__dlpack_device__"}


@pytest.mark.parametrize("name", sorted(CALLS.keys() - REFUSED_IN_STATIC_MODE))
def test_in_both_modes(name: str) -> None:
    function = function_of(d2s, name)
    for seed in range(EXAMPLES // 4):
        call = CALLS[name](Draw(seed))
        static = d2s.jit.to_static(lambda *args, **kwargs: function(*args, **kwargs))
        eager, traced = outcome(d2s, function, call), outcome(d2s, static, call)
        if isinstance(eager, str):
            assert isinstance(traced, str), traced
            continue
        assert not isinstance(traced, str), traced
        for one, two in zip((*eager[0], *eager[1]), (*traced[0], *traced[1]), strict=True):
            np.testing.assert_array_equal(one, two, strict=True)


def test_what_a_symbol_refuses() -> None:
    for name in REFUSED_IN_STATIC_MODE:
        with pytest.raises(TracingError, match=r"(?s)D2S-T01.*calls_of_methods\.py:\d+"):
            d2s.jit.to_static(function_of(d2s, name))(d2s.ones([2]))


# Public functions that no call is for, and what compares them.
ELSEWHERE = {
    "random numbers, which are others": [
        "bernoulli", "gaussian", "log_normal", "multinomial", "normal", "poisson", "rand", "rand_like", "randint",
        "randint_like", "randn", "bernoulli_", "normal_",
        "randn_like", "randperm", "standard_normal", "uniform", "nn.functional.dropout",
        "nn.functional.dropout1d", "nn.functional.dropout2d", "nn.functional.alpha_dropout",
        "nn.functional.gumbel_softmax", "nn.functional.rrelu"],
    "the state of the generator": ["seed", "get_rng_state", "set_rng_state"],
    "values that are not yet there": ["empty", "empty_like"],
    "not of tensors": ["finfo", "iinfo", "is_tensor"],
    "the layers, in test_layers": [
        "nn.functional.batch_norm", "nn.functional.instance_norm", "nn.functional.rms_norm"],
    "writes to its argument": ["increment"],
}


def all_that_is_compared() -> list[str]:
    from .test_in_place import NAMES, NOT_COMPARED

    return [*CALLS, *(name for name in NAMES if name not in NOT_COMPARED)]


def test_every_public_function_is_called() -> None:
    called = {id(public(d2s, name)) for name in all_that_is_compared()}
    known = {id(public(d2s, name)) for names in ELSEWHERE.values() for name in names}
    assert not called & known
    for module in (d2s.ops, d2s.linalg, d2s.fft, d2s.nn.functional):
        for name in module.__all__:
            function = getattr(module, name)
            if callable(function):
                assert id(function) in called | known, f"{module.__name__}.{name}"


# Methods and attributes of tensors that no call is for, and why.
METHODS_ELSEWHERE = {
    "random numbers, which are others": ["exponential_", "uniform_"],
    "always an error": ["cuda", "__delitem__", "__divmod__", "__rdivmod__", "__round__", "__trunc__"],
    "an array, not a Tensor": ["data"],
    "Paddle has no such thing": ["alias", "edge", "graph_edge", "interpreter", "known_value", "spec",
                                 "version", "view_"],
    "not called by users": [
        "__annotations__", "__array_priority__", "__array_ufunc__", "__class__", "__dict__", "__doc__", "__init__",
        "__init_subclass__", "__module__", "__slots__", "__subclasshook__", "__weakref__"],
}


def test_every_method_of_tensors_is_called() -> None:
    names = {name.partition("|")[0] for name in all_that_is_compared()}
    functions = {id(public(d2s, name)) for name in all_that_is_compared()}
    functions |= {id(public(d2s, name)) for names in ELSEWHERE.values() for name in names}
    known = {name for names in METHODS_ELSEWHERE.values() for name in names}
    of_tensors = {
        name for name in dir(d2s.Tensor)
        if not name.startswith("_") or name == "_register_backward_hook" or (
            name.startswith("__") and getattr(d2s.Tensor, name) is not getattr(object, name, ...))}
    called = {name for name in of_tensors if f"Tensor.{name}" in names or (
        inspect.isfunction(found := getattr(d2s.Tensor, name)) and id(found) in functions)}
    assert not called & known
    assert called | known == of_tensors
