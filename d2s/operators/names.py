"""Names that a converted function reads and writes outside of itself: its globals and its cells."""

from __future__ import annotations

import builtins
import operator
from types import CellType, FunctionType
from typing import Any

from d2s.operators.guards import Guard
from d2s.operators.sources import Cell, Constant, Global
from d2s.operators.tracer import Tracer

_BUILTINS: dict[str, Any] = vars(builtins)


class Names:
    """The globals and cells of one function."""

    def __init__(self, fn: FunctionType) -> None:
        self.fn = fn
        self.cells: dict[str, CellType] = dict(
            zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def load_global(self, tracer: Tracer, name: str, value: Any) -> Any:
        namespace = self.fn.__globals__
        if tracer.pending:
            pending = tracer.pending.get((id(namespace), "item", name))
            if pending is not None:
                return pending[0]
        if name in namespace:
            # The Program reads it from the namespace itself, if at all.
            tracer.remember(namespace, Constant(namespace))
            if tracer.is_later(namespace, "item", name):
                return tracer.python_call(operator.getitem, (namespace, name), effect=True)
            return tracer.read(Global(namespace, name), value, operator.getitem, namespace, name)
        # A global of that name would come first.
        tracer.guards.add(Guard(Constant(namespace), repr(name) + " not in {v}", (), f"no global {name}"))
        return tracer.read(Global(_BUILTINS, name), value) if name in _BUILTINS else value

    def load_free(self, tracer: Tracer, name: str, value: Any) -> Any:
        cell = self.cells[name]
        tracer.outside_cells.setdefault(id(cell), cell)
        if tracer.pending:
            pending = tracer.pending.get((id(cell), "cell", name))
            if pending is not None:
                return pending[0]
        if tracer.is_later(cell, "cell", name):
            return tracer.python_call(getattr, (cell, "cell_contents"), effect=True)
        return tracer.read(Cell(cell, name), value, getattr, cell, "cell_contents")

    def store_global(self, tracer: Tracer, name: str, value: Any) -> None:
        namespace = self.fn.__globals__
        tracer.remember(namespace, Constant(namespace))
        tracer.effect(operator.setitem, namespace, name, value)
        tracer.pending[(id(namespace), "item", name)] = (value, namespace)

    def store_free(self, tracer: Tracer, name: str, value: Any) -> None:
        cell = self.cells[name]
        tracer.effect(setattr, cell, "cell_contents", value)
        tracer.pending[(id(cell), "cell", name)] = (value, cell)
