"""Programs as data: what JSON can hold, and a list of arrays.  No code is stored."""

from __future__ import annotations

import dataclasses
import linecache
import math
import os
from typing import Any

import numpy as np

from d2s.core.spec import Dim, TensorSpec
from d2s.errors import D2SError, Location, ProgramError
from d2s.jit.stored_names import NAMES, TYPES, error_class
from d2s.static.program import Block, Operator, Program, Value


class Writer:
    """Turns Programs and nested Python values into data; arrays are collected in `arrays`."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._numbers: dict[Value, int] = {}
        self._values: list[Any] = []
        self._dims: dict[Dim, int] = {}
        self._location: Location | None = None

    def program(self, program: Program) -> dict[str, Any]:
        """A Program; its backward is derived again on reading."""
        self._numbers, self._values = {}, []
        positions = {operator: position for position, operator in enumerate(program.all_operators())}
        block = self._block(program.block)
        return {
            "name": program.name,
            "block": block,
            "same_edge": [[self._value(a), self._value(b)] for a, b in program.same_edge.items()],
            "versions": [[self._value(a), self._value(b)] for a, b in program.versions.items()],
            "writes": [
                [positions[operator], self._value(write.value),
                 None if write.kept is None else self._value(write.kept),
                 None if write.through is None else positions[write.through]]
                for operator, write in program.writes.items()],
            "values": self._values,
        }

    def array(self, array: Any) -> int:
        """The number under which an array is stored."""
        self.arrays.append(np.asarray(array))
        return len(self.arrays) - 1

    def spec(self, spec: TensorSpec) -> list[Any]:
        """Sizes, where a Dim is ``{"dim": number}``, and dtype."""
        sizes = [
            size if isinstance(size, int) else {"dim": self._dims.setdefault(size, len(self._dims))}
            for size in spec.shape
        ]
        return [sizes, spec.dtype.str]

    def tree(self, tree: Any) -> Any:
        """Nested containers with Values and constants in them.

        Raises
        ------
        ProgramError
            If something in it cannot be stored.
        """
        if tree is None or type(tree) in (bool, int, str):
            return tree
        if type(tree) is float:
            return tree if math.isfinite(tree) else {"float": repr(tree)}
        if isinstance(tree, Value):
            return {"value": self._value(tree)}
        if type(tree) is complex:
            return {"complex": [self.tree(tree.real), self.tree(tree.imag)]}
        if tree is Ellipsis:
            return {"ellipsis": True}
        if type(tree) in (list, tuple, set, frozenset):
            return {type(tree).__name__: [self.tree(part) for part in tree]}
        if type(tree) is dict:
            return {"dict": [[self.tree(key), self.tree(part)] for key, part in tree.items()]}
        if type(tree) is slice:
            return {"slice": [self.tree(part) for part in (tree.start, tree.stop, tree.step)]}
        if isinstance(tree, np.dtype):
            return {"dtype": tree.str}
        if isinstance(tree, np.ndarray | np.generic) and tree.dtype.kind in "biufc":
            return {"array" if isinstance(tree, np.ndarray) else "scalar": self.array(tree)}
        return self._named(tree)

    def _named(self, thing: Any) -> Any:
        cls = type(thing)
        if cls.__hash__ is not None and thing in NAMES:
            return {"function": NAMES[thing]}
        if isinstance(thing, type) and TYPES.get(thing.__name__) is thing:
            return {"type": thing.__name__}
        if isinstance(thing, BaseException) and error_class(cls.__name__) is cls:
            return {"error": [cls.__name__, [self.tree(part) for part in _arguments_of(thing)]]}
        if dataclasses.is_dataclass(thing) and cls.__module__.startswith("d2s.ops."):
            fields = {field.name: self.tree(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
            return {"record": [cls.__module__, cls.__qualname__, fields]}
        what = getattr(thing, "__qualname__", None) or f"an object of {cls.__qualname__}"
        raise ProgramError(
            f"a saved Program cannot hold {what}", self._location,
            "Only tensors, numbers, strings and containers of these can be saved, and calls of operators, math and "
            "builtins; keep anything else out of forward().",
            kind="P08",
        )

    def _value(self, value: Value) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._values)
            self._values.append(None)
            self._values[number] = {
                "name": value.name,
                "spec": None if value.spec is None else self.spec(value.spec),
                "stop_gradient": value.stop_gradient,
                "kind": value.kind.__name__ if value.kind is not None and value.kind.__name__ in TYPES else None,
                "maybe_missing": value.maybe_missing,
                **({"constant": self.tree(value.constant)} if value.is_constant else {}),
            }
        return number

    def _block(self, block: Block) -> dict[str, Any]:
        return {
            "inputs": [self._value(value) for value in block.inputs],
            "operators": [self._operator(operator) for operator in block.operators],
            "outputs": [self._value(value) for value in block.outputs],
        }

    def _operator(self, found: Operator) -> dict[str, Any]:
        self._location = found.location
        if found.kind in ("py_func", "py_layer", "backward", "walk"):
            raise ProgramError(f"a saved Program cannot hold {found.kind}", found.location,
                               "It runs Python code of yours, which is not saved.", kind="P08")
        return {
            "kind": found.kind,
            "inputs": [self._value(value) for value in found.inputs],
            "outputs": [self._value(value) for value in found.outputs],
            "attrs": [[name, self.tree(part)] for name, part in found.attrs.items()],
            "is_op": found.op is not None,
            "effect": found.effect,
            "several": found.several,
            "record": None if found.record is None else self._value(found.record),
            "blocks": [self._block(block) for block in found.blocks],
            "location": None if found.location is None else _place(found.location),
        }


def _place(location: Location) -> list[Any]:
    """File, line, text of the line, column and what is called there; where the file lay is nobody's concern."""
    text = location.text or linecache.getline(location.file, location.line)
    called = None if location.called is None else location.called.name
    return [_shown(os.path.basename(location.file)), location.line, _shown(text.rstrip()), location.column, called]


def _shown(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _arguments_of(error: BaseException) -> tuple[Any, ...]:
    return (error.message, None, error.advice, error.kind) if isinstance(error, D2SError) else error.args
