"""Which functions are in their converted form.

Not noted in their attributes: `functools.wraps` copies those to the functions around them.
"""

from __future__ import annotations

import weakref
from types import FunctionType

from d2s.transpiler.nested import NestedFunction

_loaded: weakref.WeakSet[FunctionType] = weakref.WeakSet()
_nested: weakref.WeakKeyDictionary[FunctionType, tuple[FunctionType, NestedFunction]] = weakref.WeakKeyDictionary()


def mark_loaded(function: FunctionType) -> None:
    """Note that this is the converted form of a user's function."""
    _loaded.add(function)


def mark_nested(function: FunctionType, owner: FunctionType, nested: NestedFunction) -> None:
    """Note that the converted code of `owner` has made `function`."""
    _nested[function] = (owner, nested)


def is_loaded(function: FunctionType) -> bool:
    """True for what `mark_loaded` was told of."""
    return function in _loaded


def is_converted(function: FunctionType) -> bool:
    """True for functions in their converted form, whatever they come from."""
    return function in _loaded or function in _nested


def nested_in(function: FunctionType) -> tuple[FunctionType, NestedFunction] | None:
    """The function whose converted code has made this one, and what it is there; None for others."""
    return _nested.get(function)
