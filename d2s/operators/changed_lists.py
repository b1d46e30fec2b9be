"""Older lists and deques that this call has changed, read as a whole: a list of the run with what they hold by then.

How long such a list is does not matter; its elements are of the forms that a guard finds at the beginning of each call,
or of those that the trace has put in.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import carried, open_elements
from d2s.operators.carried import ANYTHING, EitherForm, Form, ObjectForm, TensorForm
from d2s.operators.guards import Guard
from d2s.operators.open_items import Elements, new_list
from d2s.operators.tracer import Tracer

# Methods that put in one argument, and those that put in nothing.
_PUT_IN = {"append": 0, "appendleft": 0, "insert": 1}
_PUT_NOTHING = frozenset({"pop", "popleft", "clear", "reverse", "remove", "rotate"})


def note_method(tracer: Tracer, owner: Any, name: str, args: tuple[Any, ...]) -> None:
    """Take note that a method has changed an older container."""
    place = _PUT_IN.get(name)
    is_known = type(owner) in (list, deque) and (name in _PUT_NOTHING or (place is not None and len(args) > place))
    tracer.follow(owner, name, args)
    tracer.changed(owner, is_known, is_followed=True)
    if is_known and place is not None:
        note_put(tracer, owner, args[place])


def note_anything(tracer: Tracer, owner: list[Any]) -> None:
    """Take note that anything may have been put into an older list."""
    tracer.changed(owner)
    tracer.put_in[id(owner)] = Elements(ANYTHING)


def note_put(tracer: Tracer, owner: list[Any] | deque[Any], value: Any) -> None:
    """Take note that something is put into an older list or deque."""
    elements = tracer.put_in.setdefault(id(owner), Elements())
    if elements is not None:
        open_elements.put(tracer, elements, value)


def of_run(tracer: Tracer, thing: Any) -> list[Any] | None:
    """A copy of a changed older list or deque as a list of the run; None for others, and where its elements vary."""
    source = tracer.source_of(thing) if type(thing) in (list, deque) and tracer.is_unknown(thing) else None
    elements = tracer.put_in.get(id(thing))
    if source is None or elements is None:
        return None
    form: Form | None = elements.form
    if form == ANYTHING:
        made = tracer.python_call(list, (thing,), kind=list, effect=True)
        return new_list(tracer, made.value, Elements(form, is_older=True))
    if tracer.may_have_changed:
        return None
    for part in thing:
        found = _form_of(part)
        if found is None:
            return None
        form = found if form is None else carried.either(form, found, "an element")
    if form is not None and not _can_be_told(form):
        return None
    tracer.require(Guard(source, "{k0}.fits({v})", (_Fit(form),), f"elements of the form {form}"), thing)
    made = tracer.python_call(list, (thing,), kind=list, effect=True)
    known = Elements(form, is_older=True)
    for tensor in elements.tensors():
        known.note(tensor)
    return new_list(tracer, made.value, known)


def as_read(tracer: Tracer, thing: Any) -> Any:
    """An argument of what reads it as a whole: such a list as one of the run, other things as they are."""
    found = of_run(tracer, thing) if tracer.dirty else None
    return thing if found is None else found


class _Fit:
    """Tells whether all elements of a list are of a form."""

    def __init__(self, form: Form | None) -> None:
        self.forms = form.forms if isinstance(form, EitherForm) else () if form is None else (form,)

    def fits(self, held: list[Any] | deque[Any]) -> bool:
        """At the beginning of a call."""
        return all(any(_is_of(part, form) for form in self.forms) for part in held)


def _form_of(part: Any) -> Form | None:
    if isinstance(part, TensorBase):
        return TensorForm(part.spec, part.stop_gradient)  # type: ignore[attr-defined]
    return ObjectForm(type(part)) if type(part) in carried.NUMBERS else None


def _can_be_told(form: Form) -> bool:
    if isinstance(form, EitherForm):
        return all(map(_can_be_told, form.forms))
    return isinstance(form, TensorForm) or (isinstance(form, ObjectForm) and form.kind is not None)


def _is_of(part: Any, form: Form) -> bool:
    if isinstance(form, TensorForm) and form.stop_gradient and not getattr(part, "stop_gradient", True):
        return False
    return carried.is_of_form(part, form)
