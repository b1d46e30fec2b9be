"""What the code of hooks may change: told from all that they can get at, and from what their code does.

Nothing is run.  What is told of the code errs on one side: it may name what is not changed, but it leaves out nothing
that the traced function has made.
"""

from __future__ import annotations

import dis
import functools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    NoneType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.operators import policy
from d2s.operators.converted import nested_in
from d2s.operators.guards import is_empty, lookup
from d2s.operators.heap import CONTAINERS, container_class, fields_of, is_user_object
from d2s.operators.libraries import READERS
from d2s.operators.open_items import is_open
from d2s.operators.purity import ACT_IN_NUMPY
from d2s.operators.stored import content_at
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

_SORTS = (list, dict, set, deque, bytearray, OrderedDict, Counter, defaultdict)
_CHANGING = frozenset(
    name for sort in _SORTS for name, found in vars(sort).items()
    if callable(found) and name not in vars(object) and not any(name in readers for readers in READERS.values())
) - {"__class_getitem__", "__missing__", "__copy__", "__alloc__"}
# What may do anything to attributes; the last ones give what a container has by a name that the code need not show.
_SETTING = frozenset({
    "setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "exec", "eval", "globals"})
_ANY_NAME = _SETTING | {"getattr", "methodcaller", "attrgetter"}
# They fill objects that are new then.
_WHEN_MADE = frozenset({
    "__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__setstate__", "__copy__",
    "__deepcopy__"})
_PLAIN = (int, float, complex, str, bytes, NoneType)
_WRITTEN_IN_C = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)
# Functions of these change none of their arguments.
_ONLY_COMPUTING = frozenset({"builtins", "math", "cmath", "d2s", "numpy", "time", "typing", "logging", "warnings"})


class Changes:
    """What hooks may change.

    Parameters
    ----------
    hooks : iterable of callables
    tracer : Tracer

    Attributes
    ----------
    things : dict
        By identity: the containers, objects, classes and tensors that they can get at.
    containers : bool
        True if their code may change some of the containers.
    changed : list
        Those that it names and changes.
    fields : set of str or None
        Attributes that it may set or delete; None: any.
    stores : list of (object or None, str)
        The same with the objects, where the code names these.
    cells : list of (cell, str)
        Variables of functions around that it assigns.
    names : list of (dict, str)
        Globals that it assigns.
    kinds : dict of str to set of (type or None)
        Of variables and attributes that it assigns: the types of the constants that are put into them or added; None
        for anything else.
    writes : bool
        True if it may write to tensors.
    """

    def __init__(self, hooks: Iterable[Any], tracer: Tracer) -> None:
        self.things: dict[int, Any] = {}
        self.containers = False
        self.changed: list[Any] = []
        self.fields: set[str] | None = set()
        self.stores: list[tuple[Any, str]] = []
        self.cells: list[tuple[CellType, str]] = []
        self.names: list[tuple[dict[str, Any], str]] = []
        self.kinds: dict[str, set[type | None]] = {}
        self.writes = False
        self._tracer = tracer
        self._older: set[int] = set()
        self._named: set[str] = set()
        self._seen: dict[int, Any] = {}
        self._codes: list[tuple[FunctionType, CodeType]] = []
        self._owners: dict[int, list[Any]] = {}
        self._reach([(hook, False) for hook in hooks])
        for function, code in self._codes:
            self._judge(function, code)

    # --- all that can be got at ----------------------------------------------------------------------------------

    def is_older(self, thing: Any) -> bool:
        """True for what is older than the call, also if the traced code has not met it."""
        return id(thing) in self._older or self._is_known_older(thing)

    def _is_known_older(self, thing: Any) -> bool:
        return isinstance(thing, type | ModuleType) or self._tracer.is_outer(thing)

    def _reach(self, stack: list[tuple[Any, bool]]) -> None:
        while stack:
            while stack:
                thing, is_older = stack.pop()
                is_older = (is_older or self._is_known_older(thing)) and not self._tracer.is_made(thing)
                if id(thing) in self._seen and (not is_older or id(thing) in self._older):
                    continue
                self._seen[id(thing)] = thing
                if is_older:
                    self._older.add(id(thing))
                stack.extend(self._parts(thing, is_older))
            # Of older objects only what the code names, which is known now.
            for thing in tuple(self.things.values()):
                is_older = self.is_older(thing)
                stack.extend((part, is_older) for part in self._held(thing) if id(part) not in self._seen)
            stack.extend((part, False) for part in self._stored() if id(part) not in self._seen)

    def _stored(self) -> Iterator[Any]:
        """What the trace has stored in older things among these."""
        spaces = {id(function.__globals__) for function, _ in self._codes}
        for place, entry in self._tracer.pending.items():
            if place[0] in self._seen or place[0] in spaces:
                yield content_at(entry)

    def _parts(self, thing: Any, is_older: bool) -> Iterator[tuple[Any, bool]]:
        if isinstance(thing, FunctionType):
            yield from self._parts_of_function(thing)
        elif isinstance(thing, MethodType):
            self._owners.setdefault(id(thing.__func__), []).append(thing.__self__)
            yield from ((thing.__self__, is_older), (thing.__func__, is_older))
        elif isinstance(thing, functools.partial):
            yield from ((part, is_older) for part in (thing.func, *thing.args, *thing.keywords.values()))
        elif isinstance(thing, CellType):
            if not is_empty(thing):
                yield thing.cell_contents, is_older
        elif isinstance(thing, tuple | frozenset):
            yield from ((part, is_older) for part in thing)
        elif isinstance(thing, _WRITTEN_IN_C):
            yield from ((part, is_older) for part in self._library_function(thing))
        elif isinstance(thing, ModuleType):
            yield from ((part, True) for part in self._of_module(thing))
        elif isinstance(thing, type):
            if policy.is_of_user(thing):
                self.things[id(thing)] = thing
        elif isinstance(thing, CONTAINERS):
            self.things[id(thing)] = thing
            yield from ((part, is_older) for part in parts_in(thing) if not isinstance(part, _PLAIN))
            yield from ((part, is_older) for part in self._called(thing))
        elif isinstance(thing, Variable):
            self.things[id(thing)] = thing
        elif is_user_object(thing) and not isinstance(thing, TensorBase | ObjectVariable):
            self.things[id(thing)] = thing
            yield from ((part, is_older) for part in self._called(thing))

    def _parts_of_function(self, function: FunctionType) -> Iterator[tuple[Any, bool]]:
        mark = nested_in(function)
        if mark is None and policy.is_library(function.__code__):
            yield from ((part, True) for part in self._library_function(function))
            return
        code = function.__code__ if mark is None else mark[1].code
        self._codes.append((function, code))
        # Variables of functions around the traced ones are older.
        outside = (function if mark is None else mark[0]).__closure__ or ()
        for cell in function.__closure__ or ():
            yield cell, any(cell is other for other in outside)
        yield from ((part, mark is None) for part in function.__defaults__ or ())
        yield from ((part, mark is None) for part in (function.__kwdefaults__ or {}).values())
        named = {name for inner in _with_inner(code) for name in inner.co_names}
        self._named |= named
        yield from ((function.__globals__[name], True) for name in named & function.__globals__.keys())

    def _of_module(self, module: ModuleType) -> Iterator[Any]:
        """What the code may use of a module."""
        if module.__name__.partition(".")[0] in _ONLY_COMPUTING - {"numpy"}:
            return
        for name in self._named & vars(module).keys():
            yield vars(module)[name]

    def _library_function(self, thing: Any) -> Iterator[Any]:
        """A function that is not the user's: what it belongs to, and whether it may change what it is given."""
        name, owner = getattr(thing, "__name__", ""), getattr(thing, "__self__", None)
        if owner is not None and not isinstance(owner, ModuleType | type):
            self.containers |= name in _CHANGING
            if name in _SETTING:
                self.fields = None
            if isinstance(owner, CONTAINERS) and name in _CHANGING:
                self.changed.append(owner)
            yield owner
            return
        module = policy.module_of(thing)
        if name in _SETTING or (module not in _ONLY_COMPUTING and not policy.is_stdlib(module)):
            self.fields = None
        self.containers |= name in _ANY_NAME or module not in _ONLY_COMPUTING or (
            module == "numpy" and name in ACT_IN_NUMPY) or (module == "builtins" and name in _CHANGING)

    def _called(self, thing: Any) -> Iterator[Any]:
        """The functions of its class that calls and operators find."""
        for name in {name for base in type(thing).__mro__ for name in vars(base) if name.startswith("__")} - _WHEN_MADE:
            yield from self._of_class(thing, name)

    def _of_class(self, thing: Any, name: str) -> Iterator[Any]:
        found = lookup(type(thing), name)
        if isinstance(found, staticmethod | classmethod):
            found = found.__func__
        for function in (found.fget, found.fset) if isinstance(found, property) else (found,):
            if isinstance(function, FunctionType) and policy.is_convertible(function):
                owners = self._owners.setdefault(id(function), [])
                if not any(owner is thing for owner in owners):
                    owners.append(thing)
                yield function

    def _held(self, thing: Any) -> Iterator[Any]:
        """What an object holds, or a class, and the methods that the code names."""
        if isinstance(thing, type):
            functions = (found for base in thing.__mro__ if policy.is_of_user(base) for found in vars(base).values())
            yield from (found for found in functions if isinstance(found, FunctionType))
            return
        if not is_user_object(thing) or isinstance(thing, Variable):
            return
        for name, part in fields_of(thing).items():
            if not self.is_older(thing) or name in self._named:
                yield part
        for name in self._named:
            yield from self._of_class(thing, name)

    # --- what code does --------------------------------------------------------------------------------------------

    def _judge(self, function: FunctionType, code: CodeType) -> None:
        for inner in _with_inner(code):
            self.containers |= not _ANY_NAME.isdisjoint(inner.co_names) or not _CHANGING.isdisjoint(inner.co_names)
            self.writes |= any(name.endswith("_") and not name.endswith("__") for name in inner.co_names)
            if not _SETTING.isdisjoint(inner.co_names):
                self.fields = None
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        _Reading(self, function, cells).of(code, is_inner=False)
        self.writes |= self.containers or self.fields is None or bool(self.fields)

    def owners(self, function: FunctionType) -> list[Any]:
        """Objects of which a function may be called as a method."""
        return self._owners.get(id(function), [])

    def note_field(self, owners: list[Any] | None, name: str, kind: type | None) -> None:
        """Take note that code sets an attribute, of one of these objects if they are known."""
        if self.fields is not None:
            self.fields.add(name)
        self.stores += [(None, name)] if owners is None else [(owner, name) for owner in owners]
        self.kinds.setdefault(name, set()).add(kind)

    def note_variable(self, cell: CellType, name: str, kind: type | None) -> None:
        """Take note that code assigns a variable of a function around."""
        if not any(known is cell for known, _ in self.cells):
            self.cells.append((cell, name))
        self.kinds.setdefault(name, set()).add(kind)

    def set_on(self, thing: Any) -> list[str]:
        """The attributes of an object that may be set."""
        held = vars(thing) if isinstance(thing, type) else fields_of(thing)
        names = dict.fromkeys(held if self.fields is None and not isinstance(thing, type) else ())
        for owner, name in self.stores:
            if owner is thing or (owner is None and name in held):
                names[name] = None
        return list(names)

    @property
    def computes_numbers(self) -> bool:
        """True if code makes plain numbers of tensors, or of how much there is of something."""
        return not self._named.isdisjoint(("item", "float", "int", "len"))


class _Reading:
    """Reads the code of one function: what of the things that it names does it change?"""

    def __init__(self, changes: Changes, function: FunctionType, cells: dict[str, CellType]) -> None:
        self.changes = changes
        self.function = function
        self.cells = cells

    def of(self, code: CodeType, is_inner: bool) -> None:
        # Things by their place on the stack: the objects that may be there, or None.  Behind a jump it may be another
        # one than is noted here: nothing relies on it but what is checked in the run.
        stack: list[list[Any] | None] = []
        before: list[dis.Instruction] = []
        for instruction in dis.get_instructions(code):
            name = instruction.opname
            if name in ("LOAD_ATTR", "LOAD_METHOD"):
                self._load_attribute(instruction, stack)
            elif name.startswith("LOAD_"):
                self._load(instruction, code, is_inner, stack)
            elif name == "COPY":
                stack.append(stack[-instruction.argval] if len(stack) >= instruction.argval else None)
            elif name == "SWAP" and len(stack) >= instruction.argval:
                stack[-1], stack[-instruction.argval] = stack[-instruction.argval], stack[-1]
            else:
                self._store(instruction, code, stack, _kind_put(before, name))
                _step(instruction, stack)
            before.append(instruction)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.of(constant, is_inner=True)

    def _load_attribute(self, instruction: dis.Instruction, stack: list[list[Any] | None]) -> None:
        owners = stack.pop() if stack else None
        if instruction.argval in _CHANGING:
            self._changed(owners)
        stack += [None] * (dis.stack_effect(instruction.opcode, instruction.arg) + 1)
        stack[-1] = _fields(owners, instruction.argval)

    def _load(
        self, instruction: dis.Instruction, code: CodeType, is_inner: bool, stack: list[list[Any] | None]
    ) -> None:
        names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
        effect = max(dis.stack_effect(instruction.opcode, instruction.arg), len(names))
        stack += [None] * (effect - len(names))
        for name in names:
            found: list[Any] | None = None
            if instruction.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
                cell = self.cells.get(name)
                found = None if cell is None or is_empty(cell) else [cell.cell_contents]
            elif instruction.opname == "LOAD_GLOBAL" and name in self.function.__globals__:
                found = [self.function.__globals__[name]]
            elif instruction.opname.startswith("LOAD_FAST") and not is_inner and code.co_argcount and (
                    name == code.co_varnames[0]):
                found = self.changes.owners(self.function) or None
            stack.append(found)

    def _store(
        self, instruction: dis.Instruction, code: CodeType, stack: list[list[Any] | None], kind: type | None
    ) -> None:
        name, changes = instruction.opname, self.changes
        if name in ("STORE_ATTR", "DELETE_ATTR"):
            changes.note_field(stack[-1] if stack else None, instruction.argval, kind)
        elif name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            place = 3 if name == "STORE_SLICE" else 2
            changes.containers = True
            self._changed(stack[-place] if len(stack) >= place else None)
        elif name == "BINARY_OP" and instruction.argrepr.endswith("="):
            owners = stack[-2] if len(stack) >= 2 else None
            # ``n += 1`` adds to no container.
            changes.containers |= owners is None or any(isinstance(owner, CONTAINERS) for owner in owners)
            self._changed(owners)
        elif name in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in code.co_freevars:
            if instruction.argval in self.cells:
                changes.note_variable(self.cells[instruction.argval], instruction.argval, kind)
        elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            changes.names.append((self.function.__globals__, instruction.argval))

    def _changed(self, owners: list[Any] | None) -> None:
        self.changes.changed += [owner for owner in owners or () if isinstance(owner, CONTAINERS)]


def _kind_put(before: list[dis.Instruction], name: str) -> type | None:
    """The type of the constant that a variable or attribute is given, or that is added to it; None for other things."""
    loads = [instruction for instruction in before[-4:] if instruction.opname != "CACHE"]
    if name == "STORE_ATTR":
        # The object, which comes last.
        loads = loads[:-1]
    if loads and loads[-1].opname == "BINARY_OP" and loads[-1].argrepr in ("+=", "-=", "*="):
        loads = loads[:-1]
    return type(loads[-1].argval) if loads and loads[-1].opname == "LOAD_CONST" else None


def _step(instruction: dis.Instruction, stack: list[list[Any] | None]) -> None:
    """What an instruction that is not looked at more closely leaves on the stack."""
    effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    if effect > 0:
        stack += [None] * effect
        return
    del stack[len(stack) + effect if len(stack) + effect > 0 else 0 :]
    if stack and not instruction.opname.startswith(("STORE_", "POP_", "DELETE_", "RETURN_", "RESUME", "CACHE", "NOP")):
        stack[-1] = None


def parts_in(container: Any) -> list[Any]:
    """What is known to be in a container."""
    if is_open(container):
        return []
    cls: Any = container_class(container)
    if issubclass(cls, dict):
        return [*cls.keys(container), *cls.values(container)]
    return list(cls.__iter__(container))


def _fields(owners: list[Any] | None, name: str) -> list[Any] | None:
    """What objects hold under a name, as far as it is simply there."""
    found = []
    for owner in owners or ():
        held = fields_of(owner) if is_user_object(owner) and not isinstance(owner, TensorBase) else {}
        if name in held:
            found.append(held[name])
    return found or None


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


__all__ = ["Changes", "parts_in"]
