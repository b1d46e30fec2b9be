"""The operators of converted code, as tracing means them; outside a trace they mean what Python means."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import FunctionType
from typing import Any

from d2s.operators import (
    access,
    classes,
    control_flow,
    items,
    keys,
    libraries,
    loops,
    made_once,
    native,
    open_functions,
    open_lists,
    special_methods,
)
from d2s.operators.attempts import Handlers, note_caught
from d2s.operators.converted import mark_nested
from d2s.operators.names import Names
from d2s.operators.symbols import SymbolicRange, is_symbol
from d2s.operators.tracer import current_tracer
from d2s.operators.turns import Turns
from d2s.static.runtime import content_of_cell
from d2s.static.variable import Variable
from d2s.transpiler.interface import PythonOperators, asked_class, format_value
from d2s.transpiler.nested import NestedFunction

Thunk = Callable[[], Any]


class TraceOperators(PythonOperators):
    """The operators of one converted function."""

    def __init__(self, fn: FunctionType, nested: Sequence[NestedFunction]) -> None:
        super().__init__(fn)
        self._names = Names(fn)
        self._nested = nested

    def if_else(self, test: Any, body: Thunk, orelse: Thunk | None = None) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.if_else(test, body, orelse)
        return control_flow.if_else(tracer, test, body, orelse)

    def while_loop(self, test: Thunk, body: Thunk) -> None:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            PythonOperators.while_loop(test, body)
        else:
            loops.while_loop(tracer, test, body)

    def for_loop(  # type: ignore[override]
        self, iterable: Iterable[Any], body: Callable[[Any], Any], stop: Thunk | None = None
    ) -> None:
        tracer = current_tracer()
        if tracer is None:
            PythonOperators.for_loop(iterable, body, stop)
        else:
            control_flow.for_loop(tracer, self.iterate(iterable), body, stop)

    def if_exp(self, test: Any, body: Thunk, orelse: Thunk) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.if_exp(test, body, orelse)
        return control_flow.if_else(tracer, test, body, orelse)

    def and_(self, value: Any, rest: Thunk) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return PythonOperators.and_(value, rest) if tracer is None else control_flow.and_(tracer, value, rest)

    def or_(self, value: Any, rest: Thunk) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return PythonOperators.or_(value, rest) if tracer is None else control_flow.or_(tracer, value, rest)

    def both(self, value: Any, rest: Thunk) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return PythonOperators.both(value, rest) if tracer is None else control_flow.both(tracer, value, rest)

    def either(self, value: Any, rest: Thunk) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return PythonOperators.either(value, rest) if tracer is None else control_flow.either(tracer, value, rest)

    def not_(self, operand: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return PythonOperators.not_(operand) if tracer is None else control_flow.not_(tracer, operand)

    def assert_(self, test: Any, message: Thunk | None = None) -> None:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            PythonOperators.assert_(test, message)
        else:
            control_flow.assert_(tracer, test, message)

    def bound(self, name: str, value: Thunk, is_free: bool = False) -> Any:  # type: ignore[override]
        found = PythonOperators.bound(name, value, is_free)
        return found if current_tracer() is None else control_flow.bound(name, found)

    def attach(self, value: Any) -> None:  # type: ignore[override]
        if isinstance(value, Variable) and not value.stop_gradient:
            value.interpreter.hook_point(value.value)

    def attr(self, value: Any, name: str) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return getattr(value, name) if tracer is None else access.attr(tracer, value, name)

    def item(self, value: Any, index: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return value[index] if tracer is None else items.item(tracer, value, index)

    def call(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return func(*args, **kwargs)
        from d2s.operators import spread_calls
        from d2s.operators.calls import call

        if spread_calls.is_spread(args):
            return spread_calls.call_spread(tracer, func, args, kwargs)
        return call(func, *args, **kwargs)

    def store_attr(self, target: Any, name: str, value: Any) -> None:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            setattr(target, name, value)
        else:
            access.store_attr(tracer, target, name, value)

    def store_item(self, target: Any, index: Any, value: Any) -> None:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            target[index] = value
        else:
            items.store_item(tracer, target, index, value)

    def delete_attr(self, target: Any, name: str) -> None:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            delattr(target, name)
        else:
            access.delete_attr(tracer, target, name)

    def delete_item(self, target: Any, index: Any) -> None:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            del target[index]
        else:
            items.delete_item(tracer, target, index)

    def aug(self, name: str, target: Any, value: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.aug(name, target, value)
        return items.augmented(tracer, name, target, value)

    def load_global(self, name: str, value: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return value if tracer is None else self._names.load_global(tracer, name, value)

    def load_free(self, name: str, value: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return value if tracer is None else self._names.load_free(tracer, name, value)

    def load_global_pending(self, name: str, value: Thunk) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return value()
        namespace = self._names.fn.__globals__
        pending = tracer.stored((id(namespace), "item", name), operator.getitem, namespace, name)
        if pending is not None:
            return self._names.pending_global(name, pending[0])
        return self._names.load_global(tracer, name, value())

    def load_free_pending(self, name: str, value: Thunk) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return value()
        cell = self._names.cells[name]
        pending = tracer.stored((id(cell), "cell", name), content_of_cell, cell)
        if pending is not None:
            return self._names.pending_free(name, pending[0])
        return self._names.load_free(tracer, name, value())

    def store_global(self, name: str, value: Any) -> None:
        tracer = current_tracer()
        if tracer is None:
            super().store_global(name, value)
        else:
            self._names.store_global(tracer, name, value)

    def store_free(self, name: str, value: Any) -> None:
        tracer = current_tracer()
        if tracer is None:
            super().store_free(name, value)
        else:
            self._names.store_free(tracer, name, value)

    def delete_global(self, name: str) -> None:
        tracer = current_tracer()
        if tracer is None:
            super().delete_global(name)
        else:
            self._names.delete_global(tracer, name)

    def delete_free(self, name: str) -> None:
        tracer = current_tracer()
        if tracer is None:
            super().delete_free(name)
        else:
            self._names.delete_free(tracer, name)

    def function(self, index: int) -> Callable[[Any], Any]:  # type: ignore[override]
        def mark(made: Any) -> Any:
            if isinstance(made, FunctionType):
                mark_nested(made, self._names.fn, self._nested[index])
            return made

        return mark

    def decorator(self, made: Any) -> Any:  # type: ignore[override]
        return made if current_tracer() is None else libraries.traced(made)

    def made_class(self) -> Callable[[Any], Any]:  # type: ignore[override]
        tracer = current_tracer()
        return PythonOperators.made_class() if tracer is None else partial(made_once.note, tracer)

    def class_body(self) -> None:  # type: ignore[override]
        if current_tracer() is not None:
            classes.check_members(sys._getframe(1).f_locals)

    def base(self, cls: Any) -> Any:  # type: ignore[override]
        if current_tracer() is not None:
            classes.check_base(cls)
        return cls

    def imported(self, module: str, level: int, name: str | None, value: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return value if tracer is None else self._names.imported(tracer, module, level, name, value)

    def iterate(self, iterable: Iterable[Any]) -> Iterable[Any]:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return iterable
        if isinstance(iterable, Variable) or tracer.foreign_results.is_one(iterable):
            return open_lists.rows_of(tracer, iterable)  # type: ignore[no-any-return]
        from d2s.operators.protocols import iterable_of

        found: Iterable[Any] = iterable_of(tracer, iterable)
        return found

    def list_comp(  # type: ignore[override]
        self, iterable: Iterable[Any], elt: Callable[[Any], Any], test: Callable[[Any], Any] | None = None
    ) -> list[Any]:
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.list_comp(iterable, elt, test)
        if isinstance(iterable, Turns | SymbolicRange) or tracer.merges_here():
            return open_lists.list_comp(tracer, iterable, elt, test)
        return PythonOperators.list_comp(tracer.watched(iterable), elt, test)

    def dict_of(self, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:  # type: ignore[override]
        tracer = current_tracer()
        return dict(pairs) if tracer is None else keys.dict_of(tracer, pairs)

    def set_of(self, parts: Iterable[Any]) -> set[Any]:  # type: ignore[override]
        tracer = current_tracer()
        return set(parts) if tracer is None else keys.set_of(tracer, parts)

    def generator(  # type: ignore[override]
        self, is_lazy: bool, iterable: Iterable[Any], elt: Callable[[Any], Any],
        test: Callable[[Any], Any] | None = None,
    ) -> Any:
        tracer = current_tracer()
        is_open = isinstance(iterable, Turns | SymbolicRange)
        if tracer is None or (is_lazy and not is_open):
            return PythonOperators.generator(is_lazy, iterable, elt, test)
        if not is_open and not tracer.merges_here():
            return PythonOperators.generator(is_lazy, tracer.watched(iterable), elt, test)
        if is_lazy:
            turns = open_lists.Counted(tracer, iterable) if isinstance(iterable, SymbolicRange) else iterable
            assert isinstance(turns, Turns)
            return open_lists.Generated(tracer, turns, elt, test)
        return open_lists.list_comp(tracer, iterable, elt, test)

    def nested(  # type: ignore[override]
        self, iterable: Iterable[Any], inner: Callable[[Any], Any], test: Callable[[Any], Any] | None = None
    ) -> Any:
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.nested(iterable, inner, test)
        return open_functions.nested(tracer, iterable, inner, test)

    def parts(self, value: Any, count: int) -> Any:  # type: ignore[override]
        return PythonOperators.parts(self.unpack(value, count), count)

    def binary(self, name: str, left: Any, right: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.binary(name, left, right)
        return native.binary(tracer, name, left, right)

    def unary(self, name: str, operand: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return PythonOperators.unary(name, operand) if tracer is None else native.unary(tracer, name, operand)

    def unpack(  # type: ignore[override]
        self, value: Any, before: int | None = None, after: int | None = None
    ) -> Any:
        tracer = current_tracer()
        return value if tracer is None else native.unpack(tracer, value, before, after)

    def spread(self, value: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        spread = None if tracer is None else open_functions.spread(tracer, value)
        return self.iterate(value) if spread is None else spread

    def varargs(self, given: tuple[Any, ...]) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return given
        from d2s.operators.spread_calls import tuple_of

        return tuple_of(tracer, given)

    def displayed(self, made: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return made
        return self.varargs(made) if isinstance(made, tuple) else open_functions.displayed(tracer, made)

    def matched(self, subject: Any, types_at: str, looks_at: str) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return subject if tracer is None else native.matched(tracer, subject, types_at, looks_at)

    def pattern_class(self, cls: Callable[[], Any], base: type = object) -> type:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.pattern_class(cls, base)
        return asked_class(cls, partial(classes.is_instance, tracer), base)

    def mapping(self, value: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return value if tracer is None else items.mapping(tracer, value)

    def truth(self, value: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return value if tracer is None else native.truth(tracer, value)

    def contains(self, container: Any, element: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        return element in container if tracer is None else items.contains(tracer, container, element)

    def attempt(  # type: ignore[override]
        self, caught: Callable[[], Any] | None = None, is_named: bool = False
    ) -> AbstractContextManager[None]:
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.attempt(caught, is_named)
        return tracer.attempt(None if caught is None else Handlers(caught, is_named))

    def swallowed(self, left: Callable[[], Any]) -> AbstractContextManager[None]:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.swallowed(left)
        from d2s.operators.protocols import Swallowed

        return Swallowed(tracer, left)

    def crossing(  # type: ignore[override]
        self, lines: tuple[int, ...], is_registration: bool
    ) -> AbstractContextManager[None]:
        tracer = current_tracer()
        if tracer is None:
            return PythonOperators.crossing(lines, is_registration)
        return tracer.crossing(self._names.fn.__code__, lines, is_registration)

    def caught(self) -> None:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is not None:
            note_caught(tracer, sys.exc_info()[1])

    def enter(self, manager: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return manager
        from d2s.operators.protocols import manager_of

        return manager_of(tracer, manager)

    def format_value(self, value: Any, conversion: str | None, spec: str) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is None:
            return format_value(value, conversion, spec)
        return special_methods.formatted(tracer, value, conversion, spec)

    def join_text(self, *parts: Any) -> Any:  # type: ignore[override]
        tracer = current_tracer()
        if tracer is not None and any(map(is_symbol, parts)):
            return tracer.python_call(PythonOperators.join_text, parts, kind=str, effect=True)
        return "".join(parts)
