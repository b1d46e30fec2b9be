"""Sizes of inputs that a trace leaves open, so that its Program serves tensors of other sizes too.

An open size is a `Dim` in specs and a symbolic int in the user's code: the Program reads it when it runs.  Where Python
itself would need it (a comparison, a `range`, an index), the trace is given up, and a new one takes the size as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from d2s.core.spec import Dim, Size, TensorSpec
from d2s.errors import D2SError
from d2s.operators.sources import Source
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable

# Identity of the path of a tensor, and an axis.
Place = tuple[tuple[Any, ...], int]

_COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


class SizeNeeded(BaseException):
    """Python needs the sizes at `places` while tracing.  No handler of the user sees it."""

    def __init__(self, places: frozenset[Place]) -> None:
        super().__init__(places)
        self.places = places


class OpenSizes:
    """The open sizes of one trace.

    Parameters
    ----------
    wanted : frozenset of Place
        What is left open, where the size met is neither 0 nor 1: broadcasting treats those differently.
    steering : frozenset of Place
        What may steer Python as any number of the run does: conditions on it are followed both ways, loops over it
        become loops of the Program.

    Attributes
    ----------
    needed : set of Place
        What Python has asked for.
    """

    def __init__(self, wanted: frozenset[Place] = frozenset(), steering: frozenset[Place] = frozenset()) -> None:
        self.wanted = wanted
        self.steering = steering
        self.needed: set[Place] = set()
        self._behind_dims: dict[Dim, frozenset[Place]] = {}
        self._behind_numbers: dict[Value, frozenset[Place]] = {}

    @property
    def any_open(self) -> bool:
        """True if some size is open in this trace."""
        return bool(self._behind_dims)

    def open_axes(self, source: Source, spec: TensorSpec) -> tuple[int, ...]:
        """The axes of a tensor found at `source` whose sizes are left open."""
        if not self.wanted:
            return ()
        path = source.identity
        return tuple(
            axis for axis, size in enumerate(spec.shape)
            if isinstance(size, int) and size > 1 and (path, axis) in self.wanted)

    def opened(self, source: Source, spec: TensorSpec) -> TensorSpec:
        """The spec of a tensor found at `source`, with a new Dim for each size that is left open."""
        sizes: list[Size] = list(spec.shape)
        for axis in self.open_axes(source, spec):
            sizes[axis] = dim = Dim(may_be_one=False)
            self._behind_dims[dim] = frozenset(((source.identity, axis),))
        return TensorSpec(tuple(sizes), spec.dtype)

    def behind(self, things: Iterable[Any]) -> frozenset[Place]:
        """The open sizes that symbolic numbers and specs depend on."""
        found: frozenset[Place] = frozenset()
        for thing in things:
            if isinstance(thing, ObjectVariable):
                found |= self._behind_numbers.get(thing.value, frozenset())
            elif isinstance(thing, TensorSpec):
                found = found.union(*(self._behind_dims.get(size, ()) for size in thing.shape if isinstance(size, Dim)))
        return found

    def note_spec(self, spec: TensorSpec, places: frozenset[Place]) -> None:
        """Note that the new Dims of the result of an op depend on these sizes."""
        for size in spec.shape:
            if isinstance(size, Dim):
                self._behind_dims.setdefault(size, places)

    def note_number(self, number: ObjectVariable, places: frozenset[Place]) -> None:
        """Note that a symbolic number depends on these sizes."""
        self._behind_numbers[number.value] = places

    def need(self, places: frozenset[Place]) -> None:
        """Give up the trace if there are any such places, other than those that may steer."""
        self.need_values(places - self.steering)

    def need_values(self, places: frozenset[Place]) -> None:
        """The same where it does not help that they may steer."""
        if places:
            self.needed |= places
            raise SizeNeeded(places)

    def need_for_words(self, error: BaseException) -> None:
        """Give up the trace if an error of d2s tells of sizes that may steer: it has no words for them."""
        if self.steering and type(error).__module__ == D2SError.__module__ and ObjectVariable.__name__ in str(error):
            self.need_values(self.steering)

    def need_for_call(self, function: Any, args: Iterable[Any]) -> frozenset[Place]:
        """The open sizes that a result of `function` depends on; a comparison needs them at once."""
        places = self.behind(args)
        if places and any(function is comparison for comparison in _COMPARISONS):
            self.need(places)
        return places
