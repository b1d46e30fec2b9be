"""Turn ``assert`` into calls of `assert_`."""

from __future__ import annotations

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import FUNCTIONS, Node, located, map_blocks, user_functions
from d2s.transpiler.selection import is_plain_test, keeps_control_flow
from d2s.transpiler.template import call, constant, has_walrus, thunk


def run(tree: Node, ctx: Context) -> Node:
    """
    Replace each ``assert`` on a test that may be a tensor; its message stays unevaluated until it is needed.

    Under ``python -O`` asserts are left for the compiler to drop.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     assert x is not None
    ...     assert x > 0, f"got {x}"
    ... ''', passes=[run]))
    def f(x):
        assert x is not None
        assert_(x > 0, lambda : f'got {x}')
    <BLANKLINE>
    """
    if not __debug__:
        return tree

    def block(statements: list[Node]) -> list[Node]:
        for statement in statements:
            if not isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
                map_blocks(statement, block)
        return [converted(statement) for statement in statements]

    def converted(statement: Node) -> Node:
        if not isinstance(statement, gast.Assert) or is_plain_test(statement.test, ctx):
            return statement
        if statement.msg is not None and has_walrus(statement.msg):
            return statement
        message = constant(None) if statement.msg is None else located(thunk(statement.msg), statement.msg)
        value = located(call(ctx, "assert_", statement.test, message), statement.test)
        return located(gast.Expr(value=value), statement)

    for function in user_functions(tree):
        if not keeps_control_flow(function):
            function.body = block(function.body)
    return tree
