"""Where a Program keeps the gradient hooks of its values: the half of the static interpreter that deals with hooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from d2s.core.hooks import RemovableHandle
from d2s.errors import DTypeError, ProgramError
from d2s.static.program import Block, Operator, Program, Value, rename_reads
from d2s.static.variable import Variable

# Operators whose result is the tensor that their input is, with its history and hooks.
ANOTHER_NAME = frozenset({"check_bound", "replace"})


class HookPoints:
    """Gives values their hook points.

    Attributes
    ----------
    hook_points : dict of Value to Value
        The object that holds the hooks of a value in a run, for the values that have one.
    may_stop : set of Value
        Values that require gradients in some runs and stop them in others, as control flow chooses.
    may_be_outer : set of Value
        Values that are tensors from outside, or leaves made in this run, in some runs.
    """

    program: Program
    definitions: dict[Value, tuple[Operator, Block]]
    captured: dict[int, tuple[Any, Value]]
    hook_points: dict[Value, Value]
    may_stop: set[Value]
    may_be_outer: set[Value]
    turn_inputs: Any
    _materialised: dict[Value, Value]

    def bound(self, variable: Variable) -> Value:
        """The value of a variable."""
        raise NotImplementedError

    def new_value(self, base: str, spec: Any, stop_gradient: bool = True, kind: type | None = None) -> Value:
        """A Value with a fresh name."""
        raise NotImplementedError

    def lower(self, tree: Any) -> Any:
        """A template of Values for `tree`."""
        raise NotImplementedError

    def emit(
        self, kind: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], attrs: dict[str, Any] | None = None,
        op: Any = None, effect: bool = False, blocks: tuple[Block, ...] = (),
    ) -> Operator:
        """Append an operator to the current block."""
        raise NotImplementedError

    def registration(self, variable: Variable, hook: Any) -> Value:
        """Record the registration of a gradient hook on the value that `variable` names; its handle."""
        if not callable(hook):
            raise DTypeError(f"a gradient hook must be callable, got {type(hook).__name__}")
        value = self.bound(variable)
        handle = self.new_value("handle", None, kind=RemovableHandle)
        template = self.lower(hook)
        emitted = self.emit(
            "register_hook", (self.hook_point(value),), (handle,),
            {"target": value.name, "hook": template}, effect=True,
        )
        return emitted.outputs[0]

    def hook_point(self, value: Value) -> Value:
        """The object that holds the hooks of `value` in a run: its HookList, or the outer Tensor itself.

        It is made where `value` is defined.  A value that control flow merged *is* one of its sources: its hook
        point is that of the source chosen in this run.
        """
        # A chain of sources may be longer than Python's stack is deep.
        stack = [value]
        while True:
            top = stack[-1]
            found = self.hook_points.get(top)
            missing = [] if found is not None else [
                source for source in self._sources_of_point(top)
                if source not in self.hook_points and not (source.is_constant and source.constant is None)]
            if missing:
                stack += missing
                continue
            if found is None:
                found = self._new_hook_point(top)
            stack.pop()
            if not stack:
                return found

    def _sources_of_point(self, value: Value) -> list[Value]:
        """The values whose hook points that of `value` is made from, but for what loops carry."""
        defined = self.definitions.get(value)
        if defined is None or defined[0].kind in ("while", "leaf"):
            return []
        definition, _ = defined
        if definition.kind == "cond":
            position = definition.outputs.index(value)
            return [inner.outputs[position] for inner in definition.blocks]
        return [definition.inputs[0]] if definition.kind in ANOTHER_NAME else self._deciding(value, definition)

    def _new_hook_point(self, value: Value) -> Value:
        point = self.new_value(f"{value.name}@HOOKS", None)
        defined = self.definitions.get(value)
        if defined is None:
            return self._hook_point_of_input(value, point)
        self.hook_points[value] = point
        definition, block = defined
        if definition.kind == "cond":
            position = definition.outputs.index(value)
            # Found first: that may give this region other points.
            points = [self.hook_point(inner.outputs[position]) for inner in definition.blocks]
            for inner, source in zip(definition.blocks, points, strict=True):
                inner.outputs += (source,)
            definition.outputs += (point,)
        elif definition.kind == "while":
            self.carry_hook_point(definition, definition.outputs.index(value), point)
        elif definition.kind == "leaf" or definition.kind in ANOTHER_NAME:
            source = self._materialised[value] if definition.kind == "leaf" else self.hook_point(definition.inputs[0])
            self.hook_points[value] = source
            return source
        else:
            deciding = map(self.hook_point, self._deciding(value, definition))
            added = Operator("hook_point", (value, *deciding), (point,), effect=True, location=definition.location)
            block.operators.insert(block.operators.index(definition) + 1, added)
            self.definitions[point] = (added, block)
            return point
        self.definitions[point] = (definition, block)
        return point

    def points_by_every_name(self) -> dict[Value, Value]:
        """The hook points, also under the names that a tensor has behind writes that have left its history."""
        for operator in self.program.all_operators():
            if operator.kind in ANOTHER_NAME and operator.inputs[0] in self.hook_points:
                self.hook_points.setdefault(operator.outputs[0], self.hook_points[operator.inputs[0]])
        return self.hook_points

    def _deciding(self, value: Value, definition: Operator) -> list[Value]:
        """What `value`, which stops gradients in some runs, does so with."""
        if value not in self.may_stop or definition.op is None:
            return []
        return list(dict.fromkeys(
            source for index, source in enumerate(definition.inputs)
            if not source.stop_gradient and definition.op.differentiates(index)))

    def note_chosen(self, chosen: Value, sources: Iterable[Value]) -> None:
        """Note that control flow chooses among `sources`: it may be from outside, or stop gradients, if one may."""
        sources = tuple(sources)
        if any(self.is_outer(source) or self.is_made_leaf(source) or source in self.may_be_outer for source in sources):
            self.may_be_outer.add(chosen)
        if not chosen.stop_gradient and any(
            source in self.may_stop or (source.stop_gradient and not (source.is_constant and source.constant is None))
            for source in sources
        ):
            self.may_stop.add(chosen)

    def is_made_leaf(self, value: Value) -> bool:
        """True for leaves that this run makes."""
        definition = self.definitions.get(value)
        return definition is not None and definition[0].kind == "leaf"

    def _hook_point_of_input(self, value: Value, point: Value) -> Value:
        """Hook point of a block's input: an outer tensor, or what a loop carries."""
        if value.is_constant and value.constant is None:
            # On this path the name is not bound.
            return value
        if value.is_constant or value in self.program.block.inputs or self.is_outer(value):
            # Registered on the outer Tensor itself; made at the top, so that it is in scope everywhere.
            top = self.program.block
            added = Operator("materialise", (value,), (point,))
            top.operators.insert(0, added)
            self.definitions[point] = (added, top)
            self.hook_points[value] = point
            return point
        if any(value in inputs for inputs in self.turn_inputs):
            # The loop is not there yet: it will carry this point.
            self.hook_points[value] = point
            return point
        for loop, _ in self._loops():
            body = loop.blocks[1]
            if value in body.inputs:
                position = body.inputs.index(value)
                self.hook_point(loop.outputs[position])
                return self.hook_points[value]
        raise ProgramError(f"{value.name} is not defined in {self.program.name}", kind="P03")

    def is_outer(self, value: Value) -> bool:
        """True for a tensor that came from outside: an argument or a captured tensor."""
        return any(held is value for _, held in self.captured.values())

    def _loops(self) -> Iterator[tuple[Operator, Block]]:
        for operator_, block in dict.fromkeys(self.definitions.values()):
            if operator_.kind == "while":
                yield operator_, block

    def carry_hook_point(self, loop: Operator, position: int, point: Value | None = None) -> None:
        """Let a loop carry the hook point of the value it carries at `position`."""
        test, body = loop.blocks
        value = body.inputs[position]
        inner = self.hook_points.setdefault(value, self.new_value(f"{value.name}@HOOKS", None))
        if point is None:
            point = self.hook_points[loop.outputs[position]] = self.new_value(f"{value.name}@HOOKS", None)
            self.definitions[point] = self.definitions[loop.outputs[position]]
        initial = self.hook_point(loop.inputs[position])
        loop.inputs += (initial,)
        loop.outputs += (point,)
        tested = self.new_value(f"{test.inputs[position].name}@HOOKS", None)
        rename_reads(test, {inner: tested})
        test.inputs += (tested,)
        body.inputs += (inner,)
        # Its own point may be that of another carried value, which then comes after this one.
        place = len(body.outputs)
        body.outputs += (inner,)
        found = self.hook_point(body.outputs[position])
        body.outputs = (*body.outputs[:place], found, *body.outputs[place + 1 :])
