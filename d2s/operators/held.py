"""Tensors at places of older objects that the turns of a loop write: in between, variables of the trace hold them.

The store itself is an effect of the Program; what a turn reads there is what the turn before has left, so the loop
carries it as it carries the variables of the function.
"""

from __future__ import annotations

from types import CellType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import access, items
from d2s.operators.containers import key_at
from d2s.operators.sources import Cell
from d2s.operators.stored import Held, content_at
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable

_NOTHING = object()


def hold(tracer: Tracer, after: dict[Any, Any], tensors_only: bool = True) -> bool:
    """Before a loop whose body leaves `after` pending: let variables hold the tensors that it has stored anew.

    True if there are new ones: then the body has to be traced again.  Of other objects the run can ask the place
    itself, as long as all paths through the body write there.
    """
    news = False
    for place, entry in after.items():
        pending = tracer.pending.get(place)
        if pending is entry or (pending is not None and isinstance(pending[0], Held)):
            continue
        if tensors_only and not isinstance(content_at(entry), TensorBase):
            continue
        now = content_at(pending) if pending is not None else _read(tracer, place, entry[1])
        if now is not _NOTHING and not isinstance(now, ObjectVariable):
            tracer.hold(place, now, entry[1])
            news = True
    return news


def _read(tracer: Tracer, place: tuple[int, str, Any], thing: Any) -> Any:
    """What an older object holds at a place now, if the trace can know it."""
    kind, key = place[1], key_at(place)
    if place in tracer.dirty or tracer.is_unknown(thing) or tracer.may_have_changed or isinstance(thing, TensorBase):
        return _NOTHING
    if kind == "attr":
        return access.attr(tracer, thing, key) if hasattr(thing, key) else _NOTHING
    if kind == "item":
        is_there = key in thing if isinstance(thing, dict) else type(key) is int and key < len(thing)
        return items.item(tracer, thing, key) if is_there else _NOTHING
    assert isinstance(thing, CellType)
    try:
        value = thing.cell_contents
    except ValueError:
        return _NOTHING
    return tracer.read(Cell(thing, key), value, getattr, thing, "cell_contents")
