"""What functions and statements make of lists whose length only the run knows: unpacked, sorted, stacked; lists of the
run that tensors and other objects of the run give."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from d2s.core.arrays import as_array
from d2s.core.spec import Dim, TensorSpec, spec_of
from d2s.eager.creation import to_tensor
from d2s.errors import ExecutionError
from d2s.operators import carried
from d2s.operators.carried import Form, ObjectForm, OpenForm, SameForm, TensorForm
from d2s.operators.control_flow import for_loop, if_else
from d2s.operators.open_elements import element, kind_of, open_up, put
from d2s.operators.open_items import Elements, TableView, elements_of, is_open, new_list, new_open, refuse, rest_items
from d2s.operators.open_lists import Parts, call_method, copied, item, list_comp, rows_of
from d2s.operators.open_tables import listed
from d2s.operators.symbols import SymbolicRange
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
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


def as_open_list(tracer: Tracer, thing: Any) -> list[Any] | None:
    """A list of the run of all that only the run knows how much it is; None for other things."""
    if type(thing) is list and is_open(thing):
        return thing
    if is_open(thing):
        return copied(tracer, list, thing)
    if isinstance(thing, TableView):
        return listed(thing)
    thing = rows_of(tracer, thing)
    return list_comp(tracer, thing, _itself, None) if isinstance(thing, Turns | SymbolicRange) else None


def _itself(thing: Any) -> Any:
    return thing


def nested(
    tracer: Tracer, iterable: Any, inner: Callable[[Any], Any], test: Callable[[Any], Any] | None
) -> list[Any]:
    """All that ``for item in iterable if test(item) for part in inner(item)`` gives."""
    from d2s.operators.calls import call
    from d2s.operators.protocols import iterable_of

    found: list[Any] = []

    def add_all(item: Any) -> None:
        for_loop(tracer, iterable_of(tracer, inner(item)), lambda part: call(found.append, part), None)

    def add(item: Any) -> None:
        if test is None:
            add_all(item)
        else:
            if_else(tracer, test(item), lambda: add_all(item), None)

    for_loop(tracer, iterable, add, None)
    return found


class Spread:
    """All elements of a list of the run, in a display that is being made, or among the arguments of a call."""

    def __init__(self, things: Any) -> None:
        self.things = things


def spread(tracer: Tracer, thing: Any) -> list[Spread] | None:
    """What stands for ``*thing`` in a display or call until that is whole; None where all of it is known."""
    if tracer.foreign_results.is_one(thing):
        return [Spread(thing)]
    things = as_open_list(tracer, thing)
    return None if things is None else [Spread(copied(tracer, list, things) if things is thing else things)]


def displayed(tracer: Tracer, made: list[Any]) -> list[Any]:
    """The list of a display with ``*``."""
    if not any(type(part) is Spread for part in made):
        return made
    if any(type(part) is Spread and isinstance(part.things, ObjectVariable) for part in made):
        refuse("what an untraced call gives is spread out in a display")
    whole: list[Any] = []
    open_up(tracer, whole)
    for part in made:
        given = part.things if type(part) is Spread else [part]
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
    return new_open(tracer, tracer.python_call(tolist, (variable,), kind=list).value, Elements(form))


def _nested(tracer: Tracer, variable: Variable, shape: Any, index: tuple[int, ...]) -> Any:
    if not shape:
        return tracer.scalar_of(variable, "item", *index)
    return [_nested(tracer, variable, shape[1:], (*index, place)) for place in range(shape[0])]


def tolist(tensor: Any) -> Any:
    return tensor.tolist()


_ELEMENTS_OF = {list: None, tuple: None, str: str, bytes: int, range: int}


def list_of(tracer: Tracer, thing: ObjectVariable) -> list[Any] | None:
    """A list of the run with what an object of the run gives to a loop, if that is known to be a sequence.

    So is what hooks have left, of which only the run knows what it is.
    """
    kind = thing.value.kind
    if kind is None and thing.value in tracer.elements:
        found = tracer.python_call(_as_list, (thing,), kind=list, effect=True)
        return new_list(tracer, found.value, Elements(carried.ANYTHING, is_older=True))
    if kind not in _ELEMENTS_OF:
        return None
    found = tracer.python_call(list, (thing,), kind=list, effect=True)
    return new_list(tracer, found.value, Elements(ObjectForm(_ELEMENTS_OF[kind])))


def _as_list(thing: Any) -> list[Any]:
    """A list as it is, so that changes of it are seen; what else can be looped over as list."""
    if isinstance(thing, Iterator):
        raise ExecutionError(
            f"a {type(thing).__name__} that a hook has left is looped over", advice="Let the hook make a list of it.",
            kind="X08")
    return thing if type(thing) is list else list(thing)


def smallest(tracer: Tracer, function: Callable[..., Any], thing: list[Any], **default: Any) -> Any:
    """``min(thing)``, ``max(thing)``, of numbers or tensors."""
    form: Form | None = elements_of(thing).form
    if isinstance(form, TensorForm):
        return _smallest_tensor(tracer, function, thing, **default)
    if not isinstance(form, ObjectForm):
        refuse(f"{function.__name__}() of a list whose length only the run knows, and that holds no numbers")
    kind = form.kind if all(type(value) is form.kind for value in default.values()) else None
    return tracer.python_call(function, (thing,), default, kind=kind, effect=True)


def _smallest_tensor(tracer: Tracer, function: Callable[..., Any], thing: list[Any], **default: Any) -> Any:
    if tracer.decide(tracer.python_call(len, (thing,), kind=int, effect=True) == 0):
        return function([], **default)  # raises, with the words for it, if there is none
    compare, found = operator.lt if function is min else operator.gt, item(tracer, thing, 0)

    def choose(part: Any) -> None:
        nonlocal found
        found = part

    for_loop(
        tracer, Parts(tracer, item(tracer, thing, slice(1, None))),
        lambda part: if_else(tracer, compare(part, found), lambda: choose(part), None), None)
    return found


def deeply_copied(tracer: Tracer, thing: Any) -> Any:
    """``copy.deepcopy(thing)``: its tensors are new ones."""
    known = elements_of(thing)
    form: Form | None = known.form
    elements = Elements(form if isinstance(form, ObjectForm | SameForm) else ObjectForm(None), empty=known.empty)
    elements.keys = known.keys
    found = tracer.python_call(copy.deepcopy, (thing,), kind=type(thing), effect=True)
    return new_open(tracer, found.value, elements)


def call_ordering(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of `heapq` or `bisect` that changes a list of the run."""
    elements, name = elements_of(args[0]), func.__name__
    if name in _PUT_IN_ORDER:
        put(tracer, elements, args[1])
    form: Form | None = elements.form
    found = tracer.python_call(func, args, kwargs, kind=kind_of(form) if name in _GIVE_ONE else None, effect=True)
    return element(tracer, found, form, elements) if name in _GIVE_ONE else None


_PUT_IN_ORDER = frozenset({"heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"})
_GIVE_ONE = frozenset({"heappop", "heappushpop", "heapreplace"})


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
    "are_given", "as_open_list", "best", "call_ordering", "call_own", "deeply_copied", "displayed", "list_of", "nested",
    "ordered", "smallest", "spread", "tolist", "unpacked", "values_of_tensor",
]
