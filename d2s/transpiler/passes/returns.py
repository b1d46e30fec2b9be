"""Bring each ``return`` to where a converted construct can give its value back."""

from __future__ import annotations

import gast

from d2s.transpiler.closures import rewrite_bodies
from d2s.transpiler.context import Context
from d2s.transpiler.exit_flags import RETURNS, ExitFlags
from d2s.transpiler.nodes import (
    LOOPS,
    Node,
    blocks_of,
    duplicate,
    located,
    map_blocks,
)
from d2s.transpiler.selection import always_leaves, has_return, is_rewritten
from d2s.transpiler.template import assign, constant, if_statement, load


def run(tree: Node, ctx: Context) -> Node:
    """
    Make every path of a returning ``if`` return, and turn returns inside loops into flags.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     if x > 0:
    ...         return x
    ...     for v in x:
    ...         if v < 0:
    ...             return v
    ... ''', passes=[run]))
    def f(x):
        if x > 0:
            return x
        else:
            returned = False
            for v in x:
                if v < 0:
                    result = v
                    returned = True
                    break
            if returned:
                return result
            else:
                return None
    <BLANKLINE>
    """
    return rewrite_bodies(tree, lambda function: _Returns(ctx).tail(function.body))


class _Returns:
    """Lowers the returns of one function."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    # Statements after which the function ends.

    def tail(self, statements: list[Node]) -> list[Node]:
        """Rewrite statements that end the function: what falls off their end returns None."""
        done: list[Node] = []
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            if not self.is_lifted(statement):
                done.append(statement)
                if isinstance(statement, (gast.Return, gast.Raise)) and not _declares(rest):
                    return done
            elif isinstance(statement, gast.If) and self.can_take(statement, rest):
                return [*done, self.tail_if(statement, rest)]
            elif isinstance(statement, LOOPS) or not self.is_closed(statement):
                done += self.flagged(statement)
                give_back = located(gast.Return(value=load(self.result)), statement)
                test = if_statement(load(self.returned), [give_back], [], statement)
                return done + self.tail([test, *rest])
            else:
                map_blocks(statement, self.tail)
                done.append(statement)
        return done

    def is_lifted(self, statement: Node) -> bool:
        """Does a ``return`` stand inside a rewritten construct here, so that it cannot stay a return?"""
        if not has_return([statement]):
            return False
        return is_rewritten(statement, self.ctx) or any(
            self.is_lifted(inner) for block in blocks_of(statement) for inner in block
        )

    def is_closed(self, statement: Node) -> bool:
        """Do all blocks with lifted returns return on every path?  Then each can be treated as the end."""
        return all(
            always_leaves(block) for block in blocks_of(statement) if any(self.is_lifted(inner) for inner in block)
        )

    def can_take(self, statement: Node, rest: list[Node]) -> bool:
        """Can the rest of the block move into the branches of this ``if``?"""
        leaves = always_leaves(statement.body), always_leaves(statement.orelse)
        return any(leaves) or not rest or _is_short(rest)

    def tail_if(self, statement: Node, rest: list[Node]) -> Node:
        """Move the rest of the block into the branches that fall through, so that each path returns."""
        body, orelse = statement.body, statement.orelse
        body_leaves, orelse_leaves = always_leaves(body), always_leaves(orelse)
        if not body_leaves:
            statement.body = [*body, *rest]
            rest = [duplicate(node) for node in rest]
        if not orelse_leaves:
            statement.orelse = [*orelse, *rest]
        statement.body = self.returning(statement.body, statement)
        statement.orelse = self.returning(statement.orelse, statement)
        return statement

    def returning(self, statements: list[Node], origin: Node) -> list[Node]:
        """`tail`, with the final ``return None`` written out."""
        done = self.tail(statements)
        return done if always_leaves(done) else [*done, located(gast.Return(value=constant(None)), origin)]

    # Statements after which the function goes on.

    @property
    def returned(self) -> str:
        return self.ctx.names.stable("returned")

    @property
    def result(self) -> str:
        return self.ctx.names.stable("result")

    def flagged(self, statement: Node) -> list[Node]:
        """The statement with flags instead of returns."""
        flags = ExitFlags(self.ctx.names, self.returned, False, self.noted, RETURNS)
        return [flags.reset(statement), *flags.block([statement])]

    def noted(self, statement: Node) -> list[Node]:
        """``result = ...; returned = True``."""
        value = constant(None) if statement.value is None else statement.value
        nodes = [assign(self.result, value), assign(self.returned, constant(True))]
        return [located(node, statement) for node in nodes]


def _declares(statements: list[Node]) -> bool:
    """Do declarations stand here?  They hold for the whole function, even if nothing leads to them."""
    return any(
        isinstance(statement, (gast.Global, gast.Nonlocal)) or any(map(_declares, blocks_of(statement)))
        for statement in statements if not isinstance(statement, (gast.FunctionDef, gast.ClassDef))
    )


def _is_short(rest: list[Node]) -> bool:
    """Is this a single return of a name or literal, which may stand twice?"""
    return (
        len(rest) == 1
        and isinstance(rest[0], gast.Return)
        and (rest[0].value is None or isinstance(rest[0].value, (gast.Name, gast.Constant)))
    )
