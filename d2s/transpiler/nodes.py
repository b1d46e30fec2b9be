"""Small questions about syntax trees (gast), and walks that respect scopes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import gast

Node: TypeAlias = Any
"""A gast node.  gast has no type stubs."""

FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef)
COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
LOOPS = (gast.For, gast.While)
TRIES: Any = (gast.Try, gast.TryStar)
_HOLDERS_OF_STATEMENTS: Any = (gast.stmt, gast.ExceptHandler, gast.match_case)
BLOCK_FIELDS = ("body", "orelse", "finalbody")
# Fields that hold no nodes, or only those that say what a node does: contexts and operators.
_FIELDS_WITHOUT_PARTS = frozenset({
    "id", "attr", "ctx", "op", "ops", "arg", "names", "kind", "type_comment", "simple", "conversion", "is_async",
    "level",
})


@functools.cache
def part_fields(kind: Any) -> tuple[str, ...]:
    """The fields of this kind of node that may hold parts."""
    if issubclass(kind, (gast.Constant, gast.MatchSingleton)):
        return ()
    keeps = {"names"} if issubclass(kind, (gast.Import, gast.ImportFrom)) else set()
    return tuple(field for field in kind._fields if field in keeps or field not in _FIELDS_WITHOUT_PARTS)


def parts(node: Node) -> list[Node]:
    """
    The nodes directly below `node`, in the order of its fields, without contexts (``Load``) and operators (``Add``).

    Most of a conversion is looking through trees, and about half of the nodes of a tree are contexts and operators.
    """
    found: list[Node] = []
    for field in part_fields(node.__class__):
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, gast.AST)]
        elif isinstance(value, gast.AST):
            found.append(value)
    return found


def walk(node: Node) -> Iterator[Node]:
    """`node` and all its parts, those nearest to it first."""
    level = [node]
    while level:
        yield from level
        level = [part for parent in level for part in parts(parent)]


def mark_generated(node: Node) -> Node:
    """Mark a function or lambda as made by a pass: its statements still belong to the user's function around it."""
    node.generated = True
    return node


def is_generated(node: Node) -> bool:
    """Was this function, lambda or call made by a pass?"""
    return getattr(node, "generated", False)


def located(node: Node, origin: Node) -> Node:
    """Give `node`, and everything new inside it, the place of `origin` in the user's file."""
    place = {field: getattr(origin, field) for field in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    stack = [node]
    while stack:
        current = stack.pop()
        if "lineno" in current._attributes and getattr(current, "lineno", None) is None:
            for field, value in place.items():
                setattr(current, field, value)
        stack += parts(current)
    return node


def duplicate(node: Node) -> Node:
    """A copy that shares no node with `node` (a tree in which one node stands twice breaks in-place passes)."""
    new = node.__class__.__new__(node.__class__)
    for field, value in node.__dict__.items():
        if value.__class__ is list:
            value = [duplicate(item) if isinstance(item, gast.AST) else item for item in value]
        elif isinstance(value, gast.AST):
            value = duplicate(value)
        new.__dict__[field] = value
    return new


def blocks_of(statement: Node) -> Iterator[list[Node]]:
    """The statement lists of a compound statement, in the order in which they may run."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        children = getattr(statement, field, None)
        if not isinstance(children, list):
            continue
        if field in BLOCK_FIELDS:
            yield children
        else:
            for child in children:
                yield child.body


def is_new_scope(node: Node) -> bool:
    """Does `node` open a scope of the user's own: a function, a lambda or a class?"""
    return isinstance(node, (*FUNCTIONS, gast.Lambda, gast.ClassDef)) and not is_generated(node)


def walk_own(node: Node) -> Iterator[Node]:
    """Like `walk`, but in the order of the text, and stay out of the user's functions, lambdas and classes below."""
    yield node
    for child in parts(node):
        if is_new_scope(child):
            yield child
        else:
            yield from walk_own(child)


def walk_statements(statements: list[Node]) -> Iterator[Node]:
    """Every statement of a block and of the blocks inside it, but not of functions and classes defined there."""
    for statement in statements:
        yield statement
        if not isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
            for block in blocks_of(statement):
                yield from walk_statements(block)


def user_functions(tree: Node) -> list[Node]:
    """All functions the user wrote in `tree`, innermost first."""
    found, level = [], [tree]
    while level:
        found += [node for node in level if isinstance(node, FUNCTIONS) and not is_generated(node)]
        level = [part for node in level for part in parts(node) if isinstance(part, _HOLDERS_OF_STATEMENTS)]
    return found[::-1]


def parts_in_frame(function: Node) -> Iterator[Node]:
    """Everything below `function` that is evaluated in its frame: of functions inside, decorators and defaults."""
    for statement in function.body:
        stack = [statement]
        while stack:
            node = stack.pop()
            yield node
            stack += headers(node) if is_new_scope(node) else parts(node)


def headers(scope: Node) -> list[Node]:
    """What is evaluated around a function, lambda or class when that is defined."""
    found = list(getattr(scope, "decorator_list", ()))
    if isinstance(scope, gast.ClassDef):
        return [*found, *scope.bases, *scope.keywords]
    return [*found, *(default for default in (*scope.args.defaults, *scope.args.kw_defaults) if default is not None)]


def is_generator(function: Node) -> bool:
    """Does the function itself (not one inside it) contain ``yield``?"""
    return any(isinstance(node, (gast.Yield, gast.YieldFrom)) for node in parts_in_frame(function))


def is_docstring(statement: Node) -> bool:
    """Is this statement a bare string?"""
    return (
        isinstance(statement, gast.Expr)
        and isinstance(statement.value, gast.Constant)
        and isinstance(statement.value.value, str)
    )


def prologue_length(function: Node) -> int:
    """How many statements at the top are docstring and ``global``/``nonlocal`` declarations."""
    length = 1 if function.body and is_docstring(function.body[0]) else 0
    while length < len(function.body) and isinstance(function.body[length], (gast.Global, gast.Nonlocal)):
        length += 1
    return length


def map_blocks(statement: Node, rewrite: Callable[[list[Node]], list[Node]]) -> None:
    """Replace each statement list directly below `statement` by ``rewrite(list)``."""
    for field in BLOCK_FIELDS:
        children = getattr(statement, field, None)
        if isinstance(children, list):
            setattr(statement, field, rewrite(children))
    for field in ("handlers", "cases"):
        for child in getattr(statement, field, ()):
            child.body = rewrite(child.body)
