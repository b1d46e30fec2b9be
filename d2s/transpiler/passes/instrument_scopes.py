"""Where a name lives, seen from inside the converted function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import gast

from d2s.transpiler.mangling import mangled_name
from d2s.transpiler.nodes import FUNCTIONS, Node, is_generated, walk
from d2s.transpiler.scopes import bound_names, parameters, user_declared


@dataclass(frozen=True)
class _Scope:
    kind: str
    names: frozenset[str]
    global_names: frozenset[str] = frozenset()
    class_name: str | None = None


class Scopes:
    """The scopes around the node that is being visited, innermost last."""

    def __init__(self, free: frozenset[str]) -> None:
        self._free = free
        self._stack: list[_Scope] = []

    @contextmanager
    def function(self, node: Node) -> Iterator[None]:
        """While inside a function or lambda."""
        if isinstance(node, gast.Lambda):
            bound, declared, global_names = bound_names(node.body), [], []
        else:
            bound = bound_names(*node.body, through_generated=False)
            declared, global_names = user_declared(node), user_declared(node, (gast.Global,))
        names = frozenset([*parameters(node), *bound]) - frozenset(declared)
        with self._inside(_Scope("function", names, frozenset(global_names))):
            yield

    @contextmanager
    def class_body(self, node: Node) -> Iterator[None]:
        """While inside a class body."""
        with self._inside(_Scope("class", frozenset(bound_names(*node.body)), class_name=node.name)):
            yield

    @contextmanager
    def comprehension(self, node: Node) -> Iterator[None]:
        """While inside a comprehension, except for its first iterable."""
        with self._inside(_Scope("function", frozenset(bound_names(*(part.target for part in node.generators))))):
            yield

    @contextmanager
    def _inside(self, scope: _Scope) -> Iterator[None]:
        self._stack.append(scope)
        yield
        self._stack.pop()

    def kind(self, name: str) -> str:
        """``local`` to some function inside the conversion, ``free`` (a cell from outside), ``global`` or ``class``."""
        for depth, scope in enumerate(reversed(self._stack)):
            if scope.kind == "class":
                if depth == 0 and name in scope.names:
                    return "class"
            elif name in scope.global_names:
                return "global"
            elif name in scope.names:
                return "local"
        return "free" if name in self._free else "global"

    @property
    def is_class_body(self) -> bool:
        """Do statements here bind attributes of a class?"""
        return bool(self._stack) and self._stack[-1].kind == "class"

    def mangled(self, name: str) -> str:
        """An attribute name as the compiler would store it here: as a string it would not be mangled any more."""
        classes = [scope.class_name for scope in self._stack if scope.class_name is not None]
        return mangled_name(name, classes[-1]) if classes else name


def stored_outside(definition: Node, free: frozenset[str]) -> frozenset[str]:
    """Names of globals and outer cells that the function writes somewhere: reading them has to see pending writes."""
    return frozenset(
        name
        for node in walk(definition)
        if isinstance(node, FUNCTIONS) and not is_generated(node)
        for kind in (gast.Global, gast.Nonlocal)
        for name in user_declared(node, (kind,))
        if kind is gast.Global or name in free
    )
