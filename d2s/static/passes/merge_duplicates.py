"""Common subexpressions: what is computed twice from the same values is computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.static.passes.rewriting import Rewriter, pure_op, themselves
from d2s.static.program import Block, Operator, Program, Value, values_in


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Let the first of equal pure operators stand for the others.

    Not for values that are kept, become Tensors, or have hooks: these are themselves.
    """
    merger = _Merger(themselves(program, kept))
    return merger.rewriter.program(program)


class _Merger:
    """The operators met so far, by what they compute."""

    def __init__(self, fixed: set[Value]) -> None:
        self.fixed = fixed
        self.known: dict[Any, tuple[Value, ...]] = {}
        self.rewriter = _Scoped(self)

    def change(self, operator: Operator, rewriter: Rewriter) -> Operator | None:
        op = pure_op(operator)
        if op is None:
            return operator
        try:
            # What is computed under `no_grad` carries no gradient, and cannot stand for what does.
            stops = tuple(value.stop_gradient for value in operator.outputs)
            key = (op.name, stops, tuple(map(_key_of, operator.inputs)), _key_of_attrs(operator.attrs))
            found = self.known.setdefault(key, operator.outputs)
        except TypeError:
            # An attribute without hash.
            return operator
        if found is operator.outputs or any(value in self.fixed for value in operator.outputs):
            return operator
        for value, by in zip(operator.outputs, found, strict=True):
            rewriter.replace(value, by)
        return None


class _Scoped(Rewriter):
    """What is known inside of a block is not known after it."""

    def __init__(self, merger: _Merger) -> None:
        super().__init__(merger.change)
        self.merger = merger

    def block(self, block: Block) -> Block:
        around = self.merger.known
        self.merger.known = dict(around)
        try:
            return super().block(block)
        finally:
            self.merger.known = around


def _key_of(value: Value) -> Any:
    if value.is_constant:
        array = value.constant
        if isinstance(array, np.ndarray | np.generic) and array.ndim == 0:
            return array.dtype, array.tobytes()
        return id(array)
    return value


def _key_of_attrs(attrs: dict[str, Any]) -> Any:
    if next(values_in(attrs), None) is not None:
        raise TypeError("run-time attributes")
    return tuple(sorted((name, _typed(value)) for name, value in attrs.items()))


def _typed(value: Any) -> Any:
    """Attributes are the same if they are of one type: 1, 1.0 and True differ."""
    if isinstance(value, tuple):
        return tuple(map(_typed, value))
    return type(value).__name__, repr(value) if isinstance(value, float) else value
