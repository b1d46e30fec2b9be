"""Hooks of Layers that traced code registers and removes: effects of the Program, which the rest of the trace sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from d2s.errors import ExecutionError, UnsupportedSyntaxError, user_location
from d2s.operators.guards import Guard
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

Held: TypeAlias = tuple[tuple[Any, Any], ...]
"""The hooks of one kind of a Layer, in order: the number of each, or the Value of its handle, and the hook."""


@dataclass(frozen=True)
class Known:
    """What holds of the hooks of Layers at one place of a trace.

    Attributes
    ----------
    tables : dict
        The tables of hooks that the trace has changed, by identity, with what they hold.
    in_doubt : bool
        True behind calls that may have changed any of them.
    """

    tables: dict[int, tuple[Any, Held]]
    in_doubt: bool

    def agrees(self, other: Known) -> bool:
        """True if the tables hold the same there."""
        return self.tables.keys() == other.tables.keys() and all(
            len(held) == len(other.tables[key][1])
            and all(one[0] is two[0] and one[1] is two[1] for one, two in zip(held, other.tables[key][1], strict=True))
            for key, (_, held) in self.tables.items())


class LayerHandle(ObjectVariable):
    """The handle of a hook that traced code has registered on a Layer from outside."""

    __slots__ = ("table",)

    def __init__(self, symbol: ObjectVariable, table: Any) -> None:
        super().__init__(symbol.interpreter, symbol.value)
        self.table = table

    def remove(self) -> None:
        """Remove the hook when the Program runs, and for the rest of the trace."""
        tracer: Any = self.interpreter
        tracer.layer_hooks.take_out(self, self.table, self.value)


class LayerHooks:
    """What one trace knows of the hooks of Layers.

    Attributes
    ----------
    known : Known
        What holds at this place of the trace.
    new : dict
        Layers of the user's classes that the traced code has made, by identity.
    """

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.known = Known({}, False)
        self.new: dict[int, Any] = {}

    def doubt(self) -> None:
        """Note that what was just recorded may have changed the hooks of any Layer."""
        self.known = replace(self.known, in_doubt=True)

    def now(self, table: Any) -> Held:
        """What a table of hooks holds at this place of the trace."""
        found = self.known.tables.get(id(table))
        if found is not None:
            return found[1]
        if id(table) in self.tracer.dirty or any(key[0] == id(table) for key in self.tracer.pending):
            raise UnsupportedSyntaxError(
                "the table of hooks of a Layer was changed by hand in this call, and the Layer is called after it",
                user_location(), "Remove hooks by their handles.",
                kind="U04",
            )
        return tuple(table.items())

    def is_young(self, layer: Any) -> bool:
        """True for a Layer that traced code has made: nobody else sees what is done to it."""
        return not self.tracer.is_outer(layer) or self.is_new(layer)

    def is_new(self, layer: Any) -> bool:
        """True for a Layer of a class of the user that traced code has made: it is there for this call only."""
        return id(layer) in self.new

    def add(self, layer: Any, table: Any, register: Any, hook: Any, options: dict[str, Any]) -> LayerHandle:
        """Register a hook when the Program runs; for the trace it is `hook` from here on."""
        tracer = self.tracer
        held = self.now(table)
        prepend = options.pop("prepend")
        tracer.effects += 1
        call = {**options, "prepend": prepend}
        symbol = tracer.python_call(register, (layer, hook.function), call, effect=True)
        handle = LayerHandle(symbol, table)
        new = ((symbol.value, hook),)
        self._keep(table, (*new, *held) if prepend else (*held, *new))
        return handle

    def remove(self, handle: Any, table: Any, number: int) -> None:
        """Remove the hook of a handle from outside."""
        source = self.tracer.source_of(handle)
        assert source is not None
        self.tracer.guards.add(Guard(source, "{v}._hook_id == {k0}", (number,), f"the handle of layer hook {number}"))
        self.take_out(handle, table, number)

    def take_out(self, handle: Any, table: Any, key: Any) -> None:
        """Remove a hook when the Program runs, and for the rest of the trace."""
        held = self.now(table)
        self.tracer.effects += 1
        self.tracer.python_call(_remove, (handle,), effect=True)
        self._keep(table, tuple(entry for entry in held if entry[0] is not key and entry[0] != key))

    def _keep(self, table: Any, held: Held) -> None:
        self.known = replace(self.known, tables={**self.known.tables, id(table): (table, held)})

    def before_call(self, layer: Any) -> None:
        """Note what the call of a Layer depends on behind calls that may have changed its hooks."""
        if not self.known.in_doubt or self.is_young(layer):
            return
        tables = (layer._forward_pre_hooks, layer._forward_post_hooks)
        expected = [
            tuple(ObjectVariable(self.tracer, key) if isinstance(key, Value) else key for key, _ in self.now(table))
            for table in tables]
        self.tracer.python_call(_check, (layer, *expected), effect=True)

    def functions(self, layer: Any) -> Iterator[Any]:
        """The hooks of a Layer at this place of the trace."""
        for table in (layer._forward_pre_hooks, layer._forward_post_hooks):
            for _, hook in self.now(table):
                yield hook.function


def _remove(handle: Any) -> None:
    handle.remove()


def _check(layer: Any, pre: tuple[Any, ...], post: tuple[Any, ...]) -> None:
    """Raise an error if a Layer does not have these hooks, given by number or handle."""
    for table, expected in ((layer._forward_pre_hooks, pre), (layer._forward_post_hooks, post)):
        if list(table) != [getattr(key, "_hook_id", key) for key in expected]:
            raise ExecutionError(
                f"the hooks of a {type(layer).__name__} were changed by a call that is not traced, and it is called "
                "after that in the same run",
                advice="Add and remove them in traced code, or keep the function eager with @d2s.jit.not_to_static.",
                kind="X07",
            )
