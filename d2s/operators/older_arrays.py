"""NumPy arrays, and the like, that are older than the call: others change them in place, so nothing of them is known.

As operands they are inputs of the Program, read on each run.  Where Python itself needs what one holds - as an index,
a size, a member of a list that is compared - the trace depends on all of it.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.spec import spec_of
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.equality import ALL_CONTENT
from d2s.operators.guards import Guard
from d2s.operators.raw_containers import held_in
from d2s.static.variable import Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


def arrays_in(tracer: Tracer, tree: Any) -> Iterator[np.ndarray]:
    """The older arrays in nested containers and slices."""
    if isinstance(tree, np.ndarray):
        if tracer.is_outer(tree):
            yield tree
    elif isinstance(tree, list | tuple | set | frozenset | deque | dict):
        for part in held_in(tree):
            yield from arrays_in(tracer, part)
    elif isinstance(tree, slice):
        yield from arrays_in(tracer, (tree.start, tree.stop, tree.step))


def holds_older(tracer: Tracer, tree: Any) -> bool:
    """True if in nested containers there is one from outside, or an array or the like."""
    if isinstance(tree, list | tuple | deque | dict):
        return tracer.is_outer(tree) or any(holds_older(tracer, part) for part in held_in(tree))
    return isinstance(tree, (*ALL_CONTENT, set)) and tracer.is_outer(tree)


def holds_older_content(tracer: Tracer, tree: Any) -> bool:
    """True if there is an array, or the like, from outside in nested containers."""
    if isinstance(tree, list | tuple | deque | dict):
        return any(holds_older_content(tracer, part) for part in held_in(tree))
    return isinstance(tree, ALL_CONTENT) and tracer.is_outer(tree)


def know(tracer: Tracer, *trees: Any) -> None:
    """Note that the trace depends on all that older containers and arrays in `trees` hold.

    Raises
    ------
    UnsupportedSyntaxError
        If this function has changed one of them.
    """
    for array in arrays_in(tracer, tuple(map(tracer.snapshot_deeply, trees))):
        if tracer.is_unknown(array):
            raise UnsupportedSyntaxError(
                "an array from outside that this function has changed is read as a whole", user_location(),
                "Read it before the change, or use single elements of it.", kind="U04")
        source = tracer.source_of(array)
        assert source is not None
        shown = f"the content of an array of {array.size}"
        tracer.require(Guard(source, "same_content({v}, {k0})", (array.copy(),), shown, is_live=True), array)


def index_of(tracer: Tracer, index: Any) -> Any:
    """An index of a list or tuple, or a number of turns: of an older array with one integer, that."""
    if not any(True for _ in arrays_in(tracer, index)):
        return index
    know(tracer, index)
    if isinstance(index, slice):
        parts = (index.start, index.stop, index.step)
        return slice(*(operator.index(part) if isinstance(part, np.ndarray) else part for part in parts))
    return operator.index(index) if isinstance(index, np.ndarray) else index


def index_of_tensor(tracer: Tracer, index: Any) -> Any:
    """An index of a tensor: positions in an older array are read on each run, masks and ends of slices are known."""
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and tracer.is_outer(index):
        return Variable(tracer, tracer.late_arrays.value_of(index, spec_of(index)))
    know(tracer, index)
    return index


def given(tracer: Tracer, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``function(*args, **kwargs)`` of a function of d2s: what has not become an operand in it, it has looked at."""
    arrays = list(arrays_in(tracer, (args, kwargs)))
    result = function(*args, **kwargs)
    know(tracer, [array for array in arrays if id(array) not in tracer.late_arrays.operands])
    return result
