"""What traced code does with lists and deques whose length only the run knows: those that a loop of the Program fills.

Such a list is a Python list of the run, with Tensors in it.  What is done to it are effects, in the order of the
program; what is read of it becomes a value again, by the form that all its elements have had so far.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import BuiltinMethodType
from typing import Any

from d2s.operators.carried import Form, ObjectForm
from d2s.operators.control_flow import and_, for_loop, if_else, length_of_range
from d2s.operators.native import draws
from d2s.operators.open_elements import element, kind_of, open_up, put, put_all
from d2s.operators.open_items import SEQUENCES, Elements, TableView, elements_of, is_open, new_list, new_open, refuse
from d2s.operators.run_time import Drawing, parts_given
from d2s.operators.symbols import SymbolicRange, is_symbol
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
from d2s.static.variable import ObjectVariable, Variable

# Which argument of a method goes into the list, and whether it is a list of such.
_PUT_IN = {"append": (0, False), "insert": (1, False), "__setitem__": (1, False), "extend": (0, True),
           "__iadd__": (0, True), "appendleft": (0, False), "extendleft": (0, True)}
_GIVE_ELEMENT = frozenset({"pop", "popleft", "__getitem__"})
_GIVE_LIST = frozenset({"copy", "__add__", "__mul__", "__rmul__"})
_KINDS = {"index": int, "count": int, "__len__": int, "__contains__": bool}
_GIVE_NOTHING = frozenset({
    "append", "insert", "extend", "remove", "clear", "sort", "reverse", "__setitem__", "appendleft", "extendleft",
    "rotate"})


def item(tracer: Tracer, thing: list[Any], index: Any) -> Any:
    """``thing[index]``."""
    elements = elements_of(thing)
    form: Form | None = elements.form
    if isinstance(index, slice):
        found = tracer.python_call(operator.getitem, (thing, index), kind=list, effect=True)
        return new_open(tracer, found.value, elements)
    found = tracer.python_call(operator.getitem, (thing, index), kind=kind_of(form), effect=True)
    return element(tracer, found, form, elements)


def store_item(tracer: Tracer, thing: list[Any], index: Any, value: Any) -> None:
    """``thing[index] = value``."""
    (put_all if isinstance(index, slice) else put)(tracer, elements_of(thing), value)
    tracer.effect(operator.setitem, thing, index, value)


def call_method(
    tracer: Tracer, func: BuiltinMethodType, thing: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A method of the list."""
    name, elements = func.__name__, elements_of(thing)
    place = _PUT_IN.get(name)
    if place is not None and len(args) > place[0]:
        (put_all if place[1] else put)(tracer, elements, args[place[0]])
    form: Form | None = elements.form
    if name == "__getitem__":
        return item(tracer, thing, args[0])
    if name == "__iter__":
        return Parts(tracer, thing)
    kind = kind_of(form) if name in _GIVE_ELEMENT else type(thing) if name in _GIVE_LIST else _KINDS.get(name)
    found = tracer.python_call(getattr(type(thing), name), (thing, *args), kwargs, kind=kind, effect=True)
    if name in _GIVE_NOTHING:
        return None
    if name == "__iadd__":
        return thing
    if name in _GIVE_ELEMENT:
        return element(tracer, found, form, elements)
    if name in _GIVE_LIST:
        return new_open(tracer, found.value, _joint(tracer, thing, *args[: name == "__add__"]))
    return found


def _joint(tracer: Tracer, *things: list[Any]) -> Elements:
    """What is known of the elements of several lists together."""
    known = [elements_of(thing) for thing in things if is_open(thing)]
    elements = Elements(None, any(found.is_older for found in known), known[0].empty if known else list)
    for thing in things:
        put_all(tracer, elements, thing)
    return elements


# --- operators and functions --------------------------------------------------------------------------------------


def binary(tracer: Tracer, name: str, left: Any, right: Any) -> Any:
    """``left + right`` and its like, where one is such a list."""
    if name in ("add", "mul"):
        sides = [side for side in (left, right) if type(side) in SEQUENCES]
        found = tracer.python_call(getattr(operator, name), (left, right), kind=type(sides[0]), effect=True)
        return new_open(tracer, found.value, _joint(tracer, *sides))
    kind = bool if name in ("eq", "ne", "lt", "le", "gt", "ge") else None
    return tracer.python_call(getattr(operator, name), (left, right), kind=kind, effect=True)


def augmented(tracer: Tracer, name: str, target: Any, value: Any) -> Any:
    """``target += value``, ``target *= value``."""
    if type(target) not in SEQUENCES or tracer.is_outer(target):
        return binary(tracer, name[1:] + "_" * (name in ("iand", "ior")), target, value)
    open_up(tracer, target)
    if name == "iadd":
        put_all(tracer, elements_of(target), value)
    tracer.effect(getattr(operator, name), target, value)
    return target


def copied(tracer: Tracer, function: Callable[..., Any], thing: Any, **kwargs: Any) -> list[Any]:
    """``list(thing)``, ``sorted(thing)``: a list of the same elements; of a dict, of its keys."""
    found = tracer.python_call(function, (thing,), kwargs, kind=list, effect=True)
    elements = elements_of(thing)
    return new_list(tracer, found.value, as_list(elements if elements.keys is None else elements.keys))


def as_list(elements: Elements) -> Elements:
    """What is known of the elements of a list of these."""
    if elements.empty is list:
        return elements
    made = Elements(elements.form, elements.is_older)
    for tensor in elements.tensors():
        made.note(tensor)
    return made


def numbers(tracer: Tracer, span: Any) -> list[Any]:
    """``list(range(n))``."""
    found = tracer.python_call(_numbers, (span.start, span.stop, span.step), kind=list, effect=True)
    return new_list(tracer, found.value, Elements(ObjectForm(int)))


def _numbers(start: int, stop: int, step: int) -> list[int]:
    return list(range(start, stop, step))


def list_comp(
    tracer: Tracer, iterable: Any, elt: Callable[[Any], Any], test: Callable[[Any], Any] | None
) -> list[Any]:
    """A list comprehension over what only the run knows the length of: as the loop that it stands for."""
    from d2s.operators.calls import call as call_traced

    found: list[Any] = []

    def add(item: Any) -> None:
        call_traced(found.append, elt(item))

    def body(item: Any) -> None:
        if test is None:
            add(item)
        else:
            if_else(tracer, test(item), lambda: add(item), None)

    for_loop(tracer, iterable, body, None)
    return found


class Parts(Turns):
    """Something to loop over, whose length only the run knows: lists, or what `enumerate`, `zip` and `reversed` of
    them give.

    Parameters
    ----------
    tracer : Tracer
    things : list or Parts
        Several: they give tuples, like `zip`.
    start : int, optional
        Give pairs with a number that begins here, like `enumerate`.
    is_backward : bool
    """

    def __init__(self, tracer: Tracer, *things: Any, start: Any = None, is_backward: bool = False) -> None:
        self.tracer = tracer
        self.things = things
        self.start = start
        self.is_backward = is_backward

    def has(self, index: Any) -> Any:
        if not any(isinstance(thing, Turns) for thing in self.things):
            return super().has(index)
        found: Any = True
        for thing in self.things:
            found = and_(self.tracer, found, lambda thing=thing: self._has(thing, index))  # type: ignore[misc]
        return found

    def _has(self, thing: Any, index: Any) -> Any:
        return thing.has(index) if isinstance(thing, Turns) else index < self._length(thing)

    def length(self) -> Any:
        """The number of turns; a list may grow on the way."""
        lengths = [self._length(thing) for thing in self.things]
        if len(lengths) == 1:
            return lengths[0]
        if not any(map(is_symbol, lengths)):
            return min(lengths)
        return self.tracer.python_call(min, tuple(lengths), kind=int)

    def _length(self, thing: Any) -> Any:
        if isinstance(thing, Turns):
            return thing.length()
        return self.tracer.python_call(len, (thing,), kind=int, effect=True) if is_open(thing) else len(thing)

    def backward(self) -> Turns:
        """The same from the end."""
        first = self.things[0]
        return first.backward() if hasattr(first, "backward") else Parts(self.tracer, *self.things, is_backward=True)

    def part(self, index: Any) -> Any:
        """What turn number `index` gets."""
        if self.is_backward:
            # Counted from the end that it had when the loop began.
            index = self.length() - 1 - index
        found = tuple(thing.part(index) if isinstance(thing, Turns) else _at(self.tracer, thing, index)
                      for thing in self.things)
        given = found[0] if len(found) == 1 else found
        return given if self.start is None else (self.start + index, given)

    def __iter__(self) -> Any:
        refuse()


class Rows(Turns):
    """A tensor to loop over, of which only the run knows how many rows it has."""

    def __init__(self, tensor: Variable) -> None:
        self.tensor = tensor

    def length(self) -> Any:
        return self.tensor.shape[0]

    def part(self, index: Any) -> Any:
        return self.tensor[index]


def rows_of(tracer: Tracer, thing: Any) -> Any:
    """`thing`; what only the run knows how much it is, a tensor or not, as what a loop can run over."""
    if tracer.foreign_results.is_one(thing):
        return Foreign(tracer, thing)
    if draws(tracer, thing):
        return Drawn(tracer, thing)
    shape = thing.spec.shape if isinstance(thing, Variable) else ()
    if not shape or isinstance(shape[0], int):
        return thing
    # The size of an argument is taken as it is.
    tracer.needed_by_python(*thing.shape)
    return Rows(thing)


class Foreign(Turns):
    """What an untraced function of the user has given, to loop over."""

    def __init__(self, tracer: Tracer, thing: ObjectVariable) -> None:
        self.tracer = tracer
        self.parts = tracer.python_call(parts_given, (thing,), kind=list, effect=True)
        self._length = tracer.python_call(len, (self.parts,), kind=int, effect=True)

    def length(self) -> Any:
        return self._length

    def part(self, index: Any) -> Any:
        part = self.tracer.python_call(operator.getitem, (self.parts, index), effect=True)
        self.tracer.foreign_results.add(part)
        return part


class Drawn(Turns):
    """What a loader or sampler from outside gives, drawn by the run when its turn comes."""

    def __init__(self, tracer: Tracer, thing: Any) -> None:
        self.tracer = tracer
        self._drawing = self._call(Drawing, thing)

    def _call(self, function: Any, *args: Any, kind: type | None = None) -> ObjectVariable:
        """Call what may run code of the user: of a data set, or to put examples into batches."""
        result = self.tracer.python_call(function, args, kind=kind, effect=True)
        self.tracer.anything_may_change()
        return result

    def has(self, index: Any) -> Any:
        return self._call(Drawing.advance, self._drawing, kind=bool)

    def part(self, index: Any) -> Any:
        part = self.tracer.python_call(Drawing.item, (self._drawing,), effect=True)
        self.tracer.foreign_results.add(part)
        return part


class Counted(Turns):
    """The numbers of a range whose length only the run knows."""

    def __init__(self, tracer: Tracer, span: SymbolicRange) -> None:
        self.span = span
        self._length = tracer.python_call(
            length_of_range, (span.start, span.stop, span.step), kind=int, effect=True)

    def length(self) -> Any:
        return self._length

    def part(self, index: Any) -> Any:
        return self.span.start + index * self.span.step


class Generated(Turns):
    """What a generator expression, `map` or `filter` gives over what only the run knows the length of."""

    def __init__(
        self, tracer: Tracer, parts: Turns, elt: Callable[[Any], Any] | None, test: Callable[[Any], Any] | None
    ) -> None:
        self.tracer = tracer
        self.parts = parts
        self.elt = elt or (lambda part: part)
        self.test = test

    def has(self, index: Any) -> Any:
        return self.parts.has(index)

    def length(self) -> Any:
        return self.parts.length() if self.test is None else super().length()

    def part(self, index: Any) -> Any:
        part = self.parts.part(index)
        return self.elt(part) if self.test is None else part

    def around(self, body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        test = self.test
        if test is None:
            return body

        def turn(part: Any) -> None:
            if_else(self.tracer, test(part), lambda: body(self.elt(part)), None)

        return turn


def _at(tracer: Tracer, thing: Any, index: Any) -> Any:
    from d2s.operators.items import item as any_item

    return any_item(tracer, thing, index)


def parts_of(tracer: Tracer, things: tuple[Any, ...]) -> Parts | None:
    """For a loop over `things` side by side, if the run alone knows how many turns it has."""
    sides = tuple(_side(tracer, thing) for thing in things)
    if not any(is_open(side) or isinstance(side, Turns) for side in sides):
        return None
    for side in sides:
        if not (is_open(side) or isinstance(side, Turns | Variable | list | tuple | range | str)):
            refuse(f"zip() of a list whose length only the run knows with a {type(side).__name__}")
    return Parts(tracer, *sides)


def _side(tracer: Tracer, thing: Any) -> Any:
    """Something to loop over beside other things, with numbered turns if only the run knows how many."""
    if isinstance(thing, SymbolicRange):
        return Counted(tracer, thing)
    if isinstance(thing, TableView) or (is_open(thing) and type(thing) is not list):
        from d2s.operators.protocols import iterable_of

        return iterable_of(tracer, thing)
    if isinstance(thing, Generated) and thing.test is not None:
        before = tracer.effects
        thing = list_comp(tracer, thing, lambda part: part, None)
        if tracer.effects != before:
            refuse("a filter that acts outside, over what only the run knows the length of, in zip() or its like")
    return rows_of(tracer, thing)


__all__ = [
    "Counted", "Generated", "Parts", "Rows", "as_list", "augmented", "binary", "call_method", "copied", "item",
    "list_comp", "numbers", "parts_of", "rows_of", "store_item",
]
