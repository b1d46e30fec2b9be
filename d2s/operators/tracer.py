"""The tracer: runs converted user code once, on symbols, and records what it does as a Program.

Tracing changes nothing outside.  What the code reads of older objects becomes guards and inputs; what it would do to
them becomes effect operators, and later reads in the same trace see the pending effects.
"""

from __future__ import annotations

import copy
import operator
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import BuiltinMethodType, CellType, MethodType, ModuleType
from typing import Any, NoReturn

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.interpreter import TensorBase, state
from d2s.core.op import Op
from d2s.core.spec import TensorSpec, is_floating, spec_of
from d2s.errors import (
    ExecutionError,
    Location,
    ProgramError,
    ShapeError,
    TracingError,
    UnsupportedSyntaxError,
    user_location,
)
from d2s.operators import policy, views
from d2s.operators.attempts import may_raise
from d2s.operators.closures import Lowering
from d2s.operators.equality import is_plain, same_thing
from d2s.operators.guards import REGISTRIES, Guard, GuardSet, class_guard, guard_for, layer_state
from d2s.operators.sources import Argument, Attribute, Cell, Constant, Global, Item, Source
from d2s.static.builder import StaticInterpreter
from d2s.static.program import Block, Operator, Program, Value
from d2s.static.variable import ObjectVariable, Variable

MAX_PATHS = 256
# Regions inside of each other; more is a recursion that no value known now will end.
MAX_NESTING = 60

# Set for classes whose attributes can be set: those of a `class` statement.
_MUTABLE_CLASS = 1 << 9
_BOUND = (MethodType, BuiltinMethodType)


class Path:
    """One way through a region, and the part of it that the next way shares.

    `log` holds the operators in the order of their emission, and the test of each decision: when the region is run
    again with another decision, what comes before is replayed from it.
    """

    def __init__(self, root: Block) -> None:
        self.log: list[Operator | Value] = []
        self.position = 0
        self.choices: list[bool] = []
        self.tests: list[Value] = []
        self.marks: list[int] = []
        self.blocks: list[Block] = [root]
        self.cursor = 0

    def flip(self, index: int) -> None:
        """Prepare to run again with decision `index` answered False, and nothing decided after it."""
        self.choices[index:] = [False]
        del self.tests[index + 1 :], self.marks[index + 1 :]
        del self.log[self.marks[index] :]
        self.blocks[index + 1 :] = [Block()]

    def restart(self) -> None:
        self.position = self.cursor = 0


class Tracer(StaticInterpreter):
    """Records one call of a converted function.

    Attributes
    ----------
    guards : GuardSet
        Under which conditions the Program may be used again.
    sources : dict of Value to Source
        Where the inputs of the Program are found on each call.
    """

    priority = 20
    # Values of tensors from outside belong to the run, not to the trace.
    reads_later = True

    def __init__(self, program: Program, numbers: frozenset[tuple[Any, ...]] = frozenset()) -> None:
        super().__init__(program)
        self.guards = GuardSet()
        # Identities of paths at which Python numbers change from call to call: they are read on each run.
        self.numbers = numbers
        self._number_inputs: dict[tuple[Any, ...], ObjectVariable] = {}
        self.sources: dict[Value, Source] = {}
        # Objects of the user's classes that the traced code has made.
        self._made: dict[int, Any] = {}
        self._viewed: dict[int, list[weakref.ref[Any]]] = {}
        # Objects whose `__dict__` was looked at, by their own identity and by that of the dict.
        self._tables: dict[int, Any] = {}
        self._checked: set[tuple[Any, ...]] = set()
        # How many calls have been recorded that may do anything outside.
        self.effects = 0
        self._seen: dict[tuple[Any, ...], Any] = {}
        self.tensors: dict[Value, Any] = {}
        self.origins: dict[int, tuple[Any, Source]] = {}
        self.pending: dict[tuple[int, str, Any], Any] = {}
        # What is known only when the Program runs: whole objects by identity, and single places as in `pending`.
        self.dirty: dict[Any, Any] = {}
        self.outside_cells: dict[int, CellType] = {}
        self.frozen: list[Any] = []
        self._canonical: dict[int, tuple[Any, Variable]] = {}
        self._object_inputs: dict[int, Value] = {}
        self._paths: list[Path | None] = []
        # How many tests of loops and how many loop bodies are being traced now.
        self.in_test = 0
        self.in_loop = 0
        # Branches of which both paths are followed to the end.
        self.followed: set[Location | None] = set()
        # How many bodies of `try` are being traced now.
        self.attempts = 0
        # Counts the calls that may have written to tensors from outside: those are read again at their next use.
        self.epoch = 0
        # Values of which the gradient is retained.
        self.retaining: set[Value] = set()
        self._read_at: dict[int, int] = {}
        self.lowering = Lowering(self)

    # --- reading older objects ---------------------------------------------------------------------------------

    def is_outer(self, thing: Any) -> bool:
        """True for objects (and Values of tensors) that are older than the call."""
        if isinstance(thing, Value):
            return thing in self.tensors
        return id(thing) in self.origins or id(thing) in self.outside_cells

    def source_of(self, thing: Any) -> Source | None:
        """Path of an older object."""
        found = self.origins.get(id(thing))
        return found[1] if found is not None else None

    def read(self, source: Source, value: Any, *again: Any) -> Any:
        """Note that the trace depends on `value`, read at `source`; tensors become Variables.

        `again` is a function and its arguments that read it when the Program runs: behind a call that may have
        changed anything, it is checked there that it has not changed this.
        """
        if again and _ANYTHING in self.dirty and not callable(value) and not isinstance(value, ModuleType):
            self._check_again(source, value, again)
        if isinstance(value, Variable | ObjectVariable):
            return value
        place = source.identity
        if type(value) in (int, float) and place in self.numbers:
            return self._number_input(source, value)
        if place in self._seen and self._seen[place] is value:
            return self.lift(value) if isinstance(value, TensorBase) else value
        self._seen[place] = value
        if isinstance(value, TensorBase):
            self.guards.add(guard_for(source, value))
            if id(value) in self._canonical:
                self._note_same(source, self.sources[self.captured[id(value)][1]])
            return self.lift(value, source)
        self.guards.add(guard_for(source, value))
        if not is_plain(value):
            self.remember(value, source)
        return value

    def _check_again(self, source: Source, value: Any, again: tuple[Any, ...]) -> None:
        place = (source.identity, self.epoch)
        if place not in self._checked:
            self._checked.add(place)
            expected = value if isinstance(value, TensorBase) else _Expected(value)
            self.effect(_check_unchanged, again[0], again[1:], expected, str(source))

    def _note_same(self, source: Source, first: Source) -> None:
        """Note that the same object was found at a second path."""
        if source.identity != first.identity:
            self.guards.add(Guard(source, "{v} is {w}", (), f"the same object as {first}", first))

    def _number_input(self, source: Source, value: Any) -> ObjectVariable:
        found = self._number_inputs.get(source.identity)
        if found is None:
            kind = type(value)
            self.guards.add(Guard(source, f"type({{v}}) is {kind.__name__}", (), kind.__name__))
            number = self.new_value(getattr(source, "name", "number"), None, kind=kind)
            self.sources[number] = source
            found = self._number_inputs[source.identity] = ObjectVariable(self, number)
        return found

    def remember(self, value: Any, source: Source) -> None:
        """Register an older object under its path; the first path stands."""
        # Guarded by identity: attributes are read from the object itself, whatever path led to it.
        place = source if source.by_type and not callable(value) else Constant(value)
        first = self.source_of(value)
        if first is None:
            self.origins[id(value)] = (value, place)
            if not isinstance(value, tuple | frozenset):
                self.guards.add_object(place, value)
        elif place.by_type or first.by_type:
            self._note_same(place, first)
        # What a bound method belongs to is as old as the method.
        owner = getattr(value, "__self__", None) if isinstance(value, _BOUND) else None
        if owner is not None and not isinstance(owner, ModuleType | TensorBase) and self.source_of(owner) is None:
            self.remember(owner, Constant(owner))

    def note_made(self, thing: Any) -> None:
        """Note that traced code has made an object."""
        self._made[id(thing)] = thing

    def is_made(self, thing: Any) -> bool:
        """True for an object of a user's class that traced code has made."""
        return id(thing) in self._made

    def guard_held(self, cls: type, name: str) -> None:
        """Note that the trace depends on what a class gives under `name`."""
        if cls.__flags__ & _MUTABLE_CLASS:
            self.guards.add(class_guard(cls, name))

    def guard_class(self, thing: Any, name: str) -> None:
        """Note that the trace depends on the class of `thing`, and on what `name` means there."""
        cls = type(thing)
        source = self.source_of(thing)
        if source is not None:
            self.guards.add(Guard(source, "type({v}) is {k0}", (cls,), cls.__qualname__))
        self.guard_held(cls, name)

    def lift(self, tensor: Any, source: Source | None = None) -> Variable:
        """The Variable that stands for an eager tensor; always the same one, so `is` and in-place writes work."""
        found = self._canonical.get(id(tensor))
        if found is not None:
            return found[1]
        if isinstance(tensor, Variable):
            return tensor
        value = self.new_value(self._input_name(source, tensor), tensor.spec, tensor.stop_gradient)
        if source is None:
            # Reached by code that is not traced: it is what it is as long as the Layers are unchanged.
            source = Constant(tensor)
            self.guards.add(guard_for(source, tensor))
        self.guards.add_object(source, tensor)
        self.captured[id(tensor)] = (tensor, value)
        self.sources[value] = source
        self.tensors[value] = tensor
        variable = Variable(self, value)
        self._canonical[id(tensor)] = (tensor, variable)
        return variable

    def bound(self, variable: Variable) -> Value:
        tensor = self.tensors.get(variable.value)
        if tensor is not None and self._read_at.get(id(tensor), 0) < self.epoch:
            self._read_again(variable, tensor)
        return super().bound(variable)

    def _read_again(self, variable: Variable, tensor: Any) -> None:
        """Read the values of a tensor from outside anew: something may have written to it."""
        if self._canonical[id(tensor)][1] is not variable:
            return
        self._read_at[id(tensor)] = self.epoch
        old = variable.value
        fresh = self.new_value(old.name, old.spec, old.stop_gradient)
        fresh = self.emit("reload", (self.materialise(old),), (fresh,), effect=True).outputs[0]
        self.tensors[fresh] = tensor
        self.program.same_edge[fresh] = self.captured[id(tensor)][1]
        self._materialised[fresh] = self.materialise(old)
        self.hook_points[fresh] = self.materialise(old)
        self.rebind(variable, fresh)

    def tensors_may_change(self) -> None:
        """Note that what was just recorded may write to tensors from outside."""
        self.epoch += 1

    def anything_may_change(self) -> None:
        """Note that what was just recorded may change anything outside."""
        self.tensors_may_change()
        self.dirty[_ANYTHING] = _ANYTHING

    def method_call(self, variable: Variable, name: str, *args: Any) -> Any:
        if name == "retain_grads":
            self.retaining.add(variable.value)
        if name != "backward":
            return super().method_call(variable, name, *args)
        if self.in_loop:
            raise UnsupportedSyntaxError(
                "backward() inside a loop whose turns are known only when the Program runs cannot become a graph",
                user_location(), "Call it after the loop, or loop outside the static function.",
            )
        self.emit("backward", (), (), {"call": (self.lower(variable), *map(self.lower, args))}, effect=True)
        self.tensors_may_change()
        return None

    def _input_name(self, source: Source | None, tensor: Any) -> str:
        if isinstance(source, Argument | Attribute | Global | Cell):
            return source.name
        if isinstance(source, Item) and isinstance(source.key, str) and source.key.isidentifier():
            return source.key
        return self.name_of_capture(tensor)

    def outer_tensor(self, variable: Variable) -> Any | None:
        """The eager tensor that `variable` is, if it is one from outside and was not written to."""
        found = self.tensors.get(variable.value)
        if found is not None and self._canonical[id(found)][1] is variable:
            return found
        return None

    def object_input(self, thing: Any) -> Any:
        """What stands for an older object in the Program: itself, or an input if each call may bring another."""
        source = self.source_of(thing)
        if source is None or not source.by_type:
            return thing
        found = self._object_inputs.get(id(thing))
        if found is None:
            found = self.new_value("object", None, kind=type(thing))
            self._object_inputs[id(thing)] = found
            self.sources[found] = source
            self.frozen.append(thing)
        return found

    def snapshot(self, thing: Any) -> Any:
        """An older container as the trace sees it: a copy with Variables for tensors, each element guarded."""
        source = self.source_of(thing)
        if id(thing) in self.dirty and isinstance(thing, list | dict | set | deque):
            raise UnsupportedSyntaxError(
                f"a {type(thing).__name__} from outside that this function has changed is read as a whole",
                user_location(), "Read it before the change, read single elements, or keep the function eager with "
                "@d2s.jit.not_to_static.",
            )
        if source is None or id(thing) in self.dirty:
            return thing
        if isinstance(thing, tuple) or type(thing) in (list, deque):
            self.guards.add(_length_guard(source, thing))
            parts = [self.read_item(thing, index, source) for index in range(len(thing))]
            if isinstance(thing, tuple):
                return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
            return deque(parts, thing.maxlen) if isinstance(thing, deque) else parts
        if isinstance(thing, dict | set | frozenset):
            _refuse_tensors_as_keys(thing)
        if isinstance(thing, dict):
            self.guards.add(_keys_guard(source, thing))
            copied = {} if type(thing) is dict else copy.copy(thing)
            copied.update({key: self.read_item(thing, key, source) for key in thing})
            return copied
        if isinstance(thing, set | frozenset):
            self.guards.add(_members_guard(source, thing))
            return type(thing)(thing) if type(thing) is set else thing
        return thing

    def snapshot_deeply(self, thing: Any) -> Any:
        """An older container with everything in it as guarded copies; other objects as they are."""
        seen = self.snapshot(thing)
        if type(seen) in (list, tuple):
            return type(seen)(self.snapshot_deeply(part) for part in seen)
        if type(seen) is dict:
            return {key: self.snapshot_deeply(part) for key, part in seen.items()}
        return seen

    def guard_length(self, thing: Any) -> None:
        """Note that the trace depends on how many elements an older container has."""
        source = self.source_of(thing)
        if source is not None:
            self.guards.add(_length_guard(source, thing))

    def read_item(self, container: Any, key: Any, source: Source) -> Any:
        """`container[key]` of an older container."""
        pending = self.pending_item(container, key)
        if pending is not None:
            return pending[0]
        try:
            value = container[key]
        except LookupError:
            self.guards.add(_keys_guard(source, container) if isinstance(container, dict) else _length_guard(
                source, container))
            raise
        if isinstance(value, Variable | ObjectVariable):
            return value
        return self.read(Item(source, key), value, operator.getitem, container, key)

    def value_of(self, arg: Any) -> Value:
        if isinstance(arg, np.ndarray) and self.is_outer(arg):
            # The caller's array: its content is read on each call.
            return self._tensor_of_arrays(arg, spec_of(arg), None)
        return super().value_of(arg)

    def _constant_tensor(self, data: Any, dtype: Any) -> Variable:
        if self._holds_outer_array(data):
            # The caller's array: its content is read on each call.
            return Variable(self, self._tensor_of_arrays(data, spec_of(as_array(data, dtype)), dtype))
        return super()._constant_tensor(self.snapshot_deeply(data), dtype)

    def _holds_outer_array(self, data: Any) -> bool:
        if isinstance(data, list | tuple):
            return any(map(self._holds_outer_array, data))
        return isinstance(data, np.ndarray) and self.is_outer(data)

    def _tensor_of_arrays(self, data: Any, spec: TensorSpec, dtype: Any) -> Value:
        value = self.new_value("array", spec)
        call: tuple[Any, ...] = (as_array, (self.lower(data), dtype), {})
        return self.emit("python", (), (value,), {"call": call}, effect=True).outputs[0]

    def pending_item(self, thing: Any, key: Any) -> Any:
        """What this trace has stored at ``thing[key]``, as (value, thing); None if nothing that is known now."""
        if not self.pending or isinstance(key, list | dict | set):
            return None
        return self.pending.get((id(thing), "item", _key_of(key)))

    def is_later(self, thing: Any, kind: str, key: Any) -> bool:
        """True if what `thing` holds at `key` is known only when the Program runs."""
        return bool(self.dirty) and (id(thing) in self.dirty or (id(thing), kind, _key_of(key)) in self.dirty)

    def view_of(self, table: Any) -> dict[Any, Any]:
        """A guarded copy of an older dict, of which ``keys()`` and the like are taken."""
        copied = _Viewed(self.snapshot(table))
        self._viewed.setdefault(id(table), []).append(weakref.ref(copied))
        return copied

    def attribute_table(self, thing: Any) -> None:
        """Note that the ``__dict__`` of an older object is looked at: it must not change in the same call."""
        if any(place[0] == id(thing) and place[1] == "attr" for place in self.pending) or id(thing) in self.dirty:
            _refuse_table()
        self._tables[id(thing)] = self._tables[id(thing.__dict__)] = thing

    def _refuse_change_of_viewed(self, thing: Any) -> None:
        if id(thing) in self._tables:
            _refuse_table()
        if any(view() is not None for view in self._viewed.get(id(thing), ())):
            raise UnsupportedSyntaxError(
                "a dict from outside is changed while keys(), values() or items() of it are in use", user_location(),
                "Take a list of them before, or ask again after the change.",
            )

    def changed(self, thing: Any) -> None:
        """Note that an older object is changed as a whole: what it holds is known when the Program runs."""
        self._refuse_change_of_viewed(thing)
        self.dirty[id(thing)] = thing
        self.pending = {key: entry for key, entry in self.pending.items() if key[0] != id(thing)}

    # --- effects on older objects ------------------------------------------------------------------------------

    def effect(self, function: Any, *args: Any) -> ObjectVariable:
        """Do something outside on every run, at this place."""
        self.effects += 1
        return self.python_call(function, args, effect=True)

    def store_attribute(self, target: Any, name: str, value: Any) -> None:
        """``target.name = value`` on an older object."""
        self._refuse_change_of_viewed(target)
        self.effect(setattr, target, name, value)
        self.pending[(id(target), "attr", name)] = (value, target)

    def store_item(self, target: Any, key: Any, value: Any) -> None:
        """``target[key] = value`` on an older container."""
        self._refuse_change_of_viewed(target)
        self.effect(operator.setitem, target, key, value)
        if not _tells_places_apart(key):
            self.changed(target)
            return
        others = [place[2] for place in self.pending if place[:2] == (id(target), "item")]
        if not all(type(other) is str if isinstance(key, str) else type(other) is tuple for other in others):
            self.changed(target)
        self.pending[(id(target), "item", _key_of(key))] = (value, target)
        self.dirty[id(target)] = target

    def rebind(self, variable: Variable, value: Value) -> None:
        variable.value = value

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        result = super().process(op, args, attrs)
        if op.name in views.VIEW_OPS:
            views.link(op, args, attrs, result, self)
        return result

    def assign_version(self, variable: Variable, new: Variable) -> None:
        views.assign(self, variable, new)

    def rebind_version(self, variable: Variable, new: Variable) -> None:
        """Make an interior `variable` name `new`, a version with a history of its own."""
        old = Variable(self, variable.value)
        super().assign_version(variable, new)
        if old.value in self.retaining:
            self.retaining.add(variable.value)
            self.python_call(_show_retained, (old, variable), effect=True)

    def set_value(self, variable: Variable, value: Any) -> None:
        new = value if isinstance(value, TensorBase) else self._constant_tensor(value, None)
        if new.dtype != variable.dtype:  # type: ignore[attr-defined]
            new = new.astype(variable.dtype)  # type: ignore[attr-defined]
        if new.spec.shape != variable.spec.shape:  # type: ignore[attr-defined]
            raise ShapeError(f"set_value needs shape {list(variable.spec.shape)}, got {list(new.spec.shape)}")  # type: ignore[attr-defined]
        views.write(self, variable, self.symbol(new).detach(), data_only=True)

    def symbol(self, tensor: Any) -> Variable:
        """The Variable for a tensor of either mode."""
        return tensor if isinstance(tensor, Variable) else self.lift(tensor)

    def is_tensor_of_run(self, variable: Variable) -> bool:
        """True if the caller, or something that this run has made, has `variable` as a Tensor."""
        tensor = self._materialised.get(variable.value)
        return variable.value in self.tensors or (tensor is not None and self.in_scope(tensor))

    def record_write(self, tensor: Any, variable: Variable, value: Value) -> None:
        """Write values to a tensor from outside when the Program runs, and let the rest of the trace see them."""
        old = variable.value
        self.python_call(_set_value, (variable, ObjectVariable(self, self.array_of(value))), effect=True)
        written = self.new_value(old.name, value.spec, old.stop_gradient)
        written = self.emit("replace", (old, value), (written,)).outputs[0]
        self.tensors[written] = tensor
        self.program.same_edge[written] = self.captured[id(tensor)][1]
        self._materialised[written] = self.hook_points[written] = self.materialise(old)
        self.rebind(variable, written)
        shares = tensor._sharing is not None
        self.guards.add(Guard(
            self.sources[self.captured[id(tensor)][1]], "{v}._sharing is " + ("not None" if shares else "None"), (),
            "with views" if shares else "without views", is_live=True))
        if shares:
            # Other tensors from outside may show what was written.
            self.tensors_may_change()
            self._read_at[id(tensor)] = self.epoch

    def tensor_of_number(self, number: ObjectVariable, dtype: Any) -> Variable:
        kind = number.value.kind
        if kind is None and is_floating(dtype):
            # Whatever number it is, the result has the dtype of the tensor.
            number = self.python_call(_checked_number, (number,), kind=float, effect=True)
        elif kind not in (int, float, bool, complex):
            raise TracingError(
                f"a tensor of a value that is known only when the Program runs ({number.value.name}): its shape and "
                "dtype are not known", user_location(), "Make the tensor outside, or use the random ops of d2s.",
            )
        return super().tensor_of_number(number, dtype)

    def to_tensor(self, data: Any, dtype: Any, stop_gradient: bool) -> Variable:
        if isinstance(data, ObjectVariable) and data.value.kind not in (int, float, bool, complex):
            raise TracingError(
                f"a tensor of a value that is known only when the Program runs ({data.value.name}): its shape and "
                "dtype are not known", user_location(), "Make the tensor outside, or use the random ops of d2s.",
            )
        return super().to_tensor(data, dtype, stop_gradient)

    def array_of(self, value: Value) -> Value:
        """The NumPy array of a value as Python object."""
        out = self.new_value("array", None, kind=np.ndarray)
        return self.emit("array_of", (value,), (out,)).outputs[0]

    # --- paths: decisions that Python needs now ----------------------------------------------------------------

    def decide(self, symbol: Variable | ObjectVariable) -> bool:
        """Answer ``bool(symbol)``: the trace goes on with True, and is repeated from the start of the region with
        False; the Program chooses when it runs."""
        path = self.path
        if path is None:
            return super().decide(symbol)
        test = self.truth_of(symbol)
        if len(path.tests) > MAX_PATHS:
            raise _too_many_decisions()
        index = path.cursor
        path.cursor += 1
        if index < len(path.tests):
            path.position += 1
        else:
            path.choices.append(True)
            path.tests.append(test)
            path.log.append(test)
            path.position = len(path.log)
            path.marks.append(path.position)
            path.blocks.append(Block())
        self._blocks.append(path.blocks[index + 1])
        return path.choices[index]

    @property
    def is_outermost(self) -> bool:
        """True outside of branches and loops of the Program."""
        return len(self._paths) == 1

    def follow_both_at(self, place: Location | None) -> bool:
        """Follow both paths at a branch from now on, without a trial; False if that is done already or cannot be."""
        if place is None or place in self.followed:
            return False
        self.followed.add(place)
        return True

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Trace the body of a ``try``."""
        self.attempts += 1
        try:
            yield
        finally:
            self.attempts -= 1

    def is_decided(self, test: Value) -> bool:
        """True if this replay has come to a place where `test` was decided."""
        path = self.path
        return path is not None and path.position < len(path.log) and path.log[path.position] is test

    def recall(self, value: Value) -> Value:
        """A value that is used again; in a replay, its operator is passed over if this is where it was emitted."""
        path = self.path
        if path is not None and path.position < len(path.log) and path.log[path.position] is self.definitions[value][0]:
            path.position += 1
        return value

    def emit_into(self, block: Block, operator: Operator) -> Operator:
        """Append an operator to a block around the current one."""
        path = next((path for path in self._paths if path is not None and any(block is b for b in path.blocks)), None)
        if path is not None:
            if path.position < len(path.log):
                return self._replayed(path, operator)
            path.log.append(operator)
            path.position = len(path.log)
        block.operators.append(operator)
        for output in operator.outputs:
            self.definitions[output] = (operator, block)
        return operator

    def _replayed(self, path: Path, operator: Operator) -> Operator:
        recorded = path.log[path.position]
        is_same = isinstance(recorded, Operator) and recorded.kind == operator.kind
        if not isinstance(recorded, Operator) or not is_same or len(recorded.outputs) < len(operator.outputs):
            raise ProgramError("the function does different things when it is traced again")
        path.position += 1
        return recorded

    def emit(
        self, kind: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], attrs: dict[str, Any] | None = None,
        op: Op | None = None, effect: bool = False, blocks: tuple[Block, ...] = (),
    ) -> Operator:
        if self.attempts and may_raise(kind, op, attrs or {}):
            raise UnsupportedSyntaxError(
                "what this does may raise when the Program runs, where the `try` around it cannot catch it",
                user_location(), "Do it before the `try`, or keep the function eager with @d2s.jit.not_to_static.",
            )
        path = self.path
        if path is None:
            return super().emit(kind, inputs, outputs, attrs, op, effect, blocks)
        if path.position < len(path.log):
            return self._replayed(path, Operator(kind, inputs, outputs))
        found = super().emit(kind, inputs, outputs, attrs, op, effect, blocks)
        path.log.append(found)
        path.position = len(path.log)
        return found

    @contextmanager
    def new_block(self, inputs: tuple[Value, ...] = ()) -> Iterator[Block]:
        # Inside, operators are recorded as they come; decisions there belong to a region of their own.
        self._paths.append(None)
        try:
            with super().new_block(inputs) as block:
                yield block
        finally:
            self._paths.pop()

    # --- lowering: what a Program has to make anew when it runs ------------------------------------------------

    def lower(self, tree: Any) -> Any:
        return self.lowering(tree)

    def py_layer(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``layer.apply(*args, **kwargs)`` of a PyLayer."""
        from d2s.operators.custom_ops import apply_py_layer

        return apply_py_layer(self, layer, args, kwargs)

    # --- state of the trace, for regions ------------------------------------------------------------------------

    def state_now(self) -> tuple[Any, ...]:
        """What a region may change of the tracer itself."""
        canonical = [(variable, variable.value) for _, variable in self._canonical.values()]
        return dict(self.pending), dict(self.dirty), canonical, dict(self.tensors), self.lowering.filled()

    def reset_state(self, before: tuple[Any, ...]) -> None:
        """Go back to an earlier `state_now`."""
        self.pending, self.dirty, tensors = dict(before[0]), dict(before[1]), before[3]
        self.lowering.set_filled(before[4])
        known = {id(variable): value for variable, value in before[2]}
        for tensor, variable in self._canonical.values():
            # A tensor that was met inside the region only is what it was when it was met.
            variable.value = known.get(id(variable), self.captured[id(tensor)][1])
        self.tensors = {**self.tensors, **tensors}

    def region(self, root: Block) -> AbstractContextManager[Path]:
        """Record into `root`, with decisions of its own."""
        if len(self._paths) > MAX_NESTING:
            raise UnsupportedSyntaxError(
                f"more than {MAX_NESTING} conditions inside of each other: a recursion whose end is known only when "
                "the Program runs cannot become a graph", user_location(), "Write it as a loop.",
            )
        return self._region(root)

    @contextmanager
    def _region(self, root: Block) -> Iterator[Path]:
        path = Path(root)
        self._paths.append(path)
        depth = len(self._blocks)
        try:
            yield path
        finally:
            del self._blocks[depth:]
            self._paths.pop()

    def enter_root(self, path: Path, depth: int) -> None:
        """Start (again) at the root block of a region."""
        del self._blocks[depth:]
        self._blocks.append(path.blocks[0])
        path.restart()

    def take_loop_state(self, after: tuple[Any, ...]) -> None:
        """Take over what a loop body did to the tracer; what each turn would have to carry is refused."""
        now = {id(variable): variable.value for _, variable in self._canonical.values()}
        for variable, value in after[2]:
            if now.get(id(variable), value) is not value and value in after[3]:
                raise UnsupportedSyntaxError(
                    "a tensor from outside is written inside a loop whose turns are known only when the Program runs",
                    user_location(), "Write to a local clone in the loop, and to the tensor after it.",
                )
        self.dirty.update(after[1])

    def learn_writes(self, after: tuple[Any, ...]) -> bool:
        """Before a loop whose body ends in state `after`: what it writes outside is read when the Program runs, in
        the body and behind it.  True if there is anything new: then the body has to be traced again."""
        written = {key: entry[1] for key, entry in after[0].items() if self.pending.get(key) is not entry}
        new = {**after[1], **written}
        if all(key in self.dirty and key not in self.pending for key in new):
            return False
        self.dirty.update(new)
        for key in written:
            self.pending.pop(key, None)
        return True

    @property
    def path(self) -> Path | None:
        """The path that is being followed, unless operators go to a block without decisions."""
        return self._paths[-1] if self._paths else None

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._blocks)

    def call_layer(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a Layer, from traced code or from a Layer that is not traced itself (a container)."""
        from d2s.operators import access
        from d2s.operators.calls import call

        self.remember(layer, Constant(layer))
        access.attr(self, layer, "forward")
        self.guard_layer(layer, policy.is_own(type(layer).forward.__code__))
        hooks = [hook.function for held in (layer._forward_pre_hooks, layer._forward_post_hooks)
                 for hook in held.values()]

        def called(function: Any, *inputs: Any, **named: Any) -> Any:
            result = call(function, *inputs, **named)
            if isinstance(result, ObjectVariable) and any(function is hook for hook in hooks):
                raise TracingError(
                    f"what the layer hook {getattr(function, '__qualname__', function)} returns is known only when the "
                    "Program runs: it cannot be told whether it replaces anything", user_location(),
                    "Return None or a tensor.",
                )
            return result

        return layer.call_traced(called, args, kwargs)

    def guard_layer(self, layer: Any, whole: bool) -> None:
        """Note what the trace depends on by using a Layer, or (`whole`) by running code of d2s on it."""
        for registry in REGISTRIES if whole else ():
            for name, tensor in layer.__dict__[registry].items():
                if tensor is not None:
                    self.read(Item(Attribute(Constant(layer), registry), name), tensor)
        state = layer_state(layer, whole)
        self.guards.add(Guard(
            Constant(layer), "same_state({v}, " + repr(whole) + ", {k0})", (state,), "its layers and hooks"))


# In `dirty`: everything may be another than it was.
_ANYTHING = "anything"


def _refuse_table() -> NoReturn:
    raise UnsupportedSyntaxError(
        "an object from outside is changed, and its __dict__ (or vars() of it) is used in the same call",
        user_location(), "Use the attributes by name: getattr and setattr.",
    )


class _Viewed(dict[Any, Any]):
    """A dict that can be watched: views of it keep it alive."""


def _refuse_tensors_as_keys(container: Any) -> None:
    if any(isinstance(key, TensorBase) for key in container):
        raise UnsupportedSyntaxError(
            "a dict or set from outside that has tensors as keys or members cannot be read in a graph",
            user_location(), "Use names or numbers as keys.",
        )


class _Expected:
    """A value that is compared with when the Program runs."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _check_unchanged(reader: Any, place: tuple[Any, ...], expected: Any, name: str) -> None:
    now = reader(*place)
    before = expected.value if isinstance(expected, _Expected) else expected
    if not same_thing(now, before):
        raise ExecutionError(
            f"{name} was changed by a call that is not traced, and is read after it in the same run",
            advice="Let the call return what it changes, or keep the whole function eager with @d2s.jit.not_to_static.",
        )


def _checked_number(number: Any) -> Any:
    if isinstance(number, int | float | np.floating | np.integer | np.bool_):
        return number
    raise ExecutionError(
        f"a {type(number).__name__} that is known only when the Program runs was combined with a tensor: only numbers "
        "can be", advice="Keep the function that makes it inside of the trace, or pass it as an argument.",
    )


def _too_many_decisions() -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"more than {MAX_PATHS} decisions in a row on values that are known only when the Program runs",
        user_location(), "Use tensor operators (where, masks), or write it as a `while` on a tensor.",
    )


def _show_retained(old: Any, new: Any) -> None:
    """Let the Tensor of a version that was written in place show the gradient retained of the version before."""
    if old._node is not None and new._node is not None:
        old._node.show_retained(old._index, new._node, new._index)


def _set_value(tensor: Any, array: Any) -> None:
    tensor.set_value(array)


def _key_of(key: Any) -> Any:
    """A dict key that keeps 1, 1.0 and True apart."""
    if isinstance(key, slice):
        return ("slice", key.start, key.stop, key.step)
    return (type(key), key) if isinstance(key, int | float | bool) else key


def _tells_places_apart(key: Any) -> bool:
    """True for a key that differs from others of its kind only if it means another place: no -1, no slice, no 1.0."""
    return type(key) is str or (type(key) is int and key >= 0)


def _length_guard(source: Source, thing: Any) -> Any:
    return Guard(source, "len({v}) == {k0}", (len(thing),), f"length {len(thing)}")


def _keys_guard(source: Source, thing: Any) -> Any:
    return Guard(source, "same_parts({v}, {k0})", (tuple(thing),), f"keys {list(thing)}")


def _members_guard(source: Source, thing: Any) -> Any:
    # In the order in which a loop meets them.
    return Guard(source, "same_parts({v}, {k0})", (tuple(thing),), f"{len(thing)} members")


def current_tracer() -> Tracer | None:
    """The tracer that is recording on this thread, if any."""
    current = state.current
    return current if isinstance(current, Tracer) else None


