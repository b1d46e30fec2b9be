"""What traced code does with lists whose length only the run knows: those that a loop of the Program fills.

Such a list is a Python list of the run, with Tensors in it.  What is done to it are effects, in the order of the
program; what is read of it becomes a value again, by the form that all its elements have had so far.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinMethodType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import carried
from d2s.operators.carried import BuiltForm, EitherForm, Form, ObjectForm, OpenForm, SameForm, TensorForm
from d2s.operators.control_flow import Turns, for_loop, if_else
from d2s.operators.open_items import Elements, OpenItems, elements_of, is_open, new_list, refuse
from d2s.operators.tracer import Tracer
from d2s.operators.views import note_chosen
from d2s.static.variable import ObjectVariable, Variable

# Which argument of a method goes into the list, and whether it is a list of such.
_PUT_IN = {"append": (0, False), "insert": (1, False), "__setitem__": (1, False), "extend": (0, True),
           "__iadd__": (0, True)}
_GIVE_ELEMENT = frozenset({"pop", "__getitem__"})
_GIVE_LIST = frozenset({"copy", "__add__", "__mul__", "__rmul__"})
_KINDS = {"index": int, "count": int, "__len__": int, "__contains__": bool}
_GIVE_NOTHING = frozenset({"append", "insert", "extend", "remove", "clear", "sort", "reverse", "__setitem__"})


def open_list(tracer: Tracer, thing: list[Any]) -> None:
    """Turn a list that traced code has made into one of the run."""
    if is_open(thing):
        return
    tracer.lower(thing)
    elements = Elements()
    for part in thing:
        put(tracer, elements, part)
    thing[:] = [OpenItems(tracer, thing, elements)]


def forget_elements(thing: list[Any]) -> None:
    """Take note that others may have put anything into a list of the run."""
    elements, anything = elements_of(thing), ObjectForm(None)
    if elements.form != anything:
        elements.form = anything


def _form_of(tracer: Tracer, part: Any) -> Form:
    found = carried.form_of(tracer, part, lambda variable: variable.value)
    if isinstance(found, SameForm) and type(found.value) in carried.NUMBERS:
        return ObjectForm(type(found.value))
    return found


def _learn(elements: Elements, form: Form) -> None:
    """Take note that something of this form becomes an element."""
    known: Form | None = elements.form
    if known is None:
        elements.form = form
        return
    both = carried.either(known, form, "an element")
    if not carried.covers(known, both):
        elements.form = both


def put(tracer: Tracer, elements: Elements, part: Any) -> None:
    """Take note that something becomes an element."""
    if type(part) is list and not part and not tracer.is_outer(part):
        # To be filled there.
        open_list(tracer, part)
    tracer.freeze(part)
    _learn(elements, _form_of(tracer, part))
    for tensor in _tensors_in(tracer, part):
        elements.note(tensor)


def _tensors_in(tracer: Tracer, part: Any) -> Iterator[Variable]:
    if isinstance(part, TensorBase):
        yield tracer.symbol(part)
    elif isinstance(part, tuple | list | dict):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _tensors_in(tracer, inner)


def _put_all(tracer: Tracer, elements: Elements, parts: Any) -> None:
    if is_open(parts):
        other = elements_of(parts)
        if other.form is not None and other is not elements:
            _learn(elements, other.form)
            for tensor in other.tensors():
                elements.note(tensor)
    elif isinstance(parts, Sequence | dict | set):
        for part in tracer.snapshot(parts):
            put(tracer, elements, part)
    else:
        refuse("what is put into a list whose length only the run knows cannot be told")


# --- elements -----------------------------------------------------------------------------------------------------


def element(tracer: Tracer, found: ObjectVariable, form: Form | None, elements: Elements) -> Any:
    """What user code sees of an object of the run that has this form, and was an element or part of one."""
    if isinstance(form, TensorForm):
        made = tracer.taken(found, form.spec, form.stop_gradient)
        if elements.is_older:
            tracer.unwritable.add(made.value)
        note_chosen(made, elements.tensors())
        elements.note(made)
        return made
    if isinstance(form, OpenForm):
        return new_list(tracer, found.value, form.elements)
    if isinstance(form, SameForm):
        return form.value
    if isinstance(form, EitherForm):
        return _told_apart(tracer, found, form.forms, elements)
    if isinstance(form, BuiltForm):
        keys = range(len(form.parts)) if form.keys is None else form.keys
        parts = [
            element(tracer, tracer.python_call(operator.getitem, (found, key), kind=_kind(part)), part, elements)
            for key, part in zip(keys, form.parts, strict=True)]
        if form.keys is not None:
            built: Any = dict(zip(form.keys, parts, strict=True))
        else:
            built = form.cls(*parts) if hasattr(form.cls, "_fields") else form.cls(parts)
        tracer.freeze(built)
        return built
    return found


def _told_apart(tracer: Tracer, found: ObjectVariable, forms: Sequence[Form], elements: Elements) -> Any:
    """The same where it is of one of several forms: each is followed."""
    for form in forms[:-1]:
        if tracer.decide(tracer.python_call(carried.is_of_form, (found, form), kind=bool)):
            break
    else:
        form = forms[-1]
    kind = _kind(form)
    if kind is not None and not isinstance(form, TensorForm):
        found = tracer.python_call(_itself, (found,), kind=kind)
    return element(tracer, found, form, elements)


def _itself(thing: Any) -> Any:
    return thing


def _kind(form: Form | None) -> type | None:
    if isinstance(form, TensorForm):
        return TensorBase
    return form.kind if isinstance(form, ObjectForm) else list if isinstance(form, OpenForm) else None


def item(tracer: Tracer, thing: list[Any], index: Any) -> Any:
    """``thing[index]``."""
    elements = elements_of(thing)
    form: Form | None = elements.form
    if isinstance(index, slice):
        found = tracer.python_call(operator.getitem, (thing, index), kind=list, effect=True)
        return new_list(tracer, found.value, elements)
    found = tracer.python_call(operator.getitem, (thing, index), kind=_kind(form), effect=True)
    return element(tracer, found, form, elements)


def store_item(tracer: Tracer, thing: list[Any], index: Any, value: Any) -> None:
    """``thing[index] = value``."""
    (_put_all if isinstance(index, slice) else put)(tracer, elements_of(thing), value)
    tracer.effect(operator.setitem, thing, index, value)


def call_method(
    tracer: Tracer, func: BuiltinMethodType, thing: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A method of the list."""
    name, elements = func.__name__, elements_of(thing)
    place = _PUT_IN.get(name)
    if place is not None and len(args) > place[0]:
        (_put_all if place[1] else put)(tracer, elements, args[place[0]])
    form: Form | None = elements.form
    if name == "__getitem__":
        return item(tracer, thing, args[0])
    if name == "__iter__":
        return Parts(tracer, thing)
    kind = _kind(form) if name in _GIVE_ELEMENT else list if name in _GIVE_LIST else _KINDS.get(name)
    found = tracer.python_call(getattr(list, name), (thing, *args), kwargs, kind=kind, effect=True)
    if name in _GIVE_NOTHING:
        return None
    if name == "__iadd__":
        return thing
    if name in _GIVE_ELEMENT:
        return element(tracer, found, form, elements)
    if name in _GIVE_LIST:
        return new_list(tracer, found.value, _joint(tracer, thing, *args[: name == "__add__"]))
    return found


def _joint(tracer: Tracer, *things: list[Any]) -> Elements:
    """What is known of the elements of several lists together."""
    elements = Elements(is_older=any(is_open(thing) and elements_of(thing).is_older for thing in things))
    for thing in things:
        _put_all(tracer, elements, thing)
    return elements


# --- operators and functions --------------------------------------------------------------------------------------


def binary(tracer: Tracer, name: str, left: Any, right: Any) -> Any:
    """``left + right`` and its like, where one is such a list."""
    if name in ("add", "mul"):
        found = tracer.python_call(getattr(operator, name), (left, right), kind=list, effect=True)
        return new_list(tracer, found.value, _joint(tracer, *(side for side in (left, right) if type(side) is list)))
    kind = bool if name in ("eq", "ne", "lt", "le", "gt", "ge") else None
    return tracer.python_call(getattr(operator, name), (left, right), kind=kind, effect=True)


def augmented(tracer: Tracer, name: str, target: Any, value: Any) -> Any:
    """``target += value``, ``target *= value``."""
    if type(target) is not list or tracer.is_outer(target):
        return binary(tracer, name[1:].rstrip("_"), target, value)
    open_list(tracer, target)
    if name == "iadd":
        _put_all(tracer, elements_of(target), value)
    tracer.effect(getattr(operator, name), target, value)
    return target


def take_all(tracer: Tracer, target: list[Any], func: BuiltinMethodType, args: tuple[Any, ...]) -> Any:
    """A method by which a list whose length was known takes over one of which it is not."""
    open_list(tracer, target)
    return call_method(tracer, func, target, args, {})


def copied(tracer: Tracer, function: Callable[..., Any], thing: list[Any], **kwargs: Any) -> Any:
    """``list(thing)``, ``sorted(thing)``: another list of the same elements."""
    found = tracer.python_call(function, (thing,), kwargs, kind=list, effect=True)
    return new_list(tracer, found.value, elements_of(thing))


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

    def length(self) -> Any:
        """The number of turns; a list may grow on the way."""
        lengths = [self._length(thing) for thing in self.things]
        if len(lengths) == 1:
            return lengths[0]
        return self.tracer.python_call(min, tuple(lengths), kind=int)

    def _length(self, thing: Any) -> Any:
        if isinstance(thing, Parts):
            return thing.length()
        return self.tracer.python_call(len, (thing,), kind=int, effect=True) if is_open(thing) else len(thing)

    def part(self, index: Any) -> Any:
        """What turn number `index` gets."""
        if self.is_backward:
            # Counted from the end that it had when the loop began.
            index = self.length() - 1 - index
        found = tuple(thing.part(index) if isinstance(thing, Parts) else _at(self.tracer, thing, index)
                      for thing in self.things)
        given = found[0] if len(found) == 1 else found
        return given if self.start is None else (self.start + index, given)

    def __iter__(self) -> Any:
        refuse()


class Mapped(Turns):
    """What a generator expression gives over something of which only the run knows how long it is."""

    def __init__(self, tracer: Tracer, parts: Any, elt: Callable[[Any], Any]) -> None:
        self.parts = parts if isinstance(parts, Turns) else Parts(tracer, numbers(tracer, parts))
        self.elt = elt

    def length(self) -> Any:
        return self.parts.length()

    def part(self, index: Any) -> Any:
        return self.elt(self.parts.part(index))


def _at(tracer: Tracer, thing: Any, index: Any) -> Any:
    from d2s.operators.items import item as any_item

    return any_item(tracer, thing, index)


def parts_of(tracer: Tracer, things: tuple[Any, ...]) -> Parts | None:
    """For a loop over `things` side by side, if the run alone knows how many turns it has."""
    if not any(is_open(thing) or isinstance(thing, Parts) for thing in things):
        return None
    for thing in things:
        if not (is_open(thing) or isinstance(thing, Parts | Variable)):
            refuse(f"zip() of a list whose length only the run knows with a {type(thing).__name__}")
    return Parts(tracer, *things)


__all__ = [
    "Mapped", "Parts", "augmented", "binary", "call_method", "copied", "forget_elements", "is_open", "item",
    "list_comp", "numbers", "open_list", "parts_of", "put", "store_item", "take_all",
]
