"""Give ``super()`` its arguments where a generated function took its place away."""

from __future__ import annotations

from typing import Any

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node, is_generated, located
from d2s.transpiler.template import load
from d2s.transpiler.visitors import Rewriter


def run(tree: Node, ctx: Context) -> Node:
    """
    Write ``super()`` inside generated functions as ``super(__class__, self)``: it looks at its caller's frame.

    >>> from d2s.transpiler import transpile_source
    >>> from d2s.transpiler.passes import if_else
    >>> print(transpile_source('''
    ... def forward(layer, x):
    ...     if x > 0:
    ...         return super().forward(x)
    ...     else:
    ...         return x
    ... ''', passes=[if_else.run, run]))
    def forward(layer, x):
        return if_else(x > 0, lambda : super(__class__, layer).forward(x), lambda : x)
    <BLANKLINE>
    """
    if "super" not in ctx.rebound:
        _Rewriter().visit(tree)
    return tree


class _Rewriter(Rewriter):
    def __init__(self) -> None:
        self.first_parameter: str | None = None
        self.is_moved = False

    def visit_FunctionDef(self, node: Node) -> Any:
        outer = self.first_parameter, self.is_moved
        if is_generated(node):
            self.is_moved = True
        else:
            positional = [*node.args.posonlyargs, *node.args.args]
            self.first_parameter = positional[0].id if positional else None
            self.is_moved = False
        self.generic_visit(node)
        self.first_parameter, self.is_moved = outer
        return node

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef

    def visit_Call(self, node: Node) -> Any:
        self.generic_visit(node)
        is_bare_super = (
            isinstance(node.func, gast.Name) and node.func.id == "super" and not (node.args or node.keywords)
        )
        if is_bare_super and self.is_moved and self.first_parameter is not None:
            node.args = [located(load(name), node) for name in ("__class__", self.first_parameter)]
        return node
