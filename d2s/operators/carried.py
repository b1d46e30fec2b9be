"""What a loop carries from turn to turn: the form of a value that covers all turns, and its Values in the Program."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import CellType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.core.spec import Dim, TensorSpec
from d2s.operators.equality import is_plain, is_told_by_value, same_plain_value
from d2s.operators.guards import is_layer
from d2s.operators.heap import CONTAINERS, fields_of, is_user_object, restore
from d2s.operators.open_items import OPENED, Elements, elements_of, held_items, is_open, new_open
from d2s.operators.outcomes import CannotMerge, Grown, other_names
from d2s.operators.sharing import note_chosen
from d2s.operators.symbols import symbol_of
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
from d2s.static.program import Value
from d2s.static.runtime import MISSING
from d2s.static.variable import ObjectVariable, Variable

NUMBERS = (int, float, bool)


@dataclass(frozen=True)
class TensorForm:
    """A tensor; `missing` is the user's name for it if some turn begins without it.

    With `may_stop`, it stops gradients in some runs, or some of several do.
    """

    spec: TensorSpec
    stop_gradient: bool
    missing: str | None = None
    may_stop: bool = False


@dataclass(frozen=True)
class ObjectForm:
    """A Python object that only the run knows; `kind` is its type, where all turns agree on it.

    Of one that may be a tensor nothing is known; it is `foreign` if an untraced function of the user may have made it.
    """

    kind: type | None
    missing: str | None = None
    may_be_tensor: bool = False
    foreign: bool = False


@dataclass(frozen=True)
class SameForm:
    """The same plain value in all turns."""

    value: Any


@dataclass(frozen=True)
class BuiltForm:
    """What is made anew in each turn, of the same structure: tuple, named tuple, list, dict or object of the user.

    `keys` are those of a dict, or the names of attributes.
    """

    cls: type
    keys: tuple[Any, ...] | None
    parts: tuple[Form, ...]


@dataclass(frozen=True)
class OpenForm:
    """A container of which only the run knows what is in it."""

    elements: Elements


@dataclass(frozen=True)
class EitherForm:
    """An element of a list that only the run knows to be of one of several forms: None or a tensor, say."""

    forms: tuple[Form, ...]


ValueOf = Callable[[Variable], Value]
Form = TensorForm | ObjectForm | SameForm | BuiltForm | OpenForm | EitherForm

ANYTHING = ObjectForm(None, may_be_tensor=True)


def form_of(
    tracer: Tracer, thing: Any, value_of: ValueOf, inside: tuple[Any, ...] = (), instances: bool = True
) -> Form:
    """The narrowest form of one value, found `inside` others; `value_of` says what a Variable names at that moment.

    Without `instances`, objects of the user's classes are themselves.
    """
    thing = symbol_of(tracer, thing)
    if isinstance(thing, Variable):
        return form_of_value(tracer, value_of(thing))
    if isinstance(thing, ObjectVariable):
        is_foreign = tracer.foreign_results.is_one(thing)
        return ObjectForm(thing.value.kind, thing.value.maybe_missing, thing.value in tracer.elements, is_foreign)
    if is_open(thing):
        return OpenForm(elements_of(thing))
    is_instance = instances and tracer.is_made(thing) and is_replaceable(thing)
    if is_instance or type(thing) in (list, dict) or isinstance(thing, tuple):
        if any(thing is other for other in inside):
            return SameForm(thing)
        keys = tuple(fields_of(thing)) if is_instance else tuple(thing) if type(thing) is dict else None
        forms = tuple(form_of(tracer, part, value_of, (*inside, thing), instances) for part in parts_in(thing))
        return BuiltForm(type(thing), keys, forms)
    return SameForm(thing)


def is_replaceable(thing: Any) -> bool:
    """True for an object that is nothing but its attributes: another with the same ones may take its place."""
    return is_user_object(thing) and not isinstance(thing, (*CONTAINERS, tuple, BaseException, Iterator)) and (
        not is_layer(thing))


def parts_in(thing: Any) -> list[Any]:
    """The parts of what is made anew in each turn."""
    if isinstance(thing, tuple | list):
        return list(thing)
    return list(thing.values() if isinstance(thing, dict) else fields_of(thing).values())


def built_of(tracer: Tracer, form: BuiltForm, parts: list[Any]) -> Any:
    """What user code sees of such parts."""
    if form.cls is dict:
        return dict(zip(form.keys or (), parts, strict=True))
    if form.keys is not None:
        made: Any = object.__new__(form.cls)
        restore(made, dict(zip(form.keys, parts, strict=True)))
        tracer.note_made(made)
        return made
    return form.cls(*parts) if hasattr(form.cls, "_fields") else form.cls(parts)


def form_of_value(tracer: Tracer, value: Value) -> TensorForm:
    """The form of a tensor Value."""
    assert value.spec is not None
    return TensorForm(value.spec, value.stop_gradient, value.maybe_missing, value in tracer.may_stop)


def elements_in(form: Form | None) -> Iterator[Elements]:
    if isinstance(form, OpenForm):
        yield form.elements
        yield from elements_in(form.elements.form)
        if form.elements.keys is not None:
            yield form.elements.keys
    elif isinstance(form, BuiltForm):
        for part in form.parts:
            yield from elements_in(part)


def joined(first: Form, second: Form, name: str, in_loop: bool, any_kind: bool = False) -> Form:
    """The form that covers both; inside another loop, numbers of several types too, for no turn can be taken apart.

    With `any_kind` that is an object of any kind, unless both are the same.
    """
    if any_kind:
        return first if first == second else _of_any_kind(first, second, name)
    if isinstance(first, EitherForm) or isinstance(second, EitherForm):
        return either(first, second, name)
    if isinstance(first, TensorForm) and isinstance(second, TensorForm):
        return _joined_tensors(first, second, name)
    if _is_missing(first) or _is_missing(second):
        return _with_missing(first, second, name)
    if isinstance(first, BuiltForm) and isinstance(second, BuiltForm) and _are_alike(first, second):
        pairs = zip(first.parts, second.parts, strict=True)
        return BuiltForm(first.cls, first.keys, tuple(joined(a, b, name, in_loop) for a, b in pairs))
    if isinstance(first, SameForm) and isinstance(second, SameForm) and _are_same(first.value, second.value):
        return first
    if _opened_class(first) is not None and _opened_class(first) is _opened_class(second):
        return _joined_open(first, second, name)
    kinds = {_kind_of(form) for form in (first, second)}
    objects = all(isinstance(form, ObjectForm) or _is_number(form) for form in (first, second))
    # What a turn leaves as an object of some kind may have been None or a number.
    unknown = None in kinds and kinds <= {*NUMBERS, type(None), None}
    if unknown or (objects and (len(kinds) == 1 or (in_loop and kinds <= {*NUMBERS, None}))):
        names = [form.missing for form in (first, second) if isinstance(form, ObjectForm)]
        missing = next(filter(None, names), None)
        flags = _flags(first, second)
        return ObjectForm(kinds.pop() if len(kinds) == 1 else None, missing, *flags)
    raise CannotMerge(_told_apart(name, first, second), name)


def _of_any_kind(first: Form, second: Form, name: str) -> ObjectForm:
    """The form of an object of which nothing is known but whether it may be unbound."""
    missing: str | None = None
    kinds: set[Any] = set()
    grows = False
    for form in (first, second):
        if isinstance(form, SameForm) and form.value is MISSING:
            missing = name
            continue
        is_told = isinstance(form, SameForm) and is_told_by_value(form.value)
        is_tuple = isinstance(form, BuiltForm) and form.cls is tuple
        grows = grows or is_tuple
        if not (isinstance(form, ObjectForm | TensorForm) or is_told or is_tuple):
            raise CannotMerge(_told_apart(name, first, second))
        kinds.add(TensorBase if isinstance(form, TensorForm) else _kind_of(form))
        missing = missing or getattr(form, "missing", None)
    may_be_tensor, is_foreign = _flags(first, second)
    may_be_tensor = may_be_tensor or TensorBase in kinds
    kind = None if may_be_tensor or grows or len(kinds) != 1 else kinds.pop()
    # A tuple that grows is one of the run: nothing is known of what is in it.
    return ObjectForm(kind, missing, may_be_tensor, is_foreign or grows)


def _flags(*forms: Form) -> tuple[bool, bool]:
    """Whether something of one of the forms may be a tensor, and whether it may be foreign."""
    may_be_tensor, is_foreign = (
        any(getattr(form, flag, False) for form in forms) for flag in ("may_be_tensor", "foreign"))
    return may_be_tensor, is_foreign


def either(first: Form, second: Form, name: str) -> Form:
    """The form of elements that are of one form or of another; an object of the run where they cannot be told apart."""
    if isinstance(first, BuiltForm) and isinstance(second, BuiltForm) and _are_alike(first, second):
        pairs = zip(first.parts, second.parts, strict=True)
        return BuiltForm(first.cls, first.keys, tuple(either(a, b, name) for a, b in pairs))
    forms = [*(first.forms if isinstance(first, EitherForm) else (first,))]
    for new in second.forms if isinstance(second, EitherForm) else (second,):
        for place, known in enumerate(forms):
            try:
                forms[place] = joined(known, new, name, True)
            except CannotMerge:
                continue
            break
        else:
            forms.append(new)
    if len(forms) == 1:
        return forms[0]
    if all(map(_can_be_told, forms)):
        return EitherForm(tuple(forms))
    return ObjectForm(None, None, *_flags(*forms))


def _can_be_told(form: Form) -> bool:
    """True if the run can tell by the value itself whether it is of this form."""
    if isinstance(form, ObjectForm):
        return form.kind is not None
    return isinstance(form, TensorForm) or (isinstance(form, SameForm) and is_plain(form.value))


def is_of_form(thing: Any, form: Form) -> bool:
    """In the run: is `thing` of a form that can be told?"""
    if isinstance(form, TensorForm):
        return isinstance(thing, TensorBase) and form.spec.admits(thing.data)  # type: ignore[attr-defined]
    if isinstance(form, ObjectForm):
        return type(thing) is form.kind
    assert isinstance(form, SameForm)
    return same_plain_value(thing, form.value)


def _opened_class(form: Form) -> type | None:
    """The class of a container that is one of the run, or may be made one to be joined with such."""
    if isinstance(form, OpenForm):
        return form.elements.cls
    return form.cls if isinstance(form, BuiltForm) and form.cls in (list, dict) else None


def _joined_open(first: Form, second: Form, name: str) -> Form:
    """A container that holds another number of elements, or has other keys, after a turn."""
    known = [form.elements for form in (first, second) if isinstance(form, OpenForm)]
    empty = known[0].empty if known else _opened_class(first)
    assert empty is not None
    made = Elements(_joined_forms((first, second), name), any(elements.is_older for elements in known), empty)
    if made.keys is not None:
        keys: list[Form | None] = [
            key_form(key) for form in (first, second) if isinstance(form, BuiltForm) for key in form.keys or ()]
        keys += [elements.keys.form for elements in known if elements.keys is not None]
        made.keys.form = _either_of_all(keys, name)
    return OpenForm(made)


def _joined_forms(forms: tuple[Form, ...], name: str) -> Form | None:
    parts: list[Form | None] = []
    for form in forms:
        parts += form.parts if isinstance(form, BuiltForm) else [form.elements.form]  # type: ignore[union-attr]
    return _either_of_all(parts, name)


def _either_of_all(forms: Iterable[Form | None], name: str) -> Form | None:
    found: Form | None = None
    for form in forms:
        if form is not None:
            found = form if found is None else either(found, form, name)
    return found


def key_form(key: Any) -> Form:
    """The form of a key of a dict, or a member of a set, that the run may have others beside."""
    if isinstance(key, ObjectVariable):
        return ObjectForm(key.value.kind)
    if type(key) is tuple:
        return BuiltForm(tuple, None, tuple(map(key_form, key)))
    return ObjectForm(type(key)) if is_told_by_value(key) else SameForm(key)


def _joined_tensors(first: TensorForm, second: TensorForm, name: str) -> TensorForm:
    if first.spec.dtype != second.spec.dtype or first.spec.ndim != second.spec.ndim:
        raise CannotMerge(_told_apart(name, first, second), name)
    if same_shape(first.spec, second.spec):
        spec = first.spec
    else:
        sizes = zip(first.spec.shape, second.spec.shape, strict=True)
        shape = tuple(a if isinstance(a, int) and isinstance(b, int) and a == b else Dim() for a, b in sizes)
        spec = TensorSpec(shape, first.spec.dtype)
    may_stop = first.may_stop or second.may_stop or first.stop_gradient is not second.stop_gradient
    return TensorForm(
        spec, first.stop_gradient and second.stop_gradient, first.missing or second.missing, may_stop)


def same_shape(first: TensorSpec, second: TensorSpec) -> bool:
    """True if both have the same sizes, taking all sizes that are known only when the Program runs as one."""
    return [s if isinstance(s, int) else None for s in first.shape] == [
        s if isinstance(s, int) else None for s in second.shape]


def _with_missing(first: Form, second: Form, name: str) -> Form:
    """A name that is bound in some turns: checked where it is read."""
    bound = second if _is_missing(first) else first
    if isinstance(bound, TensorForm):
        return replace(bound, missing=bound.missing or name)
    if isinstance(bound, OpenForm):
        return bound
    if isinstance(bound, ObjectForm) or (isinstance(bound, SameForm) and is_told_by_value(bound.value)):
        return ObjectForm(_kind_of(bound), name)
    if isinstance(bound, BuiltForm) and issubclass(bound.cls, tuple | list) and bound.parts:
        # Reading the name reads its parts: each is checked.
        nothing = SameForm(MISSING)
        return BuiltForm(bound.cls, None, tuple(_with_missing(nothing, part, name) for part in bound.parts))
    raise CannotMerge(f"{name} is bound after a turn only, to {_shown(bound)}")


def _is_missing(form: Form) -> bool:
    return isinstance(form, SameForm) and form.value is MISSING


def _are_alike(first: BuiltForm, second: BuiltForm) -> bool:
    return (first.cls, first.keys, len(first.parts)) == (second.cls, second.keys, len(second.parts))


def _are_same(first: Any, second: Any) -> bool:
    return first is second or same_plain_value(first, second)


def _kind_of(form: Form) -> Any:
    if isinstance(form, ObjectForm):
        return form.kind
    return type(form.value) if isinstance(form, SameForm) else form


def _is_number(form: Form) -> bool:
    return isinstance(form, SameForm) and type(form.value) in NUMBERS


def covers(form: Form, other: Form) -> bool:
    """True if `other` adds nothing to `form`."""
    if isinstance(form, TensorForm) and isinstance(other, TensorForm):
        return (
            form.spec.dtype == other.spec.dtype and same_shape(form.spec, other.spec)
            and form.stop_gradient == other.stop_gradient and bool(form.missing) >= bool(other.missing)
            and form.may_stop >= other.may_stop
        )
    if isinstance(form, OpenForm) and isinstance(other, OpenForm):
        pairs = [(form.elements.form, other.elements.form)]
        if form.elements.keys is not None and other.elements.keys is not None:
            pairs.append((form.elements.keys.form, other.elements.keys.form))
        return all(
            known is new or new is None or (known is not None and covers(known, new)) for known, new in pairs)
    if isinstance(form, EitherForm):
        others = other.forms if isinstance(other, EitherForm) else (other,)
        return all(any(covers(known, new) for known in form.forms) for new in others)
    if isinstance(form, BuiltForm) and isinstance(other, BuiltForm):
        return len(form.parts) == len(other.parts) and all(map(covers, form.parts, other.parts))
    return form == other


def inputs_of(tracer: Tracer, form: Form, name: str) -> list[Value]:
    """New Values for what a turn begins with."""
    if isinstance(form, TensorForm):
        return [tracer.new_value(name, form.spec, form.stop_gradient, maybe_missing=form.missing)]
    if isinstance(form, ObjectForm):
        return [tracer.new_value(name, None, kind=form.kind, maybe_missing=form.missing)]
    if isinstance(form, OpenForm):
        return [tracer.new_value(name, None, kind=form.elements.cls)]
    if isinstance(form, BuiltForm):
        return [value for part in form.parts for value in inputs_of(tracer, part, name)]
    return []


def rebuilt(tracer: Tracer, form: Form, values: Iterator[Value], *sources: Any) -> Any:
    """What user code sees for the Values of a form; it may be one of `sources`."""
    if isinstance(form, TensorForm):
        made = Variable(tracer, next(values))
        note_chosen(made, (symbol_of(tracer, source) for source in sources if isinstance(source, TensorBase)))
        return made
    if isinstance(form, ObjectForm):
        value = next(values)
        if form.may_be_tensor:
            tracer.elements.add(value)
        found = ObjectVariable(tracer, value)
        if form.foreign:
            tracer.foreign_results.add(found)
        return found
    if isinstance(form, SameForm):
        return form.value
    if isinstance(form, OpenForm):
        return new_open(tracer, next(values), form.elements)
    assert isinstance(form, BuiltForm)
    parts = [
        rebuilt(
            tracer, part, values,
            *(parts_in(s)[i] for s in sources if s is not MISSING))
        for i, part in enumerate(form.parts)
    ]
    return built_of(tracer, form, parts)


def values_of(tracer: Tracer, form: Form, thing: Any, value_of: ValueOf) -> list[Value]:
    """The Values of `thing`, in the order of `inputs_of`; `value_of` as in `form_of`."""
    if isinstance(form, SameForm):
        return []
    if isinstance(form, BuiltForm):
        parts = [MISSING] * len(form.parts) if thing is MISSING else parts_in(thing)
        pairs = zip(form.parts, parts, strict=True)
        return [value for part, inner in pairs for value in values_of(tracer, part, inner, value_of)]
    if thing is MISSING:
        return [tracer.constant(None if isinstance(form, TensorForm) else MISSING)]
    if isinstance(form, OpenForm):
        return [tracer.lowering.container_of_run(thing)]
    if isinstance(thing, TensorBase):
        value = value_of(thing if isinstance(thing, Variable) else tracer.lift(thing))
        return [tracer.materialise(value) if isinstance(form, ObjectForm) else value]
    if isinstance(thing, tuple):
        return [tracer.python_call(_itself, (_at_end(tracer, thing, value_of),), effect=True).value]
    return [thing.value if isinstance(thing, ObjectVariable) else tracer.constant(thing)]


def _at_end(tracer: Tracer, thing: Any, value_of: ValueOf) -> Any:
    """A tensor or tuple as it is at the end of a turn."""
    if isinstance(thing, tuple):
        parts = [_at_end(tracer, part, value_of) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    return Variable(tracer, value_of(symbol_of(tracer, thing))) if isinstance(thing, TensorBase) else thing


def _itself(thing: Any) -> Any:
    return thing


def differences(node: Any, before: Any, after: Any) -> Iterator[tuple[Any, Any, Any]]:
    """(where, before, after) for each place of a mutable object that holds something else."""
    if isinstance(node, CellType | Variable):
        yield None, before, after
    elif type(node) in OPENED and _has_other_places(before, after):
        raise Grown(node, f"a {type(node).__name__} holds other things, or more of them, from turn to turn")
    elif isinstance(before, list | deque):
        if len(before) != len(after):
            raise CannotMerge(f"a {type(node).__name__} changes its length from turn to turn")
        for position, (old, now) in enumerate(zip(before, after, strict=True)):
            if old is not now:
                yield position, old, now
    elif hasattr(before, "keys"):
        if list(before) != list(after):
            raise CannotMerge(other_names(node, before, after, "behind a turn"))
        for key in before:
            if before[key] is not after[key]:
                yield key, before[key], after[key]
    else:
        raise CannotMerge(f"a {type(node).__name__} changes from turn to turn")


def _has_other_places(before: Any, after: Any) -> bool:
    """True if a container has another length or other keys, or is one of the run only after a turn."""
    if held_items(before) is None and held_items(after) is not None:
        return True
    return len(before) != len(after) if isinstance(before, list | deque) else list(before) != list(after)


def _told_apart(name: str, first: Form, second: Form) -> str:
    before, after = _shown(first), _shown(second)
    if before == after:
        return f"{name} is {before} before a turn and another one after it"
    return f"{name} is {before} before a turn and {after} after it"


def _shown(form: Form) -> str:
    if isinstance(form, TensorForm):
        return f"a tensor {form.spec}"
    if isinstance(form, OpenForm):
        return f"a {form.elements.cls.__name__}"
    if isinstance(form, BuiltForm):
        return f"a {form.cls.__name__} of {len(form.parts)}"
    if isinstance(form, ObjectForm):
        return "another object" if form.kind is None else f"a {form.kind.__name__}"
    if isinstance(form, EitherForm):
        return " or ".join(map(_shown, form.forms))
    value = form.value
    if isinstance(value, Turns):
        return "an iterator"
    return "unbound" if value is MISSING else "None" if value is None else f"a {type(value).__name__}"
