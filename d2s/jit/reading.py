"""Programs made again from data.  No code of the file is run: functions and classes are looked up by name in a list."""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import Any

import numpy as np

from d2s.caller import Call
from d2s.core.op import OP_TABLE
from d2s.core.spec import Dim, TensorSpec
from d2s.errors import D2SError, Location
from d2s.jit.stored_names import FUNCTIONS, TAGS, TYPES, error_class, fill_container
from d2s.jit.stored_operators import check
from d2s.static.program import Block, Operator, Program, Value, Write


def _one_line(name: Any) -> str:
    """A name that can stand in a comment of generated code."""
    if not isinstance(name, str) or not name.isprintable():
        raise TypeError(f"{name!r} is no name")
    return name


def _flag(flag: Any) -> bool:
    """A flag, of which code is generated."""
    if not isinstance(flag, bool):
        raise TypeError(f"{flag!r} is no flag")
    return flag


def _location(data: list[Any] | None) -> Location | None:
    """The line that an operator came from; None in older files."""
    if data is None:
        return None
    file, line, text, column, called = data
    for number in (line, 0 if column is None else column):
        # As large as the lines and columns of code can be.
        if type(number) is not int or not 0 <= number < 1 << 20:
            raise TypeError(f"{number!r} is no place in a file")
    return Location(
        os.path.basename(_one_line(file)), line, _one_line(text), column,
        called=None if called is None else Call(_one_line(called)))


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
            missing = entry["maybe_missing"]
            self._values.append(Value(
                _one_line(entry["name"]),
                None if entry["spec"] is None else self.spec(entry["spec"]), _flag(entry["stop_gradient"]),
                self.tree(entry["constant"]) if is_constant else None, is_constant,
                TYPES[entry["kind"]] if entry["kind"] else None, None if missing is None else _one_line(missing),
            ))
        program = Program(_one_line(data["name"]), self._block(data["block"]))
        operators = list(program.all_operators())
        program.same_edge = {self._values[a]: self._values[b] for a, b in data["same_edge"]}
        program.versions = {self._values[a]: self._values[b] for a, b in data["versions"]}
        for position, value, kept, through in data["writes"]:
            program.writes[operators[position]] = Write(
                self._values[value], None if kept is None else self._values[kept],
                None if through is None else operators[through])
        return program

    def spec(self, data: list[Any]) -> TensorSpec:
        """What `Writer.spec` gave; equal Dims of one file stay equal."""
        sizes, dtype = data
        shape = tuple(
            size if isinstance(size, int) else self._dims.setdefault(size["dim"], Dim()) for size in sizes)
        found = np.dtype(_one_line(dtype))
        if found.kind not in "biufc" or any(isinstance(size, int) and size < 0 for size in shape):
            raise TypeError(f"{data!r} is no spec of a tensor")
        return TensorSpec(shape, found)

    def tree(self, data: Any) -> Any:
        """What `Writer.tree` gave."""
        if not isinstance(data, dict):
            return data
        (tag, held), = data.items()
        if tag not in TAGS:
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
        return fill_container if name == "d2s.fill" else FUNCTIONS[name]

    def _type(self, name: str) -> Any:
        return TYPES[name]

    def _error(self, parts: list[Any]) -> BaseException:
        name, arguments = parts
        cls = error_class(name)
        if cls is None:
            raise KeyError(name)
        given = self._list(arguments)
        return cls(*given[:3], kind=given[3]) if issubclass(cls, D2SError) else cls(*given)

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
        operator = Operator(
            kind,
            tuple(self._values[number] for number in data["inputs"]),
            tuple(self._values[number] for number in data["outputs"]),
            {name: self.tree(part) for name, part in data["attrs"]},
            OP_TABLE[kind] if data["is_op"] else None,
            _flag(data["effect"]),
            tuple(self._block(block) for block in data["blocks"]),
            record=None if record is None else self._values[record],
            several=_flag(data["several"]),
            location=_location(data.get("location")),
        )
        check(operator)
        return operator
