"""Registrations of hooks that are no statement of their own: found for the report; none of them is moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import gast

from d2s.transpiler.nodes import Node, user_functions, walk
from d2s.transpiler.passes.paths import Path, may_be_prefix, path_of, written_paths
from d2s.transpiler.scopes import bound_names, parameters

REGISTRATIONS = ("register_hook", "_register_backward_hook")


@dataclass(frozen=True)
class Hidden:
    """A place where a registering method is called, or taken to be called by somebody else."""

    line: int
    target: Node
    reason: str


def hidden_registrations(expressions: Iterable[Node]) -> Iterator[Hidden]:
    """The registrations among the expressions of one statement, in the order of the text."""
    parts = list(expressions)
    called = {id(node.func): node for node in parts if isinstance(node, gast.Call)}
    found = [hidden for node in parts if (hidden := _registration(node, id(node) in called)) is not None]
    return iter(sorted(found, key=lambda hidden: hidden.line))


def _registration(node: Node, is_called: bool) -> Hidden | None:
    if isinstance(node, gast.Attribute) and node.attr in REGISTRATIONS:
        if not is_called:
            return Hidden(node.lineno, node.value, f"{node.attr} is taken here and called elsewhere")
        if node.attr == "_register_backward_hook":
            return Hidden(node.lineno, node.value, "a reduce hook stays where it is registered")
        return Hidden(node.lineno, node.value, "the call is part of a larger statement, or its tensor has no name")
    if isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id == "getattr":
        name = node.args[1] if len(node.args) > 1 else None
        if isinstance(name, gast.Constant) and name.value in REGISTRATIONS:
            return Hidden(node.lineno, node.args[0], f"{name.value} is found by getattr")
    return None


class Lasting:
    """Tells which targets in a converted function are older than its call: arguments and what is found outside."""

    def __init__(self, tree: Node) -> None:
        functions = user_functions(tree)
        self.written: list[Path] = [(name,) for inner in functions[:-1] for name in parameters(inner)]
        for node in walk(tree):
            if isinstance(node, gast.stmt) and node not in functions[-1:]:
                self.written += written_paths(node)
            elif isinstance(node, gast.comprehension):
                self.written += [(name,) for name in bound_names(node.target)]
            elif isinstance(node, gast.Lambda):
                self.written += [(name,) for name in parameters(node)]

    def warning(self, target: Node) -> str | None:
        """What there is to say of a registration on `target` that each call makes."""
        path = path_of(target)
        if path is None or any(may_be_prefix(written, path) for written in self.written):
            return None
        shown = "".join(path)
        return f"each call registers one more hook on {shown}, which stays: they pile up, unless it is removed"
