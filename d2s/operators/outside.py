"""What a trace reads of objects and tensors that are older than the call: each read becomes a guard or an input."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import BuiltinMethodType, CellType, MethodType, ModuleType
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.core.op import Op
from d2s.core.spec import TensorSpec
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.equality import holds_itself, is_plain
from d2s.operators.foreign_writes import check_current, note_read_inside
from d2s.operators.guards import (
    Guard,
    GuardSet,
    class_guard,
    guard_for,
    is_known_by_identity,
    is_layer,
    lookup,
    tensor_guard,
)
from d2s.operators.recorder import PathRecorder
from d2s.operators.risks import may_not_fit
from d2s.operators.run_time import Expected, Reading, check_unchanged
from d2s.operators.sizes import OpenSizes
from d2s.operators.sources import Argument, Attribute, Cell, Constant, Global, Item, Source
from d2s.static.program import Block, Operator, Program, Value
from d2s.static.variable import ObjectVariable, Variable

# Set for classes whose attributes can be set: those of a `class` statement.
MUTABLE_CLASS = 1 << 9
_BOUND = (MethodType, BuiltinMethodType)

# In `dirty`: everything may be another than it was.
_ANYTHING = "anything"


@dataclass(frozen=True)
class Freshness:
    """How much of what was read before calls that may have changed anything has been read again.

    Attributes
    ----------
    epoch : int
        Counts these calls along one path.
    read_at : dict
        The epoch in which the values of a tensor were read last, by its identity: 0 for those that are not here,
        less where a turn may have written to it since.
    checked : frozenset
        What was checked to be unchanged, by path and epoch.
    stored_at : dict
        The epoch in which the trace has stored something at a place of an older object, or looked at it again.
    """

    epoch: int
    read_at: dict[int, int]
    checked: frozenset[tuple[Any, ...]]
    stored_at: dict[Any, int]

    def joined(self, other: Freshness) -> Freshness:
        """What holds behind two paths, whichever was taken."""
        either = self.read_at.keys() | other.read_at.keys()
        return Freshness(
            max(self.epoch, other.epoch),
            {key: min(self.read_at.get(key, 0), other.read_at.get(key, 0)) for key in either},
            self.checked & other.checked,
            {
                place: min(self.stored_at.get(place, epoch), other.stored_at.get(place, epoch))
                for place, epoch in (self.stored_at | other.stored_at).items()})


class OutsideReader(PathRecorder):
    """Reads objects that are older than the call.

    Attributes
    ----------
    guards : GuardSet
        Under which conditions the Program may be used again.
    numbers : frozenset
        Identities of paths at which Python numbers change from call to call: they are read on each run.
    sizes : OpenSizes
        Which sizes of tensors from outside change from call to call.
    sources : dict of Value to Source
        Where the inputs of the Program are found on each call.
    tensors : dict of Value to Tensor
        The tensors from outside, by what stands for their values now.
    origins : dict
        The older objects met, by identity, with the path of each.
    outside_cells : dict
        The variables of functions around, by identity.
    dirty : dict
        What is known only when the Program runs: whole objects by identity, and single places.
    epoch : int
        Counts the calls that may have written to tensors from outside: those are read again at their next use.
    frozen : list
        Objects whose identity the Program depends on.
    canonical : dict
        The Variables of tensors from outside, with these, by their identity.
    """

    # Values of tensors from outside belong to the run, not to the trace.
    reads_later = True

    def __init__(
        self, program: Program, numbers: frozenset[tuple[Any, ...]] = frozenset(),
        sizes: OpenSizes | None = None,
    ) -> None:
        super().__init__(program)
        self.guards = GuardSet()
        self.numbers = numbers
        self.sizes = OpenSizes() if sizes is None else sizes
        self.sources: dict[Value, Source] = {}
        self.tensors: dict[Value, Any] = {}
        self.origins: dict[int, tuple[Any, Source]] = {}
        self.outside_cells: dict[int, CellType] = {}
        self.dirty: dict[Any, Any] = {}
        self.epoch = 0
        self.frozen: list[Any] = []
        # What was made while tracing, and belongs to this call only.
        self.of_this_call: dict[int, Any] = {}
        # Objects of the user's classes that the traced code has made.
        self._made: dict[int, Any] = {}
        self._seen: dict[tuple[Any, ...], Any] = {}
        self._checked: set[tuple[Any, ...]] = set()
        self._number_inputs: dict[tuple[Any, ...], ObjectVariable] = {}
        self._object_inputs: dict[int, Value] = {}
        self.canonical: dict[int, tuple[Any, Variable]] = {}
        self._read_at: dict[int, int] = {}
        self._stored_at: dict[Any, int] = {}
        self._left_at: dict[Value, int] = {}
        # Lists that a run fills with what branches and turns read of tensors from outside, by their identity.
        self.reads_inside: dict[int, Value] = {}
        # The epoch in which values were made, where that is not the first.
        self._made_at: dict[Value, int] = {}
        # What was made here and given to somebody outside, who sees later writes to it.

    @property
    def freshness(self) -> Freshness:
        """How fresh is what was read."""
        return Freshness(self.epoch, dict(self._read_at), frozenset(self._checked), dict(self._stored_at))

    @freshness.setter
    def freshness(self, known: Freshness) -> None:
        self.epoch, self._read_at, self._checked = known.epoch, dict(known.read_at), set(known.checked)
        self._stored_at = dict(known.stored_at)

    # --- objects -------------------------------------------------------------------------------------------------

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
        place = source.identity
        if type(value) in (int, float) and place in self.numbers:
            value = self._number_input(source, value)
        if again and not isinstance(value, ModuleType):
            self.check_still(place, again[0], again[1:], value, str(source))
        if isinstance(value, Variable | ObjectVariable):
            return value
        if place in self._seen and self._seen[place] is value:
            return self.lift(value) if isinstance(value, TensorBase) else value
        self._seen[place] = value
        if isinstance(value, TensorBase):
            self._guard_tensor(source, value)
            if id(value) in self.canonical:
                self._note_same(source, self.sources[self.captured[id(value)][1]])
            return self.lift(value, source)
        guard = guard_for(source, value)
        if guard is not None and _is_own_attribute(source):
            # Code that writes past the attributes of a Layer, to its `__dict__`, does not tell.
            guard = guard.made_live()
        self.guards.add(guard)
        if not is_plain(value):
            if isinstance(value, list | tuple | dict | deque) and holds_itself(value):
                raise UnsupportedSyntaxError(
                    f"{source} holds itself, and cannot be followed in a graph", user_location(),
                    "Keep it in an attribute of an object of your own.", kind="U36")
            self.remember(value, source)
        return value

    def require(self, guard: Guard, thing: Any) -> None:
        """Note that the trace depends on a condition on `thing`, which is at the path of `guard`."""
        self.guards.add(guard)
        identity = (*guard.source.identity, guard.template, guard.shown)
        self.check_still(identity, guard.checker(), (thing,), True, str(guard.source))

    def check_still(
        self, identity: tuple[Any, ...], reader: Any, place: tuple[Any, ...], value: Any, name: str
    ) -> None:
        """Behind a call that may have changed anything: have the run check that ``reader(*place)`` is still `value`."""
        if _ANYTHING not in self.dirty or (identity, self.epoch) in self._checked:
            return
        self._checked.add((identity, self.epoch))
        expected = value if isinstance(value, TensorBase | ObjectVariable) else Expected(value)
        if len(place) == 1 and isinstance(place[0], dict) and isinstance(self.source_of(place[0]), Constant | None):
            # All that a module holds, perhaps: nobody has to look for tensors in it.
            reader, place = Reading(reader, place[0]), ()
        # It does nothing to anything: no effect that anyone could ask about.
        self.python_call(check_unchanged, (reader, place, expected, name), effect=True)

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

    def remember(self, value: Any, source: Source) -> None:
        """Register an older object under its path; the first path stands."""
        # Guarded by identity: attributes are read from the object itself, whatever path led to it.
        place = source if source.by_type and not is_known_by_identity(value) else Constant(value)
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

    # --- classes -------------------------------------------------------------------------------------------------

    def guard_held(self, cls: type, name: str) -> None:
        """Note that the trace depends on what a class gives under `name`."""
        if cls.__flags__ & MUTABLE_CLASS:
            self.guards.add(class_guard(cls, name))
            self.check_still(
                ("class", id(cls), name), lookup, (cls, name), lookup(cls, name), f"{cls.__qualname__}.{name}")

    def guard_class(self, thing: Any, name: str) -> None:
        """Note that the trace depends on the class of `thing`, and on what `name` means there."""
        self.guard_type(thing)
        self.guard_held(type(thing), name)

    def guard_type(self, thing: Any) -> None:
        """Note that the trace depends on the class of an older object, if there may be another one in its place."""
        cls = type(thing)
        source = self.source_of(thing)
        if source is not None and (source.by_type or cls.__flags__ & MUTABLE_CLASS):
            self.require(Guard(source, "type({v}) is {k0}", (cls,), cls.__qualname__), thing)

    # --- tensors -------------------------------------------------------------------------------------------------

    def lift(self, tensor: Any, source: Source | None = None) -> Variable:
        """The Variable that stands for an eager tensor; always the same one, so `is` and in-place writes work."""
        found = self.canonical.get(id(tensor))
        if found is not None:
            return found[1]
        if isinstance(tensor, Variable):
            return tensor
        name = self._input_name(source, tensor)
        if source is None:
            # Reached by code that is not traced: it is what it is as long as the Layers are unchanged.
            source = Constant(tensor)
            self._guard_tensor(source, tensor)
        value = self.new_value(name, self.sizes.opened(source, tensor.spec), tensor.stop_gradient)
        self.guards.add_object(source, tensor)
        self.captured[id(tensor)] = (tensor, value)
        self.sources[value] = source
        self.tensors[value] = tensor
        variable = Variable(self, value)
        # It is the same on all paths, also on those on which it is not met.
        variable.made_in = None
        self.canonical[id(tensor)] = (tensor, variable)
        return variable

    def _guard_tensor(self, source: Source, tensor: Any) -> None:
        self.guards.add(tensor_guard(source, tensor, self.sizes.open_axes(source, tensor.spec)))

    def _input_name(self, source: Source | None, tensor: Any) -> str:
        if isinstance(source, Argument | Attribute | Global | Cell):
            return source.name
        if isinstance(source, Item) and isinstance(source.key, str) and source.key.isidentifier():
            return source.key
        return self.name_of_capture(tensor)

    def outer_tensor(self, variable: Variable) -> Any | None:
        """The eager tensor that `variable` is, if it is one from outside and was not written to."""
        found = self.tensors.get(variable.value)
        if found is not None and self.canonical[id(found)][1] is variable:
            return found
        return None

    def bound(self, variable: Variable) -> Value:
        if self.epoch or self._read_at:
            tensor = self.tensors.get(variable.value)
            if tensor is None or self.canonical[id(tensor)][1] is not variable:
                if self.epoch:
                    self._check_current(variable)
            elif self._read_at.get(id(tensor), 0) < self.epoch:
                self._read_again(variable, tensor)
        return super().bound(variable)

    def named(self, variable: Variable) -> Value:
        value = variable.value
        if self.epoch and value not in self.tensors and self.as_found(
            f"has a Tensor: {value.name}", lambda: self.tensor_object(value) is None,
        ):
            # Once there is a Tensor, that shows what is written to it.
            self._check_current(variable, False)
        return super().bound(variable)

    def emit(
        self, kind: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], attrs: dict[str, Any] | None = None,
        op: Op | None = None, effect: bool = False, blocks: tuple[Block, ...] = (),
    ) -> Operator:
        found = super().emit(kind, inputs, outputs, attrs, op, effect, blocks)
        if self.epoch and not found.blocks:
            self._made_at.update(dict.fromkeys(found.outputs, self.epoch))
        return found

    def _check_current(self, variable: Variable, itself: bool = True) -> None:
        """Behind calls that may have written to any tensor: have the run check that they have not written to this."""
        value = variable.value
        if self._made_at.get(value, 0) < self.epoch and (value, self.epoch) not in self._checked:
            if itself:
                self._checked.add((value, self.epoch))
            check_current(self, variable, itself)  # type: ignore[arg-type]

    def tensor_object(self, value: Value) -> Value | None:
        """The Tensor object of a value, if the run has made it already at this place."""
        found = self._materialised.get(value)
        if found is None or not self.in_scope(found) or value.maybe_missing is not None:
            return None
        # In a replay it is known before it is made.
        is_made = self.definitions[found][0].kind != "materialise" or value in self.left or self.is_outer(value)
        return found if is_made else None

    def _read_again(self, variable: Variable, tensor: Any) -> None:
        """Read the values of a tensor from outside anew: something may have written to it."""
        self._read_at[id(tensor)] = self.epoch
        old = variable.value
        fresh = self.new_value(old.name, old.spec, old.stop_gradient)
        known: dict[str, Any] = {} if old in self.may_stop else {"stops": old.stop_gradient}
        fresh = self.emit("reload", (self.materialise(old),), (fresh,), known, effect=True).outputs[0]
        self.tensors[fresh] = tensor
        self.program.same_edge[fresh] = self.captured[id(tensor)][1]
        self._materialised[fresh] = self.materialise(old)
        self.hook_points[fresh] = self.materialise(old)
        self.note_version(fresh)
        self.rebind(variable, fresh)

    def read_later(self, tensors: Iterable[Any]) -> None:
        """Note that turns may have written to these tensors from outside: they are read again at their next use."""
        self._read_at.update((id(tensor), -1) for tensor in tensors)

    def note_left(self, value: Value) -> None:
        if value not in self.left:
            self._left_at[value] = self.epoch
        super().note_left(value)

    def is_left_before_calls(self, value: Value) -> bool:
        """True for what had left before the last call that may have written to tensors."""
        return self._left_at.get(value, 0) < self.epoch

    def goes_on(self, value: Value, tensor: Value) -> None:
        """Note that the Tensor of an older version of `value`, which has been read again, is its Tensor too."""
        self._materialised[value] = tensor
        self.left.add(value)
        self.note_version(value)

    def is_read_again(self, value: Value) -> bool:
        """True for the values of a tensor from outside that something else may have written to."""
        if value not in self.tensors:
            return False
        defined = self.definitions.get(value)
        if defined is None or defined[0].kind != "cond":
            return defined is None or defined[0].kind == "reload"
        place = defined[0].outputs.index(value)
        return all(self.is_read_again(block.outputs[place]) for block in defined[0].blocks)

    def note_version(self, value: Value) -> None:
        """Let the run note in which version a tensor from outside has these values."""
        version = self.new_value(f"{value.name}@VERSION", None, kind=tuple)
        tensor = self._materialised[value]
        self.program.versions[value] = self.emit("version", (tensor, value), (version,)).outputs[0]
        if value in self.tensors and self.block is not self.program.block:
            note_read_inside(self, value)  # type: ignore[arg-type]

    def tensors_may_change(self) -> None:
        """Note that what was just recorded may write to tensors from outside."""
        self.epoch += 1

    @property
    def may_have_changed(self) -> bool:
        """True if something has run that may have changed anything outside."""
        return _ANYTHING in self.dirty

    def anything_may_change(self) -> None:
        """Note that what was just recorded may change anything outside."""
        self.tensors_may_change()
        self.dirty[_ANYTHING] = _ANYTHING

    def later_calls_may_change(self) -> None:
        """The same of a call on an object of the run, if any such object may do it."""
        if _ANYTHING in self.dirty:
            self.tensors_may_change()

    # --- open sizes --------------------------------------------------------------------------------------------

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        if not self.sizes.any_open:
            return super().process(op, args, attrs)
        args = tuple(self.lift(arg) if isinstance(arg, TensorBase) else arg for arg in args)
        specs = [arg.spec for arg in args if isinstance(arg, Variable)]
        places = self.sizes.behind((*specs, *args, *_parts(tuple(attrs.values()))))
        if self.attempts and (attrs or may_not_fit(op, specs)):
            # Where it fits is to be known while tracing: the handler is traced too.
            self.sizes.need_values(places)
        try:
            result = super().process(op, args, attrs)
        except Exception:
            # The sizes themselves tell what is wrong.
            self.sizes.need_values(places)
            raise
        for part in result if isinstance(result, tuple) else (result,):
            self.sizes.note_spec(part.spec, places)
        return result

    def size_of(self, value: Value, axis: int) -> ObjectVariable:
        number = super().size_of(value, axis)
        assert value.spec is not None
        self.sizes.note_number(number, self.sizes.behind((TensorSpec((value.spec.shape[axis],), value.spec.dtype),)))
        return number

    def python_call(
        self, function: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None,
        kind: type | None = None, effect: bool = False,
    ) -> ObjectVariable:
        places = self.sizes.need_for_call(function, args)
        result = super().python_call(function, args, kwargs, kind, effect)
        if places:
            self.sizes.note_number(result, places)
        return result

    def truth_of(self, symbol: Variable | ObjectVariable, use: str = "bool()") -> Value:
        self.needed_by_python(symbol)
        return super().truth_of(symbol, use)

    def needed_by_python(self, *symbols: Any) -> None:
        self.sizes.need(self.sizes.behind(symbols))


def _is_own_attribute(source: Source) -> bool:
    """True for what a Layer holds besides parameters, buffers and sublayers."""
    if not isinstance(source, Attribute) or not isinstance(source.base, Constant):
        return False
    owner = source.base.value
    return is_layer(owner) and source.name in owner.__dict__


def _parts(tree: Any) -> Iterator[Any]:
    """What an attribute of an op is made of."""
    if isinstance(tree, list | tuple):
        for part in tree:
            yield from _parts(part)
    elif isinstance(tree, slice):
        yield from (tree.start, tree.stop, tree.step)
    else:
        yield tree
