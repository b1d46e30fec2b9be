"""What hooks may do to what the traced function has made, when `backward` runs inside of it.

A hook is run as the user wrote it, in the middle of the Program; the lines after `backward` have to see what it did.
Variables and attributes that it assigns are read from the run then, and containers that it may change become such of
the run.  Where a container cannot be one, a line that reads it afterwards is refused.  That hooks have not written to
tensors is checked in the run.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from d2s.core.hooks import HookList
from d2s.errors import ExecutionError, UnsupportedSyntaxError
from d2s.operators import policy
from d2s.operators.changed_lists import note_anything
from d2s.operators.converted import nested_in
from d2s.operators.guards import is_empty, lookup
from d2s.operators.heap import CONTAINERS, Heap, fields_of, write
from d2s.operators.hook_code import Changes, parts_in
from d2s.operators.open_elements import forget_elements, open_up
from d2s.operators.open_items import OPENED
from d2s.operators.outcomes import CannotMerge
from d2s.operators.sharing import is_here
from d2s.static.runtime import check_states, content_of_cell, states_of
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


class Watch:
    """What code of the user may do that something else runs in the middle of the Program; made before it.

    Parameters
    ----------
    tracer : Tracer
    functions : iterable of callables, optional
        That code; by default all hooks, which `backward` runs.
    """

    def __init__(self, tracer: Tracer, functions: Iterable[Any] | None = None) -> None:
        self.tracer = tracer
        hooks = [*tracer.hooks.values(), *_hooks_from_outside(tracer)] if functions is None else functions
        self.changes = Changes(hooks, tracer)
        self.tensors = self._tensors()
        self.are_read_again = tuple(map(self._is_read_again, self.tensors))
        self.before = self._asked(states_of) if self.tensors else None

    def _asked(self, question: Any, *before: Any) -> ObjectVariable:
        """What the run tells of the tensors that hooks may write to; a name that is not bound is none."""
        tracer = self.tracer
        tensors = [
            ObjectVariable(tracer, tracer.materialise(variable.value)) if variable.value.maybe_missing else variable
            for variable in self.tensors]
        return tracer.python_call(question, (*before, self.are_read_again, *tensors), effect=True)

    def _tensors(self) -> tuple[Variable, ...]:
        """Those that the hooks may write to."""
        found = [thing for thing in self.changes.things.values() if isinstance(thing, Variable)]
        if not found or not self.changes.writes:
            return ()
        # Another path, which waits to be merged with this one, may have joined others to them.
        return tuple(
            node for node in Heap(found, self.changes.is_older).nodes.values()
            if isinstance(node, Variable) and is_here(self.tracer, node))

    def _is_read_again(self, variable: Variable) -> bool:
        """True if the values of `variable` are read anew when they are used behind the code."""
        value, tracer = variable.value, self.tracer
        return value not in tracer.taken_values and value not in tracer.may_be_outer and value.maybe_missing is None

    def finish(self) -> None:
        """Let the trace see what they may have done."""
        tracer = self.tracer
        if self.before is not None:
            self._asked(check_states, self.before)
        for cell, name in self.changes.cells:
            if self.changes.is_older(cell):
                self._is_later((id(cell), "cell", name), cell)
            else:
                before = None if is_empty(cell) else cell.cell_contents
                held = ObjectVariable(tracer, tracer.lowering.cell(cell))
                cell.cell_contents = self._as_it_was(before, name, content_of_cell, held)
        for namespace, name in self.changes.names:
            self._is_later((id(namespace), "item", name), namespace)
        if self.changes.containers:
            self._open_containers()
        # Read all, then write: an object whose attributes are another is filled anew when it is next used.
        found = [entry for thing in self.changes.things.values() for entry in self._fields_set(thing)]
        for thing, name, value in found:
            write(thing, name, value)

    def _is_later(self, place: tuple[int, str, str], thing: Any) -> None:
        """Take note that only the run knows what an older object has at a place."""
        self.tracer.pending.pop(place, None)
        self.tracer.dirty[place] = thing

    # --- containers ----------------------------------------------------------------------------------------------

    def _open_containers(self) -> None:
        made = {key: thing for key, thing in self.changes.things.items()
                if isinstance(thing, CONTAINERS) and not self.changes.is_older(thing)}
        for thing in _innermost_first(made):
            self._open(thing)
        for thing in {id(thing): thing for thing in self.changes.changed}.values():
            if self.changes.is_older(thing) and not hasattr(type(thing), "are_attributes"):
                if type(thing) is list:
                    note_anything(self.tracer, thing)
                else:
                    self.tracer.changed(thing)
                self.tracer.given_tensors[id(thing)] = thing

    def _open(self, thing: Any) -> None:
        """Let a container be one of the run, into which others may have put anything."""
        tracer = self.tracer
        if type(thing) in OPENED:
            try:
                open_up(tracer, thing)
            except (UnsupportedSyntaxError, CannotMerge):
                # It is refused where it is read.
                pass
            else:
                forget_elements(thing)
                return
        tracer.touched[id(thing)] = thing

    # --- attributes ----------------------------------------------------------------------------------------------

    def _fields_set(self, thing: Any) -> Iterator[tuple[Any, str, Any]]:
        """The attributes of an object that hooks may have set, read in the run."""
        if type(thing) in CONTAINERS or isinstance(thing, Variable):
            return
        names = self.changes.set_on(thing)
        if self.changes.is_older(thing):
            for name in names:
                self._is_later((id(thing), "attr", name), thing)
            return
        held = fields_of(thing)
        for name in names:
            if name in held or self._is_set(thing, name):
                yield thing, name, self._as_it_was(held.get(name), name, getattr, thing, name)

    def _is_set(self, thing: Any, name: str) -> bool:
        """True on paths on which a hook has given an object an attribute that it had not."""
        if isinstance(lookup(type(thing), name), property):
            return False
        return self.tracer.decide(self.tracer.python_call(_has_own, (thing, name), kind=bool, effect=True))

    # --- values ----------------------------------------------------------------------------------------------------

    def _as_it_was(self, before: Any, name: str, reader: Any, *place: Any) -> ObjectVariable:
        """What hooks have left in the place of `before`; if that is a number or text, each path knows what it is."""
        tracer = self.tracer
        kind: Any = before.value.kind if isinstance(before, ObjectVariable) else type(before)
        put = self.changes.kinds.get(name, set()) if self.changes.fields is not None else {None}
        if kind in _PLAIN and put == {kind}:
            return tracer.python_call(reader, place, kind=kind, effect=True)
        found = tracer.python_call(reader, place, effect=True)
        may_be = _PLAIN.get(kind, ())
        if put <= set(may_be):
            may_be = tuple(other for other in may_be if other in put or other is kind)
        for other in may_be:
            if (put <= set(may_be) and other is may_be[-1]) or tracer.decide(
                    tracer.python_call(_is_of, (found, other), kind=bool)):
                return tracer.python_call(_itself, (found,), kind=other)
        if may_be and self.changes.computes_numbers:
            # It is likelier that this path is never taken than that the lines after it can be traced so.
            raise ExecutionError(
                f"{name} was of the type {kind.__name__} before backward(), and a hook has put something in its place "
                "that is no number", advice="Begin with None.", kind="X08")
        tracer.elements.add(found.value)
        return found


# What a number or text may become, the likeliest first.
_PLAIN: dict[Any, tuple[type, ...]] = {
    int: (int, float), float: (float, int), bool: (bool, int, float), str: (str,),
}


def _is_of(thing: Any, kind: type) -> bool:
    return type(thing) is kind


def _itself(thing: Any) -> Any:
    return thing


def _has_own(thing: Any, name: str) -> bool:
    return name in fields_of(thing)


def _hooks_from_outside(tracer: Tracer) -> Iterator[Any]:
    """Hooks that tensors from outside have now: others that they may have in later calls are checked for in the run."""
    for tensor, _ in tracer.captured.values():
        node: Any = tensor._leaf if tensor._node is None else tensor._node
        if node is None:
            continue
        lists = (node.hooks, node.reduce_hooks) if node is tensor._leaf else (node.hooks or {}).values()
        for hooks in lists:
            if isinstance(hooks, HookList):
                yield from hooks.hooks.values()


def _innermost_first(things: dict[int, Any]) -> list[Any]:
    """The same containers, each behind those that it holds."""
    found: dict[int, Any] = {}

    def visit(thing: Any, inside: tuple[int, ...]) -> None:
        if id(thing) in found or id(thing) in inside:
            return
        for part in parts_in(thing):
            if id(part) in things:
                visit(part, (*inside, id(thing)))
        found[id(thing)] = thing

    for thing in things.values():
        visit(thing, ())
    return list(found.values())


def _functions(hook: Any) -> Iterator[tuple[FunctionType, CodeType]]:
    """The Python functions that a hook consists of, each with the code that runs."""
    if isinstance(hook, MethodType):
        hook = hook.__func__
    if not isinstance(hook, FunctionType):
        hook = lookup(type(hook), "__call__")
    if isinstance(hook, FunctionType):
        mark = nested_in(hook)
        yield hook, hook.__code__ if mark is None else mark[1].code


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def exceptions_named_in(hooks: Iterable[Any]) -> list[type[BaseException]]:
    """Classes of exceptions that the code of hooks names: they may raise these."""
    found: dict[type[BaseException], None] = {}
    for hook in hooks:
        for function, code in _functions(hook):
            held = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            cells = {name: cell.cell_contents for name, cell in held if not is_empty(cell)}
            for thing in _named_in(code, {**function.__globals__, **cells}, 0):
                if isinstance(thing, type) and issubclass(thing, BaseException):
                    found[thing] = None
    return list(found)


def _named_in(code: CodeType, namespace: dict[str, Any], depth: int) -> Iterator[Any]:
    """What the names in a piece of code, and in the functions of the user that it names, stand for."""
    for name in (*code.co_names, *code.co_freevars):
        found = namespace.get(name, vars(builtins).get(name))
        yield found
        if isinstance(found, FunctionType) and depth < 4 and policy.is_convertible(found):
            yield from _named_in(found.__code__, found.__globals__, depth + 1)
    for inner in _inner(code):
        yield from _named_in(inner, namespace, depth)


__all__ = ["Watch", "exceptions_named_in"]
