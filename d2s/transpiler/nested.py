"""The functions inside a function: their original code, for code that must be run as the user wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType

import gast

from d2s.transpiler.loader import CodeIdentity, compile_function
from d2s.transpiler.mangling import mangle_private_names
from d2s.transpiler.nodes import COMPREHENSIONS, FUNCTIONS, Node, duplicate, parts
from d2s.transpiler.scopes import bound_names, local_names, user_declared


@dataclass(frozen=True)
class NestedFunction:
    """A nested function or lambda before conversion: `freevars` are the cells that `code` wants, in order."""

    name: str
    code: CodeType
    freevars: tuple[str, ...]


def number_nested_functions(definition: Node, identity: CodeIdentity, free: frozenset[str]) -> list[NestedFunction]:
    """
    Compile each function inside `definition`, and write its place in the list on its node as ``nested_index``.

    The code has the user's file, lines and qualified name, as it would have if nothing were converted.
    """
    finder = _Finder(identity)
    finder.enter(definition.value if isinstance(definition, gast.Expr) else definition, free, identity.qualname)
    return finder.found


class _Finder:
    def __init__(self, identity: CodeIdentity) -> None:
        self.identity = identity
        self.found: list[NestedFunction] = []
        self.classes: list[str] = []

    def enter(self, function: Node, visible: frozenset[str], qualname: str) -> None:
        """Go through the body of a function; `visible` are the names it can find in cells."""
        inner = visible | local_names(function)
        if not isinstance(function, gast.Lambda):
            inner -= frozenset(user_declared(function, (gast.Global,)))
        body = [function.body] if isinstance(function, gast.Lambda) else function.body
        for node in body:
            self.visit(node, inner, qualname + ".<locals>.")

    def visit(self, node: Node, visible: frozenset[str], prefix: str) -> None:
        if isinstance(node, (*FUNCTIONS, gast.Lambda)):
            self.record(node, visible, prefix)
        elif isinstance(node, gast.ClassDef):
            self.visit_all([*node.decorator_list, *node.bases, *node.keywords], visible, prefix)
            self.classes.append(node.name)
            self.visit_all(node.body, visible | {"__class__"}, f"{prefix}{node.name}.")
            self.classes.pop()
        elif isinstance(node, COMPREHENSIONS):
            targets = frozenset(bound_names(*(generator.target for generator in node.generators)))
            self.visit_all(parts(node), visible | targets, prefix)
        else:
            self.visit_all(parts(node), visible, prefix)

    def visit_all(self, nodes: list[Node], visible: frozenset[str], prefix: str) -> None:
        for node in nodes:
            self.visit(node, visible, prefix)

    def record(self, node: Node, visible: frozenset[str], prefix: str) -> None:
        name = "<lambda>" if isinstance(node, gast.Lambda) else node.name
        node.nested_index = len(self.found)
        definition = duplicate(node)
        if self.classes:
            mangle_private_names(definition, self.classes[-1])
        if isinstance(node, gast.Lambda):
            definition = gast.copy_location(gast.Expr(value=definition), node)
        identity = CodeIdentity(self.identity.file, self.identity.flags, name, prefix + name)
        code = compile_function(definition, identity, sorted(visible))
        self.found.append(NestedFunction(name, code, code.co_freevars))
        args = node.args
        outside = [default for default in [*args.defaults, *args.kw_defaults] if default is not None]
        self.visit_all([*outside, *getattr(node, "decorator_list", [])], visible, prefix)
        self.enter(node, visible, prefix + name)
