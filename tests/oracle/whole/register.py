"""Where the programs register, and what they share.

A program is a function of `paddle`, which is PaddlePaddle or d2s, and of `static`, which converts a function or Layer
to static mode or gives it back as it is.  What it returns is compared: numbers, text, arrays, tensors and lists of
these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    assert function.__name__ not in PROGRAMS
    PROGRAMS[function.__name__] = function
    return function


def filled(layer: Any, seed: int = 0) -> Any:
    """The layer, with parameters that are the same with every library."""
    rng = np.random.default_rng(seed)
    for _, parameter in sorted(layer.named_parameters()):
        if parameter.stop_gradient:
            continue  # Running statistics.
        scale = 0.5 / max(1, parameter.shape[0]) ** 0.5 if parameter.ndim > 1 else 0.1
        parameter.set_value((rng.standard_normal(parameter.shape) * scale).astype("float32"))
    return layer


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype("float32")


def classes(count: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, count, *shape]).integers(0, count, shape)
