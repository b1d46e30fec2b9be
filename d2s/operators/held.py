"""What the turns of a loop write to older objects.

The store itself is an effect of the Program.  What a turn reads there is what the turn before has left: of tensors,
variables of the trace hold it in between, which the loop carries as it carries those of the function; of other things
the run asks the place.
"""

from __future__ import annotations

from types import CellType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import access, items
from d2s.operators.containers import key_at
from d2s.operators.guards import ABSENT, REGISTRIES, is_layer, lookup
from d2s.operators.heap import fields_of
from d2s.operators.sources import Cell
from d2s.operators.stored import Held, Stored, as_whole, content_at
from d2s.operators.trace_state import TraceState
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


def ask_later(tracer: Tracer, place: tuple[int, str, Any], entry: tuple[Any, Any]) -> None:
    """Let the run be asked what is at a place, to which some turns store `entry` and others nothing."""
    tracer.dirty[place] = entry[1]
    tracer.pending.pop(place, None)


def learn_writes(tracer: Tracer, after: TraceState) -> bool:
    """Before a loop whose body ends in state `after`: what it writes outside, and no variable holds, is read when the
    Program runs, in the body and behind it.

    True if there is anything new: then the body has to be traced again.
    """
    # What a turn reads may have been changed by the one before.
    tracer.epoch = max(tracer.epoch, after.freshness.epoch)
    is_doubt_new = after.layer_hooks.in_doubt and not tracer.layer_hooks.known.in_doubt
    if is_doubt_new:
        tracer.layer_hooks.doubt()
    written = {key: entry[1] for key, entry in after.pending.items() if tracer.pending.get(key) is not entry}
    changed = {key: as_whole(entry) for key, entry in after.dirty.items() if tracer.dirty.get(key) is not entry}
    new = {**changed, **written}
    # Changed as wholes in a turn.
    gone = [key for key in tracer.pending if key not in after.pending]
    if not is_doubt_new and not gone and all(
        key in tracer.dirty and key not in tracer.pending and not isinstance(tracer.dirty[key], Stored) for key in new
    ):
        return False
    tracer.dirty.update(new)
    for key in (*written, *gone):
        tracer.pending.pop(key, None)
    return True


def _read(tracer: Tracer, place: tuple[int, str, Any], thing: Any) -> Any:
    """What an older object holds at a place now, if the trace can know it."""
    kind, key = place[1], key_at(place)
    if place in tracer.dirty or tracer.is_unknown(thing) or isinstance(thing, TensorBase):
        return _NOTHING
    if kind == "attr":
        return access.attr(tracer, thing, key) if _is_there(thing, key) else _NOTHING
    if kind == "item":
        is_there = key in thing if isinstance(thing, dict) else type(key) is int and key < len(thing)
        return items.item(tracer, thing, key) if is_there else _NOTHING
    assert isinstance(thing, CellType)
    try:
        value = thing.cell_contents
    except ValueError:
        return _NOTHING
    return tracer.read(Cell(thing, key), value, getattr, thing, "cell_contents")


def _is_there(thing: Any, name: str) -> bool:
    """True if an object has an attribute, for all that can be told without running code of the user."""
    if isinstance(thing, type):
        return lookup(thing, name) is not ABSENT
    if is_layer(thing) and any(name in thing.__dict__[registry] for registry in REGISTRIES):
        return True
    return name in fields_of(thing) or lookup(type(thing), name) is not ABSENT
