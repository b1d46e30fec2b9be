"""What ``for`` and ``with`` do with an object while a function is traced."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterator
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import access, changed_lists, native
from d2s.operators.attempts import Handlers, ends_trace, is_of_program, note_caught
from d2s.operators.equality import NUMBERS_AND_TEXTS
from d2s.operators.guards import ABSENT, Guard, is_layer, lookup
from d2s.operators.late_arrays import element
from d2s.operators.late_call import late_call
from d2s.operators.open_functions import list_of
from d2s.operators.open_items import TableView, is_open
from d2s.operators.open_lists import Parts, rows_of
from d2s.operators.open_tables import TurnsOf, turns
from d2s.operators.region import ENDS
from d2s.operators.sources import Constant
from d2s.operators.symbols import SymbolicRange, is_symbol, symbol_of
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
from d2s.static.variable import ObjectVariable
from d2s.words import counted


def iterable_of(tracer: Tracer, iterable: Any) -> Any:
    """What a loop in traced code runs over."""
    iterable = symbol_of(tracer, iterable)
    if isinstance(iterable, ObjectVariable):
        things = list_of(tracer, iterable)
        if things is None:
            things = tracer.late_arrays.parts(iterable)
        iterable = iterable if things is None else things
    if is_symbol(iterable) or isinstance(iterable, SymbolicRange | Turns):
        return rows_of(tracer, iterable)
    tracer.check_untouched(iterable)
    if isinstance(iterable, TableView):
        return turns(iterable)
    if is_open(iterable):
        return Parts(tracer, iterable) if type(iterable) is list else TurnsOf(tracer, iterable)
    if native.draws(tracer, iterable):
        return rows_of(tracer, iterable)
    native.refuse_outer_iterator(tracer, iterable)
    found = changed_lists.of_run(tracer, iterable)
    if found is not None:
        return Parts(tracer, found)
    if tracer.is_unknown(iterable):
        raise UnsupportedSyntaxError(
            "a loop over a container from outside that this function has changed", user_location(),
            "Change it behind the loop, or loop over what it held before and treat the new part by itself.",
            kind="U04",
        )
    method = access.special(tracer, iterable, "__iter__")
    if method is not None:
        return items_of(tracer, late_call(method))
    getter = access.special(tracer, iterable, "__getitem__") if lookup(type(iterable), "__iter__") is ABSENT else None
    if getter is not None:
        return _items(getter)
    if tracer.is_outer(iterable):
        if isinstance(iterable, np.ndarray):
            return [tracer.python_call(element, (iterable, index), effect=True) for index in range(len(iterable))]
        if is_layer(iterable):
            return late_call(MethodType(lookup(type(iterable), "__iter__"), iterable))
        if isinstance(iterable, tuple | list | dict | set | frozenset | deque):
            return tracer.run_over(iterable)
        return _guarded_parts(tracer, iterable)
    return iterable


def items_of(tracer: Tracer, iterator: Any) -> Any:
    """What an iterator gives; `__next__` of the user's class is traced."""
    if isinstance(iterator, (*native.CONTAINERS, *NUMBERS_AND_TEXTS, range, type(None))):
        raise TypeError(f"iter() returned non-iterator of type '{type(iterator).__name__}'")
    method = None if isinstance(iterator, Turns) else access.special(tracer, iterator, "__next__")
    return iterator if method is None else _nexts(method)


def _nexts(method: Callable[[], Any]) -> Generator[Any, None, Any]:
    while True:
        try:
            item = late_call(method)
        except StopIteration as stop:
            return stop.value
        yield item


def _items(getter: Callable[..., Any]) -> Iterator[Any]:
    """What an object that has only ``__getitem__`` gives, up to the first IndexError."""
    for index in itertools.count():
        try:
            item = late_call(getter, index)
        except IndexError:
            return
        yield item


def _guarded_parts(tracer: Tracer, iterable: Any) -> Any:
    """What an older container of some other kind gives, as long as it gives the same."""
    source = tracer.source_of(iterable)
    assert source is not None
    parts = tuple(iterable)
    tracer.require(Guard(source, "same_parts({v}, {k0})", (parts,), counted(len(parts), "part")), iterable)
    return [part if native.is_plain(part) else tracer.read(Constant(part), part) for part in parts]


def manager_of(tracer: Tracer, manager: Any) -> Any:
    """What a ``with`` statement in traced code enters: methods of the user's class are converted."""
    if isinstance(manager, ObjectVariable):
        raise UnsupportedSyntaxError(
            "a context manager that is known only when the Program runs cannot become a graph", user_location(),
            "Enter it outside the static function.",
            kind="U25",
        )
    if isinstance(manager, contextlib.suppress):
        caught = manager._exceptions  # type: ignore[attr-defined]
        return _Watched(tracer, manager, Handlers(lambda: (caught,), False))
    enter, leave = (access.special(tracer, manager, name) for name in ("__enter__", "__exit__"))
    if enter is not None and leave is not None:
        # It is told which exception came, and may look at it.
        return _Watched(tracer, _Traced(tracer, enter, leave), Handlers(lambda: (BaseException,), True))
    if not _may_be_entered_while_tracing(manager):
        raise UnsupportedSyntaxError(
            f"a {type(manager).__name__} cannot be entered in a graph: it would act only while the function is traced",
            user_location(), "Enter it outside of the static function.",
            kind="U25",
        )
    return _Watched(tracer, manager, None) if isinstance(manager, contextlib.ExitStack) else manager


def _may_be_entered_while_tracing(manager: Any) -> bool:
    """True for managers that act on the traced code itself: those of d2s, and plain control flow."""
    package = type(manager).__module__.partition(".")[0]
    return package == "d2s" or isinstance(manager, _CONTROL_FLOW)


class _Watched:
    """A context manager that is told of what its body raises, like the handlers of a ``try``."""

    def __init__(self, tracer: Tracer, manager: Any, handlers: Handlers | None) -> None:
        self.tracer, self.manager, self.handlers = tracer, manager, handlers

    def __enter__(self) -> Any:
        entered = self.manager.__enter__()
        self.attempt = self.tracer.attempt(self.handlers)
        self.attempt.__enter__()
        return entered

    def __exit__(self, *details: Any) -> Any:
        self.attempt.__exit__(None, None, None)
        answer = self.manager.__exit__(*details)
        # Whoever takes the answer asks it for its truth.
        return False if ends_trace(self.tracer, details[1]) else answer


class _Traced:
    """A user's context manager whose methods are traced."""

    def __init__(self, tracer: Tracer, enter: Callable[..., Any], leave: Callable[..., Any]) -> None:
        self.tracer, self.enter, self.leave = tracer, enter, leave

    def __enter__(self) -> Any:
        return late_call(self.enter)

    def __exit__(self, *details: Any) -> Any:
        note_caught(self.tracer, details[1])
        return late_call(self.leave, *details)


class Swallowed(contextlib.AbstractContextManager[None]):
    """Around a ``try`` whose ``finally`` may leave: it ends what the traced code raises, never what ends the trace."""

    def __init__(self, tracer: Tracer, left: Callable[[], Any]) -> None:
        self.tracer, self.left = tracer, left

    def __exit__(self, _: Any, error: BaseException | None, trace: Any) -> bool:
        if error is None or isinstance(error, ENDS) or not is_of_program(self.tracer, error):
            return False
        answer = native.truth(self.tracer, symbol_of(self.tracer, self.left()))
        return self.tracer.decide(answer) if is_symbol(answer) else bool(answer)


def is_context_manager_maker(func: FunctionType) -> bool:
    """True for what `contextlib.contextmanager` makes of a generator function."""
    return func.__code__ is _CONTEXT_MANAGER_CODE and hasattr(func, "__wrapped__")


@contextlib.contextmanager
def _sample() -> Iterator[None]:
    yield


_CONTEXT_MANAGER_CODE = _sample.__code__
_CONTROL_FLOW = (contextlib.nullcontext, contextlib.suppress, contextlib.ExitStack, type(_sample()), np.errstate)


def context_manager(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A context manager made from a generator function: its body is converted too."""
    generator = func.__wrapped__

    @functools.wraps(generator)
    def traced(*inner: Any, **named: Any) -> Any:
        from d2s.operators.calls import call

        return call(generator, *inner, **named)

    return contextlib.contextmanager(traced)(*args, **kwargs)
