"""What hooks may do to what the traced function has made, when `backward` runs inside of it.

A hook is run as the user wrote it, in the middle of the Program; the lines after `backward` have to see what it did.
Variables that it assigns and lists are read from the run then.  Dicts, sets and objects that its code may change cannot
be followed: a line that reads one afterwards is refused.  That it has not written to tensors is checked in the run.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from d2s.operators import policy
from d2s.operators.converted import nested_in
from d2s.operators.guards import is_empty, lookup
from d2s.operators.heap import Fields, Heap
from d2s.operators.open_elements import forget_elements, open_up
from d2s.static.runtime import check_states, content_of_cell, states_of
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

_CHANGE = frozenset({
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "clear", "sort",
    "reverse", "update", "setdefault", "add", "discard", "rotate", "setattr", "delattr", "set_value", "copy_",
})
_STORES = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR", "STORE_SLICE"})


class Watch:
    """What hooks may do while `backward` runs; made before it.

    Parameters
    ----------
    tracer : Tracer
    hooks : list of callables
        Those that the traced code has registered.
    """

    def __init__(self, tracer: Tracer, hooks: list[Any]) -> None:
        self.tracer = tracer
        outside = set(map(id, _cells_outside(hooks)))

        def is_outer(thing: Any) -> bool:
            return id(thing) in outside or tracer.is_outer(thing)

        self.cells = [cell for cell in _assigned_cells(hooks) if not is_outer(cell)]
        changes = any(map(_may_change, hooks))
        self.nodes = list(Heap(hooks, is_outer).nodes.values()) if changes else []
        self.tensors = tuple(node for node in self.nodes if isinstance(node, Variable))
        self.before = tracer.python_call(states_of, self.tensors, effect=True) if self.tensors else None

    def finish(self) -> None:
        """Let the trace see what they may have done."""
        tracer = self.tracer
        if self.before is not None:
            tracer.python_call(check_states, (self.before, *self.tensors), effect=True)
        for cell in self.cells:
            _read_cell(tracer, cell)
        for node in self.nodes:
            if type(node) is list:
                open_up(tracer, node)
                forget_elements(node)
            elif not isinstance(node, CellType | FunctionType | Variable):
                thing = node.owner if isinstance(node, Fields) else node
                tracer.touched[id(thing)] = thing


def _read_cell(tracer: Tracer, cell: CellType) -> None:
    try:
        before = cell.cell_contents
    except ValueError:
        before = None
    kind = before.value.kind if isinstance(before, ObjectVariable) else type(before)
    held = ObjectVariable(tracer, tracer.lowering.cell(cell))
    found = tracer.python_call(
        content_of_cell, (held,), kind=kind if kind in (int, float, bool, str) else None, effect=True)
    if found.value.kind is None:
        tracer.elements.add(found.value)
    cell.cell_contents = found


def _functions(hook: Any) -> Iterator[tuple[FunctionType, CodeType]]:
    """The Python functions that a hook consists of, each with the code that runs."""
    if isinstance(hook, MethodType):
        hook = hook.__func__
    if not isinstance(hook, FunctionType):
        hook = lookup(type(hook), "__call__")
    if isinstance(hook, FunctionType):
        mark = nested_in(hook)
        yield hook, hook.__code__ if mark is None else mark[1].code


def _cells_outside(hooks: list[Any]) -> Iterator[CellType]:
    """The variables of functions around the traced ones: what they hold is older than the call."""
    seen: set[int] = set()
    stack = [function for hook in hooks for function, _ in _functions(hook)]
    while stack:
        function = stack.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        mark = nested_in(function)
        yield from (mark[0] if mark is not None else function).__closure__ or ()
        for cell in function.__closure__ or ():
            held = None if is_empty(cell) else cell.cell_contents
            if isinstance(held, FunctionType):
                stack.append(held)


def _assigned_cells(hooks: list[Any]) -> Iterator[CellType]:
    """The variables around a hook that it assigns."""
    found: dict[int, CellType] = {}
    for hook in hooks:
        for function, code in _functions(hook):
            cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
            for name in _assigned(code):
                if name in cells:
                    found[id(cells[name])] = cells[name]
    yield from found.values()


def _assigned(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in code.co_freevars:
            yield instruction.argval
    for inner in _inner(code):
        yield from (name for name in _assigned(inner) if name in code.co_freevars)


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _may_change(hook: Any) -> bool:
    """True unless the code of a hook shows that it changes nothing that it has not made."""
    found = list(_functions(hook))
    return not found or any(_code_may_change(code, function.__globals__, 0) for function, code in found)


def _code_may_change(code: CodeType, namespace: dict[str, Any], depth: int) -> bool:
    if any(name in _CHANGE or (name.endswith("_") and not name.endswith("__")) for name in code.co_names):
        return True
    if any(instruction.opname in _STORES for instruction in dis.get_instructions(code)):
        return True
    for name in code.co_names:
        called = namespace.get(name)
        if not isinstance(called, FunctionType) or not policy.is_convertible(called):
            continue
        if depth > 4 or _code_may_change(called.__code__, called.__globals__, depth + 1):
            return True
    return any(_code_may_change(inner, namespace, depth) for inner in _inner(code))


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
