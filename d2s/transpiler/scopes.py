"""Which names a piece of a function binds, declares and mentions."""

from __future__ import annotations

from typing import Any

import gast

from d2s.transpiler.nodes import FUNCTIONS, Node, is_generated, parts, walk, walk_own
from d2s.transpiler.visitors import Visitor


class _BoundNames(Visitor):
    """Collect the names bound in the scope that the visited nodes stand in."""

    def __init__(self, through_generated: bool) -> None:
        self.names: dict[str, None] = {}
        self.through_generated = through_generated

    def add(self, name: str | None) -> None:
        if name is not None:
            self.names[name] = None

    def visit_Name(self, node: Node) -> None:
        if isinstance(node.ctx, (gast.Store, gast.Del)):
            self.add(node.id)

    def visit_FunctionDef(self, node: Node) -> None:
        if is_generated(node):
            # Its statements were the enclosing function's own; what it binds there it has to declare.
            for name in declared_names(node) if self.through_generated else ():
                self.add(name)
            return
        self.add(node.name)
        self._visit_all(node.decorator_list)
        self._visit_defaults(node.args)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: Node) -> None:
        if is_generated(node):
            self.visit(node.body)
        self._visit_defaults(node.args)

    def visit_ClassDef(self, node: Node) -> None:
        self.add(node.name)
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])

    def visit_Import(self, node: Node) -> None:
        for alias in node.names:
            self.add(alias.asname or alias.name.split(".")[0])

    visit_ImportFrom = visit_Import

    def visit_MatchAs(self, node: Node) -> None:
        self.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: Node) -> None:
        self.add(node.rest)
        self.generic_visit(node)

    def _visit_comprehension(self, node: Node) -> None:
        # Its targets live in its own scope; only a walrus reaches the function around it, but not out of a lambda.
        for part in walk_own(node):
            if isinstance(part, gast.NamedExpr):
                self.add(part.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _visit_defaults(self, args: Node) -> None:
        self._visit_all([default for default in [*args.defaults, *args.kw_defaults] if default is not None])

    def _visit_all(self, nodes: list[Node]) -> None:
        for node in nodes:
            self.visit(node)


def bound_names(*nodes: Node, through_generated: bool = True) -> list[str]:
    """
    Names that these statements or expressions bind (or delete), in order of appearance.

    What a generated function binds counts as well, unless `through_generated` is false.

    >>> tree = gast.parse('''
    ... for i, (a, *b) in pairs:
    ...     import os.path as path, sys.flags
    ...     def inner(): hidden = 1
    ...     c = [d for d in (e := a)]
    ... ''')
    >>> bound_names(*tree.body)
    ['i', 'a', 'b', 'path', 'sys', 'inner', 'c', 'e']
    """
    visitor = _BoundNames(through_generated)
    for node in nodes:
        visitor.visit(node)
    return list(visitor.names)


def declared_names(function: Node) -> list[str]:
    """Names that a generated function declares ``global`` or ``nonlocal``; it does so in its first statements."""
    declarations = [node for node in function.body if isinstance(node, (gast.Global, gast.Nonlocal))]
    return [name for declaration in declarations for name in declaration.names]


def parameter_nodes(args: Node) -> list[Node]:
    """The parameters of a function in the order of its signature."""
    extra = [args.vararg] if args.vararg else []
    keyword = [args.kwarg] if args.kwarg else []
    return [*args.posonlyargs, *args.args, *extra, *args.kwonlyargs, *keyword]


def parameters(function: Node) -> list[str]:
    """Names of the parameters of a function or lambda."""
    return [parameter.id for parameter in parameter_nodes(function.args)]


def local_names(function: Node) -> set[str]:
    """Names that live in this function: parameters and what it binds, without what it declares elsewhere."""
    if isinstance(function, gast.Lambda):
        return {*parameters(function), *bound_names(function.body)}
    return {*parameters(function), *bound_names(*function.body)} - set(user_declared(function))


def user_declared(function: Node, kinds: Any = (gast.Global, gast.Nonlocal)) -> list[str]:
    """Names that a function of the user's declares, anywhere in its body, ``global`` or ``nonlocal``."""
    found = getattr(function, "declarations", None)
    if found is None:
        found = [
            (type(node), name)
            for statement in function.body
            if not is_generated(statement)
            for node in _walk_user(statement)
            if isinstance(node, (gast.Global, gast.Nonlocal))
            for name in node.names
        ]
        if not is_generated(function):
            # No pass makes or removes declarations of the user's, and every pass asks.
            function.declarations = found
    return [name for kind, name in found if issubclass(kind, kinds)]


def _walk_user(node: Node) -> list[Node]:
    if isinstance(node, (*FUNCTIONS, gast.Lambda, gast.ClassDef)):
        return []
    return [node, *(part for child in parts(node) for part in _walk_user(child))]


def mentions(node: Node) -> list[str]:
    """Every name mentioned below `node`, scopes or not, once per mention."""
    found: list[str] = []
    for part in walk(node):
        if isinstance(part, gast.Name):
            found.append(part.id)
        elif isinstance(part, (*FUNCTIONS, gast.ClassDef, gast.MatchAs, gast.MatchStar)):
            found.extend([part.name] if part.name else [])
        elif isinstance(part, gast.MatchMapping):
            found.extend([part.rest] if part.rest else [])
        elif isinstance(part, (gast.Global, gast.Nonlocal)):
            found.extend(part.names)
        elif isinstance(part, gast.alias):
            found.append(part.asname or part.name.split(".")[0])
    return found


def captured_names(*nodes: Node) -> set[str]:
    """Names mentioned inside functions, lambdas, classes or generator expressions that the user wrote below `nodes`."""
    inner = (*FUNCTIONS, gast.Lambda, gast.ClassDef, gast.GeneratorExp)
    return {
        name
        for node in nodes
        for part in walk(node)
        if isinstance(part, inner) and not is_generated(part)
        # Its own name is bound outside of it; only a mention inside (recursion) captures it.
        for child in parts(part)
        for name in mentions(child)
    }
