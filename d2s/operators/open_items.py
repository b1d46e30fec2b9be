"""Containers of which only the run knows what is in them: what stands in them while a function is traced."""

from __future__ import annotations

import functools
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


SEQUENCES = (list, deque)
TABLES = (dict, defaultdict, OrderedDict, Counter)
OPENED = (*SEQUENCES, *TABLES, set)


class Elements:
    """What is known of the elements of a container, and of all that may be the same one.

    Attributes
    ----------
    form : Form or None
        What all of them, of a dict its values, are, as far as anything was put in.
    is_older : bool
        True if some of them may be tensors from outside.
    empty : callable
        Gives a container of this sort without elements.
    keys : Elements or None
        Those of a dict.
    """

    def __init__(self, form: Any = None, is_older: bool = False, empty: Callable[[], Any] = list) -> None:
        self.form = form
        self.is_older = is_older
        self.empty = empty
        self.keys = Elements() if issubclass(self.cls, dict) else None
        self._tensors: dict[int, weakref.ref[Variable]] = {}

    @property
    def cls(self) -> type:
        """Which sort of container it is."""
        return self.empty if isinstance(self.empty, type) else self.empty.func  # type: ignore[attr-defined]

    def note(self, variable: Variable) -> None:
        """Take note that `variable` was put in or taken out: others that are taken out may be the same tensor."""
        self._tensors[id(variable)] = weakref.ref(variable)

    def tensors(self) -> Iterator[Variable]:
        """Those still in use that may be elements."""
        for reference in tuple(self._tensors.values()):
            variable = reference()
            if variable is not None:
                yield variable


def empty_like(thing: Any) -> Callable[[], Any]:
    """What makes an empty container of the sort of `thing`."""
    if type(thing) is defaultdict:
        return functools.partial(defaultdict, thing.default_factory)
    if type(thing) is deque:
        return functools.partial(deque, (), thing.maxlen)
    return type(thing)


class OpenItems(ObjectVariable):
    """The only element, while tracing, of a container that the run makes: it must not get anywhere else.

    Attributes
    ----------
    owner : list, deque, dict or set
    elements : Elements
    rest : Value or None
        The list, as long as Python has not put this into it: what a starred target gets.
    """

    __slots__ = ("elements", "owner", "rest")

    def __init__(self, interpreter: Tracer, owner: Any, elements: Elements) -> None:
        super().__init__(interpreter, Value("items", None, True, kind=elements.cls))
        self.owner = owner
        self.elements = elements
        self.rest: Value | None = None

    def __bool__(self) -> bool:
        refuse()

    def __iter__(self) -> Any:
        refuse()

    # A set has to hash it.
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


class TableView:
    """What ``keys()``, ``values()`` and ``items()`` of an open dict give."""

    def __init__(self, tracer: Tracer, table: Any, what: str) -> None:
        self.tracer = tracer
        self.table = table
        self.what = what

    def of_run(self) -> ObjectVariable:
        """The view that the run has."""
        return self.tracer.python_call(_view_of, (self.table, self.what), effect=True)


def _view_of(table: Any, what: str) -> Any:
    return getattr(table, what)()


class _Key:
    """What an open dict has its items at."""

    def __repr__(self) -> str:
        return "..."


_KEY = _Key()


def refuse(what: str = "a list whose length only the run knows is used in a way that needs all its elements now") -> (
    NoReturn
):
    """Say that something cannot be done with such a list."""
    raise UnsupportedSyntaxError(
        what, user_location(), "Loop over it, index it, or stack it; or keep the function eager with "
        "@d2s.jit.not_to_static.",
        kind="U29",
    )


def held_items(content: Any) -> OpenItems | None:
    """The items of the run in the content of a container; None if it holds others."""
    if len(content) != 1:
        return None
    part = content.get(_KEY) if isinstance(content, dict) else next(iter(content))
    return part if type(part) is OpenItems else None


def is_open(thing: Any) -> bool:
    """True for a container of which only the run knows what is in it."""
    if type(thing) not in OPENED or len(thing) != 1:
        return False
    items = held_items(thing)
    if items is None:
        return False
    if items.rest is not None:
        items.owner = thing
        tracer: Tracer = items.interpreter  # type: ignore[assignment]
        tracer.lowering.adopt(thing, items.rest)
        items.rest = None
    return items.owner is thing


def is_open_table(thing: Any) -> bool:
    """True for a dict or set of that sort."""
    return isinstance(thing, dict | set) and is_open(thing)


def elements_of(thing: Any) -> Elements:
    """What is known of the elements of a container of the run."""
    items = held_items(thing)
    assert items is not None
    return items.elements


def fill_with_items(tracer: Tracer, thing: Any, elements: Elements) -> None:
    """Let a container of the trace hold what only the run knows."""
    thing.clear()
    items = OpenItems(tracer, thing, elements)
    if isinstance(thing, dict):
        thing[_KEY] = items
    elif isinstance(thing, set):
        thing.add(items)
    else:
        thing.append(items)


def new_open(tracer: Tracer, value: Value, elements: Elements) -> Any:
    """What user code sees of the container `value` of the run."""
    made = elements.empty()
    fill_with_items(tracer, made, elements)
    tracer.lowering.adopt(made, value)
    return made


def new_list(tracer: Tracer, value: Value, elements: Elements) -> list[Any]:
    """The same of a list."""
    made: list[Any] = new_open(tracer, value, elements)
    return made


def rest_items(tracer: Tracer, value: Value, elements: Elements) -> OpenItems:
    """What makes the list that Python puts it into the list `value` of the run."""
    items = OpenItems(tracer, [], elements)
    items.rest = value
    return items


__all__ = [
    "OPENED", "SEQUENCES", "TABLES", "Elements", "OpenItems", "TableView", "elements_of", "empty_like",
    "fill_with_items", "held_items", "is_open", "is_open_table", "new_list", "new_open", "refuse", "rest_items",
]
