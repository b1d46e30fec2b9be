"""Which values of a Program become Tensor objects when it runs: the part of the static interpreter that makes them."""

from __future__ import annotations

from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.static.hook_points import HookPoints
from d2s.static.program import Block, Value
from d2s.static.variable import ObjectVariable, Variable


class TensorObjects(HookPoints):
    """Makes the Tensor objects of values.

    Attributes
    ----------
    left : set of Value
        Values that have, or may have, become Tensor objects.
    """

    left: set[Value]

    @property
    def block(self) -> Block:
        """The block that operators go to now."""
        raise NotImplementedError

    def in_scope(self, value: Value) -> bool:
        """True if `value` is defined in a block around the current place."""
        raise NotImplementedError

    def object_value(self, symbol: ObjectVariable) -> Value:
        """The value of a symbolic object, checked as in `bound`."""
        raise NotImplementedError

    def named(self, variable: Variable) -> Value:
        """The value of a variable whose Tensor is wanted, not its values."""
        return self.bound(variable)

    def lower(self, tree: Any) -> Any:
        """A template of Values from which the Program makes `tree` when it runs."""
        if isinstance(tree, Variable):
            return self.materialise(self.named(tree))
        if isinstance(tree, ObjectVariable):
            return self.object_value(tree)
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return type(tree)(*(self.lower(part) for part in tree))
        if type(tree) in (list, tuple):
            return type(tree)(self.lower(part) for part in tree)
        if type(tree) is dict:
            return {key: self.lower(part) for key, part in tree.items()}
        if type(tree) is slice:
            return slice(self.lower(tree.start), self.lower(tree.stop), self.lower(tree.step))
        return tree

    def materialise(self, value: Value) -> Value:
        """The Tensor object of a value, made when the Program runs; outer tensors are those objects themselves."""
        found = self._materialised.get(value)
        if found is not None and self.in_scope(found):
            self.recall(found)
        else:
            first = self._before_writes(value)
            if self.is_merged(first) or value in self.may_stop or not self._is_of_this_block(first):
                # It may have a Tensor already: its source's, or one made on another path or in another turn.
                self.hook_point(value)
            found = self.new_value(f"{value.name}@TENSOR", None, kind=TensorBase)
            found = self.emit("materialise", (value,), (found,)).outputs[0]
            self._materialised[value] = found
        if not self.is_outer(value) and self.definitions[found][0].kind == "materialise":
            # Also when it was found: in a replay the Tensor is made at this place.
            self.note_left(value)
        return found

    def note_left(self, value: Value) -> None:
        """Note that a value is a Tensor, or may be, with all that it may be."""
        stack = [value]
        while stack:
            value = stack.pop()
            if value in self.left or value.is_constant or self.is_outer(value):
                continue
            self.left.add(value)
            operator = self.definitions[value][0] if value in self.definitions else None
            if operator is None or operator.kind not in ("cond", "while"):
                continue
            place = operator.outputs.index(value)
            blocks = operator.blocks if operator.kind == "cond" else operator.blocks[1:]
            stack += [block.outputs[place] for block in blocks if block.outputs]
            if operator.kind == "while":
                stack.append(operator.inputs[place])

    def recall(self, value: Value) -> Value:
        """A value that is used again."""
        return value

    def _is_of_this_block(self, value: Value) -> bool:
        defined = self.definitions.get(value)
        if defined is None:
            return not any(value in inputs for inputs in self.turn_inputs)
        return defined[1] is self.block

    def _before_writes(self, value: Value) -> Value:
        """What a tensor was before the writes that have left its history."""
        while (found := self.definitions.get(value)) is not None and found[0].kind == "replace":
            value = found[0].inputs[0]
        return value

    def is_merged(self, value: Value) -> bool:
        """True for a value that control flow chose among several, also behind writes that have left its history."""
        found = self.definitions.get(self._before_writes(value))
        return found is not None and found[0].kind in ("cond", "while", "check_bound")
