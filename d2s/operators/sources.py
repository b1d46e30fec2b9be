"""Where a value that a trace read came from, and the conditions under which the trace stays valid.

A guard compares by identity, or by exact value and type; never by hash.  Tensors are guarded by spec, not by
identity: they are inputs, found by path on each call.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.spec import DType, Shape

PRIMITIVES = (int, str, bytes, bool, complex, type(None), type(Ellipsis))


class Source:
    """A path to a value: a root (argument, global, cell, constant object) and attribute and item steps."""

    __slots__ = ()

    def expression(self, names: GuardNames) -> str:
        """Python expression that reads the value again."""
        raise NotImplementedError

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells this path from others, by the identity of the objects it starts from."""
        raise NotImplementedError

    @property
    def by_type(self) -> bool:
        """True if objects at this path may be others of the same type on each call (arguments and what they hold)."""
        return False


@dataclass(frozen=True)
class Argument(Source):
    """A parameter of the converted function."""

    name: str

    def expression(self, names: GuardNames) -> str:
        return f"args[{self.name!r}]"

    @property
    def by_type(self) -> bool:
        return True

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("argument", self.name)

    def __str__(self) -> str:
        return f"argument {self.name}"


@dataclass(frozen=True, eq=False)
class Global(Source):
    """A name in the globals of a function."""

    namespace: dict[str, Any]
    name: str

    def expression(self, names: GuardNames) -> str:
        return f"{names.of(self.namespace)}[{self.name!r}]"

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("global", id(self.namespace), self.name)

    def __str__(self) -> str:
        return f"global {self.name}"


@dataclass(frozen=True, eq=False)
class Cell(Source):
    """A closure cell from outside the converted function."""

    cell: CellType
    name: str

    def expression(self, names: GuardNames) -> str:
        return f"{names.of(self.cell)}.cell_contents"

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("cell", id(self.cell))

    def __str__(self) -> str:
        return f"closure variable {self.name}"


@dataclass(frozen=True, eq=False)
class Constant(Source):
    """An object that is what it is: a module, a class, a Layer guarded by identity."""

    value: Any

    def expression(self, names: GuardNames) -> str:
        return names.of(self.value)

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("object", id(self.value))

    def __str__(self) -> str:
        name = getattr(self.value, "__qualname__", None) or getattr(self.value, "__name__", None)
        return str(name) if name else f"{type(self.value).__name__} object"


@dataclass(frozen=True)
class Attribute(Source):
    """An attribute of the object at another path."""

    base: Source
    name: str

    def expression(self, names: GuardNames) -> str:
        return f"{self.base.expression(names)}.{self.name}"

    @property
    def by_type(self) -> bool:
        return self.base.by_type

    @property
    def identity(self) -> tuple[Any, ...]:
        return (*self.base.identity, "attribute", self.name)

    def __str__(self) -> str:
        return f"{self.base}.{self.name}"


@dataclass(frozen=True)
class Item(Source):
    """An item of the container at another path; `key` is a plain value."""

    base: Source
    key: Any

    def expression(self, names: GuardNames) -> str:
        key = repr(self.key) if isinstance(self.key, PRIMITIVES) else names.of(self.key)
        return f"{self.base.expression(names)}[{key}]"

    @property
    def by_type(self) -> bool:
        return self.base.by_type

    @property
    def identity(self) -> tuple[Any, ...]:
        return (*self.base.identity, "item", type(self.key), self.key)

    def __str__(self) -> str:
        return f"{self.base}[{self.key!r}]"


class GuardNames:
    """Names for the objects that a generated guard refers to."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self._known: dict[int, str] = {}

    def of(self, thing: Any) -> str:
        found = self._known.get(id(thing))
        if found is None:
            found = self._known[id(thing)] = f"o{len(self._known)}"
            self.namespace[found] = thing
        return found


@dataclass(frozen=True)
class Guard:
    """One condition: `template` with ``{v}`` for the value at `source`, and the objects it compares with."""

    source: Source
    template: str
    operands: tuple[Any, ...] = ()
    shown: str = ""

    def condition(self, names: GuardNames) -> str:
        operands = {f"k{i}": names.of(operand) for i, operand in enumerate(self.operands)}
        return self.template.format(v=self.source.expression(names), **operands)


def same_float(value: Any, expected: float) -> bool:
    """True if `value` is the same float, bit for bit: NaN equals NaN, and 0.0 is not -0.0."""
    if type(value) is not float:
        return False
    if value != expected:
        return value != value and expected != expected
    return value != 0.0 or math.copysign(1.0, value) == math.copysign(1.0, expected)


def same_value(value: Any, expected: Any) -> bool:
    """True if two nested plain values are equal with equal types."""
    if type(value) is not type(expected):
        return False
    if isinstance(expected, float):
        return same_float(value, expected)
    if isinstance(expected, tuple):
        return len(value) == len(expected) and all(map(same_value, value, expected))
    return bool(value == expected)


def is_plain(value: Any) -> bool:
    """True for values that a guard compares by value: numbers, strings, None, tuples of these, dtypes."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(is_plain, value))
    return type(value) in PRIMITIVES or type(value) is float or isinstance(value, np.dtype)


def same_tensor(value: Any, shape: Shape, dtype: DType, stop_gradient: bool) -> bool:
    """True if `value` is a tensor of this spec and flag."""
    return (
        isinstance(value, TensorBase)
        and value.data.shape == shape  # type: ignore[attr-defined]
        and value.data.dtype == dtype  # type: ignore[attr-defined]
        and value.stop_gradient is stop_gradient
    )


def guard_for(source: Source, value: Any) -> Guard | None:
    """The condition under which `value`, read at `source`, may be taken as read again; None if always."""
    if isinstance(value, TensorBase):
        spec = value.spec  # type: ignore[attr-defined]
        return Guard(
            source, "same_tensor({v}, {k0}, {k1}, {k2})", (spec.shape, spec.dtype, value.stop_gradient), str(spec))
    if value is None or value is True or value is False:
        return Guard(source, "{v} is " + repr(value), (), repr(value))
    if type(value) in (int, str):
        return Guard(source, "same_plain({v}, " + type(value).__name__ + ", {k0})", (value,), repr(value))
    if is_plain(value):
        return Guard(source, "same_value({v}, {k0})", (value,), repr(value))
    if source.by_type and not callable(value):
        return Guard(source, "type({v}) is {k0}", (type(value),), type(value).__name__)
    return Guard(source, "{v} is {k0}", (value,), repr(type(value)))


def same_plain(value: Any, kind: type, expected: Any) -> bool:
    """True if `value` has exactly this type and equals `expected`."""
    return type(value) is kind and bool(value == expected)


def is_layer(thing: Any) -> bool:
    """True for Layers: what belongs to their structure is guarded by one version number."""
    return hasattr(type(thing), "call_traced")


def is_structural(source: Source) -> bool:
    """True for a path that starts at a Layer and goes through attributes of Layers only."""
    while isinstance(source, Attribute):
        source = source.base
    return isinstance(source, Constant) and is_layer(source.value)


def layer_state(layer: Any, whole: bool) -> tuple[Any, ...]:
    """What a call of `layer` depends on besides what its own traced code reads.

    `whole` is True for a Layer of d2s itself, whose forward is not converted: then it is everything it holds.
    """
    held = layer.__dict__
    found: list[Any] = [tuple(held["_forward_pre_hooks"]), tuple(held["_forward_post_hooks"])]
    if whole:
        for name, value in held.items():
            if name.startswith("__d2s") or name in ("_forward_pre_hooks", "_forward_post_hooks"):
                continue
            found.append((name, tuple(value.items()) if isinstance(value, dict) else value))
    return tuple(found)


def same_state(layer: Any, whole: bool, expected: tuple[Any, ...]) -> bool:
    """True if `layer_state` is what it was: plain values equal, other objects identical."""
    return _identical(layer_state(layer, whole), expected)


def _identical(now: Any, before: Any) -> bool:
    if now is before:
        return True
    if type(now) is tuple and type(before) is tuple:
        return len(now) == len(before) and all(map(_identical, now, before))
    return is_plain(before) and same_value(now, before)


_HELPERS = {"same_tensor": same_tensor, "same_value": same_value, "same_plain": same_plain, "same_state": same_state}
_UNREADABLE = (AttributeError, LookupError, ValueError)


class GuardSet:
    """The conditions of one trace, in the order in which they were met.

    Those that only a change of some Layer can break are *structural*: they need a look only after
    `STRUCTURE.version` has changed.
    """

    def __init__(self) -> None:
        self.guards: dict[str, Guard] = {}
        self._names = GuardNames()

    def add(self, guard: Guard | None) -> None:
        """Add a condition, once."""
        if guard is not None:
            self.guards.setdefault(guard.condition(self._names), guard)

    def live_check(self) -> Callable[[dict[str, Any]], bool]:
        """A function of the arguments (by parameter name): do the conditions hold that are not structural?"""
        return self._compiled([c for c, guard in self.guards.items() if not is_structural(guard.source)])

    def structural_check(self) -> Callable[[dict[str, Any]], bool]:
        """The same for the structural ones."""
        return self._compiled([c for c, guard in self.guards.items() if is_structural(guard.source)])

    def _compiled(self, conditions: list[str]) -> Callable[[dict[str, Any]], bool]:
        lines = ["def check(args):", "    try:", "        return ("]
        lines += [f"            {condition} and" for condition in conditions]
        lines += ["            True)", "    except unreadable:", "        return False"]
        namespace = self._names.namespace | _HELPERS | {"unreadable": _UNREADABLE}
        exec(compile("\n".join(lines), "<d2s guards>", "exec"), namespace)
        check: Callable[[dict[str, Any]], bool] = namespace["check"]
        return check

    def broken(self, args: dict[str, Any]) -> Change | None:
        """The first condition that does not hold now."""
        namespace = self._names.namespace | _HELPERS | {"args": args}
        for condition, guard in self.guards.items():
            if not _evaluates(condition, namespace, False):
                now = _evaluates(guard.source.expression(self._names), namespace, "missing")
                return Change(guard, now)
        return None


@dataclass(frozen=True)
class Change:
    """A condition that does not hold any more, and what is there now."""

    guard: Guard
    now: Any

    @property
    def is_number(self) -> bool:
        """True if a Python number has become another one of its type."""
        before = self.guard.operands[0] if self.guard.operands else None
        return type(self.now) in (int, float) and type(self.now) is type(before)

    def __str__(self) -> str:
        shown = str(self.now.spec) if isinstance(self.now, TensorBase) else reprlib.repr(self.now)  # type: ignore[attr-defined]
        return f"{self.guard.source} changed from {self.guard.shown} to {shown}"


def _evaluates(expression: str, namespace: dict[str, Any], otherwise: Any) -> Any:
    try:
        return eval(expression, namespace)
    except _UNREADABLE:
        return otherwise


def fetcher(sources: Sequence[Source]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """A function of the arguments that reads the values at `sources`."""
    names = GuardNames()
    parts = ", ".join(source.expression(names) for source in sources)
    text = f"def fetch(args):\n    return ({parts}{',' if sources else ''})"
    namespace = names.namespace
    exec(compile(text, "<d2s inputs>", "exec"), namespace)
    fetch: Callable[[dict[str, Any]], tuple[Any, ...]] = namespace["fetch"]
    return fetch
