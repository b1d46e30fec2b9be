"""Exits of a stretch of code that become a flag: what follows one runs only while the flag is not set."""

from __future__ import annotations

from collections.abc import Callable

import gast

from d2s.transpiler.nodes import LOOPS, TRIES, Node, located, map_blocks
from d2s.transpiler.selection import always_leaves, has_exit, has_return
from d2s.transpiler.template import assign, constant, if_statement, load, negation


class ExitFlags:
    """
    Replaces the exits of one stretch of code, and guards what follows them.

    Parameters
    ----------
    flag : str
        The variable that is true behind an exit.
    unset : bool or str
        What it holds before, and where an exception has overridden the exit.
    replaced : callable
        Gives the statements that stand for an exit, which set the flag.
    only_returns : bool
        True if breaks and continues stay, as the stretch holds the loops that they belong to.
    """

    def __init__(
        self, flag: str, unset: bool | str, replaced: Callable[[Node], list[Node]], only_returns: bool
    ) -> None:
        self.flag, self.unset, self.replaced, self.only_returns = flag, unset, replaced, only_returns

    def block(self, statements: list[Node], in_loop: bool = False) -> list[Node]:
        """The statements with the flag instead of exits; `in_loop` for those of a loop that is left as well."""
        done: list[Node] = []
        for position, statement in enumerate(statements):
            if not self._leaves([statement], in_loop):
                done.append(statement)
            elif isinstance(statement, (gast.Return, gast.Break, gast.Continue)):
                leave = [located(gast.Break(), statement)] if in_loop else []
                return [*done, *self.replaced(statement), *leave]
            elif in_loop:
                self._inside(statement, in_loop)
                done += [statement, *self._passed_on(statement)]
            else:
                rest = _moved_into_branch(statement, statements[position + 1 :])
                self._inside(statement, in_loop)
                guarded = self.block(rest, in_loop)
                guard = [if_statement(negation(self.flag), guarded, [], statement)] if guarded else []
                return [*done, statement, *guard]
        return done

    def reset(self, origin: Node) -> Node:
        """``flag = unset``."""
        return located(assign(self.flag, constant(self.unset)), origin)

    def _leaves(self, statements: list[Node], in_loop: bool) -> bool:
        return has_return(statements) if in_loop or self.only_returns else has_exit(statements)

    def _inside(self, statement: Node, in_loop: bool) -> None:
        if isinstance(statement, LOOPS):
            statement.body = self.block(statement.body, in_loop=True)
            statement.orelse = self.block(statement.orelse, in_loop)
            return
        may_leave_early = isinstance(statement, TRIES) and self._leaves(statement.body, in_loop)
        map_blocks(statement, lambda block: self.block(block, in_loop))
        if may_leave_early:
            for handler in statement.handlers:
                # An exception on the way out (from a `with`, say) overrides the exit.
                handler.body.insert(0, self.reset(handler))
            if statement.orelse:
                guarded = if_statement(negation(self.flag), statement.orelse, [], statement.orelse[0])
                statement.orelse = [guarded]

    def _passed_on(self, statement: Node) -> list[Node]:
        """After a loop inside a loop: ``if flag: break``.  Other statements let the break itself through."""
        if not isinstance(statement, LOOPS):
            return []
        leave = gast.copy_location(gast.Break(), statement)
        return [if_statement(load(self.flag), [leave], [], statement)]


def _moved_into_branch(statement: Node, rest: list[Node]) -> list[Node]:
    """Move `rest` into the one branch of an ``if`` that falls through; what could not move is given back."""
    if not isinstance(statement, gast.If) or always_leaves(statement.body) == always_leaves(statement.orelse):
        return rest
    fall_through = statement.orelse if always_leaves(statement.body) else statement.body
    fall_through.extend(rest)
    return []
