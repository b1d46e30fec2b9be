"""Functions that write in place, on random arguments: as the functions they are named after, in both modes, as Paddle.

What is written to is a copy of the argument: a leaf that requires a gradient cannot be written to.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.ops import in_place

from .calls import CALLS, Array, Call, Draw
from .calls_of_methods import PROGRAMS
from .peers import peer_named
from .test_calls import difference, outcome

OF_NN = ["relu_", "tanh_", "softmax_", "elu_", "hardtanh_", "leaky_relu_", "thresholded_relu_"]
# Methods that are no functions; `PROGRAMS` call others.
OF_TENSORS = [f"Tensor.{name}" for name in dir(d2s.Tensor) if re.fullmatch(r"[a-z]\w*_", name)
              and name not in in_place.__all__ and f"Tensor.{name}" not in PROGRAMS
              and getattr(d2s.Tensor, name) is not getattr(d2s.nn.functional, name, None)]
NAMES = [*in_place.__all__, *(f"nn.functional.{name}" for name in OF_NN), *OF_TENSORS]
# Named otherwise than what they are a form of.
OTHERWISE = {"clamp_": "clip", "div_": "divide", "mod_": "remainder", "floor_mod_": "remainder", "mul_": "multiply",
             "sub_": "subtract", "view_": "reshape", "bitwise_invert_": "bitwise_not", "gammaln_": "lgamma"}
NOT_COMPARED = {"normal_": "random", "bernoulli_": "random", "Tensor.uniform_": "random",
                "Tensor.exponential_": "random", "Tensor.view_": "not in Paddle"}
DIFFERENCES = {
    "floor_divide_": "Paddle's has a gradient, floor_divide has none",
    "sinc_": "Paddle returns another tensor than the one that it has written to",
}


def function_of(module: Any, name: str) -> Callable[..., Any]:
    for part in name.split("."):
        module = getattr(module, part)
    found: Callable[..., Any] = module
    return found


def on_a_copy(function: Callable[..., Any]) -> Callable[..., Any]:
    def program(x: Any, *args: Any, **kwargs: Any) -> Any:
        # A copy with a history, where there may be one.
        copied = x * 1 if "float" in str(x.dtype) else x.clone()
        result = function(copied, *args, **kwargs)
        assert result is copied
        return result

    return program


def calls(name: str) -> list[Call]:
    own = name.rpartition(".")[2]
    plain = OTHERWISE.get(own, own.removesuffix("_"))
    if plain not in CALLS:
        return [Call([Array(np.array([[-1.5, -0.25, 0.5], [0.75, 1.25, 3.0]], "float32"))])]
    found = (CALLS[plain](Draw(seed)) for seed in range(6))
    # A tensor cannot grow by broadcasting.
    return [call for call in found if _keeps_its_shape(call, broadcasts=plain == "lerp" or len(call.args) == 2)]


def _keeps_its_shape(call: Call, broadcasts: bool) -> bool:
    first, *rest = (one.data.shape if isinstance(one, Array) else () for one in call.args)
    return not broadcasts or all(np.broadcast_shapes(first, other) == first for other in rest)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_COMPARED])
def test_like_the_function_in_both_modes(name: str) -> None:
    written = on_a_copy(function_of(d2s, name))
    plain = function_of(d2s, name.removesuffix("_"))
    for call in calls(name):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            static = d2s.jit.to_static(lambda *args, **kwargs: written(*args, **kwargs))
            eager, traced = outcome(d2s, written, call), outcome(d2s, static, call)
            expected = outcome(d2s, plain, call)
        assert not isinstance(eager, str), eager
        assert not isinstance(traced, str), traced
        for one, two, three in zip(*((*found[0], *found[1]) for found in (eager, traced, expected)), strict=True):
            np.testing.assert_array_equal(one, two, strict=True)
            # Without a gradient the copy passes zeros on, the function nothing.
            expected_here = np.zeros_like(one) if three is None and one is not None else three
            np.testing.assert_array_equal(one, expected_here, strict=True)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_COMPARED])
def test_like_paddle(name: str) -> None:
    peer_named("paddle")
    import paddle

    found = []
    for call in calls(name):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ours = outcome(d2s, on_a_copy(function_of(d2s, name)), call)
            theirs = outcome(paddle, on_a_copy(function_of(paddle, name)), call)
        differs = difference(ours, theirs)
        if differs is not None:
            found.append(f"{call}: {differs}")
    assert bool(found) is (name in DIFFERENCES), "\n".join(found) or "it does not differ any more"
