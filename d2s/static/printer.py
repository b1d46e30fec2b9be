"""Programs as text: stable, one line per operator, free of addresses and of paths that differ between machines.

The backward of a Program sends the gradients of its inputs away use by use, so that sums are made in the order of
eager mode.  The text shows that as the sum it is: one ``x@GRAD += ...`` for each use of `x`; after the last one the
hooks of `x`, if the Program registers any, and then the gradient leaves.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from d2s.core.op import Op
from d2s.core.spec import Dim, spec_of
from d2s.static.program import Block, Names, Operator, Program, Value

_INDENT = "  "
_MOST_ELEMENTS = 6
_LONGEST_TEXT = 40
_SEPARATORS = r"[/\\]"
_BLOCK_TITLES = {"cond": ("then", "else"), "while": ("test", "body"), "reversed_turns": ("turn",)}
# Attributes that say in another form what the line shows already.
HIDDEN_ATTRIBUTES = frozenset(("of", "loop", "record", "target", "output", "name", "certain", "counted", "edge"))


def text_of(program: Program, with_backward: bool = True) -> str:
    """
    The text of `program`, with the blocks nested in it and, if wanted, with its backward.

    Parameters
    ----------
    program : Program
    with_backward : bool

    Returns
    -------
    str
        Every line that defines a value shows its spec; ``hooks=[k]`` there says that registration number `k` of the
        Program, counted from 0 in the order of the text, is on that value.  Lines end with the user's file and line.
    """
    printer = Printer(program)
    lines = [f"program {program.name}", *printer.inputs(program.block, "input"), *printer.block(program.block, 1)]
    backward = program.backward
    if backward is not None and with_backward:
        lines += [f"backward of {program.name}", *printer.inputs(backward.block, "given")]
        lines += printer.block(backward.block, 1)
        lines += printer.end(backward)
    return "\n".join(lines)


class Printer:
    """Gives every value one name for the whole text, although a Program and its backward name theirs apart."""

    def __init__(self, program: Program) -> None:
        self._names = Names()
        self._shown: dict[Value, str] = {}
        self._dims: dict[Dim, str] = {}
        self._hooks: dict[str, list[int]] = {}
        registrations = (operator for operator in program.all_operators() if operator.kind == "register_hook")
        for number, operator in enumerate(registrations):
            self._hooks.setdefault(operator.attrs["target"], []).append(number)
        self._hooked = {value for value in _defined_in(program.block) if value.name in self._hooks}

    def name(self, value: Value) -> str:
        if value.is_constant:
            return constant_text(value.constant)
        found = self._shown.get(value)
        if found is None:
            found = self._shown[value] = self._names.fresh(value.name)
        return found

    def definition(self, value: Value) -> str:
        """`name: dtype[sizes]`; sizes that only the run knows are numbered in the order of the text."""
        if value.spec is None:
            return self.name(value)
        sizes = (
            str(size) if isinstance(size, int) else self._dims.setdefault(size, f"d{len(self._dims)}")
            for size in value.spec.shape
        )
        return f"{self.name(value)}: {value.spec.dtype.name}[{', '.join(sizes)}]"

    def hooks(self, values: tuple[Value, ...]) -> str:
        """The registrations on `values`, for the line that defines them."""
        found = [str(self._hooks[value.name]) for value in values if value in self._hooked]
        return "".join(f"  hooks={numbers}" for numbers in found)

    def inputs(self, block: Block, word: str) -> list[str]:
        return [
            f"{_INDENT}{self.definition(value)} = {word}"
            f"{'' if value.stop_gradient or word != 'input' else '  stop_gradient=False'}{self.hooks((value,))}"
            for value in block.inputs
        ]

    def block(self, block: Block, depth: int) -> Iterator[str]:
        for operator in block.operators:
            where = _comment(operator)
            for line in self.lines(operator):
                yield f"{_INDENT * depth}{line}{self.hooks(operator.outputs)}{where}"
            titles = _BLOCK_TITLES.get(operator.kind, ())
            for title, inner in zip(titles, operator.blocks, strict=False):
                given = f"({', '.join(map(self.definition, inner.inputs))})" if inner.inputs else ""
                yield f"{_INDENT * (depth + 1)}{title}{given}:"
                yield from self.block(inner, depth + 2)
                if inner.outputs:
                    yield f"{_INDENT * (depth + 2)}give {', '.join(map(self.name, inner.outputs))}"

    def end(self, backward: Program) -> Iterator[str]:
        """Gradients of which only the run knows when they are complete: at the end, if not before."""
        kinds: dict[str, set[str]] = {"accumulate": set(), "arrived": set()}
        for operator in backward.all_operators():
            kinds.get(operator.kind, set()).add(operator.attrs.get("name", ""))
        for name in sorted(kinds["accumulate"] - kinds["arrived"]):
            yield from (f"{_INDENT}{line}" for line in self.complete(name))

    def complete(self, name: str) -> Iterator[str]:
        """The gradient of a value from outside is there."""
        if name in self._hooks:
            yield f"call_hooks({name}@GRAD)"
        yield f"deliver({name}@GRAD)"

    def lines(self, operator: Operator) -> Iterator[str]:
        """One operator: one line, or two where a gradient is complete."""
        kind, attrs = operator.kind, operator.attrs
        if kind == "accumulate":
            guard = "" if attrs["certain"] else "  if present"
            yield f"{attrs['name']}@GRAD += {self.name(operator.inputs[0])}{guard}"
        elif kind == "arrived":
            yield from self.complete(attrs["name"])
        elif kind == "return":
            yield f"return {self.template(attrs['result'])}"
        elif kind == "raise":
            yield f"raise {constant_text(attrs['error'])}"
        else:
            left = ", ".join(map(self.definition, operator.outputs))
            yield f"{left} = {self.call(operator)}" if left else self.call(operator)

    def call(self, operator: Operator) -> str:
        """`kind(inputs, attributes)`."""
        if operator.kind == "python":
            function, args, kwargs = operator.attrs["call"]
            parts = [self.template(arg) for arg in args]
            parts += [f"{name}={self.template(value)}" for name, value in kwargs.items()]
            return f"python {self.template(function)}({', '.join(parts)})"
        inputs = operator.inputs[:1] if operator.kind == "call_hooks" else operator.inputs
        parts = [self.name(value) for value in inputs]
        parts += [
            f"{name}={self.template(value)}"
            for name, value in operator.attrs.items() if name not in HIDDEN_ATTRIBUTES
        ]
        if operator.kind == "reversed_turns":
            parts.append(f"of {self.name(operator.attrs['record'])}")
        record = f" recording {self.name(operator.record)}" if operator.record is not None else ""
        return f"{operator.kind}({', '.join(parts)}){record}"

    def template(self, tree: Any) -> str:
        """Nested containers with values in them."""
        if isinstance(tree, Value):
            return self.name(tree)
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return f"{type(tree).__name__}({', '.join(map(self.template, tree))})"
        if type(tree) is tuple:
            return f"({', '.join(map(self.template, tree))}{',' if len(tree) == 1 else ''})"
        if type(tree) is list:
            return f"[{', '.join(map(self.template, tree))}]"
        if type(tree) is dict:
            return "{" + ", ".join(f"{self.template(k)}: {self.template(v)}" for k, v in tree.items()) + "}"
        if type(tree) is slice:
            return ":".join("" if part is None else self.template(part) for part in (tree.start, tree.stop, tree.step))
        return constant_text(tree)


def _comment(operator: Operator) -> str:
    """The user's line as comment."""
    place = "" if operator.kind == "arrived" else place_of(operator)
    return f"  # {place}" if place else ""


def place_of(operator: Operator) -> str:
    """The user's ``file:line``, or ""; the file without its folder, which differs between machines."""
    location = operator.location
    return "" if location is None else f"{re.split(_SEPARATORS, location.file)[-1]}:{location.line}"


def _defined_in(block: Block) -> Iterator[Value]:
    yield from block.inputs
    for operator in block.operators:
        yield from operator.outputs
        for inner in operator.blocks:
            yield from _defined_in(inner)


def constant_text(thing: Any) -> str:
    """
    A constant in brief.

    Small arrays are written out, large ones by their spec; functions and classes by name; other objects by type.

    >>> constant_text(np.float32(3.0)), constant_text(np.zeros((2, 3), "int64")), constant_text(np.zeros(100))
    ('3.0', '[[0, 0, 0], [0, 0, 0]]', '<float64[100]>')
    >>> constant_text(len), constant_text(object()), constant_text(KeyError("a"))
    ('len', '<object>', "KeyError('a')")
    """
    if thing is None or thing is Ellipsis or isinstance(thing, bool | int | float | complex | str | bytes):
        return _shortened(repr(thing.item() if isinstance(thing, np.generic) else thing))
    if isinstance(thing, np.dtype):
        return str(thing.name)
    if isinstance(thing, np.ndarray | np.generic):
        return repr(thing.tolist()) if thing.size <= _MOST_ELEMENTS else f"<{spec_of(thing)}>"
    if isinstance(thing, Op):
        return thing.name
    if isinstance(thing, types.CodeType):
        return f"<code of {thing.co_qualname}>"
    if isinstance(thing, BaseException):
        return _shortened(f"{type(thing).__name__}({', '.join(map(constant_text, thing.args))})")
    name = getattr(thing, "__qualname__", None)
    if isinstance(name, str):
        return name.rpartition("<locals>.")[2]
    return f"<{type(thing).__name__}>"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."
