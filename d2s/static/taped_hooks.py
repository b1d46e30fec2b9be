"""Hooks in a Program that is built by hand, when the gradients that went through them are differentiated again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import unwrap, wrap


class Tape:
    """What hooks were given and what they gave, as Tensors on the eager tape.

    Parameters
    ----------
    leaves, outputs : list of Tensor or None
        None: no gradient came there.
    """

    def __init__(self, leaves: list[Any], outputs: list[Any]) -> None:
        self._leaves = leaves
        self._outputs = outputs

    def back(self, grads: Sequence[Any], tensors: Sequence[Any], is_taped: bool) -> tuple[Any, ...]:
        """What the outputs contribute to the gradients of the leaves and of `tensors` from outside.

        Parameters
        ----------
        grads : sequence of array or None
            Gradients of the outputs.
        tensors : sequence of Tensor
        is_taped : bool
            Give the tape of this as well.
        """
        given = [None if grad is None else wrap(np.asarray(grad), not is_taped) for grad in grads]
        inputs = [*self._leaves, *tensors]
        present: list[Any] = [tensor for tensor in inputs if tensor is not None]
        found = iter(present[0]._contributions(self._outputs, given, present, is_taped) if present else ())
        results = [None if tensor is None else next(found) for tensor in inputs]
        arrays = [None if result is None else unwrap(result) for result in results]
        return (*arrays, Tape([*given, *self._leaves], results)) if is_taped else tuple(arrays)
