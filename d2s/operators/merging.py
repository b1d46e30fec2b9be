"""Two paths that end alike become one: each thing that differs is merged into one value that the `cond` gives."""

from __future__ import annotations

import enum
from types import CellType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.operators import choices, stored
from d2s.operators.carried import BuiltForm, OpenForm, built_of, is_replaceable, joined
from d2s.operators.equality import is_plain, is_told_by_value, same_plain_value, same_value
from d2s.operators.heap import Heap, fields_of
from d2s.operators.open_items import OPENED, Elements, elements_of, held_items, is_open, new_open
from d2s.operators.outcomes import CannotMerge, Grown, OnOnePath, Outcome, other_names
from d2s.operators.sharing import note_all_sources, sharing_of
from d2s.operators.trace_state import TraceState
from d2s.operators.tracer import Tracer
from d2s.static.program import Block, Operator, Value
from d2s.static.runtime import MISSING
from d2s.static.variable import ObjectVariable, Variable


def merge_outcomes(
    tracer: Tracer, test: Value, first: tuple[Block, Outcome], second: tuple[Block, Outcome], before: Heap
) -> Outcome:
    """Emit the `cond` of two branches and describe the state after it.

    Raises
    ------
    CannotMerge
        If one branch ends in an exception, or the states differ in more than values.
    """
    (then, after_then), (orelse, after_orelse) = first, second
    for outcome in (after_then, after_orelse):
        if outcome.error is not None:
            raise CannotMerge(f"{type(outcome.error).__name__} on one path") from outcome.error
    merger = _Merger(tracer, (then, orelse), (after_then, after_orelse), before)
    state = merger.trace_state(after_then.state, after_orelse.state)
    result = merger.merge(after_then.result, after_orelse.result, "the result")
    changes: dict[int, tuple[Any, Any]] = {}
    # Tensors last: which of them there are is not the same in each replay.
    changed = dict.fromkeys((*after_then.changes, *after_orelse.changes))
    for key in sorted(changed, key=lambda key: isinstance(before.nodes[key], Variable)):
        node = before.nodes[key]
        old = before.contents[key]
        a = after_then.changes[key][1] if key in after_then.changes else old
        b = after_orelse.changes[key][1] if key in after_orelse.changes else old
        merger.replaced = old if isinstance(node, Variable) else None
        changes[key] = (node, merger.content(node, a, b, before.names.get(key, "a variable")))
    record = tracer.new_value("record", None)
    emitted = tracer.emit("cond", (test,), tuple(merger.outputs), {}, effect=True, blocks=(then, orelse))
    if emitted.record is None:
        emitted.record = record
        then.outputs, orelse.outputs = tuple(merger.then_values), tuple(merger.orelse_values)
        tracer.definitions[record] = (emitted, tracer.block)
    real = merger.resolve(emitted)
    for key, (node, content) in changes.items():
        if isinstance(node, Variable):
            changes[key] = (node, real.get(content, content))
    canonical = [(variable, real.get(value, value)) for variable, value in state.canonical]
    tensors = {real.get(value, value): tensor for value, tensor in state.tensors.items()}
    # Also for whoever looks at what a region leaves without going on behind it.
    tracer.tensors.update(tensors)
    return Outcome(result, changes, None, state._replace(canonical=canonical, tensors=tensors))


class _Merger:
    """Merges the values of two paths; collects what the `cond` has to give."""

    def __init__(
        self, tracer: Tracer, blocks: tuple[Block, Block], ends: tuple[Outcome, Outcome], before: Heap
    ) -> None:
        self.tracer = tracer
        self.before = before
        self.blocks = blocks
        self.ends = ends
        self.outputs: list[Value] = []
        # For each output the Value that it takes the place of, for what a Variable is.
        self.places: list[Value | None] = []
        self.replaced: Value | None = None
        self.then_values: list[Value] = []
        self.orelse_values: list[Value] = []
        self.made: dict[tuple[int, int], Any] = {}
        self.kept: list[Any] = []
        self.pairs: dict[Value, Any] = {}
        self.versions: dict[tuple[Value, Value], Value] = {}
        # Those of them that an untraced function of the user may have made.
        self.foreign: set[Value] = set()
        self.containers: dict[Value, Any] = {}

    def resolve(self, emitted: Operator) -> dict[Value, Value]:
        """Use the outputs that the operator really has (those of an earlier path, in a replay)."""
        real = self.tracer.real_outputs(emitted, self.outputs, self.places)
        for own, holder in self.pairs.items():
            holder.value = real.get(own, own)
            if own in self.tracer.elements:
                self.tracer.elements.add(holder.value)
            if own in self.foreign:
                self.tracer.foreign_results.add(holder)
        for own, made in self.containers.items():
            self.tracer.lowering.adopt(made, real.get(own, own))
        return real

    def trace_state(self, first: TraceState, second: TraceState) -> TraceState:
        """Pending effects and written tensors of two paths."""
        dirty = stored.joined(first.dirty, second.dirty)
        pending = {}
        for key in dict.fromkeys((*first.pending, *second.pending)):
            one, two = first.pending.get(key), second.pending.get(key)
            if one is None or two is None:
                if key in first.dirty and key in second.dirty:
                    # Whoever reads it asks the place when the Program runs.
                    continue
                raise OnOnePath(key, (first if two is None else second).pending[key])
            if one is two:
                pending[key] = one
                continue
            pending[key] = (self.merge(stored.content_at(one), stored.content_at(two), str(key[2])), one[1])
        canonical: list[tuple[Variable, Value]] = []
        tensors = {**first.tensors, **second.tensors}
        # A tensor that only the second path has met is on the first what it was before; the second knows all.
        captured = self.tracer.captured
        values = {id(variable): captured[key][1] for key, (_, variable) in self.tracer.canonical.items()}
        values |= {id(variable): value for variable, value in first.canonical}
        for variable, value in second.canonical:
            merged = self._version(values[id(variable)], value)
            canonical.append((variable, merged))
            if values[id(variable)] in tensors:
                tensors[merged] = tensors[values[id(variable)]]
        # What an object of the Program was filled with last, where both paths agree on it.
        filled = {key: template for key, template in first.filled.items() if second.filled.get(key) is template}
        if first.grad_mode is not second.grad_mode:
            raise CannotMerge("grad mode is on behind one path and off behind the other")
        if not first.layer_hooks.agrees(second.layer_hooks):
            raise CannotMerge("a Layer has other hooks behind one path than behind the other")
        hooks = first.layer_hooks if first.layer_hooks.in_doubt else second.layer_hooks
        freshness, handed_out = (first.freshness.joined(second.freshness), first.handed_out.joined(second.handed_out))
        return TraceState(
            pending, dirty, canonical, tensors, filled, freshness, first.grad_mode, hooks, handed_out)

    def content(self, node: Any, a: Any, b: Any, name: str) -> Any:
        """Content of a mutable object after two paths."""
        if isinstance(node, CellType):
            return self.merge(a, b, name)
        if isinstance(node, Variable):
            return self._version(a, b)
        if type(node) in OPENED and (held_items(a) is None) != (held_items(b) is None):
            raise Grown(node, f"a {type(node).__name__} is one of the run on one path only")
        if isinstance(a, dict):
            if list(a) != list(b):
                raise _other_places(node, other_names(node, a, b, "on one path"))
            return {key: self.merge(a[key], b[key], str(key)) for key in a}
        if isinstance(node, set):
            if a == b:
                return a
            raise _other_places(node, "a set has different members")
        if len(a) != len(b):
            raise _other_places(node, f"a {type(node).__name__} has different lengths")
        return type(a)(self.merge(x, y, "an element") for x, y in zip(a, b, strict=True))

    def merge(self, a: Any, b: Any, what: str) -> Any:
        """One object for the value `a` of the first path and `b` of the second."""
        if a is b:
            return a
        known = self.made.get((id(a), id(b)))
        if known is None:
            known = self._merge(a, b, what)
            self.made[(id(a), id(b))] = known
            self.kept += [a, b]
        return known

    def _merge(self, a: Any, b: Any, what: str) -> Any:
        if self.tracer.is_of_any_kind(what):
            return self._of_any_kind(a, b, what)
        if a is MISSING or b is MISSING:
            return self._with_missing(a, b, what)
        if isinstance(a, TensorBase) and isinstance(b, TensorBase):
            first, second = self.tensor_value(a, 0), self.tensor_value(b, 1)
            if choices.joined_spec(first, second) is None:
                raise CannotMerge(f"{what} is {self._shown(a)} on one path and {self._shown(b)} on the other", what)
            merged = Variable(self.tracer, self.value(first, second, first.name))
            note_all_sources(merged, [self.variable(a), self.variable(b)])
            return self._holder(merged)
        if isinstance(a, TensorBase) or isinstance(b, TensorBase):
            return self._truth_of_tensor(a, b, what)
        if isinstance(a, ObjectVariable) or isinstance(b, ObjectVariable) or self._are_numbers(a, b) or (
                self.tracer.in_loop > 0 and _are_of_several_kinds_or_texts(a, b)):
            return self._objects(a, b, what)
        if type(a) is type(b) and type(a) in OPENED and self.tracer.in_loop and (is_open(a) or is_open(b)):
            for side, block in zip((a, b), self.blocks, strict=True):
                if not is_open(side):
                    self._open(side, block, what)
            values = map(self.tracer.lowering.container_of_run, (a, b))
            return self._container(what, _elements_of_either(a, b, what), *values)
        if type(a) is type(b):
            if isinstance(a, list | dict) and any(map(self.is_older, (a, b))):
                # It is one of two objects, not a new one.
                raise CannotMerge(f"{what} is one {type(a).__name__} on one path and another on the other")
            if isinstance(a, tuple | list) and len(a) == len(b):
                parts = [self.merge(x, y, what) for x, y in zip(a, b, strict=True)]
                return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
            if type(a) is dict and list(a) == list(b):
                return {key: self.merge(a[key], b[key], f"{what}[{key!r}]") for key in a}
            if same_plain_value(a, b):
                return a
            if self.tracer.in_loop and self._are_alike(a, b):
                return self._instance(a, b, what)
        raise CannotMerge(f"{what} is {self._shown(a)} on one path and {self._shown(b)} on the other", what)

    def _are_alike(self, a: Any, b: Any) -> bool:
        """True for two objects of a user's class, made by this call, with the same attributes."""
        return all(self.tracer.is_made(part) and is_replaceable(part) for part in (a, b)) and (
            list(fields_of(a)) == list(fields_of(b)))

    def _instance(self, a: Any, b: Any, what: str) -> Any:
        """One object for two: neither may be changed, nor asked which one it is, any more."""
        pairs = zip(fields_of(a).items(), fields_of(b).values(), strict=True)
        held = [self.merge(first, second, f"{what}.{name}") for (name, first), second in pairs]
        for part in (a, b):
            self.tracer.freeze(part, True)
        form = BuiltForm(type(a), tuple(fields_of(a)), ())
        made = built_of(self.tracer, form, held)
        self.tracer.freeze(made, True)
        return made

    def _open(self, thing: Any, block: Block, what: str) -> None:
        """Make a container that one path has made, or found, one of the run."""
        if self.is_older(thing):
            raise Grown(thing, f"{what} is a {type(thing).__name__} of the run on one path only")
        from d2s.operators.open_elements import open_up

        with self.tracer.recording_into(block):
            open_up(self.tracer, thing)

    def tensor_value(self, tensor: Any, path: int) -> Value:
        """The Value of a tensor at the end of a path."""
        return self.ends[path].value_of(self.variable(tensor))

    def variable(self, tensor: Any) -> Variable:
        return tensor if isinstance(tensor, Variable) else self.tracer.lift(tensor)

    def is_older(self, thing: Any) -> bool:
        """True for an object that was there before the branches."""
        return self.before.holds(thing) or self.tracer.is_outer(thing)

    def _are_numbers(self, a: Any, b: Any) -> bool:
        return type(a) is type(b) and type(a) in (int, float, bool) and not same_value(a, b)

    def _truth_of_tensor(self, a: Any, b: Any, what: str) -> Any:
        """A Python bool and a one-element bool tensor: only their truth matters in the test of a loop."""
        tensor, other = (a, b) if isinstance(a, TensorBase) else (b, a)
        kind = other.value.kind if isinstance(other, ObjectVariable) else type(other)
        if not self.tracer.in_test or kind is not bool or self.variable(tensor).dtype != np.dtype(bool):
            raise CannotMerge(f"{what} is {self._shown(a)} on one path and {self._shown(b)} on the other", what)
        position = 0 if tensor is a else 1
        out = self.tracer.new_value("item", None, kind=bool)
        block = self.blocks[position]
        added = Operator("item", (self.tensor_value(tensor, position),), (out,), {"index": (), "use": "bool()"})
        block.operators.append(added)
        self.tracer.definitions[out] = (added, block)
        item = ObjectVariable(self.tracer, out)
        return self._objects(item, b, what) if position == 0 else self._objects(a, item, what)

    def _objects(self, a: Any, b: Any, what: str) -> Any:
        kinds = {part.value.kind if isinstance(part, ObjectVariable) else type(part) for part in (a, b)}
        # No turn of a loop can be taken apart: there a number or None is an object of some kind.
        alike = len(kinds) == 1 or (self.tracer.in_loop > 0 and kinds <= {int, float, bool, type(None), None})
        if not alike or not all(isinstance(p, ObjectVariable) or self._is_number(p) for p in (a, b)):
            raise CannotMerge(f"{what} is {self._shown(a)} on one path and {self._shown(b)} on the other", what)
        names = [part.value.maybe_missing for part in (a, b) if isinstance(part, ObjectVariable)]
        missing = next(filter(None, names), None)
        kind = kinds.pop() if len(kinds) == 1 else None
        out = self.tracer.new_value(_base_name(a, b), None, kind=kind, maybe_missing=missing)
        self._give(out, self._object_value(a), self._object_value(b))
        return self._holder(ObjectVariable(self.tracer, out), a, b)

    def _of_any_kind(self, a: Any, b: Any, what: str) -> Any:
        """An object that only the run knows, whatever it is on the two paths."""
        names = [part.value.maybe_missing for part in (a, b) if isinstance(part, ObjectVariable | Variable)]
        missing = what if a is MISSING or b is MISSING else next(filter(None, names), None)
        kinds = {part.value.kind if isinstance(part, ObjectVariable) else type(part) for part in (a, b)}
        kind = kinds.pop() if len(kinds) == 1 and not isinstance(a, TensorBase) else None
        out = self.tracer.new_value(what, None, kind=kind, maybe_missing=missing)
        self._give(out, *(self._any_value(part, path, what) for path, part in enumerate((a, b))))
        if any(isinstance(part, TensorBase | tuple) or (
                isinstance(part, ObjectVariable) and part.value in self.tracer.elements) for part in (a, b)):
            self.tracer.elements.add(out)
        if any(isinstance(part, tuple) for part in (a, b)):
            self.foreign.add(out)
        return self._holder(ObjectVariable(self.tracer, out), a, b)

    def _any_value(self, part: Any, path: int, what: str) -> Value:
        if part is MISSING or not isinstance(part, TensorBase | tuple):
            if isinstance(part, ObjectVariable) or part is MISSING or is_told_by_value(part):
                return self._object_value(part)
            raise CannotMerge(f"{what} is {self._shown(part)} on one path, and something else on the other")
        with self.tracer.recording_into(self.blocks[path]):
            return self.tracer.python_call(_itself, (self._at_end(part, path, what),), effect=True).value

    def _at_end(self, part: Any, path: int, what: str) -> Any:
        """A tensor or tuple as it is at the end of a path."""
        if isinstance(part, tuple):
            parts = [self._at_end(inner, path, what) for inner in part]
            return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)
        if isinstance(part, TensorBase):
            value = self.tensor_value(part, path)
            if value.maybe_missing is None and sharing_of(self.variable(part)) is None:
                return Variable(self.tracer, value)
        elif isinstance(part, ObjectVariable) or is_plain(part):
            return part
        raise CannotMerge(f"{what} is {self._shown(part)} on one path, and something else on the other")

    def _is_number(self, part: Any) -> bool:
        # No turn of a loop can be taken apart, so there any plain value becomes one of the run.
        return type(part) in (int, float, bool) or (self.tracer.in_loop > 0 and is_told_by_value(part))

    def _object_value(self, part: Any) -> Value:
        return part.value if isinstance(part, ObjectVariable) else self.tracer.constant(part)

    def _with_missing(self, a: Any, b: Any, what: str) -> Any:
        """A name bound on one path only: usable where it is bound, an error when the Program runs elsewhere."""
        present = b if a is MISSING else a
        nothing = self.tracer.constant(None)
        if isinstance(present, TensorBase):
            value = self.tensor_value(present, 1 if a is MISSING else 0)
            name = value.maybe_missing or what
            out = self.tracer.new_value(what, value.spec, value.stop_gradient, maybe_missing=name)
            self.tracer.note_chosen(out, (value,))
            self._give(out, *((nothing, value) if a is MISSING else (value, nothing)))
            merged = Variable(self.tracer, out)
            note_all_sources(merged, [self.variable(present)])
            return self._holder(merged)
        if is_open(present) and self.tracer.in_loop:
            nothing, value = self.tracer.constant(MISSING), self.tracer.lowering.container_of_run(present)
            sides = (nothing, value) if a is MISSING else (value, nothing)
            return self._container(what, elements_of(present), *sides)
        if type(present) is list and self.before.holds(present) and self.tracer.in_loop:
            raise Grown(present, f"{what} is bound on one path only")
        if isinstance(present, tuple | list) and present and self.tracer.in_loop:
            # Reading the name reads its parts: each is checked.
            pairs = ((MISSING, part) if a is MISSING else (part, MISSING) for part in present)
            parts = [self._with_missing(x, y, what) for x, y in pairs]
            return type(present)(*parts) if hasattr(present, "_fields") else type(present)(parts)
        kind = present.value.kind if isinstance(present, ObjectVariable) else type(present)
        if not self.tracer.in_loop or not (isinstance(present, ObjectVariable) or is_told_by_value(present)):
            # Outside of loops both paths are followed, each with what it knows.
            raise CannotMerge(f"{what} is bound on one path only", what)
        out = self.tracer.new_value(what, None, kind=kind, maybe_missing=what)
        nothing = self.tracer.constant(MISSING)
        value = self._object_value(present)
        self._give(out, *((nothing, value) if a is MISSING else (value, nothing)))
        return self._holder(ObjectVariable(self.tracer, out), present)

    def value(self, a: Value, b: Value, what: str) -> Value:
        """One Value for two tensor Values."""
        if a is b:
            return a
        spec = choices.joined_spec(a, b)
        if spec is None:
            raise CannotMerge(f"{what} is {a.spec} on one path and {b.spec} on the other")
        missing = a.maybe_missing or b.maybe_missing
        out = self.tracer.new_value(what, spec, a.stop_gradient and b.stop_gradient, maybe_missing=missing)
        self.tracer.note_chosen(out, (a, b))
        self._give(out, a, b)
        return out

    def _version(self, a: Value, b: Value) -> Value:
        """The same for what one Variable is on two paths: however it is come upon, behind them it is one Value."""
        found = self.versions.get((a, b))
        if found is None:
            found = self.versions[a, b] = self.value(a, b, a.name)
        return found

    def _container(self, what: str, elements: Elements, a: Value, b: Value) -> Any:
        """The container of the run that is one of two."""
        out = self.tracer.new_value(what, None, kind=elements.cls)
        self._give(out, a, b)
        made = self.containers[out] = new_open(self.tracer, out, elements)
        return made

    def _give(self, out: Value, a: Value, b: Value) -> None:
        self.outputs.append(out)
        self.places.append(self.replaced)
        self.then_values.append(a)
        self.orelse_values.append(b)

    def _shown(self, part: Any) -> str:
        """What an object is, and where it comes from, if the run makes it."""
        made = self.tracer.definitions.get(part.value) if isinstance(part, Variable | ObjectVariable) else None
        place = made[0].location if made is not None else None
        return _shown(part) if place is None else f"{_shown(part)} (line {place.line})"

    def _holder(self, symbol: Any, *sources: Any) -> Any:
        self.pairs[symbol.value] = symbol
        if any(map(self.tracer.foreign_results.is_one, sources)):
            self.foreign.add(symbol.value)
        return symbol


def _itself(thing: Any) -> Any:
    return thing


def _elements_of_either(a: Any, b: Any, what: str) -> Elements:
    """What is known of the elements of a container of the run that is one of two."""
    first, second = elements_of(a), elements_of(b)
    if first is second:
        return first
    form = joined(OpenForm(first), OpenForm(second), what, True)
    assert isinstance(form, OpenForm)
    for elements in (first, second):
        for tensor in elements.tensors():
            form.elements.note(tensor)
    return form.elements


def _other_places(node: Any, text: str) -> CannotMerge:
    return Grown(node, text) if type(node) in OPENED else CannotMerge(text)


def _are_of_several_kinds_or_texts(a: Any, b: Any) -> bool:
    """True for numbers of two types, or None; and for two texts or members of one enum."""
    if type(a) is not type(b):
        return {type(a), type(b)} <= {int, float, bool, type(None)}
    return isinstance(a, enum.Enum) or (type(a) in (str, bytes) and not same_value(a, b))


def _base_name(a: Any, b: Any) -> str:
    for part in (a, b):
        if isinstance(part, ObjectVariable):
            return part.value.name
    return "number"


def _shown(part: Any) -> str:
    if isinstance(part, TensorBase):
        return str(part.spec)  # type: ignore[attr-defined]
    if isinstance(part, ObjectVariable):
        return "an object" if part.value.kind is None else f"a {part.value.kind.__name__}"
    return repr(part) if type(part) in (int, float, str, bool, type(None)) else type(part).__name__


__all__ = ["merge_outcomes"]
