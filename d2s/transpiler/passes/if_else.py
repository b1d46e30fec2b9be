"""Turn ``if`` statements into calls of `if_else`."""

from __future__ import annotations

import gast

from d2s.transpiler.closures import closure, rewrite_bodies
from d2s.transpiler.context import Context
from d2s.transpiler.nodes import FUNCTIONS, Node, is_generated, located, map_blocks
from d2s.transpiler.passes.lifetimes import private_names
from d2s.transpiler.selection import (
    always_leaves,
    has_return,
    is_rewritten,
    own_exits,
)
from d2s.transpiler.template import call, constant, has_walrus, load, thunk


def run(tree: Node, ctx: Context) -> Node:
    """
    Replace each ``if`` whose test may be a tensor by functions for its branches and a call.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     else:
    ...         y = -x
    ...     if y > 9:
    ...         return y
    ...     else:
    ...         return 0
    ... ''', passes=[run]))
    def f(x):
        y: None
    <BLANKLINE>
        def body():
            nonlocal y
            y = x
    <BLANKLINE>
        def orelse():
            nonlocal y
            y = -x
        if_else(x > 0, body, orelse)
        return if_else(y > 9, lambda : y, lambda : 0)
    <BLANKLINE>
    """
    return rewrite_bodies(tree, lambda function: _Rewriter(ctx, function).block(function.body))


class _Rewriter:
    def __init__(self, ctx: Context, function: Node) -> None:
        self.ctx = ctx
        self.function = function

    def block(self, statements: list[Node]) -> list[Node]:
        done: list[Node] = []
        for statement in statements:
            if isinstance(statement, FUNCTIONS) and is_generated(statement):
                map_blocks(statement, self.block)
            if isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
                done.append(statement)
                continue
            is_converted = isinstance(statement, gast.If) and self.is_convertible(statement)
            map_blocks(statement, self.block)
            done += self.converted(statement) if is_converted else [statement]
        return done

    def is_convertible(self, statement: Node) -> bool:
        """Exits that earlier passes left inside cannot cross a function, unless every path returns."""
        if not is_rewritten(statement, self.ctx):
            return False
        return not own_exits([statement]) and (not has_return([statement]) or always_leaves([statement]))

    def converted(self, statement: Node) -> list[Node]:
        definitions: list[Node] = []
        returns = has_return([statement])
        arms = [
            self.arm(name, block, statement, definitions)
            for name, block in (("body", statement.body), ("orelse", statement.orelse))
        ]
        value = call(self.ctx, "if_else", statement.test, *arms)
        located(value, statement.test)
        result = gast.Return(value=value) if returns else gast.Expr(value=value)
        return [*definitions, located(result, statement)]

    def arm(self, name: str, block: list[Node], origin: Node, definitions: list[Node]) -> Node:
        """What `if_else` is given for one branch: a lambda where the branch is one value, else a function."""
        if not block or (isinstance(block[0], gast.Pass) and len(block) == 1):
            return constant(None) if name == "orelse" else thunk(constant(None))
        if len(block) == 1 and isinstance(block[0], gast.Return) and not _binds(block[0]):
            value = block[0].value or located(constant(None), block[0])
            # At the place of the test: coverage must not take the line of a branch for one that ran.
            return located(thunk(value), origin.test)
        unique = self.ctx.names.stable(name)
        private = private_names(origin, block)
        definitions.append(closure(unique, block, self.function, origin.test, private=private))
        return load(unique)


def _binds(statement: Node) -> bool:
    return statement.value is not None and has_walrus(statement.value)
