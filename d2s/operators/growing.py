"""
Lists made in the call whose length only the run knows: they become lists that the Program makes and changes.

A list is handed over to the Program before the loop or branch in which it gets more or fewer elements on some ways than
on others.  From then on its methods, items and length are calls that happen in the run.  Its tensors are Tensor objects
there, as in eager mode, so that hooks, identity and gradients are those of the tensors that were put in.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.errors import TracingError, UnsupportedSyntaxError, user_location
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

# What functions of a whole list give (object: an element of it, or the like).
_RESULTS: dict[Any, type] = {
    sum: object, min: object, max: object, any: bool, all: bool, sorted: list, list: list, tuple: tuple, set: set,
    frozenset: frozenset, copy.copy: list,
}
# Methods of a tensor that give no tensor.
_NO_TENSOR = frozenset({
    "item", "tolist", "numpy", "dim", "numel", "register_hook", "backward", "clear_grad", "retain_grads",
})


class ListGrows(BaseException):
    """A list has several lengths after a branch or turn.  No handler of the user sees it.

    Attributes
    ----------
    thing : list
    kinds : set of type or None
        The types of all that it holds on some way.
    """

    def __init__(self, thing: list[Any], kinds: set[type | None]) -> None:
        self.thing = thing
        self.kinds = kinds


@dataclass(frozen=True)
class RunList:
    """A list of the run: `thing` is it while tracing, `symbol` in the Program; `kind` is the type of all elements."""

    thing: list[Any]
    symbol: ObjectVariable
    kind: type | None


def hand_over(tracer: Tracer, grows: ListGrows) -> None:
    """Let the Program make the list, here, with what it holds now."""
    thing = grows.thing
    if id(thing) in tracer.lowering.made:
        raise UnsupportedSyntaxError(
            "a list that something else holds already gets a length that only the run knows", user_location(),
            "Make the list anew before the loop, or keep the function eager with @d2s.jit.not_to_static.",
            kind="U21",
        )
    symbol = tracer.python_call(_list_of, (tuple(thing),), kind=list, effect=True)
    _note(tracer, thing, symbol, grows.kinds.pop() if len(grows.kinds) == 1 else None)


def _list_of(elements: tuple[Any, ...]) -> list[Any]:
    return list(elements)


def _note(tracer: Tracer, thing: list[Any], symbol: ObjectVariable, kind: type | None) -> None:
    tracer.grown[id(thing)] = RunList(thing, symbol, kind)
    # Whoever reads it without asking the Program finds something that is known only in the run.
    thing[:] = [symbol]
    tracer.changed(thing)


def made(tracer: Tracer, kind: type | None, function: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """The new list that a call in the run gives; `kind` is the type of its elements."""
    thing: list[Any] = []
    _note(tracer, thing, tracer.python_call(function, args, kwargs, kind=list, effect=True), kind)
    return thing


def kinds_of(elements: Iterable[Any]) -> set[type | None]:
    """The types that elements have in the run."""
    return {
        part.value.kind if isinstance(part, ObjectVariable)
        else TensorBase if isinstance(part, TensorBase) else type(part) for part in elements
    }


def refuse_handing_over(tracer: Tracer, before: Iterable[Any], after: dict[int, RunList]) -> None:
    """Raise for a list that was there before a branch or turn and was handed over in it: that has to be done before."""
    for key in before:
        if key in after and key not in tracer.grown:
            raise ListGrows(after[key].thing, {after[key].kind})


def element(tracer: Tracer, grown: RunList, index: Any) -> Any:
    """``thing[index]``, in the run."""
    if isinstance(index, slice):
        return made(tracer, grown.kind, operator.getitem, grown.symbol, index)
    return tracer.python_call(operator.getitem, (grown.symbol, index), kind=grown.kind, effect=True)


def joined(tracer: Tracer, left: list[Any], right: Any) -> list[Any]:
    """``left + right``."""
    kind, other = tracer.grown[id(left)].kind, tracer.grown.get(id(right))
    kinds = {other.kind} if other is not None else kinds_of(right) if isinstance(right, list) else {None}
    return made(tracer, kind if kinds <= {kind} else None, operator.add, left, right)


def check_new(tracer: Tracer, thing: Any, elements: Any) -> None:
    """Raise if something is put into a list of the run that is no such thing as its other elements."""
    grown = tracer.grown.get(id(thing))
    if grown is None or grown.kind is None:
        return
    other = tracer.grown.get(id(elements))
    kinds = {other.kind} if other is not None else kinds_of(elements if isinstance(elements, list | tuple) else [None])
    if not kinds <= {grown.kind}:
        raise UnsupportedSyntaxError(
            "a list whose length only the run knows gets elements of another kind", user_location(),
            "Keep one kind of value in the list, or keep the function eager with @d2s.jit.not_to_static.",
            kind="U21",
        )


def call(tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that reads all of a list of the run, its first argument; NotImplemented for other functions."""
    if function is reversed:
        return made(tracer, tracer.grown[id(args[0])].kind, _backwards, *args)
    if function is enumerate:
        start = args[1] if len(args) > 1 else kwargs.get("start", 0)
        return Elements(tracer, tracer.grown[id(args[0])], lambda index, found: (index + start, found))
    if not isinstance(function, Hashable) or function not in _RESULTS:
        return NotImplemented
    kind, of_elements = _RESULTS[function], tracer.grown[id(args[0])].kind
    if kind is list:
        return made(tracer, of_elements, function, *args, **kwargs)
    return tracer.python_call(function, args, kwargs, of_elements if kind is object else kind, effect=True)


def list_comp(
    tracer: Tracer, iterable: Any, elt: Callable[[Any], Any], test: Callable[[Any], Any] | None
) -> list[Any]:
    """A list comprehension over what only the run knows the length of: as the loop that it stands for."""
    from d2s.operators.calls import call as call_traced
    from d2s.operators.control_flow import for_loop, if_else

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


def _backwards(thing: list[Any]) -> list[Any]:
    return thing[::-1]


def waits(tracer: Tracer, tree: Any) -> bool:
    """True if a list or a Tensor of the run is in nested containers: a function of d2s is then called in the run."""
    if isinstance(tree, ObjectVariable):
        return tree.value.kind is TensorBase
    if id(tree) in tracer.grown:
        return True
    if isinstance(tree, list | tuple):
        return any(waits(tracer, part) for part in tree)
    return isinstance(tree, dict) and any(waits(tracer, part) for part in tree.values())


def is_tensor_of_run(thing: Any) -> bool:
    """True for an object that is a Tensor in the run."""
    return isinstance(thing, ObjectVariable) and thing.value.kind is TensorBase


def kind_of_call(tracer: Tracer, function: ObjectVariable) -> type | None:
    """What calling an object gives, if it is a method of a Tensor of the run."""
    made = tracer.definitions.get(function.value)
    if made is None or made[0].kind != "python":
        return None
    called, args, _ = made[0].attrs["call"]
    is_method = called is getattr and isinstance(args[0], Value) and args[0].kind is TensorBase
    return TensorBase if is_method and args[1] not in _NO_TENSOR else None


class Elements:
    """What a ``for`` runs over: a list of the run, whose elements are read turn by turn, as Python does."""

    def __init__(self, tracer: Tracer, grown: RunList, shown: Callable[[Any, Any], Any] | None = None) -> None:
        self.tracer = tracer
        self.grown = grown
        self._shown = shown

    def has(self, index: Any) -> Any:
        """Is there an element at this place now?"""
        length = self.tracer.python_call(len, (self.grown.symbol,), kind=int, effect=True)
        return self.tracer.python_call(operator.lt, (index, length), kind=bool)

    def at(self, index: Any) -> Any:
        """What the turn gets."""
        found = element(self.tracer, self.grown, index)
        return found if self._shown is None else self._shown(index, found)

    def _refuse(self, *_: Any) -> Any:
        raise TracingError(
            "a list whose length only the run knows can be looped over, but not spread out here", user_location(),
            "Loop over it with `for`, or keep the function eager with @d2s.jit.not_to_static.",
            kind="T07",
        )

    __iter__ = __len__ = __contains__ = __getitem__ = __reversed__ = _refuse


