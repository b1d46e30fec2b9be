"""Bring every function into the form that the other passes expect, and mark what they must leave alone."""

from __future__ import annotations

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.definite import mark_maybe_unbound
from d2s.transpiler.nodes import FUNCTIONS, Node, is_docstring, map_blocks, user_functions
from d2s.transpiler.scopes import user_declared


def run(tree: Node, ctx: Context) -> Node:
    """
    Move ``global`` and ``nonlocal`` to the top of their function, and mark reads of names that may be unbound.

    A declaration holds for the whole function wherever it stands; on top it survives moving the statements around it.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     "Doc."
    ...     if x:
    ...         global seen
    ...         seen = x
    ... ''', passes=[run]))
    def f(x):
        \"\"\"Doc.\"\"\"
        global seen
        if x:
            seen = x
    <BLANKLINE>
    """
    for function in user_functions(tree):
        hoist_declarations(function)
        mark_maybe_unbound(function)
    return tree


def hoist_declarations(function: Node) -> None:
    """Gather the declarations of one function below its docstring."""
    declarations = [
        kind(names=list(dict.fromkeys(names)))
        for kind in (gast.Global, gast.Nonlocal)
        if (names := user_declared(function, (kind,)))
    ]
    if not declarations:
        return
    position = 1 if is_docstring(function.body[0]) else 0
    for declaration in declarations:
        gast.copy_location(declaration, function.body[0])
    map_blocks(function, _without_declarations)
    function.body[position:position] = declarations


def _without_declarations(statements: list[Node]) -> list[Node]:
    kept = [statement for statement in statements if not isinstance(statement, (gast.Global, gast.Nonlocal))]
    for statement in kept:
        if not isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
            map_blocks(statement, _without_declarations)
    if statements and not kept:
        kept = [gast.copy_location(gast.Pass(), statements[0])]
    return kept
