"""Programs as data: what JSON can hold, and a list of arrays.  No code is stored, and none is run on reading.

Functions are stored by name, and only those listed here: what a Program calls of Python's operators, `math` and the
builtins, and a few of d2s itself.  Classes are stored by name too, and only errors and the argument records of ops.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from d2s import errors
from d2s.core.op import OP_TABLE
from d2s.core.spec import Dim, TensorSpec
from d2s.errors import D2SError, Location, ProgramError
from d2s.operators import closures, control_flow, tracer
from d2s.static import variable
from d2s.static.program import Block, Operator, Program, Value

_BUILTINS = ("abs", "bool", "complex", "dict", "divmod", "float", "int", "len", "list", "max", "min", "pow", "print",
             "range", "round", "set", "sorted", "str", "sum", "tuple")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"operator.{name}": getattr(operator, name) for name in operator.__all__},
    **{f"math.{name}": found for name, found in vars(math).items() if callable(found)},
    **{name: getattr(builtins, name) for name in _BUILTINS},
    "d2s.check": control_flow._check,
    "d2s.copy_of": closures._copy_of,
    "d2s.fill": closures._fill,
    "d2s.list_of": variable._list_of,
    "d2s.numpy_of": variable._numpy_of,
    "d2s.set_value": tracer._set_value,
}
_NAMES = {function: name for name, function in FUNCTIONS.items()}
_TAGS = frozenset((
    "array", "complex", "dict", "dtype", "ellipsis", "error", "float", "frozenset", "function", "list", "record",
    "scalar", "set", "slice", "tuple", "type", "value",
))
_TYPES = {"bool": bool, "complex": complex, "dict": dict, "float": float, "int": int, "list": list, "str": str}


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
            "overwritten": [[self._value(value), positions[op]] for value, op in program.overwritten.items()],
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
        if cls.__hash__ is not None and thing in _NAMES:
            return {"function": _NAMES[thing]}
        if isinstance(thing, type) and _TYPES.get(thing.__name__) is thing:
            return {"type": thing.__name__}
        if isinstance(thing, BaseException) and _error_class(cls.__name__) is cls:
            return {"error": [cls.__name__, [self.tree(part) for part in _arguments_of(thing)]]}
        if dataclasses.is_dataclass(thing) and cls.__module__.startswith("d2s.ops."):
            fields = {field.name: self.tree(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
            return {"record": [cls.__module__, cls.__qualname__, fields]}
        what = getattr(thing, "__qualname__", None) or f"an object of {cls.__qualname__}"
        raise ProgramError(
            f"a saved Program cannot hold {what}", self._location,
            "Only tensors, numbers, strings and containers of these can be saved, and calls of operators, math and "
            "builtins; keep anything else out of forward().",
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
                "kind": value.kind.__name__ if value.kind is not None and value.kind.__name__ in _TYPES else None,
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
        if found.kind in ("py_func", "py_layer", "backward"):
            raise ProgramError(f"a saved Program cannot hold {found.kind}", found.location,
                               "It runs Python code of yours, which is not saved.")
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
        }


class Reader:
    """Makes Programs and nested Python values of what `Writer` gave."""

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self._values: list[Value] = []
        self._dims: dict[int, Dim] = {}

    def program(self, data: dict[str, Any]) -> Program:
        """The Program; KeyError, IndexError or TypeError if `data` is damaged."""
        self._values = []
        for entry in data["values"]:
            # Constants hold no Values, so that each can be made in turn.
            is_constant = "constant" in entry
            self._values.append(Value(
                entry["name"], None if entry["spec"] is None else self.spec(entry["spec"]), entry["stop_gradient"],
                self.tree(entry["constant"]) if is_constant else None, is_constant,
                _TYPES[entry["kind"]] if entry["kind"] else None, entry["maybe_missing"],
            ))
        program = Program(data["name"], self._block(data["block"]))
        operators = list(program.all_operators())
        program.same_edge = {self._values[a]: self._values[b] for a, b in data["same_edge"]}
        program.overwritten = {self._values[value]: operators[position] for value, position in data["overwritten"]}
        return program

    def spec(self, data: list[Any]) -> TensorSpec:
        """What `Writer.spec` gave; equal Dims of one file stay equal."""
        sizes, dtype = data
        shape = tuple(
            size if isinstance(size, int) else self._dims.setdefault(size["dim"], Dim()) for size in sizes)
        return TensorSpec(shape, np.dtype(dtype))

    def tree(self, data: Any) -> Any:
        """What `Writer.tree` gave."""
        if not isinstance(data, dict):
            return data
        (tag, held), = data.items()
        if tag not in _TAGS:
            raise KeyError(tag)
        return getattr(self, f"_{tag}")(held)

    def _value(self, number: int) -> Value:
        return self._values[number]

    def _float(self, text: str) -> float:
        return float(text)

    def _complex(self, parts: list[Any]) -> complex:
        return complex(*map(self.tree, parts))

    def _ellipsis(self, _: bool) -> Any:
        return ...

    def _list(self, parts: list[Any]) -> list[Any]:
        return [self.tree(part) for part in parts]

    def _tuple(self, parts: list[Any]) -> tuple[Any, ...]:
        return tuple(self._list(parts))

    def _set(self, parts: list[Any]) -> set[Any]:
        return set(self._list(parts))

    def _frozenset(self, parts: list[Any]) -> frozenset[Any]:
        return frozenset(self._list(parts))

    def _dict(self, parts: list[Any]) -> dict[Any, Any]:
        return {self.tree(key): self.tree(part) for key, part in parts}

    def _slice(self, parts: list[Any]) -> slice:
        return slice(*self._list(parts))

    def _dtype(self, name: str) -> Any:
        return np.dtype(name)

    def _array(self, number: int) -> Any:
        return self.arrays[number]

    def _scalar(self, number: int) -> Any:
        return self.arrays[number][()]

    def _function(self, name: str) -> Any:
        return FUNCTIONS[name]

    def _type(self, name: str) -> Any:
        return _TYPES[name]

    def _error(self, parts: list[Any]) -> BaseException:
        name, arguments = parts
        cls = _error_class(name)
        if cls is None:
            raise KeyError(name)
        return cls(*self._list(arguments))

    def _record(self, parts: list[Any]) -> Any:
        module, name, fields = parts
        cls = getattr(importlib.import_module(module), name) if module.startswith("d2s.ops.") else None
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise KeyError(name)
        return cls(**{field: self.tree(part) for field, part in fields.items()})

    def _block(self, data: dict[str, Any]) -> Block:
        return Block(
            tuple(self._values[number] for number in data["inputs"]),
            [self._operator(entry) for entry in data["operators"]],
            tuple(self._values[number] for number in data["outputs"]),
        )

    def _operator(self, data: dict[str, Any]) -> Operator:
        kind, record = data["kind"], data["record"]
        return Operator(
            kind,
            tuple(self._values[number] for number in data["inputs"]),
            tuple(self._values[number] for number in data["outputs"]),
            {name: self.tree(part) for name, part in data["attrs"]},
            OP_TABLE[kind] if data["is_op"] else None,
            data["effect"],
            tuple(self._block(block) for block in data["blocks"]),
            record=None if record is None else self._values[record],
            several=data["several"],
        )


def _error_class(name: str) -> type[BaseException] | None:
    found = getattr(errors, name, None) or getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _arguments_of(error: BaseException) -> tuple[Any, ...]:
    return (error.message, None, error.advice) if isinstance(error, D2SError) else error.args
