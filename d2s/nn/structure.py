"""Names for layers and parameters."""

from __future__ import annotations

import itertools
import weakref
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from d2s.core.structure import STRUCTURE

_counters: dict[str, Iterator[int]] = defaultdict(itertools.count)


def unique_name(prefix: str) -> str:
    """`prefix` with a number that this process has not given to it before: ``linear_0``, ``linear_1``."""
    return f"{prefix}_{next(_counters[prefix])}"


class Names:
    """The name of one Layer, and the names of its parameters.

    Copies of the Layer share it, so no two of their parameters get one name; it goes with the last of them.
    """

    def __init__(self, layer: str) -> None:
        self.layer = layer
        self._counters: dict[str, Iterator[int]] = defaultdict(itertools.count)
        _names[layer] = self

    def new(self, suffix: str) -> str:
        """Name of a new parameter: ``linear_0.w_0``, ``linear_0.w_1``."""
        return f"{self.layer}.{suffix}_{next(self._counters[suffix])}"

    def __copy__(self) -> Names:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Names:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return names_of, (self.layer,)


_names: weakref.WeakValueDictionary[str, Names] = weakref.WeakValueDictionary()


def names_of(layer: str) -> Names:
    """The names of a Layer that comes from a file: those of its copies in this process, if there are any."""
    return _names.get(layer) or Names(layer)


__all__ = ["STRUCTURE", "Names", "names_of", "unique_name"]
