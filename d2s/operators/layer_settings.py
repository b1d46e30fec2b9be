"""Settings of Layers of d2s that traced code has changed: the code of these Layers, which is not traced, reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from d2s.operators.guards import REGISTRIES
from d2s.operators.stored import content_at
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable


@contextmanager
def as_stored(tracer: Tracer, layer: Any) -> Iterator[None]:
    """Let `layer` hold, for code that is not traced, what the trace has stored in it."""
    stored = {
        place[2]: content_at(entry) for place, entry in tracer.pending.items() if place[:2] == (id(layer), "attr")}
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, value in stored.items():
            table = next((table for table in _tables(layer) if name in table), None)
            if table is not None:
                before.append((table, name, table[name]))
                table[name] = _known(tracer, value)
        yield
    finally:
        for table, name, value in before:
            table[name] = value


def _tables(layer: Any) -> Iterator[dict[str, Any]]:
    yield layer.__dict__
    for registry in REGISTRIES:
        yield layer.__dict__[registry]


def _known(tracer: Tracer, value: Any) -> Any:
    """A flag that only the run knows is followed both ways."""
    if isinstance(value, ObjectVariable) and value.value.kind is bool:
        return tracer.decide(value)
    return value


__all__ = ["as_stored"]
