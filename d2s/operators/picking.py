"""Elements of Python lists, tuples and dicts whose place only the run knows: one of them all, chosen by conditions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators.control_flow import if_else
from d2s.operators.equality import is_plain
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable

# More elements than this are refused, as any other use of a value of the run that Python needs at once.
MAX_ELEMENTS = 64


def place_in(tracer: Tracer, container: Any, index: Any, use: str = "") -> ObjectVariable | None:
    """
    The place of ``container[index]`` among its elements, if only the run knows it and they are few.

    `use` is how Python names the container in the error for an index out of range, where that is not its type.

    Raises
    ------
    IndexError, KeyError
        When the Program runs; while tracing, on a path of its own, where the user may catch it.
    """
    if not isinstance(index, TensorBase | ObjectVariable):
        # Nothing is asked of the other elements, so nothing is guarded.
        return None
    if not isinstance(container, list | tuple | dict) or tracer.is_unknown(container):
        return None
    names = names_in(tracer, container)
    if not names:
        return None
    if isinstance(index, TensorBase):
        variable = index if isinstance(index, Variable) else tracer.lift(index)
        if isinstance(container, dict) or variable.size != 1 or variable.dtype.kind not in "iu":
            return None
        index = variable.item()
    if not isinstance(index, ObjectVariable) or len(names) > MAX_ELEMENTS:
        return None
    if isinstance(container, dict) and not all(map(is_plain, names)):
        return None
    tracer.needed_by_python(index)
    places = tuple(names) if isinstance(container, dict) else (len(names), use or type(container).__name__)
    find = key_place if isinstance(container, dict) else list_place
    if tracer.attempts and not tracer.decide(tracer.python_call(is_inside, (find, index, places), kind=bool)):
        raise KeyError(index) if isinstance(container, dict) else IndexError(_out_of_range(places[1]))
    with tracer.unguarded():
        return tracer.python_call(find, (index, places), kind=int, effect=True)


def names_in(tracer: Tracer, container: Any) -> Sequence[Any]:
    """The indices or keys of a container as the trace sees it; guarded if it is older."""
    source = tracer.source_of(container)
    if not isinstance(container, dict):
        tracer.guard_length(container)
        return range(len(container))
    return list(container if source is None else tracer.keys_of(container, source))


def picked(tracer: Tracer, elements: Callable[[int], Any], place: ObjectVariable, size: int) -> Any:
    """The element at a place that only the run knows: conditions halve the elements until one is left."""

    def between(first: int, last: int) -> Any:
        if last - first == 1:
            return elements(first)
        middle = (first + last) // 2
        return if_else(tracer, place < middle, lambda: between(first, middle), lambda: between(middle, last))

    return between(0, size)


def put(tracer: Tracer, container: list[Any], place: ObjectVariable, new: Any) -> None:
    """Store at a place that only the run knows: every element is the new one or stays."""
    for number, old in enumerate(list(container)):
        container[number] = if_else(tracer, place == number, lambda: new, lambda old=old: old)  # type: ignore[misc]


def list_place(index: Any, sequence: tuple[int, str]) -> int:
    """The place of an index in a sequence of this length and type, when the Program runs."""
    size, kind = sequence
    place = operator.index(index)
    if not -size <= place < size:
        raise IndexError(_out_of_range(kind))
    return place % size


def key_place(key: Any, keys: tuple[Any, ...]) -> int:
    """The place of a key, when the Program runs."""
    found = {known: place for place, known in enumerate(keys)}
    return found[key]


def is_inside(find: Callable[[Any, Any], int], index: Any, places: Any) -> bool:
    """Is there such a place?"""
    try:
        find(index, places)
    except LookupError:
        return False
    return True


def _out_of_range(kind: Any) -> str:
    return f"{kind} index out of range"
