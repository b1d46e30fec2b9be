"""Turn ``while`` and ``for`` into calls of `while_loop` and `for_loop`."""

from __future__ import annotations

import gast

from d2s.transpiler.closures import closure, rewrite_bodies
from d2s.transpiler.context import Context
from d2s.transpiler.nodes import FUNCTIONS, LOOPS, Node, is_generated, located, map_blocks
from d2s.transpiler.passes.lifetimes import private_names
from d2s.transpiler.selection import has_exit, is_rewritten
from d2s.transpiler.template import call, load, thunk


def run(tree: Node, ctx: Context) -> Node:
    """
    Replace each loop by functions for its parts and a call.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     while x > 0:
    ...         x = x - 1
    ...     for v in x:
    ...         x += v
    ... ''', passes=[run]))
    def f(x):
        v: None
    <BLANKLINE>
        def test():
            return x > 0
    <BLANKLINE>
        def body():
            nonlocal x
            x = x - 1
        while_loop(test, body)
    <BLANKLINE>
        def body(item):
            nonlocal v, x
            v = item
            x += v
        for_loop(x, body)
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
            is_converted = isinstance(statement, LOOPS) and is_rewritten(statement, self.ctx)
            map_blocks(statement, self.block)
            if not is_converted:
                done.append(statement)
            elif isinstance(statement, gast.While):
                done += self.converted_while(statement)
            else:
                done += self.converted_for(statement)
        return done

    def converted_while(self, loop: Node) -> list[Node]:
        if has_exit([loop]) or has_exit(loop.body) or loop.orelse:
            return [loop]
        names = self.ctx.names
        test_name, body_name = names.stable("test"), names.stable("body")
        give_test = located(gast.Return(value=loop.test), loop.test)
        test = closure(test_name, [give_test], self.function, loop.test)
        private = private_names(loop, loop.body)
        body = closure(body_name, loop.body, self.function, loop.test, private=private)
        return [test, body, self.statement("while_loop", loop, load(test_name), load(body_name))]

    def converted_for(self, loop: Node) -> list[Node]:
        statements, stop = _split_stop(loop.body)
        if has_exit(statements) or loop.orelse:
            return [loop]
        body_name = self.ctx.names.stable("body")
        private = private_names(loop, [loop.target, *statements]) - {stop or ""}
        if isinstance(loop.target, gast.Name) and loop.target.id in private:
            item = loop.target.id
        else:
            item = self.ctx.names.stable("item")
            bind = gast.Assign(targets=[loop.target], value=load(item), type_comment=None)
            statements = [located(bind, loop.target), *statements]
        body = closure(body_name, statements, self.function, loop.target, (item,), private)
        stops = [] if stop is None else [thunk(load(stop))]
        return [body, self.statement("for_loop", loop, loop.iter, load(body_name), *stops)]

    def statement(self, operator: str, loop: Node, *args: Node) -> Node:
        value = located(call(self.ctx, operator, *args), loop.iter if isinstance(loop, gast.For) else loop.test)
        return located(gast.Expr(value=value), loop)


def _split_stop(statements: list[Node]) -> tuple[list[Node], str | None]:
    """Take the closing ``if flag: break`` off the body of a loop."""
    last = statements[-1]
    is_stop = (
        isinstance(last, gast.If)
        and isinstance(last.test, gast.Name)
        and len(last.body) == 1
        and isinstance(last.body[0], gast.Break)
        and not last.orelse
    )
    return (statements[:-1], last.test.id) if is_stop else (statements, None)
