"""What is known of the elements of containers of the run: what is put in, and what user code sees of one of them."""

from __future__ import annotations

import gc
import operator
from collections import deque
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import carried
from d2s.operators.carried import BuiltForm, EitherForm, Form, ObjectForm, OpenForm, SameForm, TensorForm
from d2s.operators.equality import is_told_by_value
from d2s.operators.open_items import (
    OPENED,
    Elements,
    elements_of,
    empty_like,
    fill_with_items,
    is_open,
    new_open,
    refuse,
)
from d2s.operators.outcomes import CannotMerge
from d2s.operators.restarts import ListsOfTheRun
from d2s.operators.sharing import note_chosen
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable


def open_up(tracer: Tracer, thing: Any) -> None:
    """Turn a container that traced code has made into one of the run."""
    if is_open(thing):
        return
    if type(thing) is deque and thing.maxlen == 0:
        raise CannotMerge("a deque for no elements cannot be one of the run")
    if isinstance(thing, dict | set) and any(isinstance(other, _LOOKING) for other in gc.get_referrers(thing)):
        raise UnsupportedSyntaxError(
            f"a {type(thing).__name__} becomes one of which only the run knows what is in it, while a view or iterator "
            "of it is in use", user_location(), "Take the view where it is used.", kind="U05")
    tracer.lower(thing)
    elements = Elements(empty=empty_like(thing))
    for part in thing.values() if isinstance(thing, dict) else thing:
        put(tracer, elements, part)
    for key in thing if isinstance(thing, dict) else ():
        put_key(elements, key)
    fill_with_items(tracer, thing, elements)


_EMPTY: dict[Any, Any] = {}
# They would show what stands in for the items of the run.
_LOOKING: tuple[type, ...] = (
    type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()), type(iter(_EMPTY)), type(iter(_EMPTY.values())),
    type(iter(_EMPTY.items())), type(iter(set())))


def put_key(elements: Elements, key: Any) -> None:
    """Take note that something becomes a key of a dict."""
    assert elements.keys is not None
    _learn(elements.keys, known_key(key))


def known_key(key: Any) -> Form:
    """The form of a key or member; refused where its hash is that of an object."""
    parts = key if type(key) is tuple else (key,)
    if not all(isinstance(part, ObjectVariable | type | FunctionType) or is_told_by_value(part) for part in parts):
        refuse(f"a {type(key).__name__} as key or member of a dict or set of which only the run knows what is in it")
    return carried.key_form(key)


def forget_elements(thing: Any) -> None:
    """Take note that others may have put anything into a container of the run."""
    elements = elements_of(thing)
    _let_be(elements, carried.ANYTHING)
    if elements.keys is not None:
        _let_be(elements.keys, ObjectForm(None))


def _let_be(elements: Elements, form: Form) -> None:
    if elements.form != form:
        elements.form = form


def _form_of(tracer: Tracer, part: Any) -> Form:
    # What the run has of the user's objects may be changed there.
    found = carried.form_of(tracer, part, lambda variable: variable.value, instances=False)
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
    if issubclass(elements.cls, set):
        _learn(elements, known_key(part))
        return
    if type(part) in OPENED and (not part or ListsOfTheRun in tracer.learned) and not tracer.is_outer(part):
        # To be filled there.
        open_up(tracer, part)
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


def put_all(tracer: Tracer, elements: Elements, parts: Any) -> None:
    """Take note that all elements of something become elements."""
    if is_open(parts):
        other = elements_of(parts)
        if other.keys is not None:
            other = other.keys
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
        made = tracer.taken(found, form.spec, form.stop_gradient, form.may_stop)
        if elements.is_older:
            tracer.unwritable.add(made.value)
        note_chosen(made, elements.tensors())
        elements.note(made)
        return made
    if isinstance(form, OpenForm):
        return new_open(tracer, found.value, form.elements)
    if isinstance(form, SameForm):
        return form.value
    if isinstance(form, EitherForm):
        return _told_apart(tracer, found, form.forms, elements)
    if isinstance(form, BuiltForm):
        keys = range(len(form.parts)) if form.keys is None else form.keys
        parts = [
            element(tracer, tracer.python_call(operator.getitem, (found, key), kind=kind_of(part)), part, elements)
            for key, part in zip(keys, form.parts, strict=True)]
        built = carried.built_of(tracer, form, parts)
        tracer.freeze(built)
        return built
    if found.value.kind is None:
        tracer.elements.add(found.value)
    return found


def _told_apart(tracer: Tracer, found: ObjectVariable, forms: Sequence[Form], elements: Elements) -> Any:
    """The same where it is of one of several forms: each is followed."""
    for form in forms[:-1]:
        if tracer.decide(tracer.python_call(carried.is_of_form, (found, form), kind=bool)):
            break
    else:
        form = forms[-1]
    kind = kind_of(form)
    if kind is not None and not isinstance(form, TensorForm):
        found = tracer.python_call(_itself, (found,), kind=kind)
    return element(tracer, found, form, elements)


def _itself(thing: Any) -> Any:
    return thing


def kind_of(form: Form | None) -> type | None:
    """The type of what is of a form, as far as it is known."""
    if isinstance(form, TensorForm):
        return TensorBase
    return form.kind if isinstance(form, ObjectForm) else form.elements.cls if isinstance(form, OpenForm) else None


__all__ = ["element", "forget_elements", "kind_of", "open_up", "put", "put_all", "put_key"]
