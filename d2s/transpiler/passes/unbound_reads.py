"""Keep the error of reading an unbound local: from a closure Python would raise another one."""

from __future__ import annotations

from typing import Any

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node, is_generated, located
from d2s.transpiler.template import call, constant, thunk
from d2s.transpiler.visitors import Rewriter


def run(tree: Node, ctx: Context) -> Node:
    """
    Wrap reads, inside generated functions, of names that may be unbound there.

    >>> from d2s.transpiler import transpile_source
    >>> from d2s.transpiler.passes import fence, if_else
    >>> print(transpile_source('''
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     if x > 1:
    ...         print(y)
    ... ''', passes=[fence.run, if_else.run, run]))
    def f(x):
        y: None
    <BLANKLINE>
        def body():
            nonlocal y
            y = x
        if_else(x > 0, body, None)
    <BLANKLINE>
        def body():
            print(bound('y', lambda : y))
        if_else(x > 1, body, None)
    <BLANKLINE>
    """
    _Rewriter(ctx).visit(tree)
    return tree


def run_everywhere(tree: Node, ctx: Context) -> Node:
    """
    Wrap the reads in the function itself too: while it is traced, a name may be bound on some paths only.

    >>> from d2s.transpiler import transpile_source
    >>> from d2s.transpiler.passes import fence, if_else
    >>> print(transpile_source('''
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     return y
    ... ''', passes=[fence.run, if_else.run, run_everywhere]))
    def f(x):
        y: None
    <BLANKLINE>
        def body():
            nonlocal y
            y = x
        if_else(x > 0, body, None)
        return bound('y', lambda : y)
    <BLANKLINE>
    """
    _Rewriter(ctx, everywhere=True).visit(tree)
    return tree


class _Rewriter(Rewriter):
    def __init__(self, ctx: Context, everywhere: bool = False) -> None:
        self.ctx = ctx
        self.everywhere = everywhere
        self.is_moved = everywhere

    def visit_FunctionDef(self, node: Node) -> Any:
        # Decorators, defaults and bases are evaluated outside.
        for field in ("decorator_list", "args", "bases", "keywords"):
            value = getattr(node, field, None)
            if isinstance(value, list):
                value[:] = [self.visit(part) for part in value]
            elif value is not None:
                self.visit(value)
        outer, self.is_moved = self.is_moved, self.everywhere or is_generated(node)
        if isinstance(node, gast.Lambda):
            node.body = self.visit(node.body)
        else:
            node.body = [new for part in node.body for new in _as_list(self.visit(part))]
        self.is_moved = outer
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef

    def visit_Name(self, node: Node) -> Any:
        if not (self.is_moved and isinstance(node.ctx, gast.Load) and getattr(node, "maybe_unbound", False)):
            return node
        is_free = getattr(node, "is_read_as_free", False)
        # Inside a comprehension with a scope of its own Python says the right thing by itself.
        return node if is_free and not self.everywhere else self.checked(node, is_free)

    def checked(self, node: Node, is_free: bool = False) -> Node:
        read = gast.copy_location(gast.Name(id=node.id, ctx=gast.Load(), annotation=None, type_comment=None), node)
        free = [constant(True)] if is_free else []
        return located(call(self.ctx, "bound", constant(node.id), thunk(read), *free), node)

    def visit_AugAssign(self, node: Node) -> Any:
        self.generic_visit(node)
        return self.after_check(node, [node.target])

    def visit_Delete(self, node: Node) -> Any:
        self.generic_visit(node)
        return self.after_check(node, node.targets)

    def after_check(self, statement: Node, targets: list[Node]) -> Any:
        unbound = [target for target in targets if self.is_moved and getattr(target, "maybe_unbound", False)]
        checks = [located(gast.Expr(value=self.checked(target)), target) for target in unbound]
        for target in unbound:
            target.maybe_unbound = False  # it is checked now
        return [*checks, statement] if checks else statement


def _as_list(found: Any) -> list[Node]:
    return found if isinstance(found, list) else [found]
