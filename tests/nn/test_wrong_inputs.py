"""Every layer that is compared with Paddle, on inputs that do not fit: the error names it and the line of the user."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import d2s
from tests.oracle import layer_cases, loss_cases

CASES = {**layer_cases.CASES, **loss_cases.CASES}
WRONG = [d2s.ones([3, 7, 2, 5, 2]), d2s.to_tensor(1.0), d2s.to_tensor([True]), d2s.ones([1], "complex64"), "text"]
# What only the values show, the run finds, after all shapes.
BY_VALUE = {"CrossEntropyLoss"}


def is_array(thing: Any) -> bool:
    return isinstance(thing, np.ndarray | np.generic | float | int)


@pytest.mark.parametrize("name", CASES)
def test_the_layer_is_named(name: str) -> None:
    found = CASES[name](np.random.default_rng(1))
    make, arrays, weight = (*found, None)[:3]
    if not all(map(is_array, arrays)):
        pytest.skip("takes more than arrays")
    layer = make(d2s.nn) if weight is None else make(d2s.nn, d2s.to_tensor(np.asarray(weight)))
    inputs = [d2s.to_tensor(np.asarray(array)) for array in arrays]

    def program(*args: Any) -> Any:
        return layer(*args)

    for wrong in WRONG:
        for place in range(len(inputs)):
            args = [wrong if number == place else given for number, given in enumerate(inputs)]
            errors: list[Any] = []
            for called in (program, d2s.jit.to_static(program)):
                try:
                    with warnings.catch_warnings(), np.errstate(all="ignore"):
                        warnings.simplefilter("ignore")
                        called(*args)
                except d2s.D2SError as error:
                    errors.append(error)
            if not errors:
                continue
            assert len(errors) == 2
            eager, static = errors
            assert type(layer).__name__ in eager.message
            assert (eager.location.file, eager.location.line) == (__file__, program.__code__.co_firstlineno + 1)
            if type(layer).__name__ not in BY_VALUE:
                assert type(static) is type(eager)
                assert static.message == eager.message
