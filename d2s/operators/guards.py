"""The conditions under which a trace stays valid.

A guard compares by identity, or by exact value and type; never by hash.  Tensors are guarded by spec and by which of
them are one object, not by identity: they are inputs, found by path on each call.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import itertools
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase, state
from d2s.core.spec import Dim, TensorSpec, defaults
from d2s.operators.equality import (
    NUMBERS_AND_TEXTS,
    is_plain,
    plain_part,
    same_content,
    same_parts,
    same_value,
    shows_its_content,
)
from d2s.operators.kinds import kind_of
from d2s.operators.policy import is_of_user
from d2s.operators.sources import Attribute, Constant, GuardNames, Item, Source

# The condition on what is made anew in each call.
NEVER = "False"


@dataclass(frozen=True)
class Guard:
    """One condition: `template` with ``{v}`` for the value at `source`, and the objects it compares with.

    ``{d}`` is the ``__dict__`` of the value.  That of a tensor leaves it in the variable ``{t}``.

    Attributes
    ----------
    other : Source, optional
        A second path, ``{w}`` in the template.
    is_live : bool
        True if something else than a change of a Layer can break it, whatever its path.
    spec : TensorSpec, optional
        Of the tensor that was there while tracing, if it is one.
    open_axes : tuple of int
        Its axes that may have other sizes.
    """

    source: Source
    template: str
    operands: tuple[Any, ...] = ()
    shown: str = ""
    other: Source | None = None
    is_live: bool = False
    spec: TensorSpec | None = None
    open_axes: tuple[int, ...] = ()

    def condition(self, names: GuardNames) -> str:
        """The condition as an expression."""
        parts = {f"k{i}": names.of(operand) for i, operand in enumerate(self.operands)}
        if self.other is not None:
            parts["w"] = self.other.expression(names)
        found = self.source.expression(names)
        if "{d}" in self.template:
            parts["d"] = Attribute(self.source, "__dict__").expression(names)
        if self.spec is not None:
            parts["t"] = names.local(found)
        return self.template.format(v=found, **parts)

    def checker(self) -> Callable[[Any], bool]:
        """The condition as a function of the value at `source`."""
        operands = {f"k{i}": operand for i, operand in enumerate(self.operands)}
        text = self.template.format(v="v", d="v.__dict__", **{name: name for name in operands})

        def holds(thing: Any) -> bool:
            return bool(eval(_code_of(text), {**_HELPERS, **operands, "v": thing}))

        return holds

    def made_live(self) -> Guard:
        """The same condition, looked at in each call."""
        return dataclasses.replace(self, is_live=True)

    @property
    def is_structural(self) -> bool:
        """True if only a change of some Layer can break it."""
        paths = (self.source,) if self.other is None else (self.source, self.other)
        return not self.is_live and all(map(is_structural, paths))


def guard_for(source: Source, value: Any) -> Guard | None:
    """The condition under which `value`, read at `source`, may be taken as read again; None if always."""
    if isinstance(value, TensorBase):
        return tensor_guard(source, value)
    if value is None or value is True or value is False:
        return Guard(source, "{v} is " + repr(value), (), repr(value))
    if is_plain(value):
        # Most often it is the very object.
        return Guard(source, "({v} is {k0} or same_value({v}, {k0}))", (value,), repr(value))
    if isinstance(value, NUMBERS_AND_TEXTS) and not isinstance(value, enum.Enum):
        template = "type({v}) is {k0} and same_value(plain_part({v}), {k1})"
        return Guard(source, template, (type(value), plain_part(value)), repr(plain_part(value)))
    if isinstance(value, np.ndarray):
        template = "type({v}) is {k0} and {v}.shape == {k1} and {v}.dtype == {k2}"
        operands: tuple[Any, ...] = (type(value), value.shape, value.dtype)
        if not source.by_type:
            template, operands = "{v} is {k3} and " + template, (*operands, value)
        return Guard(source, template, operands, f"array of {value.dtype.name}{list(value.shape)}", is_live=True)
    if type(value) is MethodType:
        return Guard(
            source, "type({v}) is {k0} and {v}.__func__ is {k1} and {v}.__self__ is {k2}",
            (MethodType, value.__func__, value.__self__), value.__qualname__)
    if source.by_type and not is_known_by_identity(value) and shows_its_content(value):
        return Guard(source, "type({v}) is {k0}", (type(value),), type(value).__name__)
    return Guard(source, "{v} is {k0}", (value,), repr(type(value)))


def tensor_guard(source: Source, tensor: Any, open_axes: Sequence[int] = ()) -> Guard:
    """Exact class, dtype, flag and shape; along `open_axes` any size but 0 and 1 will do."""
    spec = tensor.spec
    return Guard(
        source,
        "(({t} := {v})._kind is {k0} or {k0}.fits({t}))",
        (kind_of(tensor, tuple(open_axes)),),
        str(TensorSpec(tuple(_ANY if axis in open_axes else size for axis, size in enumerate(spec.shape)), spec.dtype)),
        # It is read in any case.
        is_live=True,
        spec=spec, open_axes=tuple(open_axes),
    )


# A size that is left open, as it is shown.
_ANY = Dim("any")


def function_guards(function: FunctionType) -> list[Guard]:
    """A function that was converted is the same as long as its code is, and names that mean nothing now still do."""
    code, namespace = function.__code__, function.__globals__
    guards = [Guard(Constant(function), "{v}.__code__ is {k0}", (code,), "its code")]
    for name in global_names(code):
        if name not in namespace and not hasattr(builtins, name):
            template = f"{name!r} not in {{v}} and not hasattr({{k0}}, {name!r})"
            guards.append(Guard(Constant(namespace), template, (builtins,), f"no global {name}"))
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if is_empty(cell):
            guards.append(Guard(Constant(cell), "is_empty({v})", (), f"no value of {name}"))
    return guards


def global_names(code: CodeType) -> Iterator[str]:
    """The names that code, and the code in it, reads as globals."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from global_names(constant)


def stores_outside(code: CodeType) -> bool:
    """True if code, or the code in it, assigns to globals or outer variables."""
    if any(instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF") and instruction.argval not in
           code.co_cellvars for instruction in dis.get_instructions(code)):
        return True
    return any(stores_outside(constant) for constant in code.co_consts if isinstance(constant, CodeType))


def is_empty(cell: CellType) -> bool:
    """True for the cell of a variable that is not bound."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def class_guard(cls: type, name: str) -> Guard:
    """What `name` means for instances of `cls` (or that it means nothing) is as it was."""
    found = lookup(cls, name)
    shown = f"{cls.__qualname__}.{name}"
    if isinstance(found, FunctionType | property):
        # The class gives back these themselves.
        return Guard(Constant(cls), "{v}." + name + " is {k0}", (found,), shown)
    return Guard(Constant(cls), "lookup({v}, " + repr(name) + ") is {k0}", (found,), shown)


def lookup(cls: type, name: str) -> Any:
    """What a class and its bases hold under `name`, not bound to anything; ABSENT if nothing."""
    for base in cls.__mro__:
        found = base.__dict__.get(name, ABSENT)
        if found is not ABSENT:
            return found
    return ABSENT


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Nothing()


# Where a Layer holds its tensors; it says when they change.
REGISTRIES = ("_parameters", "_buffers")


def is_layer(thing: Any) -> bool:
    """True for Layers: what belongs to their structure is guarded by one version number."""
    return hasattr(type(thing), "call_traced")


def is_known_by_identity(thing: Any) -> bool:
    """True for functions, classes, Layers: each is something else to a Program; other objects show what they hold."""
    return callable(thing) and (is_layer(thing) or isinstance(thing, type) or not is_of_user(type(thing)))


def is_structural(source: Source) -> bool:
    """True for a path that starts at a Layer and goes through attributes of Layers only, and for a Parameter."""
    if isinstance(source, Item) and isinstance(source.base, Attribute) and source.base.name in REGISTRIES:
        source = source.base
    root = source
    while isinstance(root, Attribute):
        root = root.base
    # Of a Parameter, what is set on it by the user does not tell when it changes.
    return isinstance(root, Constant) and (
        is_layer(root.value) or (root is source and getattr(type(root.value), "tells_changes", False) is True))


@functools.lru_cache(maxsize=256)
def _code_of(condition: str) -> CodeType:
    return compile(condition, "<d2s guard>", "eval")


_HELPERS = {
    "same_value": same_value, "same_content": same_content, "plain_part": plain_part, "same_parts": same_parts,
    "contains": dict.__contains__, "lookup": lookup, "is_empty": is_empty, "state": state, "defaults": defaults,
}
# As many as are told apart one by one.
_FEW = 3
_UNREADABLE = (AttributeError, LookupError, ValueError)


def _is_told_apart(thing: Any) -> bool:
    """True for a tensor whose class leaves it to Python to hash it: it can stand for itself in a set."""
    return isinstance(thing, TensorBase) and type(thing).__hash__ is object.__hash__


def are_different(names: Sequence[str]) -> str:
    """The condition that no two variables hold the same object; a few are compared in less time than a set is made."""
    if len(names) > _FEW:
        return f"len({{{', '.join(names)}}}) == {len(names)}"
    return " and ".join(f"{one} is not {other}" for one, other in itertools.combinations(names, 2)) or "True"


class GuardSet:
    """The conditions of one trace, in the order in which they were met.

    Those that only a change of some Layer can break are *structural*: they need a look only after
    `STRUCTURE.version` has changed.

    Attributes
    ----------
    is_for_one_call : bool
        True if they never hold again.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything: the trace begins anew."""
        self.guards: dict[str, Guard] = {}
        self.names = GuardNames()
        # Classes of Layers on which there are conditions.
        self.layer_classes: set[type] = set()
        self.is_for_one_call = False
        self._distinct: dict[bool, list[Source]] = {False: [], True: []}
        # What paths of other calls must not lead to: what the Program knows by identity.  Tensors, and ids of others.
        self._settled: dict[bool, set[Any]] = {False: set(), True: set()}
        self._known: dict[bool, list[Any]] = {False: [], True: []}

    def add(self, guard: Guard | None) -> None:
        """Add a condition, once."""
        if guard is not None:
            self.is_for_one_call |= guard.template == NEVER
            self.guards.setdefault(guard.condition(self.names), guard)

    def add_object(self, source: Source, thing: Any) -> None:
        """Note an object that is not at any other path met so far: so it must be on each call."""
        if isinstance(source, Constant):
            self._known[_is_told_apart(thing)].append(thing)
        else:
            self._distinct[_is_told_apart(thing)].append(source)

    def live_check(self, grad_mode: bool) -> Callable[[dict[str, Any]], bool]:
        """A function of the arguments (by parameter name): do the conditions hold that are not structural?"""
        return self._compiled(self.live_conditions(grad_mode))

    def live_conditions(self, grad_mode: bool) -> list[str]:
        """Those conditions as expressions of `args`, and the modes of the thread: `grad_mode`, the default dtype."""
        dtype = self.names.of(defaults.dtype)
        return [f"state.grad_enabled is {grad_mode}", f"defaults.dtype is {dtype}", *self._conditions(False)]

    def live_reads(self) -> dict[str, str]:
        """The variables in which the live conditions leave the tensors they look at, by their paths as expressions."""
        sources = [guard.source for guard in self.guards.values() if guard.spec is not None and not guard.is_structural]
        expressions = [source.expression(self.names) for source in sources]
        return {expression: self.names.local(expression) for expression in expressions}

    def structural_check(self) -> Callable[[dict[str, Any]], bool]:
        """The same function for the structural ones."""
        return self._compiled(self._conditions(True))

    def _conditions(self, structural: bool) -> list[str]:
        guards = {c: guard for c, guard in self.guards.items() if guard.is_structural is structural}
        conditions = [*guards]
        tensors = [guard.source.expression(self.names) for guard in guards.values() if guard.spec is not None]
        read = {expression: self.names.local(expression) for expression in tensors}
        for told_apart, sources in self._distinct.items():
            own = [source.expression(self.names) for source in sources if is_structural(source) is structural]
            parts = [read.get(part, part) if told_apart else f"id({part})" for part in own]
            if structural:
                conditions.append(f"settle({told_apart}, ({''.join(f'{part}, ' for part in parts)}))")
            elif parts:
                settled = f"settled[{told_apart}]"
                if told_apart and read.keys() >= set(own) and len(own) <= _FEW:
                    listed = f"({', '.join(parts)},)"
                    conditions += [are_different(parts), f"(not {settled} or {settled}.isdisjoint({listed}))"]
                else:
                    conditions.append(
                        f"len(found := {{{', '.join(parts)}}}) == {len(parts)} and found.isdisjoint({settled})")
        return conditions

    def _settle(self, told_apart: bool, found: tuple[Any, ...]) -> bool:
        """Take note of which objects the Layers hold now; True if no two are one."""
        known = self._known[told_apart]
        settled = self._settled[told_apart]
        settled.clear()
        settled.update(known if told_apart else map(id, known), found)
        return len(set(found)) == len(found)

    def _compiled(self, conditions: Iterable[str]) -> Callable[[dict[str, Any]], bool]:
        conditions = [*conditions]
        lines = ["def check(args):", "    try:", *(f"        {line}" for line in self.names.beginning())]
        lines += ["        return (", *(f"            {condition} and" for condition in conditions)]
        lines += ["            True)", "    except unreadable:", "        return False"]
        namespace = self.namespace()
        exec(compile("\n".join(lines), "<d2s guards>", "exec"), namespace)
        check: Callable[[dict[str, Any]], bool] = namespace["check"]
        return check

    def namespace(self) -> dict[str, Any]:
        """What the names in conditions stand for."""
        return self.names.namespace | _HELPERS | {
            "unreadable": _UNREADABLE, "settled": self._settled, "settle": self._settle}

    def broken(self, args: dict[str, Any]) -> list[Change]:
        """The conditions that do not hold now; below a path that has changed nothing is looked at.

        What was read there may be behind a property now, or not be there at all.
        """
        namespace = self.names.namespace | _HELPERS | {"args": args}
        for line in self.names.beginning():
            name, _, expression = line.partition(" = ")
            namespace[name] = _evaluates(expression, namespace, ABSENT)
        found: dict[tuple[Any, ...], Change] = {}
        for condition, guard in self.guards.items():
            path = guard.source.identity
            if any(path[: len(changed)] == changed for changed in found):
                continue
            if not _evaluates(condition, namespace, False):
                found[path] = Change(guard, _evaluates(guard.source.expression(self.names), namespace, ABSENT))
        return list(found.values())


def _said(thing: Any) -> str:
    """A value as text; nothing of the user's runs for it."""
    is_container = type(thing) in (dict, list, tuple, set, frozenset)
    parts = [*thing, *thing.values()] if type(thing) is dict else thing
    if is_plain(thing) or (is_container and all(map(is_plain, parts))):
        return reprlib.repr(thing)
    if is_container:
        return f"a {type(thing).__name__} of {len(thing)}"
    name = getattr(thing, "__qualname__", None) if isinstance(thing, type | FunctionType) else None
    return f"a {type(thing).__qualname__}" if name is None else name


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

    @property
    def sizes(self) -> list[int]:
        """The axes along which a tensor has another size now, if it is the same in all else."""
        before, tensor = self.guard.spec, self.now
        if before is None or type(tensor) is not self.guard.operands[0].cls:
            return []
        now = tensor.spec
        if now.dtype != before.dtype or now.ndim != before.ndim:
            return []
        return [axis for axis, size in enumerate(now.shape)
                if axis not in self.guard.open_axes and size != before.shape[axis]]

    def __str__(self) -> str:
        if self.guard.template == NEVER:
            return f"{self.guard.source} is {self.guard.shown}"
        now, before = self.now, self.guard.shown
        if not isinstance(now, TensorBase):
            return f"{self.guard.source} changed from {before} to {_said(now)}"
        tensor: Any = now
        shown = str(tensor.spec)
        if self.guard.spec is not None:
            kind = self.guard.operands[0]
            if type(tensor) is not kind.cls:
                before, shown = f"{kind.cls.__name__} {before}", f"{type(tensor).__name__} {shown}"
            if tensor.stop_gradient is not kind.stop_gradient:
                before += f", stop_gradient={kind.stop_gradient}"
                shown += f", stop_gradient={tensor.stop_gradient}"
        return f"{self.guard.source} changed from {before} to {shown}"


def _evaluates(expression: str, namespace: dict[str, Any], otherwise: Any) -> Any:
    try:
        return eval(expression, namespace)
    except Exception:
        # A check stops at the first condition that fails; those behind it may make no sense then.
        return otherwise
