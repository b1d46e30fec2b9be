"""What functions and statements make of lists whose length only the run knows: unpacked, sorted, stacked; lists of the
run that tensors and other objects of the run give."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

from d2s.core.arrays import as_array
from d2s.core.spec import Dim, TensorSpec, spec_of
from d2s.eager.creation import to_tensor
from d2s.operators import carried
from d2s.operators.carried import Form, ObjectForm, OpenForm, SameForm, TensorForm
from d2s.operators.control_flow import for_loop
from d2s.operators.open_items import Elements, elements_of, is_open, new_list, refuse, rest_items
from d2s.operators.open_lists import Parts, call_method, copied, item, list_comp, open_list
from d2s.operators.tracer import Tracer
from d2s.ops import joining
from d2s.ops.arithmetic import add_n
from d2s.ops.axes import axis_index
from d2s.static.variable import ObjectVariable, Variable

# More numbers of a tensor than this are not taken one by one.
MAX_NUMBERS = 16


def unpacked(tracer: Tracer, thing: list[Any], before: int, after: int | None) -> list[Any]:
    """What ``a, b = thing`` takes apart: `before` parts, or so many, the rest, and `after` parts."""
    length = tracer.python_call(len, (thing,), kind=int, effect=True)
    wanted = before + (after or 0)
    if after is not None:
        if not tracer.decide(length >= wanted):
            words = f"not enough values to unpack (expected at least {wanted}, got {{}})"
            raise ValueError(tracer.python_call(words.format, (length,), kind=str))
    elif not tracer.decide(length == wanted):
        if tracer.decide(length > wanted):
            raise ValueError(f"too many values to unpack (expected {wanted})")
        raise ValueError(tracer.python_call(
            f"not enough values to unpack (expected {wanted}, got {{}})".format, (length,), kind=str))
    parts = [item(tracer, thing, place) for place in range(before)]
    if after is None:
        return parts
    end = -after if after else None
    rest = tracer.python_call(operator.getitem, (thing, slice(before, end)), kind=list, effect=True)
    last = [item(tracer, thing, place) for place in range(-after, 0)]
    return [*parts, rest_items(tracer, rest.value, elements_of(thing)), *last]


class _Spread:
    """All elements of a list of the run, in a display that is being made."""

    def __init__(self, things: list[Any]) -> None:
        self.things = things


def spread(tracer: Tracer, thing: list[Any]) -> list[Any]:
    """What stands for ``*thing`` in a list display until that is whole."""
    return [_Spread(copied(tracer, list, thing))]


def displayed(tracer: Tracer, made: list[Any]) -> list[Any]:
    """The list of a display with ``*``."""
    if not any(type(part) is _Spread for part in made):
        return made
    whole: list[Any] = []
    open_list(tracer, whole)
    for part in made:
        given = part.things if type(part) is _Spread else [part]
        call_method(tracer, whole.extend, whole, (given,), {})  # type: ignore[arg-type]
    return whole


def ordered(tracer: Tracer, thing: list[Any], key: Callable[[Any], Any], is_backward: Any) -> list[Any]:
    """``sorted(thing, key=key, reverse=is_backward)``."""
    keys = list_comp(tracer, Parts(tracer, thing), key, None)
    found = tracer.python_call(_ordered, (thing, keys, is_backward), kind=list, effect=True)
    return new_list(tracer, found.value, elements_of(thing))


def _ordered(things: list[Any], keys: list[Any], is_backward: Any) -> list[Any]:
    return [things[place] for place in sorted(range(len(keys)), key=keys.__getitem__, reverse=is_backward)]


def best(tracer: Tracer, function: Callable[..., Any], thing: list[Any], key: Callable[[Any], Any]) -> Any:
    """``max(thing, key=key)``, ``min(thing, key=key)``."""
    keys = list_comp(tracer, Parts(tracer, thing), key, None)
    place = tracer.python_call(_place_of_best, (function, keys), kind=int, effect=True)
    return item(tracer, thing, place)


def _place_of_best(function: Callable[..., Any], keys: list[Any]) -> int:
    if not keys:
        function(keys)  # raises, with the words for it
    found: int = function(range(len(keys)), key=keys.__getitem__)
    return found


def values_of_tensor(tracer: Tracer, variable: Variable) -> Any:
    """``tensor.tolist()``: a number, a list of numbers while they are few, or a list of the run."""
    shape, kind = variable.spec.shape, {"b": bool, "i": int, "u": int, "f": float, "c": complex}[variable.dtype.kind]
    if all(isinstance(size, int) for size in shape) and math.prod(shape) <= MAX_NUMBERS:  # type: ignore[arg-type]
        return _nested(tracer, variable, shape, ())
    form: Form = ObjectForm(kind)
    for _ in shape[1:]:
        form = OpenForm(Elements(form))
    return new_list(tracer, tracer.python_call(tolist, (variable,), kind=list).value, Elements(form))


def _nested(tracer: Tracer, variable: Variable, shape: Any, index: tuple[int, ...]) -> Any:
    if not shape:
        return tracer.scalar_of(variable, "item", *index)
    return [_nested(tracer, variable, shape[1:], (*index, place)) for place in range(shape[0])]


def tolist(tensor: Any) -> Any:
    return tensor.tolist()


_ELEMENTS_OF = {list: None, tuple: None, str: str, bytes: int, range: int}


def list_of(tracer: Tracer, thing: ObjectVariable) -> list[Any] | None:
    """A list of the run with what an object of the run gives to a loop, if that is known to be a sequence."""
    kind = thing.value.kind
    if kind not in _ELEMENTS_OF:
        return None
    found = tracer.python_call(list, (thing,), kind=list, effect=True)
    return new_list(tracer, found.value, Elements(ObjectForm(_ELEMENTS_OF[kind])))


def smallest(tracer: Tracer, function: Callable[..., Any], thing: list[Any], **default: Any) -> Any:
    """``min(thing)``, ``max(thing)``, of numbers."""
    form: Form | None = elements_of(thing).form
    if not isinstance(form, ObjectForm):
        refuse(f"{function.__name__}() of a list whose length only the run knows, and that holds no numbers")
    kind = form.kind if all(type(value) is form.kind for value in default.values()) else None
    return tracer.python_call(function, (thing,), default, kind=kind, effect=True)


def deeply_copied(tracer: Tracer, thing: list[Any]) -> list[Any]:
    """``copy.deepcopy(thing)``: its tensors are new ones."""
    form: Form | None = elements_of(thing).form
    return new_list(
        tracer, tracer.python_call(copy.deepcopy, (thing,), kind=list, effect=True).value,
        Elements(form if isinstance(form, ObjectForm | SameForm) else ObjectForm(None)))


# --- functions of tensors -----------------------------------------------------------------------------------------


def _joined(tracer: Tracer, op: Any, thing: list[Any], axis: Any, more_axes: int) -> Variable:
    form: Form | None = elements_of(thing).form
    if not isinstance(form, TensorForm):
        refuse(f"{op.name} of a list whose length only the run knows, and whose elements differ")
    spec = form.spec
    axis = axis_index(axis, spec.ndim + more_axes)
    shape = list(spec.shape)
    if more_axes:
        shape.insert(axis, Dim())
    else:
        shape[axis] = Dim()
    return tracer.taken_together(op, thing, {"axis": axis}, TensorSpec(tuple(shape), spec.dtype), form.stop_gradient)


def _stack(tracer: Tracer, x: Any, axis: int = 0, name: str | None = None) -> Any:
    return _joined(tracer, joining.stack_op, x, axis, 1)


def _concat(tracer: Tracer, x: Any, axis: Any = 0, name: str | None = None) -> Any:
    return _joined(tracer, joining.concat_op, x, axis, 0)


def _add_n(tracer: Tracer, inputs: Any, name: str | None = None) -> Any:
    total = item(tracer, inputs, 0)

    def add(part: Any) -> None:
        nonlocal total
        total = total + part

    for_loop(tracer, Parts(tracer, item(tracer, inputs, slice(1, None))), add, None)
    return total


def _to_tensor(tracer: Tracer, data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Any:
    form: Form | None = elements_of(data).form
    if isinstance(form, TensorForm):
        found = _stack(tracer, data).detach()
    elif isinstance(form, ObjectForm) and form.kind in carried.NUMBERS:
        found = tracer.tensor_of_list(data, dtype, spec_of(as_array([form.kind()], dtype)))
    else:
        refuse("to_tensor() of a list whose length only the run knows, and whose elements differ")
    if dtype is not None:
        found = found.astype(dtype)
    found.stop_gradient = stop_gradient
    return found


_MEANING: dict[Any, Callable[..., Any]] = {
    joining.stack: _stack, joining.concat: _concat, add_n: _add_n, to_tensor: _to_tensor}


def call_own(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of d2s that is given such a list."""
    meaning = _MEANING.get(func)
    if meaning is None:
        refuse(f"{func.__name__}() of a list whose length only the run knows cannot become a graph")
    return meaning(tracer, *args, **kwargs)


def are_given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """True if such a list is among the arguments of a call."""
    return any(map(is_open, args)) or any(map(is_open, kwargs.values()))


__all__ = [
    "are_given", "best", "call_own", "deeply_copied", "displayed", "list_of", "ordered", "smallest", "spread", "tolist",
    "unpacked", "values_of_tensor",
]
