"""What is the same each time an op is recorded for equal shapes, dtypes, constants and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.op import Op
from d2s.core.spec import is_floating, spec_of
from d2s.eager.straight import Straight, from_parts, written

# Programs of ever new shapes start again from time to time.
LIMIT = 4000
_known: dict[tuple[Any, ...], Case] = {}
# What `case_of` has found for a key.  The shape of the result may depend on values: then it is another case.
known_case = _known.get


class Case:
    """One op with inputs of certain specs, some of which want a gradient.

    Attributes
    ----------
    wanted : tuple of bool
        Which inputs get a gradient.
    inputs : list
        What a node keeps of each input: the spec, where the rules do not read the value; the constant.
    saved : tuple of int
        Positions of the Tensors that it keeps in place of these.
    reads_out : bool
        True if the rules read the result.
    unread : list of int
        What a node notes of the version of each input that it does not keep.
    without : tuple of int
        Positions of inputs that want a gradient and get none: there is no rule.
    specs : tuple of TensorSpec
        Of the outputs.
    shape : tuple of int or None
        Of the only output.
    shares : bool
        True if nodes keep the parts from which the gradient can be had.
    carries : bool
        True if an output can carry a gradient, and an input wants one.
    """

    __slots__ = (
        "_seen", "_straight", "carries", "inputs", "reads_out", "saved", "shape", "shares", "specs", "unread", "wanted",
        "without",
    )

    def __init__(self, op: Op, args: Sequence[Any], edges: Sequence[Any], parts: Sequence[Any]) -> None:
        self.wanted = tuple([edge is not None and op.differentiates(index) for index, edge in enumerate(edges)])
        self.without = tuple([index for index, want in enumerate(self.wanted) if not want and edges[index] is not None])
        read, self.reads_out = op.reads_for(self.wanted)
        self.inputs = [arg.spec if isinstance(arg, TensorBase) else arg for arg in args]  # type: ignore[attr-defined]
        self.saved = tuple([
            index for index, arg in enumerate(args) if read[index] and isinstance(arg, TensorBase)
        ])
        self.unread = [-1] * len(self.inputs)
        self.specs = tuple(map(spec_of, parts))
        self.shape = parts[0].shape if len(parts) == 1 else None
        self.shares = op.shared is not None
        self.carries = True in self.wanted and any(is_floating(spec.dtype) for spec in self.specs)
        # Which gradients have been wanted, and for those that were wanted again the rules as straight code; None if
        # there is none.
        self._seen: set[tuple[bool, ...]] = set()
        self._straight: dict[tuple[bool, ...], Straight | None] = {}

    @property
    def is_written(self) -> bool:
        """True if it is known whether the rules for all gradients can be straight code."""
        return self.wanted in self._straight

    @property
    def written(self) -> Straight | None:
        """The rules for all gradients as straight code, if they are."""
        return self._straight.get(self.wanted)

    def straight(
        self, op: Op, attrs: dict[str, Any], needs: tuple[bool, ...], grads: Sequence[Any], inputs: Sequence[Any],
        out: Any,
    ) -> Straight | None:
        """The gradient rules as straight code; None where there is none, and the first time."""
        found = self._straight.get(needs)
        if found is None:
            if needs in self._straight:
                return None
            if needs not in self._seen:
                # What comes once only is not worth writing.
                self._seen.add(needs)
                return None
            if op.shared is not None and needs[0]:
                found = from_parts(op.shared.rest, attrs, [getattr(value, "spec", value) for value in inputs])
            else:
                found = written(op, attrs, needs, grads, inputs, out)
            self._straight[needs] = found
        if found is not None:
            specs = self.specs
            for position in range(len(specs)) if len(specs) > 1 else (0,):
                if grads[position].data.dtype != specs[position].dtype:
                    # A hook has given another.
                    return None
        return found


def case_of(
    key: Sequence[Any] | None, op: Op, args: Sequence[Any], edges: Sequence[Any],
    parts: Sequence[np.ndarray[Any, Any]],
) -> Case:
    """The case of a call with the results `parts`: one that is known, if there is one.

    Parameters
    ----------
    key : sequence or None
        The op, its attributes, its constants, and of each Tensor shape, dtype, and if it wants a gradient.
    args, edges : sequences
        The inputs, and where the gradients of those go that want one.
    """
    if key is None:
        return Case(op, args, edges, parts)
    found = _known.get(key := tuple(key))
    if found is None:
        found = Case(op, args, edges, parts)
        if len(_known) >= LIMIT:
            _known.clear()
        _known[key] = found
        return found
    specs = found.specs
    if len(specs) == 1:
        is_equal = parts[0].shape == specs[0].shape
    else:
        is_equal = all(part.shape == spec.shape for part, spec in zip(parts, specs, strict=True))
    # Another shape depends on values.
    return found if is_equal else Case(op, args, edges, parts)
