"""What a function can change though no object in its reach holds it: random numbers, modes, the environment."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.core.interpreter import grad_enabled, set_grad_mode
from d2s.core.spec import default_dtype, set_default_dtype
from d2s.ops.random import generator


@dataclass(frozen=True)
class Surrounding:
    """
    One of them: under which name a reader knows it, how it is read and put back, and what is shown of it.

    `is_random`: a generator; that numbers differ because of it is seen where it was used, not where they are.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    text: Callable[[Any], str] = str
    is_random: bool = False


def digest(state: Any) -> str:
    """A short text that tells one state of a generator from another."""
    return f"at {zlib.crc32(repr(state).encode()):08x}"


def _digest_of_numpy(state: Any) -> str:
    kind, keys, *rest = state
    return digest((kind, keys.tobytes(), rest))


def _set_state(state: Any) -> None:
    generator().bit_generator.state = state


def _set_environment(variables: dict[str, str]) -> None:
    if variables != dict(os.environ):
        os.environ.clear()
        os.environ.update(variables)


SURROUNDINGS = (
    Surrounding("the generator of d2s", lambda: generator().bit_generator.state, _set_state, digest, is_random=True),
    Surrounding("the generator of numpy.random", np.random.get_state, np.random.set_state, _digest_of_numpy,
                is_random=True),
    Surrounding("the generator of random", random.getstate, random.setstate, digest, is_random=True),
    Surrounding("grad mode", grad_enabled, set_grad_mode, lambda on: "on" if on else "off"),
    Surrounding("the default dtype", default_dtype, set_default_dtype),
    Surrounding("the environment", lambda: dict(os.environ), _set_environment, digest),
)
