"""Names for layers and parameters."""

from __future__ import annotations

import copy
import itertools
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any, TypeVar

from d2s.core.structure import STRUCTURE

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Table(OrderedDict[_Key, _Value]):
    """What a Layer holds by name; every change of it is a change of the structure of that Layer.

    So code that writes to ``layer._parameters`` and its like, past the attributes of the Layer, is noticed too.
    """

    # Its methods that change it are not written in C: whoever traces a call of one has to know.
    tells_changes = True

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        STRUCTURE.changed()

    def __delitem__(self, key: _Key) -> None:
        super().__delitem__(key)
        STRUCTURE.changed()

    def __deepcopy__(self, memo: dict[int, Any]) -> Table[_Key, _Value]:
        # What a new Layer holds changes no other.
        copied: Table[_Key, _Value] = type(self)()
        memo[id(self)] = copied
        for key, value in self.items():
            OrderedDict.__setitem__(copied, key, copy.deepcopy(value, memo))
        return copied

    def pop(self, key: _Key, *default: Any) -> Any:
        """As of a dict."""
        if key not in self:
            return super().pop(key, *default)
        found = super().pop(key)
        STRUCTURE.changed()
        return found

    def popitem(self, last: bool = True) -> tuple[_Key, _Value]:
        """As of an OrderedDict."""
        found = super().popitem(last)
        STRUCTURE.changed()
        return found

    def move_to_end(self, key: _Key, last: bool = True) -> None:
        """As of an OrderedDict."""
        super().move_to_end(key, last)
        STRUCTURE.changed()

    def clear(self) -> None:
        """As of a dict."""
        super().clear()
        STRUCTURE.changed()


class Members(Table[_Key, _Value]):
    """The parameters, buffers or sublayers of a Layer, which are its attributes too."""

    are_attributes = True


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


__all__ = ["STRUCTURE", "Members", "Names", "Table", "names_of", "unique_name"]
