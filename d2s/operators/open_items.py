"""Lists whose length only the run knows: what stands in them while a function is traced."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


class Elements:
    """What is known of the elements of a list, and of all that may be the same list.

    Attributes
    ----------
    form : Form or None
        What all of them are, as far as anything was put in.
    is_older : bool
        True if some of them may be tensors from outside.
    """

    def __init__(self, form: Any = None, is_older: bool = False) -> None:
        self.form = form
        self.is_older = is_older
        self._tensors: list[weakref.ref[Variable]] = []

    def note(self, variable: Variable) -> None:
        """Take note that `variable` was put in or taken out: others that are taken out may be the same tensor."""
        self._tensors.append(weakref.ref(variable))

    def tensors(self) -> Iterator[Variable]:
        """Those still in use that may be elements."""
        for reference in self._tensors:
            variable = reference()
            if variable is not None:
                yield variable


class OpenItems(ObjectVariable):
    """The only element, while tracing, of a list that the run makes: it must not get anywhere else.

    Attributes
    ----------
    owner : list
    elements : Elements
    rest : Value or None
        The list, as long as Python has not put this into it: what a starred target gets.
    """

    __slots__ = ("elements", "owner", "rest")

    def __init__(self, interpreter: Tracer, owner: list[Any], elements: Elements) -> None:
        super().__init__(interpreter, Value("items", None, True, kind=list))
        self.owner = owner
        self.elements = elements
        self.rest: Value | None = None

    def __bool__(self) -> bool:
        refuse()

    def __iter__(self) -> Any:
        refuse()


def refuse(what: str = "a list whose length only the run knows is used in a way that needs all its elements now") -> (
    NoReturn
):
    """Say that something cannot be done with such a list."""
    raise UnsupportedSyntaxError(
        what, user_location(), "Loop over it, index it, or stack it; or keep the function eager with "
        "@d2s.jit.not_to_static.",
        kind="U29",
    )


def is_open(thing: Any) -> bool:
    """True for a list whose length only the run knows."""
    if type(thing) is not list or len(thing) != 1 or type(thing[0]) is not OpenItems:
        return False
    items: OpenItems = thing[0]
    if items.rest is not None:
        items.owner = thing
        tracer: Tracer = items.interpreter  # type: ignore[assignment]
        tracer.lowering.adopt(thing, items.rest)
        items.rest = None
    return items.owner is thing


def elements_of(thing: list[Any]) -> Elements:
    """What is known of the elements of a list of the run."""
    items: OpenItems = thing[0]
    return items.elements


def new_list(tracer: Tracer, value: Value, elements: Elements) -> list[Any]:
    """What user code sees of the list `value` of the run."""
    made: list[Any] = []
    made.append(OpenItems(tracer, made, elements))
    tracer.lowering.adopt(made, value)
    return made


def rest_items(tracer: Tracer, value: Value, elements: Elements) -> OpenItems:
    """What makes the list that Python puts it into the list `value` of the run."""
    items = OpenItems(tracer, [], elements)
    items.rest = value
    return items


__all__ = ["Elements", "OpenItems", "elements_of", "is_open", "new_list", "refuse", "rest_items"]
