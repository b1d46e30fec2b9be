"""Names that a converted function reads and writes outside of itself: its globals and its cells."""

from __future__ import annotations

import builtins
import importlib.util
import operator
import sys
from types import CellType, FunctionType
from typing import Any

from d2s.operators import access
from d2s.operators.guards import Guard, is_empty
from d2s.operators.sources import Cell, Constant, Global
from d2s.operators.stored import content_at
from d2s.operators.tracer import Tracer
from d2s.static.runtime import content_of_cell

_BUILTINS: dict[str, Any] = vars(builtins)


class _Gone:
    """What a name holds that the Program deletes."""

    def __repr__(self) -> str:
        return "<deleted>"


_GONE = _Gone()


class Names:
    """The globals and cells of one function."""

    def __init__(self, fn: FunctionType) -> None:
        self.fn = fn
        self.cells: dict[str, CellType] = dict(
            zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def load_global(self, tracer: Tracer, name: str, value: Any) -> Any:
        namespace = self.fn.__globals__
        if tracer.pending:
            pending = tracer.stored((id(namespace), "item", name), operator.getitem, namespace, name)
            if pending is not None:
                return self.pending_global(name, pending[0])
        if name in namespace:
            # The Program reads it from the namespace itself, if at all.
            tracer.remember(namespace, Constant(namespace))
            if tracer.is_later(namespace, "item", name):
                return tracer.python_call(operator.getitem, (namespace, name), effect=True)
            return tracer.read(Global(namespace, name), value, operator.getitem, namespace, name)
        # A global of that name would come first.
        tracer.remember(namespace, Constant(namespace))
        tracer.require(Guard(Constant(namespace), repr(name) + " not in {v}", (), f"no global {name}"), namespace)
        return tracer.read(Global(_BUILTINS, name), value) if name in _BUILTINS else value

    def load_free(self, tracer: Tracer, name: str, value: Any) -> Any:
        cell = self.cells[name]
        tracer.outside_cells.setdefault(id(cell), cell)
        if tracer.pending:
            pending = tracer.stored((id(cell), "cell", name), content_of_cell, cell)
            if pending is not None:
                return self.pending_free(name, pending[0])
        if tracer.is_later(cell, "cell", name):
            return tracer.python_call(getattr, (cell, "cell_contents"), effect=True)
        return tracer.read(Cell(cell, name), value, getattr, cell, "cell_contents")

    def store_global(self, tracer: Tracer, name: str, value: Any) -> None:
        namespace = self.fn.__globals__
        tracer.remember(namespace, Constant(namespace))
        tracer.effect(operator.setitem, namespace, name, value)
        tracer.note_stored((id(namespace), "item", name), value, namespace)

    def store_free(self, tracer: Tracer, name: str, value: Any) -> None:
        cell = self.cells[name]
        tracer.effect(setattr, cell, "cell_contents", value)
        tracer.note_stored((id(cell), "cell", name), value, cell)

    def imported(self, tracer: Tracer, module: str, level: int, name: str | None, value: Any) -> Any:
        """What an import statement has bound, as long as the module is this one."""
        package = self.fn.__globals__.get("__package__") or self.fn.__globals__.get("__name__", "")
        path = importlib.util.resolve_name("." * level + module, package)
        found = sys.modules.get(path)
        tracer.guards.add(Guard(
            Constant(sys.modules), "{v}.get(" + repr(path) + ") is {k0}", (found,), f"module {path}"))
        return value if name is None else access.attr(tracer, found, name)

    def pending_global(self, name: str, held: Any) -> Any:
        """What the trace has stored in a global, or NameError if it has deleted it."""
        if held is not _GONE:
            return held
        if name in _BUILTINS:
            return _BUILTINS[name]
        raise NameError(f"name {name!r} is not defined", name=name)

    def pending_free(self, name: str, held: Any) -> Any:
        """The same for an outer variable."""
        if held is not _GONE:
            return held
        where = "where it is not associated with a value in enclosing scope"
        raise NameError(f"cannot access free variable {name!r} {where}", name=name)

    def delete_global(self, tracer: Tracer, name: str) -> None:
        namespace = self.fn.__globals__
        key = id(namespace), "item", name
        if key in tracer.pending:
            gone = content_at(tracer.pending[key]) is _GONE
        else:
            gone = name not in namespace
            template = " not in {v}" if gone else " in {v}"
            tracer.require(Guard(Constant(namespace), repr(name) + template, (), f"global {name}"), namespace)
        if gone:
            raise NameError(f"name {name!r} is not defined", name=name)
        tracer.remember(namespace, Constant(namespace))
        tracer.effect(operator.delitem, namespace, name)
        tracer.note_deleted(key, _GONE, namespace)

    def delete_free(self, tracer: Tracer, name: str) -> None:
        cell = self.cells[name]
        key = id(cell), "cell", name
        if key in tracer.pending:
            self.pending_free(name, content_at(tracer.pending[key]))
        elif is_empty(cell):
            tracer.require(Guard(Constant(cell), "is_empty({v})", (), f"no value of {name}"), cell)
            self.pending_free(name, _GONE)
        else:
            tracer.require(Guard(Constant(cell), "not is_empty({v})", (), f"a value of {name}"), cell)
        tracer.effect(delattr, cell, "cell_contents")
        tracer.note_deleted(key, _GONE, cell)
