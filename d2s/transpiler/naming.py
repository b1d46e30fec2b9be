"""Names for generated code that no name of the user's equals."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

import gast

from d2s.transpiler.nodes import Node


def identifiers(tree: Node) -> set[str]:
    """Every identifier in the tree, in whatever role."""
    found: set[str] = set()
    for node in gast.walk(tree):
        for _, value in gast.iter_fields(node):
            if isinstance(value, str) and not isinstance(node, gast.Constant):
                found.add(value)
            elif isinstance(value, list):
                found.update(item for item in value if isinstance(item, str))
    return found


class Names:
    """
    Hands out names: those of operators, and fresh ones for flags, temporaries and generated functions.

    >>> names = Names({"body", "if_else"})
    >>> names.operator("if_else"), names.operator("and_"), names.operator("if_else")
    ('if_else_1', 'and_', 'if_else_1')
    >>> names.stable("body"), names.stable("body"), names.fresh("broke"), names.fresh("broke")
    ('body_1', 'body_1', 'broke', 'broke_1')
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *keyword.kwlist}
        self._stable: dict[str, str] = {}
        self._operator_names: dict[str, str] = {}
        self.operators: dict[str, str] = {}
        """Operators used so far: name in the text -> name of the operator."""

    def fresh(self, base: str) -> str:
        """A name that nothing else in the tree has."""
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def stable(self, base: str) -> str:
        """The same fresh name on every call, for things that may share one: generated functions, say."""
        if base not in self._stable:
            self._stable[base] = self.fresh(base)
        return self._stable[base]

    def operator(self, base: str) -> str:
        """The name under which the generated code calls an operator."""
        if base not in self._operator_names:
            name = self._operator_names[base] = self.fresh(base)
            self.operators[name] = base
        return self._operator_names[base]
